"""Which code runs: a kernel where a CPU is lowered for, JAX code elsewhere and for derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax.custom_derivatives import SymbolicZero

__all__ = ["by_platform"]


def _by_platform(kernel: Callable[[Any], Any], plain: Callable[[Any], Any], operands: Any) -> Any:
    """``kernel(operands)`` on a CPU, ``plain(operands)``, which is JAX code, elsewhere."""
    return lax.platform_dependent(operands, cpu=kernel, default=plain)


def _derivative(
    kernel: Callable[[Any], Any],
    plain: Callable[[Any], Any],
    primals: tuple[Any],
    tangents: tuple[Any],
) -> tuple[Any, Any]:
    """The value as ever; its derivative is that of the JAX code."""
    leaves, structure = jax.tree.flatten(primals[0])
    along = jax.tree.leaves(tangents[0], is_leaf=lambda t: isinstance(t, SymbolicZero))
    moved = [n for n, t in enumerate(along) if not isinstance(t, SymbolicZero)]

    def of_moved(*values: Any) -> Any:
        given = dict(zip(moved, values, strict=True))
        operands = [given.get(n, leaf) for n, leaf in enumerate(leaves)]
        return plain(jax.tree.unflatten(structure, operands))

    here = tuple(leaves[n] for n in moved)
    tangent = jax.jvp(of_moved, here, tuple(along[n] for n in moved))[1]
    return by_platform(kernel, plain, primals[0]), tangent


by_platform: Any = jax.custom_jvp(_by_platform, nondiff_argnums=(0, 1))
by_platform.defjvp(_derivative, symbolic_zeros=True)
