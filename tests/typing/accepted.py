"""Code that a type checker must accept, with the types that it must find."""

from typing import assert_type

import jax
import jax.numpy as jnp
from jax import Array

from instar import Buffered, Index, Label, ParticleId, SystemId, Table, bind, dataclass, field, lens
from instar.core.capacity import Capacity, FixedCapacity, LensCapacity, LensCapacityFix, MultipliedCapacity
from instar.core.lens import HasLensFields, Lens, LensField, View, lens_property, view
from instar.core.utils.jax import jit, key_chain, lens_field, no_jax_tracing, shard_map, vectorize


@dataclass
class System:
    unitcell: Array


@dataclass
class Particle:
    positions: Array
    system: Index[SystemId]
    kind: Index[Label]
    tag: str = field(static=True, default="")


@dataclass
class State(HasLensFields):
    systems: LensField[Table[SystemId, System]]
    particles: LensField[Buffered[ParticleId, Particle]]
    steps: LensField[int] = lens_field(default=0)

    @lens_property
    def positions(self) -> Array:
        return self.particles.data.positions


def walk(state: State, particle: Index[ParticleId]) -> None:
    assert_type(state.systems[state.particles.data.system], System)
    assert_type(state.particles[particle], Particle)
    assert_type(state.particles.keys, tuple[ParticleId, ...])
    assert_type(state.particles.select_free(2), Index[ParticleId])
    assert_type(state.particles.update(particle, state.particles[particle]), Buffered[ParticleId, Particle])
    assert_type(state.particles.map_data(lambda d: d.positions), Table[ParticleId, Array])
    assert_type(state.particles.data.system.sum_over(jnp.ones(3)), Table[SystemId, Array])
    for key, row in state.systems:
        assert_type(key, SystemId)
        assert_type(row, System)


def combine(systems: Table[SystemId, System], particles: Table[ParticleId, Particle]) -> None:
    assert_type(Table.union([systems, systems]), Table[SystemId, System])
    both = Table.union([systems], [particles])
    assert_type(both, tuple[Table[SystemId, System], Table[ParticleId, Particle]])
    assert_type(particles.data.system.combine(particles.data.kind), Index[tuple[SystemId, Label]])


def lenses(state: State) -> None:
    assert_type(State.steps, Lens[State, int])
    assert_type(state.steps, int)
    assert_type(State.positions, Lens[State, Array])
    assert_type(state.positions, Array)
    assert_type(lens(lambda s: s.particles.data.positions, cls=State), Lens[State, Array])
    assert_type(bind(state).focus(lambda s: s.steps).set(5), State)
    assert_type(State.particles.focus(lambda p: p.data.positions).get(state), Array)
    reader: View[State, int] = view(lambda s: s.steps + 1)
    assert_type(reader(state), int)


def making(positions: Array) -> None:
    assert_type(Table.arange(positions, label=SystemId), Table[SystemId, Array])
    assert_type(Table.arange(positions), Table[int, Array])
    assert_type(Table((SystemId(0),), positions), Table[SystemId, Array])
    assert_type(Table(("C", "O"), positions), Table[str, Array])
    assert_type(Table.new([SystemId(0)], positions), Table[SystemId, Array])
    assert_type(Index((SystemId(0), SystemId(1)), [0]), Index[SystemId])
    assert_type(Index.new([Label("C")]), Index[Label])
    assert_type(Index.new(["C"], label=Label), Index[Label])
    assert_type(Index.integer([0], n=2, label=SystemId), Index[SystemId])
    assert_type(Index.arange(3, label=ParticleId), Index[ParticleId])
    assert_type(Index.zeros(3, label=ParticleId), Index[ParticleId])
    table = Table.arange(positions, label=ParticleId)
    assert_type(Buffered.pad(table, num_free=2), Buffered[ParticleId, Array])
    assert_type(Buffered.arange(positions, label=ParticleId), Buffered[ParticleId, Array])


def capacities(state: State, pair: Lens[State, tuple[int, int]], any_room: Capacity[int]) -> None:
    fixed = FixedCapacity(3, "Enlarge the box.")
    assert_type(fixed, FixedCapacity[int])
    assert_type(fixed.size, int)
    assert_type(fixed.multiply(2), FixedCapacity[int])
    assert_type(fixed.generate_assertion(4), FixedCapacity[int])
    growing = LensCapacity(state.steps, State.steps)
    assert_type(growing, LensCapacity[State, int])
    assert_type(growing.size, int)
    assert_type(growing.size_lens, Lens[State, int])
    assert_type(growing.generate_assertion(4).size, int)
    assert_type(growing.multiply(3), MultipliedCapacity[int])
    assert_type(growing.multiply(3).multiply(2).size, int)
    assert_type(LensCapacity((1, 2), pair).size, tuple[int, int])
    assert_type(FixedCapacity({"atoms": 1}).size, dict[str, int])
    assert_type(MultipliedCapacity(growing, 2).size, int)
    assert_type(MultipliedCapacity(any_room, 2).size, int)
    assert_type(LensCapacityFix(State.steps), LensCapacityFix[State, int])
    assert_type(LensCapacityFix(State.steps).fix(state, 4), State)
    assert_type(LensCapacity[State, int](3, State.steps).size, int)
    rooms: list[Capacity[int]] = [fixed, growing, growing.multiply(3)]
    assert_type(rooms[0].size, int)


@jit
def scaled(x: Array, by: float = 2.0) -> Array:
    return x * by


@jit(static_argnames="n")
def repeated(x: Array, n: int) -> Array:
    return jnp.tile(x, n)


@vectorize(signature="(n)->()")
def norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x))


@dataclass(frozen=False, order=True, kw_only=True, slots=True)
class Counter:
    count: int = field(default=0, repr=False)
    name: str = field(static=True, compare=False, kw_only=False, metadata={"unit": "eV"})


@no_jax_tracing
def on_host(x: Array, name: str) -> int:
    return len(name) + x.size


counter = Counter("a", count=2)
counter.count = 3
assert_type(counter < Counter("b"), bool)
assert_type(scaled(jnp.ones(2), by=3.0), Array)
assert_type(jit(on_host, static_argnames="name", donate_argnums=0)(jnp.ones(2), "a"), int)
assert_type(jit(fn=on_host)(jnp.ones(2), name="a"), int)
assert_type(vectorize(pyfunc=on_host, excluded={"name"})(jnp.ones(2), "a"), int)
assert_type(shard_map(on_host, out_specs=None, axis_names={"rows"})(jnp.ones(2), "a"), int)
assert_type(repeated(jnp.ones(2), n=2), Array)
assert_type(norm(jnp.ones(2)), Array)
assert_type(on_host(jnp.ones(2), "a"), int)
assert_type(next(key_chain(jax.random.key(0))), Array)
