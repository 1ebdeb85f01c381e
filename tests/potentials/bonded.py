"""Bonds, angles and dihedrals in NumPy: formulas and derivatives from the literature, in float64.

Angles by arc cosines; dihedral angles and their derivatives as in A. Blondel and M. Karplus,
J. Comput. Chem. 17, 1132 (1996). None of it is shared with the package.
"""

import itertools
import math

import numpy as np

STEPS = np.array(list(itertools.product(range(-6, 7), repeat=3)))


def norm(x):
    return math.sqrt(x @ x)


def distance(i, j):
    """r, and its derivatives by both positions."""
    unit = (i - j) / norm(i - j)
    return norm(i - j), [unit, -unit]


def angle(i, j, k):
    """θ at j, and its derivatives by the three positions."""
    a, b = i - j, k - j
    cosine = a @ b / (norm(a) * norm(b))
    sine = math.sqrt(1 - cosine**2)
    first = (cosine * a / norm(a) - b / norm(b)) / (norm(a) * sine)
    last = (cosine * b / norm(b) - a / norm(a)) / (norm(b) * sine)
    return math.acos(cosine), [first, -first - last, last]


def dihedral(i, j, k, m):
    """φ, and its derivatives by the four positions."""
    f, g, h = i - j, j - k, m - k
    a, b = np.cross(f, g), np.cross(h, g)
    cosine = a @ b / (norm(a) * norm(b))
    sine = np.cross(b, a) @ g / (norm(a) * norm(b) * norm(g))
    by_f, by_h = -norm(g) / (a @ a) * a, norm(g) / (b @ b) * b
    by_g = (f @ g) / (a @ a * norm(g)) * a - (h @ g) / (b @ b * norm(g)) * b
    return math.atan2(sine, cosine), [by_f, by_g - by_f, -by_g - by_h, by_h]


def harmonic(x, k, rest):
    return k * (x - rest) ** 2 / 2, k * (x - rest)


def morse(x, depth, a, rest):
    away = 1 - math.exp(-a * (x - rest))
    return depth * away**2, 2 * depth * away * a * math.exp(-a * (x - rest))


def cosine_squared(x, k, rest):
    away = math.cos(x) - math.cos(rest)
    return k * away**2 / 2, -k * away * math.sin(x)


def periodic(x, k, n, phase):
    return k * (1 + math.cos(n * x - phase)), -k * n * math.sin(n * x - phase)


def ryckaert_bellemans(x, *c):
    cosine, sine = math.cos(x - math.pi), math.sin(x - math.pi)
    slope = -sum(n * c[n] * cosine ** (n - 1) for n in range(1, 6)) * sine
    return sum(c[n] * cosine**n for n in range(6)), slope


def shortest_way(x, k, rest):
    away = min((x - rest + turn * 2 * math.pi for turn in (-2, -1, 0, 1, 2)), key=abs)
    return k * away**2 / 2, k * away


KINDS = {
    "harmonic_bond": (distance, harmonic, ("k", "r0")),
    "morse_bond": (distance, morse, ("D", "a", "r0")),
    "harmonic_angle": (angle, harmonic, ("k", "theta0")),
    "cosine_angle": (angle, cosine_squared, ("k", "theta0")),
    "periodic_dihedral": (dihedral, periodic, ("k", "n", "phi0")),
    "rb_dihedral": (dihedral, ryckaert_bellemans, ("c",)),
    "harmonic_improper": (dihedral, shortest_way, ("k", "phi0")),
    "periodic_improper": (dihedral, periodic, ("k", "n", "phi0")),
}


def energy_and_forces(kind, term, positions):
    """u and the forces (atoms, 3) of one term, for positions that are not wrapped."""
    measure, formula, names = KINDS[kind]
    coordinate, slopes = measure(*(positions[a] for a in term["atoms"]))
    energy, slope = formula(coordinate, *np.concatenate([np.atleast_1d(term[n]) for n in names]))
    forces = np.zeros_like(positions)
    for atom, by_position in zip(term["atoms"], slopes, strict=True):
        forces[atom] -= slope * by_position
    return energy, forces


def chain_in_one_piece(positions, vectors, periodic_axes):
    """Each atom at its image nearest to the one before it."""
    shifts = STEPS * periodic_axes @ vectors
    placed = [positions[0]]
    for position in positions[1:]:
        candidates = position + shifts - placed[-1]
        placed.append(placed[-1] + candidates[np.argmin((candidates**2).sum(1))])
    return np.array(placed)


def terms_of_a_chain(*entries):
    """What configuration entries must give for a chain of atoms, of which neighbors are bonded."""

    def expected(positions, labels, charges, vectors, periodic_axes):
        chain = chain_in_one_piece(positions, vectors, periodic_axes)
        results = [
            energy_and_forces(entry["type"], term, chain)
            for entry in entries
            for term in entry["terms"]
        ]
        forces = sum(f for _, f in results)
        return sum(e for e, _ in results), forces, np.einsum("ni,nj->ij", chain, forces)

    return expected


ENTRIES = {
    "harmonic_bond": [
        {"atoms": [0, 1], "k": 20.0, "r0": 1.1},
        {"atoms": [2, 1], "k": 15.0, "r0": 1.5},
        {"atoms": [2, 3], "k": 25.0, "r0": 0.9},
    ],
    "morse_bond": [
        {"atoms": [0, 1], "D": 4.0, "a": 1.9, "r0": 1.2},
        {"atoms": [3, 2], "D": 3.0, "a": 2.1, "r0": 1.4},
    ],
    "harmonic_angle": [
        {"atoms": [0, 1, 2], "k": 3.0, "theta0": 1.8},
        {"atoms": [3, 2, 1], "k": 2.0, "theta0": 2.1},
    ],
    "cosine_angle": [
        {"atoms": [0, 1, 2], "k": 3.0, "theta0": 1.8},
        {"atoms": [1, 2, 3], "k": 2.5, "theta0": math.pi},
    ],
    "periodic_dihedral": [
        {"atoms": [0, 1, 2, 3], "k": 0.3, "n": 3, "phi0": 0.4},
        {"atoms": [3, 2, 1, 0], "k": -0.2, "n": 1, "phi0": math.pi},
    ],
    "rb_dihedral": [{"atoms": [0, 1, 2, 3], "c": [0.1, 0.15, -0.2, 0.05, 0.3, -0.1]}],
    "harmonic_improper": [{"atoms": [0, 1, 2, 3], "k": 1.5, "phi0": 2.9}],
    "periodic_improper": [{"atoms": [3, 2, 1, 0], "k": 0.4, "n": 2, "phi0": math.pi}],
}
CONFIGS = {kind: {"type": kind, "terms": terms} for kind, terms in ENTRIES.items()}
