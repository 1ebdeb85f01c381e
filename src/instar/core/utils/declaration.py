"""What a file says about itself: its name in configurations, and its fields.

A formula, a method, an observer or an export format is one file. `declare` gives it a name,
`option` describes a field: what it means, its unit, its bounds, an example. Configuration models,
the JSON schema, templates, error messages, tables in the docs and the catalogs of the tests are
derived from these declarations; nothing here validates or parses.

A package of somebody else's declares in the same way and names its object in an entry point of
the group, such as ``instar.potentials``.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from instar.core.utils.pytree_dataclass import field

__all__ = [
    "REQUIRED",
    "Declaration",
    "Option",
    "declare",
    "declared",
    "option",
    "options_of",
    "record",
]

_KEY = "instar.option"


class _Required:
    """Stands where a default would be."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
"""The default of an option that must be given."""


@dataclasses.dataclass(frozen=True)
class Option:
    """A field of a configuration: a sentence about it, and what may be given.

    unit        the unit of its numbers, such as "eV" or "1/ps"; bare numbers are in it too.
                "" is a number without a unit
    default     what it is where it is left out; text with a unit is allowed
    above, below, least, most   bounds of its numbers, in the units used inside
    convert     a function of what was given, before anything else is checked
    check       a function of the value, which raises ValueError or returns the value
    example     a value for templates, docs and tests
    kind        its type, where the annotation does not say it
    """

    help: str
    unit: str = ""
    default: Any = REQUIRED
    above: int | float | None = None
    below: int | float | None = None
    least: int | float | None = None
    most: int | float | None = None
    convert: Callable[[Any], Any] | None = None
    check: Callable[[Any], Any] | None = None
    example: Any = None
    kind: Any = None

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


def option(help: str, *, static: bool = False, **about: Any) -> Any:  # noqa: A002
    """A dataclass field that a configuration sets; ``about`` are the fields of `Option`."""
    described = Option(help, **about)
    return field(static=static, default=_default(described), metadata={_KEY: described})


def _default(known: Option) -> Any:
    """As dataclasses have it: numbers and names. What becomes an array has none in Python."""
    missing = known.is_required or isinstance(known.default, dict | list | tuple)
    return dataclasses.MISSING if missing else known.default


def options_of(cls: type[Any]) -> dict[str, Option]:
    """The options among the fields of a dataclass, in their order, each with its type."""
    found = {f.name: f.metadata[_KEY] for f in dataclasses.fields(cls) if _KEY in f.metadata}
    hints = typing.get_type_hints(cls) if found else {}
    return {name: _typed(known, hints[name]) for name, known in found.items()}


def record(
    name: str,
    options: Mapping[str, Option],
    bases: tuple[type[Any], ...] = (),
    namespace: Mapping[str, Any] | None = None,
) -> type[Any]:
    """A frozen dataclass with these options as its fields, by keyword."""
    fields = [
        (
            key,
            known.kind or float,
            dataclasses.field(default=_default(known), metadata={_KEY: known}),
        )
        for key, known in options.items()
    ]
    about = dict(namespace or {})
    return dataclasses.make_dataclass(
        name,
        fields,
        bases=bases,
        namespace=about,
        frozen=True,
        kw_only=True,
        module=about.get("__module__", __name__),
    )


def _typed(known: Option, hint: Any) -> Option:
    """With the annotated type; a number where the annotation says nothing."""
    if known.kind is not None:
        return known
    return dataclasses.replace(known, kind=float if hint is Any else hint)


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A class or function that configurations may name."""

    group: str
    name: str
    target: Any
    options: Mapping[str, Option]
    role: str = ""  # what it is within its group

    @property
    def help(self) -> str:
        """The first paragraph of its docstring in one line; for a function, that of its file.

        A function whose file has no docstring speaks for itself.
        """
        file = inspect.getmodule(self.target) if inspect.isfunction(self.target) else None
        told = (file and file.__doc__) or self.target.__doc__ or ""
        text = inspect.cleandoc(told).split("\n\n")[0]
        return " ".join(text.split())


_DECLARED: dict[str, dict[str, Declaration]] = {}


def declare[T](
    group: str, name: str, target: T, options: Mapping[str, Option], role: str = ""
) -> T:
    """Make a class or function known under a name in configurations.

    Two things of one group can't have the same name.
    """
    known = _DECLARED.setdefault(group, {})
    before = known.get(name)
    if before is not None and _place(before.target) != _place(target):
        raise ValueError(
            f"Two things are called {name!r} in {group}: {_place(before.target)} and "
            f"{_place(target)}.\nRename one of them."
        )
    known[name] = Declaration(group, name, target, dict(options), role)
    return target


def declared(group: str) -> dict[str, Declaration]:
    """What has been declared so far, by name, in the order of names.

    Files that were not imported are not among it: see `instar.app.config.registry`.
    """
    return dict(sorted(_DECLARED.get(group, {}).items()))


def _place(target: Any) -> str:
    return f"{target.__module__}.{target.__qualname__}"
