"""g(r) of the frames of a run, for every pair of species."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from instar.app.config import Loaded
from instar.app.results.frames import radial_curves
from instar.app.results.trajectory import Trajectory
from instar.app.run.findings import in_units
from instar.observables import Curve, Finding
from instar.observables.radial import RadialObservation

__all__ = ["RadialCurves", "radial_of"]

_FRAMES, _BINS, _REACH = 50, 150, 10.0  # Å
_POSITIONS = 2_000_000
"""Positions that are looked at in all, so that a report of a large run is not slow."""
_PAIRS = 6
_NAMED = 10
"""Systems that are named at most where some are left out."""


class RadialCurves(NamedTuple):
    """g(r) by pair of species, NaN where a system has none; and what to know about them."""

    curves: dict[str, Curve]
    note: str


def radial_of(trajectory: Trajectory, loaded: Loaded, exploded: Sequence[int] = ()) -> RadialCurves:
    """g(r) of each pair of species in each system, from frames of the production.

    Systems that do not repeat along all axes have no density, and no g(r): they are left out. So
    are those that ``exploded``, whose frames are one and the same after that.
    """
    periodic = [n for n in trajectory.recorded if trajectory.periodic(n).all()]
    systems = [n for n in periodic if n not in exploded]
    left_out = _left_out(trajectory, periodic, exploded)
    frames = _frames(trajectory, loaded, systems)
    if not frames:
        return RadialCurves({}, left_out)
    pairs, more = _pairs(trajectory, systems)
    entries = [RadialObservation(pair=pair, reach=_REACH, bins=_BINS) for pair in pairs]
    found = zip(pairs, radial_curves(trajectory, entries, frames, systems), strict=True)
    curves = {"-".join(pair): _in_units(curve, loaded) for pair, curve in found}
    notes = [f"From {len(frames)} frame{'s' * (len(frames) > 1)}.", more, left_out]
    return RadialCurves(curves, " ".join(filter(None, notes)))


def _in_units(curve: Curve, loaded: Loaded) -> Curve:
    return in_units(Finding({"g": curve}), loaded.units).curves["g"]


def _frames(trajectory: Trajectory, loaded: Loaded, systems: Sequence[int]) -> list[int]:
    """Frames of the production that all of these systems have, spread over the run."""
    count = min(map(trajectory.count, systems), default=0)
    made = np.flatnonzero(trajectory.steps[:count] > loaded.production.first)
    atoms = sum(len(trajectory.numbers(n)) for n in systems)
    most = int(np.clip(_POSITIONS // max(atoms, 1), 1, _FRAMES))
    places = np.linspace(0, len(made) - 1, min(len(made), most)).round().astype(int)
    return made[np.unique(places)].tolist()


def _pairs(trajectory: Trajectory, systems: Sequence[int]) -> tuple[list[tuple[str, str]], str]:
    """Pairs of species, the most frequent first; and a word about those that are left out."""
    counted = collections.Counter[str]()
    for system in systems:
        counted.update(trajectory.symbols(system))
    every = list(itertools.combinations_with_replacement([s for s, _ in counted.most_common()], 2))
    every.sort(key=lambda pair: -counted[pair[0]] * counted[pair[1]])
    more = f"{_PAIRS} of {len(every)} pairs of species are shown; ask for others under observe:."
    return every[:_PAIRS], more if len(every) > _PAIRS else ""


def _left_out(trajectory: Trajectory, periodic: Sequence[int], exploded: Sequence[int]) -> str:
    """A word about systems that have frames, and no g(r)."""
    ends = [n for n in trajectory.recorded if n not in periodic]
    verb = "does" if len(ends) == 1 else "do"
    why = f"which {verb} not repeat along all axes: no density, no g(r)"
    gone = [n for n in periodic if n in exploded]
    said = [(ends, why), (gone, "which exploded")]
    return " ".join(f"Without {_listed(trajectory, some)}, {why}." for some, why in said if some)


def _listed(trajectory: Trajectory, systems: Sequence[int]) -> str:
    names = ", ".join(f"“{trajectory.names[n]}”" for n in systems[:_NAMED])
    return f"{names}, …" if len(systems) > _NAMED else names
