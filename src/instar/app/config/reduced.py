"""What a configuration in reduced units (``units: lj``) must say that others need not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from instar.app.config.potentials import Recipe
from instar.app.config.schema import Config, RandomStructure
from instar.app.config.stages import Stage
from instar.app.config.text import Place
from instar.core.utils.declaration import options_of
from instar.observables import Observation

__all__ = ["problems_of_reduced"]

_NO_DEFAULT = "has no default in reduced units; give it as a bare number"


def problems_of_reduced(
    config: Config,
    stages: Sequence[Stage],
    recipe: Recipe,
    observations: Sequence[Observation],
    data: dict[str, Any],
) -> Iterator[tuple[Place, str]]:
    """Defaults that are meant in Å or fs, and charges, which have no reduced unit here."""
    listed = config.run if isinstance(config.run, list) else []
    own = {("run", number) for number, stage in enumerate(listed) if stage.method}
    for stage in stages:
        place = (*stage.place, "method") if stage.place in own else ("method",)
        for key in stage.method.keys_with_units():
            yield (*place, key), _NO_DEFAULT
    for number, system in enumerate(config.systems):
        structure = system.structure
        if isinstance(structure, RandomStructure) and "distance" not in structure.model_fields_set:
            yield ("systems", number, "structure", "distance"), _NO_DEFAULT
    for number, one in enumerate(observations):
        for key, option in options_of(type(one)).items():
            if option.unit and option.default and key not in data["observe"][number]:
                yield ("observe", number, key), _NO_DEFAULT
    if any(entry.OF_CHARGES for entry in recipe.entries):
        yield ("potential",), "charges have no reduced unit; leave out units: lj"
