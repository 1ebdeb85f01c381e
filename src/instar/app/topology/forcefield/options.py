"""What a PDB file and a force field leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from instar.app.topology.base import Kinds, TopologyError

__all__ = ["ForceFieldOptions"]


@dataclass(frozen=True)
class ForceFieldOptions:
    """Options of `read_topology` for PDB files.

    force_field  one or more XML files in the format of OpenMM; they are merged
    cutoff       of the Lennard-Jones part, Å or with a unit; needed where there is a cell,
                 without one all pairs interact by default
    truncation   truncate | shift | tail | ..., and ``inner`` (Å) for switch
    accuracy     of the Ewald sum, which acts where there is a cell
    constraints  None | "hbonds" | "allbonds": bonds of fixed length in place of springs
    rigid_water  whether water keeps its shape
    """

    force_field: str | Path | Sequence[str | Path]
    cutoff: float | int | str | None = None
    truncation: str = "truncate"
    inner: float | int | str | None = None
    accuracy: float = 1e-6
    constraints: str | None = None
    rigid_water: bool = True

    KINDS: ClassVar[Kinds] = {
        "constraints": ((str,), "a word"),
        "rigid_water": ((bool,), "true or false"),
    }

    def __post_init__(self) -> None:
        if not self.files:
            raise TopologyError("The option force_field names no file.")
        if self.constraints not in (None, "hbonds", "allbonds"):
            raise TopologyError(
                f"constraints must be hbonds, allbonds or None, not {self.constraints!r}."
            )

    @property
    def files(self) -> list[Path]:
        """The XML files in their order."""
        given = self.force_field
        return [Path(name) for name in ([given] if isinstance(given, str | Path) else given)]
