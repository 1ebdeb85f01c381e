"""What `help()` shows of the names that users call: what they take, what they return, examples."""

import doctest
import importlib
import inspect
import operator
import re

import jax
import pytest

pytestmark = pytest.mark.usefixtures("quickly_compiled")

CALLED = {
    "instar": """run resume open single_point calculator over_frames read_topology ase_potential
        combined_topologies md_state md_blocks""",
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
    "instar.neighbors": "NeighborList.updated brute_force query",
    "instar.geometry": """Cell.of Cell.box Cell.open Cell.strained Cell.fractional Cell.cartesian
        Cell.wrapped Cell.minimum_image""",
}
NAMES = [(module, name) for module, names in CALLED.items() for name in names.split()]


def called(module, name):
    package, _, last = module.rpartition(".")
    whole = importlib.import_module(package or module)
    found = getattr(whole, last) if package else whole
    return operator.attrgetter(name)(found)


@pytest.fixture(autouse=True)
def _as_a_reader_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_help_tells_every_parameter_and_what_is_returned(module, name):
    function = called(module, name)
    text = inspect.getdoc(function) or ""
    returned = () if inspect.isclass(function) else ("Returns",)
    for section in ("Parameters", *returned, "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text
    told = re.split(r"\n(?:Returns|Raises|Examples)\n", text.split("\nParameters\n")[1])[0]
    lines = [line for line in told.splitlines() if line[:1].strip()]
    heads = {word.strip("* ") for line in lines for word in line.split(",")}
    assert set(inspect.signature(function).parameters) - {"self"} <= heads


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
