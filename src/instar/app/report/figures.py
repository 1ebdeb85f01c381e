"""Pictures of a run. Text and axes take the colour of the page, so that they fit light and dark."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.data import covalent_radii
from ase.data.colors import jmol_colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from instar.observables import Curve

__all__ = [
    "as_svg",
    "axis_labels",
    "curve_figure",
    "inked",
    "plain",
    "save_png",
    "structure_figure",
    "thermo_figure",
]

_INK = "#010203"
"""Stands for the colour of the page's text until the picture is put into it."""

_MOST_LINES = 8


def thermo_figure(
    x: np.ndarray, x_label: str, values: np.ndarray, label: str, shaded: float
) -> Figure:
    """A column (rows, systems) against time or steps, a few systems; shaded up to some x."""
    figure = Figure(figsize=(4.6, 2.4), layout="constrained")
    axes = figure.add_subplot()
    for system in _few(values.shape[1]):
        axes.plot(x, values[:, system], lw=0.9, label=f"{system}")
    axes.set_ylabel(label)
    axes.set_xlabel(x_label)
    if shaded > 0:
        axes.axvspan(0, shaded, color="gray", alpha=0.15, lw=0)
    plain(axes)
    return inked(figure)


def curve_figure(curve: Curve, title: str = "") -> Figure:
    """A curve of a few systems."""
    figure = Figure(figsize=(4.6, 2.8), layout="constrained")
    axes = figure.add_subplot()
    for system in _few(len(curve.y)):
        axes.plot(curve.x[system], curve.y[system], lw=1.1, label=f"{system}")
    x_label, y_label = axis_labels(curve)
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_ylabel(y_label, parse_math=False)
    axes.set_title(title, fontsize=8, parse_math=False)
    plain(axes)
    if len(curve.y) > 1:
        axes.legend(title="system", frameon=False, fontsize=7, ncols=2)
    return inked(figure)


def axis_labels(curve: Curve) -> tuple[str, str]:
    """What x and y are, with units."""
    pairs = ((curve.x_name, curve.x_unit), (curve.y_name, curve.y_unit))
    x, y = (f"{name} ({unit})" if unit else name for name, unit in pairs)
    return x, y


def structure_figure(pictures: Sequence[tuple[str, Atoms]]) -> Figure:
    """Structures side by side, seen along z: far atoms first."""
    figure = Figure(figsize=(3 * len(pictures), 3.2), layout="constrained")
    for place, (title, atoms) in enumerate(pictures):
        axes = figure.add_subplot(1, len(pictures), place + 1)
        inside = atoms.copy()
        if atoms.pbc.any():
            inside.wrap()
        order = np.argsort(inside.positions[:, 2])
        x, y, z = inside.positions[order].T
        depth = (z - z.min()) / max(np.ptp(z), 1e-9)
        extent = max(np.ptp(x), np.ptp(y), 1.0)
        sizes = (covalent_radii[inside.numbers[order]] / extent * 200) ** 2
        colours = 0.45 + (jmol_colors[inside.numbers[order]] - 0.45) * (0.5 + 0.5 * depth[:, None])
        axes.scatter(x, y, s=sizes, c=np.clip(colours, 0, 1), edgecolors="#00000080", lw=0.3)
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) @ inside.cell.array[:2, :2]
        axes.plot(*corners.T, color="gray", lw=0.7)
        axes.set_title(title, fontsize=8, parse_math=False)
        axes.set_aspect("equal")
        axes.axis("off")
    return inked(figure)


def as_svg(figure: Figure) -> str:
    """The picture as text for a page: its ink is the page's, its ground is not there."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :].replace(_INK, "currentColor")


def save_png(figure: Figure, path: Path) -> None:
    """The picture in black on white."""
    inked(figure, "black").savefig(path, dpi=150, facecolor="white")
    inked(figure)


def _few(count: int) -> list[int]:
    """Systems that are drawn: all, or some from the first to the last."""
    spread = np.linspace(0, count - 1, min(count, _MOST_LINES))
    return np.unique(spread.round().astype(int)).tolist()


def plain(axes: Axes) -> None:
    """Small numbers, and no frame."""
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def inked(figure: Figure, ink: str = _INK) -> Figure:
    """The picture with all its text and axes in one ink; left out, that of the page."""
    for axes in figure.axes:
        parts: list[Any] = [axes.xaxis.label, axes.yaxis.label, axes.title]
        for part in (*parts, *axes.get_xticklabels(), *axes.get_yticklabels()):
            part.set_color(ink)
        axes.tick_params(colors=ink)
        for spine in axes.spines.values():
            spine.set_color(ink)
        _ink_legend(axes.get_legend(), ink)
    for legend in figure.legends:
        _ink_legend(legend, ink)
    return figure


def _ink_legend(legend: Any, ink: str) -> None:
    if legend is not None:
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_color(ink)
