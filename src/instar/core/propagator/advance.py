"""Many steps as one compiled chunk that survives a failure in its middle.

The chunk stops at the first step in which a check fails. It keeps a copy of the state from a few
steps before; from there the host runs it once more, up to the failing step, repairs the state,
and goes on. Step ``i`` draws its key as ``fold_in(key, i)``, so that neither the cut into chunks
nor a repair changes what a step does: a run that had to grow equals one that had room from the
start, bit for bit.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.assertion import RuntimeAssertion, with_outcome
from instar.core.propagator.composition import Propagator
from instar.core.propagator.settling import MAX_RETRIES, Settling
from instar.core.result import Result, as_result_function
from instar.core.utils.pytree_dataclass import dataclass
from instar.core.utils.transforms import is_traced

__all__ = ["Repair", "advance", "compilations", "program", "scan_steps"]


class Repair(NamedTuple):
    """What was repaired, before which step, and the state that goes on from there."""

    step: int
    failed: tuple[RuntimeAssertion, ...]
    state: Any


def scan_steps[S](
    propagator: Propagator[S], key: Array, state: S, steps: int, *, start: Any = 0
) -> S:
    """The same steps as `advance`, as a scan: differentiable in reverse, and it never stops.

    Its checks are those of the propagator; wrap it (``as_result_function``) to collect them.
    """

    def body(state: S, i: Array) -> tuple[S, None]:
        return propagator(jax.random.fold_in(key, i), state), None

    numbers = jnp.asarray(start, jnp.uint32) + jnp.arange(steps, dtype=jnp.uint32)
    return lax.scan(body, state, numbers)[0]


def advance[S](
    propagator: Propagator[S],
    key: Array,
    state: S,
    steps: Any,
    *,
    start: Any = 0,
    max_retries: int = MAX_RETRIES,
    donate: bool = False,
    on_repair: Callable[[Repair], None] | None = None,
) -> S:
    """The state after ``steps`` steps, the first of which has the number ``start``.

    One compiled program, of which the host reads one boolean. When a check fails, the steps
    before the failing one are kept, the state is repaired (``on_repair`` is told, and may raise)
    and the run goes on with that step. A failed check without a repair raises its exception,
    which carries ``last_good``, the number of the failing step and the state before it.

    With ``donate`` the memory of ``state`` is given away: it can't be used afterwards.
    """
    _validate(key, state, steps, start)
    hash(_split(propagator)[0])
    steps, start = int(steps), int(start)
    last, settling = start + steps, Settling(max_retries)
    while True:
        chunk = _run(propagator, key, state, start, last, donate)
        if bool(chunk.all_assertions_pass):
            return chunk.value.state
        failing, result = int(chunk.value.begun), _at_step(chunk)
        saved, saved_step = chunk.value.saved, int(chunk.value.saved_step)
        del chunk, state  # three states, of which one is needed: no more is planned for
        state = _before_the_failure(propagator, key, saved, (saved_step, failing), donate)
        del saved
        if failing != start:
            start, settling = failing, Settling(max_retries)
        try:
            state = settling.repaired(result, state)
        except Exception as error:
            error.last_good = (failing, state)  # pyright: ignore[reportAttributeAccessIssue]
            raise
        if on_repair is not None:
            on_repair(Repair(failing, result.failed_assertions, state))


def program(propagator: Propagator[Any], key: Array, state: Any) -> jax.stages.Lowered:
    """The program that `advance` runs for a state like this, before it is compiled.

    Once it is compiled, `advance` does not compile it again.
    """
    recipe, arrays = _split(propagator)
    return _KEEPING.lower(recipe, arrays, key, state, np.zeros(3, np.uint32))


def compilations(propagator: Propagator[Any]) -> int:
    """How many programs `advance` has compiled for this propagator, one for each set of sizes."""
    return _compiled[_split(propagator)[0]]


@dataclass
class _Chunk[S]:
    """Where a chunk of steps ended, and a state from not long before.

    ``begun`` is the first step of the stride that was made last.
    """

    saved: S
    saved_step: Array
    state: S
    step: Array
    begun: Array


class _Constant:
    """A part of a propagator that is not an array; 1, 1.0 and True are different ones."""

    def __init__(self, value: Any) -> None:
        self.value = value
        number = isinstance(value, bool | int | float | complex)
        self._key = (type(value), repr(value)) if number else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and self._key == other._key

    def __hash__(self) -> int:
        try:
            return hash(self._key)
        except TypeError:
            raise TypeError(
                f"A propagator is compiled for its parts, so {self.value!r} must be hashable.\n"
                "Make it a tuple or a frozen dataclass, or an array."
            ) from None


class _Recipe(NamedTuple):
    """The part of a propagator that a program is compiled for: all but its arrays."""

    structure: Any
    constants: tuple[Any, ...]


_compiled: collections.Counter[_Recipe] = collections.Counter()
_ARRAY = object()


def _split(propagator: Any) -> tuple[_Recipe, list[Any]]:
    leaves, structure = jax.tree.flatten(propagator)
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array | np.ndarray)]
    constants = tuple(
        _ARRAY if isinstance(leaf, jax.Array | np.ndarray) else _Constant(leaf) for leaf in leaves
    )
    return _Recipe(structure, constants), arrays


def _joined(recipe: _Recipe, arrays: list[Any]) -> Any:
    rest = iter(arrays)
    leaves = [next(rest) if leaf is _ARRAY else leaf.value for leaf in recipe.constants]
    return jax.tree.unflatten(recipe.structure, leaves)


def _run(
    propagator: Any, key: Array, state: Any, first: int, last: int, donate: bool
) -> Result[_Chunk[Any]]:
    recipe, arrays = _split(propagator)
    segment = max(1, math.isqrt(last - first) // 2)
    numbers = np.array([first, last, segment], np.uint32)
    return (_DONATING if donate else _KEEPING)(recipe, arrays, key, state, numbers)


def _chunk(recipe: _Recipe, arrays: list[Any], key: Array, state: Any, numbers: Array) -> Any:
    """Steps ``first`` to ``last``, in segments with a copy of the state before each."""
    _compiled[recipe] += 1
    stride = with_outcome(_stride_of(_joined(recipe, arrays)))
    first, last, segment = numbers

    def one(carry: tuple[Any, Array, Array, Array]) -> tuple[Any, Array, Array, Array]:
        state, step, _, _ = carry
        (state, end), passing = stride(key, state, step, last)
        return state, end, step, passing

    def some(carry: tuple[_Chunk[Any], Array]) -> tuple[_Chunk[Any], Array]:
        chunk, passing = carry
        end = chunk.step + jnp.minimum(segment, last - chunk.step)
        state, step, begun, passing = lax.while_loop(
            lambda c: (c[1] < end) & c[3], one, (chunk.state, chunk.step, chunk.begun, passing)
        )
        return _Chunk(chunk.state, chunk.step, state, step, begun), passing

    start = _Chunk(state, first, state, first, first)
    return lax.while_loop(lambda c: (c[0].step < last) & c[1], some, (start, jnp.array(True)))[0]


def _stride_of(propagator: Any) -> Callable[..., tuple[Any, Any]]:
    """What makes one step, or several at once if the propagator can (``stride``)."""
    if hasattr(propagator, "stride"):
        return propagator.stride

    def one(key: Array, state: Any, step: Array, _: Array) -> tuple[Any, Array]:
        return propagator(jax.random.fold_in(key, step), state), step + 1

    return one


_KEEPING = jax.jit(as_result_function(_chunk), static_argnums=0)
_DONATING = jax.jit(as_result_function(_chunk), static_argnums=0, donate_argnums=3)


def _before_the_failure(
    propagator: Any, key: Array, saved: Any, steps: tuple[int, int], donate: bool
) -> Any:
    """The state before the failing step, made again from the copy: first that of the copy."""
    first, failing = steps
    if failing == first:
        return saved
    again = _run(propagator, key, saved, first, failing, donate)
    if not bool(again.all_assertions_pass):
        raise RuntimeError(
            f"Step {int(again.value.begun)} failed when it was run once more, and had not "
            "before.\nThe propagator does not give the same result twice; advance needs that."
        )
    return again.value.state


def _at_step(chunk: Result[_Chunk[Any]]) -> Result[Any]:
    """The checks as those of one step: its number in place of the loops of this file."""
    step = int(chunk.value.begun)

    def moved(assertion: RuntimeAssertion) -> RuntimeAssertion:
        _, _, *steps = assertion.steps
        info = assertion.info
        info = dataclasses.replace(info, loops=("advance", *info.loops[2:]))
        batch = np.ndim(assertion.predicate) - info.rank
        number = np.full(np.shape(assertion.predicate)[:batch], step, np.uint32)
        return RuntimeAssertion(assertion.predicate, assertion.values, (number, *steps), info)

    return Result(None, tuple(map(moved, chunk.assertions)), chunk.all_assertions_pass)


def _validate(key: Any, state: Any, steps: Any, start: Any) -> None:
    if is_traced((key, state, steps, start)):
        raise TypeError(
            "advance works on the host and can't be traced.\n"
            "Inside of compiled code, use scan_steps."
        )
    if steps < 0 or start < 0 or int(start) + int(steps) >= 2**32:
        raise ValueError(
            f"Steps are numbered from 0 to 2³² - 2; asked for {steps} steps from {start}."
        )
