"""``.ndjson``: a JSON array of numbers, or an object of them, on each line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from nica._core import lines
from nica.streams._chunks import Array
from nica.streams._lines import BadValue, TextReader


class Reader(TextReader):
    """Lines of JSON; objects give names to the channels, by the keys of the first."""

    format = "ndjson"

    def _begin(self, first: bytes) -> None:
        self._comment = b""
        value = self._load(first, 1)
        if isinstance(value, dict):
            names = [key for key in value if self._numeric(value[key])]
            if self.reading.columns is not None:
                names = list(value)
            self._keys: list[Any] = [names[j] for j in self._choose(len(names), names)]
        elif isinstance(value, list):
            self._keys = list(self._choose(len(value), None))
        else:
            raise ValueError(
                f"{self.name!r}: a line must be an array or an object, not {value!r:.40}"
            )
        self._objects = isinstance(value, dict)
        self._all = self._objects or self._keys == list(range(len(value)))
        self._width = len(value)

    def _numeric(self, value: Any) -> bool:
        """Without `columns`, texts such as a time stamp are no channels; a missing number is one."""
        return value is None or isinstance(value, (int, float))

    def _load(self, text: bytes, line: int) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadValue(self.name, line, "", f"it is not JSON ({error})") from None

    def _body(self, block: bytes) -> bytes:
        return block.removeprefix(b"\xef\xbb\xbf")

    def _parse(self, block: bytes, line: int) -> Array:
        lines = [one for one in block.split(b"\n") if one.strip()]
        rows = self._fast(lines)
        return self._slow(block, line) if rows is None else rows

    def _fast(self, lines: list[bytes]) -> Array | None:
        """All lines at once; None if anything is unusual."""
        try:
            values = json.loads(b"[" + b",".join(lines) + b"]")
            if len(values) != len(lines):
                return None
            if self._objects:
                values = [[value[key] for key in self._keys] for value in values]
            array = np.array(values)
        except (ValueError, RecursionError, KeyError, TypeError, IndexError, OverflowError):
            return None
        width = len(self._keys) if self._objects else self._width
        if array.dtype.kind not in "fiu" or array.shape != (len(lines), width):
            return None
        chosen = array if self._all else array[:, self._keys]
        return np.ascontiguousarray(chosen, dtype=np.float64)

    def _slow(self, block: bytes, line: int) -> Array:
        """Line by line, to say where it failed."""
        rows: list[list[float]] = []
        for number, text in enumerate(block.split(b"\n"), line):
            if text.strip():
                try:
                    rows.append(self._row(self._load(text, number), number))
                except BadValue as error:
                    if self.reading.on_bad != "skip":
                        error.before = self._array(rows)
                        raise
                    rows.append([np.nan] * self.n_channels)
        return self._array(rows)

    def _row(self, value: Any, line: int) -> list[float]:
        if type(value) is not (dict if self._objects else list):
            kind = "an object" if self._objects else "an array"
            raise BadValue(self.name, line, "", f"it is not {kind} as the first line is")
        if not self._objects and len(value) != self._width:
            what = f"it has {len(value)} values, the first line has {self._width}"
            raise BadValue(self.name, line, "", what)
        row = []
        for key in self._keys:
            cell: Any = value.get(key) if isinstance(value, dict) else value[key]
            try:
                if not isinstance(cell, (int, float)):
                    raise TypeError
                row.append(float(cell))
            except (TypeError, OverflowError):
                missing = self._objects and key not in value
                what = "it is missing" if missing else f"{cell!r:.40} is not a number"
                raise BadValue(self.name, line, str(key), what) from None
        return row


class Lines:
    """Rows as JSON: objects if the columns have names, else arrays; what is not finite is null."""

    def __init__(self, columns: list[str] | None) -> None:
        self.columns = columns
        self._keys = None if columns is None else [f"{json.dumps(name)}: " for name in columns]

    def head(self) -> bytes:
        """Nothing comes before the rows."""
        return b""

    def rows(self, rows: Array) -> bytes:
        """Lines of some rows."""
        keys = [""] * rows.shape[1] if self._keys is None else self._keys
        begin, end = "[]" if self._keys is None else "{}"
        before = [begin + keys[0], *(f", {key}" for key in keys[1:])]
        return lines(rows, before, f"{end}\n", "null")
