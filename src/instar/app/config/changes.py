"""Changes of a configuration from the command line: ``--set run.steps=1000``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from instar.app.config.base import ConfigurationError
from instar.app.config.text import Text, parsed_yaml, read_yaml

__all__ = ["changed", "lengthening"]

_DEEPEST = 60
"""Levels, as in a file."""


def changed(text: Text, changes: Sequence[str]) -> Text:
    """The text with all changes made, in their order."""
    data = text.data
    for change in changes:
        key, equals, value = change.partition("=")
        parts = key.split(".")
        if not equals or not all(parts):
            raise ConfigurationError(f"--set {change}: write key=value, such as run.steps=1000")
        try:
            new = parsed_yaml(value, f"--set {change}").data if value.strip() else None
        except ConfigurationError as error:
            raise ConfigurationError(f"--set {change}: the value is not YAML.") from error
        if len(parts) > _DEEPEST:
            raise ConfigurationError(f"--set {change[:40]}…: deeper than {_DEEPEST} levels")
        data = _with(data, parts, new, change)
    return Text(data, text.lines)


def lengthening(path: Path, steps: int) -> str:
    """The change by which the last stage of a run has so many steps."""
    data = read_yaml(path).data
    run = data.get("run") if isinstance(data, dict) else None
    return f"run.{len(run) - 1}.steps={steps}" if isinstance(run, list) else f"run.steps={steps}"


def _with(data: Any, parts: list[str], value: Any, change: str) -> Any:
    first, *rest = parts
    if data is None:
        data = {}
    if isinstance(data, list):
        if not first.isdecimal() or int(first) >= len(data):
            raise ConfigurationError(
                f"--set {change}: there is no entry {first!r} in a list of {len(data)}"
            )
        place = int(first)
        new = value if not rest else _with(data[place], rest, value, change)
        return [*data[:place], new, *data[place + 1 :]]
    if not isinstance(data, dict):
        raise ConfigurationError(f"--set {change}: there is nothing below {first!r}")
    return {**data, first: value if not rest else _with(data.get(first), rest, value, change)}
