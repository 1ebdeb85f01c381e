"""Any JAX function of the state as a potential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.lens import bind
from instar.core.utils.jax import dataclass, field
from instar.geometry import System
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.potential import Potential, PotentialError

__all__ = ["FunctionPotential"]


@dataclass
class FunctionPotential(Potential):
    """``function(parameters, particles, systems)`` gives the energy of each system (eV).

    Both are tables; the function may read any of their columns. Forces and virial are its
    derivatives, by positions and by the strain of positions and cells together. Particles that
    are absent (system out of bounds) must not enter.
    """

    function: Callable[[Any, Any, Any], Array] = field(static=True)
    parameters: Any = None

    def apart_from_pairs(self, system: System, request: Request) -> Evaluation:
        """The function and its derivatives."""
        if request.per_particle:
            raise PotentialError(
                "A function of the whole state has no energies of single particles."
            )

        def total(positions: Array, strain: Array) -> tuple[Array, Array]:
            energies = self._energies(system, positions, strain)
            return jnp.sum(energies), energies

        strain = jnp.zeros((system.count, 3, 3), system.positions.dtype)
        wanted = tuple(n for n, asked in enumerate((request.forces, request.virial)) if asked)
        if not wanted:
            return Evaluation(energy=total(system.positions, strain)[1])
        slopes, energies = jax.grad(total, wanted, has_aux=True)(system.positions, strain)
        found = dict(zip(wanted, slopes, strict=True))
        return Evaluation(
            energy=energies if request.energy else None,
            forces=-found[0] if request.forces else None,
            virial=-found[1] if request.virial else None,
        )

    def _energies(self, system: System, positions: Array, strain: Array) -> Array:
        """Energies of the state after a strain, r → r·(1 + ε)."""
        safe = jnp.where(system.there[:, None], positions, 0)  # absent ones may be no numbers
        moved = safe + jnp.einsum("pi,pij->pj", safe, strain[system.system])
        cell = system.cell.with_vectors(
            system.cell.vectors + jnp.einsum("sik,skj->sij", system.cell.vectors, strain)
        )
        particles = bind(system.particles, lambda t: t.data.positions).set(moved)
        systems = bind(system.systems, lambda t: t.data.cell).set(cell)
        energies = jnp.asarray(self.function(self.parameters, particles, systems))
        if energies.shape != (system.count,):
            raise PotentialError(
                f"The function gives energies of shape {energies.shape}; "
                f"one for each of the {system.count} systems is needed."
            )
        return energies
