"""`read_topology`: a structure and its potential from the files of other programs."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path
from typing import Any

from instar.app.topology.base import Topology, TopologyError, check_bytes, check_options
from instar.app.topology.forcefield import ForceFieldOptions, read_force_field
from instar.app.topology.lammps import DataOptions, read_data
from instar.app.topology.stored import read_stored

__all__ = ["read_topology"]


def read_topology(path: str | Path, **options: Any) -> Topology:
    """Structure and potential from a LAMMPS data file, or a PDB file with force-field XML.

    Two kinds of files are read, each with its options:

    - a data file of LAMMPS: ``units`` are needed; see `DataOptions`. Pairs 1-2, 1-3 and 1-4 apart
      have factors 0 0 0 unless ``special_bonds`` says otherwise, as in LAMMPS;
    - a PDB file: ``force_field`` names one or more XML files as OpenMM has them; see
      `ForceFieldOptions`.

    A JSON file is one that the folder of a run has.

    Parameters
    ----------
    path
        The data file or the PDB file.
    **options
        Those of the kind of file, as above; ``cutoff`` in Å or as text with a unit.

    Returns
    -------
    Topology
        ``atoms`` (positions in Å, masses in amu, charges in e, labels) and ``potential``, mappings
        as they stand in a configuration.

    Raises
    ------
    TopologyError
        If something can't be read as it is meant; it says where, and what to do.

    Examples
    --------
    >>> import instar
    >>> instar.read_topology("no-such.data", units="real")
    Traceback (most recent call last):
        ...
    instar.app.topology.base.TopologyError: There is no file no-such.data.
    """
    path = Path(path)
    if not path.is_file():
        raise TopologyError(f"There is no file {path}.")
    check_bytes(path)
    if path.suffix.lower() == ".json" and not options:
        return read_stored(path)
    if "force_field" in options:
        return read_force_field(path, _options(ForceFieldOptions, options))
    if path.suffix.lower() in (".pdb", ".ent"):
        raise TopologyError(
            f"{path.name}: a PDB file has no parameters.\n"
            "Name the force field: read_topology(path, force_field=['ff.xml'])."
        )
    return read_data(path, _options(DataOptions, options))


def _options[T: (DataOptions, ForceFieldOptions)](kind: type[T], options: dict[str, Any]) -> T:
    known = [field.name for field in dataclasses.fields(kind)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"options are {', '.join(known)}."
            raise TopologyError(f"There is no option {name!r} for this file; {hint}")
    check_options(options, kind.KINDS)
    return kind(**options)
