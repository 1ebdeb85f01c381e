"""``method: {type: relax, …}``: a model made from the optimizers that are declared."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model
from pydantic import model_validator as validator

from instar.app.config.base import ConfigurationError, Length
from instar.app.config.fields import field_of
from instar.app.config.methods.base import Method
from instar.app.config.registry import found
from instar.app.config.units import parse_unit, quantity
from instar.core.utils.declaration import Declaration, Option
from instar.dynamics.method import METHODS
from instar.dynamics.relax import Relaxation
from instar.dynamics.relax.cell import mask_of
from instar.dynamics.relax.declared import OPTIMIZER

__all__ = ["RelaxMethod"]


def _in(unit: str) -> Any:
    dimension = parse_unit(unit)[1]
    return BeforeValidator(lambda value: quantity(value, dimension, unit))


def _mask(given: Any) -> Any:
    mask_of(given, 1)
    return given


Force = Annotated[float, _in("eV/angstrom"), Field(gt=0)]
Stress = Annotated[float, _in("GPa"), Field(gt=0)]


class RelaxMethod(Method):
    """Relaxation: every system to its minimum, by an optimizer.

    The model that validates (`model`) has the options of all optimizers as further keys.
    """

    COMMON: ClassVar[tuple[str, ...]] = (
        "skin",
        "cell",
        "mask",
        "force_tolerance",
        "stress_tolerance",
    )

    type: Literal["relax"]
    method: str = "auto"
    cell: Annotated[
        Literal["fixed", "isotropic", "full", "constant_volume"],
        Field(description="what moves beside the atoms: nothing, the volume, the cell, its shape"),
    ] = "fixed"
    mask: Annotated[
        tuple[bool, ...] | None,
        AfterValidator(_mask),
        Field(description="which components of the strain may change: xx, yy, zz, yz, xz, xy"),
    ] = None
    force_tolerance: Annotated[
        Force,
        Field(
            description="converged where no force is longer (eV/angstrom)", validate_default=True
        ),
    ] = 0.01
    stress_tolerance: Annotated[
        Stress,
        Field(
            description="and, if the cell moves, no component of stress and pressure (GPa)",
            validate_default=True,
        ),
    ] = 0.05
    skin: Annotated[
        Length, Field(ge=0, description="neighbors are listed so far beyond the cutoff (angstrom)")
    ] = 1.0

    @classmethod
    def model(cls) -> type[RelaxMethod]:
        """The model with the keys of all optimizers."""
        return _model(tuple((name, known.target) for name, known in _declared().items()))

    @validator(mode="after")
    def _fits_together(self) -> RelaxMethod:
        own = set(RelaxMethod.model_fields) | set(self.chosen.options)
        if wrong := sorted(self.model_fields_set - own):
            have = "has" if len(wrong) == 1 else "have"
            raise ValueError(f"{', '.join(wrong)} {have} no meaning for {self.method}")
        if self.mask is not None and self.cell != "full":
            raise ValueError(
                "a mask has no meaning where the cell is fixed"
                if self.cell == "fixed"
                else f"a mask has no meaning for cell: {self.cell}, which moves all components "
                "together"
            )
        return self

    @property
    def label(self) -> str:
        """What it does."""
        return "relaxation" if self.cell != "fixed" else "relaxation in a fixed cell"

    @property
    def chosen(self) -> Declaration:
        """The optimizer."""
        return _declared()[self.method]

    @property
    def has_pressure(self) -> bool:
        """Where the cell moves."""
        return self.cell != "fixed"

    def lacking(self, temperature: float | None, pressure: float | None) -> Iterator[str]:
        """Nothing; a temperature is too much."""
        if temperature is not None:
            yield f"a temperature has no meaning for {self.label}"

    def keys_with_units(self) -> Iterator[str]:
        """Tolerances, the skin, and options of the optimizer."""
        for name in ("force_tolerance", "stress_tolerance", "skin"):
            if name not in self.model_fields_set:
                yield name
        for name, option in self.chosen.options.items():
            if option.unit and getattr(self, name) is None:
                yield name

    @property
    def step(self) -> Relaxation:
        """The optimizer, with its options where they were given."""
        given = {name: getattr(self, name) for name in self.chosen.options}
        return self.chosen.target(**{n: value for n, value in given.items() if value is not None})


def _declared() -> dict[str, Declaration]:
    return {name: known for name, known in found(METHODS).items() if known.role == OPTIMIZER}


@functools.lru_cache(1)
def _model(declared: tuple[Any, ...]) -> type[RelaxMethod]:
    """Made again only when something was declared since."""
    known = _declared()
    about = "; ".join(f"{name}: {one.help}" for name, one in known.items())
    names: Any = Literal[tuple(known)]
    fields: dict[str, Any] = {"method": (names, Field(default="auto", description=about))}
    texts: dict[str, list[str]] = {}
    kinds: dict[str, Option] = {}
    for one in known.values():
        for name, option in one.options.items():
            texts.setdefault(name, []).append(str(field_of(option)[1].description))
            if (
                name in RelaxMethod.model_fields
                or kinds.setdefault(name, option).unit != option.unit
            ):
                raise ConfigurationError(
                    f"Two things are called {name!r} among the keys of relaxation, with different "
                    "units.\nRename it in one of the packages that declare it."
                )
    for name, option in kinds.items():
        fields[name] = (
            field_of(option)[0] | None,
            Field(default=None, description="; ".join(dict.fromkeys(texts[name]))),
        )
    return create_model("RelaxMethod", __base__=RelaxMethod, __doc__=RelaxMethod.__doc__, **fields)
