"""``method:`` of a configuration: a union with one member per kind of method."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Union

from pydantic import Field

from instar.app.config.methods import md
from instar.app.config.methods.base import Method

__all__ = ["Method", "inherited", "method_model"]

_KINDS = (md.model,)
"""What makes the model of each kind, with the keys of all that is declared for it."""


def method_model() -> Any:
    """The annotation of ``method:``; the models are told apart by their ``type``."""
    return _union(tuple(make() for make in _KINDS))


@functools.lru_cache(1)
def _union(models: tuple[type[Method], ...]) -> Any:
    if len(models) == 1:
        return models[0]
    union: Any = Union[models]  # noqa: UP007 (built here)
    return Annotated[union, Field(discriminator="type")]


def inherited(top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a stage says about its method, and what it leaves to the method on top."""
    if own.get("type", top.get("type")) != top.get("type"):
        return dict(own)
    return md.inherited(top, own) if top.get("type") == "md" else {**top, **own}
