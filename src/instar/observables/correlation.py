"""`Correlation`: how particles remember where they were and how they moved.

Mean-square displacement and velocity autocorrelation at the lag k, averaged over the particles i
of a system and over all frames t that have a frame k before them:

    MSD(k) = ⟨ |rᵢ(t) − rᵢ(t − k)|² ⟩  (Å²)        VACF(k) = ⟨ vᵢ(t) · vᵢ(t − k) ⟩

with positions that are not wrapped into the cell. A ring holds the last frames; each new one is
compared with all of them, so that no pair of frames closer than the window is left out.

    D. Frenkel, B. Smit, Understanding Molecular Simulation, 2nd ed. (2002), sec. 4.4
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.lens import Lens
from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import in_precision
from instar.geometry import AllParticles
from instar.observables.blocks import student
from instar.observables.diffusion import diffusion, green_kubo
from instar.observables.entry import (
    Observation,
    for_each_system,
    observation,
    unknown_labels,
)
from instar.observables.finding import Curve, Finding, Value
from instar.observables.selection import (
    ObserverError,
    counted_systems,
    require_labels,
    selected,
)
from instar.observables.total import Total

__all__ = ["Correlation", "DisplacementObservation", "VelocityObservation"]


def squared_distance(now: Array, before: Array) -> Array:
    """|a − b|² along the last axis."""
    return jnp.sum((now - before) ** 2, axis=-1)


def scalar_product(now: Array, before: Array) -> Array:
    """a · b along the last axis."""
    return jnp.sum(now * before, axis=-1)


@dataclass
class Correlation:
    """Correlations of a column of the particles with itself, up to ``window`` − 1 frames back.

    Make one with `Correlation.of_displacements` or `Correlation.of_velocities`. Particles keep
    their rows, their systems and their labels while it looks; a change is a failed check.
    """

    ring: Array  # (window, particles, 3) the last frames
    used: Array  # (window, systems) bool: whether a frame of the ring counts
    slot: Array  # () int32: where the next frame goes
    group: Array  # (particles,) int32: the system of a particle that counts, −1 of others
    members: Array  # (systems,) how many particles of each count
    total: Total  # (parts, window, systems): means over particles, summed over frames, by lag
    count: Array  # (parts, window, systems) int32: pairs of frames at each lag
    looks: Array  # () int32: frames seen
    per_part: Array  # () int32: frames of each part
    column: str = field(static=True)
    product: Callable[[Array, Array], Array] = field(static=True)
    label: str | None = field(static=True)
    without_drift: bool = field(static=True)

    @staticmethod
    @in_precision
    def of_displacements(
        state: Any, window: int, *, label: str | None = None, without_drift: bool = False
    ) -> Correlation:
        """An observer of mean-square displacements, at lags of 0 to ``window`` − 1 frames.

            MSD(k) = ⟨ |rᵢ(t) − rᵢ(t − k)|² ⟩        in Å²

        averaged over particles i and all frames t that have a frame k before them.

        Parameters
        ----------
        state
            One like those that will be observed; positions must not be wrapped into the cell.
        window
            How many frames are compared with each other; they are kept in memory.
        label
            Particles with this label alone; left out, all.
        without_drift
            Whether positions are relative to the centre of mass of all particles of the system.

        Returns
        -------
        Correlation
            Without frames; ``result()`` returns an array (window, systems).

        Raises
        ------
        ObserverError
            If no particle has the label, or the window is shorter than one frame.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar
        >>> from instar.observables import Correlation
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
        >>> Correlation.of_displacements(state, window=20).result().shape
        (20, 1)
        """
        require_labels(state, label)
        return _made(state, window, label, without_drift, ("positions", squared_distance))

    @staticmethod
    @in_precision
    def of_velocities(
        state: Any, window: int, *, label: str | None = None, without_drift: bool = False
    ) -> Correlation:
        """An observer of velocity autocorrelations, at lags of 0 to ``window`` − 1 frames.

            VACF(k) = ⟨ vᵢ(t) · vᵢ(t − k) ⟩        in the unit of the velocities, squared

        averaged over particles i and all frames t that have a frame k before them.

        Parameters
        ----------
        state
            One like those that will be observed.
        window
            How many frames are compared with each other; they are kept in memory.
        label
            Particles with this label alone; left out, all.
        without_drift
            Whether velocities are relative to that of the centre of mass of all particles of the
            system.

        Returns
        -------
        Correlation
            Without frames; ``result()`` returns an array (window, systems).

        Raises
        ------
        ObserverError
            If no particle has the label, or the window is shorter than one frame.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar
        >>> from instar.observables import Correlation
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
        >>> Correlation.of_velocities(state, window=20).window
        20
        """
        require_labels(state, label)
        return _made(state, window, label, without_drift, ("velocities", scalar_product))

    @in_precision
    def in_parts(self, most: int, frames: int) -> Correlation:
        """The same with sums kept part by part: their scatter tells the error.

        A part has ``frames`` frames at first. Whenever there are ``most`` parts, an even number,
        neighboring ones become one, and later parts are twice as long: a run can be longer than
        was thought. A pair of frames belongs to the part of the later one.
        """
        if most < 2 or most % 2 or frames < 1:
            raise ObserverError(
                f"Parts are an even number, of one frame or more; not {most} of {frames}."
            )
        shape = (most, *self.count.shape[1:])
        return dataclasses.replace(
            self,
            total=Total.zeros(shape, self.total.sum.dtype),
            count=jnp.zeros(shape, jnp.int32),
            per_part=jnp.asarray(frames, jnp.int32),
        )

    def update(self, state: Any) -> Correlation:
        """With one more frame, compared with all those in the ring and with itself."""
        everyone = selected(state, self.label)
        runtime_assert(
            jnp.all(_group(everyone) == self.group),
            "Correlations in time need the same particles in every frame.\n"
            "One was added, removed, or changed its label or its system.",
            exception_type=ObserverError,
        )
        now = _values(state, self.column, self.without_drift)
        counts = counted_systems(state.systems)
        ring = self.ring.at[self.slot].set(now)
        used = self.used.at[self.slot].set(counts)
        lags = jnp.arange(self.window, dtype=jnp.int32)
        slots = (self.slot - lags) % self.window
        products = self.product(now[None], ring).T  # (particles, slots)
        sums = everyone.system.sum_over(products).data.T[slots]
        valid = used[slots] & (counts & (self.members > 0))[None]
        means = sums / jnp.maximum(self.members, 1)[None]
        room = self._with_room()
        part = room.looks // room.per_part if room.is_cut else 0
        return dataclasses.replace(
            room,
            ring=ring,
            used=used,
            slot=(self.slot + 1) % self.window,
            total=room.total.with_row(part, room.total[part].plus(means, valid)),
            count=room.count.at[part].add(valid.astype(jnp.int32)),
            looks=self.looks + 1,
        )

    @property
    def is_cut(self) -> bool:
        """Whether sums are kept part by part."""
        return self.count.shape[0] > 1

    def _with_room(self) -> Correlation:
        """Neighboring parts are one, if all parts are full."""
        if not self.is_cut:
            return self
        full = self.looks == self.per_part * self.count.shape[0]

        def joined(sums: Array) -> Array:
            pairs = sums[::2] + sums[1::2]
            return jnp.where(full, jnp.concatenate([pairs, jnp.zeros_like(pairs)]), sums)

        return dataclasses.replace(
            self,
            total=Total(joined(self.total.sum), joined(self.total.lost)),
            count=joined(self.count),
            per_part=jnp.where(full, 2 * self.per_part, self.per_part),
        )

    @in_precision
    def result(self) -> Array:
        """(window, systems): the correlation at lags of 0, 1, ... frames; NaN where unseen."""
        if not self.is_cut:
            return self.total[0].mean(self.count[0])
        total = Total(self.total.sum.sum(axis=0), self.total.lost.sum(axis=0))
        return total.mean(self.count.sum(axis=0))

    def result_of_parts(self) -> Array:
        """(parts, window, systems): the same for each part that is full; NaN for others.

        A part is full for systems that were there in all of its frames.
        """
        full = self.count[:, :1] >= self.per_part
        return self.total.mean(jnp.where(full, self.count, 0))

    @property
    def window(self) -> int:
        """How many frames the ring holds."""
        return self.ring.shape[0]


_PARTS = 8
"""Parts of a run whose scatter tells the error of a diffusion coefficient, at most."""

_FEWEST = 3
"""Parts below which their scatter tells nothing: neighboring ones share some frames."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _InTime(Observation):
    """Correlations in time; abstract."""

    _kind: ClassVar[tuple[str, Any]]

    label: str | None = option("atoms with this label alone; all if left out", default=None)
    window: int = option(
        "looks that are compared with each other", default=100, least=3, most=10**5
    )
    without_drift: bool = option(
        "whether the motion of the centre of mass is taken out", default=False, kind=bool
    )

    @property
    def title(self) -> str:
        """Its name; with a label, which one."""
        return self.name or " ".join(filter(None, (self.NAME, self.label)))

    @property
    def fewest_looks(self) -> int:
        """As many as the window holds."""
        return self.window

    def check(self, structures: Any) -> list[str]:
        """Labels that there are."""
        return unknown_labels([self.label], structures)

    def made(self, state: Any, place: Lens[Any, Any]) -> Correlation:
        """The observer, in parts that are long enough to tell an error."""
        made = _made(state, self.window, self.label, self.without_drift, self._kind)
        return made.in_parts(_PARTS, self.window)

    def least_bytes(self, particles: int, itemsize: int) -> int:
        """The ring of frames."""
        return self.window * particles * 3 * itemsize

    def found(self, observer: Correlation, interval: float | None) -> Finding:
        """A curve from the correlation (window, systems), and D where there is a time."""
        whole = np.asarray(observer.result(), np.float64)
        lags = np.arange(self.window) * (1.0 if interval is None else interval)
        axis = ("lag, in looks", "") if interval is None else ("t", "ps")
        name, y, *about = self._curve(whole)
        curves = {name: Curve(for_each_system(lags, whole.shape[1]), y.T, *axis, *about)}
        if interval is None:
            return Finding(curves)
        parts = np.asarray(observer.result_of_parts(), np.float64)
        value, *several = (self._diffusion(one, interval) for one in (whole, *parts))
        shared = self.window / int(observer.per_part)
        error = _error_of_mean(np.array(several), shared)
        return Finding(curves, {"diffusion": Value(value, error, "cm^2/s")})

    def _curve(self, whole: np.ndarray) -> tuple[str, np.ndarray, str, str]:
        """The name of the curve, its values (window, systems), what they are, and their unit."""
        raise NotImplementedError

    def _diffusion(self, whole: np.ndarray, interval: float) -> np.ndarray:
        """D (systems,)."""
        raise NotImplementedError


@observation("mean_square_displacement")
@dataclasses.dataclass(frozen=True, kw_only=True)
class DisplacementObservation(_InTime):
    """⟨|r(t) − r(0)|²⟩, and the diffusion coefficient from its slope in the window's second half.

    The error is that of the mean over three to eight parts of the run, each as long as the window
    or longer.
    """

    _kind: ClassVar[tuple[str, Any]] = ("positions", squared_distance)

    def _curve(self, whole: np.ndarray) -> tuple[str, np.ndarray, str, str]:
        return "msd", whole, "MSD", "angstrom^2"

    def _diffusion(self, whole: np.ndarray, interval: float) -> np.ndarray:
        return diffusion(whole, interval, (self.window // 2, self.window - 1)).value


@observation("velocity_autocorrelation")
@dataclasses.dataclass(frozen=True, kw_only=True)
class VelocityObservation(_InTime):
    """⟨v(t)·v(0)⟩/⟨v²⟩, and the diffusion coefficient from the integral up to the window's end.

    The error is that of the mean over three to eight parts of the run, each as long as the window
    or longer.
    """

    _kind: ClassVar[tuple[str, Any]] = ("velocities", scalar_product)

    def _curve(self, whole: np.ndarray) -> tuple[str, np.ndarray, str, str]:
        return "vacf", whole / _positive(whole[:1]), "VACF/VACF(0)", ""

    def _diffusion(self, whole: np.ndarray, interval: float) -> np.ndarray:
        return green_kubo(whole, interval)[-1]


def _error_of_mean(parts: np.ndarray, shared: float) -> np.ndarray:
    """(systems,) from values of parts (parts, systems), NaN where a part has not been seen.

    With m parts of the variance s², Student's factor t, and the share x of its frames that a part
    has in common with the one before,

        ε² = t² s² (1 + x/2) / m

    as neighboring parts that share frames differ by less than independent ones would.
    """
    seen = np.isfinite(parts)
    count = seen.sum(axis=0)
    number = np.maximum(count, 1)
    mean = np.where(seen, parts, 0).sum(axis=0) / number
    squares = np.where(seen, (parts - mean) ** 2, 0).sum(axis=0)
    variance = squares / np.maximum(count - 1, 1)
    error = student(number) * np.sqrt(variance * (1 + shared / 2) / number)
    return np.where(count >= _FEWEST, error, np.nan)


def _positive(values: np.ndarray) -> np.ndarray:
    """NaN where there is nothing to divide by."""
    return np.where(values > 0, values, np.nan)


def _made(
    state: Any, window: int, label: str | None, without_drift: bool, kind: tuple[str, Any]
) -> Correlation:
    if window < 1:
        raise ObserverError(f"The window is one frame or more, not {window}.")
    now = _values(state, kind[0], without_drift)
    systems, everyone = len(state.systems), selected(state, label)
    return Correlation(
        ring=jnp.zeros((window, *now.shape), now.dtype),
        used=jnp.zeros((window, systems), bool),
        slot=jnp.zeros((), jnp.int32),
        group=_group(everyone),
        members=everyone.system.sum_over(jnp.ones_like(now[:, 0])).data,
        total=Total.zeros((1, window, systems), now.dtype),
        count=jnp.zeros((1, window, systems), jnp.int32),
        looks=jnp.zeros((), jnp.int32),
        per_part=jnp.ones((), jnp.int32),
        column=kind[0],
        product=kind[1],
        label=label,
        without_drift=without_drift,
    )


def _group(everyone: AllParticles) -> Array:
    return jnp.where(everyone.there, everyone.system.indices, np.int32(-1))


def _values(state: Any, column: str, without_drift: bool) -> Array:
    """A column of the particles, where asked for less its mean by mass over the system."""
    values = getattr(state.particles.data, column)
    if not without_drift:
        return values
    system, masses = state.particles.data.system, state.particles.data.masses[:, None]
    moments, total = system.sum_over((masses * values, masses)).data
    centre = moments / jnp.maximum(total, np.finfo(values.dtype).tiny)
    return values - state.systems.set_data(centre)[system]
