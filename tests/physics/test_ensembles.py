"""Thermostats and barostats sample the ensembles that they promise; `make test-physics`.

A Lennard-Jones fluid of 32 atoms well above its critical temperature, which forgets within a unit
of time; where the shape of a cell can change, a crystal, since a fluid does not resist that. Forces
go to zero at the cutoff, so that the step is the only error of an integrator. Of the kinetic energy
that is (ωΔt)²/4 with ω² = ⟨∇²U⟩/3m ≈ 400: 9e-4 for Δt = 0.003, a third of the standard error of its
mean for 3000 samples, √(2/(93·3000)) = 2.7e-3.

Power. The slope of ln P₂/P₁ is inverse to the variance of what is compared. With a standard error
below 6 % an ensemble whose variances are off by a third is five standard errors away. Weak coupling
to a bath, which is off by just about that, is the negative control, and is found.
"""

import functools
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pytest
from physics.control import berendsen, miscounted
from physics.sampling import (
    KELVIN,
    SEEDS,
    confirmed,
    effective,
    independent,
    judged,
    lattice,
    lennard_jones,
    sampled,
)

from instar.app.api.md_state import md_state
from instar.dynamics import md

pytestmark = pytest.mark.physics

STEP = 0.003
ATOMS, REPLICAS = 32, 24
EVERY, SETTLE = 10, 2_000
FEWEST = 500
"""Effective samples of every state, at least."""
WIDEST = 0.06
"""Standard error of a slope, over the slope."""


class Condition(NamedTuple):
    """What a group of replicas is held at, in reduced units."""

    temperature: float
    pressure: float | None = None
    held: bool = True


class Matter(NamedTuple):
    """What is simulated, at two temperatures and, where the volume can change, two pressures."""

    density: float
    cutoff: float
    temperatures: tuple[float, float]
    pressures: tuple[float, float]
    compressibility: float

    @property
    def constant_volume(self) -> tuple[Condition, ...]:
        """Two temperatures."""
        return tuple(Condition(t) for t in self.temperatures)

    @property
    def constant_pressure(self) -> tuple[Condition, ...]:
        """Two temperatures, then another pressure."""
        (cold, hot), (low, high) = self.temperatures, self.pressures
        return Condition(cold, low), Condition(hot, low), Condition(cold, high)


FLUID = Matter(0.8, 1.6, (1.5, 1.95), (5.0, 6.5), 0.07)
CRYSTAL = Matter(1.05, 1.5, (0.5, 0.62), (10.0, 12.0), 0.02)
FREE = tuple(condition._replace(held=False) for condition in FLUID.constant_volume)

BATH = {"time_constant": 0.1}


def rescaling(coupling, matter):
    """The volume settles within the time constant, which is 40 moves: Euler's method makes its
    variance too large by half a move in that time, 1.2 %, a third of the standard error."""
    cell = {"pressure_time_constant": 0.25, "compressibility": matter.compressibility, "every": 2}
    return lambda t, p: md.cell_rescaling(STEP, t, p, coupling=coupling, **BATH, **cell)


def piston(coupling):
    """The cell of the crystal oscillates with a period of 40 steps. Pushes in every step make the
    variance of the volume too large by (2π/40)²/4, 0.6 %; ten steps apart it would be 30 %."""
    cell = {"pressure_time_constant": 0.5, "every": 1}
    return lambda t, p: md.mtk(STEP, t, p, coupling=coupling, **BATH, **cell)


class Case(NamedTuple):
    """A method, and how many steps give a few thousand independent samples."""

    method: Any
    steps: int
    matter: Matter = FLUID
    conditions: tuple[Condition, ...] = FLUID.constant_volume


def under_pressure(method, steps, matter):
    return Case(method, steps, matter, matter.constant_pressure)


COUPLINGS = {"isotropic": FLUID, "anisotropic": CRYSTAL, "full": CRYSTAL}
METHODS = {
    "langevin": Case(
        lambda t, _: md.langevin(STEP, t, 2.0), 18_000, conditions=FLUID.constant_volume + FREE
    ),
    "velocity_rescaling": Case(lambda t, _: md.velocity_rescaling(STEP, t, 0.1), 15_000),
    "nose_hoover": Case(lambda t, _: md.nose_hoover(STEP, t, 0.1), 15_000),
    **{
        f"cell_rescaling_{coupling}": under_pressure(rescaling(coupling, matter), 18_000, matter)
        for coupling, matter in COUPLINGS.items()
    },
    **{
        f"mtk_{coupling}": under_pressure(piston(coupling), 18_000, matter)
        for coupling, matter in COUPLINGS.items()
    },
}
WRONG = {
    "weak_coupling": Case(lambda t, _: berendsen(STEP, t, 1.0), 12_000),
    "miscounted": Case(lambda t, _: md.velocity_rescaling(STEP, t, 0.1), 6_000),
}


class Samples(NamedTuple):
    """Series (rows, replicas) of one condition, and its true degrees of freedom."""

    condition: Condition
    degrees: int
    series: dict[str, np.ndarray]

    @property
    def enthalpy(self) -> np.ndarray:
        """U + PV; U at constant volume."""
        return self.series["potential"] + (self.condition.pressure or 0) * self.series["volume"]


@functools.cache
def run(name: str, seed: int) -> list[Samples]:
    make, steps, matter, conditions = (METHODS | WRONG)[name]
    temperature, pressure, held = (
        np.repeat([c[place] for c in conditions], REPLICAS) for place in range(3)
    )
    method = make(temperature * KELVIN, pressure)
    state = md_state(
        [lattice(2, matter.density)] * len(held),
        lennard_jones(matter.cutoff),
        temperature=temperature * KELVIN,
        seed=seed,
        skin=0.3,
        hold_centre=held,
    )
    degrees = np.asarray(state.systems.data.degrees)

    def measured(state):
        now = md.thermo(state)
        return {"kinetic": now.kinetic, "potential": now.potential, "volume": now.volume}

    state = miscounted(state, 3) if name == "miscounted" else state
    rows = sampled(method, state, measured, seed=seed, steps=steps, every=EVERY, settle=SETTLE)
    return [
        Samples(
            condition,
            int(degrees[REPLICAS * place]),
            {key: np.split(rows[key], len(conditions), axis=1)[place] for key in rows},
        )
        for place, condition in enumerate(conditions)
    ]


# Kinetic energy ---------------------------------------------------------------------------


def kinetic_energies(name, seed):
    """Independent samples of K/k_BT, by degrees of freedom, and how many they are."""
    found: dict[int, list[np.ndarray]] = {}
    for group in run(name, seed):
        (samples,) = independent(group.series["kinetic"])
        found.setdefault(group.degrees, []).append(samples / group.condition.temperature)
    return {degrees: np.concatenate(samples) for degrees, samples in found.items()}


def kinetic_verdicts(name, seed):
    samples = kinetic_energies(name, seed)
    questions = [
        {"ask": "kinetic", "kinetic": f"{d}", "temperature": KELVIN, "degrees": d} for d in samples
    ]
    answers = judged(questions, {f"{d}": values for d, values in samples.items()})
    verdicts = {}
    for degrees, answer in zip(samples, answers, strict=True):
        distance = -NormalDist().inv_cdf(max(answer["strict"], 1e-300) / 2)
        found = {"mean": answer["mean"], "width": answer["width"], "distribution": distance}
        verdicts |= {f"{kind} ({degrees} degrees)": value for kind, value in found.items()}
    return verdicts, {degrees: len(values) for degrees, values in samples.items()}


# Two states -------------------------------------------------------------------------------


def pairs(name, seed):
    """Two temperatures, and two pressures where there are any."""
    groups = {s.condition: s for s in run(name, seed) if s.condition.held}
    cold, hot, *dense = groups.values()
    return {"temperatures": (cold, hot)} | ({"pressures": (cold, dense[0])} if dense else {})


def described(label, group):
    constant = group.condition.pressure is None
    return {
        "potential": f"{label} potential",
        "volume": ATOMS / FLUID.density if constant else f"{label} volume",
        "temperature": group.condition.temperature * KELVIN,
        "pressure": group.condition.pressure,
    }


def decorrelated(label, group):
    """Samples of U, and of V where it changes."""
    names = ["potential"] if group.condition.pressure is None else ["potential", "volume"]
    samples = independent(*(group.series[name] for name in names))
    return {f"{label} {name}": each for name, each in zip(names, samples, strict=True)}


def ensemble_answers(name, seed):
    arrays, questions, counts = {}, [], {}
    for what, both in pairs(name, seed).items():
        states = []
        for place, group in enumerate(both):
            label = f"{what} {place}"
            compared = group.enthalpy if what == "temperatures" else group.series["volume"]
            counts[label] = round(effective(compared))
            arrays |= decorrelated(label, group)
            states.append(described(label, group))
        questions.append({"ask": "ensemble", "states": states})
    return dict(zip(pairs(name, seed), judged(questions, arrays), strict=True)), counts


def shown(answers):
    return ", ".join(
        f"{what}: slope {a['slope']:.3f} ± {a['error']:.3f} of the exact one, states "
        f"{a['spacing']:.2f} of the recommended interval apart"
        for what, a in answers.items()
    )


@pytest.mark.parametrize("name", METHODS)
def test_kinetic_energies_and_two_states_are_distributed_as_the_ensemble_says(name, report):
    def measure(seed):
        degrees = {group.condition.held: group.degrees for group in run(name, seed)}
        assert degrees.items() <= {True: 3 * ATOMS - 3, False: 3 * ATOMS}.items()
        verdicts, independent_samples = kinetic_verdicts(name, seed)
        report(f"kinetic energy: independent samples by degrees of freedom {independent_samples}")
        answers, counts = ensemble_answers(name, seed)
        report(f"effective samples {counts}; {shown(answers)}")
        assert min(*independent_samples.values(), *counts.values()) >= FEWEST
        assert all(answer["error"] <= WIDEST for answer in answers.values())
        return verdicts | {what: answer["deviation"] for what, answer in answers.items()}

    confirmed(measure, report)


# Controls ---------------------------------------------------------------------------------


def test_weak_coupling_is_seen_in_the_kinetic_energy_and_at_two_temperatures(report):
    verdicts, counts = kinetic_verdicts("weak_coupling", SEEDS[0])
    report(f"{counts} samples, rejected as it must be: {verdicts}")
    answers, counts = ensemble_answers("weak_coupling", SEEDS[0])
    report(f"effective samples {counts}; rejected as it must be: {answers}")
    assert verdicts["width (93 degrees)"] > 5
    assert verdicts["distribution (93 degrees)"] > 5
    assert answers["temperatures"]["deviation"] > 5


def test_three_degrees_of_freedom_too_many_are_seen_in_the_kinetic_energy(report):
    verdicts, counts = kinetic_verdicts("miscounted", SEEDS[0])
    report(f"{counts} samples, rejected as it must be: {verdicts}")
    assert verdicts["mean (93 degrees)"] > 5
