"""A checkpoint: a model file that also says what the run is and how far it came.

``nica.load`` takes it too, as the model that it is.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from types import UnionType
from typing import Any, TypeVar, get_origin, get_type_hints

from nica._job.job import Job
from nica.networks import _save
from nica.networks._stream import StreamNetwork

T = TypeVar("T")

KEY = "run"

LEARN, WRITE, COMMIT = "learn", "write", "commit"


@dataclass
class Position:
    """How far a run is.

    Attributes
    ----------
    stage : {"learn", "write", "commit"}
        With frozen weights learning comes first; at "commit" all rows are written.
    turn : int
        Pass of learning, from 0.
    rows : int
        Rows of the source that this stage (of learning: this pass) is done with.
    learned : int
        Rows learned from, over all passes.
    bad : int
        Rows left out.
    sink : dict
        Where the output stands, for `nica.streams.open_sink`.
    """

    stage: str
    turn: int = 0
    rows: int = 0
    learned: int = 0
    bad: int = 0
    sink: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """What `read_checkpoint` gives: the job, how far it is, its network, and the source's mark."""

    job: Job
    position: Position
    network: StreamNetwork
    mark: dict[str, Any]


def write_checkpoint(
    path: str, job: Job, position: Position, network: StreamNetwork, mark: dict[str, Any]
) -> None:
    """Write a checkpoint, whole or not at all."""
    text = json.dumps({"job": job.plain(), "position": asdict(position), "mark": mark})
    _save.save(network, path, **{KEY: text})


def read_checkpoint(path: str) -> Checkpoint:
    """Read what `write_checkpoint` wrote."""
    found = checkpoint_or_model(path)
    if not isinstance(found, Checkpoint):
        raise ValueError(f"{path!r} is a model, not a checkpoint of a run: give it as model=")
    return found


def checkpoint_or_model(path: str) -> Checkpoint | StreamNetwork:
    """Read a checkpoint, or a model that is none."""
    network, notes = _save.read(path)
    if KEY not in notes:
        return network
    try:
        found = json.loads(notes[KEY])
        job, position = _sound(Job.of(found["job"])), _sound(Position(**found["position"]))
        mark = dict(found["mark"])
        if not job.source or not all(isinstance(one, str) for one in job.source):
            raise ValueError(f"its source is {job.source!r:.100}")
        if position.stage not in (LEARN, WRITE, COMMIT):
            raise ValueError(f"its stage is {position.stage!r:.100}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path!r} was written by another version of nica ({error}): start again"
        ) from None
    return Checkpoint(job, position, network, mark)


def _sound(made: T) -> T:
    """A dataclass, if its fields have the types that it declares."""
    for name, hint in get_type_hints(type(made)).items():
        value = getattr(made, name)
        if not isinstance(value, hint if isinstance(hint, UnionType) else get_origin(hint) or hint):
            raise TypeError(f"{name} is {value!r:.100}")
    return made
