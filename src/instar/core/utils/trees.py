"""Functions over whole pytrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypedDict, cast, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.shapes import Bool
from instar.core.utils.transforms import is_traced

__all__ = [
    "DROP",
    "HasScatterArgs",
    "PyTreeDef",
    "ScatterArgs",
    "SupportsConcat",
    "SupportsTake",
    "SupportsTreeMatch",
    "concatenate_rows",
    "from_host",
    "is_host_like",
    "kahan_summation",
    "rows_beside",
    "take_rows",
    "tree_concat",
    "tree_map",
    "tree_scatter_set",
    "tree_stack",
    "tree_structure",
    "tree_take",
    "tree_where_broadcast_last",
    "tree_zeros_like",
    "zero_rows",
    "zero_where",
]

type IsLeaf = Callable[[Any], bool]


@runtime_checkable
class PyTreeDef[T](Protocol):
    """The structure of a pytree of type ``T``: everything but its leaves."""

    @property
    def num_leaves(self) -> int:
        """How many leaves a tree of this structure has."""
        ...

    def unflatten(self, leaves: Iterable[Any], /) -> T:
        """The tree of this structure with these leaves."""
        ...

    def flatten_up_to(self, tree: Any, /) -> list[Any]:
        """The parts of ``tree`` that stand where this structure has leaves."""
        ...


class ScatterArgs(TypedDict, total=False):
    """Options of ``x.at[...].set``."""

    mode: Any
    indices_are_sorted: bool
    unique_indices: bool
    wrap_negative_indices: bool


# Out of bounds is dropped, and so is what is negative.
DROP: ScatterArgs = {"mode": "drop", "wrap_negative_indices": False}


@runtime_checkable
class SupportsTreeMatch(Protocol):
    """A node that must be aligned with its partners before leaves can be paired."""

    def __tree_match__(self, *others: Any) -> tuple[Any, ...]:
        """This node and the others, all brought to one structure."""
        ...


@runtime_checkable
class SupportsTake(Protocol):
    """A node that reads rows its own way, such as one with a fill value other than zero."""

    def __tree_take__(self, idxs: Any) -> Any:
        """The node's rows at ``idxs``."""
        ...


@runtime_checkable
class SupportsConcat(Protocol):
    """A node that is joined with others its own way."""

    def __tree_concat__(self, *others: Any) -> Any:
        """The node with the others behind it."""
        ...


@runtime_checkable
class HasScatterArgs(Protocol):
    """A node that says how rows are written into it."""

    @property
    def scatter_args(self) -> ScatterArgs:
        """Options that its leaves are scattered with unless the caller says otherwise."""
        ...


def tree_map(fn: Callable[..., Any], tree: Any, *trees: Any, is_leaf: IsLeaf | None = None) -> Any:
    """:func:`jax.tree.map`, with nodes that have ``__tree_match__`` aligned first.

    An aligned node is then recursed into, or handed whole to ``fn`` where ``is_leaf`` flags it.
    """

    def is_flagged(node: Any) -> bool:
        return is_leaf is not None and is_leaf(node)

    def visit(node: Any, *others: Any) -> Any:
        if not isinstance(node, SupportsTreeMatch):
            return fn(node, *others)
        aligned = node.__tree_match__(*others)
        return fn(*aligned) if is_flagged(aligned[0]) else descend(*aligned)

    def descend(top: Any, *others: Any) -> Any:
        def stop(node: Any) -> bool:
            return node is not top and (isinstance(node, SupportsTreeMatch) or is_flagged(node))

        return jax.tree.map(visit, top, *others, is_leaf=stop)

    if isinstance(tree, SupportsTreeMatch) or is_flagged(tree):
        return visit(tree, *trees)
    return descend(tree, *trees)


def tree_scatter_set(item: Any, value: Any, idxs: Any, args: ScatterArgs) -> Any:
    """``x.at[idxs].set(v, **args)`` on every leaf.

    Nodes with ``scatter_args`` add theirs before they are recursed into; ``args`` wins.
    """
    if isinstance(item, SupportsTreeMatch):
        item, value = item.__tree_match__(value)
    if isinstance(item, HasScatterArgs):
        args = cast(ScatterArgs, {**item.scatter_args, **args})
    if jax.tree_util.all_leaves([item]):
        return jnp.asarray(item).at[idxs].set(value, **args)

    def stop(node: Any) -> bool:
        return node is not item and isinstance(node, SupportsTreeMatch | HasScatterArgs)

    return jax.tree.map(lambda x, v: tree_scatter_set(x, v, idxs, args), item, value, is_leaf=stop)


def tree_take(tree: Any, idxs: Any) -> Any:
    """Rows ``idxs`` of every leaf; a fill row (zero, ``False``) where one is out of bounds.

    Negative numbers are out of bounds too. Nodes with ``__tree_take__`` read their own rows.
    """

    def visit(node: Any) -> Any:
        if isinstance(node, SupportsTake):
            return node.__tree_take__(idxs)
        return take_rows(jnp.asarray(node), idxs)

    return jax.tree.map(visit, tree, is_leaf=lambda node: isinstance(node, SupportsTake))


def take_rows(leaf: Array, idxs: Any, fill: Any = 0) -> Array:
    """Rows ``idxs`` of one array; ``fill`` where one is negative or too large."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        data = take_rows(jax.random.key_data(leaf), idxs)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(leaf))
    if leaf.shape[0] == 0:  # a gather needs a row to read, even if it does not use it
        return jnp.full(jnp.shape(idxs) + leaf.shape[1:], fill, leaf.dtype)
    if leaf.shape[0] == 1:
        choose = _only_row if jnp.issubdtype(leaf.dtype, jnp.inexact) else _row_or_fill
        return choose(leaf, jnp.asarray(idxs), jnp.asarray(fill, leaf.dtype))
    return _gathered(leaf, idxs, fill)


def _gathered(leaf: Array, idxs: Any, fill: Any) -> Array:
    return leaf.at[idxs].get(mode="fill", fill_value=fill, wrap_negative_indices=False)


def _row_or_fill(leaf: Array, idxs: Array, fill: Array) -> Array:
    """The one row, or ``fill``: a choice, which costs next to nothing where a gather does."""
    here = (idxs == 0).reshape(idxs.shape + (1,) * (leaf.ndim - 1))
    row = leaf.reshape((1,) * idxs.ndim + leaf.shape[1:])
    return jnp.where(here, row, fill)


_only_row = jax.custom_jvp(_row_or_fill)


@_only_row.defjvp
def _slope_of_only_row(primals: Any, tangents: Any) -> tuple[Array, Array]:
    # As a gather: going backward its entries are added up in an order that room does not change.
    leaf, idxs, fill = primals
    return _only_row(leaf, idxs, fill), _gathered(tangents[0], idxs, 0)


def rows_beside(leaf: Array, idxs: Array) -> Array:
    """`take_rows`, where what stands beside an entry out of bounds means nothing.

    One row is repeated without a look at the entries: a loop over rows has that for nothing, while
    a choice in each of them costs five percent of a step of molecular dynamics.
    """
    if leaf.shape[0] == 1 and jnp.issubdtype(leaf.dtype, jnp.inexact):
        return _repeated(leaf, idxs)
    return take_rows(leaf, idxs)


@jax.custom_jvp
def _repeated(leaf: Array, idxs: Array) -> Array:
    row = leaf.reshape((1,) * idxs.ndim + leaf.shape[1:])
    return jnp.broadcast_to(row, idxs.shape + leaf.shape[1:])


@_repeated.defjvp
def _slope_of_repeated(primals: Any, tangents: Any) -> tuple[Array, Array]:
    leaf, idxs = primals
    return _repeated(leaf, idxs), _gathered(tangents[0], idxs, 0)


def zero_rows(leaf: Any, rows: int) -> Any:
    """``rows`` rows of zeros like those of ``leaf``, on the host where its type allows."""
    shape = (rows, *leaf.shape[1:])
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(leaf)
        zeros = jnp.zeros((rows, *data.shape[1:]), data.dtype)
        return jax.random.wrap_key_data(zeros, impl=jax.random.key_impl(leaf))
    return np.zeros(shape, leaf.dtype)


def zero_where(mask: Bool[Array, "..."], leaf: Array) -> Array:
    """The leaf with zeros where ``mask`` holds; ``mask`` names its leading dimensions."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    zeros = zero_rows(leaf[None], 1)[0] if is_key else jnp.zeros_like(leaf)
    return tree_where_broadcast_last(mask, zeros, leaf)


def tree_where_broadcast_last[T](accept: Any, tree1: T, tree2: T) -> T:
    """``tree1`` where ``accept``, else ``tree2``; ``accept`` names the leading dimensions."""

    accept = jnp.asarray(accept)

    def choose(x: Any, y: Any) -> Array:
        trailing = (1,) * (jnp.ndim(x) - accept.ndim)
        return jnp.where(accept.reshape(accept.shape + trailing), x, y)

    return tree_map(choose, tree1, tree2)


def tree_concat[T](*trees: T) -> T:
    """Trees joined along the leading axis of every leaf."""

    def join(node: Any, *others: Any) -> Any:
        if isinstance(node, SupportsConcat):
            return node.__tree_concat__(*others)
        return concatenate_rows((node, *others))

    return jax.tree.map(join, *trees, is_leaf=lambda node: isinstance(node, SupportsConcat))


def concatenate_rows(leaves: Iterable[Any]) -> Array:
    """Arrays joined along the leading axis.

    Concrete arrays that nobody has placed are joined on the host: setting up a thousand
    systems of different size then compiles nothing.
    """
    leaves = tuple(leaves)
    if all(is_host_like(leaf) for leaf in leaves) and len({leaf.dtype for leaf in leaves}) == 1:
        return from_host(np.concatenate([np.asarray(leaf) for leaf in leaves]))
    return jnp.concatenate(leaves)


def from_host(array: np.ndarray) -> Array:
    """A host array on the device, in one copy (``jnp.asarray`` makes two) and uncompiled."""
    return jax.device_put(array)


def is_host_like(leaf: Any) -> bool:
    """Whether an array is concrete and nobody has placed it, so that NumPy may work on it."""
    if isinstance(leaf, np.ndarray):
        return True
    return (
        isinstance(leaf, jax.Array)
        and not is_traced(leaf)
        and not leaf.committed
        and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    )


def tree_stack[T](*trees: T) -> T:
    """Trees stacked into a new leading axis of every leaf."""
    return tree_map(lambda *leaves: jnp.stack(leaves), *trees)


def tree_zeros_like[T](tree: T) -> T:
    """A tree of the same structure, shapes and dtypes, filled with zeros."""
    return jax.tree.map(jnp.zeros_like, tree)


def tree_structure[T](x: T, is_leaf: IsLeaf | None = None) -> PyTreeDef[T]:
    """The structure of a tree."""
    return cast(PyTreeDef[T], jax.tree.structure(x, is_leaf=is_leaf))


def _rounding(total: Array, before: Array, added: Array) -> Array:
    """What adding lost; nothing once the sum is infinite (∞ − ∞ would spoil it)."""
    lost = (total - before) - added
    return jnp.where(jnp.isfinite(total), lost, jnp.zeros_like(lost))


def kahan_summation[T](*summands: T, compensate: T | None = None) -> tuple[T, T]:
    """Compensated sum of pytrees: ``(sum, compensation)``, true sum ≈ sum − compensation.

    Pass the compensation on to the next call to carry what rounding lost:

        y = x − c,   t = s + y,   c = (t − s) − y,   s = t
    """
    if not summands:
        raise ValueError("kahan_summation needs at least one summand.")
    total, *rest = summands
    lost = tree_zeros_like(total) if compensate is None else compensate
    for summand in rest:
        corrected = jax.tree.map(jnp.subtract, summand, lost)
        new_total = jax.tree.map(jnp.add, total, corrected)
        lost = jax.tree.map(_rounding, new_total, total, corrected)
        total = new_total
    return total, lost
