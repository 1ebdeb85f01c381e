"""What becomes of a system: it goes on, has converged, or has stopped for another reason.

converged      max |F| ≤ force tolerance, and max |σ + p| ≤ stress tolerance if the cell moves
out of steps   as many steps as it may make, and not converged
stuck          no step lowers the energy
frozen         it is no longer finite: it is kept as it was before
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CONVERGED", "EMPTY", "GOING", "NAMES", "OUT_OF_STEPS", "STUCK", "outcomes"]

EMPTY, GOING, CONVERGED, OUT_OF_STEPS, STUCK, FROZEN = -1, 0, 1, 2, 3, 4

NAMES = {
    EMPTY: "empty",
    GOING: "going on",
    CONVERGED: "converged",
    OUT_OF_STEPS: "out of steps",
    STUCK: "stuck",
    FROZEN: "frozen",
}


def outcomes(state: Any) -> list[str]:
    """What has become of each system of a state so far, in words.

    Parameters
    ----------
    state
        Of relaxation.

    Returns
    -------
    list of str
        "converged", "out of steps", "stuck", "frozen" or "going on".

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> from instar.dynamics import relax
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> known = instar.md_state(Atoms("Ar", [[1, 0, 0]]), trap)
    >>> state = relax.start(known.particles, known.systems, known.potential)
    >>> relax.outcomes(relax.relaxed(relax.auto(), state))
    ['converged']
    """
    known = state.systems.data
    found = np.where(np.asarray(known.frozen), FROZEN, np.asarray(known.outcome))
    return [NAMES[number] for number in found.tolist()]
