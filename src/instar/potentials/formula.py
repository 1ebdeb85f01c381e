"""What a pair formula is: u as a function of the distance, with its parameters as leaves.

A formula is a pytree dataclass. Its leaves are parameters, each a matrix (species, species) where
the formula is defined, and one number per pair where the engine evaluates it. `energy` is all
that has to be written: forces, virials and derivatives by parameters come from differentiating it.

Formulas take the squared distance, s = r², so that those in even powers need no square root.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.entry import Entry

__all__ = ["Formula", "HasTail", "Parameter", "arithmetic", "energy_and_slope", "geometric"]

Parameter = Any
"""A number or an array, of NumPy or JAX: a leaf of a formula."""


@dataclass
class Formula:
    """A formula u(r); abstract.

    ``MIXING`` says, for each named rule, how a parameter of two unlike species follows from
    those of the like ones; a formula without an entry for a rule needs every pair given.

    ``KERNEL`` names the same equation among the compiled kernels, with the fields of this class, in
    their order, as its parameters. It holds for the very class that states it, not for subclasses.
    """

    MIXING: ClassVar[dict[str, dict[str, Any]]] = {}
    KERNEL: ClassVar[str | None] = None

    @classmethod
    def entry_class(cls) -> type[Entry]:
        """How it stands in configurations: with parameters by species."""
        from instar.potentials.pair_entry import pair_entry  # which is built on formulas

        return pair_entry(cls)

    def end(self) -> Any:
        """The distance (Å) from which on it is zero; None if it needs a cutoff."""
        return None

    def energy(self, squared: Array) -> Array:
        """u (eV) at the squared distance s = r² (Å²)."""
        raise NotImplementedError(f"{type(self).__name__} has no formula.")


@runtime_checkable
class HasTail(Protocol):
    """A formula whose integrals beyond a cutoff are known."""

    def tail(self, cutoff: Array) -> tuple[Array, Array]:
        """∫ u r² dr and ∫ u' r³ dr from the cutoff to infinity (eV Å³)."""
        ...


def energy_and_slope(formula: Any, distance: Array) -> tuple[Array, Array]:
    """u and du/dr at a distance (Å), entry by entry."""
    return jax.jvp(lambda r: formula.energy(r * r), (distance,), (jnp.ones_like(distance),))


def arithmetic(a: float, b: float) -> float:
    """(a + b) / 2."""
    return (a + b) / 2


def geometric(a: float, b: float) -> float:
    """√(a b)."""
    if a < 0 or b < 0:
        raise ValueError(f"There is no geometric mean of {a} and {b}.")
    return math.sqrt(a * b)
