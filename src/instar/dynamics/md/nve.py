"""Velocity Verlet: constant energy.

    v += ½Δt F/m;  r += Δt v;  F(r);  v += ½Δt F/m

W. C. Swope, H. C. Andersen, P. H. Berens, K. R. Wilson, J. Chem. Phys. 76, 637 (1982). It is
symplectic and runs backwards; with constraints it is RATTLE. Conserved: K + U.
"""

from __future__ import annotations

from instar.dynamics.knobs import Numbers, checked, scaled
from instar.dynamics.md.forces import Forces
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.part import Step, step_of

__all__ = ["nve"]


def nve(time_step: Numbers) -> Step:
    """Constant energy, by velocity Verlet.

        v += ½Δt F/m;  r += Δt v;  F(r);  v += ½Δt F/m

    W. C. Swope, H. C. Andersen, P. H. Berens, K. R. Wilson, J. Chem. Phys. 76, 637 (1982). With
    constraints it is RATTLE. Conserved: K + U.

    Parameters
    ----------
    time_step
        Δt in Å·√(amu/eV): ``2 * instar.units.fs``.

    Returns
    -------
    Step
        What `simulate` takes.

    Raises
    ------
    ValueError
        If a number is not in its range.

    Examples
    --------
    >>> import instar
    >>> method = instar.md.nve(2 * instar.units.fs)
    """
    checked("time step", time_step)
    kick = Kick(scaled(time_step, 0.5))
    return step_of(kick, Drift(time_step), Forces(), kick)
