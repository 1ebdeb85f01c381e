"""Laws of every export format: what another program reads is what the run has recorded."""

import itertools

import ase.io
import numpy as np
import pytest
from app.exports import PRECISION, READERS, WITH_VELOCITIES, made_run
from app.runs import configuration, run
from ase import Atoms, units

from instar.app.config.registry import EXPORTS, found

pytestmark = [
    pytest.mark.usefixtures("quickly_compiled"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:MDAnalysis"),
]

OWN = {n: known for n, known in found(EXPORTS).items() if known.target.__module__[:7] == "instar."}
FORMATS = [name for name, known in OWN.items() if known.role == "frames"]
READ = [(name, reader) for name, readers in READERS.items() for reader in readers]

SHORT = {
    "run": {"steps": 40, "equilibration": 10},
    "output": {"trajectory_every": 10, "thermo_every": 5, "velocities": True},
}


def two_sizes(folder):
    return run(configuration(**SHORT), out=folder / "run")


def constant_pressure(folder):
    return run(configuration("mtk", **SHORT), out=folder / "run")


def not_periodic(folder):
    cluster = Atoms("Ar5", 3.8 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]))
    ase.io.write(folder / "cluster.xyz", cluster)
    entry = {"structure": {"file": str(folder / "cluster.xyz")}, "temperature": "20 K"}
    return run(configuration("nve", systems=[entry], **SHORT), out=folder / "run")


SKEW = np.array([[9.0, 0, 0], [2.5, 8.0, 0], [-2.0, 3.0, 10.0]])
"""A cell in the orientation that programs take for granted."""


def rotation():
    matrix, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def in_cells(folder, cells, periodic=True):
    """A run made by hand: atoms anywhere, cells that breathe."""
    rng = np.random.default_rng(3)

    def moved(cell, frame):
        velocities = rng.normal(scale=0.02, size=(8, 3)) / units.fs
        atoms = Atoms("OH2C3HAr", rng.uniform(-10, 20, (8, 3)), velocities=velocities)
        atoms.set_cell(cell * (1 + 0.01 * frame))
        atoms.pbc = periodic
        return atoms

    frames = [[moved(cell, frame) for cell in cells] for frame in range(3)]
    return made_run(folder, frames, velocities=True)


def turned(folder):
    return in_cells(folder, [SKEW @ rotation(), 1.3 * SKEW @ rotation().T])


def left_handed(folder):
    return in_cells(folder, [SKEW[[1, 0, 2]], SKEW * [-1, 1, 1]])


def slab(folder):
    cells = [SKEW @ rotation(), SKEW * [[1], [0], [1]]]
    return in_cells(folder, cells, periodic=(True, False, True))


def wire(folder):
    cells = [SKEW @ rotation(), SKEW * [[0], [0], [1]]]
    return in_cells(folder, cells, periodic=(False, False, True))


def cluster_in_a_cell(folder):
    return in_cells(folder, [SKEW], periodic=False)


RUNS = [
    two_sizes,
    *(pytest.param(make, marks=pytest.mark.long) for make in (constant_pressure, not_periodic)),
    turned,
    left_handed,
    slab,
    wire,
    cluster_in_a_cell,
]


@pytest.fixture(scope="module", params=RUNS, ids=lambda make: make.__name__)
def recorded(request, tmp_path_factory):
    done = request.param(tmp_path_factory.mktemp("exports"))
    for name in FORMATS:
        done.export(name)
    return done


def test_every_format_of_frames_has_a_reader():
    assert set(FORMATS) == set(READERS) == set(PRECISION)


@pytest.mark.parametrize(("name", "reader"), READ, ids=lambda one: getattr(one, "__name__", ""))
def test_other_programs_read_what_was_recorded(recorded, name, reader):
    trajectory = recorded.trajectory
    for system in range(trajectory.systems):
        read, history = reader(recorded, system), trajectory.history(system)
        assert len(read.positions) == len(history) == len(trajectory) >= 3
        np.testing.assert_array_equal(read.numbers, history[0].numbers)
        check_clock(read, trajectory.times / 1000)
        for frame, atoms in enumerate(history):
            check_places(read, frame, atoms, PRECISION[name])
            check_cells(read, frame, atoms, PRECISION[name])
        assert (read.velocities is not None) == (name in WITH_VELOCITIES)
        for places, velocities, atoms in zip(
            read.positions, read.velocities or [], history, strict=False
        ):
            check_velocities(places, velocities, atoms)


def check_clock(read, times):
    if read.times is not None:
        np.testing.assert_allclose(read.times, times, rtol=1e-6)
    if read.interval is not None:
        assert read.interval == pytest.approx(times[1] - times[0], rel=1e-5)


def check_places(read, frame, atoms, precision):
    """Distances and handedness; positions too if there was no reason to turn them."""
    places, expected = read.positions[frame], atoms.positions
    np.testing.assert_allclose(distances(places), distances(expected), rtol=0, atol=4 * precision)
    slack = 4 * precision * distances(expected).max() ** 2
    np.testing.assert_allclose(volume(places), volume(expected), rtol=0, atol=slack)
    upright = not np.triu(atoms.cell, 1).any() and (np.diag(atoms.cell) > 0).all()
    if (upright and atoms.pbc.all()) or not atoms.pbc.any():
        np.testing.assert_allclose(places, expected, rtol=0, atol=precision)


def distances(places, lattice=()):
    """Between all atoms, to the nearest of the images along the vectors of a lattice."""
    lattice = np.reshape(lattice, (-1, 3))
    apart = np.asarray(places, float)[:, None] - places
    apart = apart - np.rint(apart @ np.linalg.pinv(lattice)) @ lattice
    shifts = np.array(list(itertools.product((-2, -1, 0, 1, 2), repeat=len(lattice)))) @ lattice
    return np.linalg.norm(apart[..., None, :] + shifts, axis=-1).min(axis=-1)


def volume(places):
    a, b, c = np.asarray(places[1:4], float) - places[0]
    return a @ np.cross(b, c)


def check_cells(read, frame, atoms, precision):
    """Vectors that repeat, and distances to the nearest images."""
    places, cell, repeats = read.positions[frame], read.cells[frame], atoms.pbc
    assert any(read.periodic) == repeats.any()
    for shape in (edges, angles):
        np.testing.assert_allclose(
            shape(cell[repeats]), shape(atoms.cell[repeats]), rtol=0, atol=10 * precision
        )
    images = distances(places, cell[read.periodic])
    expected = distances(atoms.positions, atoms.cell[repeats])
    np.testing.assert_allclose(images, expected, rtol=0, atol=10 * precision)


def edges(vectors):
    return np.linalg.norm(vectors, axis=1)


def angles(vectors):
    """In degrees, of each two vectors."""
    units = vectors / edges(vectors)[:, None]
    return np.degrees(np.arccos((units @ units.T)[np.triu_indices(len(units), 1)]))


def check_velocities(places, velocities, atoms):
    """Sizes of velocities, and their directions relative to where atoms are."""
    expected = atoms.get_velocities() * units.fs
    np.testing.assert_allclose(edges(velocities), edges(expected), rtol=1e-4)
    np.testing.assert_allclose(
        velocities @ (places - places[0]).T,
        expected @ (atoms.positions - atoms.positions[0]).T,
        rtol=1e-4,
        atol=1e-5,
    )
