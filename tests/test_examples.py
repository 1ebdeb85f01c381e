"""Every example, shortened; and what `make demo` does."""

import runpy
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest
import yaml

import instar
from instar.app.results.run import Run

pytestmark = pytest.mark.usefixtures("quickly_compiled")

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
DEMO = EXAMPLES / "equation_of_state" / "run.py"
CONFIGURATIONS = sorted(path for path in EXAMPLES.glob("*.yaml") if path.stem != "butane")
SHORT = (
    "run.steps=20",
    "run.equilibration=10",
    "output.thermo_every=5",
    "output.trajectory_every=10",
)


@pytest.fixture(autouse=True)
def _as_a_reader_runs_it():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def script(path, monkeypatch):
    """What a script defines; modules beside it are found."""
    monkeypatch.syspath_prepend(str(path.parent))
    return runpy.run_path(str(path))


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda path: path.stem)
def test_configurations_run(config, tmp_path):
    stages = yaml.safe_load(config.read_text())["run"]
    short = [f"run.{n}.steps=10" for n in range(len(stages))] if isinstance(stages, list) else SHORT
    run = instar.run(config, out=tmp_path / "run", changes=(*short, *SHORT[2:]), report=False)
    last = max(run.thermo["step"])
    assert run.trajectory.steps[-2:].tolist() == [last - 10, last]
    for system in run.summary["systems"]:
        assert np.isfinite([system[name]["mean"] for name in ("temperature", "potential")]).all()
        assert system["temperature"]["mean"] > 0


# Scripts ---------------------------------------------------------------------------------------


def test_a_custom_potential_has_the_forces_of_its_energy(monkeypatch):
    found = script(EXAMPLES / "methods" / "custom_potential.py", monkeypatch)["main"](steps=40)
    assert found["force_error"] < 1e-6
    assert found["cohesive_energy"] == pytest.approx(3.544, abs=2e-3)
    assert found["bulk_modulus"] == pytest.approx(142, rel=0.01)
    assert np.max(found["energy_error"]) < 0.1  # meV an atom


def test_a_custom_propagator_conserves_what_it_should(monkeypatch):
    found = script(EXAMPLES / "methods" / "custom_propagator.py", monkeypatch)["main"](steps=300)
    assert np.max(found["conserved"]) < 0.02  # meV an atom
    assert found["temperature"] == pytest.approx([90, 140], rel=0.25)


def test_a_derivative_through_a_trajectory_equals_differences(monkeypatch):
    main = script(EXAMPLES / "methods" / "differentiate.py", monkeypatch)["main"]
    found = main(steps=20, systems=2)
    assert found["epsilon_error"] < 1e-6
    assert found["sigma_error"] < 1e-6


def test_a_thousand_structures_relax(monkeypatch, capsys):
    script(EXAMPLES / "relaxation.py", monkeypatch)["main"](12)
    assert "converged: 12\n" in capsys.readouterr().out


def test_butane_counts_its_conformers(tmp_path, monkeypatch):
    main = script(EXAMPLES / "butane.py", monkeypatch)["main"]
    short = ("run.steps=40", *SHORT[1:], "systems.0.copies=4")
    fraction, error = main(short, tmp_path / "run")
    assert 0 <= fraction <= 1
    assert error >= 0
    (found, *_) = Run(tmp_path / "run").summary["systems"]
    assert found["pressure"]["mean"] is None  # it fills no volume


# The demo --------------------------------------------------------------------------------------

PUBLISHED = [  # T*, ρ*, p*, U/N
    (1.5, 0.1, 0.1163, -0.741),
    (1.5, 0.5, 0.4170, -3.324),
    (1.5, 0.9, 6.365, -5.509),
    (2.0, 0.1, 0.1778, -0.667),
    (2.0, 0.5, 1.0752, -3.1525),
    (2.0, 0.7, 3.032, -4.302),
    (2.0, 0.9, 9.090, -5.026),
    (3.0, 0.5, 2.332, -2.866),
    (3.0, 0.9, 13.911, -4.176),
]


def test_the_equation_of_state_has_its_published_values(monkeypatch):
    states = script(EXAMPLES / "equation_of_state" / "thol.py", monkeypatch)
    temperature, density, pressure, energy = np.array(PUBLISHED).T
    p, u = states["pressure_and_energy"](temperature, density)
    np.testing.assert_allclose(p, pressure, rtol=5e-4)
    np.testing.assert_allclose(u, energy, rtol=0, atol=5e-4)


def test_a_fixed_number_of_atoms_has_the_pairs_that_it_can_have(monkeypatch):
    """In a thin gas N(N − 1)/2 pairs carry all of the energy, not N²/2."""
    states = script(EXAMPLES / "equation_of_state" / "thol.py", monkeypatch)
    temperature, density = np.array([1.5, 3.0]), np.array([0.004, 0.004])
    _, infinite = states["pressure_and_energy"](temperature, density)
    for atoms in (50, 500):
        _, few = states["for_few_atoms"](temperature, density, atoms)
        np.testing.assert_allclose((few / infinite - 1) * atoms, -1, rtol=0.06)


def test_make_demo_runs_the_example():
    planned = subprocess.run(["make", "-n", "demo"], cwd=ROOT, check=True, capture_output=True)
    assert str(DEMO.relative_to(ROOT)) in planned.stdout.decode()


def test_the_demo_plans_grows_and_compares(tmp_path, monkeypatch, capsys):
    """With small systems and few steps: what it finds is no equation of state."""
    demo, out = script(DEMO, monkeypatch), tmp_path / "run"
    small = [f"systems.{n}.structure.repeat=2" for n in range(3)]
    changes = [part for change in (*small, *SHORT[:3]) for part in ("--set", change)]
    demo["main"](["--out", str(out), *changes])
    said = capsys.readouterr()
    assert "predicted peak" in said.out
    assert "Buffers have grown before the first step: neighbors 16 →" in said.err
    assert "of 24 states agree with the published equation" in said.out
    page = (out / "report.html").read_text()
    assert page.index("Equation of state") < page.index("Averages")
    assert (out / "report" / "overview.png").stat().st_size > 10_000
