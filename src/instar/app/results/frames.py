"""Structure and motion from the frames of a run: g(r), displacements, velocities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.ase.structures import structures_of, tables
from instar.app.results.trajectory import Trajectory
from instar.core.lens import identity_lens
from instar.core.utils.jax import dataclass
from instar.observables import Curve, ObserverError, observe
from instar.observables.radial import RadialObservation

__all__ = ["correlated", "radial_curves"]


@dataclass
class _Frame:
    particles: Any
    systems: Any


def radial_curves(
    trajectory: Trajectory,
    entries: Sequence[RadialObservation],
    frames: Sequence[int],
    systems: Sequence[int],
) -> list[Curve]:
    """g(r) of some systems in some frames, for each of the entries; NaN for the other systems.

    All of them have the same room for neighbors, and so one compiled program.
    """
    with jax.enable_x64(True):
        states = [_state(trajectory, frame, systems) for frame in frames]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
        fresh = [entry.made(states[0], identity_lens()) for entry in entries]
        room = {name: max(one.sizes[name] for one in fresh) for name in fresh[0].sizes}
        found = []
        for entry, one in zip(entries, fresh, strict=True):
            seen = observe(one.resized(room), stacked)
            room = seen.sizes
            curve = entry.found(seen, None).curves["g"]
            found.append(_of_all(curve, systems, trajectory.systems))
    return found


def _of_all(found: Curve, systems: Sequence[int], count: int) -> Curve:
    """A curve of some systems as one of all, which is NaN for the others."""
    x, y = (np.full((count, a.shape[1]), np.nan) for a in (found.x, found.y))
    x[systems], y[systems] = found.x, found.y
    return Curve(x, y, found.x_name, found.x_unit, found.y_name, found.y_unit)


def _state(trajectory: Trajectory, frame: int, systems: Sequence[int]) -> _Frame:
    every = trajectory.structures(frame)
    return _Frame(*tables(structures_of([every[n] for n in systems]), np.float64))


def correlated(
    trajectory: Trajectory,
    of: Callable[..., np.ndarray],
    rows: Callable[[int], np.ndarray],
    words: tuple[str, str],
    lags: int | None,
) -> Curve:
    """A correlation of each system in the production against time (ps).

    It is NaN where a system has too few frames.

    ``of`` is a function such as `mean_square_displacement`, ``rows`` reads what it takes of a
    system, ``words`` are the name and the unit of what it returns.
    """
    if trajectory.times is None:
        raise ObserverError("Correlations in time need steps that have a time; those here do not.")
    production = trajectory.production
    times = trajectory.times[production]
    intervals = np.diff(times)
    if len(intervals) and np.ptp(intervals) > 1e-6 * intervals[0]:
        raise ObserverError("The frames of this run are not equally far apart in time.")
    lags = max(len(times), 1) if lags is None else lags
    values = np.full((trajectory.systems, lags), np.nan)
    for system in trajectory.recorded:
        found = of(rows(system)[production], lags=lags)
        values[system] = found[:, 0]
    interval = intervals[0] / 1000 if len(intervals) else np.nan
    delays = np.broadcast_to(interval * np.arange(lags), values.shape)
    return Curve(delays, values, "t", "ps", *words)
