"""The command line: one module per verb, each of which only asks and shows."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from nica._config import kernels
from nica._version import __version__
from nica.cli._console import fail
from nica.cli.convert import HELP as CONVERT
from nica.cli.convert import convert
from nica.cli.demo import demo
from nica.cli.diagnose import HELP as DIAGNOSE
from nica.cli.diagnose import diagnose
from nica.cli.info import HELP as INFO
from nica.cli.info import info
from nica.cli.live import HELP as LIVE
from nica.cli.live import live
from nica.cli.reproduce import HELP as REPRODUCE
from nica.cli.reproduce import reproduce
from nica.cli.separate import HELP as SEPARATE
from nica.cli.separate import separate
from nica.cli.tune import HELP as TUNE
from nica.cli.tune import tune

app = typer.Typer(
    name="nica",
    help="Blind nonnegative source separation with online neural networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(help=SEPARATE)(separate)
app.command()(demo)
app.command(help=DIAGNOSE)(diagnose)
app.command(help=LIVE)(live)
app.command(help=CONVERT)(convert)
app.command(help=INFO)(info)
app.command(help=REPRODUCE)(reproduce)
app.command(help=TUNE)(tune)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nica {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if (
        context.invoked_subcommand != "separate"
        and signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # `separate` has its own
    try:
        kernels()
    except ValueError as error:  # NICA_KERNELS names none
        fail(str(error))


def main() -> None:
    """Run the command line."""
    app()
