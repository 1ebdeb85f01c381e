"""``start_from``: systems as they are at the end of another run, with their velocities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.app.ase.structures import labels_of
from instar.app.config.schema import SystemConfig
from instar.app.config.stages import start_of
from instar.app.config.systems import Beginning, Wanted, ends_of
from instar.app.config.text import Mistake, Place, read_yaml
from instar.app.config.units import is_reduced
from instar.storage import StorageError

__all__ = ["place_of", "started", "with_systems"]


def with_systems(
    resolved: dict[str, Any], data: dict[str, Any], problems: list[Mistake]
) -> dict[str, Any]:
    """What is validated, with a structure in its systems: that of the run that it starts from."""
    origin, systems = start_of(data), resolved.get("systems", [{}])
    if origin is None or not isinstance(systems, list):
        return resolved
    text = "the run that it starts from has the structures; take one of the two out"
    problems += [
        (("systems", number, "structure"), text)
        for number, entry in enumerate(data.get("systems", ()))
        if isinstance(entry, dict) and entry.get("structure") is not None
    ]
    structure = {"structure": {"file": str(origin)}}
    found = [{**entry, **structure} if isinstance(entry, dict) else entry for entry in systems]
    return {**resolved, "systems": found}


def place_of(data: dict[str, Any]) -> Place:
    """Where ``start_from`` stands."""
    return ("run", 0, "start_from") if isinstance(data["run"], list) else ("run", "start_from")


def started(
    folder: Path, entries: Sequence[SystemConfig], topology: Atoms | None, problems: list[Mistake]
) -> Beginning | None:
    """The systems of the run in ``folder``, under the conditions of the ``entries``.

    There is one entry for all systems, or one for each; conditions that it leaves out are those
    that the systems had. A ``topology`` has the atoms that all of them must have.
    """
    from instar.app.run.ending import ended  # which reads configurations itself

    try:
        end = ended(folder)
        units = read_yaml(folder / "config.yaml").data.get("units")
    except (StorageError, OSError) as error:
        problems.append(((), str(error)))
        return None
    if (units == "lj") != is_reduced():
        problems.append(((), f"the run in {folder} has other units"))
    count = len(end.systems)
    if len(entries) not in (1, count):
        text = f"the run in {folder} has {count} systems: give one entry for all, or one for each"
        problems.append((("systems",), text))
        return None
    for number, entry in enumerate(entries):
        if entry.sweep is not None or entry.copies > 1:
            text = "the systems are those of the run that it starts from: no sweep, no copies"
            problems.append((("systems", number), text))
    if topology is not None and not all(_is_same(atoms, topology) for atoms in end.structures):
        text = (
            f"its atoms are not those of the run in {folder}: elements, labels, charges and masses "
            "must be the same, in the same order"
        )
        problems.append((("topology",), text))
    systems = [
        _under(wanted, n if len(entries) > 1 else 0, entries[n if len(entries) > 1 else 0])
        for n, wanted in enumerate(end.systems)
    ]
    return Beginning(tuple(systems), end.structures)


def _is_same(atoms: Atoms, topology: Atoms) -> bool:
    """Whether all that a topology says of its atoms is what the run had, in the same order."""
    return (
        np.array_equal(atoms.numbers, topology.numbers)
        and labels_of(atoms) == labels_of(topology)
        and np.allclose(atoms.get_initial_charges(), topology.get_initial_charges())
        and np.allclose(atoms.get_masses(), topology.get_masses())
    )


def _under(wanted: Wanted, number: int, entry: SystemConfig) -> Wanted:
    """A system under the conditions of an entry, as far as it has some."""
    found = wanted._replace(entry=number, name=entry.name or wanted.name)
    if entry.temperature is not None:
        hot, last_hot = ends_of(entry.temperature)
        found = found._replace(temperature=hot, last_temperature=last_hot)
    if entry.pressure is not None:
        pressure, last = ends_of(entry.pressure)
        found = found._replace(pressure=pressure, last_pressure=last)
    return found
