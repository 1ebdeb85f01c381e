"""Martyna–Tobias–Klein: constant pressure and temperature without random numbers.

    dr/dt = v + r·G,   dA/dt = A·G,   dv/dt = F/m − v·G − (tr G/N_f) v
    W dG/dt = V (P − P₀) + (2K/N_f) 1

with a chain of thermostats on the particles and another one on the cell; W = (N_f + 3) k_B T τ²/3.
G is a matrix of rates that has the form of the coupling: g·1, a diagonal, or symmetric, so that
cells do not rotate. K, P and N_f are those of the centres of mass of molecules, which is what moves
with the cell. G. J. Martyna, D. J. Tobias, M. L. Klein, J. Chem. Phys. 101, 4177 (1994); integrated
as in G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996).

With ``every`` > 1 the cell is pushed every few steps, at both ends of them, by as much as it would
have been in all of them: a multiple time step, which saves virials. The cell of a stiff material
oscillates much faster than τ, with ω ≈ 1/τ√(κρk_B T) (κ its compressibility, ρ the number density
of molecules), and fluctuations of the volume are too large by about (ω·every·Δt)²/4: keep that
small.
Conserved: K + U + P₀V + ½W tr G² and the energy of both chains.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.core.utils.on_device import on_device
from instar.dynamics.knobs import Knob, Numbers, checked, checked_every, knob, scaled
from instar.dynamics.md.coupling import (
    MODES,
    Coupling,
    check_cells,
    deformed_cell,
    exponential,
    moved_with,
    pressure_on_cell,
    projected,
    translations,
)
from instar.dynamics.md.declared import COUPLING, PRESSURE_TIME_CONSTANT, TIME_CONSTANT, barostat
from instar.dynamics.md.forces import Forces, computed, is_due
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.md.nose_hoover import Chain, ChainOnVelocities
from instar.dynamics.md.state import State
from instar.dynamics.part import Part, Step, begun, step_of
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import molecular_kinetic_tensor

__all__ = ["Barostat", "mtk"]


@barostat(
    "mtk",
    time_constant=TIME_CONSTANT,
    pressure_time_constant=PRESSURE_TIME_CONSTANT,
    coupling=COUPLING,
)
def mtk(
    time_step: Numbers,
    temperature: Knob,
    pressure: Knob,
    *,
    time_constant: Knob,
    pressure_time_constant: Knob,
    coupling: Coupling = "isotropic",
    length: int = 3,
    every: int = 1,
) -> Step:
    """Constant pressure and temperature without random numbers: Martyna–Tobias–Klein.

        dr/dt = v + r·G,   dA/dt = A·G,   W dG/dt = V (P − P₀) + (2K/N_f) 1

    G. J. Martyna, D. J. Tobias, M. L. Klein, J. Chem. Phys. 101, 4177 (1994). It is the step of
    `nose_hoover` with a cell that is pushed, and takes molecules along as wholes. Conserved:
    K + U + P₀V and the energies of the cell and of both chains.

    Parameters
    ----------
    time_step
        Δt in Å·√(amu/eV): ``2 * instar.units.fs``.
    temperature
        In K: one for all systems, one each, or a `Ramp`.
    pressure
        In eV/Å³, as ``100 * instar.units.bar``: one for all systems, one each, or a `Ramp`.
    time_constant
        τ of the thermostat in Å·√(amu/eV). 0.1 ps is usual.
    pressure_time_constant
        τ of the cell in Å·√(amu/eV). 1 ps is usual.
    coupling
        What moves: the volume ("isotropic"), the three lengths ("anisotropic"), or the whole cell
        ("full"). The last two are for solids.
    length
        How many thermostats are in each chain.
    every
        Steps between two pushes of the cell; more of them save virials.

    Returns
    -------
    Step
        What `simulate` takes; prepare the state first: ``state = method.begin(state)``.

    Raises
    ------
    ValueError
        If a number is not in its range.

    Examples
    --------
    >>> import instar
    >>> from instar.units import bar, fs, ps
    >>> times = {"time_constant": 0.1 * ps, "pressure_time_constant": 1 * ps}
    >>> method = instar.md.mtk(2 * fs, temperature=90.0, pressure=100 * bar, **times)
    """
    checked("time step", time_step)
    checked("temperature", temperature)
    checked("pressure", pressure, "any")
    checked("time constant", time_constant)
    checked("pressure time constant", pressure_time_constant)
    checked_every(every)
    half = scaled(time_step, 0.5)
    bath = ChainOnVelocities(half, temperature, time_constant, length)
    piston = Piston(temperature, pressure, pressure_time_constant, coupling, length, every)
    chain = ChainOnCell(half, piston)
    opening, closing = (Push(scaled(half, every), piston, at_end) for at_end in (False, True))
    kick, drift = KickInCell(half, piston), DriftInCell(time_step, piston)
    forces = Forces(every, trace=coupling == "isotropic", energy=False)
    return step_of(chain, bath, opening, kick, drift, forces, kick, closing, bath, chain)


@dataclass
class Barostat:
    """The rates G (systems, 3, 3) of each cell in 1/time, and the chain that thermostats them."""

    rates: Array
    chain: Chain


@dataclass
class Piston(Part):
    """The knobs of a cell that has a mass: what its parts share."""

    temperature: Knob
    pressure: Knob
    period: Knob
    coupling: Coupling = field(static=True)
    length: int = field(static=True)
    every: int = field(static=True)

    def begin(self, state: State) -> State:
        """With cells at rest, that can change, and a virial to start with."""
        return computed(self.laid_out(state))

    def laid_out(self, state: State) -> State:
        """The same, without a virial."""
        state = check_cells(state, self.coupling)
        zeros = on_device(np.zeros((len(state.systems), 3, 3), state.dtype))
        return state.with_systems(barostat=Barostat(zeros, Chain.at_rest(state, self.length)))

    def energy(self, state: State) -> Array:
        """k_B T (systems,)."""
        return BOLTZMANN * knob(self.temperature, state)

    def mass(self, state: State) -> Array:
        """W (systems,), eV·time²."""
        return (translations(state) + 3) * self.energy(state) * knob(self.period, state) ** 2 / 3

    def twice_kinetic(self, state: State) -> Array:
        """W tr G² (systems,), eV."""
        return self.mass(state) * jnp.sum(state.systems.data.barostat.rates**2, axis=(1, 2))


def _with_rates(state: State, rates: Array) -> State:
    barostat = dataclasses.replace(state.systems.data.barostat, rates=rates)
    return state.with_systems(barostat=barostat)


@dataclass
class ChainOnCell(Part):
    """A chain of thermostats acts on the rates of the cell for a time."""

    time: Knob
    piston: Piston

    def __call__(self, key: Array, state: State, /) -> State:
        barostat = begun(state.systems.data.barostat)
        chain, factor = barostat.chain.moved(
            self.piston.twice_kinetic(state),
            self._degrees(state),
            self.piston.energy(state),
            knob(self.piston.period, state),
            knob(self.time, state),
        )
        return state.with_systems(barostat=Barostat(barostat.rates * factor[:, None, None], chain))

    def begin(self, state: State) -> State:
        """With a cell at rest."""
        return self.piston.begin(state)

    def laid_out(self, state: State) -> State:
        """The same, without a virial."""
        return self.piston.laid_out(state)

    def stored(self, state: State) -> Array:
        """P₀V + ½W tr G², and the energy of the chain."""
        piston = self.piston
        work = knob(piston.pressure, state) * state.systems.data.cell.volume
        chain = state.systems.data.barostat.chain.energy(
            self._degrees(state), piston.energy(state), knob(piston.period, state)
        )
        return work + piston.twice_kinetic(state) / 2 + chain

    def _degrees(self, state: State) -> Array:
        return jnp.full(len(state.systems), MODES[self.piston.coupling], state.dtype)


@dataclass
class Push(Part):
    """G += Δt (V (P − P₀) + (2K/N_f) 1)/W, before the first or after the last of a few steps."""

    time: Knob
    piston: Piston
    at_end: bool = field(static=True)

    def __call__(self, key: Array, state: State, /) -> State:
        every = self.piston.every
        if every == 1:
            return _with_rates(state, self._pushed(state))
        due = is_due(state, every) if self.at_end else state.step % every == 0
        rates = jax.lax.cond(due, self._pushed, lambda s: s.systems.data.barostat.rates, state)
        return _with_rates(state, rates)

    def _pushed(self, state: State) -> Array:
        systems = state.systems.data
        eye = jnp.eye(3, dtype=state.dtype)[None]
        free = jnp.maximum(translations(state), 1)
        kinetic = molecular_kinetic_tensor(state.particles)
        share = jnp.trace(kinetic, axis1=1, axis2=2) / free
        excess = pressure_on_cell(state) - knob(self.piston.pressure, state)[:, None, None] * eye
        force = systems.cell.volume[:, None, None] * excess + share[:, None, None] * eye
        rate = knob(self.time, state) / self.piston.mass(state)
        change = rate[:, None, None] * projected(force, self.piston.coupling)
        return systems.barostat.rates + change


@dataclass
class KickInCell(Part):
    """dv/dt = F/m − v·(G + tr G/N_f), for a time: drag, kick, drag."""

    time: Knob
    piston: Piston

    def __call__(self, key: Array, state: State, /) -> State:
        rates = state.systems.data.barostat.rates
        eye = jnp.eye(3, dtype=state.dtype)[None]
        trace = jnp.trace(rates, axis1=1, axis2=2) / jnp.maximum(translations(state), 1)
        drag = rates + trace[:, None, None] * eye
        factor = exponential(-knob(self.time, state)[:, None, None] / 2 * drag)

        def dragged(state: State) -> State:
            velocities = moved_with(state.particles.data.velocities, factor, state)
            return state.with_particles(velocities=velocities)

        return dragged(Kick(self.time)(key, dragged(state)))


@dataclass
class DriftInCell(Part):
    """dr/dt = v + r·G and dA/dt = A·G, for a time: stretch, drift, stretch."""

    time: Knob
    piston: Piston

    def __call__(self, key: Array, state: State, /) -> State:
        half = knob(self.time, state)[:, None, None] / 2
        factor = exponential(half * state.systems.data.barostat.rates)

        def stretched(state: State) -> State:
            positions = moved_with(state.particles.data.positions, factor, state)
            cell = deformed_cell(state.systems.data.cell, factor, self.piston.coupling)
            return state.with_particles(positions=positions).with_systems(cell=cell)

        return stretched(Drift(self.time)(key, stretched(state)))
