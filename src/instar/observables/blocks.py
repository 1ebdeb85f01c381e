"""How well a mean is known when what it is a mean of is correlated in time.

Blocking. Neighboring values are averaged in pairs again and again: level l holds n_l = ⌊n/2ˡ⌋
means of blocks of B = 2ˡ values, with the variance σ_l². The standard error of the mean,

    ε_l = √(σ_l² / (n_l − 1)),

grows with l until blocks are longer than correlations, then stays, ever less certain: its own
relative error is 1/√(2(n_l − 1)).

    H. Flyvbjerg, H. G. Petersen, J. Chem. Phys. 91, 461 (1989)

The level is chosen as the smallest that meets two conditions. First,

    4 B³ ≥ n (ε_l / ε_0)⁴

For correlations that decay as one exponential, (ε_l / ε_0)² tends to their time τ, blocks of B
values make ε_l too small by τ/4B of itself, and its statistical error is √(B/2n) of itself. The
sum of their squares is smallest at B³ = n τ²/4. Second, no level k > l with enough blocks may have
an error that is larger by more than is uncertain about it,

    ε_l ≥ ε_k (1 − 1/√(2(n_k − 1)))    for n_k ≥ max(8, n^⅓)

or a slow motion would be missed that hides behind a fast one; the number of blocks that is enough
grows with the series, so that errors of longer series are sharper. The rule follows from the
numbers on the levels alone, so that it can be used on the fly as well. It goes back to

    U. Wolff, Comput. Phys. Comm. 156, 143 (2004)
    R. M. Lee, G. J. Conduit, N. Nemec, P. López Ríos, N. D. Drummond,
    Phys. Rev. E 83, 066706 (2011)

Two corrections make the error right for short series. What blocks of B values still leave out is
about as much as the last doubling has added, and few blocks need Student's factor t, with which
the mean ± ε holds the truth in 68 % of all cases:

    ε² = t² (ε_l² + max(ε_l² − ε_(l−1)², 0)),    t = 1 + 1/2ν + 1/4ν² + 1/16ν³,    ν = n_l − 1

The relative error of ε is about 1/√(n_l − 1).

    M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.5, for t at x = 1

Autocorrelation time. With ρ(t) the autocorrelation at lag t,

    τ = 1 + 2 Σ_{t=1}^{M} ρ(t),    M the smallest with M ≥ c·τ(M)/2,    c = 5

so that n values are worth n/τ independent ones, and τ = (1 + φ)/(1 − φ) for ρ(t) = φᵗ.

    A. D. Sokal, in: Functional Integration, NATO ASI B 361, 131 (1997); his τ_int is τ/2
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from instar.core.typing import ArrayLike
from instar.observables.selection import ObserverError

__all__ = ["BlockAverage", "autocorrelation_time", "block_average", "effective_samples"]

FEWEST = 4
"""Values below which nothing can be said about errors."""

FEW = 8
"""Blocks below which an error is too uncertain to overrule that of shorter blocks."""

SURE = 16
"""Blocks from which on an error is called converged.

With fewer, series whose error comes out too small would be told apart as the converged ones: they
are those for which short blocks seem to be long enough.
"""

WINDOW = 5.0
"""Sokal's c: the correlations beyond the window are about e⁻⁵ of all."""


class BlockAverage(NamedTuple):
    """A mean and its standard error; each an array like one row of the series, in float64."""

    mean: np.ndarray
    error: np.ndarray  # standard error of the mean
    error_of_error: np.ndarray
    variance: np.ndarray  # of the values themselves
    block: np.ndarray  # the length of block that was chosen
    converged: np.ndarray  # False: fewer than 16 blocks are left, the error is a guess
    errors: np.ndarray  # (levels, ...) the standard error for blocks of 1, 2, 4, ... values


def block_average(series: ArrayLike) -> BlockAverage:
    """Mean and standard error of a correlated series, by blocking.

        ε² = t² (ε_l² + max(ε_l² − ε_(l−1)², 0)),        ε_l² = σ_l²/(n_l − 1)

    at the level l of blocks of 2ˡ values that are longer than correlations; t is Student's factor
    for few blocks. H. Flyvbjerg, H. G. Petersen, J. Chem. Phys. 91, 461 (1989). A constant series
    has the error 0. Where correlations last for so much of the series that fewer than 16 blocks are
    longer (``converged`` is False), the error is uncertain, and rather too small.

    Parameters
    ----------
    series
        (time, ...) real numbers, four or more along time; in any unit, which the result has too.

    Returns
    -------
    BlockAverage
        ``mean``, ``error`` and more, each like one row of the series.

    Raises
    ------
    ObserverError
        If the series is too short, or has values that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import block_average
    >>> found = block_average(np.random.default_rng(0).normal(5.0, 1.0, 10_000))
    >>> bool(abs(found.mean - 5) < 3 * found.error), round(float(found.error), 2)
    (True, 0.01)
    """
    values = _values(series)
    origin = values[0]
    level = values - origin  # small numbers, so that no digits are lost
    counts, means, variances = [], [], []
    while len(level) >= 2:
        counts.append(np.full(level.shape[1:], len(level)))
        means.append(level.mean(axis=0))
        variances.append(level.var(axis=0))
        even = len(level) // 2 * 2
        level = (level[0:even:2] + level[1:even:2]) / 2
    return chosen_block(origin + means[0], np.array(counts), np.array(variances))


def chosen_block(mean: Any, counts: np.ndarray, variances: np.ndarray) -> BlockAverage:
    """The analysis of levels: (levels, ...) numbers of blocks and variances of their means."""
    enough = (counts >= 2) & (counts[0] >= FEWEST)
    errors = np.sqrt(np.where(enough, variances, np.nan) / np.maximum(counts - 1, 1))
    level = _level(errors, counts)
    error, blocks = _at(errors, level), _at(counts, level)
    added = np.maximum(error**2 - _at(errors, np.asarray(np.maximum(level - 1, 0))) ** 2, 0)
    error = student(blocks) * np.sqrt(error**2 + added)
    found = BlockAverage(
        mean=mean,
        error=error,
        error_of_error=error / np.sqrt(np.maximum(blocks - 1, 1)),
        variance=np.where(enough[0], variances[0], np.nan),
        block=2**level,
        converged=(blocks >= SURE) | (errors[0] == 0),
        errors=errors,
    )
    return BlockAverage(*map(np.asarray, found))


def _level(errors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The level to be trusted; that of the largest error where none has blocks that are long."""
    known = np.nan_to_num(errors, nan=-1.0)
    length = 2.0 ** np.arange(len(counts)).reshape(-1, *(1,) * (counts.ndim - 1))
    ratio = known / np.where(known[0] > 0, known[0], 1)
    long = (known >= 0) & (4 * length**3 >= counts[0] * ratio**4)
    sure = known * (1 - 1 / np.sqrt(2.0 * np.maximum(counts - 1, 1)))
    sure = np.where(counts >= np.maximum(FEW, np.cbrt(counts[0])), sure, -1)
    rest = np.flip(np.maximum.accumulate(np.flip(sure, 0), axis=0), 0)
    fits = long & (known >= rest)
    level = np.where(fits.any(axis=0), np.argmax(fits, axis=0), np.argmax(known, axis=0))
    return np.asarray(level)


def _at(values: np.ndarray, level: np.ndarray) -> np.ndarray:
    """The values (levels, ...) on one level each."""
    return np.asarray(np.take_along_axis(values, level[None], axis=0)[0])


def student(blocks: np.ndarray) -> np.ndarray:
    """Student's factor t for the scatter of so many blocks: 1.8 for two, 1 for very many."""
    part = 1 / np.maximum(blocks - 1, 1)
    return np.asarray(1 + part / 2 + part**2 / 4 + part**3 / 16)


def autocorrelation_time(series: ArrayLike) -> np.ndarray:
    """The autocorrelation time τ of a series, in steps of the series.

        τ = 1 + 2 Σ_{t=1}^{M} ρ(t),        M the smallest with M ≥ 5τ(M)/2

    so that n values are worth n/τ independent ones. A. D. Sokal, in: Functional Integration, NATO
    ASI B 361, 131 (1997); his τ_int is τ/2.

    Parameters
    ----------
    series
        (time, ...) real numbers, four or more along time.

    Returns
    -------
    array
        τ, like one row of the series; 1 for independent or constant values, and where a series
        oscillates so fast that the estimate is not above zero.

    Raises
    ------
    ObserverError
        If the series is too short for its correlations, or has values that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import autocorrelation_time
    >>> noise = np.random.default_rng(0).normal(size=5000)
    >>> round(float(autocorrelation_time(noise)))
    1
    """
    values = _values(series)
    count = len(values)
    constant = (values == values[0]).all(axis=0)
    spectrum = np.fft.rfft(values - values.mean(axis=0), 2 * count, axis=0)
    products = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: count // 2]
    lag = np.arange(len(products)).reshape(-1, *(1,) * (values.ndim - 1))
    covariance = products / (count - lag)
    correlation = np.where(constant, lag == 0, covariance / np.where(constant, 1, covariance[0]))
    times = 2 * np.cumsum(correlation, axis=0) - 1
    # The longest so far: what oscillates must not end the window where it first dips.
    wide = lag >= WINDOW * np.maximum.accumulate(times, axis=0) / 2
    _check_window(np.asarray(wide.any(axis=0)), count)
    window = np.argmax(wide, axis=0)
    found = np.take_along_axis(times, window[None], axis=0)[0]
    return np.asarray(np.where(constant | (found <= 0), 1.0, found))


def effective_samples(series: ArrayLike) -> np.ndarray:
    """How many independent values a series is worth: n/τ.

    Parameters
    ----------
    series
        (time, ...) real numbers, as for `autocorrelation_time`.

    Returns
    -------
    array
        n/τ, like one row of the series.

    Raises
    ------
    ObserverError
        As `autocorrelation_time` does.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.observables import effective_samples
    >>> float(effective_samples(np.ones(100)))
    100.0
    """
    times = autocorrelation_time(series)
    return np.asarray(len(np.asarray(series)) / times)


def _values(series: ArrayLike) -> np.ndarray:
    values = np.asarray(series)
    if values.dtype.kind not in "fiub":
        raise ObserverError(f"A series is made of real numbers, not of {values.dtype}.")
    if values.ndim == 0 or len(values) < FEWEST:
        raise ObserverError(
            f"A series of shape {values.shape} is too short: time is its first axis, and errors "
            f"need {FEWEST} values or more."
        )
    values = values.astype(np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        time, *rest = bad[0].tolist()
        place = f" of {tuple(rest)}" if rest else ""
        raise ObserverError(
            f"Value {time}{place} of the series is {values[tuple(bad[0])]}, not a finite number.\n"
            "Leave out what was recorded after a system had failed."
        )
    return values


def _check_window(found: np.ndarray, count: int) -> None:
    if not found.all():
        first = np.argwhere(~found)[0].tolist()
        place = f" {tuple(first)}" if first else ""
        raise ObserverError(
            f"The series{place} of {count} values is too short for its correlations: they last "
            "for a good part of it.\nRun longer, or leave out the beginning if it drifts."
        )
