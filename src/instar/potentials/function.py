"""Any JAX function of the state as a potential."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.lens import bind
from instar.core.utils.jax import dataclass, field
from instar.geometry import AllParticles
from instar.neighbors import NeighborList
from instar.potentials.edges import edges_within
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.exclusions import Exclusions
from instar.potentials.potential import Potential, PotentialError

__all__ = ["FunctionPotential"]


@dataclass
class FunctionPotential(Potential):
    """Any JAX function of the state as a potential: it returns the energy of each system in eV.

        F = −∂U/∂r        W = −∂U/∂ε        under the strain r → r·(1 + ε)

    Parameters
    ----------
    function
        ``function(parameters, particles, systems)`` returns (systems,) energies in eV. Both tables
        may be read in any of their columns; particles that are absent (system out of bounds) must
        not enter. With a cutoff it is called with one more table, `edges`: one row per ordered pair
        of particles within the cutoff, images included (see `Edge`).
    parameters
        Any pytree; energies can be differentiated by its leaves.
    cutoff
        In Å; None if the function needs no edges.
    excluded
        `Exclusions`: pairs of particles that are not edges.
    general
        Whether it may be used for any structures: it names no particle and no system.
    external
        Whether it pulls on systems as wholes, so that their centres of mass move.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import FunctionPotential
    >>> def trap(stiffness, particles, systems):
    ...     squares = jnp.sum(particles.data.positions**2, axis=1)
    ...     return particles.data.system.sum_over(stiffness * squares / 2).data
    >>> potential = FunctionPotential(trap, 0.2, general=True, external=True)
    >>> potential.is_general, potential.moves_centre
    (True, True)
    """

    function: Callable[..., Array] = field(static=True)
    parameters: Any = None
    cutoff: Any = None
    excluded: Exclusions | None = None
    general: bool = field(static=True, default=False)
    external: bool = field(static=True, default=False)

    @property
    def reach(self) -> Any:
        """The cutoff (Å); None if no neighbors are asked for."""
        return self.cutoff

    @property
    def is_general(self) -> bool:
        """What its maker says, where no system has a cutoff of its own."""
        one_cutoff = self.cutoff is None or jnp.ndim(self.cutoff) == 0
        return self.general and one_cutoff and self.excluded is None

    @property
    def exclusions(self) -> Exclusions | None:
        """Pairs that are none of its edges."""
        return self.excluded

    def excluding(self, exclusions: Exclusions) -> FunctionPotential:
        """The same with edges that leave these pairs out; itself if it has no edges."""
        return self if self.cutoff is None else dataclasses.replace(self, excluded=exclusions)

    @property
    def moves_centre(self) -> bool:
        """What its maker says."""
        return self.external

    def over_neighbors(
        self, everyone: AllParticles, neighbors: NeighborList, request: Request
    ) -> Evaluation:
        """The function of edges, and its derivatives."""
        if self.cutoff is None:
            return Evaluation()
        return self._differentiated(everyone, request, neighbors)

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """The function and its derivatives."""
        return Evaluation() if self.cutoff is not None else self._differentiated(everyone, request)

    def _differentiated(
        self, everyone: AllParticles, request: Request, neighbors: NeighborList | None = None
    ) -> Evaluation:
        if request.per_particle:
            raise PotentialError(
                "A function of the whole state has no energies of single particles."
            )

        def total(positions: Array, strain: Array) -> tuple[Array, Array]:
            energies = self._energies(everyone, positions, strain, neighbors)
            return jnp.sum(energies), energies

        strain = jnp.zeros((everyone.count, 3, 3), everyone.positions.dtype)
        wanted = tuple(n for n, asked in enumerate((request.forces, request.virial)) if asked)
        if not wanted:
            return Evaluation(energy=total(everyone.positions, strain)[1])
        slopes, energies = jax.grad(total, wanted, has_aux=True)(everyone.positions, strain)
        found = dict(zip(wanted, slopes, strict=True))
        return Evaluation(
            energy=energies if request.energy else None,
            forces=-found[0] if request.forces else None,
            virial=-found[1] if request.virial else None,
        )

    def _energies(
        self,
        everyone: AllParticles,
        positions: Array,
        strain: Array,
        neighbors: NeighborList | None,
    ) -> Array:
        """Energies of the state after a strain, r → r·(1 + ε)."""
        safe = jnp.where(everyone.there[:, None], positions, 0)  # absent ones may be no numbers
        own = everyone.systems.set_data(strain)[everyone.system]
        moved = safe + jnp.einsum("pi,pij->pj", safe, own)
        cell = everyone.cell.with_vectors(
            everyone.cell.vectors + jnp.einsum("sik,skj->sij", everyone.cell.vectors, strain)
        )
        particles = bind(everyone.particles, lambda t: t.data.positions).set(moved)
        systems = bind(everyone.systems, lambda t: t.data.cell).set(cell)
        known = (self.parameters, particles, systems)
        near = (
            () if neighbors is None else (edges_within(self.cutoff, neighbors, particles, systems),)
        )
        energies = jnp.asarray(self.function(*known, *near))
        if energies.shape != (everyone.count,):
            raise PotentialError(
                f"The function returns energies of shape {energies.shape}; "
                f"one for each of the {everyone.count} systems is needed."
            )
        return energies
