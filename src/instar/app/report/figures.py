"""Pictures of a run. Text and axes take the colour of the page, so that they fit light and dark."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from instar.observables import Curve

__all__ = [
    "Lines",
    "as_svg",
    "axis_labels",
    "counts_figure",
    "curve_figure",
    "inked",
    "lines_figure",
    "plain",
    "save_png",
    "short",
]

_INK = "#010203"
"""Stands for the colour of the page's text until the picture is put into it."""

_TOGETHER = 6
"""Systems that share a pair of axes; more have one pair each."""

_COLOURS = ("#3a8fd9", "#e6830b", "#2a9d5f", "#d9534f", "#9a6fd0", "#8c7a4f")
"""Of lines: they are legible on white and on black."""

_MOST, _COLUMNS = 36, 6
_POINTS, _FEW_POINTS = 1000, 400
"""Points of a line: in a large pair of axes, and in a small one."""
_LONGEST = 24
"""Characters of a name in a picture."""


@dataclasses.dataclass(frozen=True)
class Lines:
    """A line per system, by its number, and what x and y are; shaded up to some x.

    ``names`` are those of all systems; without them, systems are called by their numbers.
    ``asked`` are lines of what some systems were to have.
    """

    of_system: Mapping[int, tuple[np.ndarray, np.ndarray]]
    x_label: str
    y_label: str
    title: str = ""
    shaded: float = 0.0
    names: Sequence[str] = ()
    asked: Mapping[int, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict)

    def name(self, system: int) -> str:
        """What a system is called in a picture."""
        return short(self.names[system]) if self.names else f"{system}"


def lines_figure(lines: Lines) -> Figure:
    """Lines in one pair of axes; in one pair each if there are more than six.

    Of very many systems some are drawn, and the title says how many of how many.
    """
    together = len(lines.of_system) <= _TOGETHER
    return inked(_together(lines) if together else _apart(lines))


def _together(lines: Lines) -> Figure:
    figure = Figure(figsize=(4.6, 2.7), layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=_COLOURS)
    for system in lines.of_system:
        _draw(axes, lines, system, 0.9, _POINTS)
    axes.set_xlabel(lines.x_label, parse_math=False)
    axes.set_ylabel(lines.y_label, parse_math=False)
    axes.set_title(lines.title, fontsize=8, parse_math=False)
    _finish(axes, lines)
    if len(lines.of_system) > 1:
        _add_legend(axes, lines)
    return figure


def _add_legend(axes: Axes, lines: Lines) -> None:
    """Names of systems. They are put in afterwards: a label that begins with _ is left out."""
    names = [lines.name(system) for system in lines.of_system]
    columns = 2 if max(map(len, names)) <= _LONGEST // 2 else 1
    legend = axes.legend(frameon=False, fontsize=7, ncols=columns)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)


def _draw(axes: Axes, lines: Lines, system: int, width: float, points: int) -> None:
    """The line of a system, and dashed what it was to have."""
    x, y = _thinned(*lines.of_system[system], points)
    (line,) = axes.plot(x, y, lw=width, label=f"{system}")
    if system in lines.asked:
        colour = line.get_color() if len(lines.of_system) <= _TOGETHER else "gray"
        axes.plot(*lines.asked[system], lw=0.8, ls="--", color=colour, label="_asked")


def _apart(lines: Lines) -> Figure:
    """Small multiples, with a scale each: systems of one batch may be very different."""
    shown = _few(list(lines.of_system))
    rows = -(-len(shown) // _COLUMNS)
    columns = -(-len(shown) // rows)
    height = 0.8 + 1.2 * rows
    figure = Figure(figsize=(9.4, height))  # a layout that is searched for takes long for many axes
    figure.subplots_adjust(0.08, 0.5 / height, 0.99, 1 - 0.45 / height, 0.4, 0.4)
    every = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for axes, system in zip(every, shown, strict=False):
        axes.set_prop_cycle(color=_COLOURS)
        _draw(axes, lines, system, 0.7, _FEW_POINTS)
        axes.set_title(lines.name(system), fontsize=7, pad=2, parse_math=False)
        _finish(axes, lines)
    for place in range(len(shown), len(every)):
        every[place].axis("off")
        every[place - columns].tick_params(labelbottom=True)  # the last one of its column
    figure.supxlabel(lines.x_label, fontsize=8, parse_math=False)
    figure.supylabel(lines.y_label, fontsize=8, x=0.005, parse_math=False)
    figure.suptitle(_heading(lines, len(shown)), fontsize=8, parse_math=False)
    return figure


def _heading(lines: Lines, shown: int) -> str:
    every = len(lines.of_system)
    part = f"{shown} of {every} systems" if shown < every else "one panel per system"
    return f"{lines.title}: {part}" if lines.title else part


def _thinned(x: np.ndarray, y: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """The line with the lowest and the highest of every few points, where there are very many."""
    known = np.flatnonzero(np.isfinite(y))
    if len(known) <= points:
        return x, y
    parts = np.array_split(known, points // 2)
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


def curve_figure(curve: Curve, title: str = "", names: Sequence[str] = ()) -> Figure:
    """A curve of each system that has one; ``names`` are those of all systems."""
    known = [n for n, y in enumerate(curve.y) if np.isfinite(y).any()]
    lines = {n: (curve.x[n], curve.y[n]) for n in known}
    return lines_figure(Lines(lines, *axis_labels(curve), title, names=names))


def axis_labels(curve: Curve) -> tuple[str, str]:
    """What x and y are, with units."""
    pairs = ((curve.x_name, curve.x_unit), (curve.y_name, curve.y_unit))
    x, y = (f"{name} ({unit})" if unit else name for name, unit in pairs)
    return x, y


def short(name: str) -> str:
    """A name that fits into a picture: its begin and its end, which tells copies apart."""
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def as_svg(figure: Figure) -> str:
    """The picture as text for a page: its ink is the page's, its ground is not there."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}), _any_script():
        figure.savefig(buffer, format="svg", transparent=True, dpi=130, metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"'DejaVu Sans'[^;\"]*sans-serif", "sans-serif", text)  # not a list of ten fonts
    text = re.sub(r'<path[^>]*? d="[^"]*"', _rounded, text)
    return text[text.index("<svg") :].replace(_INK, "currentColor")


def _rounded(path: re.Match[str]) -> str:
    """A path with two digits behind the point: hundredths of a point are not seen."""
    return re.sub(r"(\.\d\d)\d+", r"\1", path[0])


@contextlib.contextmanager
def _any_script() -> Iterator[None]:
    """Names may be in scripts that the font of the pictures lacks: nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from", UserWarning)
        yield


def save_png(figure: Figure, path: Path) -> None:
    """The picture in black on white."""
    with _any_script():
        inked(figure, "black").savefig(path, dpi=150, facecolor="white")
    inked(figure)


def _few(systems: list[int]) -> list[int]:
    """Systems that are drawn: all, or some from the first to the last."""
    spread = np.linspace(0, len(systems) - 1, min(len(systems), _MOST))
    return [systems[place] for place in np.unique(spread.round().astype(int))]


def plain(axes: Axes) -> None:
    """Small numbers, in powers of ten where they are very small or large, and no frame."""
    axes.tick_params(labelsize=7)
    axes.ticklabel_format(axis="y", scilimits=(-3, 5), useMathText=False)
    axes.yaxis.get_offset_text().set_fontsize(7)
    axes.spines[["top", "right"]].set_visible(False)


def inked(figure: Figure, ink: str = _INK) -> Figure:
    """The picture with all its text and axes in one ink; left out, that of the page."""
    for axes in figure.axes:
        offset = axes.yaxis.get_offset_text()
        parts: list[Any] = [axes.xaxis.label, axes.yaxis.label, axes.title, offset]
        for part in parts:
            part.set_color(ink)
        axes.tick_params(colors=ink)
        for spine in axes.spines.values():
            spine.set_color(ink)
        _ink_legend(axes.get_legend(), ink)
    for text in figure.texts:
        text.set_color(ink)
    for legend in figure.legends:
        _ink_legend(legend, ink)
    return figure


def _ink_legend(legend: Any, ink: str) -> None:
    if legend is not None:
        for text in (*legend.get_texts(), legend.get_title()):
            text.set_color(ink)


def counts_figure(values: Sequence[float], x_label: str, of: str) -> Figure:
    """How many there are of which size, as a histogram."""
    figure = Figure(figsize=(4.6, 2.7), layout="constrained")
    axes = figure.subplots()
    axes.hist(values, bins=min(30, max(1, len(set(values)))), color="0.4")
    axes.set(xlabel=x_label, ylabel=of)
    return inked(figure)
