"""What the systems of a run have come to, with their velocities: another run can start from it.

There is one file per batch in the folder ``end``, as long as the batch has no step to make.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from ase import Atoms

from instar.app.ase.start_structures import packed, unpacked
from instar.app.config import Loaded
from instar.app.config.systems import Beginning, Wanted
from instar.app.run.directory import AGAIN, VERSION, RunDirectory, RunDirectoryError
from instar.observables import Observation
from instar.storage import StorageError, write_atomically

__all__ = ["ended", "lost", "remove_end", "write_end"]


def write_end(
    directory: RunDirectory, loaded: Loaded, systems: range, structures: Sequence[Atoms]
) -> None:
    """The structures that some systems have at their end, with what they were to have there."""
    wanted = [_at_end(loaded, number) for number in systems]
    directory.end.mkdir(exist_ok=True)
    write_atomically(_path(directory, systems.start), packed(wanted, structures))


def _at_end(loaded: Loaded, system: int) -> Wanted:
    wanted = loaded.asked(loaded.systems[system])
    temperature, pressure = wanted.last_conditions
    return Wanted(system, loaded.names[system], temperature, pressure)


def lost(directory: RunDirectory, first: int, observations: Sequence[Observation]) -> bool:
    """Whether a file that the batch with this first system has at its end is gone."""
    name = _path(directory, first).name
    folders = [directory.end, *([directory.observed] if observations else [])]
    return not all((folder / name).is_file() for folder in folders)


def remove_end(directory: RunDirectory, first: int) -> None:
    """Forget the end of the batch that begins with this system: it goes on."""
    _path(directory, first).unlink(missing_ok=True)


def ended(path: Path) -> Beginning:
    """The end of all systems of a run; it is refused if one has not come there."""
    directory = RunDirectory.open(path)
    count = len(directory.start().systems)
    exploded = [one["system"] for one in directory.exploded(count)]
    if exploded:
        which = ", ".join(map(str, exploded[:5])) + (", …" if len(exploded) > 5 else "")
        raise RunDirectoryError(f"Systems of the run in {path} have exploded: {which}.")
    parts = [_read(file) for file in sorted(directory.end.glob("*.npz"))]
    systems = [wanted for part in parts for wanted in part.systems]
    if [wanted.entry for wanted in systems] != list(range(count)):
        if directory.version != VERSION:
            raise RunDirectoryError(
                f"The run in {path} was made by an older instar (version {directory.version} of "
                f"its folder), which did not keep the velocities of the end.\n{AGAIN}"
            )
        raise RunDirectoryError(
            f"The run in {path} has not come to its end. Go on with: instar resume {path}"
        )
    structures = [atoms for part in parts for atoms in part.structures]
    return dataclasses.replace(parts[0], systems=tuple(systems), structures=tuple(structures))


def _read(file: Path) -> Beginning:
    try:
        return unpacked(file)
    except (OSError, ValueError, StorageError, MemoryError) as error:
        raise RunDirectoryError(f"{file} can't be read: {error}.") from error


def _path(directory: RunDirectory, first: int) -> Path:
    return directory.end / f"{first:09}.npz"
