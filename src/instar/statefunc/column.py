"""Columns of the particles: coordinates x, velocities v, and any other by its name.

f_i = x_i
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State

__all__ = ["Column", "column", "coordinates", "velocities"]

SYMBOLS = {"positions": "x", "velocities": "v"}


@dataclass(repr=False, eq=False)
class Column(StateFunction):
    """The value that each particle has in a column."""

    name: str = field(static=True)
    stored = True
    given = True

    def values_at(self, state: State) -> Any:
        values = state.column(self.name)
        if values is None:
            raise ContractError(
                f"{self.formula()} is not in the sample: it has no {self.name}.\n"
                f"Give them: Sample(positions, {self._argument()})."
            )
        values = values.astype(state.dtype)
        trailing = self.pdepth + len(state.points)
        if values.ndim - trailing == self.rank:
            values = jnp.expand_dims(values, self.rank)
        if values.shape[: values.ndim - trailing] != self.contract.components:
            raise ContractError(
                f"Column {self.name!r} was declared with the shape {self.contract.components} "
                f"per particle, but has {values.shape[: values.ndim - trailing]}."
            )
        return values

    def _argument(self) -> str:
        known = self.name == "velocities"
        return "velocities=..." if known else f'columns={{"{self.name}": ...}}'

    def formula(self) -> str:
        return SYMBOLS.get(self.name, self.name)


def coordinates(dim: int, *, pdepth: int = 1) -> Column:
    """The positions x (Å); ``pdepth=0`` for a state that is one point without particles."""
    return column("positions", rank=1, dim=dim, pdepth=pdepth)


def velocities(dim: int, *, pdepth: int = 1) -> Column:
    """The velocities v; ``pdepth=0`` for a state that is one point without particles."""
    return column("velocities", rank=1, dim=dim, pdepth=pdepth)


def column(
    name: str, *, rank: int = 0, dim: int | None = None, pdepth: int = 1, n_features: int = 1
) -> Column:
    """A column of the sample by name, with ``(dim,)*rank + (n_features,)`` numbers per particle.

    The axis of a single feature may be left out of the data.
    """
    if pdepth not in (0, 1):
        raise ContractError(f"A column has pdepth 1, or 0 without particles, not {pdepth}.")
    return Column(Contract(rank, dim, pdepth, n_features, pdepth == 1), (), name)
