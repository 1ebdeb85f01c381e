"""Pictures of a run. Text and axes take the colour of the page, so that they fit light and dark."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping, Sequence
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
    "Lines",
    "as_svg",
    "axis_labels",
    "curve_figure",
    "inked",
    "lines_figure",
    "plain",
    "save_png",
    "structure_figure",
]

_INK = "#010203"
"""Stands for the colour of the page's text until the picture is put into it."""

_TOGETHER = 6
"""Systems that share a pair of axes; more have one pair each."""

_MOST, _COLUMNS = 36, 6
_POINTS = 400


@dataclasses.dataclass(frozen=True)
class Lines:
    """A line per system, by its number, and what x and y are; shaded up to some x."""

    of_system: Mapping[int, tuple[np.ndarray, np.ndarray]]
    x_label: str
    y_label: str
    title: str = ""
    shaded: float = 0.0


def lines_figure(lines: Lines) -> Figure:
    """Lines in one pair of axes; in one pair each if there are more than six.

    Of very many systems some are drawn, and the title says how many of how many.
    """
    together = len(lines.of_system) <= _TOGETHER
    return inked(_together(lines) if together else _apart(lines))


def _together(lines: Lines) -> Figure:
    figure = Figure(figsize=(4.6, 2.7), layout="constrained")
    axes = figure.add_subplot()
    for system, (x, y) in lines.of_system.items():
        axes.plot(x, y, lw=0.9, label=f"{system}")
    axes.set_xlabel(lines.x_label, parse_math=False)
    axes.set_ylabel(lines.y_label, parse_math=False)
    axes.set_title(lines.title, fontsize=8, parse_math=False)
    _finish(axes, lines)
    if len(lines.of_system) > 1:
        axes.legend(title="system", frameon=False, fontsize=7, title_fontsize=7, ncols=2)
    return figure


def _apart(lines: Lines) -> Figure:
    """Small multiples, with a scale each: systems of one batch may be very different."""
    shown = _few(list(lines.of_system))
    rows = -(-len(shown) // _COLUMNS)
    height = 0.8 + 1.2 * rows
    figure = Figure(figsize=(9.4, height))  # a layout that is searched for takes long for many axes
    figure.subplots_adjust(0.08, 0.5 / height, 0.99, 1 - 0.45 / height, 0.5, 0.35)
    every = figure.subplots(rows, _COLUMNS, sharex=True, squeeze=False).ravel()
    for axes, system in zip(every, shown, strict=False):
        axes.plot(*_thinned(*lines.of_system[system]), lw=0.7)
        axes.set_title(f"{system}", fontsize=7, pad=2)
        _finish(axes, lines)
    for axes in every[len(shown) :]:
        axes.axis("off")
    figure.supxlabel(lines.x_label, fontsize=8, parse_math=False)
    figure.supylabel(lines.y_label, fontsize=8, parse_math=False)
    figure.suptitle(_heading(lines, len(shown)), fontsize=8, parse_math=False)
    return figure


def _heading(lines: Lines, shown: int) -> str:
    every = len(lines.of_system)
    part = f"{shown} of {every} systems" if shown < every else "one panel per system"
    return f"{lines.title}: {part}" if lines.title else part


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The line with the lowest and the highest of every few points, where there are very many."""
    known = np.flatnonzero(np.isfinite(y))
    if len(known) <= _POINTS:
        return x, y
    parts = np.array_split(known, _POINTS // 2)
    kept = np.unique([part[f(y[part])] for part in parts for f in (np.argmin, np.argmax)])
    return x[kept], y[kept]


def _finish(axes: Axes, lines: Lines) -> None:
    """Shade what is not production, and let that be as high as the axes."""
    plain(axes)
    if lines.shaded <= 0:
        return
    axes.axvspan(0, lines.shaded, color="gray", alpha=0.15, lw=0)
    drawn = np.concatenate([line.get_xydata() for line in axes.get_lines()])
    made = drawn[(drawn[:, 0] > lines.shaded) & np.isfinite(drawn[:, 1]), 1]
    if len(made) and np.ptp(made) > 0:
        margin = 0.1 * np.ptp(made)
        axes.set_ylim(made.min() - margin, made.max() + margin)


def curve_figure(curve: Curve, title: str = "") -> Figure:
    """A curve of each system that has one."""
    known = [n for n, y in enumerate(curve.y) if np.isfinite(y).any()]
    return lines_figure(
        Lines({n: (curve.x[n], curve.y[n]) for n in known}, *axis_labels(curve), title)
    )


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


def _few(systems: list[int]) -> list[int]:
    """Systems that are drawn: all, or some from the first to the last."""
    spread = np.linspace(0, len(systems) - 1, min(len(systems), _MOST))
    return [systems[place] for place in np.unique(spread.round().astype(int))]


def plain(axes: Axes) -> None:
    """Small numbers, and no frame."""
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def inked(figure: Figure, ink: str = _INK) -> Figure:
    """The picture with all its text and axes in one ink; left out, that of the page."""
    for axes in figure.axes:
        parts: list[Any] = [axes.xaxis.label, axes.yaxis.label, axes.title]
        for part in parts:
            part.set_color(ink)
        axes.tick_params(colors=ink)
        for spine in axes.spines.values():
            spine.set_color(ink)
        _ink_legend(axes.get_legend(), ink)
    for text in figure.texts:
        text.set_color(ink)
    return figure


def _ink_legend(legend: Any, ink: str) -> None:
    if legend is not None:
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_color(ink)
