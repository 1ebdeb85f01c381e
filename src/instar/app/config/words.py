"""What pydantic finds wrong, in our words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["known_place", "nearest", "told"]

_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "mapping": "a mapping",
}
_LENGTHS = {"too_short": ("min_length", "at least"), "too_long": ("max_length", "at most")}


def told(
    problem: Mapping[str, Any], keys: Callable[[], list[str]], types: Sequence[str] = ()
) -> str:
    """One mistake, and the nearest name that would have been right.

    ``keys`` gives those that are known at its place, ``types`` those that entries may have.
    """
    context, given = problem.get("ctx", {}), problem["input"]
    named: dict[str, Callable[[], str]] = {
        "extra_forbidden": lambda: f"unknown key{nearest(str(problem['loc'][-1]), keys())}",
        "missing": lambda: "is missing",
        "literal_error": lambda: (
            f"{given!r} is unknown{nearest(str(given), _quoted(context['expected']))}"
        ),
        "union_tag_invalid": lambda: (
            f"there is no type {context['tag']!r}{nearest(context['tag'], list(types))}"
        ),
        "union_tag_not_found": lambda: f"has no type; types are {', '.join(types)}",
        "string_too_long": lambda: f"has more than {context['max_length']} characters",
    }
    if problem["type"] in named:
        return named[problem["type"]]()
    return _about_value(problem, given, context)


def _about_value(problem: Mapping[str, Any], given: Any, context: Mapping[str, Any]) -> str:
    """What is wrong with a value that stands where one is needed."""
    kind = problem["type"]
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{given!r} is out of range: must be {words} {_number(context[name])}"
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        return f"has {context['actual_length']} entries; {words} {context[name]} are needed"
    if (needed := _needed(kind)) is not None:
        wrong = "is empty" if given is None else f"{given!r} is of the wrong kind"
        return f"{wrong}: {needed} is needed"
    message = problem["msg"].removeprefix("Value error, ")
    return re.sub(r"^Input should (have|be) ", lambda m: f"must {m[1]} ", message)


def _needed(kind: str) -> str | None:
    """What is needed where something is of the wrong kind."""
    if not kind.endswith(("_type", "_parsing", "_from_float", "_attributes_type")):
        return None
    return _KINDS.get(kind.split("_", maxsplit=1)[0])


def _number(limit: float | int) -> str:
    return f"{limit:.0f}" if float(limit).is_integer() else f"{limit:g}"


def _quoted(text: str) -> list[str]:
    return re.findall(r"'([^']*)'", text)


def known_place(data: Any, place: Sequence[Any]) -> tuple[Any, ...]:
    """A place as far as there is something: a number may stand for a list of three."""
    known: list[Any] = []
    for part in place:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            break
        known.append(part)
    return tuple(known)


def nearest(name: str, known: list[str]) -> str:
    """The known name that was probably meant, or all of them."""
    begins = [one for one in known if len(name) > 2 and one.startswith(name)]
    close = begins[:1] or difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
