"""Folders of runs: made whole or not at all, known by their version, refused in words."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from app.runs import METHODS, OBSERVE, configuration, run, written
from support import raises

import instar
from instar.app.cli.main import main
from instar.app.config import load
from instar.app.config.resolved import resolved
from instar.app.run import directory as directories
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.app.run.ending import ended
from instar.app.run.notes import notes_of
from instar.app.run.planning import _plan, check_disk
from instar.app.run.progress import Lines, Progress, Silent, progress_of
from instar.memory import find_budget

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(scope="module")
def loaded():
    return load(configuration())


def fail(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("writes", range(4))
def test_a_folder_that_can_not_be_made_whole_is_not_there(
    tmp_path, monkeypatch, loaded, writes, is_there
):
    write, room, place = directories.write_atomically, iter([True] * writes), tmp_path / "run"
    if is_there:
        place.mkdir()
    monkeypatch.setattr(
        directories, "write_atomically", lambda *a: write(*a) if next(room, False) else fail()
    )
    with raises(
        RunDirectoryError, f"The folder {place} can't be written: No space left on device."
    ):
        RunDirectory.create(place, loaded, {"provenance.json": {}})
    assert list(tmp_path.rglob("*")) == ([place] if is_there else [])


@pytest.mark.parametrize("place", [".", "new/er", "killed"])
def test_a_folder_that_is_whole_has_its_name_and_nothing_else(tmp_path, monkeypatch, loaded, place):
    (tmp_path / "killed" / ".new").mkdir(parents=True)
    (tmp_path / "killed" / ".new" / "structures.npz").touch()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here" if place == "." else tmp_path)
    made = RunDirectory.create(tmp_path.cwd() / place, loaded, {"provenance.json": {}})
    names = {"config.yaml", "resolved.yaml", "structures.npz", "provenance.json", "checkpoints"}
    assert {path.name for path in made.path.iterdir()} == names
    assert {path.name for path in tmp_path.iterdir()} <= {"killed", "here", "new"}
    assert RunDirectory.open(made.path).start().structures[0] == loaded.structures[0]


@pytest.mark.parametrize(
    "place",
    ["api.run.planned", "api.run.provenance", "api.run.RunLoop", "run.loop.built", "progress"],
)
def test_what_fails_before_the_first_step_leaves_no_folder(tmp_path, monkeypatch, loaded, place):
    def planned(loaded, _):
        return _plan(loaded, find_budget(None), [range(2)], 10**8, range(2)), None

    class Broken(Progress):
        __enter__ = fail

    monkeypatch.setattr("instar.app.api.run.planned", planned)
    if place != "progress":
        monkeypatch.setattr(f"instar.app.{place}", fail)
    with pytest.raises(OSError, match="No space left"):
        run(configuration(), tmp_path / "run", progress=Broken() if place == "progress" else None)
    assert list(tmp_path.iterdir()) == []


def test_progress_is_shown_where_it_is_asked_for():
    assert isinstance(progress_of(True), Lines)
    assert isinstance(progress_of(False), Silent)
    assert isinstance(progress_of(None), Silent)
    mine = Progress()
    assert progress_of(mine) is mine


def test_a_run_does_not_begin_where_the_disk_is_short(tmp_path, monkeypatch, loaded):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2048))
    with raises(
        RunDirectoryError,
        f"The run would write about 21.6 KiB to {tmp_path / 'a' / 'b'}, where 2.00 KiB are free.",
    ):
        check_disk(loaded, tmp_path / "a" / "b")
    check_disk(loaded, tmp_path, 0.05)


def test_a_folder_of_another_version_is_refused_by_name(tmp_path, loaded):
    made = RunDirectory.create(tmp_path / "run", loaded, {"provenance.json": {"folder": 9}})
    with raises(
        RunDirectoryError,
        f"{made.path} is the folder of a run of version 9; this instar reads versions 1 to 2.",
    ):
        RunDirectory.open(made.path)


@pytest.mark.parametrize("about", [{"folder": 1}, {}])
def test_a_folder_of_an_older_version_is_read_and_not_gone_on_with(tmp_path, loaded, about):
    """Its batches that have begun lack the row of the start, which others would get."""
    made = RunDirectory.create(tmp_path / "run", loaded, {"provenance.json": about})
    assert instar.open(made.path).path == made.path
    with raises(
        RunDirectoryError,
        f"The run in {made.path} was begun by an older instar (version 1 of its folder; this one "
        "writes 2), whose recordings lack the row of the start: it can be read, but not "
        "continued.",
    ):
        instar.resume(made.path)
    with raises(
        RunDirectoryError,
        f"The run in {made.path} was made by an older instar (version 1 of its folder), which did "
        "not keep the velocities of the end.",
    ):
        ended(made.path)


def test_a_folder_with_a_name_that_is_too_long_is_refused_in_a_sentence():
    with raises(RunDirectoryError, f"The folder {'x' * 80}… can't be read: File name too long."):
        RunDirectory.open(Path("x" * 5000))


@pytest.mark.parametrize("method", METHODS)
def test_a_configuration_with_all_defaults_is_the_same_configuration(method):
    given = load(configuration(method, observe=OBSERVE))
    written_out = resolved(given)
    again = load(yaml.safe_load(yaml.safe_dump(written_out)))
    same = given.config.model_copy(update={"potential": None, "observe": None})
    assert again.config.method.knobs == given.config.method.knobs
    assert (
        again.config.model_copy(update={"potential": None, "observe": None, "method": same.method})
        == same
    )
    assert again.observations == given.observations
    assert written_out["seed"] == 0
    assert written_out["output"]["checkpoint_every"] == 300.0


REST = {
    "systems": [{"structure": {"lattice": "sc", "species": "Ar", "repeat": 2, "a": 4.0}}],
    "potential": [
        {"type": "harmonic_bond", "terms": [{"atoms": [0, 1], "k": 1.0, "r0": 4.0}]},
    ],
    "method": {"type": "md", "ensemble": "nve", "time_step": "2 fs"},
    "run": {"steps": 20},
    "output": {"trajectory_every": 1000, "thermo_every": 100},
}


class Heard(Progress):
    """Notes what a run says."""

    def __init__(self):
        self.texts = []

    def say(self, text):
        self.texts.append(text)


def test_a_run_without_frames_and_rows_works_and_says_so(tmp_path, capsys):
    assert main(["validate", str(written(tmp_path / "rest.yaml", REST))]) == 0
    said = capsys.readouterr().out
    heard = Heard()
    done = instar.run(REST, tmp_path / "run", progress=heard)
    assert heard.texts[0] == "Compiling the program for 1 system, 8 atoms."
    log = (done.path / "log.txt").read_text()
    for note in (
        "Only the first frame of the production is recorded: output.trajectory_every is 1000, and "
        "it has 20 steps.",
        "There are no averages of the production: output.thermo_every is 100, and it has 20 steps.",
        "System 0 begins at rest: it has neither velocities nor a temperature to draw them for.",
    ):
        assert note in said
        assert note in log
    assert len(done.trajectory) == 1
    assert done.summary["rows"] == 0


def test_a_single_atom_has_no_temperature():
    config = configuration()
    config["systems"] = [
        {"structure": {"lattice": "sc", "species": "Ar", "a": "20 angstrom"}, "temperature": 90}
    ]
    (note,) = notes_of(load(config))
    assert note.startswith("System 0 is a single atom, held at rest as all centres of mass are")


def test_many_systems_are_noted_in_one_sentence():
    config = configuration()
    structure = {"lattice": "sc", "species": "Ar", "a": "20 angstrom"}
    config["systems"] = [{"name": "atom", "structure": structure, "temperature": 90, "copies": 50}]
    (note,) = notes_of(load(config))
    assert note.startswith("System 0 (atom-00) is a single atom, held at rest as all centres of")
    assert note.endswith("it has no temperature. The same holds for 49 others.")


def test_notes_name_the_stage_that_they_are_about():
    config = configuration()
    config["run"] = [{"steps": 100}, {"name": "settle", "steps": 5}]
    config["output"] = {"thermo_every": 10, "trajectory_every": 0}
    assert notes_of(load(config)) == [
        "No frames are recorded: output.trajectory_every is 0.",
        "There are no averages of the stage settle: output.thermo_every is 10, and it has 5 steps.",
    ]
