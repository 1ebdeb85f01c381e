"""`Columns`: arrays by name, with their units; a table that pandas takes over where it is."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from instar.core.utils.html_text import html_table

__all__ = ["Columns"]

_SHOWN = 5


class Columns(Mapping[str, np.ndarray]):
    """Arrays by name: one entry per row or system, or (rows, systems).

    ``units`` has the unit of each column that has one.
    """

    def __init__(self, columns: Mapping[str, np.ndarray], units: Mapping[str, str]) -> None:
        self._columns = dict(columns)
        self.units = dict(units)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"There is no column {name!r}; there are {', '.join(self._columns)}.")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def to_pandas(self) -> Any:
        """The columns as a `pandas.DataFrame` with one row per entry.

        Columns (rows, systems) become one row per row and system, with the number of the system in
        a column of its own.

        Returns
        -------
        pandas.DataFrame
            Units are in ``frame.attrs["units"]``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise ImportError(
                "to_pandas needs pandas, which is not installed.\nInstall it: pip install "
                "pandas; or use the arrays as they are: columns['temperature']."
            ) from None
        frame = pandas.DataFrame(self._long())
        frame.attrs["units"] = dict(self.units)
        return frame

    def _long(self) -> dict[str, np.ndarray]:
        """All columns with one axis."""
        shapes = {column.shape for column in self.values() if column.ndim == 2}
        if not shapes:
            return dict(self._columns)
        ((rows, systems),) = shapes
        single = {name: c for name, c in self.items() if c.ndim == 1}
        every = {name: c.ravel() for name, c in self.items() if c.ndim == 2}
        spread = {name: np.repeat(column, systems) for name, column in single.items()}
        return {**spread, "system": np.tile(np.arange(systems), rows), **every}

    def __repr__(self) -> str:
        lines = [f"{title}: {column.shape}" for title, column in self._titled().items()]
        return "\n  ".join([f"Columns, {len(self)} of them", *lines])

    def _repr_html_(self) -> str:
        long = self._long()
        rows = list(zip(*(column[:_SHOWN] for column in long.values()), strict=True))
        count = len(next(iter(long.values()), ()))
        heads = [self._title(name) for name in long]
        more = f"; the first {len(rows)}" if count > len(rows) else ""
        return html_table(f"{count} rows{more}", heads, rows)

    def _titled(self) -> dict[str, np.ndarray]:
        return {self._title(name): column for name, column in self.items()}

    def _title(self, name: str) -> str:
        unit = self.units.get(name)
        return f"{name} ({unit})" if unit else name
