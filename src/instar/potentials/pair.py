"""`Pair`: a formula, its parameters for each pair of species, and how it ends at the cutoff."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.data import Index
from instar.core.utils.jax import dataclass, field, is_traced
from instar.geometry import AllParticles
from instar.geometry.constants import COULOMB_CONSTANT
from instar.potentials.bonded import Bonded
from instar.potentials.coulomb import ScreenedCoulomb
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.excluded import ExcludedCharges, ScaledPairs
from instar.potentials.exclusions import Exclusions
from instar.potentials.formula import HasTail
from instar.potentials.pair_sum import PairTerm
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.structures import Problem, Structures
from instar.potentials.tail import tail_correction
from instar.potentials.truncation import TRUNCATIONS, truncated

__all__ = ["MissingPairError", "Pair", "column", "without_charges"]


class MissingPairError(PotentialError):
    """Two species meet for which a potential has no parameters."""


@dataclass
class Pair(Potential):
    """A pair potential: the sum of a formula u(r) over all pairs up to a cutoff.

        U = Σ_pairs u_ab(r)        r ≤ cutoff, a and b the species of the two

    Make one with `Pair.of`, from parameters by species. Parameters and cutoff are differentiable
    leaves. Made on the host they are kept in float64; `evaluate` takes them in the precision of the
    positions.

    Parameters
    ----------
    formula
        Such as a `LennardJones`; its parameters are numbers, or matrices (species, species) with
        ``species``. NaN in a matrix is a pair that was not given.
    cutoff
        In Å.
    inner
        For the truncation "switch": where it begins, in Å.
    species
        The labels that rows and columns of the matrices stand for.
    truncation
        "truncate", "shift", "force_shift", "switch" or "tail".
    strength
        The name of a column of particles whose values, multiplied, scale each pair.
    excluded
        `Exclusions`: pairs of particles with factors of their own.

    Raises
    ------
    PotentialError
        If formula, truncation and lengths do not fit together.

    Examples
    --------
    >>> from instar.potentials import LennardJones, Pair
    >>> potential = Pair(LennardJones(epsilon=0.0104, sigma=3.4), cutoff=8.5, truncation="shift")
    >>> potential.reach
    8.5
    """

    formula: Any
    cutoff: Any
    inner: Any = None
    species: tuple[str, ...] | None = field(static=True, default=None)
    truncation: str = field(static=True, default="truncate")
    strength: str | None = field(static=True, default=None)
    excluded: Exclusions | None = None

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        if self.truncation not in TRUNCATIONS:
            raise PotentialError(
                f"There is no truncation {self.truncation!r}; there are {', '.join(TRUNCATIONS)}."
            )
        if (self.inner is not None) != (self.truncation == "switch"):
            raise PotentialError(
                "An inner radius belongs to truncation='switch', and that needs one: "
                "inner=..., in Å, below the cutoff."
            )
        if self.truncation == "tail" and not isinstance(self.formula, HasTail):
            raise PotentialError(
                f"{type(self.formula).__name__} has no known tail.\n"
                "Choose another truncation, such as shift."
            )
        if self.truncation == "tail" and self.strength is not None:
            raise PotentialError(f"There is no tail for pairs scaled by {self.strength}.")
        charged = isinstance(self.formula, ScreenedCoulomb)
        if self.truncation == "switch" and charged and self.excluded is not None:
            raise PotentialError(
                "A Coulomb interaction that is switched off knows no excluded pairs.\n"
                "Choose another truncation, such as force_shift, or an Ewald sum."
            )
        self._check_lengths()

    def _check_lengths(self) -> None:
        lengths = (self.cutoff, self.inner)
        known = (int, float, np.ndarray, np.generic, jax.Array)
        if is_traced(lengths) or not all(isinstance(c, known) for c in lengths if c is not None):
            return  # traced, or a tree of something else, such as the axes of jax.vmap
        if not float(self.cutoff) > 0 or not np.isfinite(float(self.cutoff)):
            raise PotentialError(f"A cutoff is a length above zero (Å), not {self.cutoff}.")
        if self.inner is not None and not 0 <= float(self.inner) < float(self.cutoff):
            raise PotentialError(
                f"The inner radius {self.inner} Å is not between 0 and the cutoff {self.cutoff} Å."
            )

    @staticmethod
    def of(
        kind: type[Any],
        parameters: Mapping[str, Mapping[str, float]],
        cutoff: float,
        *,
        mixing: str | None = None,
        pairs: Mapping[tuple[str, str], Mapping[str, float]] | None = None,
        truncation: str = "truncate",
        inner: float | None = None,
    ) -> Pair:
        """A potential from parameters by species label.

        Parameters
        ----------
        kind
            The formula, such as `LennardJones`.
        parameters
            Those of two particles of the same species, by label: eV, Å.
        cutoff
            In Å.
        mixing
            The rule for unlike species, such as "lorentz_berthelot"; a pair that neither it nor
            ``pairs`` knows is missing, which is an error as soon as the two meet.
        pairs
            Parameters of unlike species, by pair of labels.
        truncation
            "truncate", "shift", "force_shift", "switch" or "tail".
        inner
            For "switch": where it begins, in Å.

        Returns
        -------
        Pair
            The potential.

        Raises
        ------
        PotentialError
            If parameters, mixing, truncation or cutoff do not fit together.

        Examples
        --------
        >>> from instar.potentials import LennardJones, Pair
        >>> argon = {"Ar": {"epsilon": 0.0104, "sigma": 3.4}}
        >>> potential = Pair.of(LennardJones, argon, 8.5, truncation="shift")
        """
        given = {tuple(sorted(pair)): values for pair, values in (pairs or {}).items()}
        if len(given) < len(pairs or {}):
            raise PotentialError(
                f"A pair is given twice, in both orders: {', '.join(map('-'.join, pairs or {}))}."
            )
        species = sorted({*parameters, *itertools.chain.from_iterable(given)})
        matrices = _matrices(kind, species, parameters, given, mixing)
        return Pair(
            kind(**matrices),
            np.float64(cutoff),
            None if inner is None else np.float64(inner),
            tuple(species),
            truncation,
        )

    # As a potential -----------------------------------------------------------------------

    @property
    def reach(self) -> Any:
        """The cutoff (Å)."""
        return self.cutoff

    @property
    def is_general(self) -> bool:
        """Whether no pair of particles is excluded, and no system has a cutoff of its own."""
        return self.excluded is None and jnp.ndim(self.cutoff) == 0

    @property
    def has_known_cost(self) -> bool:
        """A pass over the neighbors."""
        return True

    def check(self, structures: Structures) -> list[Problem]:
        """Parameters for all species that meet, charges, and a volume for the tail."""
        name = type(self.formula).__name__
        found = [] if self.strength != "charges" else without_charges(structures)
        known: dict[frozenset[str], list[tuple[str, str]]] = {}
        for number, species in enumerate(structures.species):
            if species not in known:
                known[species] = self.missing(species)
            for first, second in known[species]:
                meeting = first if first == second else f"the pair {first}-{second}"
                text = f"{name} has no parameters for {meeting}"
                advice = "Give them in parameters or pairs, or name a mixing rule."
                found.append(Problem(number, text, advice))
        if self.truncation == "tail":
            text = "tail corrections hold for a fluid that fills space, along all three axes"
            advice = "Give it a periodic cell, or choose another truncation, such as shift."
            open_ones = structures.counts.astype(bool) & ~structures.periodic.all(axis=1)
            found += [Problem(int(n), text, advice) for n in np.flatnonzero(open_ones)]
        return found

    def pair_term(self, everyone: AllParticles) -> PairTerm:
        """The potential made ready for a pass over these particles."""
        species = self._species_of(everyone)
        self._check_given(everyone, species)
        formula = self._truncated()
        if species is not None and len(self.species or ()) == 1:
            formula, species = jax.tree.map(lambda p: p.reshape(()), formula), None
        strength = None
        if self.strength is not None:
            strength = column(everyone, self.strength)
        return PairTerm(formula, self.cutoff, species, strength)

    @property
    def exclusions(self) -> Exclusions | None:
        """Pairs that the pass over the neighbors leaves out."""
        return self.excluded

    def excluding(self, exclusions: Exclusions) -> Pair:
        """The same without these pairs, but for their factors."""
        return dataclasses.replace(self, excluded=exclusions)

    def missing(self, labels: Iterable[str]) -> list[tuple[str, str]]:
        """Pairs of these labels, all in one system, that have no parameters; must be known."""
        if self.species is None:
            return []
        places = {name: number for number, name in enumerate(self.species)}
        matrices = [np.asarray(p) for p in jax.tree.leaves(self.formula) if jnp.ndim(p) == 2]
        given = ~np.isnan(np.stack(matrices)).any(axis=0)
        return [
            (first, second)
            for first, second in itertools.combinations_with_replacement(sorted(labels), 2)
            if first not in places
            or second not in places
            or not given[places[first], places[second]]
        ]

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """Tail corrections, where asked for, and what is left between excluded pairs."""
        result = Evaluation()
        if self.truncation == "tail":
            species = self._species_of(everyone)
            tail = tail_correction(
                self._given(), self.cutoff, species, self._count, everyone, request
            )
            result = result + tail
        if self.excluded is not None:
            result = result + self._between(self.excluded, everyone).apart_from_pairs(
                everyone, request
            )
        return result

    def _given(self) -> Any:
        """The formula; pairs that were not given and never meet must not reach gradients."""
        return jax.tree.map(lambda p: jnp.where(jnp.isnan(p), 1, p), self.formula)

    def _truncated(self) -> Any:
        return truncated(self._given(), self.truncation, self._spread(self.cutoff), self.inner)

    def _between(self, excluded: Exclusions, everyone: AllParticles) -> Bonded:
        """The excluded pairs as terms."""
        first, second = excluded.rows(everyone)
        species = self._species_of(everyone)
        cutoff = jnp.broadcast_to(self.cutoff, first.shape)

        def of_pair(p: Array) -> Array:
            if species is None or p.ndim == 0:
                return jnp.broadcast_to(p, first.shape)
            return p[species[first], species[second]]

        formula = jax.tree.map(of_pair, self._truncated())
        charged = self.strength == "charges"
        factor = excluded.coulomb_factor if charged else excluded.pair_factor
        if self.strength is None:
            return ScaledPairs(excluded.pairs, formula, factor, cutoff)
        values = column(everyone, self.strength)
        product = values[first] * values[second]
        if not isinstance(self.formula, ScreenedCoulomb):
            return ScaledPairs(excluded.pairs, formula, factor * product, cutoff)
        zero = jnp.zeros_like(product)
        constant, slope = (getattr(formula, n, None) for n in ("constant", "slope"))
        return ExcludedCharges(
            excluded.pairs,
            COULOMB_CONSTANT * product,
            factor,
            of_pair(self.formula.alpha),
            zero if constant is None else constant / COULOMB_CONSTANT,
            zero if slope is None else slope / COULOMB_CONSTANT,
            cutoff,
        )

    @property
    def _count(self) -> int:
        return 1 if self.species is None else len(self.species)

    def _spread(self, length: Array) -> Array:
        """A length for each entry of the parameters."""
        if self.species is None:
            return length
        return jnp.broadcast_to(length, (self._count, self._count))

    def _species_of(self, everyone: AllParticles) -> Array | None:
        """The number of each particle's species among those of the potential."""
        if self.species is None:
            return None
        labels = _labels(everyone)
        places = {name: number for number, name in enumerate(self.species)}
        known = [str(key) for key in labels.vocabulary]
        numbers = np.array([places.get(name, -1) for name in known], np.int32)
        own = jnp.asarray(numbers)[jnp.clip(labels.indices, 0, len(known) - 1)]
        if (numbers < 0).any():  # where none is, XLA would search a constant for one, for seconds
            self._check_known(everyone, own, known)
        return jnp.maximum(own, 0)

    def _check_known(self, everyone: AllParticles, own: Array, labels: Sequence[str]) -> None:
        """No particle has a label without parameters."""
        missing, formula = everyone.there & (own < 0), type(self.formula).__name__
        names = ", ".join(self.species or ())
        if not is_traced(missing) and bool(missing.any()):
            unknown = labels[int(_labels(everyone).indices[int(jnp.argmax(missing))])]
            raise MissingPairError(
                f"{formula} has no parameters for {unknown!r}; it knows {names}."
            )
        runtime_assert(
            ~jnp.any(missing),
            f"{formula} has no parameters for the label of particle "
            "{particle}; " + f"it knows {names}.",
            fmt_args={"particle": jnp.argmax(missing)},
            exception_type=MissingPairError,
        )

    def _check_given(self, everyone: AllParticles, species: Array | None) -> None:
        """Every two species that are in one system have parameters."""
        if species is None:
            return
        matrices = [p for p in jax.tree.leaves(self.formula) if jnp.ndim(p) == 2]
        given = ~jnp.any(jnp.stack([jnp.isnan(p) for p in matrices]), axis=0)
        kinds = everyone.system.combine(Index.integer(species, n=self._count))
        present = (kinds.counts.data > 0).reshape(everyone.count, self._count)
        meet = jnp.any(present[:, :, None] & present[:, None, :], axis=0)
        missing = meet & ~given
        if not is_traced(missing) and bool(missing.any()):
            first, second = (self.species[k] for k in np.argwhere(np.asarray(missing))[0])  # pyright: ignore
            raise MissingPairError(_missing(type(self.formula).__name__, first, second))
        place = jnp.argmax(missing.reshape(-1))
        runtime_assert(
            ~jnp.any(missing),
            f"{type(self.formula).__name__} has no parameters for the pair of species number "
            "{first} and {second} of " + f"{', '.join(self.species or ())}.",
            fmt_args={"first": place // self._count, "second": place % self._count},
            exception_type=MissingPairError,
        )


def _missing(name: str, first: str, second: str) -> str:
    return (
        f"{name} has no parameters for the pair {first}-{second}.\n"
        "Give it in pairs, or name a mixing rule."
    )


def _matrices(
    kind: type[Any],
    species: Sequence[str],
    parameters: Mapping[str, Mapping[str, float]],
    pairs: Mapping[tuple[str, ...], Mapping[str, float]],
    mixing: str | None,
) -> dict[str, np.ndarray]:
    names = tuple(f.name for f in dataclasses.fields(kind))
    rule = {}
    if mixing is not None:
        if mixing not in kind.MIXING:
            rules = ", ".join(kind.MIXING) or "none; give every pair"
            raise PotentialError(
                f"{kind.__name__} has no mixing rule {mixing!r}; there are: {rules}."
            )
        rule = kind.MIXING[mixing]
    matrices = {name: np.full((len(species),) * 2, np.nan) for name in names}
    for i, j in itertools.combinations_with_replacement(range(len(species)), 2):
        values = _values(species[i], species[j], parameters, pairs, rule)
        if values is None:
            continue
        if set(values) != set(names):
            raise PotentialError(
                f"{kind.__name__} has the parameters {', '.join(names)}; the pair "
                f"{species[i]}-{species[j]} has {', '.join(sorted(values))}."
            )
        for name, value in values.items():
            if not np.isfinite(value):
                raise PotentialError(f"{name} of {species[i]}-{species[j]} is {value}.")
            matrices[name][i, j] = matrices[name][j, i] = value
    return matrices


def _values(
    first: str,
    second: str,
    parameters: Mapping[str, Mapping[str, float]],
    pairs: Mapping[tuple[str, ...], Mapping[str, float]],
    rule: Mapping[str, Any],
) -> Mapping[str, float] | None:
    if (given := pairs.get(tuple(sorted((first, second))))) is not None:
        return given
    if first == second:
        return parameters.get(first)
    if not rule or first not in parameters or second not in parameters:
        return None
    like, other = parameters[first], parameters[second]
    return {name: mix(like[name], other[name]) for name, mix in rule.items()}


def without_charges(structures: Structures) -> list[Problem]:
    """Structures that have no charges, for a potential that needs them."""
    return [
        Problem(
            int(number),
            "there are no charges, and the potential needs them",
            "Set atoms.set_initial_charges([...]), or give charges by label in the potential.",
        )
        for number in np.flatnonzero(~structures.charged & (structures.counts > 0))
    ]


def _labels(everyone: AllParticles) -> Any:
    labels = getattr(everyone.particles.data, "labels", None)
    if labels is None:
        raise PotentialError("Parameters by species need particles with a column `labels`.")
    return labels


def column(everyone: AllParticles, name: str) -> Array:
    """A column of the particles, zero where one is absent. It must be wrapped."""
    values = getattr(everyone.particles.data, name, None)
    if values is None:
        raise PotentialError(f"This potential needs particles with a column `{name}`.")
    missing = everyone.there & ~jnp.isfinite(values)
    runtime_assert(
        ~jnp.any(missing),
        f"Particle {{particle}} has no number in the column `{name}`, which the potential needs.",
        fmt_args={"particle": jnp.argmax(missing)},
    )
    return jnp.where(everyone.there, values, 0)
