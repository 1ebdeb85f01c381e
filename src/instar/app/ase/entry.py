"""ASE calculators as an entry of a configuration."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Mapping
from typing import Any

from instar.app.ase.host import Host
from instar.app.ase.in_process import beyond
from instar.app.ase.potential import AsePotential, ase_potential
from instar.core.utils.declaration import option
from instar.potentials import Potential, PotentialError
from instar.potentials.entry import Entry, configured
from instar.potentials.structures import Structures

__all__ = ["AseEntry"]


def _known(name: str) -> str:
    from ase.calculators.calculator import external_calculators
    from ase.calculators.names import names as known_names

    names = [*known_names, *external_calculators]
    if name in names:
        return name
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
    raise ValueError(f"ASE has no calculator {name!r}; {hint}")


@configured("ase")
@dataclasses.dataclass(frozen=True, kw_only=True)
class AseEntry(Entry):
    """Any calculator of ASE, by its name there; with --trust if it starts programs or loads code.

    Known to do neither are emt, lj, morse, tip3p, tip4p and eam with arguments that are numbers.
    """

    calculator: str = option("name of the calculator", check=_known, example="lj")
    arguments: Mapping[str, Any] = option("what the calculator is made with", default={})
    elements: Mapping[str, str] = option(
        "elements of labels that are not chemical symbols", default={}
    )

    @property
    def foreign(self) -> str:
        """Most calculators of ASE start a program that an argument or a variable names."""
        return beyond(self.calculator, self.arguments)

    def untried(self) -> Potential:
        """A potential that knows which labels are elements, and computes nothing."""
        return AsePotential(Host(_Untried(self.calculator)), tuple(sorted(self.elements.items())))

    def made(self, structures: Structures, shortest: float) -> Potential:
        """The potential: the same for any structures."""
        return self._made

    @functools.cached_property
    def _made(self) -> Potential:
        """Made once: a calculator may take long to start, and programs are compiled for one."""
        from ase.calculators.calculator import get_calculator_class

        try:
            calculator = get_calculator_class(self.calculator)(**self.arguments)
        except Exception as error:
            raise PotentialError(
                f"ase: the calculator {self.calculator!r} can't be made with the arguments "
                f"{dict(self.arguments)}: {type(error).__name__}: {error}"
            ) from error
        return ase_potential(calculator, self.elements)


class _Untried:
    """What stands for a calculator that must not be made."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_potential_energy(self, *_: Any, **__: Any) -> float:
        raise PotentialError(f"The ASE calculator {self.name!r} is not tried here.")
