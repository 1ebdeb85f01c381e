"""Temperatures and pressures that follow the steps of the production."""

import jax
import numpy as np
import pytest
import yaml
from app.runs import METHODS, StopAfter, assert_same, configuration, resume, run
from support import raises

from instar.app.api.run import StoppedError
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.config.resolved import resolved
from instar.app.run.directory import RunDirectoryError
from instar.app.run.kinds import kind_of
from instar.dynamics import Ramp

pytestmark = pytest.mark.usefixtures("quickly_compiled")

HEATING = {"from": "100 K", "to": "400 K"}
GAS = {
    "systems": [
        {
            "structure": {"lattice": "sc", "species": "Ar", "repeat": 8, "a": "9 angstrom"},
            "temperature": temperature,
        }
        for temperature in (HEATING, "200 K")
    ],
    "potential": [{"type": "harmonic_bond", "terms": [{"atoms": [0, 1], "k": 1.0, "r0": 9.0}]}],
    "method": {
        "type": "md",
        "ensemble": "nvt",
        "thermostat": "langevin",
        "friction": "100 /ps",
        "time_step": "2 fs",
    },
    "run": {"steps": 400, "equilibration": 40},
    "output": {"trajectory_every": 40, "thermo_every": 4},
}


@pytest.fixture(scope="module")
def heated(tmp_path_factory):
    return run(GAS, tmp_path_factory.mktemp("ramps") / "whole")


def test_a_temperature_follows_its_ramp_and_others_stay(heated):
    thermo = heated.trajectory.thermo
    wanted = 100 + 300 * np.clip((thermo["step"] - 40) / 400, 0, 1)
    found = thermo["temperature"]
    np.testing.assert_allclose(found[:, 0] / wanted, 1, atol=0.2)  # 3.6 % is one standard deviation
    np.testing.assert_allclose(found[:, 1] / 200, 1, atol=0.2)
    assert np.mean(found[:, 0] / wanted) == pytest.approx(1, abs=0.03)


def test_the_summary_has_both_ends_of_a_ramp(heated):
    first, second = (system["asked"]["temperature"] for system in heated.summary["systems"])
    assert first == {"value": 100.0, "unit": "K", "last": 400.0}
    assert second == {"value": 200.0, "unit": "K"}


def test_a_ramp_that_was_stopped_goes_on_to_the_bit_and_is_not_made_longer(tmp_path, heated):
    with pytest.raises(StoppedError):
        run(GAS, tmp_path / "cut", progress=StopAfter(100))
    with raises(
        RunDirectoryError,
        f"The run in {tmp_path / 'cut'} can't be made longer: the ramps of its systems end with "
        "it.",
    ):
        resume(tmp_path / "cut", steps=500)
    config = tmp_path / "cut" / "config.yaml"
    before = config.read_text()
    config.write_text(before.replace("steps: 400", "steps: 500"))
    with pytest.raises(RunDirectoryError, match=r"run\.steps was 400 and is 500"):
        resume(tmp_path / "cut")
    config.write_text(before)
    assert_same(resume(tmp_path / "cut").path, heated.path)


def test_a_pressure_may_be_a_ramp_as_well():
    config = configuration("mtk")
    config["systems"][1]["pressure"] = {"from": 0, "to": "100 bar"}
    kind = kind_of(load(config))
    found = [one for one in _leaves(kind.steps(range(2))[1]) if isinstance(one, Ramp)]
    assert found
    for ramp in found:
        assert (ramp.first, ramp.last) == (20, 200)
        start, stop = np.asarray(ramp.start), np.asarray(ramp.stop)
        np.testing.assert_allclose(stop[0], stop[1])
        np.testing.assert_allclose(start[1], 0)


def _leaves(part):
    return jax.tree.leaves(part, is_leaf=lambda one: isinstance(one, Ramp))


def test_ramps_with_all_defaults_are_the_same_ramps():
    given = load(GAS)
    again = load(yaml.safe_load(yaml.safe_dump(resolved(given))))
    assert again.systems == given.systems
    assert given.systems[0].last_temperature == 400
    assert given.systems[1].last_temperature is None


@pytest.mark.parametrize(
    ("method", "ramp", "said"),
    [
        ("nve", HEATING, "systems[0]: a ramp has no meaning for nve"),
        ("langevin", {"from": "9 K", "to": 0}, "systems[0]: nvt needs a temperature above zero"),
        ("langevin", {"from": "9 K"}, "systems[0].temperature.to: is missing"),
        (
            "langevin",
            {"form": 9, "to": 9},
            "systems[0].temperature.form: unknown key; did you mean 'from'?",
        ),
    ],
)
def test_ramps_that_make_no_sense_are_refused(method, ramp, said):
    config = configuration(method)
    config["systems"][0]["temperature"] = ramp
    with pytest.raises(ConfigurationError) as caught:
        load(config)
    assert f"configuration: {said}" in str(caught.value).splitlines()


def test_methods_without_ramps_have_plain_numbers():
    for method in METHODS:
        steps = kind_of(load(configuration(method))).steps(range(2))
        assert not any(isinstance(one, Ramp) for one in _leaves(steps))
