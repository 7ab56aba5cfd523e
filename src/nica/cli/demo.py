"""`nica demo`: see a separation happen."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from nica.cli._console import fail, out, progress

if TYPE_CHECKING:
    from nica._demo import Mixture, Score

FILE = "nica-demo.html"


def demo(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help=f"Folder to write {FILE} to.")
    ] = Path(),
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the stream, the network and the order of pixels.")
    ] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples and starts.")] = False,
) -> None:
    """Separate a synthetic stream and four mixed images, live; compare FastICA and nonnegative PCA.

    Ends with a table of errors and a page to look at. Needs no internet and under half a minute.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"cannot make the folder {folder}: {error.strerror}; choose another with --out")
    if not os.access(folder, os.W_OK):
        fail(f"cannot write to the folder {folder}; choose another with --out")

    # Only now, so that `nica --help` and the errors above come at once.
    import numpy as np

    from nica import _demo, report
    from nica.networks import NICA

    n_samples, presentations, n_seeds = (20_000, 100, 3) if quick else (100_000, 300, 10)
    stream = _demo.stream_mixture(n_samples, seed)
    try:
        images = _demo.image_mixture()
    except ImportError as error:
        fail(str(error))

    outputs = np.empty_like(stream.S)
    model = NICA(n_components=stream.n_sources, random_state=seed)
    _watch("Stream", n_samples, _demo.separate_stream(model, stream, outputs))

    viewer = NICA(
        n_components=images.n_sources, separation_rate=_demo.IMAGE_RATE, random_state=seed
    )
    steps = _demo.present_images(viewer, images, presentations, seed)
    _watch("Images", presentations * len(images.S), steps)

    scores = _compare(stream, images, presentations, n_seeds)
    result = _demo.Demo(
        stream,
        outputs,
        images,
        viewer.transform(images.X),
        scores,
        {"seed": seed, "samples": n_samples, "presentations": presentations, **model.get_params()},
    )

    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(_demo.SCORE_COLUMNS):
        table.add_column(name, justify="left" if i < 2 else "right")
    for score in scores:
        table.add_row(*score.row())
    out.print(table)
    out.print("Errors: squared, per sample, summed over unit-variance sources.", style="dim")
    try:
        report.save(result.page(), path)
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}; choose another folder with --out")
    out.print(f"Report: {path.resolve()}", markup=False, soft_wrap=True)
    text, good = result.verdict()
    if not good:
        fail(text)


def _watch(title: str, n_rows: int, steps: Iterator[tuple[int, float]]) -> None:
    """Show the steps of a separation as they happen, then one line about it."""
    start = time.perf_counter()
    text = ""
    with progress() as bar:
        task = bar.add_task(title, total=n_rows, text="")
        for rows, error in steps:
            speed = rows / (time.perf_counter() - start)
            text = f"{rows:,} rows, {speed:,.0f} rows/s, error {error:.3g}"
            bar.update(task, completed=rows, text=text)
    out.print(f"{title}: {text}", markup=False)


def _compare(stream: Mixture, images: Mixture, presentations: int, n_seeds: int) -> list[Score]:
    """Let all methods separate both mixtures from several starts."""
    from nica import _demo

    scores = []
    with progress() as bar:
        task = bar.add_task("Compare", total=6 * n_seeds, text="")
        for step in _demo.compare([(stream, 1), (images, presentations)], n_seeds):
            if isinstance(step, str):
                bar.update(task, advance=1, text=step)
            else:
                scores.append(step)
    return scores
