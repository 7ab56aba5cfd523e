"""Damaged files by the million: every reader and the model loader read them, or refuse them clearly.

    python -m tools.fuzz [--cases 100000] [--seconds 600] [--kinds npy,csv] [--seed 0]

Valid files are changed at random: bits, numbers, pieces cut, doubled or moved; in half of the cases what
is inside an archive or behind a checksum. Each reader may give rows, or raise ValueError or OSError with
one line of text. Anything else is a finding: another exception, a warning, a crash, more than 20 seconds,
more than 2 GiB (which a page of a Parquet file may claim). A case has a kind and a number, by which it
can be repeated:

    python -m tools.fuzz --case csv:123
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nica
from nica.streams import open_chunks, open_sink

SECONDS = 20  #: that a case may take
MEMORY = (2 << 30) + (1 << 27)  #: bytes that a case may need
NUMBERS = 1_000_000  #: that are read of a file before it is believed
LONGEST = 1000  #: letters of a message
INTERESTING = (
    0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 1000, 32767, 65535, 65536, 1 << 20, 1 << 24,
    (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
)  # fmt: skip
WORDS = (
    b",", b";", b"\t", b"\n", b"\r", b'"', b"#", b"[", b"]", b"{", b"}", b":", b"null", b"NaN", b"inf",
    b"-", b"1e999", b"1_0", b"0x10", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"true", b"'", b"(", b")",
    b"\xc3\xa9", b"1,5", b"|O", b"<f8", b"9" * 30, b"[" * 200, b"__import__", b"..", b"/", b"pickle",
)  # fmt: skip


class Finding(Exception):  # noqa: N818
    """What must not be."""


# ------------------------------------------------------------------------------------ valid files


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """A few valid files of each kind; a store of several files is a JSON object of them."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq
    import tifffile
    import zarr
    from PIL import Image
    from scipy import io as matlab

    rng = np.random.default_rng(0)
    X = rng.exponential(size=(40, 3)).round(3)
    whole = (9 * X).astype(np.int16)
    found: dict[str, list[bytes]] = {}

    def add(kind: str, write: Callable[[Path], Any]) -> None:
        path = folder / f"seed.{kind}"
        write(path)
        found.setdefault(kind, []).append(path.read_bytes())
        path.unlink()

    def sink(path: Path, columns: list[str] | None = None) -> None:
        with open_sink(path, columns=columns) as out:
            out.write(X)

    def h5(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("a/x", data=X, chunks=(10, 3), compression="gzip", shuffle=True)
            file["words"] = ["a", "b"]
            file["soft"] = h5py.SoftLink("/a/x")
            file["a"].attrs["unit"] = "V"

    for kind in ("npy", "npz", "parquet", "h5", "mat", "csv", "tsv", "ndjson", "csv.gz", "csv.zst"):
        add(kind, lambda path: sink(path, ["a", "b", "c"]))
    add("npy", lambda path: np.save(path, np.asfortranarray(whole)))
    add("npz", lambda path: np.savez_compressed(path, x=whole, y=np.array(["text"])))
    table = pa.table({"a": X[:, 0], "b": whole[:, 0], "n": [None, 1.0] * 20})
    add("parquet", lambda path: pq.write_table(table, path, row_group_size=15, compression="zstd"))
    numbers = pa.table({"a": X[:, 0], "b": whole[:, 0].astype("i8")})
    add("parquet", lambda path: pq.write_table(numbers, path, compression="snappy"))
    add("h5", h5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = {"x": X, "c": {"a": 1.0}, "s": "text"}
        add("mat", lambda path: matlab.savemat(path, more, do_compression=True))
        add("mat", lambda path: matlab.savemat(path, {"x": whole}))
    add("csv", lambda path: path.write_bytes(b'"a b";c;d\r\n' + b'1,5;2;"3"\r\n# note\n' * 20))
    add("csv", lambda path: np.savetxt(path, X))
    add("ndjson", lambda path: path.write_bytes(b"[1, 2.5, -3e4]\n\n" * 20))
    images = (1000 * X[:30]).astype(np.uint16).reshape(3, 5, 6)
    tiffs: list[dict[str, Any]] = [
        {}, {"compression": "zlib"}, {"imagej": True}, {"tile": (16, 16), "byteorder": ">"},
        {"photometric": "rgb", "planarconfig": "separate"},
    ]  # fmt: skip
    for options in tiffs:
        options = {"photometric": "minisblack", **options}
        add("tif", lambda path, o=options: tifffile.imwrite(path, images, **o))  # type: ignore[misc]
    byte = images.astype("u1")
    for array, kind in [(images[0], "png"), (byte.T, "png"), (byte[0], "jpg"), (byte[0], "bmp")]:
        add(kind, lambda path, a=array: Image.fromarray(np.ascontiguousarray(a)).save(path))  # type: ignore[misc]
    add("webp", lambda path: Image.fromarray(np.ascontiguousarray(byte.T)).save(path))
    add("pgm", lambda path: Image.fromarray(byte[0]).save(path))
    for version in (2, 3):
        store = folder / "seed.zarr"
        group = zarr.open_group(store, mode="w", zarr_format=version)
        group.create_array("x", shape=X.shape, chunks=(15, 3), dtype="f8")[:] = X
        found.setdefault("zarr", []).append(packed(store))
        shutil.rmtree(store)
        zarr.create_array(store, data=whole, chunks=(10, 2), zarr_format=version)
        found["zarr"].append(packed(store))
        shutil.rmtree(store)
    for model in (
        nica.NICA(2, random_state=0),
        nica.OnlineWhitening(2, random_state=0),
        nica.NSM(3),
    ):
        add("safetensors", model.partial_fit(np.tile(X, (9, 1))).save)
    return found


def packed(store: Path) -> bytes:
    """A folder as JSON."""
    files = sorted(path for path in store.rglob("*") if path.is_file())
    return json.dumps({str(f.relative_to(store)): f.read_bytes().hex() for f in files}).encode()


# ------------------------------------------------------------------------------------ changed files


def changed(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Data with one to a few random changes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(out) + 1)
        size = min(rng.choice((1, 2, 4, 8, 16, 64, 256)), len(out) - at)
        way = rng.randrange(9)
        if way == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif way == 1 and out:
            out[at % len(out)] = rng.randrange(256)
        elif way == 2:
            width = rng.choice((1, 2, 4, 8))
            number = rng.choice(INTERESTING) % (1 << 8 * width)
            out[at : at + width] = number.to_bytes(width, rng.choice(("little", "big")))
        elif way == 3:
            del out[at : at + size]
        elif way == 4:
            out[at:at] = out[at : at + size]
        elif way == 5:
            out[at:at] = rng.choice(WORDS)
        elif way == 6:
            out[at : at + size] = rng.choice(WORDS)
        elif way == 7:
            begin = rng.randrange(len(other) + 1)
            out[at : at + size] = other[begin : begin + size]
        elif rng.random() < 0.3:
            del out[at:]
        else:
            out[at : at + size] = bytes(rng.randrange(256) for _ in range(size))
    return bytes(out)


def make(kind: str, number: int, seed: int, files: dict[str, list[bytes]]) -> bytes:
    """The file of a case."""
    rng = random.Random(f"{seed}:{kind}:{number}")
    data, other = rng.choice(files[kind]), rng.choice(files[kind])
    inside = rng.random() < 0.5
    if kind == "npz" and inside:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members))
        members[name] = changed(rng, members[name], other)
        return zipped(members)
    if kind == "csv.gz" and inside:
        return gzip.compress(changed(rng, gzip.decompress(data), other), 1)
    if kind == "zarr":
        store = json.loads(data)
        name = rng.choice(list(store))
        if rng.random() < 0.02:
            store[rng.choice(["x/0.0", "c/9", "../out", ".zattrs", "zarr.json"])] = store.pop(name)
        else:
            store[name] = changed(rng, bytes.fromhex(store[name]), other).hex()
        return json.dumps(store).encode()
    if kind == "safetensors" and inside:
        return changed_model(rng, data, other)
    return changed(rng, data, other)


def zipped(members: dict[str, bytes]) -> bytes:
    """Members as a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def changed_model(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A model whose contents were changed, under a checksum that is right."""
    from safetensors.numpy import load, save

    from nica.networks._save import _digest

    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    arrays = load(data)
    if rng.random() < 0.5:
        metadata["model"] = changed(rng, metadata["model"].encode(), other).decode(errors="replace")
    else:
        name = rng.choice(list(arrays))
        way = rng.randrange(4)
        if way == 0:
            del arrays[name]
        elif way == 1:
            arrays[name] = arrays[name][..., :-1].copy()
        elif way == 2:
            arrays[name] = arrays[name].astype("f4")
        else:
            flat = arrays[name].reshape(-1)
            if flat.size:
                flat[rng.randrange(flat.size)] = rng.choice(
                    (np.nan, np.inf, -1, 0, 1e300, 0.5, 2**40)
                )
    notes = {
        name: text for name, text in metadata.items() if name not in ("format", "model", "sha256")
    }
    metadata["sha256"] = _digest(metadata["model"], arrays, notes)
    return save(arrays, metadata)


# ------------------------------------------------------------------------------------ the judge


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


def work(kind: str, first: int, last: int, seed: int) -> None:
    """Cases of a kind, one after another; tells each before it begins, so that a crash has a number."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        files = seeds(folder)
        tell(f"ready {memory}")
        for number in range(first, last):
            tell(f"at {number}")
            try:
                read = check(kind, make(kind, number, seed, files), folder)
                tell("read" if read else "refused")
            except Finding as finding:
                cause = finding.__cause__.__traceback__ if finding.__cause__ else None
                while cause is not None and cause.tb_next is not None:
                    cause = cause.tb_next
                where = f" [{cause.tb_frame.f_code.co_filename}:{cause.tb_lineno}]" if cause else ""
                tell(f"finding {number} {' '.join(str(finding).split())}{where}")
            now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            if now - memory > MEMORY:
                tell(f"finding {number} it took {(now - memory) >> 20} MiB")
                memory = now


def tell(text: str) -> None:
    """A line to whoever started this."""
    os.write(1, f"{text}\n".encode())


# ------------------------------------------------------------------------------------ many workers


def run(kind: str, first: int, last: int, seed: int, deadline: float) -> dict[str, Any]:
    """Cases of a kind in a process of its own, begun again behind each crash."""
    result: dict[str, Any] = {"cases": 0, "read": 0, "refused": 0, "findings": []}
    at = first
    while at < last and time.monotonic() < deadline:
        command = [
            sys.executable,
            "-m",
            "tools.fuzz",
            "--work",
            kind,
            str(at),
            str(last),
            "--seed",
            str(seed),
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        ended, patience = False, 120
        while True:
            signal.alarm(patience)
            try:
                line = process.stdout.readline()
            except TimeoutError:
                result["findings"].append((kind, at, f"it took more than {SECONDS} s"))
                break
            finally:
                signal.alarm(0)
            word, _, rest = line.strip().partition(" ")
            patience = SECONDS
            if word == "at":
                at = int(rest)
                if time.monotonic() > deadline:
                    ended = True
                    break
            elif word in ("read", "refused"):
                result[word] += 1
                result["cases"] += 1
            elif word == "finding":
                number, _, what = rest.partition(" ")
                result["findings"].append((kind, int(number), what))
                result["cases"] += 1
            elif not line:
                code = process.wait()
                ended = code == 0
                if not ended:
                    result["findings"].append((kind, at, f"it ended with code {code}"))
                break
        process.kill()
        process.wait()
        if ended:
            break
        result["cases"] += 1
        at += 1
    return result


def _late(*_: Any) -> None:
    raise TimeoutError


def main() -> int:
    """Run what the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=1e9, help="of each kind")
    parser.add_argument("--kinds", default="", help="some of them, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", default="", help="KIND:NUMBER, this one only")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, first, last = options.work
        work(kind, int(first), int(last), options.seed)
        return 0
    with tempfile.TemporaryDirectory() as name:
        files = seeds(Path(name))
        if options.case:
            kind, _, number = options.case.partition(":")
            print(
                "read"
                if check(kind, make(kind, int(number), options.seed, files), Path(name))
                else "refused"
            )
            return 0
    signal.signal(signal.SIGALRM, _late)
    findings, total = [], 0
    for kind in options.kinds.split(",") if options.kinds else files:
        start = time.monotonic()
        last = options.first + options.cases
        result = run(kind, options.first, last, options.seed, start + options.seconds)
        findings += result["findings"]
        total += result["cases"]
        counts = f"{result['read']} read, {result['refused']} refused"
        spent = f"{len(result['findings'])} findings, {time.monotonic() - start:.0f} s"
        print(f"{kind:12s}{result['cases']:8d} cases: {counts}, {spent}", flush=True)
        for kind, number, what in result["findings"][:20]:
            print(f"    {kind}:{number}  {what}", flush=True)
    print(f"{total} cases, {len(findings)} findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
