"""Derivatives with respect to positions.

    f_{i,…a}  = ∂g_{i,…} / ∂x_{i,a}     of each particle's value by its own position
    f_{ij,…a} = ∂g_{i,…} / ∂x_{j,a}     across particles

The new axis of space is the last one, the new particle axis too. An expression is
differentiated by rule where one is known (``derivative_rule``); what remains is done by this
node, with as few tangents as the dependence allows:

    local functions       one tangent for each direction of space, all particles at once
    values per system     one cotangent for each component, or, if there are more of them than
                          coordinates, one tangent for each coordinate
    anything else         particle after particle, one tangent for each direction of space
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes, multiplied, with_tangents
from instar.statefunc.node import StateFunction
from instar.statefunc.state import Pair, Particles, State, chosen
from instar.statefunc.tangents import along_axes, values_at

__all__ = ["Derivative", "derivative"]


@dataclass(repr=False, eq=False)
class Derivative(StateFunction):
    """The derivative of a function with respect to positions."""

    across: bool = field(static=True)
    strength = 2
    stored = True

    @property
    def pointwise(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not self.across

    def values_at(self, state: State) -> Any:
        if self.child.local:
            own = along_axes(self.child, state, [1] * len(state.coordinates))
            return self._on_diagonal(state, own) if self.across else own
        if self.child.pdepth == 0 and self._fewer_components_than(state):
            return self._backward(state)
        return self._particle_after_particle(state)

    def _on_diagonal(self, state: State, own: Any) -> Any:
        """(…, P, …) as the diagonal of (…, P, P, …)."""
        n, points = state.trailing(1)[0], (1,) * len(state.points)
        deeper = state.deepened(state.whole(own, 1), 1, 2)
        diagonal = jnp.eye(n, dtype=bool).reshape(n, n, *points)
        return chosen(diagonal, state.whole(deeper, 2), 0)

    def _fewer_components_than(self, state: State) -> bool:
        coordinates = (self.dim or 1) * (state.particles or 1)
        in_systems = isinstance(state, Particles) and state.system is not None
        return in_systems or math.prod(self.child.contract.components) <= coordinates

    def _backward(self, state: State) -> Any:
        values, pull = jax.vjp(lambda *new: values_at(self.child, state, new), *state.coordinates)
        shape = self.child.contract.components
        trailing = values.ndim - len(shape)
        basis = jnp.eye(math.prod(shape), dtype=values.dtype)
        cotangents = jnp.broadcast_to(
            basis.reshape(-1, *shape, *(1,) * trailing), (len(basis), *values.shape)
        )
        gradients = jax.vmap(pull)(cotangents)
        axis = 2 if state.particles is not None else None
        joined = gradients[0] if axis is None else jnp.concatenate(gradients, axis)
        tensor = joined.reshape(*shape, *joined.shape[1:])
        return jnp.moveaxis(tensor, len(shape), self.child.rank)

    def _particle_after_particle(self, state: State) -> Any:
        components = len(self.contract.components)
        n, pdepth = state.trailing(1)[0], self.child.pdepth

        def by(j: Any, moves: list[Any]) -> Any:
            column = along_axes(self.child, state, moves)
            if self.across:
                return column
            return jnp.take(column, j, components)

        if isinstance(state, Pair):
            columns = jnp.stack([by(0, [1, 0]), by(1, [0, 1])])
        else:
            self._refuse_many_systems(state)
            if n == 0:
                return jnp.zeros(
                    self.contract.components + state.trailing(self.pdepth), state.dtype
                )
            each = jnp.eye(n, dtype=state.dtype).reshape(n, 1, n, *(1,) * len(state.points))
            step = jax.checkpoint(lambda j: by(j, [jnp.take(each, j, 0)]))
            columns = lax.map(step, jnp.arange(n))
        return jnp.moveaxis(columns, 0, components + (pdepth if self.across else 0))

    def _refuse_many_systems(self, state: State) -> None:
        if isinstance(state, Particles) and state.system is not None:
            raise ContractError(
                f"{self.formula()} depends on pairs of particles in a way that is only known for "
                "one system at a time.\nEvaluate it on samples of one system."
            )

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """Everything that the child holds, with its tangents or cotangents beside it."""
        numbers, dim = sizes.numbers(self.child), self.dim or 1
        components = math.prod(self.child.contract.components)
        if self.child.pdepth == 0 and components <= dim * sizes.particles:
            back = dataclasses.replace(sizes, grad=True)
            again = 3 if sizes.grad else 1  # a gradient of a gradient
            return multiplied(self.child.buffers(back, numbers), components * again)
        inside = dataclasses.replace(sizes, differentiated=True)
        found = self.child.buffers(inside, numbers)
        if self.child.local:
            found = with_tangents(found, dim)
        else:  # one column after the other; on the way back all of them
            columns = 2 * sizes.particles if sizes.grad else 1
            found = with_tangents(found, 2 * dim)
            found |= self.hold("columns of {}", columns * (1 + dim) * numbers)
        return found | self.hold("{}", 2 * sizes.numbers(self)) if sizes.grad else found

    def formula(self) -> str:
        if self.child.pdepth == 0 and not self.across:
            return f"∂{self.child.within(9)}/∂x"
        of, by = ("" if self.child.pdepth == 0 else "ᵢ"), ("ⱼ" if self.across else "ᵢ")
        return f"∂{self.child.within(9)}{of}/∂x{by}"


def derivative(function: StateFunction, *, across: bool = False) -> StateFunction:
    """The derivative with respect to positions; its axis of space is the last one.

    Of a value per particle it is that by the particle's own position, or with ``across`` by the
    position of every particle. Of a value per system it is that by every particle.
    """
    contract = function.contract
    if not function.moves:
        raise ContractError(f"{function.formula()} does not depend on positions.")
    if contract.on_particles and contract.pdepth == 0:
        across = True
    if across and (contract.pdepth > 1 or not contract.on_particles):
        raise ContractError(
            f"{function.formula()} has {contract.pdepth} particle axes; "
            "derivatives across particles are of functions with none or one."
        )
    by_rule = function.derivative_rule(across)
    if by_rule is not None:
        return by_rule
    deeper = contract.but(rank=contract.rank + 1, pdepth=contract.pdepth + across)
    return Derivative(deeper, (function,), across)
