"""Several topologies in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ase import Atoms

from instar.app.topology.base import Topology, TopologyError

__all__ = ["combined_topologies"]

_RENAME = "Rename the labels of one of them: topology.renamed('other '), and combine again."


def combined_topologies(topologies: Sequence[Topology]) -> tuple[list[Atoms], list[dict[str, Any]]]:
    """Structures and one potential for all of them, to compute several topologies as one batch.

    Terms are tied to their structure. What holds for all structures must be the same in all
    topologies; Lennard-Jones parameters are put into one table by label.

    Parameters
    ----------
    topologies
        Such as `instar.read_topology` returns.

    Returns
    -------
    structures, potential
        A list of `ase.Atoms`, and a list of mappings as it stands in a configuration.

    Raises
    ------
    TopologyError
        If topologies have different options, or one label has different parameters.

    Examples
    --------
    >>> import instar
    >>> instar.combined_topologies([])
    ([], [])
    """
    shared: dict[str, dict[str, Any]] = {}
    terms: list[dict[str, Any]] = []
    for number, topology in enumerate(topologies):
        for entry in topology.for_structure(number):
            if "structures" in entry:
                terms.append(entry)
            else:
                _share(shared, entry, number)
    for number, topology in enumerate(topologies):
        _check_share(topology, number, set(shared))
    return [topology.atoms for topology in topologies], [*shared.values(), *terms]


def _check_share(topology: Topology, number: int, kinds: set[str]) -> None:
    """What holds for all structures is meant for this one as well, or finds no charges in it."""
    for kind in sorted(kinds - {entry["type"] for entry in topology.potential}):
        if "coulomb" not in kind or topology.atoms.get_initial_charges().any():
            raise TopologyError(
                f"Topology {number} has no {kind}, but another one has it, and it would act in all "
                "of them.\nRead both with the same options, or compute them one after the other."
            )


def _share(shared: dict[str, dict[str, Any]], entry: dict[str, Any], number: int) -> None:
    kind = entry["type"]
    if kind not in shared:
        shared[kind] = dict(entry)
        return
    there = shared[kind]
    for key in sorted({*there, *entry} - {"parameters", "pairs"}):
        if there.get(key) != entry.get(key):
            raise TopologyError(
                f"Topology {number} has {key} {entry.get(key)!r} for {kind}, one before it has "
                f"{there.get(key)!r}.\nRead both with the same options."
            )
    for table in ("parameters", "pairs"):
        if table in entry or table in there:
            there[table] = _merged(there.get(table, {}), entry.get(table, {}), kind, number)


def _merged(there: dict[str, Any], more: dict[str, Any], kind: str, number: int) -> dict[str, Any]:
    for label, values in more.items():
        if there.get(label, values) != values:
            raise TopologyError(
                f"Topology {number} has {values} for the {kind} label {label!r}, one before it "
                f"has {there[label]}.\n{_RENAME}"
            )
    return there | more
