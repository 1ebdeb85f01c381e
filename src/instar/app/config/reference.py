"""The reference of all that configurations may name, as a page: made from the declarations."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, Literal

from instar.app.config.registry import EXPORTS, found
from instar.core.utils.declaration import Option, options_of
from instar.dynamics.method import METHODS
from instar.dynamics.relax.declared import OPTIMIZER
from instar.observables.entry import OBSERVERS
from instar.potentials.entry import POTENTIALS, entry_class

__all__ = ["reference"]

_INTRODUCTION = """\
# What a configuration may name

Potentials, methods, observers and export formats, with their keys: made from what each file
declares, packages that extend instar left out. Numbers may have any unit of the right kind; bare
numbers are in the unit of the table. The keys around them are in [runs](runs.md); `instar schema`
prints all of it for editors.
"""


def reference() -> str:
    """The page, in Markdown."""
    parts = [
        _INTRODUCTION,
        "## Potentials\n\nEntries of `potential:`, by their `type`.\n",
        *(_potential(name, known.target) for name, known in _own(POTENTIALS)),
        "## Methods\n\nOf `method: {type: md, …}`.\n",
        *(
            _entry(f"{known.role.removeprefix('md.')}: {name}", known.help, known.options)
            for name, known in _own(METHODS)
            if known.role.startswith("md.")
        ),
        "## Relaxation\n\nOf `method: {type: relax, method: …}`.\n",
        *(
            _entry(name, known.help, known.options)
            for name, known in _own(METHODS)
            if known.role == OPTIMIZER
        ),
        "## Observers\n\nEntries of `observe:`, by their `type`.\n",
        *(_entry(name, known.help, known.options) for name, known in _own(OBSERVERS)),
        "## Export formats\n\nOf `instar export DIR --to FORMAT`.\n",
        *(f"- `{name}`: {known.help}" for name, known in _own(EXPORTS)),
    ]
    return "\n".join(parts) + "\n"


def _own(group: str) -> list[tuple[str, Any]]:
    known = found(group).items()
    return [(name, one) for name, one in known if one.target.__module__.startswith("instar.")]


def _potential(name: str, target: Any) -> str:
    entry = entry_class(name, target)
    text = " ".join((target.__doc__ or "").split("\n\n")[0].split())
    options = options_of(entry)
    whole = _entry(name, text, options)
    records: dict[Any, list[str]] = {}
    for key, option in options.items():
        if (record := _record(option.kind)) is not None:
            records.setdefault(record, []).append(f"`{key}`")
    for record, keys in records.items():
        whole += f"\nEach entry of {' and '.join(keys)}:\n\n{_table(options_of(record))}"
    return whole


def _record(kind: Any) -> Any:
    """The dataclass that an option has many of, if it has."""
    inner = [part for part in typing.get_args(kind) if isinstance(part, type)]
    return next((part for part in inner if hasattr(part, "__dataclass_fields__")), None)


def _entry(name: str, text: str, options: Mapping[str, Option]) -> str:
    return f"### `{name}`\n\n{text}\n" + (f"\n{_table(options)}" if options else "")


def _table(options: Mapping[str, Option]) -> str:
    rows = [
        f"| `{name}` | {_kind(known)} | {_default(known)} | {known.help} |"
        for name, known in options.items()
    ]
    return "\n".join(["| key | value | default | |", "|---|---|---|---|", *rows, ""])


def _kind(known: Option) -> str:
    """What may be given, in words."""
    choices = _choices(known.kind)
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    bounds = [
        f"{sign} {limit:g}"
        for sign, limit in (
            (">", known.above),
            ("≥", known.least),
            ("<", known.below),
            ("≤", known.most),
        )
        if limit is not None
    ]
    return " ".join([_word(known.kind, known.unit), *bounds]).strip()


def _choices(kind: Any) -> tuple[str, ...]:
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)
    parts = typing.get_args(kind)
    return next((found for part in parts if (found := _choices(part))), ())


def _word(kind: Any, unit: str) -> str:
    if kind is None or kind is float:
        return unit or "number"
    origin, inner = (
        typing.get_origin(kind),
        [p for p in typing.get_args(kind) if p is not type(None)],
    )
    words = {int: "whole number", str: "text", bool: "true or false", Any: "anything"}
    if origin is tuple:
        many = "list of " if ... in inner else f"{len(inner)} × "
        return f"{many}{_word(inner[0], unit)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"mapping to {_word(inner[1], unit)}"
    if inner:
        return " or ".join(dict.fromkeys(_word(part, unit) for part in inner))
    return words.get(kind, "entries")


def _default(known: Option) -> str:
    if known.is_required:
        return "required"
    empty = known.default is None or known.default in ({}, ())
    return "" if empty else f"`{_plain(known.default)}`"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
