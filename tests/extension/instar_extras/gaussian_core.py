"""Gaussian core: u(r) = ε e^(−r²/σ²), a model of polymers in solution."""

from typing import Any

import jax.numpy as jnp

from instar import dataclass
from instar.potentials import Formula, configured, option


@configured("gaussian_core")
@dataclass
class GaussianCore(Formula):
    """u(r) = ε e^(−r²/σ²), with ε in eV and σ in Å. F. H. Stillinger, J. Chem. Phys. 65 (1976)."""

    epsilon: Any = option("height ε", unit="eV", least=0, example=0.02)
    sigma: Any = option("width σ", unit="angstrom", above=0, example=2.5)

    def energy(self, squared):
        """ε e^(−s/σ²)."""
        return self.epsilon * jnp.exp(-squared / self.sigma**2)
