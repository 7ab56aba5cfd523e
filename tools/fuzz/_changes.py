"""Random changes: bits, numbers, pieces; also inside an archive or behind a checksum."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile

import numpy as np

INTERESTING = (
    0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 1000, 32767, 65535, 65536, 1 << 20, 1 << 24,
    (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
)  # fmt: skip
WORDS = (
    b",", b";", b"\t", b"\n", b"\r", b'"', b"#", b"[", b"]", b"{", b"}", b":", b"null", b"NaN", b"inf",
    b"-", b"1e999", b"1_0", b"0x10", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"true", b"'", b"(", b")",
    b"\xc3\xa9", b"1,5", b"|O", b"<f8", b"9" * 30, b"[" * 200, b"__import__", b"..", b"/", b"pickle",
)  # fmt: skip


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
    if kind in ("safetensors", "checkpoint") and inside:
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
        name = "run" if "run" in metadata and rng.random() < 0.7 else "model"
        metadata[name] = changed(rng, metadata[name].encode(), other).decode(errors="replace")
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
