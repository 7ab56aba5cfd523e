"""Damaged files by the million: every reader and the model loader read them, or refuse them clearly.

    python -m tools.fuzz [--cases 100000] [--seconds 600] [--kinds npy,csv] [--seed 0] [--write]

Valid files are changed at random: bits, numbers, pieces cut, doubled or moved; in half of the cases what
is inside an archive or behind a checksum. Each reader may give rows, or raise ValueError or OSError with
one line of text. Anything else is a finding: another exception, a warning, a crash, more than 20 seconds
of processor time, more than 2 GiB (which a page of a Parquet file may claim). A case has a kind and a
number, by which it can be repeated:

    python -m tools.fuzz --case csv:123

Nearly all of the time goes into making files: TMPDIR=/dev/shm makes it several times as fast.

With --record FILE the counts of runs are added up there, and each run goes on behind the last case of the
one before; --write puts the sums into docs/files.md.
"""
