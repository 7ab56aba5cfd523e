"""One self-contained HTML page that shows a separation.

The pieces are functions that take data and give `Html`; `page` puts them together and `save` writes
the file. `separation` and `diagnosed` are whole pages. A page asks the network for nothing (its content
security policy forbids it), follows the reader's light or dark setting, and prints. Every string that
is not `Html` already is escaped.

Examples
--------
>>> from nica import report
>>> found = report.table(["source", "error"], [["<a>", 0.25]])
>>> document = report.page("My separation", "two sources", report.section("Errors", found))
>>> "&lt;a&gt;" in document
True
"""

from nica.report._bands import bands, picture, spectrum
from nica.report._figures import curve, images, png, traces
from nica.report._page import (
    Html,
    note,
    page,
    paragraph,
    parameters,
    save,
    section,
    table,
    verdict,
    versions,
)
from nica.report._record import Record
from nica.report._separation import diagnosed, separation

__all__ = [
    "Html",
    "Record",
    "bands",
    "curve",
    "diagnosed",
    "images",
    "note",
    "page",
    "paragraph",
    "parameters",
    "picture",
    "png",
    "save",
    "section",
    "separation",
    "spectrum",
    "table",
    "traces",
    "verdict",
    "versions",
]
