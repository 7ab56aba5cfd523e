"""`nica live`: watch a network learn in the browser, and steer it."""

from __future__ import annotations

import os
import webbrowser
from typing import Annotated, Any

import typer

from nica.cli._console import err, fail

HELP = """
Watch a network learn in the browser: mixtures, outputs, weights, error, speed, and a light that tells \
whether the sources can be believed.

\b
  nica live                          three generated sources; turn or change their mixing
  nica live --images                 four images that emerge from their mixtures
  nica live mix.csv -n 3 --speed 500
  sensor | nica live - -n 3

The network runs at full speed whatever the page does; a closed page does not stop it, and several see \
the same. Ctrl-C ends it. Only this machine can reach the page unless --host says otherwise.
"""


def live(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[IN]", show_default=False, help="File to replay; - for standard input."
        ),
    ] = None,
    n_components: Annotated[
        str | None,
        typer.Option(
            "--n-components", "-n", metavar="N", help="Sources, or auto; else of channels."
        ),
    ] = None,
    speed: Annotated[
        str | None,
        typer.Option(metavar="N", help="Samples per second, or full; 10000 without IN, else full."),
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(
            min=1, metavar="N", help="Samples after which half is forgotten; 20000 without IN."
        ),
    ] = None,
    images: Annotated[bool, typer.Option("--images", help="Four images, instead of IN.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="FILE", help="Go on with this model.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Channels, by name or number from 0; else all."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="Format of the file; else told by itself.")
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes any.")] = 5010,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:PORT", help="Another name under which browsers may come."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only say where the page is.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of network and mixing.")] = 0,
) -> None:
    """Watch a network learn in the browser (see HELP)."""
    if images and source is not None:
        fail("give a file or --images, not both")
    try:
        pace = _pace(speed, source)
        wanted: int | str | None = n_components
        if n_components not in (None, "auto"):
            wanted = _number(n_components, "-n")
        from nica import live

        feed, network = _begin(source, images, wanted, half_life, model, columns, format, seed)
        served = live.view(
            network, feed, speed=pace, host=host, port=port, origins=origin or (), tell=_tell
        )
    except OSError as error:
        fail(str(error) if error.filename is None else f"{error.strerror}: {error.filename!r}")
    except (ValueError, TypeError, ImportError) as error:
        fail(str(error))
    err.print(f"Live view: {served.url} (Ctrl-C ends it)", markup=False, soft_wrap=True)
    if host not in ("127.0.0.1", "localhost", "::1"):
        err.print(
            f"nica: warning: all who can reach {host} can watch and steer it", style="yellow",
            markup=False, soft_wrap=True,
        )  # fmt: skip
    if not no_browser and not webbrowser.open(served.url):
        err.print("nica: no browser could be started: open the address above", markup=False)
    try:
        served.wait()
    except KeyboardInterrupt:
        served.close()
        if (
            source == "-"
        ):  # a thread may be waiting for the pipe, and Python's own end for that thread
            os._exit(0)


def _begin(
    source: str | None,
    images: bool,
    n_components: int | str | None,
    half_life: float | None,
    model: str | None,
    columns: str | None,
    format: str | None,
    seed: int,
) -> tuple[Any, Any]:
    """Input and network."""
    import nica
    from nica.live import Generator, Images, Stream
    from nica.rates import Activity

    given: dict[str, Any] = {"half_life": half_life, "random_state": seed}
    feed: Any
    if source is not None:
        names = None if columns is None else columns.split(",")
        chunks = nica.streams.open_chunks(source, columns=names, format=format, on_bad="skip")
        feed = Stream(chunks)
        given["n_components"] = n_components
    elif images:
        feed = Images(seed)
        given |= {"n_components": n_components or 4, "separation_rate": Activity(5.0, 0.8)}
    else:
        d = n_components if isinstance(n_components, int) else 3
        feed = Generator(d, seed)
        given |= {"n_components": d, "half_life": half_life or 20_000.0}
    return feed, nica.NICA(**given) if model is None else nica.load(model)


def _pace(speed: str | None, source: str | None) -> float | None:
    if speed is None:
        return 10_000.0 if source is None else None
    return None if speed == "full" else float(_number(speed, "--speed"))


def _number(text: str | None, option: str) -> int:
    try:
        number = int(str(text))
    except ValueError:
        number = 0
    if number < 1:
        other = "auto" if option == "-n" else "full"
        raise ValueError(f"{option} {text}: give a number from 1, or {other}")
    return number


def _tell(text: str) -> None:
    err.print(f"nica: {text}", markup=False, soft_wrap=True)
