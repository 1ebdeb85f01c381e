"""Diffusion coefficients, from displacements and from velocities.

In three dimensions, at long times,

    MSD(t) → 2·3·D t + const.        (A. Einstein, Ann. Phys. 322, 549 (1905))

    D = 1/3 ∫₀^∞ VACF(t) dt          (M. S. Green, J. Chem. Phys. 22, 398 (1954);
                                      R. Kubo, J. Phys. Soc. Jpn. 12, 570 (1957))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from instar.observables.selection import ObserverError

__all__ = ["Diffusion", "diffusion", "green_kubo"]

DIMENSIONS = 3


class Diffusion(NamedTuple):
    """D of each system (Å² per unit of time), and its standard error."""

    value: np.ndarray  # (systems,)
    error: np.ndarray  # (systems,); NaN where no parts were given


def diffusion(msd: Any, interval: float, fit: tuple[int, int], parts: Any = None) -> Diffusion:
    """D from the slope of mean-square displacements (lags, systems) between two lags.

    ``interval`` is the time between frames, and ``fit`` the first and the last lag of the line of
    least squares, in frames. Points of one MSD are correlated, so their scatter tells nothing
    about the error: for that pass ``parts`` (parts, lags, systems), the displacements of
    independent parts of the trajectory; the error is that of the mean of their slopes.
    """
    value = _slope(np.asarray(msd, np.float64), interval, fit) / (2 * DIMENSIONS)
    if parts is None:
        return Diffusion(value, np.full_like(value, np.nan))
    several = np.array([np.asarray(part, np.float64) for part in parts])
    if len(several) < 2:
        raise ObserverError(
            f"An error needs two parts of a trajectory or more, not {len(several)}."
        )
    slopes = np.array([_slope(part, interval, fit) for part in several]) / (2 * DIMENSIONS)
    return Diffusion(value, slopes.std(axis=0, ddof=1) / np.sqrt(len(several)))


def green_kubo(vacf: Any, interval: float) -> np.ndarray:
    """(lags, systems) D as a function of the time up to which the VACF is integrated.

    ``vacf`` (lags, systems) is that of unscaled velocities, ``interval`` the time between frames;
    the integral is that of the trapezoidal rule. Read D where it no longer grows.
    """
    values = np.asarray(vacf, np.float64)
    steps = (values[1:] + values[:-1]) / 2 * interval
    start = np.zeros_like(values[:1])
    return np.concatenate([start, np.cumsum(steps, axis=0)]) / DIMENSIONS


def _slope(msd: np.ndarray, interval: float, fit: tuple[int, int]) -> np.ndarray:
    """dMSD/dt of the line of least squares."""
    first, last = fit
    if not 0 <= first < last < len(msd):
        raise ObserverError(
            f"A line through the lags {first} to {last} needs two or more of the {len(msd)} that "
            "there are."
        )
    time = interval * np.arange(first, last + 1)
    time = (time - time.mean()).reshape(-1, *(1,) * (msd.ndim - 1))
    return np.sum(time * msd[first : last + 1], axis=0) / np.sum(time**2)
