"""`DensityProfile`: how dense a system is along one vector of its cell.

The cell is cut into B slices of equal volume V/B by planes parallel to its other two vectors. With
n_b(t) the particles of frame t in slice b, at the fractional coordinate s = (r·C⁻¹) along the
vector,

    ρ_b = ⟨ B n_b / V ⟩   (1/Å³),        x_b = (b + ½) h / B

and h the distance between the faces of the cell, both averaged over frames. Along a periodic axis
particles are wrapped into the cell; along others those outside of it are not counted.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.lens import Lens
from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import in_precision
from instar.observables.entry import Observation, observation, unknown_labels
from instar.observables.finding import Curve, Finding
from instar.observables.selection import (
    ObserverError,
    counted_systems,
    require_known,
    require_labels,
    selected,
)
from instar.observables.total import Total

__all__ = ["DensityProfile", "Profile", "ProfileObservation"]


@dataclass
class Profile:
    """What a `DensityProfile` found; NaN for a system that it has not seen."""

    position: Array  # (systems, bins) Å, the middle of each slice
    density: Array  # (systems, bins) particles per Å³


@dataclass
class DensityProfile:
    """ρ(x) of each system along the vector ``axis`` of its cell; make one with `of`."""

    density: Total  # (systems, bins): B n / V, summed over frames
    height: Total  # (systems,): h, summed over frames
    frames: Array  # (systems,) int32
    axis: int = field(static=True)
    label: str | None = field(static=True)

    @staticmethod
    @in_precision
    def of(
        state: Any, axis: int, bins: int, *, label: str | None = None, may_lack: bool = False
    ) -> DensityProfile:
        """An observer of the number density along one vector of the cell.

            ρ_b = ⟨ B n_b / V ⟩        in 1/Å³, for B slices of equal volume

        Parameters
        ----------
        state
            One like those that will be observed; its values must be known, not traced.
        axis
            0, 1 or 2: which vector of the cell.
        bins
            How many slices there are.
        label
            Particles with this label alone; left out, all.
        may_lack
            Whether a label that no particle has is allowed; then nothing is found.

        Returns
        -------
        DensityProfile
            Without frames; ``result()`` returns ``position`` in Å and ``density`` in 1/Å³, each
            (systems, bins).

        Raises
        ------
        ObserverError
            If a system has no volume, or there is no such axis or label.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar
        >>> from instar.observables import DensityProfile
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> box = Atoms("Ar", [[1, 1, 1]], cell=[8, 8, 8])
        >>> state = instar.md_state(box, trap, precision="float32")
        >>> profile = DensityProfile.of(state, axis=2, bins=4).update(state).result()
        >>> print(profile.density * 8**3)
        [[4. 0. 0. 0.]]
        """
        require_known("DensityProfile.of", state)
        if axis not in (0, 1, 2) or bins < 1:
            raise ObserverError(f"A profile has an axis 0, 1 or 2 and bins, not {axis} and {bins}.")
        bounded = np.asarray(state.systems.data.cell.bounded)
        if not bounded.all():
            raise ObserverError(
                f"System {int(np.argmin(bounded))} has no volume, and so no density."
            )
        if not may_lack:
            require_labels(state, label)
        systems, dtype = len(state.systems), state.particles.data.positions.dtype
        return DensityProfile(
            density=Total.zeros((systems, bins), dtype),
            height=Total.zeros((systems,), dtype),
            frames=jnp.zeros(systems, jnp.int32),
            axis=axis,
            label=label,
        )

    def update(self, state: Any) -> DensityProfile:
        """With the particles of one more state."""
        everyone = selected(state, self.label)
        cell, bins = everyone.cell, self.density.sum.shape[1]
        across = state.systems.set_data(jnp.linalg.inv(cell.vectors)[:, :, self.axis])
        wraps = state.systems.set_data(cell.periodic[:, self.axis])[everyone.system]
        along = jnp.sum(everyone.positions * across[everyone.system], axis=1)
        along = jnp.where(wraps, along - jnp.floor(along), along)
        place = jnp.floor(along * bins)
        inside = everyone.there & (along >= 0) & (along <= 1)
        slot = jnp.clip(place, 0, bins - 1).astype(jnp.int32)  # rounding may give 1 exactly
        slot = jnp.where(inside, slot, bins)
        found = jnp.zeros((everyone.count, bins), along.dtype)
        found = found.at[everyone.system.indices, slot].add(1, mode="drop")
        counts = counted_systems(state.systems)
        density = found * (bins / cell.volume)[:, None]
        return dataclasses.replace(
            self,
            density=self.density.plus(density, counts[:, None]),
            height=self.height.plus(cell.heights[:, self.axis], counts),
            frames=self.frames + counts.astype(jnp.int32),
        )

    @in_precision
    def result(self) -> Profile:
        """The profile, averaged over the frames of each system."""
        bins = self.density.sum.shape[1]
        height = self.height.mean(self.frames)
        middle = jnp.asarray((np.arange(bins) + 0.5) / bins, height.dtype)
        return Profile(height[:, None] * middle[None], self.density.mean(self.frames[:, None]))


@observation("density_profile")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ProfileObservation(Observation):
    """The number density along one vector of the cell, of all atoms or of those with a label."""

    axis: Literal["a", "b", "c"] = option("which vector of the cell", default="c")
    bins: int = option("slices of equal width", default=100, least=1, most=100_000)
    label: str | None = option("atoms with this label alone; all if left out", default=None)

    @property
    def title(self) -> str:
        """Its name; with a label, which one."""
        return self.name or " ".join(filter(None, (self.NAME, self.label)))

    def check(self, structures: Any) -> list[str]:
        """Labels that there are, and cells with a volume."""
        flat = np.flatnonzero(np.linalg.det(structures.vectors) == 0)
        lacking = [f"structure {n} has no cell of three vectors" for n in flat[:1]]
        return [*unknown_labels([self.label], structures), *lacking]

    def made(self, state: Any, place: Lens[Any, Any]) -> DensityProfile:
        """The observer."""
        axis = "abc".index(self.axis)
        return DensityProfile.of(state, axis, self.bins, label=self.label, may_lack=True)

    def found(self, observer: DensityProfile, interval: float | None) -> Finding:
        """The profile."""
        found = observer.result()
        x, y = np.asarray(found.position), np.asarray(found.density)
        return Finding({"density": Curve(x, y, self.axis, "angstrom", "density", "1/angstrom^3")})
