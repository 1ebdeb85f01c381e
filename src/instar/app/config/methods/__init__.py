"""``method:`` of a configuration: a union with one member per kind of method, one per file."""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Union

from pydantic import Field

from instar.app.config.methods.base import Method
from instar.app.config.registry import import_all

__all__ = ["Method", "inherited", "method_model"]


@functools.cache
def _kinds() -> dict[str, type[Method]]:
    """The models of this folder by their ``type``: a new file is found automatically."""
    import_all(__name__)
    found = {_type_of(model): model for model in Method.__subclasses__()}
    return dict(sorted(found.items()))


def _type_of(model: type[Method]) -> str:
    (known,) = typing.get_args(model.model_fields["type"].annotation)
    return known


def method_model() -> Any:
    """The annotation of ``method:``; the models are told apart by their ``type``."""
    return _union(tuple(kind.model() for kind in _kinds().values()))


@functools.lru_cache(1)
def _union(models: tuple[type[Method], ...]) -> Any:
    if len(models) == 1:
        return models[0]
    union: Any = Union[models]  # noqa: UP007 (built here)
    return Annotated[union, Field(discriminator="type")]


def inherited(top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a stage says about its method, and what it leaves to the method on top."""
    given = top.get("type")
    if own.get("type", given) != given:
        return dict(own)
    kind = next((kind for name, kind in _kinds().items() if name == given), Method)
    return kind.inherited(top, own)
