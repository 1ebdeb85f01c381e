"""``method: {type: md, …}``: a model made from the thermostats and barostats that are declared."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Container, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, TypeAdapter, create_model, model_validator

from instar.app.config.base import ConfigurationError, Duration, Length
from instar.app.config.fields import field_of
from instar.app.config.methods.base import Method
from instar.app.config.registry import found
from instar.app.config.units import parse_unit
from instar.core.utils.declaration import Declaration, Option
from instar.dynamics import md
from instar.dynamics.md.declared import BAROSTAT, THERMOSTAT
from instar.dynamics.method import METHODS

__all__ = ["MdMethod", "defaults_of"]

_KEYS = {"type", "ensemble", "time_step", "skin"}
"""Keys that have a meaning for every method of molecular dynamics."""


_SETTLING = 100 * parse_unit("fs")[0]
"""The time constant of the thermostat that equilibrates what is to keep its energy."""

_SETTLING_STEPS = 50
"""The same in steps, for reduced units."""


class MdMethod(Method):
    """Molecular dynamics: an ensemble, and the thermostat or barostat that keeps it.

    The model that validates (`model`) has the options of all thermostats and barostats as
    further keys.
    """

    COMMON: ClassVar[tuple[str, ...]] = ("skin",)

    type: Literal["md"]
    ensemble: Annotated[
        Literal["nve", "nvt", "npt"],
        Field(description="constant energy; volume and temperature; pressure and temperature"),
    ]
    time_step: Annotated[Duration, Field(description="length of a step (fs)")]
    skin: Annotated[
        Length, Field(ge=0, description="neighbors are listed so far beyond the cutoff (angstrom)")
    ] = 1.0
    thermostat: str | None = None
    barostat: str | None = None

    @classmethod
    def model(cls) -> type[MdMethod]:
        """The model with the keys of all thermostats and barostats."""
        return _model(tuple((name, known.target) for name, known in found(METHODS).items()))

    @classmethod
    def inherited(cls, top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Without keys that have no meaning for the ensemble, and for what keeps it."""
        both = {**top, **own}
        ensemble = both.get("ensemble")
        chosen = (both.get("thermostat"), both.get("barostat"))
        known = _KEYS | (_used(ensemble, *chosen) if isinstance(ensemble, str) else set())
        return {key: value for key, value in both.items() if key in own or key in known}

    @model_validator(mode="after")
    def _fits_together(self) -> MdMethod:
        for ensemble, role in (("nvt", THERMOSTAT), ("npt", BAROSTAT)):
            if self.ensemble == ensemble and self.chosen is None:
                key = role.removeprefix("md.")
                raise ValueError(f"{ensemble} needs a {key}: {', '.join(_declared(role))}")
        wrong = sorted(self.model_fields_set - _KEYS - self._used)
        if wrong:
            have = "has" if len(wrong) == 1 else "have"
            raise ValueError(f"{', '.join(wrong)} {have} no meaning for {self._name}")
        options = {} if self.chosen is None else self.chosen.options
        for name, option in options.items():
            if option.is_required and getattr(self, name) is None:
                raise ValueError(f"{self._name} needs {name}: {option.help}")
        return self

    @property
    def label(self) -> str:
        """The ensemble."""
        return self.ensemble

    @property
    def chosen(self) -> Declaration | None:
        """The thermostat or barostat of the ensemble."""
        role, key = _ROLES.get(self.ensemble, ("", ""))
        name = getattr(self, key) if key else None
        return None if name is None else _declared(role)[name]

    @property
    def knobs(self) -> dict[str, Any]:
        """The options of what was chosen, with its defaults where nothing was given."""
        if self.chosen is None:
            return {}
        given = {name: getattr(self, name) for name in self.chosen.options}
        missing = {name for name, value in given.items() if value is None}
        return given | defaults_of(self.chosen, missing)

    @property
    def has_set_points(self) -> bool:
        """Where there is a thermostat or a barostat."""
        return self.chosen is not None

    @property
    def has_pressure(self) -> bool:
        """Where there is a barostat."""
        return self.ensemble == "npt"

    @property
    def defaults(self) -> dict[str, Any]:
        """Those of the thermostat or barostat."""
        options = {} if self.chosen is None else self.chosen.options
        return {name: one.default for name, one in options.items() if not one.is_required}

    def lacking(self, temperature: float | None, pressure: float | None) -> Iterator[str]:
        """What a system with this temperature (K) and pressure lacks."""
        if self.ensemble != "nve" and not temperature:
            yield f"{self.ensemble} needs a temperature above zero"
        if self.ensemble == "npt" and pressure is None:
            yield "npt needs a pressure"

    def keys_with_units(self) -> Iterator[str]:
        """The skin, and options of what was chosen."""
        if "skin" not in self.model_fields_set:
            yield "skin"
        options = {} if self.chosen is None else self.chosen.options
        for name, option in options.items():
            if option.unit and option.default is not None and getattr(self, name) is None:
                yield name

    def step(self, hot: np.ndarray | md.Ramp, pressures: np.ndarray | md.Ramp) -> md.Step:
        """The step, for systems at these temperatures (K) and pressures, which may be ramps."""
        chosen = self.chosen
        if chosen is None:
            return md.nve(self.time_step)
        conditions = (hot, pressures) if chosen.role == BAROSTAT else (hot,)
        return chosen.target(self.time_step, *conditions, **self.knobs)

    def settling(self, hot: np.ndarray, reduced: bool = False) -> md.Step | None:
        """The step of the equilibration, where it is another one.

        At constant energy systems do not settle at a temperature: a thermostat brings them there.
        """
        if self.chosen is not None:
            return None
        constant = _SETTLING_STEPS * self.time_step if reduced else _SETTLING
        return md.velocity_rescaling(self.time_step, hot, constant)

    def time(self, steps: Any) -> Any:
        """The time (fs) after that many steps."""
        return steps * (self.time_step / parse_unit("fs")[0])

    def pace(self, speed: float) -> str:
        """How fast that many steps per second are, in words."""
        return f"{speed * 86400 * self.time_step / parse_unit('ns')[0]:.3g} ns/day"

    @property
    def _name(self) -> str:
        _, key = _ROLES.get(self.ensemble, ("", ""))
        keeper = getattr(self, key) if key else None
        return self.ensemble if keeper is None else f"{self.ensemble} with {keeper}"

    @property
    def _used(self) -> set[str]:
        return _used(self.ensemble, self.thermostat, self.barostat)


_ROLES = {"nvt": (THERMOSTAT, "thermostat"), "npt": (BAROSTAT, "barostat")}
"""What keeps an ensemble, and the key that names it."""


def _used(ensemble: Any, thermostat: Any, barostat: Any) -> set[str]:
    """Keys that have a meaning for an ensemble and what keeps it."""
    if ensemble not in _ROLES:
        return set()
    role, key = _ROLES[ensemble]
    name = {"thermostat": thermostat, "barostat": barostat}[key]
    chosen = _declared(role).get(name) if isinstance(name, str) else None
    return {key} if chosen is None else {key, *chosen.options}


@functools.lru_cache(1)
def _model(declared: tuple[Any, ...]) -> type[MdMethod]:
    """Made again only when something was declared since."""
    fields: dict[str, Any] = {
        role.removeprefix("md."): _naming(role) for role in (THERMOSTAT, BAROSTAT)
    }
    options = [
        item
        for role in (THERMOSTAT, BAROSTAT)
        for declaration in _declared(role).values()
        for item in declaration.options.items()
    ]
    known: dict[str, Option] = {}
    for name, option in options:
        before = known.setdefault(name, option)
        if name in MdMethod.model_fields or _rules(before) != _rules(option):
            raise ConfigurationError(
                f"Two things are called {name!r} among the keys of methods, with different units "
                "or bounds.\nRename it in one of the packages that declare it."
            )
    for name, option in known.items():
        texts = dict.fromkeys(
            field_of(other)[1].description for key, other in options if key == name
        )
        fields[name] = (
            field_of(option)[0] | None,
            Field(default=None, description="; ".join(texts)),
        )
    return create_model("MdMethod", __base__=MdMethod, __doc__=MdMethod.__doc__, **fields)


def _rules(option: Option) -> Option:
    """What an option allows, whatever is said about it."""
    return dataclasses.replace(option, help="", default=None, example=None)


def _naming(role: str) -> tuple[Any, Any]:
    """The key that names one of a role."""
    names = tuple(_declared(role))
    about = "; ".join(f"{name}: {known.help}" for name, known in _declared(role).items())
    kind: Any = Literal[names]
    return kind | None, Field(default=None, description=about)


def _declared(role: str) -> dict[str, Declaration]:
    return {name: known for name, known in found(METHODS).items() if known.role == role}


def defaults_of(declared: Declaration, missing: Container[str] | None = None) -> dict[str, Any]:
    """The options of a method where nothing was given, in the units used inside."""
    options = declared.options.items()
    return {n: _default(option) for n, option in options if missing is None or n in missing}


def _default(option: Option) -> Any:
    kind, _ = field_of(option)
    return TypeAdapter(kind).validate_python(option.default)
