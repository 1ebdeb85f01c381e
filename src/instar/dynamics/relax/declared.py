"""`optimizer`: how a method of relaxation gets its name in configurations.

    @optimizer("fire", time_step=Option("the time step at the beginning", default=0.1, above=0))
    def fire(time_step=0.1): ...

is all that ``method: {type: relax, method: fire, time_step: 0.05}`` needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.core.utils.declaration import Option
from instar.dynamics.method import method

__all__ = ["OPTIMIZER", "optimizer"]

OPTIMIZER = "relax.method"


def optimizer[F: Callable[..., Any]](name: str, **options: Option) -> Callable[[F], F]:
    """Decorator: an optimizer of your own gets a name in configurations.

    It is for functions ``f(**options) -> Relaxation``.

    Parameters
    ----------
    name
        What stands in configurations: ``method: {type: relax, method: name}``.
    **options
        Further keys of the method, each an `Option` with its unit; they are passed to the function
        by keyword, in internal units.

    Returns
    -------
    function
        The decorator, which returns the function as it is.

    Raises
    ------
    ValueError
        If another method has that name.

    Notes
    -----
    As for `instar.md.thermostat`, by an entry point ``instar.methods``.
    """
    return method(name, OPTIMIZER, options)
