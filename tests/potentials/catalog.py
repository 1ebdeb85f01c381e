"""Every potential there is, beside an independent sum in NumPy over all images, in float64."""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.config.registry import found
from instar.potentials import Formula
from instar.potentials.entry import POTENTIALS
from potentials.bonded import CONFIGS, terms_of_a_chain

KE = 14.39964547842567
CUTOFF = 6.0
LABELS = ("A", "B")


class Case(NamedTuple):
    """A potential as it stands in a configuration, and what it must give."""

    config: list[dict]
    expected: object  # (positions, labels, charges, vectors, periodic) -> energy, forces, virial
    invariant: bool = True  # under translation, rotation, wrapping
    derivative_of_energy: bool = True  # whether the virial is the strain derivative of the energy
    bonded: bool = False  # terms of chains of four atoms: states are such chains
    periodic: bool = False  # only for cells that repeat along all axes


def images(vectors, periodic, reach):
    """All lattice vectors that may matter for points of which none is further than 2 cells out."""
    heights = 1 / np.linalg.norm(np.linalg.inv(vectors), axis=0)
    most = [math.ceil(reach / h) + 5 if p else 0 for h, p in zip(heights, periodic, strict=True)]
    steps = np.array(list(itertools.product(*(range(-m, m + 1) for m in most))))
    return steps @ vectors


def pair_sum(function, cutoff, positions, kinds, vectors, periodic):
    """Energy, forces and virial of u(r), u'(r) summed over every image of every particle."""
    energy, forces, virial = 0.0, np.zeros_like(positions), np.zeros((3, 3))
    shifts = images(vectors, periodic, cutoff)
    home = int(np.argmin((shifts**2).sum(1)))
    for i, j in itertools.product(range(len(positions)), repeat=2):
        apart = positions[i] - positions[j] - shifts
        r = np.sqrt((apart**2).sum(1))
        near = r < cutoff
        if i == j:
            near[home] = False
        u, slope = function(r[near], kinds[i], kinds[j])
        pull = -(slope / r[near])[:, None] * apart[near]
        energy += np.sum(u) / 2
        forces[i] += pull.sum(0)
        virial += np.einsum("ni,nj->ij", apart[near], pull) / 2
    return energy, forces, virial


EPSILON = {"A": 0.010, "B": 0.016}
SIGMA = {"A": 2.4, "B": 2.7}


def lj_parameters(a, b):
    return math.sqrt(EPSILON[a] * EPSILON[b]), (SIGMA[a] + SIGMA[b]) / 2


def lj(r, a, b):
    epsilon, sigma = lj_parameters(a, b)
    x = (sigma / r) ** 6
    return 4 * epsilon * (x * x - x), -24 * epsilon * (2 * x * x - x) / r


def shifted(function):
    def lowered(r, a, b):
        u, slope = function(r, a, b)
        return u - function(np.array(CUTOFF), a, b)[0], slope

    return lowered


def force_shifted(function):
    def lowered(r, a, b):
        u, slope = function(r, a, b)
        end, end_slope = function(np.array(CUTOFF), a, b)
        return u - end - (r - CUTOFF) * end_slope, slope - end_slope

    return lowered


def switched(function, inner):
    def smooth(r, a, b):
        u, slope = function(r, a, b)
        x = np.clip((r - inner) / (CUTOFF - inner), 0, 1)
        s = 1 - 10 * x**3 + 15 * x**4 - 6 * x**5
        ds = -30 * x**2 * (1 - x) ** 2 / (CUTOFF - inner)
        return u * s, slope * s + u * ds

    return smooth


def geometric_lj(r, a, b):
    epsilon, sigma = math.sqrt(EPSILON[a] * EPSILON[b]), math.sqrt(SIGMA[a] * SIGMA[b])
    x = (sigma / r) ** 6
    return 4 * epsilon * (x * x - x), -24 * epsilon * (2 * x * x - x) / r


def overridden_lj(r, a, b):
    if a == b:
        return lj(r, a, b)
    x = (2.5 / r) ** 6
    return 4 * 0.02 * (x * x - x), -24 * 0.02 * (2 * x * x - x) / r


def wca(r, a, b):
    epsilon, sigma = lj_parameters(a, b)
    u, slope = lj(r, a, b)
    inside = r < 2 ** (1 / 6) * sigma
    return np.where(inside, u + epsilon, 0), np.where(inside, slope, 0)


def soft(r, a, b):
    epsilon, sigma = lj_parameters(a, b)
    u = epsilon * (sigma / r) ** 9.5
    return u, -9.5 * u / r


BUCKINGHAM = {"AA": (900.0, 0.30, 20.0), "AB": (1100.0, 0.31, 25.0), "BB": (1300.0, 0.29, 30.0)}


def buckingham(r, a, b):
    big, rho, c = BUCKINGHAM["".join(sorted(a + b))]
    wall = big * np.exp(-r / rho)
    return wall - c / r**6, -wall / rho + 6 * c / r**7


MORSE = {"AA": (0.30, 1.4, 2.6), "AB": (0.25, 1.5, 2.8), "BB": (0.20, 1.3, 3.0)}


def morse(r, a, b):
    depth, steepness, rest = MORSE["".join(sorted(a + b))]
    x = np.exp(-steepness * (r - rest))
    return depth * ((1 - x) ** 2 - 1), 2 * depth * steepness * (1 - x) * x


def screened(alpha):
    def damped(r, a, b):
        erfc = np.vectorize(math.erfc, otypes=[float])(alpha * r)
        gauss = 2 * alpha / math.sqrt(math.pi) * np.exp(-((alpha * r) ** 2))
        return KE * a * b * erfc / r, -KE * a * b * (erfc / r + gauss) / r

    return damped


def pairs_of_labels(function):
    def expected(positions, labels, charges, vectors, periodic):
        return pair_sum(function, CUTOFF, positions, labels, vectors, periodic)

    return expected


def pairs_of_charges(function, self_energy):
    def expected(positions, labels, charges, vectors, periodic):
        energy, forces, virial = pair_sum(function, CUTOFF, positions, charges, vectors, periodic)
        return energy + self_energy * (np.array(charges) ** 2).sum(), forces, virial

    return expected


def ewald(positions, labels, charges, vectors, periodic):
    """All images, with another α than the potential: cut where 1e-14 is left."""
    alpha, cutoff, limit = 0.55, 10.5, 6.6
    charges, volume = np.array(charges), abs(np.linalg.det(vectors))
    energy, forces, virial = pair_sum(
        screened(alpha), cutoff, positions, charges, vectors, periodic
    )
    most = np.ceil(np.linalg.norm(vectors, axis=1) * limit / (2 * math.pi)).astype(int)
    n = np.array(list(itertools.product(*(range(-m, m + 1) for m in most))))
    k = 2 * math.pi * n @ np.linalg.inv(vectors).T
    squared = (k**2).sum(1)
    k = k[(squared > 0) & (squared < limit**2)]
    squared = (k**2).sum(1)
    phase = np.exp(1j * positions @ k.T)
    factor = charges @ phase
    weight = 2 * math.pi * KE / volume * np.exp(-squared / (4 * alpha**2)) / squared
    each = weight * np.abs(factor) ** 2
    forces = forces + 2 * charges[:, None] * ((weight * factor.conj() * phase).imag @ k)
    shape = 2 * each * (1 / squared + 1 / (4 * alpha**2))
    background = -KE * math.pi * charges.sum() ** 2 / (2 * volume * alpha**2)
    virial = virial + np.eye(3) * (each.sum() + background) - (shape[:, None] * k).T @ k
    own = -KE * alpha / math.sqrt(math.pi) * (charges**2).sum()
    return energy + each.sum() + own + background, forces, virial


def with_tail(positions, labels, charges, vectors, periodic):
    energy, forces, virial = pair_sum(lj, CUTOFF, positions, labels, vectors, periodic)
    volume = abs(np.linalg.det(vectors))
    for a, b in itertools.product(labels, labels):
        epsilon, sigma = lj_parameters(a, b)
        third = (sigma / CUTOFF) ** 3
        energy += 8 * math.pi / volume * epsilon * sigma**3 * (third**3 / 9 - third / 3)
        pressure = 16 * math.pi / 3 * epsilon * sigma**3 * (2 / 3 * third**3 - third)
        virial = virial + np.eye(3) * pressure / volume
    return energy, forces, virial


def field_sum(function):
    def expected(positions, labels, charges, vectors, periodic):
        u, forces = function(positions, np.array(charges))
        return u.sum(), forces, np.einsum("ni,nj->ij", positions, forces)

    return expected


def trap(x, charges):
    stiffness, centre = np.array([0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0])
    return (stiffness * (x - centre) ** 2).sum(1) / 2, -stiffness * (x - centre)


def uniform(x, charges):
    force = np.array([0.1, -0.2, 0.3])
    return -charges * (x @ force), charges[:, None] * force


def wall(x, charges):
    normal = np.array([1.0, 2.0, 2.0]) / 3
    distance = (x - np.array([-30.0, -30.0, -30.0])) @ normal
    u = 0.5 * (3.0 / distance) ** 9
    return u, (9 * u / distance)[:, None] * normal


def summed(*parts):
    def expected(*state):
        results = [part(*state) for part in parts]
        return tuple(sum(values) for values in zip(*results, strict=True))

    return expected


BY_LABEL = {x: {"epsilon": EPSILON[x], "sigma": SIGMA[x]} for x in LABELS}
LJ = {
    "type": "lennard_jones",
    "cutoff": CUTOFF,
    "mixing": "lorentz_berthelot",
    "parameters": BY_LABEL,
}
SHIFT_AT_END = screened(0.0)(np.array(CUTOFF), 1, 1)


def explicit(names, table):
    return {
        "parameters": {x: dict(zip(names, table[x + x], strict=True)) for x in LABELS},
        "pairs": {"A-B": dict(zip(names, table["AB"], strict=True))},
    }


def self_energy(alpha, forced):
    u, slope = screened(alpha)(np.array(CUTOFF), 1, 1)
    constant = u - CUTOFF * slope if forced else u
    return -(2 * KE * alpha / math.sqrt(math.pi) + float(constant)) / 2


def coulomb(method, alpha=0.0):
    return {"type": "cutoff_coulomb", "cutoff": CUTOFF, "method": method, "alpha": alpha}


TRAP = {"type": "harmonic_trap", "stiffness": [0.2, 0.3, 0.4], "centre": [1, 2, 3]}

CASES = {
    "lj": Case([LJ | {"truncation": "truncate"}], pairs_of_labels(lj)),
    "lj_shift": Case([LJ | {"truncation": "shift"}], pairs_of_labels(shifted(lj))),
    "lj_force_shift": Case(
        [LJ | {"truncation": "force_shift"}], pairs_of_labels(force_shifted(lj))
    ),
    "lj_switch": Case(
        [LJ | {"truncation": "switch", "inner": 4.5}], pairs_of_labels(switched(lj, 4.5))
    ),
    "lj_tail": Case(
        [LJ | {"truncation": "tail"}], with_tail, derivative_of_energy=False, periodic=True
    ),
    "lj_geometric": Case([LJ | {"mixing": "geometric"}], pairs_of_labels(geometric_lj)),
    "lj_override": Case(
        [LJ | {"pairs": {"B-A": {"epsilon": "0.02 eV", "sigma": "2.5 Å"}}}],
        pairs_of_labels(overridden_lj),
    ),
    "wca": Case(
        [
            {
                "type": "weeks_chandler_andersen",
                "mixing": "lorentz_berthelot",
                "parameters": BY_LABEL,
            }
        ],
        pairs_of_labels(wca),
    ),
    "soft_sphere": Case(
        [
            {
                "type": "soft_sphere",
                "cutoff": CUTOFF,
                "mixing": "lorentz_berthelot",
                "parameters": {x: p | {"n": 9.5} for x, p in BY_LABEL.items()},
            }
        ],
        pairs_of_labels(soft),
    ),
    "buckingham": Case(
        [{"type": "buckingham", "cutoff": CUTOFF, **explicit(("A", "rho", "C"), BUCKINGHAM)}],
        pairs_of_labels(buckingham),
    ),
    "morse": Case(
        [
            {
                "type": "morse",
                "cutoff": CUTOFF,
                "truncation": "shift",
                **explicit(("D", "a", "r0"), MORSE),
            }
        ],
        pairs_of_labels(shifted(morse)),
    ),
    "coulomb": Case([coulomb("plain")], pairs_of_charges(screened(0.0), 0.0)),
    "wolf": Case(
        [coulomb("wolf", 0.2)], pairs_of_charges(shifted(screened(0.2)), self_energy(0.2, False))
    ),
    "dsf": Case(
        [coulomb("dsf", 0.2)],
        pairs_of_charges(force_shifted(screened(0.2)), self_energy(0.2, True)),
    ),
    "ewald": Case(
        [{"type": "coulomb", "alpha": 0.9, "real_cutoff": CUTOFF, "k_max": 28}],
        ewald,
        periodic=True,
    ),
    "trap": Case([TRAP], field_sum(trap), invariant=False),
    "field": Case(
        [{"type": "uniform_field", "force": [0.1, -0.2, 0.3], "strength": "charges"}],
        field_sum(uniform),
        invariant=False,
    ),
    "wall": Case(
        [
            {
                "type": "wall",
                "epsilon": 0.5,
                "sigma": 3.0,
                "point": [-30, -30, -30],
                "normal": [1, 2, 2],
            }
        ],
        field_sum(wall),
        invariant=False,
    ),
    "sum": Case(
        [LJ | {"truncation": "shift"}, coulomb("dsf", 0.2)],
        summed(
            pairs_of_labels(shifted(lj)),
            pairs_of_charges(force_shifted(screened(0.2)), self_energy(0.2, True)),
        ),
    ),
}
BONDED = {
    kind: Case([config], terms_of_a_chain(config), bonded=True) for kind, config in CONFIGS.items()
}
CASES |= BONDED


def by_formula(formula):
    """u(r) and u'(r) of a formula that nobody wrote down in NumPy: the engine is what is tested."""

    def both(r, a, b):
        with jax.enable_x64(True):
            u = jax.vmap(jax.value_and_grad(lambda r: formula.energy(r * r)))
            return tuple(map(np.asarray, u(jnp.asarray(np.atleast_1d(r)))))

    return both


def registered_formulas():
    """Pair formulas that are declared and have no case yet, with their examples as parameters."""
    known = {entry["type"] for case in CASES.values() for entry in case.config}
    for name, declared in found(POTENTIALS).items():
        if name in known or not issubclass(declared.target, Formula):
            continue
        example = {key: option.example for key, option in declared.options.items()}
        config = {"type": name, "cutoff": CUTOFF, "truncation": "truncate"}
        config |= {"parameters": dict.fromkeys(LABELS, example), "pairs": {"A-B": example}}
        expected = pairs_of_labels(by_formula(declared.target(**example)))
        yield name, Case([config], expected)


CASES |= dict(registered_formulas())
CASES["bonded"] = Case(list(CONFIGS.values()), terms_of_a_chain(*CONFIGS.values()), bonded=True)
