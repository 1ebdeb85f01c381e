"""What a format can't hold is refused in words, and leaves nothing behind."""

import sys

import ase.io
import h5py
import numpy as np
import pytest
from app.exports import READERS, made_run, opened
from app.runs import configuration, run
from ase import Atoms

from instar.app.cli.main import main
from instar.app.config.registry import EXPORTS, found
from instar.storage import StorageError

pytestmark = [
    pytest.mark.usefixtures("quickly_compiled"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:MDAnalysis"),
]

OF_FRAMES = [name for name, known in found(EXPORTS).items() if known.role == "frames"]


def water(shift=0.0):
    places = [[0, 0, 0.1], [0, 0.8, -0.5], [0, -0.8, -0.5]]
    return Atoms("OH2", np.array(places) + shift, cell=[5, 6, 7], pbc=True)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def refused(run, name, capsys):
    """The message of a command that fails, after which all files are as before."""
    before = files(run.path)
    assert main(["export", str(run.path), "--to", name]) == 1
    assert files(run.path) == before
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.fixture(scope="module")
def without_frames(tmp_path_factory):
    output = {"trajectory_every": 0, "thermo_every": 5}
    config = configuration(output=output, run={"steps": 20})
    return run(config, out=tmp_path_factory.mktemp("none") / "run")


def no_frames(run, name):
    return (
        f"instar: {run.path} has no frames to export to {name}: "
        "output.trajectory_every is 0, or more steps than the run has made; "
        "export thermo with --to csv.\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("name", OF_FRAMES)
def test_a_run_without_frames_is_refused_in_one_sentence(without_frames, capsys, name):
    assert refused(without_frames, name, capsys) == no_frames(without_frames, name)


@pytest.mark.long
def test_a_run_without_frames_has_its_thermo(without_frames):
    (path,) = without_frames.export("csv")
    rows = len(without_frames.trajectory.thermo["step"])
    assert rows >= 4
    assert len(path.read_text().splitlines()) == 1 + 2 * rows


@pytest.mark.parametrize("name", OF_FRAMES)
def test_a_run_that_has_not_reached_a_frame_is_refused(tmp_path, capsys, name):
    begun = made_run(tmp_path, [[water()]], steps=())
    assert refused(begun, name, capsys) == no_frames(begun, name)


@pytest.mark.parametrize("name", OF_FRAMES)
def test_systems_of_a_later_batch_are_left_out_until_they_have_frames(tmp_path, name):
    begun = made_run(tmp_path, [[water(), water()]] * 3, written=1)
    assert {path.stem for path in begun.export(name)} == {"system-0"}
    assert files(tmp_path / name) == sorted(path.name for path in begun.export(name))


@pytest.mark.parametrize("name", ["dcd", "xtc"])
def test_without_mdanalysis_one_sentence_says_what_to_install(tmp_path, capsys, monkeypatch, name):
    for module in [m for m in sys.modules if m.split(".")[0] == "MDAnalysis"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "MDAnalysis", None)
    said = refused(made_run(tmp_path, [[water()]] * 3), name, capsys)
    assert said.startswith(f"instar: The format {name} is written by MDAnalysis, which can't be ")
    assert said.endswith(": pip install MDAnalysis\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["pdb", "dcd", "xtc"])
def test_atoms_too_far_out_for_a_pdb_are_named(tmp_path, capsys, name):
    far = [[water(), water(shift=[0, 0, -1000])]] * 3
    said = refused(made_run(tmp_path, far), name, capsys)
    assert said == (
        "instar: Atom 1 of system 1 is at z = -1000.500 Å in frame 0, which does not fit into the "
        "columns of a PDB file (-999.999 to 9999.999 Å).\n"
        "Export to extxyz or h5md, which have no such limit.\n"
    )


@pytest.mark.parametrize("shift", [9999.1, -999.1])
def test_coordinates_fit_up_to_the_last_column(tmp_path, shift):
    made_run(tmp_path, [[water(shift)]] * 3).export("pdb")
    atoms = ase.io.read(tmp_path / "pdb" / "system-0.pdb", index=-1)
    np.testing.assert_allclose(atoms.positions, water(shift).positions, atol=2e-3)


def test_atoms_that_leave_do_not_hinder_dcd_and_xtc(tmp_path, capsys):
    leaving = made_run(tmp_path, [[water()], [water(5000)], [water(10000)]])
    for name in ("dcd", "xtc"):
        leaving.export(name)
        universe = opened(leaving, 0, name)
        np.testing.assert_allclose(universe.trajectory[2].positions[0, 0], 10000, atol=0.01)
    assert "Atom 0 of system 0 is at x = 10000.000 Å in frame 2" in refused(leaving, "pdb", capsys)


def test_a_cell_too_long_for_a_pdb_is_named(tmp_path, capsys):
    long = water()
    long.set_cell([5, 6, 1e5])
    said = refused(made_run(tmp_path, [[long]] * 3), "pdb", capsys)
    assert said.startswith("instar: The cell of system 0 is 100000.000 Å long, which does not fit")


def test_atoms_too_far_out_for_xtc_are_refused(tmp_path, capsys):
    leaving = made_run(tmp_path, [[water()], [water()], [water(2e7)]])
    assert "Atoms are more than 1e+07 Å from the origin" in refused(leaving, "xtc", capsys)


def test_frames_at_uneven_times_are_refused_by_dcd_alone(tmp_path, capsys):
    uneven = made_run(tmp_path, [[water()]] * 3, steps=(100, 200, 400))
    said = refused(uneven, "dcd", capsys)
    assert said.startswith("instar: Frames are 100 to 200 steps apart, but a DCD file has one ")
    for name in ("xtc", "h5md"):
        uneven.export(name)
        times = [frame.time for frame in opened(uneven, 0, name).trajectory]
        assert times == pytest.approx([0.25, 0.5, 1.0])
    with h5py.File(uneven.path / "h5md" / "system-0.h5md") as file:
        assert "observables/dt" not in file


def test_times_that_an_xtc_file_can_not_tell_apart_are_refused(tmp_path, capsys):
    late = made_run(tmp_path, [[water()]] * 3, steps=(2 * 10**9, 2 * 10**9 + 100, 2 * 10**9 + 200))
    said = refused(late, "xtc", capsys)
    assert said.startswith("instar: Frames up to 5e+06 ps are too close in time for an XTC file")


def test_what_a_killed_export_has_left_is_removed(tmp_path):
    done = made_run(tmp_path, [[water()]] * 3)
    (done.path / ".pdb-abc").mkdir()
    done.export("pdb")
    assert not (done.path / ".pdb-abc").exists()


@pytest.mark.parametrize("name", ["dcd", "xtc"])
def test_steps_beyond_their_counters_are_refused(tmp_path, capsys, name):
    long = made_run(tmp_path, [[water()]] * 3, steps=(1, 2, 2**31))
    said = refused(long, name, capsys)
    assert said.startswith(f"instar: The format {name} counts steps up to 2147483647, and")


@pytest.mark.parametrize(("name", "readers"), READERS.items(), ids=lambda one: str(one)[:6])
def test_a_single_frame_has_its_time(tmp_path, name, readers):
    single = made_run(tmp_path, [[water()]], steps=(300,))
    single.export(name)
    for reader in readers:
        read = reader(single, 0)
        np.testing.assert_allclose(read.positions, [water().positions], atol=6e-3)
        assert read.times is None or read.times == pytest.approx([0.75])


@pytest.mark.parametrize("name", OF_FRAMES)
def test_exporting_again_replaces_files_and_leaves_others_alone(tmp_path, name):
    once = made_run(tmp_path, [[water()]] * 3)
    paths = once.export(name)
    (tmp_path / name / "notes.txt").write_text("mine")
    assert once.export(name) == paths
    assert files(tmp_path / name) == sorted(["notes.txt", *(path.name for path in paths)])


def test_a_format_that_fails_leaves_an_earlier_export_as_it_was(tmp_path, capsys):
    done = made_run(tmp_path, [[water()]] * 3)
    (path,) = done.export("pdb")
    before = path.read_text()
    made_run(tmp_path, [[water(20000)]] * 3)
    refused(done, "pdb", capsys)
    assert path.read_text() == before


def test_velocities_that_were_not_recorded_are_not_made_up(tmp_path):
    still = made_run(tmp_path, [[water()]] * 3)
    still.export("extxyz")
    assert not ase.io.read(tmp_path / "extxyz" / "system-0.extxyz").has("momenta")
    assert not still.trajectory.atoms(0).has("momenta")
    with pytest.raises(StorageError, match="has no velocities"):
        still.trajectory.velocities(0)
