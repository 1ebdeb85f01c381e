"""Lists of entries in a configuration, each with a ``type`` that was declared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationError

from instar.app.config.base import ConfigurationError, shown
from instar.app.config.fields import instance_of
from instar.app.config.places import problem_of
from instar.app.config.registry import found
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
        self._listed = functools.lru_cache(1)(_list_of)

    def adapter(self) -> Any:
        """What validates a list of entries; made again only when something was declared since."""
        return self._known()[1]

    def validated(self, entries: list[Any]) -> list[Any]:
        """The objects; a `ConfigurationError` names all mistakes, and the nearest right names."""
        kind, adapter = self._known()
        try:
            return adapter.validate_python(entries)
        except ValidationError as error:
            found = [problem_of(problem, entries, kind) for problem in error.errors()]
            problems = [((self.key, *place), message) for place, message in found]
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

    def _known(self) -> tuple[Any, Any]:
        """What a list of entries is, and what validates it."""
        declared = found(self.group).items()
        return self._listed(tuple(self._annotation(name, one.target) for name, one in declared))


def _list_of(kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    union = Union[kinds]  # noqa: UP007 (built here)
    kind: Any = Annotated[union, Field(discriminator="type")] if len(kinds) > 1 else union
    listed: Any = list.__class_getitem__(kind)
    return listed, TypeAdapter(listed)
