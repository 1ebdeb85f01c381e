"""Relaxation in a configuration: run, stop, resume, report, export, exit codes."""
# ruff: noqa: E501 (a row is a line where it can be)

import ase.io
import numpy as np
import pytest
from app.runs import StopAfter, assert_same, configuration, resume, run, written

import instar
from instar.app.api.run import StoppedError
from instar.app.cli.main import main
from instar.app.config.base import ConfigurationError
from instar.app.results.outcomes import outcomes_of

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SMOOTH = {
    "type": "lennard_jones",
    "cutoff": "6 angstrom",
    "truncation": "switch",
    "inner": "5 angstrom",
    "parameters": {"Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
}
SYSTEMS = [
    {"structure": {"random": {"Ar": 8}, "density": 1.2}},
    {"structure": {"lattice": "fcc", "species": "Ar", "repeat": 1, "density": 1.5}},
]


def relaxing(steps=120, **method):
    return {
        **configuration(),
        "systems": SYSTEMS,
        "potential": [SMOOTH],
        "method": {"type": "relax", "force_tolerance": "1e-4 eV/angstrom", **method},
        "run": {"steps": steps},
        "output": {"trajectory_every": 10, "thermo_every": 5},
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(relaxing(cell="full"), tmp_path_factory.mktemp("relax") / "run")


def test_every_system_has_an_outcome_and_its_forces_are_small(whole):
    found = outcomes_of(whole.trajectory)
    assert [one.outcome for one in found] == ["converged", "converged"]
    assert all(0 <= one.force <= 1e-4 for one in found)
    thermo = whole.thermo
    assert (np.diff(thermo["enthalpy"][1:], axis=0) <= 1e-12).all()
    assert (thermo["stress"][-1] <= 0.05).all()


def test_a_run_that_was_stopped_goes_on_to_the_bit(whole, tmp_path):
    with pytest.raises(StoppedError):
        run(relaxing(cell="full"), tmp_path / "run", progress=StopAfter(10))
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", whole.path)


def test_what_is_exported_has_energies_forces_and_stresses(whole):
    paths = whole.export("extxyz")
    last = ase.io.read(paths[0], -1)
    right = instar.single_point(last, SMOOTH)
    assert last.get_potential_energy() == pytest.approx(right.energies[0], abs=1e-6)
    np.testing.assert_allclose(last.get_forces(), right.forces[0], atol=1e-6)
    np.testing.assert_allclose(last.get_stress(voigt=False), right.stresses[0], atol=1e-6)


def test_the_report_has_a_table_of_outcomes(whole):
    text = whole.report().read_text()
    assert "<p>converged: 2</p>" in text
    assert (whole.path / "report" / "steps.png").is_file()


def test_the_outcome_is_that_of_the_last_step_however_seldom_rows_are_recorded(tmp_path):
    seldom = relaxing(steps=120, cell="full")
    seldom["output"] = {"trajectory_every": 0, "thermo_every": 1000}
    found = run(seldom, tmp_path / "run")
    assert found.thermo["step"].tolist() == [0, 120]
    assert [one.outcome for one in outcomes_of(found.trajectory)] == ["converged", "converged"]


def test_exit_codes_say_whether_all_have_converged(tmp_path, capsys):
    config = written(tmp_path / "relax.yaml", relaxing(steps=3))
    assert main(["run", str(config), "--out", str(tmp_path / "one")]) == 0
    assert "out of steps: 1, converged: 1" in capsys.readouterr().out
    assert main(["run", str(config), "--out", str(tmp_path / "two"), "--require-converged"]) == 1
    assert "instar: not converged: " in capsys.readouterr().err
    assert main(["plan", str(config)]) == 0


BAD = {
    "a tolerance of zero": ({"force_tolerance": 0}, "method.force_tolerance: 0 is out of range: must be above 0"),
    "a tolerance of another kind": ({"stress_tolerance": "1 eV"}, "method.stress_tolerance: '1 eV' has the wrong unit: a pressure, such as bar is needed."),
    "a method that there is not": ({"method": "bfgs"}, "method.method: 'bfgs' is unknown; did you mean 'lbfgs'?"),
    "a cell that there is not": ({"cell": "fix"}, "method.cell: 'fix' is unknown; did you mean 'fixed'?"),
    "a knob of another method": ({"method": "fire", "memory": 5}, "method: memory has no meaning for fire"),
    "a mask of a volume": ({"cell": "isotropic", "mask": [True] * 6}, "method: a mask has no meaning for cell: isotropic, which moves all components together"),
    "a mask of a fixed cell": ({"mask": [True] * 6}, "method: a mask has no meaning where the cell is fixed"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_its_place(name):
    options, line = BAD[name]
    with pytest.raises(ConfigurationError) as caught:
        instar.app.config.load(relaxing(**options))
    assert str(caught.value).splitlines()[0].endswith(line)


STAGES = {
    "a tolerance of its own": ({"method": {"type": "relax", "force_tolerance": 0.1}}, "run[1].method.force_tolerance: is the same for all stages; set it on top"),
    "a pressure of its own": ({"pressure": "1 GPa"}, "run[0].pressure: the pressure of relaxation is the same for all stages"),
    "another type": ({"method": {"type": "md", "ensemble": "nve", "time_step": "1 fs"}}, "run[1]: stages are of one type; the first is md"),
}  # fmt: skip


@pytest.mark.parametrize("name", STAGES)
def test_what_stages_have_in_common_is_refused_where_it_differs(name):
    own, line = STAGES[name]
    staged = relaxing(cell="full")
    staged["run"] = [{"steps": 40, **own}, {"steps": 60}]
    with pytest.raises(ConfigurationError) as caught:
        instar.app.config.load(staged)
    assert str(caught.value).splitlines()[0].endswith(line)


def test_conditions_without_meaning_are_refused():
    hot = relaxing()
    hot["systems"] = [{**SYSTEMS[0], "temperature": "60 K"}, {**SYSTEMS[1], "pressure": "1 GPa"}]
    with pytest.raises(ConfigurationError) as caught:
        instar.app.config.load(hot)
    text = str(caught.value)
    assert "systems[0]: a temperature has no meaning for relaxation in a fixed cell" in text
    assert "systems[1]: a pressure has no meaning for relaxation in a fixed cell" in text
