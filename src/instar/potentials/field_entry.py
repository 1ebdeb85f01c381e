"""A potential whose fields are all that a configuration says of it."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from instar.core.utils.declaration import options_of, record
from instar.potentials.entry import Entry
from instar.potentials.structures import Structures

__all__ = ["field_entry"]


def field_entry(potential: type[Any]) -> type[Entry]:
    """The entry of a potential: its options, by name."""
    options = options_of(potential)
    return record(f"{potential.__name__}Entry", options, (FieldEntry,), {"POTENTIAL": potential})


@dataclasses.dataclass(frozen=True, kw_only=True)
class FieldEntry(Entry):
    """Fields of a potential; numbers become arrays, in double precision."""

    POTENTIAL: ClassVar[type[Any]]

    def made(self, structures: Structures, shortest: float) -> Any:
        """The potential: the same for any structures."""
        values = {name: getattr(self, name) for name in options_of(self.POTENTIAL)}
        return self.POTENTIAL(**{name: _array(value) for name, value in values.items()})


def _array(value: Any) -> Any:
    """Numbers with a point as arrays; whole numbers and words as they are."""
    parts = value if isinstance(value, tuple) else (value,)
    numbers = bool(parts) and all(isinstance(part, float) for part in parts)
    return np.asarray(value, np.float64) if numbers else value
