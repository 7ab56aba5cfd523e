"""Watch a network learn in the browser, and steer it; needs ``pip install nica[live]``.

The network runs in a thread at full speed and the page samples it: a page never slows the stream, a
closed one never stops it, several see the same. It listens on this machine alone unless told.
``nica live`` does the same from the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nica.live._feeds import Feed, Generator, Images, Stream
from nica.live._worker import Worker

if TYPE_CHECKING:
    from nica.live._server import View

__all__ = ["Feed", "Generator", "Images", "Stream", "view"]


def view(
    model: Any,
    stream: Any = None,
    *,
    speed: float | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    origins: Sequence[str] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> View:
    """Let a network learn from a stream, and serve a page that shows it.

    Parameters
    ----------
    model : estimator
        A network of nica, new or fitted; it learns on, in another thread: leave it alone until the view
        is closed (the page can save it).
    stream : array, iterable of chunks, what `nica.streams.open_chunks` gave, or Feed
        What it learns from. None is a generator of three mixed sources that the page can turn.
    speed : float, default=None
        Samples per second at most; None does not hold back.
    host, port : str and int
        Where to listen. The default is this machine alone, on any free port.
    origins : sequence of str
        Other ``name:port`` under which browsers may come.
    tell : callable
        Is given, as text, what goes wrong; the page shows it too.

    Returns
    -------
    View
        With ``url``; in a notebook it shows itself. ``close()`` ends it.

    Examples
    --------
    >>> import nica, nica.live
    >>> model = nica.NICA(3, half_life=20_000, random_state=0)
    >>> with nica.live.view(model) as view:
    ...     view.url.startswith("http://127.0.0.1:")
    True
    """
    feed = stream if isinstance(stream, Feed) else Generator() if stream is None else Stream(stream)
    try:
        from nica.live._server import View
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] in ("bokeh", "tornado", "jinja2"):
            raise ImportError("the live view needs bokeh: pip install nica[live]") from error
        raise
    worker = Worker(model, feed, speed=speed, tell=tell)
    return View(worker, host=host, port=port, origins=origins)
