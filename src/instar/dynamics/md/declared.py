"""`thermostat`, `barostat`: how a method of molecular dynamics gets its name in configurations.

    @thermostat("langevin", friction=Option("friction γ", unit="1/ps", above=0, default="1 /ps"))
    def langevin(time_step, temperature, friction): ...

is all that ``method: {type: md, ensemble: nvt, thermostat: langevin, friction: 2 /ps}`` needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.core.utils.declaration import Option
from instar.dynamics.md.coupling import Coupling
from instar.dynamics.method import method

__all__ = [
    "BAROSTAT",
    "COUPLING",
    "PRESSURE_TIME_CONSTANT",
    "THERMOSTAT",
    "TIME_CONSTANT",
    "barostat",
    "thermostat",
]

THERMOSTAT, BAROSTAT = "md.thermostat", "md.barostat"

TIME_CONSTANT = Option(
    "time in which the temperature settles", unit="fs", above=0, default="100 fs"
)
PRESSURE_TIME_CONSTANT = Option(
    "time in which the pressure settles", unit="fs", above=0, default="1000 fs"
)
COUPLING = Option(
    "what moves: the volume, the three lengths, or the whole shape of the cell",
    kind=Coupling,
    default="isotropic",
)


def thermostat[F: Callable[..., Any]](name: str, **options: Option) -> Callable[[F], F]:
    """Decorator: a thermostat of your own gets a name in configurations.

    It is for functions ``f(time_step, temperature, **options) -> Step``, at constant volume.

    Parameters
    ----------
    name
        What stands in configurations: ``method: {ensemble: nvt, thermostat: name}``.
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
    A file that holds the following, and is named by an entry point ``instar.methods``::

        @thermostat("my_langevin", friction=Option("friction γ", unit="1/ps", default="1 /ps"))
        def my_langevin(time_step, temperature, friction):
            return langevin(time_step, temperature, friction)

    makes ``method: {type: md, ensemble: nvt, thermostat: my_langevin, friction: 2 /ps}`` work.
    """
    return method(name, THERMOSTAT, options)


def barostat[F: Callable[..., Any]](name: str, **options: Option) -> Callable[[F], F]:
    """Decorator: a barostat of your own gets a name in configurations.

    It is for functions ``f(time_step, temperature, pressure, **options) -> Step``.

    Parameters
    ----------
    name
        What stands in configurations: ``method: {ensemble: npt, barostat: name}``.
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
    As for `thermostat`.
    """
    return method(name, BAROSTAT, options)
