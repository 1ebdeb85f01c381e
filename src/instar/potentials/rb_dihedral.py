"""Rotation about a bond as a polynomial of its cosine."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Dihedral
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter
from instar.potentials.potential import PotentialError

__all__ = ["RyckaertBellemansDihedral"]


def _six(value: tuple[float, ...]) -> tuple[float, ...]:
    if len(value) != 6:
        raise ValueError(f"6 coefficients are needed, C0 … C5, not {len(value)}")
    return value


@configured("rb_dihedral")
@dataclass
class RyckaertBellemansDihedral(Dihedral):
    """Rotation about a bond as a polynomial: u(φ) = Σ Cₙ cosⁿ(φ − π), n = 0 … 5, with Cₙ in eV.

    φ − π is the angle in the convention of polymers, zero for trans.
    J.-P. Ryckaert, A. Bellemans, Faraday Discuss. Chem. Soc. 66, 95 (1978).

    Parameters
    ----------
    atoms
        `Index` (terms, 4): the particles of each term, along the chain.
    c
        (terms, 6) in eV: C0 … C5.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import RyckaertBellemansDihedral
    >>> atoms = Index.integer([[0, 1, 2, 3]], n=4, label=ParticleId)
    >>> c = jnp.array([[0.1, 0.2, 0.0, 0.0, 0.0, 0.0]])
    >>> trans = jnp.array([jnp.pi])
    >>> print(RyckaertBellemansDihedral(atoms, c=c).energy(trans).round(6))
    [0.3]
    """

    c: Parameter = option(
        "coefficients C0 … C5",
        unit="eV",
        kind=tuple[float, ...],
        check=_six,
        example=(0.09, 0.1, -0.02, -0.06, 0.03, 0.02),
    )

    def energy(self, coordinate: Array) -> Array:
        """Σ Cₙ cosⁿ(φ − π)."""
        if self.c.shape[1:] != (6,):
            raise PotentialError(
                f"RyckaertBellemansDihedral has 6 coefficients per term, C0 … C5: c has the shape "
                f"(terms, 6), not {self.c.shape}."
            )
        x = -jnp.cos(coordinate)
        total = self.c[:, 5]
        for n in (4, 3, 2, 1, 0):
            total = total * x + self.c[:, n]
        return total
