"""Models on disk: safetensors, so that no code runs when one is read; whole or absent."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nica._version import __version__
from nica.networks._settings import whole
from nica.rates import Activity, Time

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

FORMAT = "nica model 1"
NOTES = (
    "_seed",
    "_starts",
    "_warned",
    "_next_look",
    "n_bad_samples_",
    "n_inferred_samples_",
    "_noise",
    "n_iter_",
    "n_features_in_",
)


def save(model: StreamNetwork, path: Any, **notes: str) -> None:
    """Write a model, and further notes, to a temporary file beside ``path``, then rename it."""
    from safetensors.numpy import save as to_bytes

    parameters = {name: plain(value) for name, value in model.get_params(deep=False).items()}
    counts = {name: getattr(model, name) for name in NOTES}
    if model._chosen is not None:
        counts["n_components_"] = model._chosen
    if hasattr(model, "method_"):
        counts["method_"] = model.method_
    if hasattr(model, "feature_names_in_"):
        counts["feature_names_in_"] = [str(name) for name in model.feature_names_in_]
    about = {
        "nica": __version__,
        "class": type(model).__name__,
        "parameters": parameters,
        "notes": counts,
    }
    text = json.dumps(about)
    arrays = {name: np.ascontiguousarray(a) for name, a in model._state().items()}
    metadata = notes | {
        "format": FORMAT, "model": text, "sha256": _digest(text, arrays, notes),
    }  # fmt: skip
    write_whole(Path(path), to_bytes(arrays, metadata))


def load(path: Any) -> Any:
    """Read a model that ``save`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : NICA, or whatever network was saved
        It goes on exactly where the saved one stopped. Type checkers take what you say it is:
        ``model: nica.NICA = nica.load(path)``.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib, nica
    >>> X = np.random.default_rng(0).exponential(size=(200, 2))
    >>> model = nica.NICA(random_state=0).partial_fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.safetensors"
    ...     model.save(path)
    ...     copy = nica.load(path)
    >>> bool(np.array_equal(copy.separate(X), model.separate(X)))
    True
    """
    return read(path)[0]


def read(path: Any) -> tuple[StreamNetwork, dict[str, str]]:
    """Read a model and the notes that were saved with it."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise FileNotFoundError(f"no model file {os.fspath(path)!r}") from None
    except OSError as error:
        raise OSError(f"cannot read {os.fspath(path)!r}: {error}") from None
    except (SafetensorError, UnicodeDecodeError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{os.fspath(path)!r} is no whole model file ({error}): save the model again"
        ) from None
    if metadata.get("format") != FORMAT:
        raise ValueError(
            f"{os.fspath(path)!r} is a safetensors file, but not a model of nica (its format is "
            f"{metadata.get('format')!r}, not {FORMAT!r})"
        )
    text = metadata.get("model", "")
    notes = {key: metadata[key] for key in metadata if key not in ("format", "model", "sha256")}
    if metadata.get("sha256") != _digest(text, arrays, notes):
        raise ValueError(
            f"{os.fspath(path)!r} was changed after it was saved (its checksum is wrong): "
            "save the model again"
        )
    writer = "an unknown version"
    try:
        model = json.loads(text)
        writer = str(model["nica"])
        return _rebuild(model, arrays), notes
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise ValueError(
            f"{os.fspath(path)!r} was written by nica {writer} and does not fit nica {__version__}: "
            f"{error}"
        ) from None


def write_whole(path: Path, data: bytes) -> None:
    """Put ``data`` under ``path`` in one step: the file is whole or as it was before."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _rebuild(model: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> StreamNetwork:
    from nica import networks

    if model["class"] not in networks.__all__:
        raise ValueError(f"there is no network called {model['class']!r}")
    parameters = {name: rich(value) for name, value in model["parameters"].items()}
    estimator: StreamNetwork = getattr(networks, model["class"])(**parameters)
    notes = model["notes"]
    if "n_components_" in notes:
        estimator._chosen = whole(notes["n_components_"], "n_components_", minimum=1)
    estimator._begin(int(notes["n_features_in_"]))
    expected = estimator._state()
    if set(arrays) != set(expected):
        raise ValueError(f"its arrays are {sorted(arrays)}, not {sorted(expected)}")
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.all(np.isfinite(array)):
            raise ValueError(f"array {name!r} holds values that are not finite float64 numbers")
    _check_counters(estimator, arrays)
    estimator._restore(arrays)
    for name in NOTES:
        value = notes[name]
        kind = str if name == "_warned" else (int, float)
        values = value if name == "_warned" else [value]
        if not all(isinstance(v, kind) and not isinstance(v, bool) for v in values):
            raise ValueError(f"its note {name!r} is {value!r}")
        setattr(estimator, name, tuple(value) if name == "_warned" else value)
    if "method_" in notes:
        method = notes["method_"]
        if method not in estimator._ways:
            raise ValueError(f"its note 'method_' is {method!r}")
        estimator.method_ = method
    if "feature_names_in_" in notes:
        names = notes["feature_names_in_"]
        if len(names) != estimator.n_features_in_:
            raise ValueError(f"it names {len(names)} channels of {estimator.n_features_in_}")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _check_counters(estimator: StreamNetwork, arrays: dict[str, NDArray[Any]]) -> None:
    """The counters must be such as a network can have."""
    from nica.networks._stream import SCALARS

    now = dict(zip(SCALARS, arrays["scalars"].ravel().tolist(), strict=True))
    hold = estimator._settings["hold"]
    possible = (
        all(value >= 0 for value in now.values())
        and now["poison"] == 0
        and now["held"] == len(arrays["held"])
        and hold <= now["target"] <= 16 * hold
        and now["held"] <= now["target"]
        and now["renewed"] <= now["t"]
        and now["started"] in (0, 1)
        and now["suspended"] in (0, 1)
    )
    if "watched" in arrays:
        now["watched"], now["kept"] = arrays["watched"].ravel().tolist()
        possible &= 0 <= now["watched"] < 1e15 and 0 <= now["kept"] < 1e15
    if not possible:
        raise ValueError(f"its counters are impossible: {now}")


def _digest(text: str, arrays: dict[str, NDArray[Any]], notes: dict[str, str]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(notes):
        digest.update(json.dumps([name, notes[name]]).encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """A parameter as JSON."""
    if isinstance(value, Time):
        return {"rate": "Time", "values": [float(value.a), float(value.b)]}
    if isinstance(value, Activity):
        return {"rate": "Activity", "values": [float(value.floor), float(value.forgetting)]}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return None  # a generator: its seed has been drawn, and the seed is saved


def rich(value: Any) -> Any:
    """A parameter as it was before `plain`."""
    if isinstance(value, dict):
        kind = {"Time": Time, "Activity": Activity}[value["rate"]]
        return kind(*value["values"])
    return value
