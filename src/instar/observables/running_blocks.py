"""`RunningBlocks`: mean and standard error by blocking, on the fly.

The levels of `instar.observables.blocks` in O(log n) memory. A value goes to level 0. On each
level it is counted, and

    if it is the first of a pair, it waits there;
    if it is the second, their mean (a + b)/2 goes to the next level.

Each level keeps n, Σ d and Σ d² of d = value − first value, with compensated sums: numbers that
are small where values fluctuate around something large.

    H. Flyvbjerg, H. G. Petersen, J. Chem. Phys. 91, 461 (1989)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import in_precision
from instar.observables.blocks import BlockAverage, chosen_block
from instar.observables.selection import ObserverError, counted_systems, require_known
from instar.observables.series import check_per_system
from instar.observables.total import Total

__all__ = ["RunningBlocks"]


@dataclass
class _Levels:
    """What is kept of one array (systems, ...) of the function."""

    origin: Array  # (systems, ...) the first value
    waiting: Array  # (levels, systems, ...) first halves of pairs, less the origin
    first: Total  # (levels, systems, ...) Σ d
    second: Total  # (levels, systems, ...) Σ d²

    @staticmethod
    def of(shape: tuple[int, ...], dtype: Any, levels: int) -> _Levels:
        sums = Total.zeros((levels, *shape), dtype)
        return _Levels(jnp.zeros(shape, dtype), sums.sum, sums, sums)

    def pushed(self, level: Array, value: Array, active: Array, paired: Array) -> Any:
        """After a value on a level, and what goes to the next one."""
        active, paired = (_like(mask, value) for mask in (active, paired))
        merged = (self.waiting[level] + value) / 2
        waits = jnp.where(active & ~paired, value, self.waiting[level])
        first = self.first.with_row(level, self.first[level].plus(value, active))
        second = self.second.with_row(level, self.second[level].plus(value * value, active))
        return _Levels(self.origin, self.waiting.at[level].set(waits), first, second), merged


@dataclass
class RunningBlocks:
    """Mean, variance and blocked variances of a function of the state, for each system.

    The function gives a tree of arrays (systems, ...). A frozen system takes no more values. Make
    one with `RunningBlocks.of`.
    """

    function: Callable[[Any], Any] = field(static=True)
    levels: Any  # a tree of _Levels
    count: Array  # (levels, systems) int32: values on each level

    @staticmethod
    @in_precision
    def of(function: Callable[[Any], Any], state: Any, levels: int = 31) -> RunningBlocks:
        """Mean and standard error of a function of the state, without storing its values.

        The analysis is that of `block_average`; memory does not depend on the number of values.

        Parameters
        ----------
        function
            Of a state; returns an array (systems, ...) of real numbers or a tree of such arrays. It
            is part of what is compiled: pass the same function, not a new lambda each time.
        state
            One like those that will be observed.
        levels
            1 to 31: the longest blocks have 2^(levels − 1) values.

        Returns
        -------
        RunningBlocks
            Without values; `update` adds one per system, ``result()`` returns a `BlockAverage` in
            place of each array of the function.

        Raises
        ------
        ObserverError
            If the number of levels is not in its range, or the function does not return one row of
            real numbers per system.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar
        >>> from instar.observables import RunningBlocks, kinetic_energy
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
        >>> def kinetic(state):
        ...     return kinetic_energy(state.particles)
        >>> RunningBlocks.of(kinetic, state).update(state).result().mean
        array([0.])
        """
        if not 1 <= levels <= 31:
            raise ObserverError(f"There are 1 to 31 levels, not {levels}.")
        shapes = jax.eval_shape(lambda state: _inexact(function(state)), state)
        check_per_system(shapes, len(state.systems))
        if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in jax.tree.leaves(shapes)):
            raise ObserverError("Blocks are averages of real numbers, not of complex ones.")
        kept = jax.tree.map(lambda leaf: _Levels.of(leaf.shape, leaf.dtype, levels), shapes)
        count = jnp.zeros((levels, len(state.systems)), jnp.int32)
        return RunningBlocks(function, kept, count)

    def update(self, state: Any) -> RunningBlocks:
        """With one more value of each system that is not frozen."""
        values = _inexact(self.function(state))
        structure = jax.tree.structure(values)
        new = self.count[0] == 0
        kept = [
            dataclasses.replace(one, origin=jnp.where(_like(new, value), value, one.origin))
            for one, value in zip(self._flat, jax.tree.leaves(values), strict=True)
        ]
        apart = [v - one.origin for v, one in zip(jax.tree.leaves(values), kept, strict=True)]
        start = (kept, self.count, apart, counted_systems(state.systems), jnp.int32(0))
        kept, count, *_ = lax.while_loop(_goes_on, _push, start)
        return dataclasses.replace(self, levels=jax.tree.unflatten(structure, kept), count=count)

    def result(self) -> Any:
        """A `BlockAverage` in place of each array of the function; on the host.

        The same as `block_average` of the series. Systems with too few values have NaN.
        """
        require_known("RunningBlocks.result", self.count)
        counts = np.asarray(self.count)
        counts = counts[: max(1, int((counts >= 2).any(axis=1).sum()))]
        averages = [_analysed(one, counts) for one in self._flat]
        return jax.tree.unflatten(self._structure, averages)

    @property
    def _flat(self) -> list[_Levels]:
        return jax.tree.leaves(self.levels, is_leaf=_is_levels)

    @property
    def _structure(self) -> Any:
        return jax.tree.structure(self.levels, is_leaf=_is_levels)


def _goes_on(carry: Any) -> Array:
    _, count, _, active, level = carry
    return jnp.any(active) & (level < count.shape[0])


def _push(carry: Any) -> Any:
    """One level; the systems whose pairs it completes go on to the next."""
    kept, count, values, active, level = carry
    paired = count[level] % 2 == 1
    pushed = [
        one.pushed(level, value, active, paired) for one, value in zip(kept, values, strict=True)
    ]
    kept, values = (list(column) for column in zip(*pushed, strict=True))
    count = count.at[level].add(active.astype(jnp.int32))
    return kept, count, values, active & paired, level + 1


def _analysed(one: _Levels, counts: np.ndarray) -> BlockAverage:
    levels = len(counts)
    counts = np.broadcast_to(
        counts.reshape(*counts.shape, *(1,) * (one.origin.ndim - 1)),
        (levels, *one.origin.shape),
    )
    number = np.maximum(counts, 1)
    mean = one.first.on_host()[:levels] / number
    variance = np.maximum(one.second.on_host()[:levels] / number - mean**2, 0)
    average = np.where(counts[0] > 0, np.asarray(one.origin, np.float64) + mean[0], np.nan)
    return chosen_block(average, counts, variance)


def _inexact(tree: Any) -> Any:
    """Whole numbers as floating-point ones."""

    def one(leaf: Any) -> Array:
        leaf = jnp.asarray(leaf)
        inexact = jnp.issubdtype(leaf.dtype, jnp.inexact)
        return leaf if inexact else leaf.astype(jnp.zeros(()).dtype)

    return jax.tree.map(one, tree)


def _is_levels(node: Any) -> bool:
    return isinstance(node, _Levels)


def _like(of_systems: Array, values: Array) -> Array:
    """One entry a system beside arrays (systems, ...)."""
    return of_systems.reshape(-1, *(1,) * (values.ndim - 1))
