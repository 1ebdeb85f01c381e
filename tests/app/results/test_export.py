"""Runs read back by other programs."""

import csv
import shutil

import ase.io
import h5py
import MDAnalysis
import numpy as np
import pytest
from app.runs import configuration, run
from ase import units

from instar.app.cli.main import main
from instar.app.config.registry import EXPORTS, found
from instar.app.results.run import Run

pytestmark = [
    pytest.mark.usefixtures("quickly_compiled"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:MDAnalysis"),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A run with velocities, moved after it was exported."""
    folder = tmp_path_factory.mktemp("export")
    output = {"trajectory_every": 10, "thermo_every": 5, "velocities": True}
    run(configuration(output=output), out=folder / "run")
    for kind in found(EXPORTS):
        assert main(["export", str(folder / "run"), "--to", kind]) == 0
    shutil.move(folder / "run", folder / "moved é")
    return Run(folder / "moved é")


@pytest.mark.parametrize("system", [0, 1])
def test_mdanalysis_opens_each_system_without_a_copy(exported, system):
    path = exported.path / "h5md" / f"system-{system}.h5md"
    trajectory = exported.trajectory
    positions, velocities = trajectory.positions(system), trajectory.velocities(system)
    universe = MDAnalysis.Universe.empty(positions.shape[1], trajectory=True, velocities=True)
    universe.load_new(str(path), format="H5MD")
    assert len(universe.trajectory) == len(trajectory) == 19
    for frame in universe.trajectory:
        n = frame.frame
        np.testing.assert_array_equal(frame.positions, positions[n])
        np.testing.assert_allclose(frame.velocities, velocities[n] * 1000, rtol=1e-5)  # Å/ps
        assert frame.time == pytest.approx(trajectory.times[n] / 1000)  # ps
        lengths = np.linalg.norm(trajectory.cells(system)[n], axis=1)
        np.testing.assert_allclose(frame.dimensions[:3], lengths, rtol=1e-6)
    universe.trajectory.close()
    with h5py.File(path) as file:
        assert file["particles/trajectory/position/value"].is_virtual
    assert path.stat().st_size < 40_000


def test_ase_reads_every_frame(exported):
    frames = ase.io.read(exported.path / "extxyz" / "system-1.extxyz", index=":")
    assert len(frames) == 19
    assert frames[3].info["step"] == exported.trajectory.steps[3]
    np.testing.assert_allclose(
        frames[3].positions, exported.trajectory.positions(1)[3], rtol=0, atol=1e-6
    )


def test_velocities_are_in_the_units_of_ase(exported):
    trajectory = exported.trajectory
    same = np.isin(trajectory.thermo["step"], trajectory.steps)
    kinetic = trajectory.thermo["kinetic"][same]
    for system in (0, 1):
        path = exported.path / "extxyz" / f"system-{system}.extxyz"
        read = ase.io.read(path, index=":")
        history = trajectory.history(system)
        one_by_one = [trajectory.atoms(system, frame) for frame in range(len(trajectory))]
        together = [trajectory.structures(frame)[system] for frame in range(len(trajectory))]
        for frames in (read, history, one_by_one, together):
            found = [atoms.get_kinetic_energy() for atoms in frames]
            np.testing.assert_allclose(found, kinetic[:, system], rtol=1e-5)
            velocities = [atoms.get_velocities() * units.fs for atoms in frames]
            np.testing.assert_allclose(velocities, trajectory.velocities(system), atol=1e-8)


def test_the_table_has_all_rows_to_the_last_digit(exported):
    with open(exported.path / "csv" / "thermo.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 41
    found = [float(row["pressure (bar)"]) for row in rows if row["system"] == "1"]
    np.testing.assert_array_equal(found, exported.trajectory.thermo["pressure"][:, 1])


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert main(["export", str(tmp_path), "--to", "csv"]) == 1
    assert f"There is no run in {tmp_path}" in capsys.readouterr().err
