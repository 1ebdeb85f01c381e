"""Lists of entries in a configuration, each with a ``type`` that was declared."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from instar.app.config.base import ConfigurationError, shown
from instar.app.config.fields import instance_of
from instar.app.config.registry import found
from instar.app.config.words import told, value_at
from instar.core.utils.declaration import options_of

__all__ = ["Entries"]


class Entries:
    """The entries under a key: objects of what was declared in a group, by their ``type``.

    ``class_of`` makes the class of an entry from a name and what was declared under it.
    """

    def __init__(self, key: str, group: str, class_of: Callable[[str, Any], type[Any]]) -> None:
        self.key, self.group = key, group
        self._class_of = class_of
        self._annotation = functools.cache(self._made)
        self._adapters: dict[tuple[Any, ...], Any] = {}

    def adapter(self) -> Any:
        """What validates a list of entries; made again only when something was declared since."""
        known = tuple(self._annotations().values())
        if known not in self._adapters:
            union = Union[known]  # noqa: UP007 (built here)
            kind: Any = Annotated[union, Field(discriminator="type")] if len(known) > 1 else union
            listed: Any = list.__class_getitem__(kind)
            self._adapters = {known: TypeAdapter(listed)}
        return self._adapters[known]

    def validated(self, entries: list[Any]) -> list[Any]:
        """The objects; a `ConfigurationError` names all mistakes, and the nearest right names."""
        try:
            return self.adapter().validate_python(entries)
        except ValidationError as error:
            problems = [self._problem(problem, entries) for problem in error.errors()]
            lines = [f"{shown(place)}: {message}" for place, message in problems]
            raise ConfigurationError("\n".join(lines), problems) from None

    def defaults(self, name: str) -> dict[str, Any]:
        """What an entry of this type has where nothing was given, as it could have been given."""
        known = found(self.group).get(name)
        options = {} if known is None else options_of(self._class_of(name, known.target))
        return {
            key: one.default
            for key, one in options.items()
            if not one.is_required and one.default is not None
        }

    def _made(self, name: str, target: Any) -> Any:
        return instance_of(self._class_of(name, target), name)

    def _annotations(self) -> dict[str, Any]:
        """For each type the annotation of its entry."""
        declared = found(self.group).items()
        return {name: self._annotation(name, known.target) for name, known in declared}

    def _problem(self, problem: Any, entries: list[Any]) -> tuple[tuple[Any, ...], str]:
        """One mistake: where it is, what it is, and the nearest name that would have been right."""
        number, *rest = problem["loc"]
        entry = entries[number]
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        rest = [part for part in rest if part != kind and "[" not in str(part)]
        given = value_at(entry, rest)
        types = list(self._annotations())
        message = told(problem, given, lambda: self._keys(kind, rest), types)
        return (self.key, number, *rest), message

    def _keys(self, kind: Any, rest: list[Any]) -> list[str]:
        """The keys that are known where the last part of a place stands."""
        known = _model_in(self._annotations()[str(kind)])
        for part in rest[:-1]:
            if part in known.model_fields:  # else a number or a label within what was reached
                known = _model_in(known.model_fields[part].annotation) or known
        return list(known.model_fields)


def _model_in(annotation: Any) -> Any:
    """The model that an annotation is about, however deep it lies."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    parts = typing.get_args(annotation)
    return next((model for part in parts if (model := _model_in(part)) is not None), None)
