"""`Need`: what a compiled program takes, in the compiler's own figures, and the program itself.

    need = arguments + outputs + temporaries − what outputs share with arguments
           + closed-over constants + what routines take beside (see ``scratch``)

A program is planned and run with the same options, so it is compiled here for both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from instar.core.utils.jax_compat import closed_over, planning_options
from instar.memory.scratch import scratch_bytes

__all__ = ["Compiled", "Need", "Programs", "abstract", "need_of"]


@dataclasses.dataclass(frozen=True)
class Need:
    """Bytes that one run of a program takes."""

    arguments: int = 0
    outputs: int = 0
    temporaries: int = 0
    shared: int = 0
    constants: int = 0
    scratch: int = 0

    @property
    def bytes(self) -> int:
        """All of it together."""
        return self.reported + self.constants + self.scratch

    @property
    def reported(self) -> int:
        """What the compiler reports: arguments + outputs + temporaries − shared."""
        return self.arguments + self.outputs + self.temporaries - self.shared


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A program for arguments of one shape, ready to be called, and what it takes."""

    call: Callable[..., Any]
    need: Need

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)


class Programs:
    """A function, compiled once for each shape of arguments; nothing is allocated for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._jitted = jax.jit(function, keep_unused=True)  # who calls holds them all the same
        self._compiled: dict[Any, Compiled] = {}

    def __len__(self) -> int:
        return len(self._compiled)

    def __call__(self, *arguments: Any) -> Compiled:
        """The program for arguments like these, which may be abstract."""
        shapes, key = _key(arguments)
        if key not in self._compiled:
            self._compiled[key] = self._compile(shapes)
        return self._compiled[key]

    def __contains__(self, arguments: tuple[Any, ...]) -> bool:
        return _key(arguments)[1] in self._compiled

    def need(self, *arguments: Any) -> Need:
        """What the program takes for arguments like these."""
        return self(*arguments).need

    def _compile(self, arguments: tuple[Any, ...]) -> Compiled:
        traced = self._jitted.trace(*arguments)
        constants = {id(c): _nbytes(c) for c in closed_over(traced.jaxpr)}
        platform = jax.default_backend()
        program = traced.lower().compile(compiler_options=planning_options(platform))
        need = need_of(program, sum(constants.values()))
        return Compiled(program, need)


def need_of(program: Any, constants: int = 0) -> Need:
    """What a program that JAX has compiled takes, beside constants that it closes over."""
    figures: Any = program.memory_analysis()
    on_host = jax.default_backend() == "cpu"
    return Need(
        arguments=figures.argument_size_in_bytes,
        outputs=figures.output_size_in_bytes,
        temporaries=figures.temp_size_in_bytes,
        shared=figures.alias_size_in_bytes,
        constants=constants,
        scratch=scratch_bytes(program.as_text() or "") if on_host else 0,
    )


def _nbytes(constant: Any) -> int:
    return int(np.size(constant)) * int(constant.dtype.itemsize)


def _key(arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """Arguments as abstract arrays, and what tells them from others."""
    shapes = abstract(arguments)
    leaves, structure = jax.tree.flatten(shapes)
    return shapes, (structure, tuple((a.shape, a.dtype, a.weak_type) for a in leaves))


def abstract(tree: Any) -> Any:
    """The shapes and dtypes of a tree of arrays, as JAX's abstract arrays."""
    return jax.tree.map(_abstract_leaf, tree)


def _abstract_leaf(leaf: Any) -> jax.ShapeDtypeStruct:
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    known = jax.typeof(leaf)
    weak = bool(getattr(known, "weak_type", False))
    return jax.ShapeDtypeStruct(known.shape, known.dtype, weak_type=weak)
