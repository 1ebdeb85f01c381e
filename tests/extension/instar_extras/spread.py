"""How far the atoms of a system are from their centre."""

import jax.numpy as jnp

from instar.core.utils.declaration import Option
from instar.observables import observed


@observed("spread", unit="angstrom", power=Option("which moment of the distances", default=2.0))
def spread(state, power):
    """(⟨|r − R|ᵖ⟩)^(1/p) over the particles of a system, around the mean R of their positions."""
    data = state.particles.data
    count = data.system.counts.data
    centre = state.systems.set_data(data.system.sum_over(data.positions).data / count[:, None])
    apart = jnp.linalg.norm(data.positions - centre[data.system], axis=1)
    return (data.system.sum_over(apart**power).data / count) ** (1 / power)
