"""Pictures of structures, seen along z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ase import Atoms
from ase.data import chemical_symbols, covalent_radii
from ase.data.colors import jmol_colors
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from instar.app.report.figures import inked, short

__all__ = ["colours_of", "structure_figure"]

_ALIKE = 0.25
"""Colours of two species that are nearer than this, in RGB, can't be told apart in a picture."""


def structure_figure(name: str, pictures: Sequence[tuple[str, Atoms]]) -> Figure:
    """Structures of a system side by side: far atoms first, and darker."""
    figure = Figure(figsize=(2.3 * len(pictures), 2.8), layout="constrained")
    for place, (title, atoms) in enumerate(pictures):
        axes = figure.add_subplot(1, len(pictures), place + 1)
        _draw_atoms(axes, atoms)
        axes.set_title(title, fontsize=8, parse_math=False)
        axes.set_aspect("equal")
        axes.axis("off")
    figure.suptitle(short(name), fontsize=8, parse_math=False)
    _add_legend(figure, pictures[0][1])
    return inked(figure)


def _draw_atoms(axes: Axes, atoms: Atoms) -> None:
    """As pixels: a page of many thousand circles is large, and slow."""
    inside = atoms.copy()
    if atoms.pbc.any():
        inside.wrap()
    order = np.argsort(inside.positions[:, 2])
    x, y, z = inside.positions[order].T
    numbers = inside.numbers[order]
    depth = (z - z.min()) / max(np.ptp(z), 1e-9)
    extent = max(np.ptp(x), np.ptp(y), 1.0)
    sizes = (covalent_radii[numbers] / extent * 150) ** 2
    colour = colours_of(numbers)
    plain = np.array([colour[number] for number in numbers])
    shaded = 0.45 + (plain - 0.45) * (0.5 + 0.5 * depth[:, None])
    axes.scatter(
        x, y, s=sizes, c=np.clip(shaded, 0, 1), edgecolors="#00000080", lw=0.3, rasterized=True
    )
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) @ inside.cell.array[:2, :2]
    axes.plot(*corners.T, color="gray", lw=0.7)


def colours_of(numbers: np.ndarray) -> dict[int, np.ndarray]:
    """Colours of species by atomic number: the usual ones, others where two look alike."""
    found: dict[int, np.ndarray] = {}
    spare = [np.array(colour) for colour in colormaps["tab10"].colors[1:]]  # pyright: ignore[reportAttributeAccessIssue]
    for number in np.unique(numbers).tolist():
        choices = [jmol_colors[number], *spare]
        free = (c for c in choices if all(np.linalg.norm(c - o) > _ALIKE for o in found.values()))
        found[number] = next(free, jmol_colors[number])
    return found


def _add_legend(figure: Figure, atoms: Atoms) -> None:
    """Which colour is which species, where there are several."""
    colours = colours_of(atoms.numbers)
    if len(colours) < 2:
        return
    for number, colour in colours.items():
        label = chemical_symbols[number]
        figure.axes[0].scatter([], [], s=20, color=colour, edgecolors="#0008", lw=0.3, label=label)
    figure.legend(loc="outside lower center", ncols=8, frameon=False, fontsize=7)
