"""How a run tells how far it is."""

import io

import numpy as np

from instar.app.run.progress import Lines, Panelled, Silent, progress_of, progress_on

THERMO = {
    "step": np.array([5]),
    "temperature": np.array([[80.0, 120.0]]),
    "total": np.array([[-1.0, -2.0]]),
}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream):
    with progress_on(stream) as progress:
        progress.pace = lambda speed: f"{speed:.0f} ns/day"
        progress.shown = {"temperature": "K", "total": "eV"}
        for step in (5, 10):
            progress.update(step, 10, "production", THERMO, "3 MiB, planned 4 MiB")
            progress.grown += 1
        progress.say("Buffers have grown")
    return progress, stream.getvalue()


def test_lines_go_where_nobody_looks():
    progress, text = shown(io.StringIO())
    assert isinstance(progress, Lines)
    assert text.splitlines()[0].startswith("step 5 of 10 (production), speed")
    assert "temperature 80 … 120 K, total -2 … -1 eV" in text
    assert text.endswith("Buffers have grown\n")
    assert "\x1b" not in text


def test_a_panel_is_drawn_on_a_terminal():
    progress, text = shown(Terminal())
    assert isinstance(progress, Panelled)
    for word in ("instar", "10 of 10 (production)", "ns/day", "planned 4 MiB", "grown once"):
        assert word in text


def test_progress_is_a_choice_a_function_or_an_object():
    seen = []
    told = progress_of(lambda done, every: seen.append((done, every)))
    told.update(3, 10, "production", {}, "")
    assert seen == [(3, 10)]
    assert progress_of(told) is told
    assert isinstance(progress_of(False), Silent)
    assert isinstance(progress_of(None), Silent)  # nobody looks: there is no terminal
    assert isinstance(progress_of(True), Lines)
