"""Stochastic cell rescaling: constant pressure and temperature, by random small deformations.

    dε = c (P − P₀) dt + √(2 c k_B T/V) dW,   c = β/3τ

with the pressure P of this instant, a symmetric matrix W of independent noise, and r → r·e^ε,
v → v·e^(−ε) for centres of mass and their velocities. With positions and momenta both carried
along this leaves exp(−(H + P₀V)/k_B T) dV unchanged, for any compressibility β and time constant τ.
There is no further drift: the one from noise that depends on V cancels that from dV = V d ln V.
Isotropic: M. Bernetti and G. Bussi, J. Chem. Phys. 153, 114107 (2020), whose equation for √V this
is in ln V; anisotropic and full: V. Del Tatto, P. Raiteri, M. Bernetti, G. Bussi, Appl. Sci. 12,
1139 (2022).

The cell moves every few steps, by as much as it would have in all of them: the virial is needed
only then. A finite move of this kind is only a proposal. It is accepted as Metropolis and Hastings
say (for such moves: G. O. Roberts and R. L. Tweedie, Bernoulli 2, 341, 1996), with energy and
pressure computed again after it,

    ln A = (1 + k/2) ln V'/V − (ΔH + P₀ΔV)/k_B T + |ε − m|²/2s − |ε + m'|²/2s',
    m = c (P − P₀) Δt, but not too long,   s = 2 c k_B T Δt/V,   k modes of the cell

so that the ensemble has no error from the size of the moves. Conserved: K + U less heat, of which
the energy that the moves bring is a part.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from instar.core.utils.declaration import Option
from instar.core.utils.jax import dataclass, field
from instar.dynamics.containment import chosen
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
)
from instar.dynamics.md.declared import COUPLING, PRESSURE_TIME_CONSTANT, TIME_CONSTANT, barostat
from instar.dynamics.md.forces import Forces, is_due, with_forces
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.md.state import State
from instar.dynamics.md.velocity_rescaling import VelocityRescaling
from instar.dynamics.part import Part, Step, begun, step_of
from instar.dynamics.streams import system_matrices, system_uniforms
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import kinetic_energy

__all__ = ["CellRescaling", "cell_rescaling"]

_LARGEST = 0.1
"""No move is larger: it is rejected, and so is the one back."""


@barostat(
    "cell_rescaling",
    time_constant=TIME_CONSTANT,
    pressure_time_constant=PRESSURE_TIME_CONSTANT,
    compressibility=Option(
        "compressibility of the material, roughly", unit="1/bar", above=0, default="4.5e-5 1/bar"
    ),
    coupling=COUPLING,
)
def cell_rescaling(
    time_step: Numbers,
    temperature: Knob,
    pressure: Knob,
    *,
    time_constant: Knob,
    pressure_time_constant: Numbers,
    compressibility: Numbers,
    coupling: Coupling = "isotropic",
    every: int = 20,
) -> Step:
    """Constant pressure and temperature by random small deformations: stochastic cell rescaling.

        dε = c (P − P₀) dt + √(2 c k_B T/V) dW,   c = β/3τ

    M. Bernetti and G. Bussi, J. Chem. Phys. 153, 114107 (2020); V. Del Tatto, P. Raiteri, M.
    Bernetti, G. Bussi, Appl. Sci. 12, 1139 (2022). Moves of the cell are accepted as Metropolis and
    Hastings say, so that their size makes no error. It is the step of `velocity_rescaling` with one
    part after it. Conserved: K + U less the heat.

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
    compressibility
        β in Å³/eV, roughly that of the material: only β/τ matters, and only for how fast the volume
        settles. ``4.5e-5 / instar.units.bar`` is that of water.
    coupling
        What moves: the volume ("isotropic"), the three lengths ("anisotropic"), or the whole cell
        ("full"). The last two are for solids.
    every
        Steps between two moves of the cell.

    Returns
    -------
    Step
        What `simulate` takes.

    Raises
    ------
    ValueError
        If a number is not in its range.

    Examples
    --------
    >>> import instar
    >>> from instar.units import bar, fs, ps
    >>> times = {"time_constant": 0.1 * ps, "pressure_time_constant": 1 * ps}
    >>> beta = 2e-4 / bar
    >>> method = instar.md.cell_rescaling(2 * fs, 90.0, 100 * bar, compressibility=beta, **times)
    """
    checked("time step", time_step)
    checked("temperature", temperature)
    checked("pressure", pressure, "any")
    checked("time constant", time_constant)
    checked("pressure time constant", pressure_time_constant)
    checked("compressibility", compressibility)
    checked_every(every)
    kick = Kick(scaled(time_step, 0.5))
    bath = VelocityRescaling(time_step, temperature, time_constant)
    rate = scaled(compressibility, 1) / scaled(pressure_time_constant, 3)
    cell = CellRescaling(scaled(time_step, every), temperature, pressure, rate, coupling, every)
    return step_of(kick, Drift(time_step), Forces(virial_every=every), kick, bath, cell)


@dataclass
class CellRescaling(Part):
    """Every few steps r → r·e^ε; needs the virial of this step."""

    time: Knob
    temperature: Knob
    pressure: Knob
    rate: Knob
    coupling: Coupling = field(static=True, default="isotropic")
    every: int = field(static=True, default=20)

    def __call__(self, key: Array, state: State, /) -> State:
        straight = state.systems.data.cell.orthorhombic and self.coupling == "full"
        begun(None if straight else state)
        return lax.cond(
            is_due(state, self.every), lambda s: self._moved(key, s), lambda s: s, state
        )

    def begin(self, state: State) -> State:
        """With cells that can change."""
        check_skin(state)
        return check_cells(state, self.coupling)

    def _moved(self, key: Array, state: State) -> State:
        """The state after a move that some systems accept."""
        strain = self._strain(jax.random.fold_in(key, 0), state)
        new = with_forces(self._deformed(strain, state), virial=True)
        ratio = self._log_ratio(strain, state, new)
        drawn = system_uniforms(jax.random.fold_in(key, 1), state)
        accepted = (jnp.log(drawn) < ratio) & (_size(strain) < _largest(state))
        heat = state.systems.data.heat + _energy(new) - _energy(state)
        return chosen(accepted, new.with_systems(heat=heat), state)

    def _deformed(self, strain: Array, state: State) -> State:
        stretch, shrink = exponential(strain), exponential(-strain)
        data = state.particles.data
        moved = state.with_particles(
            positions=moved_with(data.positions, stretch, state),
            velocities=moved_with(data.velocities, shrink, state),
        )
        cell = deformed_cell(state.systems.data.cell, stretch, self.coupling)
        return moved.with_systems(cell=cell)

    def _strain(self, key: Array, state: State) -> Array:
        """ε (systems, 3, 3), drawn."""
        noise = jnp.sqrt(self._spread(state))[:, None, None] * system_matrices(key, state)
        return projected(self._drift(state) + noise, self.coupling)

    def _drift(self, state: State) -> Array:
        """m (systems, 3, 3)."""
        time, target, rate = (
            knob(value, state)[:, None, None] for value in (self.time, self.pressure, self.rate)
        )
        eye = jnp.eye(3, dtype=state.dtype)[None]
        drift = projected(rate * time * (pressure_on_cell(state) - target * eye), self.coupling)
        # Far from equilibrium steps are short, and go the right way.
        size = _size(drift)
        short = jnp.minimum(1, _largest(state) / 3 / jnp.where(size > 0, size, 1))
        return drift * short[:, None, None]

    def _spread(self, state: State) -> Array:
        """s (systems,): the variance of the noise along each mode."""
        time, rate, temperature = (
            knob(value, state) for value in (self.time, self.rate, self.temperature)
        )
        return 2 * rate * time * BOLTZMANN * temperature / state.systems.data.cell.volume

    def _log_ratio(self, strain: Array, state: State, new: State) -> Array:
        """ln A (systems,)."""
        volume, larger = (s.systems.data.cell.volume for s in (state, new))
        work = knob(self.pressure, state) * (larger - volume)
        gained = _energy(new) - _energy(state) + work
        there = _size(strain - self._drift(state)) ** 2 / (2 * self._spread(state))
        back = _size(strain + self._drift(new)) ** 2 / (2 * self._spread(new))
        entropy = (1 + MODES[self.coupling] / 2) * jnp.log(larger / volume)
        thermal = BOLTZMANN * knob(self.temperature, state)
        return entropy - gained / thermal + there - back


def _energy(state: State) -> Array:
    """K + U (systems,) in eV, of the step that has just been computed."""
    return kinetic_energy(state.particles) + state.systems.data.energy


def _size(matrix: Array) -> Array:
    """√Σ ε² (systems,)."""
    return jnp.sqrt(jnp.sum(matrix**2, axis=(1, 2)))


def _largest(state: State) -> Array:
    """The largest move (systems,): after it and after the one back the same list will do."""
    if state.neighbors is None:
        return jnp.full(len(state.systems), _LARGEST, state.dtype)
    skin, cutoff = state.neighbors.skin, state.neighbors.cutoff
    return jnp.minimum(_LARGEST, 0.9 * skin / (cutoff + skin))


def check_skin(state: State) -> None:
    """Refuse a list without room for a cell that moves."""
    if state.neighbors is not None and not (state.neighbors.skin > 0).all():
        raise ValueError(
            "A cell can't move within a neighbor list without a skin.\n"
            "Give one when the state is made: skin=1.0 (Å)."
        )
