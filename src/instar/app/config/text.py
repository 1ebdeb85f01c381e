"""YAML as plain data, with the line of everything in it; bounded before it is parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.composer import ComposerError
from yaml.reader import ReaderError

from instar.app.config.base import ConfigurationError

__all__ = ["Mistake", "Place", "Text", "parsed_yaml", "read_yaml", "wrong_text"]

Place = tuple[str | int, ...]
"""Where something stands: keys and numbers of entries, from the top."""

Mistake = tuple[Place, str]
"""Where something is wrong, and what; not a `Problem`, which is what a structure lacks."""

_MOST = 100_000
"""Entries in a file, aliases written out: more is an attack or a mistake."""

_MOST_BYTES = 8 * 2**20
_DEEPEST = 60
"""Levels of nesting: as many calls of functions within each other."""

_LONGEST_NUMBER = 100
"""Digits; the largest number of double precision has 309, and units of any use fewer."""

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
    """A YAML file: no tags, no key twice, nothing without an end, and of a bounded size."""
    try:
        if path.is_fifo():  # nobody may ever write to it
            raise ConfigurationError(f"{path} can't be read: it is a pipe, not a file.")
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}.") from None
    if len(content) > _MOST_BYTES:
        raise ConfigurationError(
            f"{path} has more than {_MOST_BYTES >> 20} MiB; this is not a configuration.\n"
            "Structures belong into files of their own: structure: {file: ...}"
        )
    try:
        return parsed_yaml(content.decode(), str(path))
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not text in UTF-8.") from None


def parsed_yaml(content: str, name: str) -> Text:
    """YAML as plain data; ``name`` is where it comes from, for errors."""
    try:
        loader = _Loader(content)
        try:
            node = loader.get_single_node()
            if node is None:
                raise ConfigurationError(f"{name} is empty.\nStart from: instar new NAME")
            reader = _Reader(name, loader)
            return Text(reader.read(node, ()), reader.lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = "" if mark is None else f":{mark.line + 1}"
        raise ConfigurationError(f"{name}{line}: this is not YAML: {_why(error)}.") from None
    except ReaderError as error:
        line = content.count("\n", 0, error.position) + 1
        raise ConfigurationError(
            f"{name}:{line}: the character {chr(error.character)!a} is not allowed in YAML."
        ) from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{name}: this is not YAML: {error}.") from None


def _why(error: yaml.MarkedYAMLError) -> str:
    """What is wrong, and where what it belongs to began."""
    if (error.problem or "").startswith("but "):
        return f"{error.context}, {error.problem}"
    begin, end = error.context_mark, error.problem_mark
    if error.context is None or begin is None or end is None or begin.line == end.line:
        return str(error.problem)
    return f"{error.problem}, {error.context} that begins in line {begin.line + 1}"


def wrong_text(value: str) -> str | None:
    """What is wrong with a text that neither files nor terminals take; None if nothing is."""
    if "\0" in value:
        return "it holds the character NUL, which no file can be named with"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "it holds half of a character (a surrogate), which can't be written"
    return None


class _Loader(yaml.SafeLoader):
    """Stops as soon as there is too much, or too deep."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._nodes = self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes, self._depth = self._nodes + 1, self._depth + 1
        mark = self.peek_event().start_mark
        if self._nodes > _MOST:
            raise ComposerError(None, None, f"more than {_MOST} entries", mark)
        if self._depth > _DEEPEST:
            raise ComposerError(None, None, f"deeper than {_DEEPEST} levels", mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


class _Reader:
    """Walks a tree of nodes once, and notes where everything is."""

    def __init__(self, name: str, loader: yaml.SafeLoader) -> None:
        self.name, self.loader, self.count = name, loader, 0
        self.lines: dict[Place, int] = {}
        self.above: list[Any] = []

    def read(self, node: Any, place: Place) -> Any:
        self.count += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        if self.count > _MOST:
            raise ConfigurationError(
                f"{self.name}: more than {_MOST} entries, aliases written out; this is refused."
            )
        if any(node is other for other in self.above):
            raise ConfigurationError(f"{self.name}:{line}: an alias that contains itself.")
        if len(self.above) >= _DEEPEST:
            raise ConfigurationError(f"{self.name}:{line}: deeper than {_DEEPEST} levels.")
        if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS[type(node)]:
            raise ConfigurationError(f"{self.name}:{line}: the tag {node.tag} is not allowed.")
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
        return self._scalar(node)

    def _scalar(self, node: Any) -> Any:
        at, kind = f"{self.name}:{node.start_mark.line + 1}", node.tag.rpartition(":")[2]
        if kind in ("int", "float") and ":" in node.value:
            return str(node.value)  # 1:30:10 would be a number to the base of 60
        if kind in ("int", "float") and len(node.value) > _LONGEST_NUMBER:
            raise ConfigurationError(f"{at}: a number of {len(node.value)} digits.")
        try:
            return self.loader.construct_object(node)
        except (ValueError, KeyError):
            raise ConfigurationError(f"{at}: {node.value[:60]!r} is not a valid {kind}.") from None

    def _mapping(self, node: Any, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigurationError(f"{self.name}:{line}: a key must be a word.")
            key = str(key_node.value)
            if key_node.tag.endswith(":merge"):
                raise ConfigurationError(
                    f"{self.name}:{line}: keys are not merged by '<<'; write them out."
                )
            if key in found:
                raise ConfigurationError(
                    f"{self.name}:{line}: the key {key!r} comes twice; the first one is in "
                    f"line {self.lines[(*place, key)]}."
                )
            self.lines[(*place, key)] = line
            found[key] = self.read(value, (*place, key))
        return found
