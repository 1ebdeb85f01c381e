"""Functions of a distance that together resolve it.

    gaussians   f_k = exp(−(r − c_k)² / 2w²) · h(r)
    bessel      f_k = √(2/R) sin(kπr/R) / r · h(r)
    cutoff      h(r) = (1 + cos(πr/R)) / 2 for r < R, otherwise 0

References: J. Behler, J. Chem. Phys. 134, 074106 (2011), for the Gaussians with this cutoff;
J. Gasteiger, J. Groß, S. Günnemann, ICLR 2020, arXiv:2003.03123, for the Bessel functions.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.parameters import as_parameter
from instar.statefunc.state import State

__all__ = ["Bessel", "Gaussians", "bessel", "gaussians"]


@dataclass(repr=False, eq=False)
class Gaussians(StateFunction):
    """Gaussians of one width (Å) around ``centers`` (Å); smooth to zero at ``cutoff`` if given."""

    centers: Any
    width: Any
    cutoff: Any
    steps = 6

    def values_at(self, state: State) -> Any:
        r = self.child.values_at(state)
        centers = jnp.asarray(self.centers, r.dtype).reshape(-1, *(1,) * (r.ndim - 1))
        width = jnp.asarray(self.width, r.dtype)
        return jnp.exp(-0.5 * jnp.square((r - centers) / width)) * _envelope(r, self.cutoff)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """The cutoff function is one value for all features, and so written down."""
        return super().buffers(sizes, loop) | _envelope_buffers(self, sizes)

    def formula(self) -> str:
        return f"exp(-({self.child.within(9)} - cₖ)²/2w²)" + _envelope_formula(self)


@dataclass(repr=False, eq=False)
class Bessel(StateFunction):
    """Spherical Bessel functions of order 0 that vanish at ``cutoff`` (Å), and so does h."""

    cutoff: Any
    steps = 9

    def values_at(self, state: State) -> Any:
        r = self.child.values_at(state)
        radius = jnp.asarray(self.cutoff, r.dtype)
        numbers = jnp.arange(1, self.n_features + 1, dtype=r.dtype).reshape(
            -1, *(1,) * (r.ndim - 1)
        )
        # sin(kπr/R)/r = (kπ/R) sinc(kr/R), finite at r = 0
        waves = numbers * (math.pi / radius) * jnp.sinc(numbers * r / radius)
        return jnp.sqrt(2 / radius) * waves * _envelope(r, self.cutoff)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """The sine, and its quotient by the distance, are written down."""
        waves = self.hold("the waves of {}", 2 * sizes.numbers(self))
        found = super().buffers(sizes, loop) | _envelope_buffers(self, sizes)
        return found if sizes.grad else found | waves

    def formula(self) -> str:
        r = self.child.within(9)
        return f"√(2/R)·sin(kπ{r}/R)/{r}" + _envelope_formula(self)


def _envelope(r: Any, cutoff: Any) -> Any:
    if cutoff is None:
        return jnp.ones((), r.dtype)
    radius = jnp.asarray(cutoff, r.dtype)
    return jnp.where(r < radius, 0.5 * (1 + jnp.cos(jnp.pi * r / radius)), 0)


def _envelope_buffers(function: Gaussians | Bessel, sizes: Sizes) -> Buffers:
    if function.cutoff is None:
        return {}
    return function.hold("the cutoff of {}", 2 * sizes.numbers(function.child))


def _envelope_formula(function: Gaussians | Bessel) -> str:
    return "" if function.cutoff is None else f"·h({function.child.formula()})"


def gaussians(of: StateFunction, centers: Any, width: Any, *, cutoff: Any = None) -> Gaussians:
    """Gaussians of a distance around ``centers``, as features; centers, width, cutoff in Å."""
    _require_distance("gaussians", of)
    centers = as_parameter(centers)
    if centers.ndim != 1:
        raise ContractError(f"centers is a list of distances, not of shape {centers.shape}.")
    contract = of.contract.but(n_features=len(centers))
    return Gaussians(contract, (of,), centers, _number(width), _number(cutoff))


def bessel(of: StateFunction, n: int, *, cutoff: Any) -> Bessel:
    """The first ``n`` Bessel functions of a distance, zero from ``cutoff`` (Å) on, as features."""
    _require_distance("bessel", of)
    return Bessel(of.contract.but(n_features=n), (of,), _number(cutoff))


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not value > 0:
        raise ContractError(f"Widths and cutoffs are lengths greater than zero, not {value}.")
    return None if value is None else as_parameter(value)


def _require_distance(what: str, of: StateFunction) -> None:
    if of.rank != 0 or of.n_features != 1:
        raise ContractError(
            f"{what} takes one number, such as distance(3); {of.formula()} has {of.contract}."
        )
