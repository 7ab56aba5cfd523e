"""Images as sources (section 4.3, Fig. 6): the user's photographs, or four that anyone has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.datasets.mixtures import MIXING_IMAGES, Mixture
from nica.datasets.sources import FloatArray

PATCH, BLOCK = 252, 4  # pixels: the side of an image patch, and of the squares averaged into one


def natural_scenes(folder: str | Path | None = None) -> Mixture:
    """Four images as sources (section 4.3, Fig. 6).

    The middle 252 x 252 pixels of each image, in grey, are averaged over 4 x 4 squares to
    63 x 63, shifted to a minimum of 0 and scaled to unit variance. One column is one image,
    row by row: ``S[:, i].reshape(shape)`` shows it again.

    The paper's photographs may not be passed on. Without a `folder` the images are four that the
    scikit-image package itself holds (public domain or CC0), so nothing is downloaded: coins,
    brick, cell and retina. Their patches are nearly uncorrelated (at most 0.11) and reach down to
    zero (1st percentile at 0.09, 0.17, 0.39 and 0.54 standard deviations), which nonnegative ICA
    needs. Not any image does: moon starts at 5.4 standard deviations, grass and gravel at 0.6 to
    0.7, and no algorithm of this kind separates such sources well.

    Parameters
    ----------
    folder : path-like, default=None
        A folder with the photographs as TIFF files, of which the first four by name are taken
        (2.tiff before 10.tiff).

    Returns
    -------
    Mixture
        S (3969, 4), X = S @ A.T, A = `MIXING_IMAGES`, shape = (63, 63), names.

    Examples
    --------
    >>> scenes = natural_scenes()
    >>> scenes.S.shape, scenes.shape, scenes.names
    ((3969, 4), (63, 63), ['coins', 'brick', 'cell', 'retina'])
    """
    try:
        from skimage import data, io
        from skimage.color import rgb2gray
    except ImportError as error:
        raise ImportError(
            "natural_scenes reads images with scikit-image: pip install nica[images]"
        ) from error
    if folder is None:
        names = ["coins", "brick", "cell", "retina"]
        images = [getattr(data, name)() for name in names]
    else:
        paths = _first_tiffs(Path(folder), 4)
        names = [path.stem for path in paths]
        images = [_read(io.imread, path) for path in paths]
    grey = [rgb2gray(image[..., :3]) if np.ndim(image) == 3 else image for image in images]
    S = np.column_stack([_patch(image, name) for image, name in zip(grey, names, strict=True)])
    A = MIXING_IMAGES.copy()
    return Mixture(X=S @ A.T, S=S, A=A, shape=(PATCH // BLOCK,) * 2, names=names)


def _patch(image: NDArray[Any], name: str) -> FloatArray:
    if image.ndim != 2 or min(image.shape) < PATCH:
        raise ValueError(
            f"image {name} has shape {image.shape}: at least {PATCH} x {PATCH} pixels are needed"
        )
    top, left = ((side - PATCH) // 2 for side in image.shape)
    middle = image[top : top + PATCH, left : left + PATCH].astype(np.float64)
    side = PATCH // BLOCK
    pixels = middle.reshape(side, BLOCK, side, BLOCK).mean(axis=(1, 3)).ravel()
    pixels -= pixels.min()
    spread = pixels.std()
    if not 0 < spread < np.inf:
        raise ValueError(f"image {name} is constant or not finite in its middle: leave it out")
    return np.asarray(pixels / spread)


def _first_tiffs(folder: Path, count: int) -> list[Path]:
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}: give one with {count} TIFF images, or None")
    paths = sorted(
        (p for p in folder.iterdir() if p.suffix.lower() in (".tif", ".tiff")), key=_by_number
    )
    if len(paths) < count:
        raise FileNotFoundError(f"{folder} holds {len(paths)} TIFF images: {count} are needed")
    return paths[:count]


def _by_number(path: Path) -> list[str | int]:
    """Name as people sort it: 2.tiff before 10.tiff."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def _read(reader: Any, path: Path) -> NDArray[Any]:
    try:
        return np.asarray(reader(path))
    except Exception as error:  # each plugin of scikit-image raises its own kind
        raise ValueError(f"{path} cannot be read as an image: {error}") from error
