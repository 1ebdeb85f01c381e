"""Any function of a sample, with a declared contract.

f = φ(sample)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.sample import Sample
from instar.statefunc.state import Particles, State

__all__ = ["Function", "function"]


@dataclass(repr=False, eq=False)
class Function(StateFunction):
    """A function of one `Sample`, and of ``parameters`` if there are any."""

    call: Callable[..., Any] = field(static=True)
    name: str = field(static=True)
    parameters: Any
    depends_on_others: bool = field(static=True)

    @property
    def local(self) -> bool:
        return not self.depends_on_others

    def values_at(self, state: State) -> Any:
        def of_one(columns: dict[str, Any]) -> Any:
            return self._checked(self._call(state, columns), state)

        for _ in state.points:
            of_one = jax.vmap(of_one, in_axes=-1, out_axes=-1)
        return of_one({name: state.column(name) for name in state.names()})

    def _call(self, state: State, columns: dict[str, Any]) -> Any:
        """Call the function with a sample in the form that callers know."""
        if state.particles is not None:
            columns = {name: jnp.moveaxis(values, -1, 0) for name, values in columns.items()}
        positions, velocities = columns.pop("positions"), columns.pop("velocities", None)
        if isinstance(state, Particles) and not state.points:
            context = (state.mask, state.edges, state.system)
        else:
            context = (None, None, None)
        sample = Sample(positions, velocities, *context, columns)
        given = () if self.parameters is None else (self.parameters,)
        return self.call(sample, *given)

    def _checked(self, values: Any, state: State) -> Any:
        trailing = state.trailing(self.pdepth)
        expected = trailing[: len(trailing) - len(state.points)] + self.contract.components
        if jnp.shape(values) != expected:
            raise ContractError(
                f"{self.formula()} was declared with {self.contract}, which is the shape "
                f"{expected} here, but it gave {jnp.shape(values)}."
            )
        ahead = len(expected) - self.rank - 1
        values = jnp.asarray(values).astype(state.dtype)
        return jnp.moveaxis(values, range(ahead), range(-ahead, 0)) if ahead else values

    def formula(self) -> str:
        return f"{self.name}(x)"


def function(
    call: Callable[..., Any],
    *,
    rank: int = 0,
    dim: int,
    pdepth: int = 1,
    n_features: int = 1,
    parameters: Any = None,
    local: bool = False,
    name: str | None = None,
) -> Function:
    """``call(sample)``, or ``call(sample, parameters)``, as a state function.

    It is called with one `Sample` and must return ``(P,)*pdepth + (dim,)*rank + (n_features,)``
    numbers. ``sample.mask`` tells which particles are there, if any is absent: their rows hold
    the values of another, and a function of several particles must leave them out. Say
    ``local=True`` if a particle's value depends on no other particle: derivatives then cost
    much less.
    """
    if local and pdepth != 1:
        raise ContractError(f"A local function has one value per particle; pdepth is {pdepth}.")
    contract = Contract(rank, dim, pdepth, n_features, on_particles=True)
    label = name or getattr(call, "__name__", "φ")
    return Function(
        contract, (), call, "φ" if label == "<lambda>" else label, parameters, not local
    )
