"""Relaxation: many systems at once against ASE's optimizers one by one; evaluations; busy rows.

All on LJ with a smooth cutoff, in float64. ASE relaxes a part of the systems, with
`instar.calculator`; its time is that of the part, times all systems over the part.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.optimize import FIRE, LBFGS
from record import figure, timed, written

import instar
from instar.dynamics import md, relax

ARGON = {
    "type": "lennard_jones",
    "cutoff": 8.5,
    "truncation": "switch",
    "inner": 7.0,
    "pairs": {"Ar-Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
}
TOLERANCE = 1e-3  # eV/Å
PART = 20


def rattled(number: int) -> Atoms:
    """A cluster of 13 atoms or more, or a crystal of up to 108."""
    random = np.random.default_rng(number)
    repeat = [(2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 3)][number % 4]
    atoms = bulk("Ar", "fcc", a=5.3, cubic=True).repeat(repeat)
    if number % 4 == 0:
        atoms = atoms[:13]
        atoms.pbc = False
        atoms.cell[:] = 0
    atoms.positions += random.normal(0, random.uniform(0.05, 0.3), atoms.positions.shape)
    return atoms


def timed_once(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def by_ase(structures: list[Atoms], optimizer: type[Any]) -> list[int]:
    """Evaluations of each."""
    counts = []
    for atoms in structures:
        moved = atoms.copy()
        moved.calc = instar.calculator(ARGON)
        steps = optimizer(moved, logfile=None)
        steps.run(fmax=TOLERANCE, steps=2000)
        counts.append(steps.nsteps + 1)
    return counts


def against_ase(count: int) -> None:
    structures = [rattled(number) for number in range(count)]

    def ours() -> Any:
        return instar.relax(structures, ARGON, force_tolerance=TOLERANCE)

    first, _ = timed_once(ours)
    pairs = [timed_once(ours) for _ in range(3)]
    best = min(seconds for seconds, _ in pairs)
    found = pairs[0][1]
    part = structures[:: max(1, count // PART)]
    by_ase(part[:2], LBFGS)  # compiled
    seconds, lbfgs = timed_once(lambda: by_ase(part, LBFGS))
    fire = by_ase(part, FIRE)
    whole = seconds * count / len(part)
    own = found.evaluations[:: max(1, count // PART)].mean()
    better = min(np.mean(lbfgs), np.mean(fire))
    print(f"{count} systems: {best:.2f} s, {first:.2f} s with compiling; ASE {whole:.0f} s")
    print(f"evaluations: auto {own:.1f}, L-BFGS {np.mean(lbfgs):.1f}, FIRE {np.mean(fire):.1f}")
    print(f"busy rows: {found.busy:.2f}; converged {found.converged.sum()} of {count}")
    timed([seconds for seconds, _ in pairs], "instar")
    timed([seconds], f"ASE's L-BFGS, {len(part)} of {count}")
    figure("ASE's L-BFGS one by one against instar, compiled", whole / best, ">= 50")
    figure("the same with compiling", whole / first, ">= 10")
    figure("evaluations of auto against the better of ASE's", own / better, "<= 0.9")
    figure("busy rows of all rows", found.busy, ">= 0.85")


def of_a_step() -> None:
    """A step of a method against one of NVE, for the same systems."""
    structures = [rattled(4 * number + 2) for number in range(20)]
    known = instar.md_state(structures, ARGON, temperature=1.0)
    nve = md.nve(1e-3)
    methods = {
        "fire": (relax.fire(), 1.25),
        "lbfgs": (relax.lbfgs(memory=10), 1.6),
        "auto": (relax.auto(memory=10), None),
    }
    states = {
        name: relax.start(
            known.particles, known.systems, known.potential, skin=1.0, force_tolerance=1e-14
        )
        for name in methods
    }

    def one(name: str) -> float:
        if name == "nve":
            seconds, state = timed_once(lambda: md.simulate(nve, known, 50))
        else:
            seconds, state = timed_once(lambda: relax.relaxed(methods[name][0], states[name], 50))
        state.step.block_until_ready()
        return seconds

    for name in ("nve", *methods):
        one(name)
    times = {name: [one(name) for _ in range(5)] for name in ("nve", *methods)}
    for name, (_, goal) in methods.items():
        ratio = min(times[name]) / min(times["nve"])
        print(f"a step of {name} against one of NVE: {ratio:.2f}")
        timed(times[name], name)
        timed(times["nve"], "nve")
        limit = {} if goal is None else {"goal": f"<= {goal}"}
        figure(f"a step of {name} against one of NVE", ratio, **limit)


if __name__ == "__main__":
    with written("relax"):
        against_ase(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
        of_a_step()
