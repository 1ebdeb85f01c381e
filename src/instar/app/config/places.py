"""What pydantic finds wrong with a configuration, at the places that a user knows."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from instar.app.config.schema import config_model
from instar.app.config.text import Place
from instar.app.config.words import known_place, told, value_at

__all__ = ["problem_of"]


def problem_of(problem: Any, data: dict[str, Any]) -> tuple[Place, str]:
    """A mistake in a configuration: its place, and what it is."""
    place = _place(problem["loc"])
    if problem["type"] != "missing":
        place = known_place(data, place)
    return place, told(problem, value_at(data, place), lambda: _keys(problem["loc"]))


_EITHER = ("number", "ramp", "one", "stages")
"""What a temperature, a pressure or a run is, as pydantic names it."""


def _place(loc: Sequence[Any]) -> Place:
    """Without the tags that say which kind of structure, condition or run it is."""
    return tuple(
        part
        for n, part in enumerate(loc)
        if not (n and loc[n - 1] == "structure" and n < len(loc) - 1)
        or part not in ("lattice", "file", "random")
        if not (n and loc[n - 1] in ("temperature", "pressure", "run") and part in _EITHER)
    )


def _keys(loc: Sequence[Any]) -> list[str]:
    """The keys that are known where the last part of a place stands."""
    models: list[Any] = [config_model()]
    for part in loc[:-1]:
        if isinstance(part, int) or part in _EITHER:
            continue
        inside = [
            model
            for parent in models
            if part in parent.model_fields
            for model in _models(parent.model_fields[part].annotation)
        ]
        models = inside or [model for model in models if part in model.model_fields]
    fields = {name: one for model in models for name, one in model.model_fields.items()}
    return sorted({one.alias or name for name, one in fields.items()})


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models(part)]
