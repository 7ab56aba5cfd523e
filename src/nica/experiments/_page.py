"""All figures with their verdicts on one page: HTML for anybody, Markdown for the documentation."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

from nica import report
from nica.experiments._jobs import versions
from nica.experiments._reproduce import Reproduction


def as_html(done: Sequence[Reproduction]) -> report.Html:
    """Give the page, with the figures in it.

    Parameters
    ----------
    done : sequence of Reproduction

    Returns
    -------
    Html
        For `nica.report.save`.

    Examples
    --------
    >>> import tempfile
    >>> from nica.experiments import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     document = as_html(reproduce("fig1", folder, runs=1, samples=200, n_jobs=1))
    >>> "Fig. 1" in document
    True
    """
    sections = [report.section(each.experiment.title, *_parts(each)) for each in done]
    return report.page(
        "Figures of the paper",
        "Pehlevan, Mohan and Chklovskii 2017, drawn again from runs on this machine",
        *sections,
        report.section("Versions", report.versions()),
    )


def _parts(each: Reproduction) -> Iterable[report.Html]:
    data = base64.b64encode(each.paths["png"].read_bytes()).decode("ascii")
    title = each.experiment.title
    yield report.Html(
        f'<figure><img src="data:image/png;base64,{data}" alt="{title}" '
        'style="width:100%;height:auto;background:#fff"></figure>'
    )
    yield report.note(each.experiment.caption)
    for verdict in each.verdicts:
        yield report.verdict(
            f"{verdict.word}: {verdict.text()}", verdict.holds or not verdict.judged
        )
        if verdict.why and not verdict.holds:
            yield report.paragraph(verdict.why)
    if each.table is not None:
        headings, rows = each.table
        yield report.table(headings, rows, n_names=2)
    yield report.note(size(each))


def size(each: Reproduction) -> str:
    """How large this was."""
    return (
        f"{each.setup.runs} runs of {each.setup.samples:,} samples; "
        f"{each.seconds:,.0f} s of one core in all."
    )


def as_markdown(done: Sequence[Reproduction], images: str, introduction: str) -> str:
    """Give the page of the documentation.

    Parameters
    ----------
    done : sequence of Reproduction
    images : str
        Folder of the PNG files, as the page sees it.
    introduction : str
        What stands under the heading.

    Returns
    -------
    str

    Examples
    --------
    >>> import tempfile
    >>> from nica.experiments import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = as_markdown(reproduce("fig1", folder, runs=1, samples=200, n_jobs=1), "img", "Runs.")
    >>> text.splitlines()[0]
    '# Results'
    """
    all_verdicts = [(each, verdict) for each in done for verdict in each.verdicts]
    parts = ["# Results", introduction, "## In one table"]
    overview = [
        [f"[{each.experiment.name}](#{each.experiment.name})", verdict.claim, verdict.word]
        for each, verdict in all_verdicts
    ]
    parts.append(_table(["figure", "claim", "verdict"], overview))
    differing = [
        f"- [{each.experiment.name}](#{each.experiment.name}): *{verdict.claim}* {verdict.why}"
        for each, verdict in all_verdicts
        if verdict.judged and not verdict.holds
    ]
    if differing:
        parts += ["## Where it differs from the paper, and why", "\n".join(differing)]
    for each in done:
        name = each.experiment.name
        parts += [f"({name})=", f"## {each.experiment.title}"]
        parts.append(f"![{each.experiment.title}]({images}/{name}.png)")
        parts.append(each.experiment.caption)
        for verdict in each.verdicts:
            lines = [f"**{verdict.word}** · {verdict.claim}", "", f"Measured: {verdict.measured}"]
            if verdict.why and not verdict.holds:
                lines += ["", f"Why: {verdict.why}"]
            parts.append("\n".join(lines))
        if each.table is not None:
            parts.append(_table(*each.table))
        parts.append(f"{size(each)} `nica reproduce {name}`")
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    parts.append(f"Made with {made}.")
    return "\n\n".join(parts) + "\n"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table of Markdown; bars inside cells would end them."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "∣") for cell in row) + " |" for row in lines
    )
