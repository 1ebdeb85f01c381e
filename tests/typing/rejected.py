"""Code that a type checker must reject: an error on every line marked so, and on no other."""

import jax.numpy as jnp
from jax import Array

from instar import Index, ParticleId, SystemId, Table, dataclass, field, lens
from instar.core.capacity import Capacity, FixedCapacity, LensCapacity, LensCapacityFix
from instar.core.utils.jax import jit, lens_field, shard_map, vectorize


@dataclass
class Particle:
    positions: Array


def joins(
    systems: Table[SystemId, Array],
    particles: Table[ParticleId, Particle],
    system_index: Index[SystemId],
    particle_index: Index[ParticleId],
) -> None:
    systems[system_index]
    systems[particle_index]  # error
    particles[system_index]  # error
    systems[0]  # error
    systems[jnp.array([0])]  # error
    systems.update(particle_index, jnp.ones(1))  # error
    systems.update(system_index, particles[particle_index])  # error
    systems.at(particle_index)  # error
    system_index.isin(particle_index)  # error
    Index.concatenate(system_index, particle_index)  # error
    particles.update_if(systems, system_index, particles[particle_index])  # error


def made_with_a_label() -> None:
    systems = Table.arange(jnp.ones(2), label=SystemId)
    systems[Index.integer([0, 1], n=2, label=SystemId)]
    systems[Index.integer([0, 1], n=2, label=ParticleId)]  # error
    systems[Index.new([ParticleId(0)])]  # error
    systems[Index.arange(2)]  # error


def capacities(particle: Particle) -> None:
    place = lens(lambda p: p.positions, cls=Particle)
    LensCapacity[Particle, int](3, place)  # error
    FixedCapacity[int]("3")  # error
    LensCapacityFix(place).fix(3, 4)  # error
    several: Capacity[int] = FixedCapacity((3, 4))  # error
    FixedCapacity(3).size.append(4)  # error


def dataclasses_are_frozen(particle: Particle) -> None:
    particle.positions = jnp.ones(1)  # error
    Particle(1.0)  # error
    Particle(position=jnp.ones(1))  # error
    lens(lambda p: p.velocities, cls=Particle)  # error
    lens(lambda p: p.positions, cls=Particle).set(particle, "x")  # error


@jit
def scaled(x: Array, by: float) -> Array:
    return x * by


scaled(jnp.ones(2), 2.0)
scaled(jnp.ones(2))  # error
scaled(jnp.ones(2), factor=2.0)  # error


def no_such_option() -> None:
    dataclass(frosen=False)  # error
    dataclass(Particle, frosen=False)  # error
    field(statik=True)  # error
    lens_field(statik=True)  # error
    jit(scaled, statik=1)  # error
    jit(statik=1)  # error
    jit(scaled, static_argnames=1)  # error
    vectorize(scaled, otypes=float)  # error
    vectorize(excluded=[1.5])  # error
    shard_map(scaled)  # error
    shard_map(scaled, out_specs=None, check_rep=True)  # error
    shard_map(scaled, out_specs=None)(jnp.ones(2))  # error


@dataclass(kw_only=True, eq=False)
class Named:
    x: int


Named(x=1)
Named(1)  # error
Named(x=1) < Named(x=2)  # error
