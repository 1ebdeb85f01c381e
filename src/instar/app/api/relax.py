"""`relax`: structures to their minima, as many at once as there is room for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from ase import Atoms

from instar.app.api.md_state import fixed_atoms
from instar.app.ase.potential import AsePotential
from instar.app.ase.structures import StructureError
from instar.app.config.potentials import PotentialLike, Trust, recipe_of
from instar.app.config.registry import found
from instar.app.config.units import parse_unit, quantity
from instar.app.evaluation.in_flight import Room, fly, room_for_flight
from instar.app.evaluation.point import Point, check_precision, tabled
from instar.app.evaluation.relaxing import Ended, Relaxing
from instar.core.data.vocabulary import SHOWN
from instar.core.utils.html_text import html_table
from instar.dynamics.method import METHODS
from instar.dynamics.relax import Relaxation
from instar.dynamics.relax.auto import Auto
from instar.dynamics.relax.cell import CELLS, mask_of
from instar.dynamics.relax.checks import check_all, check_mask
from instar.dynamics.relax.declared import OPTIMIZER
from instar.dynamics.relax.fire import Fire
from instar.dynamics.relax.lbfgs import Lbfgs
from instar.memory import Budget, MemoryPlanError, find_budget, show

__all__ = ["Relaxed", "relax"]

if TYPE_CHECKING:
    StructuresLike = Atoms | Iterable[Atoms]
    Quantity = str | float | Sequence[str | float] | np.ndarray
    Steps = int | Sequence[int] | np.ndarray
else:
    StructuresLike = Quantity = Steps = Any  # what is none is refused in words

ROWS = 1000
"""Atoms that are moved at once, about: more are not faster, and wait for each other longer."""


@dataclass(frozen=True)
class Relaxed:
    """What has become of a list of structures, in its order."""

    structures: list[Atoms]
    """As they are at the end."""
    energies: np.ndarray
    """(structures,), eV; NaN where a structure could not be computed at all."""
    forces: list[np.ndarray]
    """One array (atoms, 3) for each structure, eV/Å."""
    stresses: np.ndarray
    """(structures, 3, 3), eV/Å³, in the sign of ASE; NaN where a structure has no volume."""
    converged: np.ndarray
    """(structures,), whether forces, and stresses where the cell moves, are within tolerances."""
    steps: np.ndarray
    """(structures,), steps made; refused trials are among them."""
    evaluations: np.ndarray
    """(structures,), how often forces were worked out."""
    outcomes: list[str]
    """"converged", "out of steps", "stuck" or "frozen"."""
    notes: list[str]
    """For each structure what to do about its outcome; nothing where it has converged."""
    busy: float = 1.0
    """The part of all rows that were of structures on their way, over all steps."""

    def __repr__(self) -> str:
        rows = [
            f"{n}: {o}, {s} steps, {e:.6f} eV, forces up to {f:.4g} eV/Å"
            for n, o, s, e, f in self._rows()
        ]
        more = ["…"] if len(self.outcomes) > len(rows) else []
        return "\n  ".join([self._headline, *rows, *more])

    def _repr_html_(self) -> str:
        heads = ("structure", "outcome", "steps", "energy (eV)", "largest force (eV/Å)")
        rows = [(n, o, s, f"{e:.6f}", f"{f:.4g}") for n, o, s, e, f in self._rows()]
        more = [("…", "", "", "", "")] if len(self.outcomes) > len(rows) else []
        return html_table(self._headline, heads, [*rows, *more])

    @property
    def _headline(self) -> str:
        count = len(self.outcomes)
        of = "1 structure" if count == 1 else f"{count} structures"
        return f"Relaxed {of}, {int(self.converged.sum())} converged"

    def _rows(self) -> list[tuple[int, str, int, float, float]]:
        """The first structures: number, outcome, steps, energy (eV), largest force (eV/Å)."""
        shown = range(min(SHOWN, len(self.outcomes)))
        lengths = [np.linalg.norm(self.forces[n], axis=1).max(initial=0) for n in shown]
        return [
            (n, self.outcomes[n], int(self.steps[n]), float(self.energies[n]), float(lengths[n]))
            for n in shown
        ]


def relax(  # noqa: PLR0913, PLR0917 (what a relaxation can be told)
    structures: StructuresLike,
    potential: PotentialLike,
    method: str | Relaxation = "auto",
    cell: str = "fixed",
    pressure: Quantity = 0.0,
    force_tolerance: Quantity = "0.01 eV/angstrom",
    stress_tolerance: Quantity = "0.05 GPa",
    steps: Steps = 2000,
    budget: str | int | float | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    mask: Any = None,
    precision: str = "float64",
    skin: float = 1.0,
    trusted: bool = False,
) -> Relaxed:
    """Structures of any mix of sizes and cells to their minima, each as if it were alone.

        min E + pV over positions and, if asked for, the cell

    As many are moved at once as fit; where one has ended, the next one that waits takes its place.
    Atoms under an ASE constraint `FixAtoms` do not move.

    Parameters
    ----------
    structures
        One `ase.Atoms` or several; positions in Å.
    potential
        An object of `instar.potentials`, or the mapping (or list of mappings) that stands in
        configuration files.
    method
        "auto", "fire", "lbfgs", or what a function of `instar.dynamics.relax` makes, such as
        ``lbfgs(memory=20)``.
    cell
        What moves beside the atoms: "fixed", "isotropic", "full" or "constant_volume".
    pressure
        Text with a unit, such as "1 GPa", or a number in eV/Å³; one for all, or one per structure.
    force_tolerance, stress_tolerance
        A structure has converged when no force is longer and, if the cell moves, no component of
        σ + p is larger. Text with a unit, or numbers in eV/Å and eV/Å³.
    steps
        How many steps each may make; one number for all, or one per structure.
    budget
        Memory: "8 GiB", "60 %" of what is left, bytes, or None for all that is left.
    progress
        Called with how many structures have ended, and how many there are.
    mask
        Which components of the strain of a "full" cell may change: six bools (xx, yy, zz, yz, xz,
        xy) or a matrix.
    precision
        "float64" or "float32"; no switch of JAX is needed.
    skin
        In Å: neighbors are listed up to this distance beyond the cutoff.
    trusted
        Whether a mapping may name calculators that start programs or load code.

    Returns
    -------
    Relaxed
        ``structures``, ``energies`` (eV), ``forces`` (eV/Å), ``stresses`` (eV/Å³, the sign of ASE),
        ``converged``, ``steps`` and ``outcomes``, in the order of the input.

    Raises
    ------
    StructureError
        If the structures lack what the potential needs.
    ConfigurationError
        If a mapping is not a potential.
    MemoryPlanError
        If a structure can't fit into the budget.
    ValueError
        If a method, a cell, a tolerance or a pressure is not what it must be.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> argon = {"epsilon": "0.01 eV", "sigma": "3.4 angstrom"}
    >>> potential = {"type": "lennard_jones", "cutoff": 9, "parameters": {"Ar": argon}}
    >>> apart = Atoms("Ar2", [[0, 0, 0], [0, 0, 4.2]])
    >>> found = instar.relax(apart, potential, force_tolerance="1e-3 eV/angstrom")
    >>> print(found.outcomes, found.energies.round(3))
    ['converged'] [-0.01]
    """
    if not isinstance(structures, Iterable):
        raise StructureError(f"Structures are ase.Atoms or a list of them, not {structures!r}.")
    given = [structures] if isinstance(structures, Atoms) else list(structures)
    recipe = recipe_of(potential, trust=Trust.of(trusted))
    found_budget = find_budget(budget)
    check_precision(precision)
    chosen = method_of(method)
    options = {
        "cell": _named(cell, CELLS, "A cell"),
        "pressure": _each("pressure", pressure, "eV/angstrom^3", len(given)),
        "force_tolerance": _each("force_tolerance", force_tolerance, "eV/angstrom", len(given)),
        "stress_tolerance": _each(
            "stress_tolerance", stress_tolerance, "eV/angstrom^3", len(given)
        ),
        "steps": _whole(steps, len(given)),
    }
    check_mask(mask, cell)
    _check_knobs(chosen)
    if not given:
        return _results([], [], 1.0, moves_cell=False)
    with jax.enable_x64(precision == "float64"):
        point = tabled(given, recipe, precision)
        fixed = np.concatenate([fixed_atoms(n, atoms) for n, atoms in enumerate(given)])
        check_all(point.particles, point.systems, point.potential, fixed, **options)
        options |= {
            "mask": mask_of(mask, len(given)),
            "stresses": _has_stresses(given, point, cell),
        }
        work = Relaxing(point, chosen, options, fixed, skin)
        ended, busy = _relaxed(work, found_budget, progress)
    return _results(given, ended, busy, moves_cell=cell != "fixed")


def method_of(method: Any, **knobs: Any) -> Relaxation:
    """A method of relaxation by its name, or as it is."""
    if isinstance(method, Relaxation):
        return method
    known = {name: one for name, one in found(METHODS).items() if one.role == OPTIMIZER}
    return known[_named(method, tuple(known), "A method of relaxation")].target(**knobs)


def _relaxed(
    work: Relaxing, budget: Budget, progress: Callable[[int, int], None] | None
) -> tuple[list[Ended], float]:
    """What has become of each structure, and how busy rows were."""
    count = work.count
    results: list[Any] = [None] * count
    done = 0

    def landed(item: int, ended: Ended) -> None:
        nonlocal done
        results[item] = ended if work.atoms[item] else work.without_atoms(item)
        done += 1
        if progress is not None:
            progress(done, count)

    general = work.point.potential.is_general
    order = np.argsort(-work.atoms, kind="stable")
    if general or not work.atoms.any():
        for item in np.flatnonzero(work.atoms == 0).tolist():
            landed(item, work.without_atoms(item))
        order = order[work.atoms[order] > 0]
    else:  # what knows structures by their numbers needs all of them
        order = np.sort(order)
    if not len(order):
        return results, 1.0
    room, state = _room(work, order, general, budget)
    state = fly(work, state, room, order, landed)
    moved = sum(one.evaluations * int(n) for one, n in zip(results, work.atoms, strict=True))
    return results, moved / max(1, room.atoms * int(state.step))


def _room(work: Relaxing, order: np.ndarray, general: bool, budget: Budget) -> tuple[Room, Any]:
    """As much room as is worth while and fits into the budget, and the state with it."""
    limit = budget.usable()
    rows = ROWS if general else int(work.atoms.sum())
    largest = int(work.atoms.max())
    while True:
        room = room_for_flight(work.atoms[order], work.images[order], rows, whole=not general)
        state = work.empty(room)
        need = work.need(state, limit)
        if need <= limit:
            return room, state
        if not general or rows <= largest:
            what = "Structures" if not general else "The largest structure"
            raise MemoryPlanError(
                f"{what} ({room.atoms} atoms) can't be relaxed in less than {show(need)}, but only "
                f"{show(limit)} may be used.\nThe budget is {show(budget.bytes)} "
                f"({budget.source}); give a larger one, a method with a shorter memory, or use "
                "single precision."
            )
        rows = max(largest, min(rows // 2, int(rows * limit / need)))


def _check_knobs(method: Relaxation) -> None:
    """Numbers of a method belong to slots, which structures take in turn."""
    if isinstance(method.optimizer, Auto | Fire | Lbfgs):
        for name, value in vars(method.optimizer).items():
            if np.ndim(value):
                raise ValueError(
                    f"The {name} of a method is one number for all structures here, not "
                    f"{np.asarray(value).tolist()!r:.100}.\nRelax structures that need another "
                    "one by a call of their own."
                )


def _results(
    given: Sequence[Atoms], ended: Sequence[Ended], busy: float, *, moves_cell: bool
) -> Relaxed:
    structures, stresses = [], np.full((len(given), 3, 3), np.nan)
    for number, (atoms, one) in enumerate(zip(given, ended, strict=True)):
        moved = atoms.copy()
        moved.calc = None
        if atoms.cell.rank == 3:
            if moves_cell:
                moved.set_cell(np.asarray(one.vectors, float))
            stresses[number] = -one.virial / moved.get_volume()
        free = ~fixed_atoms(number, atoms)  # what stays is not rounded, either
        moved.arrays["positions"][free] = one.positions[free]
        structures.append(moved)
    outcomes = [one.outcome for one in ended]
    return Relaxed(
        structures=structures,
        energies=np.array([one.energy for one in ended], float),
        forces=[np.asarray(one.forces, float) for one in ended],
        stresses=stresses,
        converged=np.array([outcome == "converged" for outcome in outcomes], bool),
        steps=np.array([one.steps for one in ended], np.int64),
        evaluations=np.array([one.evaluations for one in ended], np.int64),
        outcomes=outcomes,
        notes=[_note(one) for one in ended],
        busy=busy,
    )


def _note(one: Ended) -> str:
    """What to do about an outcome."""
    if one.outcome == "stuck":
        return (
            "No step lowers the energy: the potential ends abruptly at its cutoff (truncation: "
            "truncate), or single precision does not resolve it."
        )
    if one.outcome == "frozen":
        atoms = ", ".join(map(str, one.suspects[:8])) or "none"
        return f"It is no longer finite; it is kept as it was before. Look at the atoms {atoms}."
    return "Give it more steps." if one.outcome == "out of steps" else ""


def _has_stresses(given: Sequence[Atoms], point: Point, cell: str) -> bool:
    """Whether there are stresses; a cell that moves needs them."""
    for part in point.potential.parts():
        if isinstance(part, AsePotential) and "stress" not in part.host.properties:
            if cell != "fixed":
                raise ValueError(
                    f"The calculator {part.host.name} has no stress, which a cell needs to move "
                    f"(cell: {cell}).\nUse a fixed cell."
                )
            return False
    return any(atoms.cell.rank == 3 for atoms in given)


def _each(name: str, given: Any, unit: str, count: int) -> np.ndarray:
    """One number per structure, in the units used inside."""
    dimension = parse_unit(unit)[1]
    several = not isinstance(given, str) and np.ndim(given) > 0
    values = list(given) if several else [given]
    if several and len(values) != count:
        raise ValueError(f"There are {count} structures, but {len(values)} numbers for {name}.")
    numbers = [
        quantity(v.item() if isinstance(v, np.generic) else v, dimension, unit) for v in values
    ]
    return np.broadcast_to(np.array(numbers, float), count)


def _whole(steps: Any, count: int) -> np.ndarray:
    known = np.asarray(steps)
    if known.dtype.kind not in "iu" or (known < 0).any() or known.shape not in ((), (count,)):
        raise ValueError(f"Steps are a whole number from 0 up, not {steps!r}.")
    return np.broadcast_to(known, count)


def _named(given: Any, known: Sequence[str], what: str) -> str:
    """A name that there is; else an error with the nearest one."""
    if given in known:
        return given
    near = difflib.get_close_matches(str(given), known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}."
    raise ValueError(f"{what} is not {given!r}; {hint}")
