"""`ewald` and `ewald_with`: Ewald sums for given charges, made on the host."""

from __future__ import annotations

import math
import operator
import warnings

import numpy as np
from jax.sharding import Mesh as Devices

from instar.core.typing import ArrayLike
from instar.potentials.ewald.accuracy import Content
from instar.potentials.ewald.ewald import Ewald, made
from instar.potentials.ewald.settings import METHODS, Setting, choose, waves_up_to
from instar.potentials.potential import PotentialError

__all__ = ["NetChargeWarning", "ewald", "ewald_with"]


class NetChargeWarning(UserWarning):
    """A periodic system has a net charge."""


def ewald(
    charges: ArrayLike,
    system: ArrayLike,
    vectors: ArrayLike,
    accuracy: int | float = 1e-6,
    *,
    shortest: int | float = 0.0,
    method: str = "auto",
    devices: Devices | None = None,
) -> Ewald:
    """An Ewald sum, all images of all charges, with an rms force error of at most ``accuracy``.

        U = ½ kₑ Σ q q' erfc(αr)/r + (4πkₑ/V) Σ'_k e^(−k²/4α²)/k² |S(k)|² − kₑ α/√π Σ q²

    The damping α, the real-space cutoff and the waves or the mesh are chosen for each system. The
    surroundings are conducting; a uniform background neutralises a net charge, with a
    `NetChargeWarning`.

    Parameters
    ----------
    charges
        (particles,) in e.
    system
        (particles,) int: the system of each; out of bounds where there is none.
    vectors
        (systems, 3, 3) in Å: the vectors of each cell, as rows.
    accuracy
        The rms force error in kₑe²/Å², where kₑ = 14.4 eV·Å/e².
    shortest
        In Å: real-space cutoffs are at least as long.
    method
        "ewald" (wave by wave), "pme" (on a mesh) or "auto", whichever is faster.
    devices
        A mesh of devices that waves and grid points are spread over.

    Returns
    -------
    Ewald
        The potential; it is for these charges.

    Raises
    ------
    PotentialError
        If the accuracy can't be reached, there is no such method, shapes do not fit together, or
        a charge is not a finite number.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.potentials import ewald
    >>> salt = ewald([1.0, -1.0], [0, 0], 5.6 * np.eye(3)[None], accuracy=1e-4)
    >>> print(salt.accuracy, salt.alpha.shape)
    0.0001 (1,)
    """
    if not 1e-14 <= accuracy < 1:  # double precision resolves no more
        raise PotentialError(
            f"An accuracy is an rms force error in kₑe²/Å², such as 1e-6; not {accuracy}."
        )
    if method not in METHODS:
        raise PotentialError(f"There is no method {method!r}; there are {', '.join(METHODS)}.")
    given = _Given(charges, system, vectors)
    settings = choose(given.content, given.vectors, accuracy, shortest=shortest, method=method)
    return made(
        settings, given.vectors, given.members, given.home, float(accuracy), devices=devices
    )


def ewald_with(
    charges: ArrayLike,
    system: ArrayLike,
    vectors: ArrayLike,
    alpha: int | float,
    real_cutoff: int | float,
    k_max: ArrayLike,
) -> Ewald:
    """An Ewald sum with given settings, the same for all systems; no error is promised.

    Waves are all k = 2πA⁻¹n with whole numbers |n_d| ≤ k_max_d. The sum is that of `ewald`.

    Parameters
    ----------
    charges
        (particles,) in e.
    system
        (particles,) int: the system of each; out of bounds where there is none.
    vectors
        (systems, 3, 3) in Å: the vectors of each cell, as rows.
    alpha
        The damping α in 1/Å.
    real_cutoff
        In Å.
    k_max
        One whole number, or three.

    Returns
    -------
    Ewald
        The potential; it is for these charges.

    Raises
    ------
    PotentialError
        If a number is not in its range, or shapes do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from instar.potentials import ewald_with
    >>> box = 5.6 * np.eye(3)[None]
    >>> salt = ewald_with([1.0, -1.0], [0, 0], box, alpha=0.5, real_cutoff=6.0, k_max=7)
    >>> print(salt.reach)
    [6.]
    """
    most = _three(k_max)
    if not (alpha > 0 and math.isfinite(alpha)):
        raise PotentialError(f"alpha is above zero (1/Å), not {alpha}.")
    if not (real_cutoff > 0 and math.isfinite(real_cutoff)):
        raise PotentialError(f"A cutoff is a length above zero (Å), not {real_cutoff}.")
    given = _Given(charges, system, vectors)
    numbers = [waves_up_to(most)] * len(given.vectors)
    settings = [Setting(float(alpha), float(real_cutoff), math.inf, None, 0)] * len(given.vectors)
    return made(settings, given.vectors, given.members, given.home, None, numbers)


def _three(k_max: ArrayLike) -> tuple[int, int, int]:
    try:
        each = [operator.index(k) for k in np.broadcast_to(k_max, (3,)).tolist()]
    except (TypeError, ValueError):
        each = [-1]
    if min(each) < 0:
        raise PotentialError(f"k_max is one whole number, or three; not {k_max}.")
    x, y, z = each
    return x, y, z


class _Given:
    """Charges and cells, checked, and what follows from them."""

    def __init__(self, charges: ArrayLike, system: ArrayLike, vectors: ArrayLike) -> None:
        self.vectors = np.array(vectors, float).reshape(-1, 3, 3)
        count = len(self.vectors)
        charges, system = np.asarray(charges, float), np.asarray(system)
        if charges.ndim != 1 or charges.shape != system.shape:
            raise PotentialError(
                f"There are charges of shape {charges.shape}, but systems of shape {system.shape}; "
                "give one of each for every particle."
            )
        there = (system >= 0) & (system < count)
        if (missing := there & ~np.isfinite(charges)).any():
            first = int(np.argmax(missing))
            raise PotentialError(
                f"The charge of particle {first} is {charges[first]}; give each one in e."
            )
        charged = there & (charges != 0)
        self.home = np.where(charged, system, -1).astype(np.int32)
        self.members = [np.flatnonzero(self.home == s) for s in range(count)]
        own = np.where(charged, system, 0)
        sums = [
            np.bincount(own, np.where(charged, values, 0), minlength=count)[:count]
            for values in (np.ones(len(own)), charges**2, charges)
        ]
        if count == 0:
            sums = [np.zeros(0)] * 3
        volume = np.abs(np.linalg.det(self.vectors))
        self.content = Content(sums[0], sums[1], np.where(volume > 0, volume, 1))
        self.vectors[volume == 0] = np.eye(3)
        self._warn(sums[2], np.sqrt(sums[1]))

    @staticmethod
    def _warn(net: np.ndarray, size: np.ndarray) -> None:
        for system in np.flatnonzero(np.abs(net) > 1e-6 * np.maximum(size, 1)):
            warnings.warn(
                f"System {system} has a net charge of {net[system]:+.6g} e; "
                "a uniform background neutralises it.",
                NetChargeWarning,
                stacklevel=4,
            )
