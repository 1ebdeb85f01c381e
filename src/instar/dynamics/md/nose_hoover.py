"""Nosé–Hoover chains: constant temperature without random numbers.

    dv/dt = F/m − ξ₁ v,   Q₁ dξ₁/dt = 2K − N_f k_B T − Q₁ ξ₁ ξ₂,
    Q_j dξ_j/dt = Q_(j−1) ξ²_(j−1) − k_B T − Q_j ξ_j ξ_(j+1),   dη_j/dt = ξ_j

with Q₁ = N_f k_B T τ² and Q_j = k_B T τ². G. J. Martyna, M. L. Klein, M. Tuckerman, J. Chem. Phys.
97, 2635 (1992); the chain is integrated as in G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L.
Klein, Mol. Phys. 87, 1117 (1996), with Yoshida's three weights. Conserved: K + U + Σ ½Q_j ξ_j² +
N_f k_B T η₁ + k_B T Σ η_j.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.core.utils.on_device import on_device
from instar.dynamics.knobs import Knob, Numbers, checked, knob, scaled
from instar.dynamics.md.declared import TIME_CONSTANT, thermostat
from instar.dynamics.md.forces import Forces
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.md.state import State
from instar.dynamics.part import Part, Step, begun, step_of
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import kinetic_energy

__all__ = ["Chain", "ChainOnVelocities", "nose_hoover"]

_CUBE_ROOT = 2 ** (1 / 3)
_WEIGHTS = (1 / (2 - _CUBE_ROOT), -_CUBE_ROOT / (2 - _CUBE_ROOT), 1 / (2 - _CUBE_ROOT))
"""H. Yoshida, Phys. Lett. A 150, 262 (1990): fourth order from three steps of second order."""


@thermostat("nose_hoover", time_constant=TIME_CONSTANT)
def nose_hoover(
    time_step: Numbers, temperature: Knob, time_constant: Knob, length: int = 3
) -> Step:
    """Constant temperature without random numbers, by a chain of thermostats: Nosé–Hoover chains.

        dv/dt = F/m − ξ₁ v,   Q₁ dξ₁/dt = 2K − N_f k_B T − Q₁ ξ₁ ξ₂, …,   Q₁ = N_f k_B T τ²

    G. J. Martyna, M. L. Klein, M. Tuckerman, J. Chem. Phys. 97, 2635 (1992); integrated as in
    G. J. Martyna, M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996). It is the
    step of `nve` between two halves of the chain. Conserved: K + U and the energy of the chain.

    Parameters
    ----------
    time_step
        Δt in Å·√(amu/eV): ``2 * instar.units.fs``.
    temperature
        In K: one for all systems, one each, or a `Ramp`.
    time_constant
        τ in Å·√(amu/eV), the period of the chain. 0.1 ps is usual.
    length
        How many thermostats are in the chain.

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
    >>> from instar.units import fs, ps
    >>> method = instar.md.nose_hoover(2 * fs, temperature=90.0, time_constant=0.1 * ps)
    """
    checked("time step", time_step)
    checked("temperature", temperature)
    checked("time constant", time_constant)
    kick = Kick(scaled(time_step, 0.5))
    bath = ChainOnVelocities(scaled(time_step, 0.5), temperature, time_constant, length)
    return step_of(bath, kick, Drift(time_step), Forces(), kick, bath)


@dataclass
class Chain:
    """Thermostats one upon the other, of each system: η and ξ (systems, length), 1/time."""

    position: Array
    velocity: Array

    @staticmethod
    def at_rest(state: State, length: int) -> Chain:
        """A chain that has not moved."""
        zeros = np.zeros((len(state.systems), length), state.dtype)
        return Chain(*on_device((zeros, zeros)))

    def moved(
        self, twice_kinetic: Array, degrees: Array, energy: Array, period: Array, time: Array
    ) -> tuple[Chain, Array]:
        """The chain after that time, and the factor (systems,) for the velocities it acts on.

        ``energy`` is k_B T, ``twice_kinetic`` 2K of what it acts on, ``period`` τ.
        """
        # Without degrees of freedom there is nothing to act on, and the masses would be zero.
        safe = jnp.maximum(degrees, 1)
        masses = jnp.stack([safe * energy * period**2] + [energy * period**2] * (self._length - 1))
        targets = jnp.stack([safe * energy] + [energy] * (self._length - 1))
        eta, xi = list(self.position.T), list(self.velocity.T)
        factor = jnp.ones_like(twice_kinetic)
        for weight in _WEIGHTS:
            part = weight * time
            eta, xi, more = _turn(eta, xi, twice_kinetic * factor**2, (masses, targets), part)
            factor = factor * more
        idle = degrees <= 0
        new = Chain(jnp.stack(eta, axis=1), jnp.stack(xi, axis=1))
        kept = jax.tree.map(lambda old, new: jnp.where(idle[:, None], old, new), self, new)
        return kept, jnp.where(idle, 1, factor)

    def energy(self, degrees: Array, energy: Array, period: Array) -> Array:
        """What the chain stores (systems,), eV."""
        masses = energy[:, None] * period[:, None] ** 2
        weights = jnp.ones_like(self.position).at[:, 0].set(degrees)
        kinetic = weights * masses * self.velocity**2 / 2
        return jnp.sum(kinetic + weights * energy[:, None] * self.position, axis=1)

    @property
    def _length(self) -> int:
        return self.position.shape[1]


def _turn(
    eta: list[Array], xi: list[Array], twice_kinetic: Array, sizes: Any, time: Array
) -> tuple[list[Array], list[Array], Array]:
    """One symmetric turn of the chain: from its end to its beginning, and back."""
    masses, targets = sizes
    xi = list(xi)
    last = len(xi) - 1

    def push(j: int, twice: Array) -> None:
        force = (twice - targets[j]) / masses[j]
        if j == last:
            xi[j] = xi[j] + force * time / 2
            return
        drag = jnp.exp(-time / 4 * xi[j + 1])
        xi[j] = (xi[j] * drag + force * time / 2) * drag

    def twice_of(j: int) -> Array:
        return masses[j - 1] * xi[j - 1] ** 2

    for j in range(last, 0, -1):
        push(j, twice_of(j))
    push(0, twice_kinetic)
    factor = jnp.exp(-time * xi[0])
    eta = [e + time * x for e, x in zip(eta, xi, strict=True)]
    push(0, twice_kinetic * factor**2)
    for j in range(1, last + 1):
        push(j, twice_of(j))
    return eta, xi, factor


@dataclass
class ChainOnVelocities(Part):
    """A chain of thermostats acts on the velocities for a time."""

    time: Knob
    temperature: Knob
    time_constant: Knob
    length: int = field(static=True, default=3)

    def __call__(self, key: Array, state: State, /) -> State:
        kinetic = kinetic_energy(state.particles)
        chain, factor = begun(state.systems.data.thermostat).moved(
            2 * kinetic,
            state.systems.data.degrees,
            BOLTZMANN * knob(self.temperature, state),
            knob(self.time_constant, state),
            knob(self.time, state),
        )
        data = state.particles.data
        own = state.systems.set_data(factor).beside(data.system)
        velocities = own[:, None] * data.velocities
        return state.with_particles(velocities=velocities).with_systems(thermostat=chain)

    def begin(self, state: State) -> State:
        """With a chain at rest."""
        return state.with_systems(thermostat=Chain.at_rest(state, self.length))

    def stored(self, state: State) -> Array:
        """The energy of the chain."""
        return state.systems.data.thermostat.energy(
            state.systems.data.degrees,
            BOLTZMANN * knob(self.temperature, state),
            knob(self.time_constant, state),
        )
