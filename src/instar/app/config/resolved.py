"""A configuration with all defaults written out, in units that it can be given in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from instar.app.config.entries import Entries
from instar.app.config.load import Loaded
from instar.app.config.methods import Method
from instar.app.config.observers import OBSERVER_ENTRIES
from instar.app.config.potentials import POTENTIAL_ENTRIES
from instar.app.config.recorded import is_record
from instar.app.config.stages import start_of

__all__ = ["resolved"]


def resolved(loaded: Loaded) -> dict[str, Any]:
    """What was given, and beside it every default that was taken; it is the same configuration."""
    data = loaded.data
    found = _filled(loaded.config, data)
    for key, entries in (("potential", POTENTIAL_ENTRIES), ("observe", OBSERVER_ENTRIES)):
        if data.get(key) is not None and not is_record(data[key]):
            found[key] = _entries(data[key], entries)
    if data.get("method") is None:  # that of the last stage
        del found["method"]
    topology = data.get("topology")
    if topology is not None:
        del found["potential"]
        found["topology"] = topology
    if topology is not None or start_of(data) is not None:
        found["systems"] = [_without_structure(one) for one in found["systems"]]
    return found


def _without_structure(system: Mapping[str, Any]) -> dict[str, Any]:
    """As it was given: the structure is that of the topology, or of the run before."""
    return {key: value for key, value in system.items() if key != "structure"}


def _filled(model: BaseModel, given: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a model: as they were given, else their defaults, if they have one."""
    found: dict[str, Any] = {}
    for field, about in type(model).model_fields.items():
        name = about.alias or field
        value, said = getattr(model, field), given.get(name)
        if isinstance(value, BaseModel):
            found[name] = _filled(value, said or {})
        elif isinstance(value, list) and value and isinstance(value[0], BaseModel):
            listed = said or [{}] * len(value)
            found[name] = [_filled(*one) for one in zip(value, listed, strict=True)]
        elif said is not None or value is not None:
            found[name] = _plain(value if said is None else said)
    return _with(found, model.defaults) if isinstance(model, Method) else found


def _with(found: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What was found, then the defaults of all else."""
    missing = {key: _plain(value) for key, value in defaults.items() if key not in found}
    return {**found, **missing}


def _entries(given: Any, known: Entries) -> list[dict[str, Any]]:
    """A list of entries, each with the defaults of its type."""
    listed = [given] if isinstance(given, Mapping) else given
    return [_with(entry, known.defaults(entry["type"])) for entry in listed]


def _plain(value: Any) -> Any:
    """As YAML has it."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
