"""Random programs with checks, each in two forms: for JAX, and in plain Python.

A program takes whole numbers x and y and gives a new x, in JAX by ``trace``, in Python by
``walk``; inside of a loop or a batch, y may be the step or the lane. All numbers stay below a
small modulus, so both forms are exact. In x every program is linear, piece by piece, with a
slope of -1, 0 or 1, so derivatives are exact as well.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from hypothesis import strategies as st
from jax import lax

from instar.core.assertion import runtime_assert

MODULUS = 11


class Number(NamedTuple):
    value: int
    slope: int = 0


class Failure(NamedTuple):
    """The first failure of a check in one lane, with the predicate as it was."""

    predicate: tuple[bool, ...]
    steps: tuple[int, ...]
    x: int
    y: int


@dataclass(frozen=True)
class Log:
    """Where plain Python is at the moment, and the failures that it has met."""

    lanes: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    failures: dict[tuple[int, tuple[int, ...]], Failure] = field(default_factory=dict)

    def in_step(self, step: int) -> Log:
        return replace(self, steps=(*self.steps, step))

    def in_lane(self, lane: int) -> Log:
        return replace(self, lanes=(*self.lanes, lane))


def reduced(number):
    return lax.rem(number, jnp.float32(MODULUS))


@dataclass(frozen=True)
class Node:
    parts: tuple[Node, ...] = ()

    @property
    def body(self) -> Node:
        return self.parts[-1]

    def checks(self, lanes: tuple[int, ...] = ()) -> Iterator[tuple[Check, tuple[int, ...]]]:
        """Every check, with the sizes of the batches around it."""
        return itertools.chain.from_iterable(part.checks(lanes) for part in self.parts)


@dataclass(frozen=True, kw_only=True)
class Formula(Node):
    of_x: int
    of_y: int
    plus: int

    def trace(self, x, y):
        total = jnp.float32(self.plus + MODULUS)
        total = total + float(self.of_x) * x if self.of_x else total
        return reduced(total + y if self.of_y else total)

    def walk(self, x, y, log):
        total = self.of_x * x.value + self.of_y * y + self.plus
        return Number(total % MODULUS, self.of_x * x.slope)


@dataclass(frozen=True, kw_only=True)
class Check(Node):
    formula: Formula
    refused: tuple[int, ...]
    site: int = field(default_factory=itertools.count().__next__)

    def trace(self, x, y):
        value = self.formula.trace(x, y)
        entries = [value != float(number) for number in self.refused]
        predicate = entries[0] if len(entries) == 1 else jnp.stack(entries)
        runtime_assert(predicate, f"check {self.site}", fmt_args={"x": x, "y": y})
        return x

    def walk(self, x, y, log):
        value = self.formula.walk(x, y, log).value
        predicate = tuple(value != number for number in self.refused)
        if not all(predicate):
            failure = Failure(predicate, log.steps, x.value, y)
            log.failures.setdefault((self.site, log.lanes), failure)
        return x

    def checks(self, lanes=()):
        return iter([(self, lanes)])


class Sequence(Node):
    def trace(self, x, y):
        return functools.reduce(lambda x, part: part.trace(x, y), self.parts, x)

    def walk(self, x, y, log):
        return functools.reduce(lambda x, part: part.walk(x, y, log), self.parts, x)


@dataclass(frozen=True, kw_only=True)
class Scan(Node):
    length: int
    reverse: bool
    counts: bool

    def trace(self, x, y):
        def step(x, i):
            return self.body.trace(x, i if self.counts else y), None

        indices = jnp.arange(self.length, dtype=jnp.float32)
        return lax.scan(step, x, indices, reverse=self.reverse)[0]

    def walk(self, x, y, log):
        for step, i in enumerate(range(self.length)[:: -1 if self.reverse else 1]):
            x = self.body.walk(x, i if self.counts else y, log.in_step(step))
        return x


@dataclass(frozen=True, kw_only=True)
class While(Node):
    """Its first part is run in the condition."""

    limit: int
    formula: Formula
    counts: bool

    def trace(self, x, y):
        def now(i):
            return i.astype(jnp.float32) if self.counts else y

        def going(carry):
            i, x = carry
            tested = self.formula.trace(self.parts[0].trace(x, now(i)), now(i))
            return (i < self.limit) & (tested > 0.0)

        def step(carry):
            i, x = carry
            return i + 1, self.body.trace(x, now(i))

        return lax.while_loop(going, step, (jnp.int32(0), x))[1]

    def walk(self, x, y, log):
        for i in range(self.limit + 1):
            here, now = log.in_step(i), i if self.counts else y
            tested = self.formula.walk(self.parts[0].walk(x, now, here), now, here)
            if i == self.limit or tested.value == 0:
                break
            x = self.body.walk(x, now, here)
        return x


@dataclass(frozen=True, kw_only=True)
class Switch(Node):
    formula: Formula

    def trace(self, x, y):
        index = self.formula.trace(x, y).astype(jnp.int32) % len(self.parts)
        branches = [part.trace for part in self.parts]
        if len(branches) == 2:
            return lax.cond(index == 0, *branches, x, y)
        return lax.switch(index, branches, x, y)

    def walk(self, x, y, log):
        index = self.formula.walk(x, y, log).value % len(self.parts)
        return self.parts[index].walk(x, y, log)


@dataclass(frozen=True, kw_only=True)
class Call(Node):
    transform: Callable

    def trace(self, x, y):
        return self.transform(self.body.trace)(x, y)

    def walk(self, x, y, log):
        return self.body.walk(x, y, log)


@dataclass(frozen=True, kw_only=True)
class Vmap(Node):
    size: int
    formula: Formula
    counts: bool

    def trace(self, x, y):
        def run(lane):
            return self.body.trace(self.formula.trace(x, lane), lane if self.counts else y)

        out = jax.vmap(run)(jnp.arange(self.size, dtype=jnp.float32))
        return reduced(out[0] + lax.stop_gradient(out[1:].sum()))

    def walk(self, x, y, log):
        def run(lane):
            now = lane if self.counts else y
            return self.body.walk(self.formula.walk(x, lane, log), now, log.in_lane(lane))

        out = [run(lane) for lane in range(self.size)]
        return Number(sum(number.value for number in out) % MODULUS, out[0].slope)

    def checks(self, lanes=()):
        return self.body.checks((*lanes, self.size))


def forward(function):
    return lambda x: jax.jvp(function, (x,), (jnp.ones_like(x),))


def linearized(function):
    def run(x):
        value, linear = jax.linearize(function, x)
        return value, linear(jnp.ones_like(x))

    return run


@dataclass(frozen=True, kw_only=True)
class Derivative(Node):
    """The value and its derivative, added."""

    mode: Callable

    def trace(self, x, y):
        value, slope = self.mode(lambda x: self.body.trace(x, y))(x)
        return reduced(value + slope + MODULUS)

    def walk(self, x, y, log):
        value, slope = self.body.walk(Number(x.value, slope=1), y, log)
        return Number((value + slope) % MODULUS, slope * x.slope)


NUMBERS, TRIPS, FLAGS = st.integers(0, MODULUS - 1), st.integers(0, 5), st.booleans()
REFUSED = st.lists(NUMBERS, min_size=1, max_size=2).map(tuple)
SLOPES = st.sampled_from([1, 1, 1, 1, -1, -1, -1, 0])
FORMULAS = st.builds(Formula, of_x=SLOPES, of_y=st.integers(0, 1), plus=NUMBERS)
SHORT = st.tuples(FORMULAS, st.builds(Check, formula=FORMULAS, refused=REFUSED)).map(Sequence)


@functools.cache
def programs(depth: int, size: int = 3, reversible: bool = False) -> st.SearchStrategy[Node]:
    """Programs up to a depth; ``size`` is that of the next batch, unlike any dimension in it."""
    if depth == 0:
        return SHORT
    part, lanes = (programs(depth - 1, next_size, reversible) for next_size in (size, size + 1))
    back = programs(depth - 1, size, reversible=True)
    one, branches = st.tuples(part), st.tuples(part, part) | st.tuples(part, SHORT, SHORT)
    steps = [
        SHORT,
        st.builds(Scan, one, length=TRIPS, reverse=FLAGS, counts=FLAGS),
        st.builds(Switch, branches, formula=FORMULAS),
        st.builds(Call, one, transform=st.sampled_from([jax.jit, jax.checkpoint])),
        st.builds(Vmap, st.tuples(lanes), size=st.just(size), formula=FORMULAS, counts=FLAGS),
        st.builds(Derivative, st.tuples(back), mode=st.just(jax.value_and_grad)),
    ]
    if not reversible:
        loop = st.tuples(FORMULAS | SHORT | part, part)
        whiles = st.builds(While, loop, limit=TRIPS, formula=FORMULAS, counts=FLAGS)
        derivatives = st.builds(Derivative, one, mode=st.sampled_from([forward, linearized]))
        steps += [whiles, whiles, derivatives]
    return st.lists(st.one_of(steps), min_size=1, max_size=2).map(tuple).map(Sequence)
