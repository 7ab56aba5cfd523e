"""The page of one tab: panels, controls, status; it looks at the worker and never holds it up."""

from __future__ import annotations

import html
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from bokeh.models import (
    Button,
    CustomJS,
    Div,
    Select,
    Slider,
    TextInput,
    Toggle,
)

from nica.live._figures import Cloud, Errors, Firing, Panel, Pictures, Traces, Weights
from nica.live._snapshot import Snapshot
from nica.plotting._palette import DARK, LIGHT, css

if TYPE_CHECKING:
    from bokeh.document import Document

    from nica.live._judge import Judge
    from nica.live._worker import Worker

TICK = 60  #: milliseconds between two looks
PATIENCE = 2.0  #: seconds to wait for the page's answer
DRIFT = 10.0  #: degrees for a million samples
SPEEDS = {"full": None} | {
    f"{n:,}/s": float(n) for n in (1_000_000, 100_000, 10_000, 1000, 100, 10)
}
MEMORIES = {"all": None} | {f"{n:,}": float(n) for n in (100_000, 20_000, 5000, 1000)}
LOOK = """:host { color: var(--ink); font: inherit; }
.bk-btn, .bk-input { background: var(--well) !important; color: var(--ink) !important;
  border: 1px solid var(--line) !important; border-radius: 5px; font-size: 13px; box-shadow: none; }
.bk-btn.bk-active { background: var(--ink) !important; color: var(--paper) !important; }
.bk-btn:hover { border-color: var(--soft) !important; }
label, .bk-slider-title { color: var(--soft); font-size: 12px; }
.noUi-target, .noUi-handle { background: var(--well); border-color: var(--soft); box-shadow: none; }
.noUi-handle::before, .noUi-handle::after { display: none; }
.noUi-connect { background: var(--soft); }
details { color: var(--ink); } summary { cursor: pointer; font-weight: 550; }
ul { margin: 6px 0; padding-left: 18px; max-width: 44rem; } .soft { color: var(--soft); }
"""
DOWNLOAD = """const a = document.createElement("a"); a.href = name; a.download = name.split("/").pop();
document.body.append(a); a.click(); a.remove();"""
WATCH_MODE = """const query = window.matchMedia("(prefers-color-scheme: dark)");
const set = () => { mode.value = query.matches ? "dark" : "light"; };
query.addEventListener("change", set); set();"""


class Page:
    """What a tab shows; `attach` puts it into a Bokeh document."""

    def __init__(self, worker: Worker, judge: Judge) -> None:
        self.worker, self.judge = worker, judge
        self._shown: Snapshot | None = None
        self._light_text = ""
        images = worker.feed.shape is not None
        first: list[Panel] = (
            [Pictures("mixtures", "mixtures"), Pictures("outputs", "outputs")]
            if images
            else [Traces("mixtures", "mixtures", worker.feed.columns), Traces("outputs", "outputs")]
        )
        self.panels = [*first, Cloud(), Errors(), Firing(), Weights()]
        self.status = Div(name="status", text="", disable_math=True, stylesheets=[LOOK])
        self.light = Div(name="light", text="", disable_math=True, stylesheets=[LOOK])
        self.mode = TextInput(name="mode", value="light", visible=False)
        # A page answers each picture; while it is behind it is sent no other, so that none pile up.
        self.picture = TextInput(name="picture-number", value="0", visible=False)
        self.answer = TextInput(name="answer", value="0", visible=False)
        self.picture.js_on_change(
            "value", CustomJS(args={"answer": self.answer}, code="answer.value = this.value")
        )
        self._sent, self._when = 0, 0.0
        self.mode.on_change("value", lambda attr, old, new: self.paint(new))
        self.controls = self._controls(images)
        self.paint("light")

    def attach(self, document: Document) -> None:
        """Become the page of a document."""
        text = files("nica.live").joinpath("page.html").read_text(encoding="utf-8")
        document.template = jinja2.Environment(autoescape=False).from_string(text)
        document.template_variables.update(
            heading=f"nica live: {self.worker.feed.name}",
            controls=[control.name for control in self.controls],
            palette_css=f":root {{ color-scheme: light dark; {css(LIGHT)} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ {css(DARK)} }} }}",
        )
        document.title = "nica live"
        roots = [panel.figure for panel in self.panels]
        hidden = [self.mode, self.picture, self.answer]
        for root in [*roots, self.status, self.light, *hidden, *self.controls]:
            document.add_root(root)
        document.js_on_event("document_ready", CustomJS(args={"mode": self.mode}, code=WATCH_MODE))
        document.add_periodic_callback(self.tick, TICK)
        self.tick()

    def paint(self, mode: str) -> None:
        """Light or dark; anything else that a page may send is light."""
        for panel in self.panels:
            panel.paint(DARK if mode == "dark" else LIGHT)
        self._shown = None

    def tick(self) -> None:
        """Show the newest snapshot, if it has not been shown."""
        snapshot, now = self.worker.snapshot, time.monotonic()
        behind = self.answer.value != str(self._sent) and now < self._when + PATIENCE
        if behind or snapshot is self._shown:
            return
        self._shown, self._when = snapshot, now
        self._sent += 1
        if len(snapshot.Y):
            for panel in self.panels:
                panel.show(snapshot)
        self._tell(snapshot)
        self._agree(snapshot)
        self.picture.value = str(self._sent)  # behind all the rest

    def _tell(self, s: Snapshot) -> None:
        parts = [html.escape(s.name), f"<b>{html.escape(s.state)}</b>", f"{s.seen:,} samples"]
        if s.state == "running":
            parts.append(f"{s.rate:,.0f} samples/s")
        if s.bad:
            parts.append(f"{s.bad:,} left out: not finite or too large")
        if s.silent:
            parts.append(f"silent: {', '.join(map(str, s.silent))}")
        text = '<span class="soft"> · </span>'.join(parts)
        for why in (s.message, s.trouble):
            if why:
                text += f'<br><span style="color:var(--warn)">{html.escape(why)}</span>'
        self.status.text = text
        light = self.judge.html()
        if light != self._light_text:  # else it would close under the reader's eyes
            self._light_text = self.light.text = light

    def _agree(self, s: Snapshot) -> None:
        """Show what another tab, or the program, has set."""
        known = {control.name: control for control in self.controls}
        known["pause"].label = "Resume" if self.worker.paused else "Pause"
        _choose(known["speed"], SPEEDS, self.worker.speed)
        _choose(known["half-life"], MEMORIES, s.half_life)
        if "drift" in known:
            known["drift"].active = bool(getattr(self.worker.feed, "drift", 0.0))

    def _controls(self, images: bool) -> list[Any]:
        worker, feed = self.worker, self.worker.feed

        def button(name: str, label: str, act: Any) -> Button:
            made = Button(name=name, label=label, width=None, stylesheets=[LOOK])
            made.on_click(lambda: act())
            return made

        def select(name: str, title: str, options: dict[str, float | None], act: Any) -> Select:
            first = next(iter(options))
            made = Select(
                name=name,
                title=title,
                options=list(options),
                value=first,
                width=110,
                stylesheets=[LOOK],
            )
            made.on_change(
                "value", lambda attr, old, new: act(options[new]) if new in options else None
            )
            return made

        found: list[Any] = [
            button("pause", "Pause", lambda: worker.pause(not worker.paused)),
            select("speed", "speed", SPEEDS, self._set_speed),
            select("half-life", "half-life, samples", MEMORIES, self._set_half_life),
            button("reset", "Reset", worker.reset),
        ]
        if feed.turns:
            found.append(button("jump", "New mixing", worker.jump))
        if hasattr(feed, "angle"):
            turn = Slider(
                name="turn", title="turn the mixing, degrees", start=0, end=90, step=1, value=0,
                width=150, stylesheets=[LOOK],
            )  # fmt: skip
            turn.on_change("value", lambda attr, old, new: worker.turn(angle=new))
            drift = Toggle(name="drift", label="Drift", width=None, stylesheets=[LOOK])
            drift.on_change(
                "active", lambda attr, old, new: worker.turn(drift=DRIFT if new else 0.0)
            )
            found += [turn, drift]
        if images:
            show = Select(
                name="whole", title="images", options=["as a whole", "pixel by pixel"], width=120,
                value="as a whole", stylesheets=[LOOK],
            )  # fmt: skip
            show.on_change("value", lambda attr, old, new: self._set_whole(new == "as a whole"))
            found.append(show)
        for name, label, file in (
            ("save", "Save model", "model.safetensors"),
            ("export", "Export outputs", "outputs.csv"),
        ):
            made = Button(name=name, label=label, width=None, stylesheets=[LOOK])
            made.js_on_click(CustomJS(args={"name": file}, code=DOWNLOAD))
            found.append(made)
        picture = Button(name="picture", label="Snapshot", width=None, stylesheets=[LOOK])
        script = files("nica.live").joinpath("snapshot.js").read_text(encoding="utf-8")
        picture.js_on_click(CustomJS(code=script))
        return [*found, picture]

    def _set_speed(self, speed: float | None) -> None:
        if speed != self.worker.speed:
            self.worker.set_speed(speed)

    def _set_half_life(self, half_life: float | None) -> None:
        if half_life != getattr(self.worker.model, "half_life", None):
            self.worker.set_half_life(half_life)

    def _set_whole(self, whole: bool) -> None:
        for panel in self.panels:
            if isinstance(panel, Pictures):
                panel.whole = whole


def _choose(control: Any, options: dict[str, float | None], value: float | None) -> None:
    """Let a Select show a value, one that it did not offer too."""
    names = [name for name, known in options.items() if known == value]
    if not names:
        name = f"{value:,.4g}"
        options[name] = value
        names = [name]
    if names[0] not in control.options:
        control.options = [*control.options, names[0]]
    if control.value != names[0]:
        control.value = names[0]
