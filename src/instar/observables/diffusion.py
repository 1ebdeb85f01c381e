"""Diffusion coefficients, from displacements and from velocities.

In three dimensions, at long times,

    MSD(t) → 2·3·D t + const.        (A. Einstein, Ann. Phys. 322, 549 (1905))

    D = 1/3 ∫₀^∞ VACF(t) dt          (M. S. Green, J. Chem. Phys. 22, 398 (1954);
                                      R. Kubo, J. Phys. Soc. Jpn. 12, 570 (1957))
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instar.core.typing import ArrayLike
from instar.observables.selection import ObserverError

__all__ = ["Diffusion", "diffusion", "green_kubo"]

DIMENSIONS = 3


class Diffusion(NamedTuple):
    """D of each system (Å² per unit of time), and its standard error."""

    value: np.ndarray  # (systems,)
    error: np.ndarray  # (systems,); NaN where no parts were given


def diffusion(
    msd: ArrayLike, interval: float, fit: tuple[int, int], parts: ArrayLike | None = None
) -> Diffusion:
    """Diffusion coefficients from the slope of mean-square displacements between two lags.

        MSD(t) → 6 D t + const.        (A. Einstein, Ann. Phys. 322, 549 (1905))

    Points of one MSD are correlated, so that their scatter tells nothing about the error: for that
    pass ``parts``.

    Parameters
    ----------
    msd
        (lags, systems) Å².
    interval
        The time between frames, in any unit.
    fit
        The first and the last lag of the line of least squares, in frames.
    parts
        (parts, lags, systems): the displacements of independent parts of the trajectory.

    Returns
    -------
    Diffusion
        ``value`` (systems,) in Å² per unit of time, and ``error``, that of the mean of the slopes
        of the parts; NaN without parts.

    Raises
    ------
    ObserverError
        If there are too few lags, or fewer than two parts.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import diffusion
    >>> line = 6 * 0.25 * 2.0 * np.arange(10.0)[:, None]
    >>> print(diffusion(line, interval=2.0, fit=(2, 9)).value.round(6))
    [0.25]
    """
    value = _slope(np.asarray(msd, np.float64), interval, fit) / (2 * DIMENSIONS)
    if parts is None:
        return Diffusion(value, np.full_like(value, np.nan))
    several = np.asarray(parts, np.float64)
    if len(several) < 2:
        raise ObserverError(
            f"An error needs two parts of a trajectory or more, not {len(several)}."
        )
    slopes = np.array([_slope(part, interval, fit) for part in several]) / (2 * DIMENSIONS)
    return Diffusion(value, slopes.std(axis=0, ddof=1) / np.sqrt(len(several)))


def green_kubo(vacf: ArrayLike, interval: float) -> np.ndarray:
    """Diffusion coefficients from the integral of velocity autocorrelations.

        D = 1/3 ∫₀^∞ VACF(t) dt

    M. S. Green, J. Chem. Phys. 22, 398 (1954); R. Kubo, J. Phys. Soc. Jpn. 12, 570 (1957). The
    integral is that of the trapezoidal rule.

    Parameters
    ----------
    vacf
        (lags, systems) autocorrelations of velocities.
    interval
        The time between frames, in the unit of time of the velocities.

    Returns
    -------
    array
        (lags, systems) D as a function of the time up to which is integrated; read it where it no
        longer grows.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import green_kubo
    >>> print(green_kubo(np.exp(-np.arange(0, 20, 0.01))[:, None], 0.01)[-1].round(3))
    [0.333]
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
