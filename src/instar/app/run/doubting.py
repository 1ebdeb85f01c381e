"""What is asked of a state that was read from a file, before a run goes on with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from instar.core.data import Index, Table
from instar.dynamics import DynamicState
from instar.neighbors import NeighborList
from instar.storage import CheckpointError

__all__ = ["check_finite", "check_kept", "check_sizes"]

_GROWTH = 64
"""Times that room may have grown, where no array says how much there is."""

_MAY_CHANGE = ("frozen", "frozen_at", "suspect", "steps", "evaluations", "outcome")
"""Columns of tables, of whole numbers or switches, that steps change."""


def check_sizes(
    fresh: Mapping[str, int], asked: Mapping[str, int], arrays: Mapping[str, np.ndarray]
) -> None:
    """Refuse room that no array of the checkpoint could need, before any is made."""
    held = sum(array.size for array in arrays.values())
    for name, room in asked.items():
        if not 0 <= room <= max(_GROWTH * fresh[name], held):
            raise CheckpointError(
                f"The checkpoint is damaged: it asks for room for {room} {name}, and its arrays "
                f"hold {held} numbers."
            )


def check_kept(fresh: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    """Columns that no step changes are those of the run; lists of neighbors point at rows."""
    leaves = zip(_flat(fresh), _flat(kept), strict=True)
    for (path, before), (_, now) in leaves:
        name = jax.tree_util.keystr(path)
        if isinstance(now, NeighborList):
            if (column := now.out_of_bounds()) is not None:
                raise CheckpointError(
                    f"The checkpoint is damaged: {name}.{column} points at rows that do not exist."
                )
            if not np.array_equal(before.system, now.system):
                raise CheckpointError(f"The checkpoint is that of another system: {name}.system.")
        elif _is_constant(name, before) and not _equal(before, now):
            raise CheckpointError(f"The checkpoint is that of another system: {name} differs.")


def _flat(kept: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    whole = (NeighborList, Index)
    return jax.tree_util.tree_flatten_with_path(kept, is_leaf=lambda one: isinstance(one, whole))[0]


def _is_constant(name: str, leaf: Any) -> bool:
    """Keys; and whole numbers and switches of a table, but what says what became of a row."""
    if isinstance(leaf, Index):
        return True
    if not name.startswith(("['particles']", "['systems']")) or name.endswith(_MAY_CHANGE):
        return False
    return np.asarray(leaf).dtype.kind in "iub"


def _equal(one: Any, other: Any) -> bool:
    one, other = (x.indices if isinstance(x, Index) else x for x in (one, other))
    return np.array_equal(np.asarray(one), np.asarray(other))


def check_finite(state: DynamicState) -> None:
    """Refuse numbers that are not finite, where a system has not been frozen for them."""
    frozen = np.asarray(state.systems.data.frozen)
    for table, columns in state.vital().items():
        rows = getattr(state, table)
        going = ~frozen if table == "systems" else _going(rows, frozen)
        for column in jax.tree.leaves(columns):
            values = np.asarray(column)
            bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1) & going
            if bad.any():
                raise CheckpointError(
                    f"The checkpoint is damaged: row {int(np.argmax(bad))} of {table} has numbers "
                    "that are not finite."
                )


def _going(rows: Table[Any, Any], frozen: np.ndarray) -> np.ndarray:
    """Rows of systems that go on."""
    system = np.asarray(rows.data.system.indices)
    there = (system >= 0) & (system < len(frozen))
    return there & ~frozen[np.where(there, system, 0)]
