"""Small ragged batches for dynamics, and all methods with knobs of every system."""

import dataclasses

import jax
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from instar.app.api.md_state import md_state
from instar.app.config.methods.md import defaults_of
from instar.app.config.registry import found
from instar.core.data import Index
from instar.core.result import as_result_function
from instar.core.typing import ParticleId
from instar.dynamics import md
from instar.dynamics.md.declared import BAROSTAT, THERMOSTAT
from instar.dynamics.method import METHODS as METHODS_GROUP
from instar.potentials import HarmonicBond

FS, BAR = 1 / 10.18050571, 6.241509e-7
LENNARD_JONES = {
    "type": "lennard_jones",
    "cutoff": 6.0,
    "truncation": "force_shift",
    "pairs": {"Ar-Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
}
TEMPERATURES = np.array([80.0, 40.0, 120.0])
PRESSURES = np.array([100.0, 400.0, -200.0]) * BAR


def argon():
    """Three crystals with holes: 29, 4 and 14 atoms."""
    whole = [bulk("Ar", "fcc", a, cubic=True).repeat(n) for a, n in ((5.4, 2), (5.6, 1), (5.3, 2))]
    for atoms, left in zip(whole, (29, 4, 14), strict=True):
        del atoms[left:]
    skew = np.array([[0, 0, 0], [1.1, 0, 0], [0.4, -0.7, 0]])
    whole[2].set_cell(whole[2].cell.array + skew)
    return whole


MOLECULES = ((2, 2), (3, 2, 1), (1, 1, 2))
"""Atoms of each molecule, in three systems."""


def chains():
    """Ideal gases of small molecules in periodic cells; bonds alone hold them together."""
    rng, along = np.random.default_rng(3), np.array([1.0, 0, 0])
    made = []
    for sizes, edge in zip(MOLECULES, (10.0, 12.0, 9.0), strict=True):
        parts = [
            rng.uniform(0, edge, 3) + np.cumsum(rng.normal(along, 0.5, (n, 3)), axis=0)
            for n in sizes
        ]
        cell = np.diag([edge, edge + 1, edge + 2])
        made.append(Atoms(f"Ar{sum(sizes)}", np.concatenate(parts), cell=cell, pbc=True))
    return made


def molecules(order):
    """The molecule of each atom, for the systems of a batch."""
    sizes = [n for system in order for n in MOLECULES[system]]
    return np.repeat(np.arange(len(sizes)), sizes)


def bonds(order):
    """The bonds of all systems of a batch, in one table: every order has the same program."""
    sizes = [n for system in order for n in MOLECULES[system]]
    starts = np.cumsum((0, *sizes[:-1]))
    pairs = [(s + i, s + i + 1) for s, n in zip(starts, sizes, strict=True) for i in range(n - 1)]
    atoms = Index.integer(np.array(pairs, np.int32), n=sum(sizes), label=ParticleId)
    return HarmonicBond(atoms, np.full(len(pairs), 2.0), np.full(len(pairs), 1.2))


def chain_state(order=(0, 1, 2), **options):
    return state_of(chains(), bonds(order), order, molecules=molecules(order), **options)


def state_of(structures, potential, order=(0, 1, 2), seed=5, **options):
    """A batch in that order; each system keeps its stream and its temperature."""
    order = list(order)
    return md_state(
        [structures[n] for n in order],
        potential,
        temperature=TEMPERATURES[order],
        seed=seed,
        streams=np.array([11, 7, 400])[order],
        **options,
    )


@dataclasses.dataclass(frozen=True)
class Method:
    """How to make a step for the systems of a batch, in their order."""

    make: object
    reversible: bool = False
    barostat: bool = False

    def step(self, order=(0, 1, 2)):
        return self.make(list(order))


_TIME = np.array([2.0, 1.0, 1.5]) * FS
_TAU, _TAU_P = np.array([80.0, 120.0, 100.0]) * FS, np.array([500.0, 400.0, 600.0]) * FS


def _rescaled(coupling):
    def make(o):
        return md.cell_rescaling(
            _TIME[o],
            TEMPERATURES[o],
            PRESSURES[o],
            time_constant=_TAU[o],
            pressure_time_constant=_TAU_P[o],
            compressibility=5e-5 / BAR,
            coupling=coupling,
            every=5,
        )

    return Method(make, barostat=True)


def _mtk(coupling):
    def make(o):
        return md.mtk(
            _TIME[o],
            TEMPERATURES[o],
            PRESSURES[o],
            time_constant=_TAU[o],
            pressure_time_constant=_TAU_P[o],
            coupling=coupling,
            every=5,
        )

    return Method(make, reversible=True, barostat=True)


METHODS = {
    "nve": Method(lambda o: md.nve(_TIME[o]), reversible=True),
    "langevin": Method(
        lambda o: md.langevin(_TIME[o], TEMPERATURES[o], np.array([0.01, 0.1, 0.001])[o] / FS)
    ),
    "velocity_rescaling": Method(
        lambda o: md.velocity_rescaling(_TIME[o], TEMPERATURES[o], _TAU[o])
    ),
    "nose_hoover": Method(
        lambda o: md.nose_hoover(_TIME[o], TEMPERATURES[o], _TAU[o]), reversible=True
    ),
    "cell_rescaling": _rescaled("isotropic"),
    "cell_rescaling_anisotropic": _rescaled("anisotropic"),
    "cell_rescaling_full": _rescaled("full"),
    "mtk": _mtk("isotropic"),
    "mtk_anisotropic": _mtk("anisotropic"),
    "mtk_full": _mtk("full"),
    "brownian": Method(lambda o: md.brownian(_TIME[o], TEMPERATURES[o], 0.1 / FS)),
}


def registered_methods():
    """Thermostats and barostats that are declared and have no case yet, with their defaults."""
    for name, declared in found(METHODS_GROUP).items():
        if name not in METHODS and declared.role in (THERMOSTAT, BAROSTAT):
            barostat = declared.role == BAROSTAT
            yield name, Method(_by_default(declared, barostat), barostat=barostat)


def _by_default(declared, barostat):
    def make(o):
        conditions = (TEMPERATURES[o], PRESSURES[o]) if barostat else (TEMPERATURES[o],)
        return declared.target(_TIME[o], *conditions, **defaults_of(declared))

    return make


METHODS |= dict(registered_methods())


def by_system(state):
    """Positions, velocities and cell of each system, under its stream."""
    data, systems = state.particles.data, state.systems.data
    own = np.asarray(data.system.indices)
    return {
        int(stream): (
            np.asarray(data.positions)[own == number],
            np.asarray(data.velocities)[own == number],
            np.asarray(systems.cell.vectors)[number],
        )
        for number, stream in enumerate(systems.stream)
    }


def reversed_in_time(state):
    """Velocities of particles, thermostats and cells turned round."""
    systems = state.systems.data

    def turned(chain):
        return dataclasses.replace(chain, velocity=-chain.velocity)

    columns = {}
    if systems.thermostat is not None:
        columns["thermostat"] = turned(systems.thermostat)
    if systems.barostat is not None:
        columns["barostat"] = dataclasses.replace(
            systems.barostat, rates=-systems.barostat.rates, chain=turned(systems.barostat.chain)
        )
    state = state.with_particles(velocities=-state.particles.data.velocities)
    return state.with_systems(**columns)


KEY = jax.random.key(3)


def rows(state):
    """All numbers of particles and systems as bytes, for comparison to the bit."""
    data = (state.particles.data, state.systems.data, state.step)
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(data)]


_THERMO = jax.jit(as_result_function(md.thermo))


def measured(state):
    result = _THERMO(state)
    result.raise_assertion()
    return result.value


def with_lists(*in_ci):
    """All methods: with a neighbor list each takes a while to compile, so CI takes a few."""
    long = pytest.mark.long
    return [name if name in in_ci else pytest.param(name, marks=long) for name in METHODS]
