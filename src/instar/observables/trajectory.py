"""Correlations of a whole trajectory, by Fourier transform, on the host.

By the theorem of Wiener and Khinchin the sum over all frames of products at the lag k is the
inverse transform of a power spectrum; a series padded with as many zeros does not wrap around:

    S₂(k) = Σ_t x(t)·x(t + k) = F⁻¹[ |F x|² ](k)

The mean-square displacement of n frames follows from it with D(t) = |r(t)|²:

    (n − k) MSD(k) = S₁(k) − 2 S₂(k),        S₁(k) = Σ_t [ D(t) + D(t + k) ]

    G. R. Kneller, V. Keiner, M. Kneller, M. Schiller, Comput. Phys. Comm. 91, 191 (1995)
    V. Calandrini, E. Pellegrini, P. Calligari, K. Hinsen, G. R. Kneller,
    Collection SFN 12, 201 (2011)

It costs n log n, not n²; the numbers are those of `instar.observables.correlation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from instar.core.data import Index
from instar.core.typing import ArrayLike, SystemId
from instar.observables.selection import ObserverError

__all__ = ["mean_square_displacement", "velocity_autocorrelation"]

AT_ONCE = 2**20
"""Numbers that are transformed together: what bounds the memory."""


def mean_square_displacement(
    positions: ArrayLike,
    system: ArrayLike | Index[SystemId] | None = None,
    *,
    lags: int | None = None,
    counted: ArrayLike | None = None,
    masses: ArrayLike | None = None,
    frozen: ArrayLike | None = None,
) -> np.ndarray:
    """Mean-square displacements of a whole trajectory, at every lag.

        MSD(k) = ⟨ |rᵢ(t) − rᵢ(t − k)|² ⟩

    A run has the same as a method: ``run.mean_square_displacement()``.

    Parameters
    ----------
    positions
        (frames, particles, 3) Å, not wrapped into the cell.
    system
        (particles,) or Index: the system of each particle; left out, there is one. Entries out of
        bounds are absent.
    lags
        How many lags, from 0 on; left out, as many as frames.
    counted
        (particles,) bool: the particles to average over; left out, all.
    masses
        (particles,) amu: where given, motion of each system's centre of mass is removed.
    frozen
        (frames, systems) bool: a system counts until it is first frozen.

    Returns
    -------
    array
        (lags, systems) Å²; NaN for lags without a pair of frames.

    Raises
    ------
    ObserverError
        If shapes do not fit together, or positions are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import mean_square_displacement
    >>> moving = np.arange(5.0)[:, None, None] * np.array([[[2.0, 0.0, 0.0]]])
    >>> print(mean_square_displacement(moving, lags=3)[:, 0].round(6))
    [ 0.  4. 16.]
    """
    return _by_system(_displacements, (positions, system, lags), (counted, masses, frozen))


def velocity_autocorrelation(
    velocities: ArrayLike,
    system: ArrayLike | Index[SystemId] | None = None,
    *,
    lags: int | None = None,
    counted: ArrayLike | None = None,
    masses: ArrayLike | None = None,
    frozen: ArrayLike | None = None,
) -> np.ndarray:
    """Velocity autocorrelations of a whole trajectory, at every lag.

        VACF(k) = ⟨ vᵢ(t) · vᵢ(t − k) ⟩

    A run has the same as a method: ``run.velocity_autocorrelation()``.

    Parameters
    ----------
    velocities
        (frames, particles, 3) in any unit.
    system, lags, counted, masses, frozen
        As for `mean_square_displacement`.

    Returns
    -------
    array
        (lags, systems) in that unit squared; NaN for lags without a pair of frames.

    Raises
    ------
    ObserverError
        If shapes do not fit together, or velocities are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import velocity_autocorrelation
    >>> print(velocity_autocorrelation(np.ones((4, 2, 3)), lags=2)[:, 0].round(6))
    [3. 3.]
    """
    return _by_system(_products, (velocities, system, lags), (counted, masses, frozen))


def _by_system(kind: Any, what: tuple[Any, ...], choice: tuple[Any, ...]) -> np.ndarray:
    values, system, lags = what
    counted, masses, frozen = choice
    values = np.asarray(values)
    if values.ndim != 3 or values.shape[2] != 3:
        raise ObserverError(
            f"A trajectory has the shape (frames, particles, 3), not {values.shape}."
        )
    frames = len(values)
    system, systems = _systems(system, values.shape[1])
    lags = frames if lags is None else lags
    ends = _ends(frozen, frames, systems)
    result = np.full((lags, systems), np.nan)
    for number in range(systems):
        rows = np.flatnonzero(system == number)
        own = values[: ends[number], rows].astype(np.float64)
        _check_finite(own, rows)
        if masses is not None and len(rows):
            own -= np.average(own, axis=1, weights=np.asarray(masses)[rows])[:, None]
        if counted is not None:
            own = own[:, np.asarray(counted)[rows]]
        if own.size:
            found = kind(own)[:lags]
            result[: len(found), number] = found
    return result.astype(values.dtype if values.dtype.kind == "f" else np.float64)


def _displacements(positions: np.ndarray) -> np.ndarray:
    """MSD of (frames, particles, 3) at every lag."""
    # Displacements do not depend on the origin: near zero the difference keeps its digits.
    centred = positions - positions.mean(axis=0)
    frames, particles, _ = centred.shape
    squares = np.sum(centred**2, axis=(1, 2))
    gone = np.concatenate([[0.0], np.cumsum(squares + squares[::-1])[:-1]])
    both = 2 * squares.sum() - gone
    pairs = particles * np.arange(frames, 0, -1)
    result = (both - 2 * _products_summed(centred)) / pairs
    result[0] = 0.0
    return result


def _products(velocities: np.ndarray) -> np.ndarray:
    """VACF of (frames, particles, 3) at every lag."""
    frames, particles, _ = velocities.shape
    return _products_summed(velocities) / (particles * np.arange(frames, 0, -1))


def _products_summed(values: np.ndarray) -> np.ndarray:
    """S₂ summed over particles: their spectra are added, and transformed back once."""
    frames = len(values)
    length = 1 << (2 * frames - 1).bit_length()
    power = np.zeros(length // 2 + 1)
    several = max(1, AT_ONCE // (3 * length))
    for start in range(0, values.shape[1], several):
        spectrum = np.fft.rfft(values[:, start : start + several], length, axis=0)
        power += np.sum(spectrum.real**2 + spectrum.imag**2, axis=(1, 2))
    return np.fft.irfft(power, length)[:frames]


def _systems(system: ArrayLike | Index[SystemId] | None, particles: int) -> tuple[np.ndarray, int]:
    """The system of each particle, and how many systems there are."""
    if system is None:
        return np.zeros(particles, np.int32), 1
    if isinstance(system, Index):
        return np.asarray(system.indices), len(system.vocabulary)
    entries = np.asarray(system)
    if entries.shape != (particles,):
        raise ObserverError(
            f"There are {particles} particles, but systems of shape {entries.shape}.\n"
            "Give the system of each particle once, not of each frame."
        )
    return entries, int(entries.max(initial=-1)) + 1


def _ends(frozen: ArrayLike | None, frames: int, systems: int) -> np.ndarray:
    """How many frames of each system count."""
    if frozen is None:
        return np.full(systems, frames)
    frozen = np.asarray(frozen)
    return np.where(frozen.any(axis=0), np.argmax(frozen, axis=0), frames)


def _check_finite(values: np.ndarray, rows: np.ndarray) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        frame, row, _ = bad[0].tolist()
        raise ObserverError(
            f"Particle {int(rows[row])} is not at a finite place in frame {frame}.\n"
            "Say from when on its system is frozen, or leave that system out."
        )
