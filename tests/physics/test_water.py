"""Rigid water: equipartition, and pressures of atoms and of molecules; `make test-physics`.

SPC/E with heavy hydrogens (4 amu), which leaves all averages of positions as they are and makes
librations slow enough for a step of 2 fs: (ωΔt)²/4 with ω ≈ 250 cm⁻¹ is 2e-3 of the kinetic energy,
a third of the standard errors here.
"""

import functools
from statistics import NormalDist

import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from physics.sampling import confirmed, deviation, effective, independent, judged, sampled

from instar.app.api.md_state import md_state
from instar.app.config.units import UNITS
from instar.dynamics import md
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import molecular_kinetic_tensor

pytestmark = pytest.mark.physics

FS, BAR = UNITS["fs"][0], UNITS["bar"][0]
OH, HH = 1.0, 1.63298
VOLUME = 30.0
"""Å³ of a molecule, about that of the liquid."""
MOLECULES, REPLICAS = 32, 8
TEMPERATURE, PRESSURE = 350.0, 500 * BAR
LENGTH = {"steps": 12_000, "every": 10, "settle": 2_000}
FEWEST = 300

POTENTIAL = [
    {
        "type": "lennard_jones",
        "cutoff": 4.5,
        "truncation": "force_shift",
        "pairs": {
            "O-O": {"epsilon": "0.6502 kJ/mol", "sigma": "3.166 Å"},
            "O-H": {"epsilon": 0.0, "sigma": 1.0},
            "H-H": {"epsilon": 0.0, "sigma": 1.0},
        },
    },
    {
        "type": "coulomb",
        "alpha": 0.6,
        "real_cutoff": 4.5,
        "k_max": 5,
        "charges": {"O": -0.8476, "H": 0.4238},
    },
    {
        "type": "rigid_water",
        "terms": [
            {"atoms": [3 * n, 3 * n + 1, 3 * n + 2], "oh": OH, "hh": HH} for n in range(MOLECULES)
        ],
    },
]


def water(rng):
    """Molecules on a face-centred cubic lattice, turned at random."""
    base = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    corners = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    size = (MOLECULES * VOLUME) ** (1 / 3)
    places = (corners + base).reshape(-1, 1, 3) * size / 2
    height = np.sqrt(OH**2 - HH**2 / 4)
    shape = np.array([[0, 0, 0], [height, HH / 2, 0], [height, -HH / 2, 0]])
    turns = np.linalg.qr(rng.normal(size=(MOLECULES, 3, 3)))[0]
    positions = (places + shape @ turns).reshape(-1, 3)
    masses = [16.0, 4.0, 4.0] * MOLECULES
    return Atoms("OH2" * MOLECULES, positions, cell=[size] * 3, pbc=True, masses=masses)


METHODS = {
    "velocity_rescaling": lambda: md.velocity_rescaling(2 * FS, TEMPERATURE, 50 * FS),
    "langevin": lambda: md.langevin(2 * FS, TEMPERATURE, 0.01 / FS),
    "cell_rescaling": lambda: md.cell_rescaling(
        2 * FS,
        TEMPERATURE,
        PRESSURE,
        time_constant=50 * FS,
        pressure_time_constant=500 * FS,
        compressibility=4.5e-5 / BAR,
        every=10,
    ),
}


@functools.cache
def run(name, seed):
    method = METHODS[name]()
    rng = np.random.default_rng(seed)
    structures = [water(rng) for _ in range(REPLICAS)]
    state = md_state(structures, POTENTIAL, temperature=TEMPERATURE, seed=seed, skin=0.5)
    assert state.systems.data.degrees.tolist() == [6 * MOLECULES - 3] * REPLICAS

    def measured(state):
        now = md.thermo(state)
        moving = molecular_kinetic_tensor(state.particles)
        translation = jnp.trace(moving, axis1=1, axis2=2) / 2
        return {
            "kinetic": now.kinetic,
            "translation": translation,
            "rotation": now.kinetic - translation,
            "atomic": now.pressure,
            "molecular": now.molecular_pressure,
            "volume": now.volume,
        }

    return sampled(method, state, measured, seed=seed, **LENGTH)


def temperatures(series):
    """Of translation and rotation, K."""
    degrees = {"translation": 3 * MOLECULES - 3, "rotation": 3 * MOLECULES}
    return {kind: 2 * series[kind] / (free * BOLTZMANN) for kind, free in degrees.items()}


def kinetic_verdicts(kinetic):
    question = {"kinetic": "kinetic", "temperature": TEMPERATURE, "degrees": 6 * MOLECULES - 3}
    (answer,) = judged([{"ask": "kinetic"} | question], {"kinetic": kinetic})
    distance = -NormalDist().inv_cdf(max(answer["strict"], 1e-300) / 2)
    return {"mean": answer["mean"], "width": answer["width"], "distribution": distance}


@pytest.mark.parametrize("name", METHODS)
def test_rigid_water_has_the_temperature_and_the_pressure_of_the_bath(name, report):
    """Translation and rotation both have the temperature, and the kinetic energy is distributed as
    Maxwell and Boltzmann say; the pressure of molecules averages to that of a barostat."""

    def measure(seed):
        series = run(name, seed)
        (kinetic,) = independent(series["kinetic"])
        report(f"{len(kinetic)} independent samples of the kinetic energy")
        found = kinetic_verdicts(kinetic)
        for kind, values in temperatures(series).items():
            report(f"{kind}: {effective(values):.0f} effective samples, {values.mean():.2f} K")
            assert effective(values) >= FEWEST
            found[kind] = deviation(values, TEMPERATURE)
        pressure, samples = series["molecular"], effective(series["molecular"])
        error = pressure.std() / np.sqrt(samples)
        report(
            f"{samples:.0f} effective samples, {pressure.mean() / BAR:.0f} ± {error / BAR:.0f} bar"
        )
        if name == "cell_rescaling":
            found["pressure"] = deviation(pressure, PRESSURE)
        atoms_and_molecules_have_one_pressure(series)
        return found

    confirmed(measure, report)


def atoms_and_molecules_have_one_pressure(series):
    """They differ by the trace of d²/dt² Σ m (r − R) ⊗ (r − R)/2V, and Σ m |r − R|² is constant if
    molecules are rigid. Not only the means are equal, within their errors, then: only rounding is
    left, and how well SHAKE and RATTLE meet distances."""
    scale = series["molecular"].std()
    np.testing.assert_allclose(series["atomic"], series["molecular"], rtol=0, atol=1e-6 * scale)
