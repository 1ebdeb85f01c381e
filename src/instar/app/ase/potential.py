"""`ase_potential`: any ASE calculator as a potential, called on the host from compiled code."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from ase.data import atomic_numbers
from jax import Array
from jax.custom_derivatives import SymbolicZero

from instar.app.ase.host import Host, HostState, Results
from instar.core.assertion import is_collecting, runtime_assert
from instar.core.utils.jax import dataclass, field
from instar.geometry import AllParticles
from instar.potentials import Evaluation, Potential, PotentialError
from instar.potentials.evaluation import Request
from instar.potentials.structures import Problem, Structures

__all__ = ["AsePotential", "CalculatorError", "ase_potential"]

if TYPE_CHECKING:
    from ase.calculators.calculator import BaseCalculator as Calculator
else:
    Calculator = Any  # what is none is refused in words


class CalculatorError(PotentialError):
    """An ASE calculator failed; the message says for which system, and with which error."""


def ase_potential(
    calculator: Calculator, elements: Mapping[str, str] | None = None
) -> AsePotential:
    """A potential that asks an ASE calculator for energies, forces and stresses.

    Every system is one call, one after the other, of this one calculator: it need not be thread
    safe, and must not be used elsewhere meanwhile. Nor may it call JAX, which waits for this very
    call. The energy can be differentiated once, by positions.

    Parameters
    ----------
    calculator
        Any calculator of ASE, with energies in eV and forces in eV/Å.
    elements
        Chemical symbols of labels that are none, such as ``{"OW": "O"}``.

    Returns
    -------
    AsePotential
        A potential that adds up with others.

    Raises
    ------
    PotentialError
        If it is not a calculator, or one that instar made.

    Examples
    --------
    >>> from ase.calculators.emt import EMT
    >>> import instar
    >>> emt = instar.ase_potential(EMT())
    """
    if any(kind.__module__.startswith("instar.") for kind in type(calculator).__mro__):
        raise PotentialError(
            "This calculator was made from a potential of instar: use that potential itself."
        )
    if isinstance(calculator, type) or not hasattr(calculator, "get_potential_energy"):
        raise PotentialError(
            f"An ASE calculator is needed, such as ase.calculators.emt.EMT(), not {calculator!r}."
        )
    names = tuple(sorted((elements or {}).items()))
    for label, symbol in names:
        if symbol not in atomic_numbers:
            raise PotentialError(
                f"The element of {label!r} is given as {symbol!r}, which is not an element."
            )
    return AsePotential(Host(calculator), names)


@dataclass
class AsePotential(Potential):
    """An ASE calculator as a potential; made by `ase_potential`."""

    host: Host = field(static=True)
    elements: tuple[tuple[str, str], ...] = field(static=True, default=())

    @property
    def is_general(self) -> bool:
        """A calculator takes any structure."""
        return True

    @property
    def has_known_cost(self) -> bool:
        """What the calculator itself takes is not known, and not on this device."""
        return True

    def check(self, structures: Structures) -> list[Problem]:
        """Chemical elements, and no magnetic moments: they are not passed on to calculators."""
        moments = [
            Problem(
                int(number),
                "there are magnetic moments, which are not passed on to ASE calculators",
                "Remove them, or call the calculator by itself.",
            )
            for number in np.flatnonzero(structures.magnetic)
        ]
        symbols = dict(self.elements)
        return moments + [
            Problem(
                number,
                f"the label {label!r} is not a chemical element, which an ASE calculator needs",
                f"Name its element: elements={{{label!r}: ...}}.",
            )
            for number, labels in enumerate(structures.species)
            for label in sorted(labels)
            if symbols.get(label, label) not in atomic_numbers
        ]

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """What the calculator returns for each system."""
        if request.per_particle and "energies" not in self.host.properties:
            raise PotentialError(
                f"The calculator {self.host.name} has no energies of single particles."
            )
        charges = getattr(everyone.particles.data, "charges", None)
        ask = Ask(self.host, bool(request.virial), request.per_particle, raises=not is_collecting())
        state = HostState(
            everyone.positions,
            everyone.cell.vectors,
            jnp.full_like(everyone.positions[:, 0], jnp.nan) if charges is None else charges,
            self._numbers(everyone),
            everyone.system.apply_mask(everyone.there).indices,
            everyone.cell.periodic,
            everyone.cell.bounded,
        )
        more = request.forces or request.virial or request.per_particle
        found = (_results if more else _energy_alone)(ask, state)
        runtime_assert(
            ~jnp.any(found.failed),
            f"The ASE calculator {self.host.name} failed for system {{system}}: {{cause}}",
            fmt_args={"system": jnp.argmax(found.failed), "cause": self.host.cause},
            exception_type=CalculatorError,
        )
        return Evaluation(
            energy=found.energy if request.energy else None,
            forces=found.forces if request.forces else None,
            virial=found.virial if request.virial else None,
            particle_energies=found.energies if request.per_particle else None,
        )

    def _numbers(self, everyone: AllParticles) -> Array:
        """Atomic numbers (particles,)."""
        labels = getattr(everyone.particles.data, "labels", None)
        if labels is None:
            raise PotentialError("An ASE calculator needs particles with a column `labels`.")
        symbols = dict(self.elements)
        numbers = []
        for label in map(str, labels.vocabulary):
            symbol = symbols.get(label, label)
            if symbol not in atomic_numbers:
                raise PotentialError(
                    f"The label {label!r} is not a chemical element, which an ASE calculator "
                    f"needs.\nName it: ase_potential(calculator, elements={{{label!r}: ...}})."
                )
            numbers.append(atomic_numbers[symbol])
        table = jnp.asarray(np.array([*numbers, 0], np.int32))
        return table[jnp.clip(labels.indices, 0, len(numbers))]


@dataclass
class Ask:
    """What is asked of a calculator."""

    host: Host = field(static=True)
    virial: bool = field(static=True)
    per_particle: bool = field(static=True)
    raises: bool = field(static=True)  # inside of the call, where no check would tell


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _results(ask: Ask, state: HostState) -> Results:
    """One call of the host; floats go there and come back as bits.

    The host may be called from a thread in which JAX is in single precision, and would round them.
    """
    dtype = np.dtype(state.positions.dtype)
    particles, systems = state.positions.shape[0], state.vectors.shape[0]
    words = (dtype.itemsize // 4,) if dtype.itemsize > 4 else ()

    def bits(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((*shape, *words), np.uint32)

    found = jax.pure_callback(
        functools.partial(_on_host, ask, dtype),
        Results(
            bits(systems),
            bits(particles, 3),
            bits(systems, 3, 3),
            bits(particles),
            jax.ShapeDtypeStruct((systems,), np.bool_),
        ),
        jax.tree.map(_as_bits, state),
        vmap_method="sequential",
    )
    return jax.tree.map(lambda part: _from_bits(part, dtype), found)


def _as_bits(values: Array) -> Array:
    """Floats as integers of 32 bits, two of them (in a last dimension) for double precision."""
    floats = jnp.issubdtype(values.dtype, jnp.floating)
    return jax.lax.bitcast_convert_type(values, np.uint32) if floats else values


def _from_bits(values: Array, dtype: Any) -> Array:
    return jax.lax.bitcast_convert_type(values, dtype) if values.dtype == np.uint32 else values


def _on_host(ask: Ask, dtype: np.dtype[Any], state: HostState) -> Results:
    """Bare NumPy from here on: a call of JAX would wait for the program that waits for it."""

    def floats(array: np.ndarray) -> np.ndarray:
        if array.dtype != np.uint32:
            return array
        values = np.ascontiguousarray(array).view(dtype)
        return values[..., 0] if dtype.itemsize > 4 else values

    def bits(array: np.ndarray) -> np.ndarray:
        if array.dtype == bool:
            return array
        values = array.astype(dtype)
        return (values[..., None] if dtype.itemsize > 4 else values).view(np.uint32)

    known = jax.tree.map(lambda leaf: floats(np.asarray(leaf)), state)
    options = {"virial": ask.virial, "per_particle": ask.per_particle, "raises": ask.raises}
    return jax.tree.map(bits, ask.host.computed(known, **options))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _energy_alone(ask: Ask, state: HostState) -> Results:
    """One call of the host, of which nothing but the energy is read."""
    found = _results(ask, state)
    return Results(found.energy, None, None, None, found.failed)


def _energy_derivative(ask: Ask, primals: tuple[HostState], tangents: tuple[HostState]) -> Any:
    """dU = −Σ F·dr; there are no derivatives by anything else."""
    (state,), (change,) = primals, tangents
    for name in ("vectors", "charges"):
        if not isinstance(getattr(change, name), SymbolicZero):
            raise PotentialError(
                f"An ASE calculator can't be differentiated by {name}, only by positions.\n"
                "Strain derivatives are the virial: evaluate(..., virial=True)."
            )
    found = _results(ask, dataclasses.replace(state, positions=_once(state.positions)))
    moved = _instantiated(change.positions, state.positions)
    there = state.system < state.vectors.shape[0]
    work = jnp.where(there, jnp.sum(found.forces * moved, axis=1), 0)
    # By hand, not by `sum_over`: this is transposed, and its choices would be, too.
    energy = jnp.zeros_like(found.energy).at[state.system].add(-work, mode="drop")
    known = Results(found.energy, None, None, None, found.failed)
    return known, Results(energy, None, None, None, np.zeros(found.failed.shape, jax.dtypes.float0))


def _derivative(ask: Ask, primals: tuple[HostState], tangents: tuple[HostState]) -> Any:
    """That of the energy; those of forces and virial are errors as soon as one is worked out."""
    (state,), (change,) = primals, tangents
    _, slope = _energy_derivative(ask, primals, tangents)
    found = _results(ask, dataclasses.replace(state, positions=_once(state.positions)))
    moved = _instantiated(change.positions, state.positions)
    return found, Results(
        slope.energy,
        _no_derivative(moved, found.forces),
        _no_derivative(moved, found.virial),
        _no_derivative(moved, found.energies),
        slope.failed,
    )


_energy_alone.defjvp(_energy_derivative, symbolic_zeros=True)
_results.defjvp(_derivative, symbolic_zeros=True)


def _instantiated(change: Any, like: Array) -> Array:
    return jnp.zeros_like(like) if isinstance(change, SymbolicZero) else change


@jax.custom_jvp
def _once(positions: Array) -> Array:
    """Positions by which a derivative has been taken, and by which no other can be."""
    return positions


@_once.defjvp
def _refuse(primals: Any, tangents: Any) -> Any:
    raise PotentialError("An ASE calculator has no second derivatives.")


def _no_derivative(change: Array, like: Array) -> Array:
    """Nothing where it is not used, an error where it is."""

    def refuse(_: Any) -> Any:
        raise PotentialError("Forces of an ASE calculator have no derivatives.")

    shape = jax.ShapeDtypeStruct(like.shape, like.dtype)
    return jax.pure_callback(refuse, shape, change, vmap_method="sequential")
