"""How a run tells how far it is: a live panel on a terminal, a bar in a notebook, lines elsewhere.

```
Progress (says nothing of itself)
├── Silent
├── Called     a function is called
└── _Told      facts: step, speed, time left, memory
    ├── Panelled   a terminal
    ├── InNotebook a bar that is replaced in place
    └── Lines      logs, pipes and queues
```
"""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

__all__ = [
    "Called",
    "InNotebook",
    "Lines",
    "Panelled",
    "Progress",
    "Silent",
    "in_notebook",
    "progress_of",
    "progress_on",
    "someone_looks",
]

_EVERY = 10.0
"""Seconds between lines."""
_REFRESH = 0.25
"""Seconds between pictures of a bar."""
_KEPT = 5
"""Things that happened which stand below a bar."""


class Progress:
    """Shows how far a run is; abstract. Use it as a context.

    ``grown`` counts growth; ``pace`` says what steps per second mean for the method of the stage,
    and ``shown`` names columns of thermo that are shown on the way, with their units. ``counted``
    is what is made: steps of a run, frames that are evaluated.
    """

    grown = 0
    counted = "step"
    pace: Callable[[float], str] = staticmethod(lambda speed: "")
    shown: Mapping[str, str] = {}

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        """Something that happened."""

    def update(
        self, step: int, last: int, phase: str, thermo: Mapping[str, np.ndarray], memory: str
    ) -> None:
        """So many steps are made."""


class Silent(Progress):
    """Says nothing: for use as a library."""


class _Clock:
    """Steps per second over the last while, and when all will be done."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def update(self, step: int) -> None:
        if self.seen and step < self.seen[-1][1]:
            self.seen = []  # a batch that was begun again
        self.seen.append((time.monotonic(), step))
        self.seen = self.seen[-30:]

    @property
    def speed(self) -> float:
        """Steps per second."""
        (t0, s0), (t1, s1) = self.seen[0], self.seen[-1]
        return (s1 - s0) / (t1 - t0) if t1 > t0 else 0.0


def _left(seconds: float) -> str:
    if not np.isfinite(seconds):
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


class _Told(Progress):
    """What panels and lines have in common."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.clock = stream, _Clock()
        self.facts: dict[str, str] = {}

    def update(
        self, step: int, last: int, phase: str, thermo: Mapping[str, np.ndarray], memory: str
    ) -> None:
        """So many steps are made."""
        self.clock.update(step)
        speed = self.clock.speed
        self.facts |= {
            self.counted: f"{step} of {last}" + (f" ({phase})" if phase else ""),
            "speed": f"{speed:.0f} {self.counted}s/s"
            + (f", {pace}" if (pace := self.pace(speed)) else ""),
            "left": _left((last - step) / speed) if speed else "–",
        }
        if len(thermo.get("step", ())):
            self.facts |= {name: _range(thermo[name][-1], u) for name, u in self.shown.items()}
        if memory:
            self.facts["memory"] = memory
        if self.grown:
            times = "once" if self.grown == 1 else f"{self.grown} times"
            self.facts["buffers"] = f"grown {times}"


def _range(values: np.ndarray, unit: str) -> str:
    low, high = np.nanmin(values), np.nanmax(values)
    return f"{low:.4g} {unit}" if len(values) == 1 else f"{low:.4g} … {high:.4g} {unit}"


class Lines(_Told):
    """Plain lines, one every ten seconds: for logs, pipes and queues."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.due = 0.0

    def say(self, text: str) -> None:
        """One line for each thing that happened."""
        self.stream.write(f"{text}\n")
        self.stream.flush()

    def update(
        self, step: int, last: int, phase: str, thermo: Mapping[str, np.ndarray], memory: str
    ) -> None:
        """A line, if it is time."""
        super().update(step, last, phase, thermo, memory)
        if time.monotonic() >= self.due or step == last:
            self.due = time.monotonic() + _EVERY
            names = (self.counted, "speed", "left", *self.shown, "memory")
            parts = (f"{name} {self.facts[name]}" for name in names if name in self.facts)
            self.say(", ".join(parts))


class Panelled(_Told):
    """A panel that is drawn over itself."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.console = Console(file=stream)
        self.live = Live(console=self.console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Progress:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def say(self, text: str) -> None:
        """Above the panel."""
        self.live.console.print(Text(text))

    def update(
        self, step: int, last: int, phase: str, thermo: Mapping[str, np.ndarray], memory: str
    ) -> None:
        """Draw it again."""
        super().update(step, last, phase, thermo, memory)
        table = Table.grid(padding=(0, 2))
        for name, fact in self.facts.items():
            table.add_row(Text(name, style="dim"), Text(fact))
        bar = ProgressBar(total=last, completed=step)
        self.live.update(Panel(Group(Padding(bar, 0), table), title="instar", border_style="dim"))


class InNotebook(_Told):
    """A bar that takes its own place in a notebook, with what happened below it."""

    def __init__(self) -> None:
        super().__init__(None)
        self.handle: Any = None
        self.said: list[str] = []
        self.share, self.due = 0.0, 0.0

    def __enter__(self) -> Progress:
        display = importlib.import_module("IPython.display").display
        self.handle = display(self._shown(), raw=True, display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._draw()

    def say(self, text: str) -> None:
        """Below the bar, the last few."""
        self.said = [*self.said, text][-_KEPT:]
        self._draw()

    def update(
        self, step: int, last: int, phase: str, thermo: Mapping[str, np.ndarray], memory: str
    ) -> None:
        """Draw it again, if it is time."""
        super().update(step, last, phase, thermo, memory)
        self.share = step / last if last else 1.0
        if time.monotonic() >= self.due or step == last:
            self.due = time.monotonic() + _REFRESH
            self._draw()

    def _draw(self) -> None:
        if self.handle is not None:
            self.handle.update(self._shown(), raw=True)

    def _shown(self) -> dict[str, str]:
        """HTML, and text for where that is not shown."""
        facts = "; ".join(f"{name} {fact}" for name, fact in self.facts.items())
        lines = [line for line in (facts, *self.said) if line]
        below = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        bar = f'<progress max="1" value="{self.share:.4f}" style="width: 24em"></progress>'
        small = "font-size: 0.9em; font-variant-numeric: tabular-nums"
        shown = f'<div style="{small}">{bar} {self.share:.0%}{below}</div>'
        text = "\n".join([f"instar: {self.share:.0%}", *lines])
        return {"text/html": shown, "text/plain": text}


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, which shows what is displayed."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None


def someone_looks() -> bool:
    """Whether standard error is a terminal, or this is a notebook."""
    return sys.stderr.isatty() or in_notebook()


class Called(Progress):
    """Calls a function with the steps that are made, and with all of them."""

    def __init__(self, function: Callable[[int, int], None]) -> None:
        self._function = function

    def update(
        self, step: int, last: int, phase: str, thermo: Mapping[str, np.ndarray], memory: str
    ) -> None:
        """Tell it."""
        self._function(step, last)


def progress_of(given: bool | Progress | Callable[[int, int], None] | None) -> Progress:
    """What shows progress: True and False say whether, None asks if someone looks."""
    if isinstance(given, Progress):
        return given
    if callable(given):
        return Called(given)
    if given not in (True, False, None):
        raise TypeError(f"progress is True, False, a function or a Progress, not {given!r}.")
    wanted = someone_looks() if given is None else given
    return progress_on() if wanted else Silent()


def progress_on(stream: Any = None) -> Progress:
    """A panel if the stream is a terminal, a bar in a notebook, else lines."""
    if stream is None and in_notebook():
        return InNotebook()
    shown = sys.stderr if stream is None else stream
    kind = Panelled if shown.isatty() else Lines
    return kind(shown)
