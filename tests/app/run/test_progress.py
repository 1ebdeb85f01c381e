"""How a run tells how far it is."""

import io
import sys
import types

import numpy as np

import instar
from instar.app.run.progress import (
    InNotebook,
    Lines,
    Panelled,
    Progress,
    Silent,
    progress_of,
    progress_on,
)

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


class Displays:
    """Stands for IPython and its display: what each place in the output showed, in order."""

    def __init__(self, monkeypatch, kernel):
        self.places = []
        shell = types.SimpleNamespace(kernel=kernel)
        module = types.SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        display = types.SimpleNamespace(display=self._display)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def _display(self, content, raw, display_id):
        assert (raw, display_id) == (True, True)
        self.places.append([content])
        return types.SimpleNamespace(update=lambda new, raw: self.places[-1].append(new))


def test_a_bar_takes_its_own_place_in_a_notebook(monkeypatch, capsys):
    displays = Displays(monkeypatch, kernel=object())
    with progress_of(True) as progress:
        assert isinstance(progress, InNotebook)
        progress.shown = {"temperature": "K"}
        progress.say("1 system <b>")
        progress.update(5, 10, "production", THERMO, "3 MiB, planned 4 MiB")
        progress.update(10, 10, "production", THERMO, "3 MiB, planned 4 MiB")
    (place,) = displays.places
    assert '<progress max="1" value="0.0000"' in place[0]["text/html"]
    assert any('value="0.5000"' in one["text/html"] for one in place)
    last = place[-1]
    assert 'value="1.0000"' in last["text/html"]
    assert "1 system &lt;b&gt;" in last["text/html"]
    assert last["text/plain"].startswith("instar: 100%\nstep 10 of 10 (production); speed")
    assert "temperature 80 … 120 K" in last["text/plain"]
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_not_drawn_more_often_than_eyes_can_see(monkeypatch):
    displays = Displays(monkeypatch, kernel=object())
    with progress_of(None) as progress:
        for step in range(1, 1001):
            progress.update(step, 1000, "production", {}, "")
    assert len(displays.places[0]) < 100


def test_a_shell_on_a_terminal_is_not_a_notebook(monkeypatch):
    Displays(monkeypatch, kernel=None)
    assert isinstance(progress_of(True), Lines)
    assert isinstance(progress_of(None), Silent)


def test_frames_and_steps_show_progress_in_the_same_way(monkeypatch, capsys):
    frames = np.ones((20, 3))
    instar.over_frames(lambda row: row.sum(), frames, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("20 frames in 1 batch of 20; predicted peak")
    assert lines[-1].startswith("frame 20 of 20, speed")
    displays = Displays(monkeypatch, kernel=object())
    instar.over_frames(lambda row: row.sum(), frames, progress=True)
    assert "frame 20 of 20" in displays.places[0][-1]["text/plain"]

    class Noted(Progress):
        seen = None

        def update(self, step, last, phase, thermo, memory):
            self.seen = (step, last)

    instar.over_frames(lambda row: row.sum(), frames, progress=(noted := Noted()))
    assert noted.seen == (20, 20)
