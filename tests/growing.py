"""A function of one frame whose list of pairs may turn out too short, and frames that need more."""

import jax.numpy as jnp
import numpy as np

from instar.core.capacity import LensCapacity, sum_over_capacity
from instar.core.lens import lens
from instar.core.utils.jax import dataclass, field


@dataclass
class PairEnergy:
    """Σ exp(-r) over the pairs closer than 1, from a list with room for ``capacity`` of them."""

    strength: jnp.ndarray
    capacity: int = field(static=True)

    def __call__(self, positions):
        apart = positions[:, None] - positions[None]
        near = (apart**2).sum(-1) < 1
        room = LensCapacity(self.capacity, lens(lambda f: f.capacity, cls=PairEnergy))
        room.generate_assertion(near.sum())
        first, second = jnp.nonzero(near, size=self.capacity, fill_value=-1)
        there = first >= 0
        lengths = jnp.sqrt(((positions[first] - positions[second]) ** 2).sum(-1))
        ranked = jnp.sort(jnp.where(there, lengths, jnp.inf))
        terms = jnp.where(there, jnp.exp(-ranked) * self.strength, 0)
        return sum_over_capacity(terms)


def frames(count, particles=40, dense_from=0.5):
    """Sparse at first, so that few pairs are near; then dense."""
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(count) < dense_from * count, 8.0, 1.1)
    return (rng.uniform(0, 1, (count, particles, 3)) * spread[:, None, None]).astype(np.float32)
