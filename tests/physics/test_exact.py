"""Ideal gases, oscillators, free Brownian particles: exact results; `make test-physics`."""

from typing import NamedTuple

import numpy as np
import pytest
from ase import Atoms
from physics.sampling import KELVIN, confirmed, deviation, effective, sampled

from instar.app.api.md_state import md_state
from instar.dynamics import md
from instar.potentials import Sum

pytestmark = pytest.mark.physics

# An ideal gas under pressure --------------------------------------------------------------

STEP, TEMPERATURE, PRESSURE = 0.02, 1.0, 0.5
MOLECULES, REPLICAS = 20, 24
BOND = 0.5
BATH = {"time_constant": 0.2}
RATE = 1 / (PRESSURE * 4.0)
"""β/τ with the compressibility of an ideal gas, 1/P, and a time constant of 4: 200 steps. Volumes
are moved in every one, so that the variance is too large by 1/400 in Euler's method, a tenth of its
standard error."""


def gas(atoms_each, rng):
    """Single atoms, or pairs of atoms at a distance."""
    size = (MOLECULES * TEMPERATURE / PRESSURE) ** (1 / 3)
    places = rng.uniform(0, size, (MOLECULES, 1, 3))
    if atoms_each == 2:
        ends = rng.normal(size=(MOLECULES, 1, 3))
        ends *= BOND / np.linalg.norm(ends, axis=-1, keepdims=True)
        places = np.concatenate([places, places + ends], axis=1)
    count = MOLECULES * atoms_each
    masses = np.tile([1.0, 3.0], MOLECULES)[:count] if atoms_each == 2 else np.ones(count)
    positions = places.reshape(-1, 3)
    return Atoms(["Ar"] * count, positions, cell=[size] * 3, pbc=True, masses=masses)


class Kind(NamedTuple):
    """Of a group of replicas: molecules of one or two atoms, and whether their centre is held."""

    atoms: int
    held: bool = True

    @property
    def size(self) -> int:
        """n of the distribution of volumes."""
        return MOLECULES + (not self.held)


def gases(kinds, seed):
    """Replicas of each kind, one kind after the other."""
    rng = np.random.default_rng(seed)
    of_replicas = [kind for kind in kinds for _ in range(REPLICAS)]
    paired = [number for number, kind in enumerate(of_replicas) if kind.atoms == 2]
    bonds = [{"atoms": [2 * n, 2 * n + 1], "r0": BOND} for n in range(MOLECULES)]
    pairs = {"type": "distance_constraint", "structures": paired, "terms": bonds}
    return md_state(
        [gas(kind.atoms, rng) for kind in of_replicas],
        pairs if paired else Sum(()),
        temperature=TEMPERATURE * KELVIN,
        seed=seed,
        hold_centre=[kind.held for kind in of_replicas],
    )


def colliding(method):
    """With friction and noise, which share energy among translations along all axes and rotations:
    the atoms of an ideal gas do not."""
    return md.step_of(method, md.OrnsteinUhlenbeck(STEP, TEMPERATURE * KELVIN, 0.5))


def rescaling(coupling):
    return md.cell_rescaling(
        STEP,
        TEMPERATURE * KELVIN,
        PRESSURE,
        coupling=coupling,
        every=1,
        pressure_time_constant=1.0,
        compressibility=RATE,
        **BATH,
    )


def with_friction():
    """Cell rescaling upon BAOAB, which does not need the centre of mass to be held."""
    half = STEP / 2
    kick, drift = md.Kick(half), md.Drift(half)
    noise = md.OrnsteinUhlenbeck(STEP, TEMPERATURE * KELVIN, 3.0)
    cell = md.CellRescaling(STEP, TEMPERATURE * KELVIN, PRESSURE, RATE / 3, "isotropic", 1)
    return md.step_of(kick, drift, noise, drift, md.Forces(virial_every=1), kick, cell)


def piston():
    return md.mtk(STEP, TEMPERATURE * KELVIN, PRESSURE, pressure_time_constant=1.0, every=1, **BATH)


HELD = [Kind(1), Kind(2)]
# The shape of a cell of ideal gas is free to change, and soon too thin for pairs of atoms.
GASES = {
    "cell_rescaling_isotropic": (lambda: colliding(rescaling("isotropic")), HELD),
    "cell_rescaling_anisotropic": (lambda: colliding(rescaling("anisotropic")), [Kind(1)]),
    "cell_rescaling_with_friction": (with_friction, [Kind(1, False), Kind(2, False)]),
    "mtk_isotropic": (lambda: colliding(piston()), HELD),
}


def volume(state):
    return {"volume": state.systems.data.cell.volume}


@pytest.mark.parametrize("name", GASES)
def test_the_volume_of_an_ideal_gas_has_the_exact_mean_and_variance(name, report):
    """P(V) ∝ V^(n−1) exp(−PV/k_BT), n being the number of molecules, and one more if the centre of
    mass is free: mean and variance are n k_BT/P and n (k_BT/P)². What is inside of a molecule does
    not count. To take n for n + 1 would be √(samples/n) standard errors, about seven."""
    make, kinds = GASES[name]
    unit = TEMPERATURE / PRESSURE

    def measure(seed):
        rows = sampled(make(), gases(kinds, seed), volume, seed=seed, **LENGTH)
        found = {}
        for kind, series in zip(kinds, np.split(rows["volume"], len(kinds), axis=1), strict=True):
            square = (series - kind.size * unit) ** 2
            report(
                f"{kind}: {effective(series):.0f} effective samples, mean "
                f"{series.mean() / unit:.3f} and variance {square.mean() / unit**2:.2f} for "
                f"{kind.size}"
            )
            assert effective(series) >= 500
            found[f"mean, {kind}"] = deviation(series, kind.size * unit)
            found[f"variance, {kind}"] = deviation(square, kind.size * unit**2)
        return found

    confirmed(measure, report)


LENGTH = {"steps": 20_000, "every": 20, "settle": 4_000}

# Oscillators ------------------------------------------------------------------------------

STIFFNESS = np.array([1.0, 0.5, 0.25])
STEPS = np.array([0.5, 1.0, 1.5])
"""Time steps, over 1/ω of the stiffest axis; from 2 on no step is stable."""
OSCILLATORS = 400


def trapped(seed):
    atoms = Atoms(["Ar"] * OSCILLATORS, np.zeros((OSCILLATORS, 3)), masses=np.ones(OSCILLATORS))
    trap = {"type": "harmonic_trap", "stiffness": STIFFNESS.tolist()}
    return md_state([atoms] * len(STEPS), trap, temperature=KELVIN, seed=seed)


def squares(state):
    particles = state.particles.data
    return {"squares": particles.system.sum_over(particles.positions**2).data / OSCILLATORS}


@pytest.mark.parametrize("name", ["langevin", "brownian"])
def test_oscillators_have_the_exact_spread_for_long_steps(name, report):
    """⟨x²⟩ = k_BT/k whatever the step. That of Brownian dynamics is as long as h = √(2Δt/γ)."""
    method = {
        "langevin": md.langevin(STEPS, KELVIN, 1.0),
        "brownian": md.brownian(STEPS**2 / 2, KELVIN, 1.0),
    }[name]

    def measure(seed):
        length = {"steps": 4_000, "every": 2, "settle": 200}
        stream = seed + 10 * (name == "brownian")  # not the same noise twice
        found = sampled(method, trapped(stream), squares, seed=stream, **length)["squares"]
        deviations = {}
        for place in np.ndindex(3, 3):
            step, stiffness = STEPS[place[0]], STIFFNESS[place[1]]
            series = found[:, *place, None]
            label = f"ωΔt = {step * np.sqrt(stiffness):.2f}"
            report(
                f"{label}: {effective(series) * OSCILLATORS:.0f} effective samples, k⟨x²⟩/k_BT = "
                f"{stiffness * series.mean():.4f} ± "
                f"{stiffness * series.std() / np.sqrt(effective(series)):.4f}"
            )
            deviations[f"{label} (k = {stiffness})"] = deviation(series, 1 / stiffness)
        return deviations

    confirmed(measure, report)


# Diffusion --------------------------------------------------------------------------------


def test_free_brownian_particles_diffuse_as_einstein_says(report):
    """⟨Δx²⟩ = 2D(n − ½)Δt after n steps, with D = k_BT/mγ: half a step is lost at the beginning."""
    particles, steps = 10_000, 400
    temperature, friction, step = np.array([0.5, 2.0]), np.array([1.0, 5.0]), 0.1
    masses = np.full(particles, 2.0)
    atoms = Atoms(["Ar"] * particles, np.zeros((particles, 3)), masses=masses)
    method = md.brownian(step, temperature * KELVIN, friction)

    def measure(seed):
        state = md_state(
            [atoms] * 2, Sum(()), temperature=temperature * KELVIN, seed=seed, hold_centre=False
        )
        state = md.simulate(method, method.begin(state), steps, seed=seed)
        squares = np.asarray(state.particles.data.positions).reshape(2, -1) ** 2
        exact = 2 * temperature / (2.0 * friction) * (steps - 0.5) * step
        report(f"{squares.shape[1]} displacements, D over the exact one {squares.mean(1) / exact}")
        error = squares.std(axis=1) / np.sqrt(squares.shape[1])
        found = (squares.mean(axis=1) - exact) / error
        return {f"system {number}": float(value) for number, value in enumerate(found)}

    confirmed(measure, report)
