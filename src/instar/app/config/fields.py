"""Declarations as models: what was declared beside an equation, as pydantic validates it."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, create_model

from instar.app.config.base import Strict
from instar.app.config.units import parse_unit, quantity
from instar.core.utils.declaration import Option, options_of

__all__ = ["field_of", "fields_of", "instance_of", "model_of", "whole"]


def whole(value: Any) -> Any:
    """Numbers such as 1e6, which YAML takes for text."""
    if isinstance(value, bool):
        raise ValueError("true and false are not numbers")
    if isinstance(value, str | float):
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if number.is_integer() else value
    return value


def model_of(cls: type[Any], name: str | None = None) -> type[BaseModel]:
    """A model with the options of a dataclass; with a ``name``, also the key ``type``."""
    named: dict[str, Any] = {} if name is None else {"type": (Literal[name], ...)}
    about = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    fields: dict[str, Any] = named | fields_of(options_of(cls))
    return create_model(cls.__name__, __base__=Strict, __doc__=about, **fields)


def instance_of(cls: type[Any], name: str | None = None) -> Any:
    """The annotation of a field that is given as a mapping and becomes an object of the class."""
    names = tuple(options_of(cls))

    def made(model: BaseModel) -> Any:
        return cls(**{key: getattr(model, key) for key in names})

    return Annotated[model_of(cls, name), AfterValidator(made)]


def fields_of(options: Mapping[str, Option]) -> dict[str, tuple[Any, Any]]:
    """Fields of a model, by name."""
    return {name: field_of(known) for name, known in options.items()}


def field_of(known: Option) -> tuple[Any, Any]:
    """The annotation and the default of an option."""
    kind = _annotation(known.kind or float, known)
    if known.check is not None:
        kind = Annotated[kind, AfterValidator(known.check)]
    if known.convert is not None:
        kind = Annotated[kind, BeforeValidator(known.convert)]
    about: dict[str, Any] = {"description": _described(known)}
    if known.example is not None:
        about["examples"] = [known.example]
    if known.is_required:
        return kind, Field(**about)
    return kind, Field(default=known.default, validate_default=True, **about)


def _described(known: Option) -> str:
    return f"{known.help} ({known.unit})" if known.unit else known.help


def _annotation(kind: Any, known: Option) -> Any:
    """A type with units, bounds and models where they belong."""
    if kind is float:
        dimension = parse_unit(known.unit)[1] if known.unit else (0, 0, 0, 0, 0, 0)
        convert = BeforeValidator(lambda value: quantity(value, dimension, known.unit or None))
        return Annotated[float, convert, *_bounds(known)]
    if kind is int:
        return Annotated[int, BeforeValidator(whole), *_bounds(known)]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return instance_of(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (None, Literal, Annotated):
        return kind
    parts = tuple(p if p is ... else _annotation(p, known) for p in inner)
    return Union[parts] if origin in (Union, types.UnionType) else origin[parts]  # noqa: UP007


def _bounds(known: Option) -> list[Any]:
    limits = {"gt": known.above, "ge": known.least, "lt": known.below, "le": known.most}
    given: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    return [Field(**given)] if given else []
