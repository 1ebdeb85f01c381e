"""The report of a run."""

import csv
import dataclasses
import itertools
import re
import shutil
import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from app.runs import configuration
from ase import Atoms
from PIL import Image

import instar
from instar.app.config import load
from instar.app.report import radial
from instar.app.report.figures import Lines, as_svg, lines_figure
from instar.app.report.page import Section, page_of
from instar.app.report.radial import radial_of
from instar.app.report.structures import colours_of, structure_figure
from instar.app.report.tables import averages_table
from instar.app.report.write import _asked_lines, _changes
from instar.app.results.frames import radial_curves
from instar.app.results.run import Run
from instar.app.results.summary import drifts
from instar.app.results.trajectory import Trajectory
from instar.observables import observer
from instar.observables.radial import RadialObservation
from instar.storage import StorageError

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    config = configuration(title="Argon <& co>")
    return instar.run(config, out=tmp_path_factory.mktemp("report") / "run")


class Page(HTMLParser):
    """Tags that are open, the rows of tables, and what a browser would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.fetched = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        for name, value in attrs:
            inside = str(value).startswith(("#", "data:image/png;base64,"))
            if name in ("src", "href", "xlink:href") and not inside:
                self.fetched.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.rows[-1].append(data)


def test_the_page_is_whole_and_fetches_nothing(done):
    text = done.directory.report.read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert page.fetched == []
    assert "url(http" not in text
    assert "Argon &lt;&amp; co&gt;" in text
    assert text.count("<svg") == 7
    assert "currentColor" in text
    assert "#010203" not in text


def test_the_table_says_what_the_summary_says(done):
    page = Page()
    page.feed(done.directory.report.read_text())
    rows = [row for row in page.rows if row]
    about = [["0", "system-0", "Ar32", "32", "60"], ["1", "system-1", "Ar27", "27", "120"]]
    assert [row[:5] for row in rows] == about
    hot = done.summary["systems"][1]["temperature"]
    mean, error = map(float, re.split(" ± ", rows[1][5]))
    assert mean == pytest.approx(hot["mean"], abs=hot["error"] / 5)
    assert error == pytest.approx(hot["error"], rel=0.1)
    with open(done.path / "report" / "summary.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert float(table[1]["temperature mean (K)"]) == hot["mean"]
    assert [row["name"] for row in table] == ["system-0", "system-1"]
    assert table[1]["temperature asked (K)"] == "120.0"


def test_what_is_constant_is_said_and_not_drawn(done):
    text = done.directory.report.read_text()
    assert (
        "Grey: equilibration. Dashed: what was asked for. Constant, and not drawn: density." in text
    )
    assert not (done.path / "report" / "density.png").exists()


@pytest.mark.parametrize("name", ["pressure", "radial-Ar-Ar", "structure-1"])
def test_pictures_show_something(done, name):
    with Image.open(done.path / "report" / f"{name}.png") as image:
        values = np.asarray(image.convert("L"))
    assert values[0, 0] == 255
    assert (values < 128).mean() > 0.002


def test_radial_distributions_are_by_pair_of_species_and_leave_out_what_is_not_periodic(
    done, monkeypatch
):
    trajectory = Trajectory(done.directory.trajectory)
    trajectory._numbers[trajectory.rows(1)] = [18] * 20 + [36] * 7
    monkeypatch.setattr(trajectory, "periodic", lambda system: np.full(3, system == 1))
    monkeypatch.setattr(radial, "radial_curves", counted)
    monkeypatch.setattr(radial, "_in_units", lambda curve, loaded: curve)
    loaded = load(done.directory.config, start=done.directory.start())
    curves, note = radial_of(trajectory, loaded)
    assert list(curves) == ["Ar-Ar", "Ar-Kr", "Kr-Kr"]
    assert curves["Ar-Kr"] == (("Ar", "Kr"), 18, [1])
    assert note == (
        "From 18 frames. Without “system-0”, which does not repeat along all axes: no density, no "
        "g(r)."
    )
    assert radial_of(trajectory, loaded, [1]).curves == {}
    assert radial_of(trajectory, loaded, [1]).note.endswith("Without “system-1”, which exploded.")


def test_pairs_of_species_share_one_program_and_are_counted_as_they_are(done, monkeypatch):
    rng = np.random.default_rng(1)
    atoms = Atoms("Ar12Kr9Xe6", rng.uniform(0, 12, (27, 3)), cell=[12] * 3, pbc=True)
    pairs = list(itertools.combinations_with_replacement(("Ar", "Kr", "Xe"), 2))
    entries = [RadialObservation(pair=pair, reach=5.5, bins=5) for pair in pairs]
    trajectory = Trajectory(done.directory.trajectory)
    monkeypatch.setattr(trajectory, "structures", lambda frame: [atoms])
    programs: Any = observer._compiled
    before = programs._cache_size()
    curves = radial_curves(trajectory, entries, [0], [0])
    assert programs._cache_size() == before + 1
    edges = np.linspace(0, 5.5, 6)
    shells = 4 / 3 * np.pi * np.diff(edges**3) / 12**3
    for (first, second), curve in zip(pairs, curves, strict=True):
        own, other = (atoms.symbols == symbol for symbol in (first, second))
        apart = atoms.get_all_distances(mic=True) + 99 * np.eye(27)
        found = np.histogram(apart[np.ix_(own, other)], edges)[0]
        count = own.sum() * other.sum() - (own & other).sum()
        np.testing.assert_allclose(curve.y[0], found / count / shells, rtol=1e-12)


def counted(trajectory, entries, frames, systems):
    """In place of g(r), which has tests of its own: what it would be made of."""
    return [(entry.pair, len(frames), systems) for entry in entries]


# The run in Python -----------------------------------------------------------------------------


def test_thermo_and_averages_have_columns_with_units(done):
    thermo, averages = done.thermo, done.averages
    assert thermo["temperature"].shape == (len(thermo["step"]), 2)
    assert thermo.units["temperature"] == "K"
    found = done.summary["systems"][1]["temperature"]
    assert averages["temperature"][1] == found["mean"]
    assert averages["temperature error"][1] == found["error"]
    assert averages["temperature samples"][1] == found["samples"]
    assert averages.units["temperature error"] == "K"
    with pytest.raises(KeyError, match="There is no column 'heat'; there are step, time, "):
        thermo["heat"]


def test_columns_become_tables_of_pandas_where_it_is_installed(done, monkeypatch):
    class DataFrame(dict):
        def __init__(self, columns):
            super().__init__(columns)
            self.attrs = {}

    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=DataFrame))
    frame = done.thermo.to_pandas()
    rows = len(done.thermo["step"])
    assert {len(column) for column in frame.values()} == {2 * rows}
    assert frame["pressure"][3] == done.thermo["pressure"][1, 1]
    assert (frame["system"][3], frame["step"][3]) == (1, done.thermo["step"][1])
    assert frame.attrs["units"]["pressure"] == "bar"
    assert len(done.averages.to_pandas()["atoms"]) == 2


def test_tables_of_pandas_say_what_is_missing(done, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError) as error:
        done.thermo.to_pandas()
    assert str(error.value).splitlines()[0] == ("to_pandas needs pandas, which is not installed.")


def test_structure_and_motion_are_read_off_a_run(done):
    radial = done.radial_distribution(("Ar", "Ar"), reach=10.0, bins=150)
    assert radial.y.shape == (2, 150)
    assert 3.2 < radial.x[0, radial.y[0].argmax()] < 4.2
    moved = done.mean_square_displacement(lags=4)
    positions = done.trajectory.positions(1).astype(float)
    squares = np.sum((positions[3:] - positions[:-3]) ** 2, axis=-1)
    assert moved.y[1, 3] == pytest.approx(squares.mean(), rel=1e-4)
    np.testing.assert_allclose(moved.x[1], [0, 0.02, 0.04, 0.06])
    with pytest.raises(StorageError, match="has no velocities"):
        done.velocity_autocorrelation()


def test_a_run_is_opened_by_its_folder_and_shows_itself_in_a_few_lines(done):
    again = instar.open(done.path)
    first, *rows = repr(again).splitlines()
    assert first == f"Run('{done.path}'): 2 systems, 19 frames, 41 rows of thermo"
    about = [["0", "system-0", "Ar32"], ["1", "system-1", "Ar27"]]
    assert [row.split()[:3] for row in rows] == about
    head = f"Trajectory('{done.directory.trajectory}'): 19 frames of 2 systems"
    assert repr(again.trajectory).splitlines() == [
        head,
        "  system 0: Ar32, 19 frames",
        "  system 1: Ar27, 19 frames",
    ]


def test_pieces_for_notebooks_are_whole_and_escape_what_comes_from_files(done):
    broken = Run(done.directory)
    broken.directory = types.SimpleNamespace(
        path=Path("<script>"),
        trajectory=done.directory.trajectory,
        read_json=done.directory.read_json,
    )
    for shown in (broken, done.trajectory, done.thermo, done.averages):
        page, text = Page(), shown._repr_html_()
        page.feed(text)
        assert page.open == []
        assert "<script>" not in text
    assert "&lt;script&gt;" in broken._repr_html_()


def test_pieces_for_notebooks_name_systems_and_have_no_more_digits_than_one_reads(done):
    assert "<td>system-1</td><td>Ar27</td>" in done._repr_html_()
    assert "<td>system-1</td><td>Ar27</td><td>19</td>" in done.trajectory._repr_html_()
    cells = re.findall("<td>(.*?)</td>", done.thermo._repr_html_())
    assert max(map(len, cells)) <= len("-1.23456e-05")


# Without a run ---------------------------------------------------------------------------------


def lines(systems):
    x = np.arange(10.0)
    return Lines({n: (x, x + n) for n in range(systems)}, "time (ps)", "pressure (bar)", "p")


NAMES = ["_first", "<script>", "$x$", "liquid", "solid", "gas", "a name that is longer than all-7"]


def named(systems, **others):
    return dataclasses.replace(lines(systems), names=NAMES, **others)


def test_legends_and_panels_call_systems_by_their_names():
    (axes,) = lines_figure(named(4)).axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == NAMES[:4]
    panels = lines_figure(named(7)).axes
    titles = [axes.get_title() for axes in panels if axes.lines]
    assert titles == [*NAMES[:6], "a name that…r than all-7"]


def test_names_can_do_no_harm_to_a_page():
    for systems in (4, 7):
        page, text = Page(), as_svg(lines_figure(named(systems)))
        page.feed(text)
        assert page.open == []
        assert "<script>" not in text
        assert "&lt;script&gt;" in text


def test_names_in_any_script_are_drawn_without_a_warning():
    assert "氩" in as_svg(lines_figure(dataclasses.replace(lines(2), names=["氩", "氪"])))


def test_what_was_asked_for_is_dashed():
    asked = {1: (np.array([2.0, 9.0]), np.array([5.0, 6.0]))}
    for systems in (2, 7):
        drawn = [
            line for axes in lines_figure(named(systems, asked=asked)).axes for line in axes.lines
        ]
        (dashed,) = [line for line in drawn if line.get_linestyle() == "--"]
        assert dashed.get_ydata().tolist() == [5.0, 6.0]


def test_the_lowest_panel_of_each_column_has_numbers_below():
    figure = lines_figure(lines(9))
    figure.canvas.draw()
    shown = [
        axes.get_title()
        for axes in figure.axes
        if axes.lines and any(label.get_visible() for label in axes.get_xticklabels())
    ]
    assert shown == ["4", "5", "6", "7", "8"]


def test_long_lines_are_thinned_in_one_pair_of_axes_as_well():
    y = np.sin(np.arange(50_000.0))
    drawn = lines_figure(Lines({0: (np.arange(50_000.0), y)}, "x", "y")).axes[0].lines[0]
    assert len(drawn.get_ydata()) <= 1000


def test_the_picture_of_a_large_structure_is_not_a_large_text():
    atoms = Atoms("Ar5000", np.random.default_rng(0).random((5000, 3)) * 60, cell=[60] * 3, pbc=1)
    assert len(as_svg(structure_figure("argon", [("start", atoms)]))) < 400_000


def test_species_of_a_structure_can_be_told_apart_and_are_named():
    argon, krypton = colours_of(np.array([18, 36, 18])).values()
    assert np.linalg.norm(argon - krypton) > 0.25
    text = as_svg(structure_figure("both", [("start", Atoms("ArKr", [[0, 0, 0], [3, 0, 0]]))]))
    assert ">Ar</text>" in text
    assert ">Kr</text>" in text


def test_more_than_six_systems_have_a_panel_each():
    assert len(lines_figure(lines(6)).axes) == 1
    figure = lines_figure(lines(7))
    assert [axes.get_title() for axes in figure.axes if axes.lines] == [str(n) for n in range(7)]


def test_a_picture_of_some_systems_says_of_how_many():
    assert lines_figure(lines(36)).get_suptitle() == "p: one panel per system"
    assert lines_figure(lines(40)).get_suptitle() == "p: 36 of 40 systems"


def test_thinned_lines_keep_their_extremes():
    y = np.zeros(5000)
    y[1234], y[4321] = 5.0, -3.0
    many = {n: (np.arange(5000.0), y) for n in range(7)}
    drawn = lines_figure(Lines(many, "x", "y")).axes[0].lines[0].get_ydata()
    assert (len(drawn) <= 400, drawn.max(), drawn.min()) == (True, 5.0, -3.0)


def summary(**found):
    known = {"mean": 90.0, "error": 0.5, "unit": "K", "samples": 41.6, "drifts": False} | found
    system = {
        "atoms": 32,
        "temperature": known,
        "formula": "Ar32",
        "name": "<b>.cif",
        "asked": {"temperature": {"value": 90.0, "unit": "K"}},
    }
    return {"rows": 100, "shown": ["temperature"], "systems": [system], "observed": {}}


def test_the_table_has_samples_and_flags_what_drifts_and_escapes_names():
    quiet, moving = averages_table(summary()), averages_table(summary(drifts=True))
    assert 'title="42 independent samples"' in quiet
    assert "&lt;b&gt;.cif" in quiet
    assert "<b>.cif" not in quiet
    assert 'class="mark"' not in quiet
    assert '<b class="mark">drifts</b>' in moving
    assert "Drifts: " in moving
    both = summary() | {"systems": summary()["systems"] + summary(drifts=True)["systems"]}
    assert "Drifts (1 of 2 systems): " in averages_table(both)


def test_marks_are_of_columns_that_are_shown_and_an_average_of_few_samples_has_one():
    hidden = summary()
    hidden["systems"][0]["conserved"] = hidden["systems"][0]["temperature"] | {"drifts": True}
    assert "Drifts" not in averages_table(hidden)
    few = averages_table(summary(samples=4.9))
    assert '<b class="mark">few</b>' in few
    assert "Few: fewer than 5 samples" in few
    assert "Few" not in averages_table(summary(samples=5.0))
    assert 'title="0.4 independent samples"' in averages_table(summary(samples=0.4))


def test_the_table_shows_both_ends_of_a_ramp():
    ramped = summary()
    ramped["systems"][0]["asked"]["temperature"]["last"] = 300.0
    assert "<td>90 → 300</td>" in averages_table(ramped)
    assert "→" not in averages_table(summary())


@pytest.mark.parametrize(
    ("reached", "x", "y"), [(10, [2, 10], [90, 300]), (6, [2, 6], [90, 195]), (1, [2, 2], [90, 90])]
)
def test_the_line_of_a_ramp_ends_where_the_run_has_come_to(reached, x, y):
    ramped = summary()
    ramped["systems"][0]["asked"]["temperature"]["last"] = 300.0
    found = _asked_lines("temperature", ramped, np.array([2.0, 10.0]), float(reached))[0]
    np.testing.assert_allclose(found, [x, y])


def test_changes_are_those_within_a_stage():
    steps, values = np.array([0, 10, 20, 30, 40]), np.array([[5.0], [6], [7], [1], [3]])
    found = _changes(values, steps, [0, 20])
    assert found.ravel().tolist() == [0, 1, 2, 0, 2]


def test_a_trend_drifts_and_noise_does_not():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 400))
    assert drifts(noise[0] + np.linspace(0, 3, 400))
    assert not drifts(np.full(400, 2.5))
    assert not drifts(2.5 + 1e-12 * np.arange(400))
    assert np.mean([drifts(one) for one in noise]) < 0.03


# In a browser, where there is one -----------------------------------------------------------------

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
ROWS = [("system-10", "2.5"), ("system-9", "–"), ("system-1", "-30 ± 4"), ("system-2", "1e3")]


def sorted_by(column, clicks, folder):
    """The column of a table whose head was clicked, as a browser shows it."""
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in ROWS)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    table = f"<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>{body}</tbody></table>"
    click = f"document.querySelectorAll('th')[{column}].click();" * clicks
    path = folder / "page.html"
    page = page_of("t", "h", [Section("Averages", table, {})])
    path.write_text(f"{page}<script>{click}</script>", encoding="utf-8")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'user'}"]
    command = [BROWSER, *quiet, "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", shown)


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
@pytest.mark.parametrize(
    ("column", "clicks", "order"),
    [(0, 1, [2, 3, 1, 0]), (1, 1, [2, 0, 3, 1]), (1, 2, [3, 0, 2, 1])],
)
def test_a_click_sorts_numbers_and_names_and_leaves_what_is_not_known_last(
    column, clicks, order, tmp_path
):
    assert sorted_by(column, clicks, tmp_path) == [ROWS[place] for place in order]
