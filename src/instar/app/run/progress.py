"""How a run tells how far it is: a live panel on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

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

__all__ = ["Called", "Lines", "Panelled", "Progress", "Silent", "progress_of", "progress_on"]

_EVERY = 10.0
"""Seconds between lines."""


class Progress:
    """Shows how far a run is; abstract. Use it as a context.

    ``grown`` counts growth; ``pace`` says what steps per second mean for the method of the run, and
    ``shown`` names columns of thermo that are shown on the way, with their units.
    """

    grown = 0
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
    """Steps a second over the last while, and when all will be done."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def update(self, step: int) -> None:
        if self.seen and step < self.seen[-1][1]:
            self.seen = []  # a batch that was begun anew
        self.seen.append((time.monotonic(), step))
        self.seen = self.seen[-30:]

    @property
    def speed(self) -> float:
        """Steps a second."""
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
            "step": f"{step} of {last} ({phase})",
            "speed": f"{speed:.0f} steps/s" + (f", {pace}" if (pace := self.pace(speed)) else ""),
            "left": _left((last - step) / speed) if speed else "–",
        }
        if len(thermo.get("step", ())):
            self.facts |= {name: _range(thermo[name][-1], u) for name, u in self.shown.items()}
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
            names = ("step", "speed", "left", *self.shown, "memory")
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
        """Draw it anew."""
        super().update(step, last, phase, thermo, memory)
        table = Table.grid(padding=(0, 2))
        for name, fact in self.facts.items():
            table.add_row(Text(name, style="dim"), Text(fact))
        bar = ProgressBar(total=last, completed=step)
        self.live.update(Panel(Group(Padding(bar, 0), table), title="instar", border_style="dim"))


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
    """What shows progress: True and False say whether, None asks if there is a terminal."""
    if isinstance(given, Progress):
        return given
    if callable(given):
        return Called(given)
    if given not in (True, False, None):
        raise TypeError(f"progress is True, False, a function or a Progress, not {given!r}.")
    wanted = sys.stderr.isatty() if given is None else given
    return progress_on() if wanted else Silent()


def progress_on(stream: Any = None) -> Progress:
    """A panel if the stream is a terminal, else lines."""
    shown = sys.stderr if stream is None else stream
    kind = Panelled if shown.isatty() else Lines
    return kind(shown)
