"""Potentials of one's own return all that is asked for, or are refused with a reason."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms

import instar
from instar.app.ase.structures import structures_of, tables
from instar.app.config.base import ConfigurationError
from instar.app.config.potentials import Recipe, recipe_of
from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.potentials import (
    Evaluation,
    Exclusions,
    HarmonicBond,
    LennardJones,
    Pair,
    Potential,
    PotentialError,
    evaluate,
)
from instar.potentials.entry import Entry
from instar.potentials.pair_sum import PairTerm

TWO = Atoms("Ar2", [[1, 0, 0], [5, 0, 0]])
TABLES = tables(structures_of([TWO, TWO, TWO]), np.float32)


def found(potential, neighbors=None, **asked):
    return evaluate(potential, *TABLES, neighbors, finite=False, **{"virial": True, **asked})


def zeros(**shapes):
    return Evaluation(**{name: jnp.zeros(shape) for name, shape in shapes.items()})


FULL = {"energy": 3, "forces": (6, 3), "virial": (3, 3, 3), "particle_energies": 6}


@instar.dataclass
class Mine(Potential):
    """Returns zeros of these shapes."""

    shapes: tuple[tuple[str, object], ...] = instar.field(static=True)

    def apart_from_pairs(self, everyone, request):
        return zeros(**dict(self.shapes))


def mine(shapes):
    return Mine(tuple(shapes.items()))


def without(*names):
    return mine({name: shape for name, shape in FULL.items() if name not in names})


@pytest.mark.parametrize("name", FULL)
def test_what_is_asked_for_and_not_returned_is_refused(name):
    with pytest.raises(PotentialError, match=rf"^Mine returns no {name}"):
        found(without(name), per_particle=True)


def test_only_energies_are_not_enough_for_forces():
    with pytest.raises(PotentialError, match=r"^Mine returns no forces, virial, without which"):
        found(mine({"energy": 3}))


def test_energies_alone_do_where_no_more_is_asked_for():
    alone = found(mine({"energy": 3}), forces=False, virial=False)
    assert alone.lacking(_request()) == ["forces"]


def test_what_is_not_asked_for_is_left_out():
    alone = found(mine(FULL), virial=False)
    assert alone.virial is None
    assert alone.particle_energies is None


@pytest.mark.parametrize(
    ("name", "shape"),
    [("energy", ()), ("energy", 1), ("forces", (1, 3)), ("virial", (3, 3)), ("forces", 6)],
)
def test_results_of_another_shape_are_refused(name, shape):
    with pytest.raises(PotentialError, match=rf"^Mine returns {name} of the shape .* is needed"):
        found(mine({**FULL, name: shape}))


@instar.dataclass
class Nothing(Potential):
    """Overrides nothing."""


@instar.dataclass
class Forgets(Potential):
    """Has no return."""

    def apart_from_pairs(self, everyone, request):  # pyright: ignore[reportIncompatibleMethodOverride]
        pass


@instar.dataclass
class NoReach(Potential):
    """A sum over pairs that says no reach."""

    def pair_term(self, everyone):
        return PairTerm(LennardJones(jnp.float32(0.01), jnp.float32(3.4)), jnp.float32(5.0))


@instar.dataclass
class Blind(Potential):
    """Reads the neighbors, and says no reach."""

    def over_neighbors(self, everyone, neighbors, request):
        return zeros(**FULL)


class Undecorated(Potential):
    """Not a dataclass."""

    def apart_from_pairs(self, everyone, request):
        return zeros(**FULL)


@dataclasses.dataclass(frozen=True)
class Standard(Undecorated):
    """A dataclass of the standard library."""

    k: float = 1.0


@instar.dataclass
class Worded(Undecorated):
    """Has a field that is text."""

    name: str = "a"


REFUSED = {
    Nothing: "Nothing returns no energy, forces, virial",
    Forgets: "Forgets returns NoneType, not an Evaluation",
    NoReach: "NoReach has a pair_term, but no reach",
    Blind: "over_neighbors is not called",
    Undecorated: "Undecorated is not a pytree: write @instar.dataclass above the class",
    Standard: "Standard is not a pytree: write @instar.dataclass above the class",
    Worded: r"Worded.name is 'a', which is neither a number nor an array",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_classes_that_would_compute_nothing_or_can_not_are_refused(kind):
    with pytest.raises(PotentialError, match=REFUSED[kind]):
        found(kind())


@pytest.mark.parametrize("kind", [Undecorated, Standard, Worded])
def test_classes_that_are_no_pytrees_are_refused_before_anything_is_computed(kind):
    for refused in (kind(), kind() + mine(FULL)):
        with pytest.raises(PotentialError, match=r"is not a pytree|which is neither a number"):
            recipe_of(refused)


@instar.dataclass
class Near(Potential):
    """Within a reach, and without a notion of excluded pairs."""

    @property
    def reach(self):
        return np.float32(6.0)

    def over_neighbors(self, everyone, neighbors, request):
        return zeros(**FULL)


def test_no_terms_and_no_potentials_are_zeros():
    none = HarmonicBond(
        Index.integer(np.zeros((0, 2), int), n=6, label=ParticleId), *np.zeros((2, 0))
    )
    for empty in (none, instar.potentials.Sum(())):
        assert not np.asarray(found(empty).forces).any()


@pytest.mark.parametrize("named", ["bond", "excluded"])
def test_particles_that_there_are_not_are_named_with_the_potential(named):
    atoms = Index.integer(np.array([[0, 1]]), n=12, label=ParticleId)
    bond = HarmonicBond(atoms, np.ones(1), np.ones(1))
    pair = Pair(LennardJones(0.01, 3.4), 6.0, excluded=Exclusions.of([[0, 1]], 12))
    one, who = {"bond": (bond, "HarmonicBond"), "excluded": (pair, "Exclusions")}[named]
    with pytest.raises(PotentialError, match=rf"^{who} names other particles than there are"):
        one.apart_from_pairs(instar.geometry.AllParticles.of(*TABLES), _request())


def _request():
    return instar.potentials.evaluation.Request()


@dataclasses.dataclass(frozen=True, kw_only=True)
class NearEntry(Entry):
    """`Near` in a configuration."""

    def made(self, structures, shortest):
        return Near()


def test_what_can_not_leave_out_pairs_is_refused_beside_bonds():
    bonds = {"type": "harmonic_bond", "terms": [{"atoms": [0, 1], "k": 1.0, "r0": 1.0}]}
    entries = (NearEntry(), *recipe_of(bonds).entries)
    with pytest.raises(ConfigurationError, match=r"^Near can't leave out pairs that are bonded"):
        Recipe(entries=entries).tried(structures_of([TWO]))


def test_every_door_refuses_a_potential_without_a_virial():
    with pytest.raises(PotentialError, match="which pressure and stress need"):
        instar.single_point([TWO] * 3, without("virial"))
