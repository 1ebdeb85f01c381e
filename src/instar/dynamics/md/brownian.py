"""Brownian dynamics: overdamped motion, r' = μF + noise with the mobility μ = 1/mγ.

    r += Δt μF + √(½ k_B T μ Δt) (ξ' + ξ)

ξ being the noise of this step, ξ' that of the step before: the limit of BAOAB for large friction
(B. Leimkuhler and C. Matthews, Appl. Math. Res. Express 2013, 34), which samples positions to the
second order of Δt, those of a harmonic oscillator exactly. It is in fact that limit: BAOAB with
velocities drawn in each step and a time step h with ½h²/m = Δt μ, so h = √(2Δt/γ). Constraints
and fixed atoms are honoured as there. Velocities are those of this auxiliary motion, not of the
particles; a particle diffuses with D = k_B T/mγ.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.utils.declaration import Option
from instar.dynamics.knobs import Knob, Numbers, checked
from instar.dynamics.md.declared import thermostat
from instar.dynamics.md.langevin import with_bath
from instar.dynamics.part import Step

__all__ = ["brownian"]


@thermostat(
    "brownian",
    friction=Option(
        "friction γ: particles diffuse with D = k_B T/mγ", unit="1/ps", above=0, default="1 /ps"
    ),
)
def brownian(time_step: Numbers, temperature: Knob, friction: Numbers) -> Step:
    """Overdamped motion at constant temperature: Brownian dynamics.

        r += Δt F/mγ + √(½ k_B T Δt/mγ) (ξ' + ξ)

    with the noise ξ of this step and ξ' of the one before: the limit of BAOAB for large friction.
    B. Leimkuhler and C. Matthews, Appl. Math. Res. Express 2013, 34. A free particle diffuses with
    D = k_B T/mγ. Conserved: K + U of the auxiliary motion less its heat.

    Parameters
    ----------
    time_step
        Δt in Å·√(amu/eV): ``2 * instar.units.fs``.
    temperature
        In K: one for all systems, one each, or a `Ramp`.
    friction
        γ in 1/time.

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
    >>> from instar.units import fs, ps
    >>> method = instar.md.brownian(5 * fs, temperature=300.0, friction=50 / ps)
    """
    checked("time step", time_step)
    checked("temperature", temperature, "from")
    checked("friction", friction)
    xp = jnp if isinstance(time_step, jax.Array) or isinstance(friction, jax.Array) else np
    auxiliary = xp.sqrt(2 * xp.asarray(time_step, float) / xp.asarray(friction, float))
    return with_bath(auxiliary, temperature, np.inf)
