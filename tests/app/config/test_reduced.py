"""Reduced units: a run with units: lj is the run in real units, divided by ε, σ, m and k_B."""

import math

import numpy as np
import pytest
from app.runs import run

from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.config.units import UnitSystem, quantity
from instar.geometry.constants import BOLTZMANN

EPSILON, SIGMA, MASS = 0.0104, 3.4, 39.948  # eV, Å, amu
TAU = SIGMA * math.sqrt(MASS / EPSILON)  # in the units used inside
TIME = quantity("1 fs", (0, 0, 1, 0, 0, 0))


def configured(energy, length, time, temperature, **more):
    """Argon in units that are so large."""
    return {
        "systems": [
            {
                "structure": {"lattice": "fcc", "species": "Ar", "repeat": 2, "a": 1.6 * length},
                "temperature": 0.9 * temperature,
            }
        ],
        "potential": [
            {
                "type": "lennard_jones",
                "cutoff": 2.5 * length,
                "truncation": "shift",
                "parameters": {"Ar": {"epsilon": energy, "sigma": length}},
            }
        ],
        "method": {
            "type": "md",
            "ensemble": "nvt",
            "thermostat": "velocity_rescaling",
            "time_step": 0.005 * time,
            "time_constant": 0.5 * time,
            "skin": 0.3 * length,
        },
        "observe": [
            {"type": "radial_distribution", "every": 5, "reach": 2 * length, "bins": 20},
            {"type": "mean_square_displacement", "every": 5, "window": 4},
        ],
        "run": {"steps": 60},
        "output": {"thermo_every": 5, "trajectory_every": 20},
        **more,
    }


REAL = configured(EPSILON, SIGMA, TAU / TIME, EPSILON / BOLTZMANN)
REDUCED = configured(1, 1, 1, 1, units="lj")


def test_reduced_numbers_are_real_ones_divided_by_their_scales():
    real, reduced = load(REAL), load(REDUCED)
    one, other = real.structures[0], reduced.structures[0]
    np.testing.assert_allclose(other.positions, one.positions / SIGMA, atol=1e-12)
    np.testing.assert_allclose(other.get_masses(), one.get_masses() / MASS)
    hot, reduced_hot = (found.systems[0].temperature or 0 for found in (real, reduced))
    assert reduced_hot == pytest.approx(hot / EPSILON)
    assert reduced_hot * BOLTZMANN == pytest.approx(0.9)
    steps = [found.config.method.time_step for found in (real, reduced)]
    assert steps[1] == pytest.approx(steps[0] / TAU) == pytest.approx(0.005)


def test_a_reduced_density_is_a_number_of_atoms():
    config = configured(1, 1, 1, 1, units="lj")
    structure = {"lattice": "fcc", "species": "Ar", "repeat": 3, "density": 0.8}
    config["systems"][0]["structure"] = structure
    (atoms,) = load(config).structures
    assert len(atoms) / atoms.get_volume() == pytest.approx(0.8)


LABELS = {
    "eV": "epsilon",
    "K": "epsilon/k_B",
    "bar": "epsilon/sigma^3",
    "angstrom^3": "sigma^3",
    "g/cm^3": "m/sigma^3",
    "ps": "tau",
    "1/angstrom^3": "1/sigma^3",
    "angstrom^2/ps": "sigma^2/tau",
    "kJ/mol": "epsilon",
    "": "",
}


@pytest.mark.parametrize("unit", LABELS)
def test_reduced_units_have_labels_and_are_one(unit):
    assert UnitSystem(reduced=True).label(unit) == LABELS[unit]
    assert UnitSystem().label(unit) == unit
    size = 1 / BOLTZMANN if unit == "K" else 1.0
    assert UnitSystem(reduced=True).size(unit) == pytest.approx(size)


def without(key):
    config = configured(1, 1, 1, 1, units="lj")
    del config["method"][key]
    return config


def with_system(**structure):
    return configured(
        1, 1, 1, 1, units="lj", systems=[{"structure": structure, "temperature": 0.9}]
    )


LATER = [
    {"steps": 5, "method": {"time_constant": 1}},
    {"steps": 5, "method": {"thermostat": "nose_hoover"}},
]
MISTAKES = {
    "a unit": (
        REDUCED | {"method": REDUCED["method"] | {"time_step": "2 fs"}},
        "method.time_step: '2 fs' is not a reduced number; with units: lj numbers have no unit.",
    ),
    "no skin": (
        without("skin"),
        "method.skin: has no default in reduced units; give it as a bare number",
    ),
    "no time constant": (
        without("time_constant"),
        "method.time_constant: has no default in reduced units; give it as a bare number",
    ),
    "no time constant in a stage": (
        without("time_constant") | {"run": LATER},
        "run[1].method.time_constant: has no default in reduced units; give it as a bare number",
    ),
    "no reach": (
        REDUCED | {"observe": [{"type": "radial_distribution", "every": 5}]},
        "observe[0].reach: has no default in reduced units; give it as a bare number",
    ),
    "no distance": (
        with_system(random={"Ar": 3}, density=0.01),
        "systems[0].structure.distance: has no default in reduced units; give it as a bare number",
    ),
    "charges": (
        REDUCED | {"potential": [*REDUCED["potential"], {"type": "cutoff_coulomb", "cutoff": 2}]},
        "potential: charges have no reduced unit; leave out units: lj",
    ),
    "other units": (REDUCED | {"units": "metal"}, "units: 'metal' is unknown; known are lj"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_reduced_units_do_not_have_is_told(name):
    config, said = MISTAKES[name]
    with pytest.raises(ConfigurationError) as caught:
        load(config)
    assert f"configuration: {said}" in str(caught.value).splitlines()


def test_reading_a_reduced_configuration_leaves_units_as_they_were():
    load(REDUCED)
    assert quantity("1 K", (0, 0, 0, 0, 1, 0)) == 1
    with pytest.raises(ConfigurationError):
        load(without("skin"))
    assert quantity("1 nm", (0, 1, 0, 0, 0, 0)) == 10


@pytest.mark.long
@pytest.mark.usefixtures("quickly_compiled")
def test_a_reduced_run_is_the_real_one_divided_by_its_scales(tmp_path):
    real, reduced = run(REAL, tmp_path / "real"), run(REDUCED, tmp_path / "reduced")
    bar = quantity("1 bar", (1, -3, 0, 0, 0, 0))
    scales = {
        "potential": EPSILON,
        "kinetic": EPSILON,
        "conserved": EPSILON,
        "temperature": EPSILON / BOLTZMANN,
        "pressure": EPSILON / SIGMA**3 / bar,
        "volume": SIGMA**3,
    }
    for name, scale in scales.items():
        one, other = real.trajectory.thermo[name], reduced.trajectory.thermo[name]
        np.testing.assert_allclose(other, one / scale, rtol=1e-6, err_msg=name)
    assert reduced.trajectory.units["temperature"] == "epsilon/k_B"
    assert reduced.summary["systems"][0]["pressure"]["unit"] == "epsilon/sigma^3"
    g = [one.observed["radial_distribution"].curves["g"] for one in (real, reduced)]
    np.testing.assert_allclose(g[1].x, g[0].x / SIGMA)
    np.testing.assert_allclose(g[1].y, g[0].y, rtol=1e-9)
    msd, reduced_msd = (
        one.observed["mean_square_displacement"].curves["msd"] for one in (real, reduced)
    )
    assert (reduced_msd.x_unit, reduced_msd.y_unit) == ("tau", "sigma^2")
    np.testing.assert_allclose(reduced_msd.y, msd.y / SIGMA**2, rtol=1e-6)
    picosecond = quantity("1 ps", (0, 0, 1, 0, 0, 0))
    np.testing.assert_allclose(reduced_msd.x, msd.x * picosecond / TAU, rtol=1e-9)
