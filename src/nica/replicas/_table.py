"""What a sweep gives back: a record for each run, a summary for each setting, the best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = 10  #: settings that a sweep shows of itself


@dataclass(frozen=True)
class Setting:
    """One point of the grid, over all its seeds.

    Attributes
    ----------
    params : dict
    mean, worst : float
        Of the measure, over the seeds; a run that overflowed counts as infinitely bad.
    failures : int
        Runs that overflowed.
    """

    params: dict[str, Any]
    mean: float
    worst: float
    failures: int


@dataclass(frozen=True, repr=False)
class Sweep:
    """Result of `nica.sweep`: a table with a record for each run, and the models.

    Attributes
    ----------
    records : list of dict
        For each run its parameters, ``random_state``, the measures, and ``failure``: why it has none.
    models : list
        Fitted models, in the order of the records.
    measure : str
        Column by which settings are compared: "error" (smaller is better) or "score" (larger is).
    seconds : float
        Time that the sweep took.
    """

    records: list[dict[str, Any]]
    models: list[Any] = field(compare=False)
    measure: str
    names: tuple[str, ...]  # the parameters of the grid
    seconds: float

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a column as an array: ``sweep["error"]``."""
        if column not in self.columns:
            raise KeyError(f"no column {column!r}: this sweep has {', '.join(self.columns)}")
        values = [record.get(column) for record in self.records]
        if all(isinstance(value, (int, float)) for value in values):
            return np.array(values)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(dict.fromkeys(name for record in self.records for name in record))

    @property
    def settings(self) -> list[Setting]:
        """Each point of the grid over all its seeds, best first."""
        points: dict[str, list[int]] = {}
        for i, record in enumerate(self.records):
            points.setdefault(repr([record.get(name) for name in self.names]), []).append(i)
        summary = []
        bad = math.inf if self._smaller else -math.inf
        for runs in points.values():
            records = [self.records[i] for i in runs]
            values = [bad if math.isnan(v := record[self.measure]) else v for record in records]
            summary.append(
                Setting(
                    params={n: records[0][n] for n in self.names if n in records[0]},
                    mean=float(np.mean(values)),
                    worst=max(values) if self._smaller else min(values),
                    failures=sum(bool(record["failure"]) for record in records),
                )
            )
        return sorted(summary, key=lambda s: s.mean if self._smaller else -s.mean)

    @property
    def best(self) -> dict[str, Any]:
        """Parameters of the setting that is best on average over the seeds."""
        return self.settings[0].params

    @property
    def best_model(self) -> Any:
        """Model of the best single run."""
        values = self[self.measure].astype(float)
        if np.isnan(values).all():
            raise ValueError("every run of this sweep failed: see its records")
        return self.models[int(np.nanargmin(values) if self._smaller else np.nanargmax(values))]

    def to_pandas(self) -> Any:
        """Records as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pd.DataFrame.from_records(self.records, columns=list(self.columns))

    @property
    def _smaller(self) -> bool:
        return self.measure == "error"

    def _rows(self) -> list[list[str]]:
        return [
            [
                *(str(setting.params.get(name, "")) for name in self.names),
                f"{setting.mean:.4g}",
                f"{setting.worst:.4g}",
                str(setting.failures or ""),
            ]
            for setting in self.settings[:SHOWN]
        ]

    def _heads(self) -> list[str]:
        return [*self.names, f"mean {self.measure}", "worst", "failed"]

    def _summary(self) -> str:
        settings = len(self.settings)
        return (
            f"{len(self)} runs of {settings} {'setting' if settings == 1 else 'settings'} in "
            f"{self.seconds:.2g} s, best first"
            + (f" (the first {SHOWN})" if settings > SHOWN else "")
        )

    def __repr__(self) -> str:
        rows = [self._heads(), *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self._summary(), *lines])

    def __rich__(self) -> Table:
        """Show as a table of the settings, best first."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="dim", title=self._summary())
        for head in self._heads():
            table.add_column(head, justify="right")
        for row in self._rows():
            table.add_row(*row)
        return table
