"""A potential that was given as an object: what a folder records of it, to know it again."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from instar.potentials import Potential

__all__ = ["is_record", "record_of"]


def record_of(potential: Potential) -> dict[str, str]:
    """The class of a potential, and a digest of its arrays and of all else that it is made of.

    Functions count by their name, their code and what they hold; objects that are neither arrays,
    numbers, text, functions nor dataclasses by their class alone.
    """
    digest = hashlib.sha256()
    for part in _parts(potential):
        digest.update(part)
    return {"object": _name(type(potential)), "digest": digest.hexdigest()}


def is_record(entry: Any) -> bool:
    """Whether an entry of a configuration is what `record_of` returned."""
    if not isinstance(entry, Mapping) or set(entry) != {"object", "digest"}:
        return False
    return all(isinstance(value, str) for value in entry.values())


def _parts(value: Any) -> Iterator[bytes]:
    """What tells a value from others, piece by piece; each begins with what it is."""
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        yield f"array {array.dtype} {array.shape} ".encode() + array.tobytes()
    elif isinstance(value, bool | int | float | complex | str | bytes | None):
        yield f"{type(value).__name__} {value!r} ".encode()
    elif isinstance(value, type):
        yield f"class {_name(value)} ".encode()
    else:
        yield f"{_name(type(value))} ".encode()
        for name, inside in _inside(value):
            yield f"{name}: ".encode()
            yield from _parts(inside)


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a value by name."""
    if dataclasses.is_dataclass(value):
        yield from ((f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value))
    elif isinstance(value, Mapping):
        yield from sorted(value.items(), key=lambda item: str(item[0]))
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, set | frozenset):
        yield from enumerate(sorted(value, key=str))
    elif isinstance(value, functools.partial):
        yield from (("func", value.func), ("args", value.args), ("keywords", value.keywords))
    elif isinstance(value, types.MethodType):
        yield from (("self", value.__self__), ("func", value.__func__))
    elif isinstance(value, types.FunctionType):
        yield from (("name", _name(value)), ("code", value.__code__))
        yield from (("defaults", value.__defaults__), ("keywords", value.__kwdefaults__))
        yield from enumerate(cell.cell_contents for cell in value.__closure__ or ())
    elif isinstance(value, types.CodeType):
        yield from (("code", value.co_code), ("constants", value.co_consts))
        yield ("names", value.co_names)
    elif hasattr(value, "__wrapped__"):  # what decorators such as jit make of a function
        yield ("wrapped", value.__wrapped__)


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
