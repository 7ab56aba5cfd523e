"""Images as channels: stacks, folders, lists; what a microscopist expects of 16 bits and of colours."""

import os
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

import nica
from nica.streams import open_chunks, open_sink

SHAPE = (13, 17)


def whole(source, **options):
    with open_chunks(source, **options) as chunks:
        return np.concatenate([np.empty((0, chunks.n_channels)), *chunks])


def stack(n=3, dtype="u2", seed=0):
    top = np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1.0
    return np.random.default_rng(seed).uniform(0, top, (n, *SHAPE)).astype(dtype)


def samples(images):
    return images.reshape(len(images), -1).T.astype(float)


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "u4", "f4", "f8"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"byteorder": ">"},
        {"compression": "zlib"},
        {"tile": (16, 16)},
        {"bigtiff": True},
        {"ome": True},
    ],
)
def test_a_stack_of_any_real_type(tmp_path, dtype, how):
    images = stack(dtype=dtype)
    tifffile.imwrite(tmp_path / "x.tif", images, photometric="minisblack", **how)
    with open_chunks(tmp_path / "x.tif", chunk_rows=50) as chunks:
        assert chunks.format == "tiff"
        assert chunks.columns == ["page0", "page1", "page2"]
        assert chunks.image_shape == SHAPE
        assert chunks.n_rows == SHAPE[0] * SHAPE[1]
        np.testing.assert_array_equal(np.concatenate(list(chunks)), samples(images))
    np.testing.assert_array_equal(
        whole(tmp_path / "x.tif", columns=[2], start=30), samples(images)[30:, 2:]
    )


def test_a_mapped_stack_is_the_same(tmp_path, monkeypatch):
    for byteorder in "<>":
        images = stack()
        tifffile.imwrite(tmp_path / "x.tif", images, photometric="minisblack", byteorder=byteorder)
        monkeypatch.setattr("nica.streams.tiff.WHOLE", 100)
        np.testing.assert_array_equal(whole(tmp_path / "x.tif", chunk_rows=50), samples(images))
    tifffile.imwrite(tmp_path / "x.tif", images, photometric="minisblack", compression="zlib")
    with pytest.raises(ValueError, match=r"would take .* the limit is 100 bytes"):
        open_chunks(tmp_path / "x.tif")


def test_imagej_stacks(tmp_path):
    images = stack(6).reshape(2, 3, *SHAPE)
    tifffile.imwrite(tmp_path / "x.tif", images, imagej=True, metadata={"axes": "ZCYX"})
    np.testing.assert_array_equal(whole(tmp_path / "x.tif"), samples(images.reshape(6, *SHAPE)))
    one = {
        "images": 3,
        "slices": 3,
    }  # as ImageJ writes what is larger than 4 GB: one page, data behind
    text = "ImageJ=1.53\n" + "".join(f"{key}={value}\n" for key, value in one.items())
    images = stack(3)
    tifffile.imwrite(tmp_path / "y.tif", images[0], description=text, metadata=None)
    with open(tmp_path / "y.tif", "ab") as file, tifffile.TiffFile(tmp_path / "y.tif") as tif:
        assert tif.pages[0].dataoffsets[0] + images[0].nbytes == file.tell()
        file.write(images[1:].tobytes())
    np.testing.assert_array_equal(whole(tmp_path / "y.tif"), samples(images))


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("alpha", [False, True])
def test_colours_are_channels(tmp_path, planar, alpha):
    images = stack(4 if alpha else 3)
    pixels = np.moveaxis(images, 0, -1) if planar == "contig" else images
    tifffile.imwrite(
        tmp_path / "cell.tif", pixels, photometric="rgb", planarconfig=planar,
        extrasamples=["unassalpha"] if alpha else None,
    )  # fmt: skip
    with open_chunks(tmp_path / "cell.tif") as chunks:
        assert chunks.columns == ["cell red", "cell green", "cell blue"]
        np.testing.assert_array_equal(np.concatenate(list(chunks)), samples(images[:3]))


def test_a_folder_of_images(tmp_path):
    images = stack(4)
    folder = tmp_path / "run"
    folder.mkdir()
    Image.fromarray(images[0]).save(folder / "cell2.png")
    tifffile.imwrite(folder / "cell10.tif", images[1])
    Image.fromarray((images[2] >> 8).astype("u1")).save(folder / "cell9.bmp")
    (folder / "notes.txt").write_text("not an image")
    (folder / "._cell1.png").write_text("not one either")
    wanted = samples(np.stack([images[0], images[2] >> 8, images[1]]))
    with open_chunks(folder) as chunks:
        assert chunks.format == "images"
        assert chunks.columns == ["cell2", "cell9", "cell10"]
        np.testing.assert_array_equal(np.concatenate(list(chunks)), wanted)
    np.testing.assert_array_equal(whole(str(folder / "cell*")), wanted)
    paths = [folder / "cell9.bmp", folder / "cell2.png"]
    np.testing.assert_array_equal(whole(paths), wanted[:, [1, 0]])
    assert whole(folder / "cell2.png").shape == (SHAPE[0] * SHAPE[1], 1)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        open_chunks(folder / "dog*.png")
    with pytest.raises(FileNotFoundError, match="list is empty"):
        open_chunks([])
    with pytest.raises(ValueError, match="only images"):
        open_chunks(paths, format="csv")


@pytest.mark.parametrize(
    ("dtype", "out"), [("u1", "f4"), ("u2", "f4"), ("f4", "f4"), ("f8", "f8"), ("u4", "f8")]
)
def test_outputs_are_images_again(tmp_path, dtype, out):
    images = stack(3, dtype)
    tifffile.imwrite(tmp_path / "x.tif", images, photometric="minisblack")
    with open_chunks(tmp_path / "x.tif") as chunks:
        X = np.concatenate(list(chunks))
        Y = nica.NICA(3, random_state=0).separate(X)
        for name in ("y.tif", "folder"):
            for _ in range(2):
                with open_sink(
                    tmp_path / name, like=chunks, columns=["a", "b/../b", "b/../b"]
                ) as sink:
                    sink.write(Y)
    wanted = Y.T.reshape(images.shape).astype(out)
    got = tifffile.imread(tmp_path / "y.tif")
    assert got.dtype == np.dtype(out)
    np.testing.assert_array_equal(got, wanted)
    assert sorted(os.listdir(tmp_path / "folder")) == ["a.tif", "b_.._b-2.tif", "b_.._b.tif"]
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "folder" / "b_.._b-2.tif"), wanted[2])
    np.testing.assert_array_equal(whole(tmp_path / "y.tif"), Y.astype(out))


def test_images_need_images(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5, 2)))
    with open_chunks(tmp_path / "x.npy") as chunks:
        with pytest.raises(ValueError, match="only outputs for images can be written as images"):
            open_sink(tmp_path / "y.tif", like=chunks)
        with pytest.raises(ValueError, match="names no format"):
            open_sink(tmp_path / "y", like=chunks)
    tifffile.imwrite(tmp_path / "x.tif", stack(), photometric="minisblack")
    with open_chunks(tmp_path / "x.tif") as chunks:
        with pytest.raises(ValueError, match="5 rows make no images of 13 x 17"):
            open_sink(tmp_path / "y.tif", like=chunks, n_rows=5)
        with (
            pytest.raises(ValueError, match="5 rows make no images"),
            open_sink(tmp_path / "y.tif", like=chunks) as sink,
        ):
            sink.write(np.zeros((5, 2)))
        with pytest.raises(ValueError, match=r"no whole numbers, which \.png needs"):
            open_sink(tmp_path / "y.png", like=chunks)
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "x.tif"]


def png16(path):
    """A PNG with colours of 16 bits, which Pillow does not write."""

    def part(kind, data):
        return (
            len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        )

    rows = zlib.compress(b"".join(b"\0" + bytes(24) for _ in range(5)))
    head = (4).to_bytes(4, "big") + (5).to_bytes(4, "big") + bytes([16, 2, 0, 0, 0])
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")
    )


def test_images_that_are_refused(tmp_path):
    path = tmp_path / "x.tif"

    def refuse(message, source=path, **options):
        with pytest.raises((ValueError, OSError), match=message):
            whole(source, **options)

    tifffile.imwrite(
        path, stack(1, "u1")[0], photometric="palette", colormap=np.zeros((3, 256), "u2")
    )
    refuse("colours by palette")
    tifffile.imwrite(path, stack(1)[0], photometric="miniswhite")
    refuse("white as zero")
    tifffile.imwrite(path, stack(1)[0] * 1j, photometric="minisblack")
    refuse("holds complex")
    with tifffile.TiffWriter(path) as writer:
        writer.write(stack(1)[0])
        writer.write(stack(1)[0][:5])
    refuse("'page1' has 5 x 17 pixels, 'page0' has 13 x 17: give images of one size")
    tifffile.imwrite(path, stack(), photometric="minisblack", compression="zlib")
    data = path.read_bytes()
    for size in (4, 8, 100, len(data) - 400):
        path.write_bytes(data[:size])
        refuse("no whole|no images")
    path.write_bytes(data.replace(np.array([SHAPE[1]], "<u2").tobytes(), b"\xff\xff"))
    refuse("no whole|the limit is|claims")
    with tifffile.TiffFile(path) as file:  # a height with more strips than there are
        where = [file.pages[0].tags[tag].valueoffset for tag in ("ImageLength", "RowsPerStrip")]
    for at, number in zip(where, (60_000, 1), strict=True):
        data = data[:at] + np.array([number], "<u2").tobytes() + data[at + 2 :]
    path.write_bytes(data)
    refuse("lacks some of its strips")
    other = tmp_path / "x.png"
    png16(other)
    refuse("16 bits, of which 8 would be lost", other)
    Image.fromarray(stack(1, "u1")[0]).convert("P").save(other)
    refuse("colours as 'P'", other)
    Image.fromarray(stack(1, "u1")[0]).save(other)
    data = other.read_bytes()
    other.write_bytes(data[:-40])
    refuse("no whole image", other)
    other.write_bytes(data[:16] + b"\x7f\xff\xff\xff" * 2 + data[24:])
    refuse("no whole image|the limit", other)
    other.write_bytes(b"%!PS-Adobe EPSF\n")
    refuse("no whole image", other, format="images")


def test_links_out_of_a_folder(tmp_path):
    (tmp_path / "run").mkdir()
    Image.fromarray(stack(1)[0]).save(tmp_path / "secret.png")
    (tmp_path / "run" / "a.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(ValueError, match="leads out of its folder"):
        open_chunks(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"holds no images \(.tif"):
        open_chunks(tmp_path / "empty")
    with pytest.raises(IsADirectoryError, match="csv data is in a file"):
        open_chunks(tmp_path / "run", format="csv")
