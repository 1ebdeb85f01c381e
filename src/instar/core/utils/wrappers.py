"""JAX's own wrappers of functions, with every option written out.

A type checker keeps the signature of what is wrapped. What the caller left at its default is not
passed on, so that an option which the installed JAX no longer has costs nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from typing import Any, Protocol, overload, runtime_checkable

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, Mesh

from instar.core.utils.jax_compat import UNSPECIFIED, options_for

__all__ = ["Jitted", "jit", "shard_map", "vectorize"]


@runtime_checkable
class Jitted[**P, R](Protocol):
    """A compiled function: call it, or look at how it is traced and lowered."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Lower for these arguments without running; ``.compile()`` on the result compiles."""
        ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Trace for these arguments; ``.jaxpr`` of the result is the program."""
        ...

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Shapes and dtypes of the result, without computing it."""
        ...

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        ...


@runtime_checkable
class _Decorator(Protocol):
    """A decorator that keeps the signature."""

    def __call__[**P, R](self, fn: Callable[P, R], /) -> Callable[P, R]: ...


@runtime_checkable
class _JitDecorator(Protocol):
    def __call__[**P, R](self, fn: Callable[P, R], /) -> Jitted[P, R]: ...


@overload
def jit[**P, R](
    fn: Callable[P, R],
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: Any = False,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Jitted[P, R]: ...


@overload
def jit(
    fn: None = None,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: Any = False,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> _JitDecorator: ...


def jit(  # noqa: PLR0913 (the options of jax.jit)
    fn: Any = None,
    *,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: Any = False,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function with :func:`jax.jit`: ``@jit`` or ``@jit(static_argnames="n")``.

    Parameters
    ----------
    fn
        The function; without it a decorator is returned.
    in_shardings, out_shardings
        How arguments and results are laid out over devices; by default as they come.
    static_argnums, static_argnames
        Arguments that are constants of the program, by place or by name.
    donate_argnums, donate_argnames
        Arguments whose memory the results may take over, by place or by name.
    keep_unused
        Whether arguments that the function does not use stay arguments of the program.
    device, backend
        Where to run: one device, or a platform such as ``"cpu"``. JAX deprecates both, and
        :func:`jax.device_put` of the arguments does the same.
    inline
        Whether the function becomes part of the programs that call it.
    abstracted_axes
        Of older releases of JAX, for axes of unknown length; newer ones accept its default alone.
    compiler_options
        Options of XLA for this function alone.

    Returns
    -------
    Jitted
        The compiled function, with the name and the signature of ``fn``.

    Raises
    ------
    TypeError
        If an option is given that the installed JAX does not have.

    Examples
    --------
    >>> @jit(static_argnames="n")
    ... def repeated(x, n):
    ...     return jnp.tile(x, n)
    >>> repeated(jnp.ones(2), n=3).shape
    (6,)
    """
    given = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "device": device,
        "backend": backend,
        "inline": inline,
        "abstracted_axes": abstracted_axes,
        "compiler_options": compiler_options,
    }
    compiled = functools.partial(jax.jit, **options_for(jax.jit, jit, given))
    return compiled if fn is None else compiled(fn)


@overload
def vectorize[**P, R](
    pyfunc: Callable[P, R],
    *,
    excluded: Iterable[int | str] = ...,
    signature: str | None = None,
) -> Callable[P, R]: ...


@overload
def vectorize(
    pyfunc: None = None,
    *,
    excluded: Iterable[int | str] = ...,
    signature: str | None = None,
) -> _Decorator: ...


def vectorize(
    pyfunc: Any = None,
    *,
    excluded: Iterable[int | str] = frozenset(),
    signature: str | None = None,
) -> Any:
    """Broadcast a function over leading dimensions with :func:`jax.numpy.vectorize`.

    Parameters
    ----------
    pyfunc
        The function of arrays; without it a decorator is returned.
    excluded
        Arguments that are passed as they are, by place or by name.
    signature
        The dimensions that the function itself takes, such as ``"(n),(n)->()"``; by default
        it takes and returns scalars.

    Returns
    -------
    Callable
        The function for arrays with any leading dimensions.

    Examples
    --------
    >>> @vectorize(signature="(n)->()")
    ... def squared_norm(x):
    ...     return x @ x
    >>> squared_norm(jnp.ones((4, 3))).shape
    (4,)
    """
    names = frozenset([excluded] if isinstance(excluded, str) else excluded)
    given = {"excluded": names, "signature": signature}
    mapped = functools.partial(jnp.vectorize, **options_for(jnp.vectorize, vectorize, given))
    return mapped if pyfunc is None else mapped(pyfunc)


def shard_map[**P, R](
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Callable[P, R]:
    """Run a function on every device's shard of its arguments with :func:`jax.shard_map`.

    Parameters
    ----------
    f
        The function of one shard; as a decorator use ``functools.partial(shard_map, ...)``.
    out_specs
        How the results of the shards are put together, as a tree of partition specs.
    in_specs
        How the arguments are split, as a tree of partition specs; by default as they are split
        already, which needs a mesh whose axes are explicit.
    mesh
        The devices; by default those of :func:`jax.set_mesh`.
    axis_names
        The axes of the mesh to split over; by default all.
    check_vma
        Whether JAX checks that results are equal along the axes that ``out_specs`` leaves out.

    Returns
    -------
    Callable
        The function of whole arrays; its arguments are passed by place.

    Examples
    --------
    >>> from jax.sharding import AxisType, PartitionSpec
    >>> mesh = jax.make_mesh((1,), ("rows",), axis_types=(AxisType.Auto,))
    >>> rows = PartitionSpec("rows")
    >>> doubled = shard_map(lambda x: 2 * x, out_specs=rows, in_specs=rows, mesh=mesh)
    >>> doubled(jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    given = {
        "out_specs": out_specs,
        "in_specs": in_specs,
        "mesh": mesh,
        "axis_names": axis_names,
        "check_vma": check_vma,
    }
    return jax.shard_map(f, **options_for(jax.shard_map, shard_map, given))
