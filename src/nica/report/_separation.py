"""Pages about a run: what it was, the verdict first, sources, convergence, diagnosis, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nica.report._bands import bands, spectrum
from nica.report._figures import curve, traces
from nica.report._page import (
    Html,
    note,
    page,
    paragraph,
    parameters,
    section,
    table,
    verdict,
    versions,
)
from nica.report._record import Record

MOST = 20  #: channels and sources shown


def separation(
    record: Record,
    model: Any,
    *,
    diagnosis: Any = None,
    source: str = "samples",
    names: Sequence[str] | None = None,
    run: Mapping[str, object] | None = None,
) -> Html:
    """Give the page about a separation.

    Parameters
    ----------
    record : Record
        What was kept of the samples while they went by.
    model : fitted estimator
    diagnosis : nica.diagnostics.Diagnosis, default=None
        Of the same samples; without it the page says that nothing is known.
    source : str, default="samples"
        What was separated, such as the name of a file.
    names : sequence of str, default=None
        Of the channels.
    run : mapping of str to object, default=None
        What else there is to say about the run: time taken, files written.

    Returns
    -------
    Html
        For `save`. Under 5 MB, however long the run: it says what was left out.

    Examples
    --------
    >>> import nica
    >>> X = nica.datasets.make_mixture(n_samples=2000, random_state=0).X
    >>> model = nica.NICA(random_state=0)
    >>> record = nica.report.Record()
    >>> record.add(X, model.separate(X), model)
    >>> "<h2>Sources</h2>" in separation(record, model)
    True
    """
    n = record.n_samples
    k, d = _width(record.last_X), _width(record.last_Y)
    if diagnosis is None:
        first = verdict(
            "Not diagnosed: nothing is known about whether these sources are right.", None
        )
    else:
        first = diagnosis.parts()[0]
    channels = [f"channel {j}" for j in range(k)] if names is None else [str(x) for x in names]
    parts = [first, _ends(record, channels), _whole(record)]
    if record.t:
        parts.append(_convergence(record))
    if diagnosis is not None:
        parts.append(section("Diagnosis", *_reasons(diagnosis)))
    parts.append(_mixing(model, channels))
    asked = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    parts += [
        section(
            "Run", parameters({"samples": f"{n:,}", "channels": k, "sources": d} | dict(run or {}))
        ),
        section("Parameters", parameters(asked)),
        section("Versions", versions()),
    ]
    return page(
        f"Separation of {source}",
        f"{n:,} samples of {_count(k, 'channel')}, taken apart into {_count(d, 'source')}",
        *(part for part in parts if part),
    )


def diagnosed(
    diagnosis: Any, *, source: str = "samples", run: Mapping[str, object] | None = None
) -> Html:
    """Give the page about a diagnosis.

    Parameters
    ----------
    diagnosis : nica.diagnostics.Diagnosis
    source : str, default="samples"
        What was diagnosed, such as the name of a file.
    run : mapping of str to object, default=None
        What else there is to say: options, files.

    Returns
    -------
    Html
        For `save`.

    Examples
    --------
    >>> import nica
    >>> X = nica.datasets.make_mixture(n_samples=2000, random_state=0).X
    >>> "<svg" in diagnosed(nica.diagnose(X))
    True
    """
    parts = [diagnosis.parts()[0]]
    if diagnosis.outputs is not None and len(diagnosis.outputs):
        Y, n = diagnosis.outputs[:200, :MOST], diagnosis.outputs.shape[1]
        names = [f"source {j}" for j in range(Y.shape[1])]
        text = _left_out("sources", n, f"The first {len(Y)} values.")
        shown = traces({"outputs": Y}, names={"outputs": names})
        parts.append(section("Sources", note(text), shown))
    parts.append(section("Diagnosis", *_reasons(diagnosis)))
    if run:
        parts.append(section("Run", parameters(run)))
    if diagnosis.model is not None:
        parts.append(section("Parameters", parameters(diagnosis.model.get_params(deep=False))))
    parts.append(section("Versions", versions()))
    return page("Can it be believed?", f"A diagnosis of {source}", *parts)


def _reasons(diagnosis: Any) -> list[Html]:
    rank = diagnosis.rank
    seen = [spectrum(rank.spectrum, diagnosis.n_components)] if rank and len(rank.spectrum) else []
    return [*diagnosis.parts()[1:], *seen]


def _ends(record: Record, channels: list[str]) -> Html:
    """The last samples as they were."""
    if record.last_X is None or record.last_Y is None or not len(record.last_Y):
        return section("Sources", paragraph("There were no samples."))
    X, Y = record.last_X[:, :MOST], record.last_Y[:, :MOST]
    names = {"mixtures": channels[:MOST], "outputs": [f"source {j}" for j in range(Y.shape[1])]}
    text = (
        f"The last {len(Y)} of {record.n_samples:,} samples, each a point; zero is the grey line."
    )
    text = _left_out("channels", record.last_X.shape[1], text)
    return section(
        "Sources",
        note(_left_out("sources", record.last_Y.shape[1], text)),
        traces({"mixtures": X, "outputs": Y}, plain=["mixtures"], names=names),
    )


def _whole(record: Record) -> Html:
    """All outputs, by their extremes."""
    length, low, high = record.extremes()
    if len(low) < 2 or record.n_samples <= 200:
        return Html("")
    each = "each sample" if length == 1 else f"least and largest value of every {length:,} samples"
    caption = _left_out("sources", low.shape[1], f"All {record.n_samples:,} outputs: {each}.")
    names = [f"source {j}" for j in range(min(low.shape[1], MOST))]
    return section("The whole run", bands(caption, low, high, names))


def _convergence(record: Record) -> Html:
    return section(
        "Convergence",
        paragraph(
            "How much of the channels the nonnegative sources leave unexplained. Small is necessary for "
            "a separation, not sufficient."
        ),
        curve(
            record.t,
            {"": record.unexplained},
            xlabel="samples seen",
            ylabel="Share of the variance that is left, of samples that had just come",
        ),
    )


def _mixing(model: Any, channels: list[str]) -> Html:
    """How each source comes through in the channels."""
    try:
        A = np.asarray(model.mixing_)[:MOST, :MOST]
    except (AttributeError, ValueError):
        return Html("")
    heads = ["channel", *(f"source {j}" for j in range(A.shape[1]))]
    rows = [
        [name, *(f"{value:.3g}" for value in row)] for name, row in zip(channels, A, strict=False)
    ]
    text = "What a source of variance 1 adds to each channel, as the weights stand at the end."
    text = _left_out("channels", len(channels), text)
    return section("Mixing", note(text), table(heads, rows))


def _left_out(what: str, n: int, text: str) -> str:
    return f"{text} Of {n} {what} the first {MOST} are shown." if n > MOST else text


def _width(values: Any) -> int:
    return 0 if values is None else int(values.shape[1])


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"
