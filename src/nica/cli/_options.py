"""Options of `nica separate`, in the groups that its help shows."""

from __future__ import annotations

from typing import Annotated

import typer

from nica.streams import FORMATS

WHAT = "What to read and write"
HOW = "How to separate"
LASTING = "Long runs"
TELL = "What to tell"
NETWORK = "The network (names and defaults of nica.NICA)"
FACETS = "Sources that are correlated or sum to one (nica.FacetNICA)"


def _formats(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


def _text(panel: str, metavar: str, help: str, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, metavar=metavar, help=help, rich_help_panel=panel, show_default=False
    )
    return option


def _flag(panel: str, help: str, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, help=help, rich_help_panel=panel, show_default=False
    )
    return option


def _format(help: str, *names: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, metavar="NAME", help=help, rich_help_panel=WHAT, autocompletion=_formats
    )
    return option


Source = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="IN...", show_default=False, help="File, folder, images, or - for standard input."
    ),
]
Out = Annotated[
    str, _text(WHAT, "OUT", "File to write; - (the default) is standard output.", "--out", "-o")
]
FormatIn = Annotated[str | None, _format(f"Format of IN: {', '.join(FORMATS)}.", "--format")]
FormatOut = Annotated[str | None, _format("Format of OUT, if its name does not tell.", "--to")]
Columns = Annotated[
    str | None, _text(WHAT, "A,B,...", "Channels, by name or number from 0, in this order.")
]
InPath = Annotated[
    str | None, _text(WHAT, "NAME", "Dataset inside IN (hdf5, zarr, mat, npz).", "--path")
]
Header = Annotated[
    bool | None, _flag(WHAT, "Text begins with names of columns, or does not; else guessed.")
]
Delimiter = Annotated[str | None, _text(WHAT, "C", "Character between columns; else guessed.")]
Decimal = Annotated[str | None, _text(WHAT, "C", "Decimal mark, '.' or ','; else guessed.")]
Comment = Annotated[str | None, _text(WHAT, "TEXT", "Lines that begin so are no data; else '#'.")]
SkipBad = Annotated[
    bool,
    _flag(WHAT, "Leave out rows with anything but numbers; their outputs are NaN.", "--skip-bad"),
]
Missing = Annotated[
    str | None,
    _text(
        WHAT, "HOW", "Cells without a number: refuse, or infer from the other channels; a column then "
        "tells inferred rows (1), and guesses (2)."
    ),
]  # fmt: skip

Components = Annotated[
    str | None,
    _text(HOW, "N", "Number of sources, or auto; else of channels.", "--n-components", "-n"),
]
Frozen = Annotated[
    bool,
    _flag(HOW, "Learn first, then separate everything with the final weights.", "--frozen"),
]
Passes = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", rich_help_panel=HOW, show_default=False,
        help="With --frozen: go over IN so often, in its order. Else learning goes on until it settles.",
    ),
]  # fmt: skip
ModelIn = Annotated[
    str | None,
    _text(HOW, "FILE", "Go on from this model (or checkpoint).", "--model", "-m"),
]
Apply = Annotated[bool, _flag(HOW, "With --model: only apply it, learn nothing.", "--apply")]
Save = Annotated[str | None, _text(HOW, "FILE", "Write the model here at the end.", "--save")]
HalfLife = Annotated[
    float | None,
    _text(HOW, "N", "Forget half of the past in so many samples, to follow drift.", "--half-life"),
]
Seed = Annotated[
    int | None,
    _text(HOW, "N", "Seed of the weights (random_state); else 0.", "--seed", "--random-state"),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", rich_help_panel=HOW, show_default=False,
        help="Threads where the weights are frozen, else 1, and of the batch solver, else all cores.",
    ),
]  # fmt: skip

Scheduler = Annotated[
    str | None,
    _text(
        HOW, "ADDRESS",
        "Fit and separate on a Dask cluster (tcp://host:8786), or on threads; IN is zarr or parquet, OUT "
        "zarr.",
    ),
]  # fmt: skip

Checkpoint = Annotated[
    str | None, _text(LASTING, "FILE", "Save model and position here while it runs.")
]
Every = Annotated[
    float,
    typer.Option(
        "--checkpoint-every", min=0, metavar="SECONDS", rich_help_panel=LASTING,
        help="Time between checkpoints.",
    ),
]  # fmt: skip
Resume = Annotated[
    str | None,
    _text(LASTING, "FILE", "Go on from this checkpoint; its settings hold, IN and OUT may be left out."),
]  # fmt: skip

Quiet = Annotated[bool, _flag(TELL, "Nothing but errors and doubts.", "--quiet", "-q")]
Json = Annotated[bool, _flag(TELL, "A summary as one line of JSON.", "--json")]
Report = Annotated[
    str | None, _text(TELL, "FILE", "Write a page about the run, verdict first.", "--report")
]  # fmt: skip
NoDiagnose = Annotated[
    bool, _flag(TELL, "Do not judge at the end whether the sources can be believed.", "--no-diagnose")
]  # fmt: skip
Strict = Annotated[
    bool, _flag(TELL, "Exit code 3 if the verdict has failed or nothing can be said.", "--strict")
]

Whitened = Annotated[int | None, _text(NETWORK, "N", "Principal neurons in layer 1.")]
Interneurons = Annotated[int | None, _text(NETWORK, "N", "Interneurons in layer 1.")]
Alpha = Annotated[
    float | None, _text(NETWORK, "X", "Drop directions of the input with less variance.")
]
WhiteningRate = Annotated[
    str | None, _text(NETWORK, "time:A,B", "Rate 1/(A + B t) of layer 1, as time:100,1.")
]
SeparationRate = Annotated[
    str | None,
    _text(NETWORK, "RATE", "Rate of layer 2: activity:FLOOR,FORGETTING or time:A,B."),
]
Dynamics = Annotated[str | None, _text(NETWORK, "NAME", "exact, sweeps or ode.")]
MaxSweeps = Annotated[int | None, _text(NETWORK, "N", "Most sweeps, or steps of the ode.")]
DynamicsTol = Annotated[float | None, _text(NETWORK, "X", "Change at which sweeps end.")]
Start = Annotated[str | None, _text(NETWORK, "NAME", "warm, or paper to the letter.")]
FlipSilent = Annotated[bool | None, _flag(NETWORK, "Flip neurons that never fire, or do not.")]
Tol = Annotated[float | None, _text(NETWORK, "X", "Of --frozen: change at which it has settled.")]
MaxPasses = Annotated[int | None, _text(NETWORK, "N", "Of --frozen: most passes until then.")]
Solver = Annotated[
    str | None,
    _text(NETWORK, "NAME", "Of --frozen: stream, or batch for many samples and all cores."),
]
Starts = Annotated[int | None, _text(NETWORK, "N", "Of --solver batch: random starts.")]
Shuffle = Annotated[bool | None, _flag(NETWORK, "Of --frozen: permute samples, or do not.")]
Refine = Annotated[
    str | None, _text(NETWORK, "facets", "Of --frozen: polish without decorrelating.")
]

Facets = Annotated[
    bool,
    _flag(FACETS, "Find the facets of the samples' cone instead of decorrelating.", "--facets"),
]
Offset = Annotated[bool, _flag(FACETS, "Channels may have constant offsets.", "--offset")]
SumToOne = Annotated[bool, _flag(FACETS, "Sources are known to sum to one.", "--sum-to-one")]
Method = Annotated[
    str | None,
    _text(FACETS, "auto", "A small volume, where facets cannot be trusted.", "--method"),
]
