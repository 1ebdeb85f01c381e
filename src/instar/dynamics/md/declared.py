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
    """Decorator for ``f(time_step, temperature, **options) -> Step``, at constant volume."""
    return method(name, THERMOSTAT, options)


def barostat[F: Callable[..., Any]](name: str, **options: Option) -> Callable[[F], F]:
    """Decorator for ``f(time_step, temperature, pressure, **options) -> Step``."""
    return method(name, BAROSTAT, options)
