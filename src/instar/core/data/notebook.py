"""How tables and indices look in a notebook: their first rows."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from instar.core.data.vocabulary import SHOWN
from instar.core.utils.html_text import html_table
from instar.core.utils.transforms import is_traced

__all__ = ["index_html", "table_html"]


def table_html(table: Any) -> str:
    """The first rows of a table, one column per leaf; no values where it is traced."""
    leaves = jax.tree_util.tree_flatten_with_path(table.data, is_leaf=_is_index)[0]
    heads = [jax.tree_util.keystr(path).lstrip(".") or "data" for path, _ in leaves]
    count = len(table.vocabulary)
    keys = [table.vocabulary[row] for row in range(min(count, SHOWN))]
    caption = f"{type(table).__name__} of {count} rows, by {table.cls.__name__}"
    rows = _rows(keys, [_entries(leaf, len(keys)) for _, leaf in leaves])
    return html_table(_more(caption, len(keys), count), ["key", *heads], rows)


def index_html(index: Any) -> str:
    """The first entries of an index: the keys that they name."""
    shape = tuple(getattr(index.indices, "shape", ()))
    count = shape[0] if shape else 0
    shown = range(min(count, SHOWN))
    caption = f"Index {shape} into {len(index.vocabulary)} keys, {index.cls.__name__}"
    rows = _rows(shown, [_entries(index, len(shown))])
    return html_table(_more(caption, len(shown), count), ["entry", "key"], rows)


def _rows(keys: Any, columns: list[list[str]]) -> list[list[Any]]:
    return [[key, *(column[row] for column in columns)] for row, key in enumerate(keys)]


def _more(caption: str, shown: int, count: int) -> str:
    return caption if shown == count else f"{caption}; the first {shown}"


def _is_index(node: Any) -> bool:
    return hasattr(node, "vocabulary") and hasattr(node, "indices")


def _entries(leaf: Any, rows: int) -> list[str]:
    """The first rows of a column as text."""
    if is_traced(leaf):
        return ["traced"] * rows
    if _is_index(leaf):
        size = len(leaf.vocabulary)
        named = [leaf.vocabulary[i] if 0 <= i < size else "OOB" for i in _first(leaf.indices, rows)]
        return [str(name) for name in named]
    return [np.array2string(row, precision=4, threshold=9) for row in np.asarray(leaf[:rows])]


def _first(indices: Any, rows: int) -> list[int]:
    return np.asarray(indices[:rows]).reshape(rows, -1)[:, 0].tolist() if rows else []
