"""Structures and topologies from outside of a configuration: objects of Python, and files.

What is validated is plain data in any case. Objects are named there as files of the folder
``inputs``, which the folder of a run gets; a topology is read, and becomes the structure of the
systems and the potential.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.app.config.names import file_name
from instar.app.config.text import Place
from instar.app.topology import Topology, TopologyError, read_topology

__all__ = ["Given", "given_by", "plain"]

type Input = Sequence[Atoms] | Topology


@dataclasses.dataclass(frozen=True)
class Given:
    """Plain data, and what it names that is no file yet.

    ``data`` is written to the folder of the run, with the ``inputs`` beside it; ``resolved`` is
    validated: it has a structure and a potential where ``data`` has a topology.
    """

    data: dict[str, Any]
    resolved: dict[str, Any]
    inputs: dict[str, Input]
    lacks_topology: bool = False  # it could not be read

    def recording(self, potential: dict[str, str]) -> Given:
        """With the record of an object in place of the potential."""
        known = {"potential": potential}
        return dataclasses.replace(self, data=self.data | known, resolved=self.resolved | known)

    @property
    def structures(self) -> dict[str, Sequence[Atoms]]:
        """Structures by the name of their file."""
        return {
            name: [one.atoms] if isinstance(one, Topology) else one
            for name, one in self.inputs.items()
        }


def plain(value: Any) -> Any:
    """Data as a file could have it: no arrays, no numbers of NumPy."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def given_by(
    data: dict[str, Any], folder: Path, problems: list[tuple[Place, str]], *, begun: bool = False
) -> Given:
    """A configuration without objects; a topology is read from ``folder``.

    The configuration of a run that has ``begun`` has its topology in the folder of the run.
    """
    data, inputs = _without_structures(data)
    if data.get("topology") is None:
        return Given(data, data, inputs)
    try:
        if begun:
            _check_stored(data["topology"])
        name, topology = _topology(data["topology"], folder)
    except (TopologyError, OSError) as error:
        problems.append((("topology",), _why(error)))
        rest = {key: value for key, value in data.items() if key != "topology"}
        return Given(data, rest, inputs, lacks_topology=True)
    return _resolved({**data, "topology": {"file": name}}, topology, inputs, problems)


def _check_stored(value: Any) -> None:
    """Nothing outside of the folder of a run is read."""
    file = value.get("file") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(file, str) or Path(file).parts != ("inputs", Path(file).name):
        raise TopologyError("a run has its topology in its folder inputs: {file: inputs/….json}")


def _why(error: Exception) -> str:
    """What is said of a file; its name is known, and may be very long."""
    if isinstance(error, OSError) and error.strerror:
        return f"{str(error.filename)[:80]}: {error.strerror}"
    return str(error)


def _without_structures(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Input]]:
    """Structures that are objects become files."""
    inputs: dict[str, Input] = {}
    systems = data.get("systems")
    if not isinstance(systems, list):
        return data, inputs
    found = list(systems)
    for number, entry in enumerate(systems):
        atoms = _atoms(entry.get("structure")) if isinstance(entry, dict) else None
        if atoms is not None:
            file = f"inputs/structures-{number}.extxyz"
            inputs[file] = [one.copy() for one in atoms]
            found[number] = {**entry, "structure": {"file": file, "frames": "all"}}
    return {**data, "systems": found}, inputs


def _atoms(value: Any) -> list[Atoms] | None:
    """Structures, if it is one, or a list of some."""
    if isinstance(value, Atoms):
        return [value]
    many = isinstance(value, list) and value and all(isinstance(one, Atoms) for one in value)
    return value if many else None


def _topology(value: Any, folder: Path) -> tuple[str, Topology]:
    """A topology, and the file that the folder of a run has it in."""
    if isinstance(value, Topology):
        return "inputs/topology.json", value
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        raise TopologyError("write the file and what it leaves open: {file: water.data, …}")
    options = {key: option for key, option in value.items() if key != "file"}
    if "force_field" in options:
        files = options["force_field"]
        many = files if isinstance(files, list) else [files]
        options["force_field"] = [folder / str(name) for name in many]
    path = folder / value["file"]
    try:
        return f"inputs/{file_name(path.stem)}.json", read_topology(path, **options)
    except (TypeError, AttributeError) as error:
        raise TopologyError(f"an option is of the wrong kind: {error}") from error


def _resolved(
    data: dict[str, Any],
    topology: Topology,
    inputs: dict[str, Input],
    problems: list[tuple[Place, str]],
) -> Given:
    """The topology as structure and potential; what has its own as well is a mistake."""
    if data.get("potential") is not None:
        text = "the topology has the potential already; take one of the two out"
        problems.append((("potential",), text))
    file, systems = data["topology"]["file"], data.get("systems", [{}])
    atoms = topology.atoms.copy()
    atoms.info.setdefault("name", Path(file).stem)
    topology = dataclasses.replace(topology, atoms=atoms)
    found = []
    for number, entry in enumerate(systems if isinstance(systems, list) else []):
        if isinstance(entry, dict) and entry.get("structure") is not None:
            text = "the topology has the structure already; take one of the two out"
            problems.append((("systems", number, "structure"), text))
        found.append({**entry, "structure": {"file": file}} if isinstance(entry, dict) else entry)
    resolved = {key: value for key, value in data.items() if key != "topology"}
    resolved |= {"systems": found or systems, "potential": topology.potential}
    return Given(data, resolved, {**inputs, file: topology})
