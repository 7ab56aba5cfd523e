"""What must be: a file is read, or refused in one line; anything else is a finding."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np

import nica
from nica._job.checkpoint import checkpoint_or_model
from nica.streams import open_chunks

NUMBERS = 1_000_000  #: that are read of a file before it is believed
LONGEST = 1000  #: letters of a message


class Finding(Exception):  # noqa: N818
    """What must not be."""


def check(kind: str, data: bytes, folder: Path) -> bool:
    """Read a file as a user would; True if it was read, False if it was refused, else a finding."""
    path = folder / f"x.{kind}"
    if kind == "zarr":
        shutil.rmtree(path, ignore_errors=True)
        for name, text in json.loads(data).items():
            file = path / name
            if file.resolve().is_relative_to(path.resolve()):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(bytes.fromhex(text))
    else:
        path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if kind == "safetensors":
                nica.load(path)
                return True
            if kind == "checkpoint":
                checkpoint_or_model(str(path))
                return True
            count = 0
            on_bad = "skip" if sum(data[-9:]) % 2 else "raise"
            with open_chunks(path, on_bad=on_bad) as chunks:
                for chunk in chunks:
                    if (
                        chunk.dtype != np.float64
                        or chunk.ndim != 2
                        or chunk.shape[1] != chunks.n_channels
                    ):
                        raise Finding(f"a chunk of {chunk.dtype} {chunk.shape}")
                    count += chunk.size
                    if count > NUMBERS:
                        break
            return True
    except (ValueError, OSError) as error:
        if isinstance(error, UnicodeError):
            raise Finding(f"{type(error).__name__}: {error}") from error
        text = str(error)
        if "\n" in text or len(text) > LONGEST or not text:
            raise Finding(f"message of {len(text)} letters: {text[:200]!r}") from error
        return False
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {str(error)[:200]}") from error
