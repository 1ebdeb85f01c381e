"""Velocity Verlet: constant energy.

    v += ½Δt F/m;  r += Δt v;  F(r);  v += ½Δt F/m

W. C. Swope, H. C. Andersen, P. H. Berens, K. R. Wilson, J. Chem. Phys. 76, 637 (1982). It is
symplectic and runs backwards; with constraints it is RATTLE. Conserved: K + U.
"""

from __future__ import annotations

from typing import Any

from instar.dynamics.knobs import checked, scaled
from instar.dynamics.md.forces import Forces
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.part import Step, step_of

__all__ = ["nve"]


def nve(time_step: Any) -> Step:
    """Constant energy, by velocity Verlet; ``time_step`` in Å·√(amu/eV)."""
    checked("time step", time_step)
    kick = Kick(scaled(time_step, 0.5))
    return step_of(kick, Drift(time_step), Forces(), kick)
