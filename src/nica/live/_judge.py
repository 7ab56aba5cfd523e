"""The light: a diagnosis of the last samples now and then, in a thread of its own."""

from __future__ import annotations

import html
import threading
from typing import TYPE_CHECKING, Any

from nica.diagnostics.diagnose import diagnose

if TYPE_CHECKING:
    from nica.live._worker import Worker

FIRST = 3.0  #: seconds until the first look
PAUSE = 30.0  #: seconds between two looks
LEAST = 500  #: samples below which it waits
COLOURS = {"OK": "good", "doubtful": "warn", "failed": "bad"}


class Judge:
    """Diagnoses what the worker has kept, with copies of its network.

    Attributes
    ----------
    found : Diagnosis or None
        The last one, if network and mixing are still those that it was about.
    """

    def __init__(self, worker: Worker) -> None:
        self.found: Any = None
        self._worker = worker
        self._version = -1
        self._trouble = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nica-live-judge", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a look that has begun is not waited for."""
        self._stop.set()

    def html(self) -> str:
        """The light, and its reasons when it is clicked."""
        d = self.found
        if d is None or self._version != self._worker.version:
            why = html.escape(self._trouble) if self._trouble else "not judged yet"
            return f'<span class="soft">● {why}</span>'
        colour = COLOURS.get(d.verdict, "soft")
        reasons = [d.reason, d.looked_at, *d.obstacles]
        for signal in d.troubles:
            reasons.append(f"{signal.finding}. Cause: {signal.cause}. Remedy: {signal.remedy}.")
        reasons += [f"Assumption in doubt: {name}: {why}." for name, why in d.assumptions.items()]
        listed = "".join(f"<li>{html.escape(reason)}</li>" for reason in reasons)
        return (
            f'<details><summary><span style="color:var(--{colour})">●</span> '
            f"{html.escape(d.verdict)}</summary><ul>{listed}</ul></details>"
        )

    def look(self) -> None:
        """Judge now."""
        worker = self._worker
        try:
            model, X, version = worker.copied().result(timeout=5)
            if len(X) < LEAST:
                return
            found = diagnose(X, model=model)
        except Exception as error:  # the light goes out, the stream goes on
            self._trouble = str(error)
            self.found = None
            return
        self.found, self._version, self._trouble = found, version, ""

    def _run(self) -> None:
        while not self._stop.wait(FIRST):
            version = self._worker.version
            self.look()
            left = PAUSE if self.found is not None else 0.0
            # Sooner, when network or mixing have changed.
            while left > 0 and version == self._worker.version and not self._stop.wait(1.0):
                left -= 1.0
