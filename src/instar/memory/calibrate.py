"""Calibration: a program's footprint from the compiler's own figures.

The program is compiled for abstract arguments, so nothing is allocated: once small, once with
each measure doubled or so, and once with all of them, which no line was fitted to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.memory.footprint import Footprint, Sizes
from instar.memory.need import Need, Programs

__all__ = ["calibrate", "fit"]

TOLERANCE = 0.01
"""How far the last point may be from the line."""


def calibrate(
    program: Callable[..., Any] | Programs,
    arguments: Callable[..., Any],
    **sizes: tuple[int, int],
) -> Footprint:
    """The footprint of ``program(*arguments(**sizes))`` between two sizes of each measure.

    ``arguments`` returns a tuple of (abstract) arguments for sizes by name, such as
    ``lambda frames: (jax.ShapeDtypeStruct((frames, 50, 3), jnp.float32),)`` with
    ``frames=(64, 256)``.
    """
    for name, (low, high) in sizes.items():
        if not 0 < low < high:
            raise ValueError(
                f"{name} is calibrated between two sizes, the smaller first; not ({low}, {high})."
            )
    programs = program if isinstance(program, Programs) else Programs(program)

    def need(at: Sizes) -> Need:
        return programs.need(*arguments(**at))

    low = {name: ends[0] for name, ends in sizes.items()}
    high = {name: ends[1] for name, ends in sizes.items()}
    return fit(need, low, high)


def fit(need: Callable[[Sizes], Need], low: Sizes, high: Sizes) -> Footprint:
    """The line through the needs at ``low`` and with each measure at ``high``.

    It is not a line if less than nothing is left at size 0, which betrays memory that grows faster
    or is not reported, or if the need with all measures at ``high`` is elsewhere.
    """
    base, slopes, reported = need(low), {}, {}
    for name in low:
        moved, length = need({**low, name: high[name]}), high[name] - low[name]
        slopes[name] = (moved.bytes - base.bytes) / length
        reported[name] = (moved.reported - base.reported) / length
    fixed = base.bytes - sum(slopes[name] * low[name] for name in low)
    intercept = base.reported - sum(reported[name] * low[name] for name in low)
    found = Footprint(
        max(0.0, fixed),
        {name: max(0.0, slope) for name, slope in slopes.items()},
        "the compiler",
        exact=lambda sizes: need(sizes).bytes,
    )
    check = _between(low, high) if len(low) == 1 else high
    there = need(check).bytes
    straight = abs(int(found.bytes(check)) - there) <= TOLERANCE * there
    below = intercept < -TOLERANCE * base.reported or min(slopes.values()) < 0
    if straight and not below:
        return found
    return Footprint(
        found.fixed, found.per, "the compiler, size by size", linear=False, exact=found.exact
    )


def _between(low: Sizes, high: Sizes) -> Sizes:
    return {name: (low[name] + high[name]) // 2 for name in low}
