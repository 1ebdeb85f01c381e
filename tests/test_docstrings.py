"""What `help()` shows of the names that users call: what they take, what they return, examples."""

import contextlib
import doctest
import importlib
import inspect
import operator
import re

import jax
import pytest

from instar.app.results import run as results

pytestmark = pytest.mark.usefixtures("quickly_compiled")

CALLED = {
    "instar": """run resume open single_point calculator over_frames read_topology ase_potential
        combined_topologies md_state md_blocks relax""",
    "instar.md": """simulate simulate_blocks begin_blocks start draw_velocities computed thermo
        explosions step_of Ramp nve langevin brownian velocity_rescaling nose_hoover
        cell_rescaling mtk""",
    "instar.observables": """block_average autocorrelation_time effective_samples diffusion
        mean_square_displacement velocity_autocorrelation green_kubo observe Series.of
        RunningBlocks.of RadialDistribution.of Correlation.of_displacements
        Correlation.of_velocities DensityProfile.of kinetic_energy temperature pressure
        pressure_tensor molecular_pressure_tensor""",
    "instar.potentials": """Pair Pair.of LennardJones WeeksChandlerAndersen SoftSphere Morse
        Buckingham cutoff_coulomb ewald ewald_with HarmonicTrap UniformField Wall
        FunctionPotential Sum evaluate Exclusions.of Exclusions.from_bonds HarmonicBond MorseBond
        HarmonicAngle CosineAngle PeriodicDihedral RyckaertBellemansDihedral HarmonicImproper
        PeriodicImproper DistanceConstraint RigidWater constraints_of""",
    "instar.dynamics.relax": "start relaxed auto fire lbfgs outcomes",
    "instar.neighbors": "NeighborList.of NeighborList.updated brute_force query",
    "instar.geometry": """Cell.of Cell.box Cell.open Cell.strained Cell.fractional Cell.cartesian
        Cell.wrapped Cell.minimum_image""",
}
OF_RUNS = """Run.radial_distribution Run.mean_square_displacement Run.velocity_autocorrelation
    Run.export Run.report Trajectory.positions Trajectory.velocities Trajectory.cells
    Trajectory.atoms Trajectory.history Trajectory.structures"""
NAMES = [(module, name) for module, names in CALLED.items() for name in names.split()]


def called(module, name):
    package, _, last = module.rpartition(".")
    with contextlib.suppress(ModuleNotFoundError):  # instar.md is a door, not a folder
        importlib.import_module(module)
    whole = importlib.import_module(package or module)
    found = getattr(whole, last) if package else whole
    return operator.attrgetter(name)(found)


@pytest.fixture(autouse=True)
def _as_a_reader_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def sections_of(function):
    """The text by section; what stands before the first one is left out."""
    parts = re.split(r"\n([A-Z][a-z]+)\n-+\n", inspect.getdoc(function) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def told_parameters(function):
    lines = sections_of(function)["Parameters"].splitlines()
    heads = [line for line in lines if line[:1].strip()]
    return {word.strip("* ") for line in heads for word in line.split(",")}


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_help_tells_every_parameter_and_what_is_returned(module, name):
    function = called(module, name)
    returned = set() if inspect.isclass(function) else {"Returns"}
    assert {"Parameters", "Examples"} | returned <= set(sections_of(function))
    assert set(inspect.signature(function).parameters) - {"self"} <= told_parameters(function)


@pytest.mark.parametrize("name", OF_RUNS.split())
def test_help_of_runs_tells_every_parameter_and_what_is_returned(name):
    function = operator.attrgetter(name)(results)
    assert {"Parameters", "Returns"} <= set(sections_of(function))
    assert set(inspect.signature(function).parameters) - {"self"} <= told_parameters(function)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_examples_run(module, name):
    function = called(module, name)
    (example, *_) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.attempted > 0
    assert result.failed == 0


def test_help_of_langevin_says_baoab_and_where_it_is_from():
    text = called("instar.md", "langevin").__doc__
    assert "BAOAB" in text
    assert "B. Leimkuhler and C. Matthews, J. Chem. Phys. 138, 174102 (2013)" in text
