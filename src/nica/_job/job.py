"""What a run is to do: plain values, so that a checkpoint can hold them."""

from __future__ import annotations

import glob
import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nica.networks import NICA, FacetNICA, load
from nica.networks._save import rich
from nica.networks._stream import StreamNetwork
from nica.streams import Chunks, Sink, open_chunks, open_sink

MODES = ("stream", "frozen", "apply")
KINDS = {"NICA": NICA, "FacetNICA": FacetNICA}
HEAD = 1 << 16  #: bytes of a file by which it is known again


@dataclass(frozen=True)
class Job:
    """A separation, from source to output.

    Attributes
    ----------
    source : tuple of str
        Files, or one folder, pattern or "-".
    out : str
        Where the outputs go; "-" is standard output.
    mode : {"stream", "frozen", "apply"}
        Outputs as emitted; outputs of the weights at the end of learning; a saved model, unchanged.
    passes : int or None
        With "frozen": times to go over the source in its order; None learns as ``fit`` does.
    kind : {"NICA", "FacetNICA"}
        Which network, if no model is given.
    parameters : dict
        Of that network, as plain values.
    reading : dict
        Options of `open_chunks`.
    to : str or None
        Format of the outputs.
    model, save : str or None
        The model to begin with; where to write the one at the end.
    jobs : int or None
        Threads for outputs of frozen weights; never changes a result. None takes one.
    """

    source: tuple[str, ...]
    out: str = "-"
    mode: str = "stream"
    passes: int | None = None
    kind: str = "NICA"
    parameters: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    to: str | None = None
    model: str | None = None
    save: str | None = None
    jobs: int | None = None

    def check(self) -> None:
        """Refuse what cannot work before anything is read."""
        if self.mode == "apply" and self.model is None:
            raise ValueError("there is no model to apply: give one with model=")
        if self.mode == "frozen" and self.waits:
            raise ValueError(
                "a pipe can be gone over once only, frozen outputs need two passes: save it in a file, "
                "or leave out frozen="
            )
        if self.out == "-":
            return
        folder = os.path.dirname(os.path.realpath(self.out))
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"no folder {folder!r} to write {self.out!r} in")
        for path in self.files():
            if os.path.exists(self.out) and os.path.samefile(path, self.out):
                raise ValueError(
                    f"{path!r} is both read and written: give the outputs another name"
                )

    @property
    def waits(self) -> bool:
        """Whether the source is a pipe, whose other end may be waiting."""
        where = self.source[0]
        return where == "-" or (
            os.path.exists(where) and not os.path.isfile(where) and not os.path.isdir(where)
        )

    def files(self) -> list[str]:
        """The files and folders that are read."""
        if self.source == ("-",):
            return []
        found = [one if os.path.exists(one) else glob.glob(one) for one in self.source]
        flat = [path for one in found for path in ([one] if isinstance(one, str) else one)]
        return [path for path in flat if os.path.isfile(path) or os.path.isdir(path)]

    def open(self, start: int = 0) -> Chunks:
        """Open the source at a row."""
        source = self.source[0] if len(self.source) == 1 else list(self.source)
        lenient = "skip" in self.parameters.values() or "infer" in self.parameters.values()
        on_bad = "skip" if lenient else "raise"
        return open_chunks(source, start=start, on_bad=on_bad, **self.reading)

    def sink(
        self, chunks: Chunks, names: list[str] | None, resume_at: dict[str, Any] | None
    ) -> Sink:
        """Open the place for the outputs; text without names stays without."""
        text = ("csv", "tsv", "ndjson")
        to = self.to or (chunks.format if self.out == "-" and chunks.format in text else None)
        nameless = chunks.columns is None and (self.out == "-" or _ending(self.out) in text)
        return open_sink(
            self.out,
            format=to,
            columns=None if nameless else names,
            n_rows=chunks.n_rows,
            like=chunks,
            resume_at=resume_at,
        )

    def network(self) -> StreamNetwork:
        """The network to begin with."""
        if self.model is None:
            known = KINDS[self.kind]().get_params()
            for name in self.parameters:
                if name not in known:
                    raise ValueError(f"{self.kind} has no {name}: leave {name}= out")
            new: StreamNetwork = KINDS[self.kind](
                **{name: rich(value) for name, value in self.parameters.items()}
            )
            return new
        network: StreamNetwork = load(self.model)
        own = {
            name: self.parameters[name] for name in ("on_bad", "missing") if name in self.parameters
        }
        network.set_params(**own)
        return network

    def mark(self) -> dict[str, Any]:
        """What the source is known by: a run must not go on with another."""
        if len(self.source) > 1 or not os.path.isfile(self.source[0]):
            return {}
        with open(self.source[0], "rb") as file:
            head = file.read(HEAD)
        return {
            "bytes": os.path.getsize(self.source[0]),
            "head": hashlib.sha256(head).hexdigest(),
            "of": len(head),
        }

    def check_mark(self, mark: dict[str, Any]) -> None:
        """Refuse a source that is not the one of the checkpoint, or its continuation."""
        if not mark:
            return
        name = self.source[0]
        with open(name, "rb") as file:
            head = file.read(int(mark["of"]))
        same = hashlib.sha256(head).hexdigest() == mark["head"]
        if not same or os.path.getsize(name) < mark["bytes"]:
            raise ValueError(f"{name!r} has changed since the checkpoint: start again without it")

    def plain(self) -> dict[str, Any]:
        """All values, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Job:
        """The job that `plain` gave."""
        return cls(**{**values, "source": tuple(values["source"])})


def _ending(path: str) -> str | None:
    from nica.streams._registry import of_name

    return of_name(str(Path(path).name))
