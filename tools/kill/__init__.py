"""Runs of `nica separate` killed at random moments, and gone on with: the output must be the same bits.

    python -m tools.kill [--kills 50] [--rows 10000000] [--kinds npy,csv,parquet,frozen,pipe] [--write]

An uninterrupted run of each kind is made first. Then runs are killed by SIGKILL, SIGINT or SIGTERM at a
moment drawn at random, most of them behind the first checkpoint, and resumed, and killed again, until one
ends; its output is compared byte by byte. A pipe gets its lines again from the first one; of what came
out before, as much is kept as the checkpoint says. At last, if this may mount one, a disk of 8 MiB fills:
the run must end with one clear line, and go on to the same bits when there is room again.
"""
