"""A diagnosis as text, for rich, and as pieces of a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nica._signals import COLOURS, OK

if TYPE_CHECKING:
    from rich.console import Group

    from nica._signals import Signal
    from nica.diagnostics.diagnosis import Diagnosis
    from nica.report import Html

SIGNALS = ("signal", "value", "OK", "failed", "verdict")
SOURCES = (
    "source", "restarts", "halves", "random halves", "second opinion", "negative", "lowest", "slack",
    "verdict",
)  # fmt: skip


def as_text(d: Diagnosis) -> str:
    """Plain text, for a terminal or a log."""
    lines = [f"{d.verdict}: {d.reason}", d.looked_at]
    lines += [f"- {obstacle}" for obstacle in d.obstacles]
    for signal in d.troubles:
        lines += [f"- {signal.verdict}: {signal.finding}"]
        lines += [f"  cause: {signal.cause}", f"  remedy: {signal.remedy}"]
    lines += [f"- assumption in doubt: {name}: {why}" for name, why in d.assumptions.items()]
    if d.rank is not None:
        lines.append(f"number of sources: {d.n_components} asked for; the channels show {d.rank}")
    return "\n".join(lines)


def as_rich(d: Diagnosis) -> Group:
    """The same with colours and tables."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Text | Table] = [
        Text.assemble((d.verdict, f"bold {COLOURS[d.verdict]}"), f": {d.reason}"),
        Text(d.looked_at, style="dim"),
    ]
    parts += [Text(f"- {obstacle}") for obstacle in d.obstacles]
    for signal in d.troubles:
        parts += [
            Text.assemble(("\n" + signal.verdict, COLOURS[signal.verdict]), f": {signal.finding}"),
            Text(f"  cause: {signal.cause}"),
            Text(f"  remedy: {signal.remedy}"),
        ]
    for name, why in d.assumptions.items():
        parts.append(Text(f"\nassumption in doubt: {name}: {why}"))
    if d.rank is not None:
        parts.append(
            Text(f"\nnumber of sources: {d.n_components} asked for; the channels show {d.rank}\n")
        )
    for heads, rows in ((SIGNALS, signal_rows(d)), (SOURCES, source_rows(d))):
        if rows:
            table = Table(box=None, pad_edge=False, header_style="dim")
            for i, head in enumerate(heads):
                table.add_column(head, justify="left" if i == 0 else "right")
            for row in rows:
                table.add_row(*row[:-1], Text(row[-1], style=COLOURS.get(row[-1], "")))
            parts += [table, Text()]
    return Group(*parts)


def signal_rows(d: Diagnosis) -> list[list[str]]:
    """A row of text for each signal."""
    return [
        [
            signal.name,
            f"{signal.value:.3g}",
            *_limits(signal),
            signal.verdict,
        ]
        for signal in d.signals
    ]


def source_rows(d: Diagnosis) -> list[list[str]]:
    """A row of text for each source, its verdict last."""
    return [
        [
            str(s.index),
            *(f"{r:.2f}" for r in (s.restarts, s.halves, s.random_halves)),
            f"{s.second:.2g}",
            f"{s.negative:.2g}",
            f"{s.lowest:.2f}",
            f"{s.slack:.0f}°",
            s.verdict,
        ]
        for s in d.sources
    ]


def as_html(d: Diagnosis) -> tuple[Html, ...]:
    """Pieces of `nica.report`."""
    from nica import report

    parts = [
        report.verdict(f"{d.verdict}: {d.reason}", d.verdict == OK),
        report.note(d.looked_at),
        *(report.paragraph(obstacle) for obstacle in d.obstacles),
    ]
    for signal in d.troubles:
        text = f"{signal.finding}. Cause: {signal.cause}. Remedy: {signal.remedy}."
        parts.append(report.paragraph(f"{signal.verdict.capitalize()}: {text}"))
    for name, why in d.assumptions.items():
        parts.append(report.paragraph(f"Assumption in doubt: {name}: {why}."))
    if d.rank is not None:
        parts.append(
            report.paragraph(
                f"Number of sources: {d.n_components} asked for; the channels show {d.rank}."
            )
        )
    if d.signals:
        good = [signal.verdict == OK for signal in d.signals]
        parts.append(report.table(SIGNALS, signal_rows(d), good=good))
    if d.sources:
        good = [source.verdict == OK for source in d.sources]
        parts.append(report.table(SOURCES, source_rows(d), good=good))
    return tuple(parts)


def _limits(signal: Signal) -> tuple[str, str]:
    """What is OK and what has failed."""
    if signal.name == "number":
        return f"{signal.ok:g} to {signal.failed:g}", ""
    above = signal.ok > signal.failed
    failed = f"{'<' if above else '>'} {signal.failed:g}" if math.isfinite(signal.failed) else ""
    return f"{'≥' if above else '≤'} {signal.ok:g}", failed
