"""Explosions are contained: a system that stops being finite is frozen, the others go on."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.dynamics.state import DynamicState

__all__ = ["Explosion", "chosen", "contained", "explosions"]


class Explosion(NamedTuple):
    """A system that could not make a step; its state is kept as it was before."""

    system: int
    step: int
    atoms: tuple[int, ...]
    advice: str = ""
    name: str = ""

    def __str__(self) -> str:
        called = f" ({self.name})" if self.name else ""
        named = ", ".join(map(str, self.atoms[:8])) + (", …" if len(self.atoms) > 8 else "")
        return (
            f"System {self.system}{called} exploded at step {self.step} and is frozen as it was "
            f"before: atoms {named} would have had positions, velocities or forces that are not "
            f"finite, or have moved by more than half a cell.\n{self.advice}"
        )


def explosions(state: DynamicState) -> tuple[Explosion, ...]:
    """Systems that have exploded and are frozen, in the order of their numbers.

    Parameters
    ----------
    state
        Such as `simulate` returns.

    Returns
    -------
    tuple of Explosion
        The system, the step that could not be made, and the atoms that were not finite, counted
        within their system; empty if all is well.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> instar.md.explosions(instar.md_state(Atoms("Ar"), trap))
    ()
    """
    systems = state.systems.data
    suspects = [
        tuple(np.asarray(x) for x in (data.system.indices, data.number, data.suspect))
        for name in state.vital()
        if hasattr(data := getattr(state, name).data, "suspect")
    ]
    return tuple(
        Explosion(
            int(system),
            int(systems.frozen_at[system]),
            tuple(n for own, number, bad in suspects for n in number[bad & (own == system)]),
            state.ADVICE,
        )
        for system in np.flatnonzero(systems.frozen)
    )


def contained[S: DynamicState](before: S, after: S, unless: Array | None = None) -> S:
    """``after``, but for systems that are not finite any more: they are as before, for good.

    ``unless`` it is only prepared for a step: then it is that step which can't be made.
    """
    vital = dict(after.vital())
    broken = ~_finite(vital.pop("systems"))
    made = {name: getattr(after, name).data for name in vital}
    suspects = {n: made[n].system.valid_mask & ~_finite(columns) for n, columns in vital.items()}
    frozen, step = before.systems.data.frozen, before.step

    def kept(old: Any, new: Any) -> Any:
        """Rows of systems that go on are new; an explosion is noted where it can be."""
        exploded = broken
        for name, suspect in suspects.items():
            exploded = exploded | (made[name].system.sum_over(suspect).data > 0)
        stop, fresh = frozen | exploded, exploded & ~frozen
        columns = _where(stop, old["systems"], new["systems"])
        at = jnp.where(fresh, step, columns.frozen_at)
        tables = {"systems": dataclasses.replace(columns, frozen=stop, frozen_at=at)}
        for name, suspect in suspects.items():
            stopped, just_now = after.systems.set_data((stop, fresh))[made[name].system]
            rows = _where(stopped, old[name], new[name])
            tables[name] = _noted(rows, suspect & just_now)
        return tables

    names = ["systems", *vital]
    trouble = jnp.any(broken) | jnp.any(frozen)
    for suspect in suspects.values():
        trouble = jnp.any(suspect) | trouble
    if unless is not None:
        trouble = trouble & ~unless
    tables = lax.cond(trouble, kept, lambda _, new: new, _data(before, names), _data(after, names))
    return after.with_tables(tables)


def chosen[S: DynamicState](accepted: Array, new: S, old: S) -> S:
    """The new state of systems (systems,) that accept it, the old one of others.

    All else is as in the new state, its list as well.
    """
    names = [name for name in new.vital() if name != "systems"]
    tables = {"systems": _where(accepted, new.systems.data, old.systems.data)}
    for name, mine in _data(new, names).items():
        own = new.systems.set_data(accepted)[mine.system]
        tables[name] = _where(own, mine, getattr(old, name).data)
    return new.with_tables(tables)


def _data(state: DynamicState, names: list[str]) -> dict[str, Any]:
    return {name: getattr(state, name).data for name in names}


def _noted(rows: Any, suspect: Array) -> Any:
    if not hasattr(rows, "suspect"):
        return rows
    return dataclasses.replace(rows, suspect=rows.suspect | suspect)


def _finite(columns: Any) -> Array:
    """Whether all numbers of each row are finite."""
    rows = [
        jnp.all(jnp.isfinite(leaf.reshape(leaf.shape[0], -1)), axis=1)
        for leaf in jax.tree.leaves(columns)
    ]
    return jnp.all(jnp.stack(rows), axis=0)


def _where(chosen: Array, one: Any, other: Any) -> Any:
    """Rows of one where chosen, else of the other."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(pick, one, other)
