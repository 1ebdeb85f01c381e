"""What all rows of a table have in common: the leading dimension of every leaf."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from instar.core.data.index import Index

__all__ = ["broadcast_rows", "check_rows", "row_count"]


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

    return jax.tree.map(repeat, data, is_leaf=lambda node: isinstance(node, Index))


def check_rows(data: Any, rows: int) -> None:
    """Raise unless every leaf has ``rows`` rows, naming the leaf and both sizes."""
    for path, size in _leading_sizes(data):
        if size != rows:
            found = "no leading dimension" if size is None else f"leading size {size}"
            raise ValueError(
                f"Leaf data{path} has {found}, but the table has {rows} keys.\n"
                "Every leaf needs one row per key, or a single row for all."
            )
