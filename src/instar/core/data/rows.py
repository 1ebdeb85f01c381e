"""What all rows of a table have in common: the leading dimension of every leaf."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.data.index import Index

__all__ = ["broadcast_rows", "check_new_rows", "check_rows", "is_index", "row_count"]


def is_index(node: Any) -> bool:
    """Whether a node is a whole column of keys (for ``is_leaf``)."""
    return isinstance(node, Index)


def _leading_sizes(data: Any) -> list[tuple[str, int | None]]:
    """Path and leading size of every leaf; ``None`` where it has no leading dimension."""
    leaves = jax.tree_util.tree_leaves_with_path(data)
    return [
        (jax.tree_util.keystr(path), shape[0] if (shape := getattr(leaf, "shape", ())) else None)
        for path, leaf in leaves
    ]


def row_count(data: Any) -> int:
    """The number of rows of some data: its largest leading dimension."""
    sizes = [size for _, size in _leading_sizes(data) if size is not None]
    if not sizes:
        raise ValueError(
            "The data has no leaf with a leading dimension, so it does not tell its number of rows."
        )
    return max(sizes, key=lambda size: (size != 1, size))


def broadcast_rows(data: Any, rows: int) -> Any:
    """The data with leaves of one row repeated to ``rows``."""
    if rows == 1 or all(size != 1 for _, size in _leading_sizes(data)):
        return data

    def repeat(node: Any) -> Any:
        if isinstance(node, Index):
            if node.shape[:1] != (1,):
                return node
            return node[jnp.zeros(rows, jnp.int32)]
        if getattr(node, "shape", ())[:1] != (1,):
            return node
        return jnp.broadcast_to(node, (rows, *node.shape[1:]))

    return jax.tree.map(repeat, data, is_leaf=is_index)


def check_rows(data: Any, rows: int) -> None:
    """Raise unless every leaf has ``rows`` rows, naming the leaf and both sizes."""
    for path, size in _leading_sizes(data):
        if size != rows:
            found = "no leading dimension" if size is None else f"leading size {size}"
            raise ValueError(
                f"Leaf data{path} has {found}, but the table has {rows} keys.\n"
                "Every leaf needs one row per key, or a single row for all."
            )
    for column in jax.tree.leaves(data, is_leaf=is_index):
        if is_index(column) and column.max_count is not None and _is_array(column.indices):
            column.__post_init__()


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def check_new_rows(data: Any, rows: Any, shape: tuple[int, ...]) -> None:
    """Raise unless ``rows`` can be written into ``data`` at an index of this shape."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(data, is_leaf=is_index)
    try:
        new = structure.flatten_up_to(rows)
    except ValueError as error:
        raise ValueError(
            f"The new rows have another structure than the data of the table: {error}"
        ) from error
    for (path, leaf), value in zip(leaves, new, strict=True):
        needed, found = (*shape, *leaf.shape[1:]), jnp.shape(getattr(value, "indices", value))
        if not _broadcasts(found, needed):
            raise ValueError(
                f"New rows for data{jax.tree_util.keystr(path)} have shape {found}, but {needed} "
                "is needed.\nThe index names that many rows."
            )


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False
