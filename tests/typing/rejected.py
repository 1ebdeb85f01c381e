"""Code that a type checker must reject: an error on every line marked so, and on no other."""

import jax.numpy as jnp
from jax import Array

from instar import Index, ParticleId, SystemId, Table, dataclass, lens
from instar.core.utils.jax import jit


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
