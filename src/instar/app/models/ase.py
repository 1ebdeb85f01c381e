"""ASE calculators as they stand in configuration files."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from ase.calculators.calculator import external_calculators, get_calculator_class
from ase.calculators.names import names as known_names
from pydantic import AfterValidator

from instar.app.ase_potential import ase_potential
from instar.app.models.base import ConfigurationError, Strict
from instar.app.structures import Batch
from instar.potentials import Potential

__all__ = ["AseConfig"]


def _known(name: str) -> str:
    names = [*known_names, *external_calculators]
    if name in names:
        return name
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
    raise ValueError(f"ASE has no calculator {name!r}; {hint}")


class AseConfig(Strict):
    """`type: ase`."""

    type: Literal["ase"]
    calculator: Annotated[str, AfterValidator(_known)]
    arguments: Mapping[str, Any] = {}
    elements: Mapping[str, str] = {}

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return self._made

    @functools.cached_property
    def _made(self) -> Potential:
        """Made once: a calculator may take long to start, and programs are compiled for one."""
        try:
            calculator = get_calculator_class(self.calculator)(**self.arguments)
        except Exception as error:
            raise ConfigurationError(
                f"ase: the calculator {self.calculator!r} can't be made with the arguments "
                f"{dict(self.arguments)}: {type(error).__name__}: {error}"
            ) from error
        return ase_potential(calculator, self.elements)
