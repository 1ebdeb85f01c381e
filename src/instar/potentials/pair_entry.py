"""Any pair formula as an entry of a configuration: parameters by species, a cutoff, its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from instar.core.utils.declaration import Option, options_of, record
from instar.potentials.entry import Entry
from instar.potentials.formula import Formula
from instar.potentials.pair import Pair
from instar.potentials.potential import Potential
from instar.potentials.structures import Structures
from instar.potentials.truncation import TRUNCATIONS

__all__ = ["pair_entry"]

_END = {
    "cutoff": Option("distance up to which pairs interact", unit="angstrom", above=0, example=8.5),
    "truncation": Option(
        "how it ends at the cutoff", kind=Literal[*TRUNCATIONS], default="truncate"
    ),
    "inner": Option(
        "where a switch begins", unit="angstrom", kind=float | None, default=None, least=0
    ),
}


def pair_entry(formula: type[Formula]) -> type[Entry]:
    """The entry of a formula; one that ends by itself has no cutoff."""
    ends_by_itself = formula.end is not Formula.end
    mixing = Option(
        "rule for pairs of unlike species",
        kind=Literal[*formula.MIXING] | None,  # pyright: ignore[reportOperatorIssue]
        default=None,
    )
    tables = {
        "parameters": Option("parameters by species", kind=dict[str, formula], default={}),
        "pairs": Option(
            "parameters of pairs of species, such as Ar-Kr", kind=dict[str, formula], default={}
        ),
    }
    options = ({} if ends_by_itself else _END) | ({"mixing": mixing} if formula.MIXING else {})
    return record(f"{formula.__name__}Entry", options | tables, (PairEntry,), {"FORMULA": formula})


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairEntry(Entry):
    """A formula with parameters by species and by pair."""

    FORMULA: ClassVar[type[Formula]]

    def made(self, structures: Structures, shortest: float) -> Potential:
        """The potential: the same for any structures."""
        given: Any = self
        parameters, pairs = given.parameters, given.pairs
        cutoff = getattr(given, "cutoff", None)
        if cutoff is None:
            known = [p.end() for p in (*parameters.values(), *pairs.values())]
            cutoff = max(known, default=1.0)
        return Pair.of(
            self.FORMULA,
            {label: _values(formula) for label, formula in parameters.items()},
            cutoff,
            mixing=getattr(given, "mixing", None),
            pairs={_pair(name): _values(formula) for name, formula in pairs.items()},
            truncation=getattr(given, "truncation", "truncate"),
            inner=getattr(given, "inner", None),
        )


def _values(formula: Formula) -> Mapping[str, float]:
    return {name: getattr(formula, name) for name in options_of(type(formula))}


def _pair(name: str) -> tuple[str, str]:
    parts = name.split("-")
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"{name!r} is not a pair of labels; write them as 'Ar-Kr'.")
    return parts[0], parts[1]
