"""Separating a file or pipe as a job: modes, checkpoints, going on after any end.

The terminal belongs to `nica.cli.separate`; here are what is to be done (`Job`), the loop that does it
(`run`) and what came of it (`Outcome`), so that a run that was cut off anywhere goes on to the same bits.
"""

from nica._job.checkpoint import Checkpoint, read_checkpoint
from nica._job.job import MODES, Job
from nica._job.loop import Run, run
from nica._job.outcome import Outcome

__all__ = [
    "MODES", "Checkpoint", "Job", "Outcome", "Run", "read_checkpoint", "run",
]  # fmt: skip
