"""What pydantic finds wrong, at the places that a user knows."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Tag

from instar.app.config.text import Place
from instar.app.config.words import known_place, told

__all__ = ["problem_of"]


def problem_of(problem: Any, data: Any, kind: Any) -> tuple[Place, str]:
    """A mistake in data that were to be of some ``kind`` (a model, or an annotation).

    Returns its place, what it is, and the nearest name that would have been right.
    """
    place, parent, here = _followed(kind, problem["loc"])
    if problem["type"] != "missing":
        place = known_place(data, place)
    tags = [tag for member in _members(here) for tag in _tags(member)]
    return place, told(problem, lambda: _keys(parent), tags)


def _followed(kind: Any, loc: Sequence[Any]) -> tuple[Place, Any, Any]:
    """A place without the names of alternatives, the kind that its last part is in, and its own."""
    place: list[Any] = []
    parent = here = kind
    for part in loc:
        members = _members(here)
        if len(members) > 1:  # pydantic names the alternative that was tried
            here = next((one for one in members if part in _tags(one)), Any)
        elif part != "[key]":
            place.append(part)
            parent, here = members[0], _inside(members[0], part)
    return tuple(place), parent, here


def _members(kind: Any) -> list[Any]:
    """The alternatives that there are for a value; None is not counted."""
    bare = _bare(kind)
    if typing.get_origin(bare) not in (typing.Union, types.UnionType):
        return [bare]
    some = [one for one in typing.get_args(bare) if one is not type(None)]
    return some if len(some) > 1 else _members(some[0])


def _bare(kind: Any) -> Any:
    return typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind


def _tags(kind: Any) -> Sequence[str]:
    """What tells an alternative from the others."""
    marks = getattr(kind, "__metadata__", ())
    if named := [one.tag for one in marks if isinstance(one, Tag)]:
        return named
    known = _bare(kind)
    has_type = _is_model(known) and "type" in known.model_fields
    return typing.get_args(known.model_fields["type"].annotation) if has_type else ()


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _inside(kind: Any, part: Any) -> Any:
    """The kind of a part: of a field, or of an entry of a list or a mapping."""
    if _is_model(kind):
        fields = kind.model_fields.items()
        return next((one.annotation for n, one in fields if part in (n, one.alias)), Any)
    inner = typing.get_args(kind)
    if isinstance(typing.get_origin(kind), type) and issubclass(typing.get_origin(kind), Mapping):
        return inner[1]
    several = isinstance(part, int) and part < len(inner) and ... not in inner
    return inner[part] if several else inner[0] if inner else Any


def _keys(kind: Any) -> list[str]:
    """The keys that are known in a mapping of this kind."""
    fields = kind.model_fields.items() if _is_model(kind) else ()
    return [one.alias or name for name, one in fields]
