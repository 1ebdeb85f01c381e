"""YAML as plain data, with the line of everything in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from instar.app.config.base import ConfigurationError

__all__ = ["Place", "Text", "read_yaml"]

Place = tuple[str | int, ...]

_MOST = 100_000
"""Entries in a file, aliases written out; more if the file itself has as many characters.

Else it is no configuration, but an attack or a mistake.
"""


_TAGS = {
    yaml.MappingNode: ("map",),
    yaml.SequenceNode: ("seq",),
    yaml.ScalarNode: ("null", "bool", "int", "float", "str", "timestamp"),
}


class Text(NamedTuple):
    """Plain data, and the line of each place in it."""

    data: Any
    lines: dict[Place, int]


def read_yaml(path: Path) -> Text:
    """A YAML file: no tags, no key twice, nothing without an end."""
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no text in UTF-8.") from None
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}.") from None
    loader = yaml.SafeLoader(content)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ConfigurationError(f"{path} is empty.\nStart from: instar new NAME")
        reader = _Reader(path, loader, max(_MOST, len(content)))
        return Text(reader.read(node, ()), reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = "" if mark is None else f":{mark.line + 1}"
        raise ConfigurationError(f"{path}{line}: this is no YAML: {error.problem}.") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}: this is no YAML: {error}.") from None
    finally:
        loader.dispose()


class _Reader:
    """Walks a tree of nodes once, and notes where everything is."""

    def __init__(self, path: Path, loader: yaml.SafeLoader, most: int) -> None:
        self.path, self.loader, self.most, self.count = path, loader, most, 0
        self.lines: dict[Place, int] = {}
        self.above: list[Any] = []

    def read(self, node: Any, place: Place) -> Any:
        self.count += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        if self.count > self.most:
            raise ConfigurationError(
                f"{self.path}: more than {self.most} entries, aliases written out; this is refused."
            )
        if any(node is other for other in self.above):
            raise ConfigurationError(f"{self.path}:{line}: an alias that holds itself.")
        if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS[type(node)]:
            raise ConfigurationError(f"{self.path}:{line}: the tag {node.tag} is not allowed.")
        self.above.append(node)
        try:
            return self._value(node, place)
        finally:
            self.above.pop()

    def _value(self, node: Any, place: Place) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*place, n)) for n, item in enumerate(node.value)]
        if node.tag.endswith(":timestamp"):
            return str(node.value)
        if node.tag.endswith((":int", ":float")) and ":" in node.value:
            return str(node.value)  # 1:30:10 would be a number to the base of 60
        return self.loader.construct_object(node)

    def _mapping(self, node: Any, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigurationError(f"{self.path}:{line}: a key must be a word.")
            key = str(key_node.value)
            if key in found:
                raise ConfigurationError(
                    f"{self.path}:{line}: the key {key!r} is there twice; the first one is in "
                    f"line {self.lines[(*place, key)]}."
                )
            self.lines[(*place, key)] = line
            found[key] = self.read(value, (*place, key))
        return found
