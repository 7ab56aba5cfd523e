"""The server: loopback unless told, only its own pages, no paths from outside."""

from __future__ import annotations

import asyncio
import html
import io
import logging
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Self

import numpy as np
from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.server.server import Server
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from nica.live._judge import Judge
from nica.live._page import Page
from nica.live._worker import Worker

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class View:
    """A live view that is being served; in a notebook it shows itself.

    Attributes
    ----------
    url : str
        Where to look at it.
    port : int
    worker : Worker
        The thread with the network: ``worker.model``, ``worker.snapshot``.
    """

    def __init__(
        self, worker: Worker, *, host: str = "127.0.0.1", port: int = 0, origins: Sequence[str] = ()
    ) -> None:
        self.worker, self.judge = worker, Judge(worker)
        self._hosts: set[str] = set(origins)
        self._wish = host, port
        self._loop: Any = None
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._serve, args=(ready,), name="nica-live-server", daemon=True
        )
        self._thread.start()
        try:
            ready.result()
        except OSError as error:
            raise OSError(
                f"cannot listen on {host}:{port}: {error.strerror or error}; "
                "choose another port, or 0 for any that is free"
            ) from None
        worker.start()
        self.judge.start()

    def allows(self, host: str) -> bool:
        """Whether a request that names this host comes from one of our pages."""
        return host in self._hosts

    def close(self) -> None:
        """Stop serving and learning; the model keeps what it has learned."""
        self.judge.stop()
        self.worker.stop()
        self._loop.add_callback(self._end)
        self._thread.join(5)

    def wait(self) -> None:
        """Wait until it is closed."""
        while self._thread.is_alive():
            self._thread.join(0.5)  # in pieces, so that Ctrl-C gets through

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        url = html.escape(self.url)
        return f'<iframe src="{url}" width="100%" height="800" frameborder="0"></iframe>'

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self, ready: Future[None]) -> None:
        """Make the server in the thread, whose loop it belongs to, and run it."""
        for name in ("bokeh", "tornado.access"):  # each closed tab would be told as a warning
            logging.getLogger(name).setLevel(logging.ERROR)
        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        try:
            self._listen(*self._wish)
        except BaseException as error:
            self._loop.close()
            ready.set_exception(error)
            return
        ready.set_result(None)
        self._loop.start()
        self._loop.close()

    def _listen(self, host: str, port: int) -> None:
        handlers = [
            ("/alive", Alive, {"live": self}),
            ("/model.safetensors", ModelFile, {"live": self}),
            ("/outputs.csv", Outputs, {"live": self}),
        ]
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, port), family=family):
            pass  # whether it can be had; Bokeh would leave a socket open if not
        self._server: Any = Server(
            {"/": Application(FunctionHandler(self._document))}, io_loop=self._loop, address=host,
            port=port, allow_websocket_origin=["127.0.0.1:0"], extra_patterns=handlers,
            check_unused_sessions_milliseconds=5000, unused_session_lifetime_milliseconds=5000,
        )  # fmt: skip
        self.port: int = self._server.port
        shown = "127.0.0.1" if host in ("", "0.0.0.0", "::") else host
        names = {shown, host, *(LOOPBACK if shown in LOOPBACK else ())} - {""}
        self._hosts |= {f"{f'[{n}]' if ':' in n else n}:{self.port}" for n in names}
        self._server._tornado._websocket_origins = set(self._hosts)  # known only with the port
        self.url = f"http://{shown}:{self.port}/"
        self._server.start()

    def _end(self) -> None:
        self._server.stop(wait=False)
        self._loop.stop()

    def _document(self, document: Any) -> None:
        Page(self.worker, self.judge).attach(document)


class Ours(RequestHandler):
    """Answers requests from our own pages only, whatever name another site gave to this machine."""

    def initialize(self, live: View) -> None:
        self.live = live

    def prepare(self) -> None:
        if not self.live.allows(self.request.host):
            self.send_error(403)

    def set_default_headers(self) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")


class Alive(Ours):
    """Says that there is a server."""

    def get(self) -> None:
        self.finish("yes")


class ModelFile(Ours):
    """The model as it stands."""

    async def get(self) -> None:
        data = await _answer(self, self.live.worker.file())
        if data is not None:
            self.set_header("Content-Type", "application/octet-stream")
            self.set_header("Content-Disposition", 'attachment; filename="model.safetensors"')
            self.finish(data)


class Outputs(Ours):
    """The last outputs as CSV."""

    async def get(self) -> None:
        found = await _answer(self, self.live.worker.outputs())
        if found is not None:
            first, Y = found
            text = io.StringIO()
            names = ",".join(f"source {j}" for j in range(Y.shape[1]))
            rows = np.column_stack([first + np.arange(len(Y)), Y])
            formats = ["%d", *["%.17g"] * Y.shape[1]]
            np.savetxt(
                text, rows, fmt=formats, delimiter=",", header=f"sample,{names}", comments=""
            )
            self.set_header("Content-Type", "text/csv")
            self.set_header("Content-Disposition", 'attachment; filename="outputs.csv"')
            self.finish(text.getvalue())


async def _answer(handler: Ours, asked: Any) -> Any:
    """What the network's thread answers; a plain message if it cannot."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(asked), 5)
    except Exception as error:
        handler.set_status(409)
        handler.set_header("Content-Type", "text/plain; charset=utf-8")
        handler.finish(f"{error}\n")
        return None
