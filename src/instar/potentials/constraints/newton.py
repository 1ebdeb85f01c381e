"""M-SHAKE: the position constraints of small clusters, all bonds of a cluster at once.

With r'ₖ the bonds after a free step and sₖ those before it, λ is found such that

    gₖ(λ) = |uₖ|² − dₖ² = 0,   uₖ = r'ₖ + Σₗ Aₖₗ λₗ sₗ,

by Newton's method with the full matrix ∂gₖ/∂λₗ = 2 Aₖₗ uₖ·sₗ of the cluster: a few steps, each
about squaring the error (V. Kräutler, W. F. van Gunsteren, P. H. Hünenberger, J. Comput. Chem.
22, 501, 2001).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.constraints.group import Correction, Ready, solve

__all__ = ["by_newton"]

_MOST_STEPS = 24
"""Newton takes three to six; what needs more than this does not converge."""


def by_newton(ready: Ready, moved: Array, before: Array, particles: int) -> Correction:
    """What brings bonds back to their lengths; bonds are (clusters, bonds, 3) in Å."""
    multipliers = _multipliers(ready, moved, before)
    return Correction(
        ready.shifts(multipliers, before, particles),
        ready.moments(multipliers, before),
        moved + ready.stretched(multipliers, before),
    )


def _multipliers(ready: Ready, moved: Array, before: Array) -> Array:
    """λ (clusters, bonds), amu.

    The loop is not differentiated. A step of Newton after it gives λ the first derivative of the
    implicit function, and its last digit; as each step doubles the order that is right, another
    one gives the second and third derivatives.
    """
    equations = _Equations(ready, moved, before)
    found = _iterated(jax.lax.stop_gradient(equations))
    return equations.better(equations.better(jax.lax.stop_gradient(found)))


@dataclass
class _Equations:
    ready: Ready
    moved: Array
    before: Array

    def bonds(self, multipliers: Array) -> Array:
        """uₖ (clusters, bonds, 3)."""
        return self.moved + self.ready.stretched(multipliers, self.before)

    def excess(self, bonds: Array) -> Array:
        """gₖ (clusters, bonds), Å²."""
        return jnp.where(self.ready.used, jnp.sum(bonds**2, axis=-1) - self.ready.length**2, 0)

    def better(self, multipliers: Array) -> Array:
        """One step of Newton."""
        bonds = self.bonds(multipliers)
        return multipliers - solve(self.ready.matrix(bonds, self.before), self.excess(bonds)) / 2

    def far(self, multipliers: Array) -> Array:
        """Clusters (clusters,) that are not yet where rounding ends."""
        excess = self.excess(self.bonds(multipliers))
        rounding = 16 * jnp.finfo(excess.dtype).eps * self.ready.length**2
        return jnp.any(jnp.abs(excess) > rounding, axis=1)


def _iterated(equations: _Equations) -> Array:
    """λ to rounding; a cluster that is there moves no more, whatever others need."""

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        step, _, far = carry
        return (step < _MOST_STEPS) & jnp.any(far)

    def advanced(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        step, multipliers, far = carry
        new = jnp.where(far[:, None], equations.better(multipliers), multipliers)
        return step + 1, new, equations.far(new)

    nothing = jnp.zeros_like(equations.ready.length)
    start = jnp.int32(0), nothing, equations.far(nothing)
    return jax.lax.while_loop(unfinished, advanced, start)[1]
