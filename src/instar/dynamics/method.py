"""Methods that configurations may name, each declared in the file that has its equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.core.utils.declaration import Option, declare

__all__ = ["METHODS", "method"]

METHODS = "instar.methods"
"""The group of entry points for methods."""


def method[F: Callable[..., Any]](
    name: str, role: str, options: dict[str, Option]
) -> Callable[[F], F]:
    """Decorator: a function that makes a step gets a name in configurations.

    ``role`` says which key of which kind of method names it, such as ``md.thermostat``;
    ``options`` are further keys, passed on to the function by keyword.
    """

    def decorate(function: F) -> F:
        return declare(METHODS, name, function, options, role)

    return decorate
