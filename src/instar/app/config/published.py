"""The JSON schema of configurations, which lets editors complete and check them."""

from __future__ import annotations

from typing import Any

from instar.app.config.observers import OBSERVER_ENTRIES
from instar.app.config.potentials import POTENTIAL_ENTRIES
from instar.app.config.schema import config_model

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """The schema; a quantity is a number, or text with a unit."""
    whole = config_model().model_json_schema()
    for entries in (POTENTIAL_ENTRIES, OBSERVER_ENTRIES):
        parts = entries.adapter().json_schema(ref_template="#/$defs/{model}")
        whole["$defs"] |= parts.pop("$defs")
        whole["properties"][entries.key] = parts
    listed, looks = (whole["properties"][key] for key in ("potential", "observe"))
    whole["properties"]["potential"] = {"anyOf": [listed, listed["items"]]}
    whole["properties"]["observe"] = {"anyOf": [looks, {"type": "null"}]}
    _brought(whole)
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    whole["title"] = "instar"
    return _quantities(whole)


def _brought(whole: dict[str, Any]) -> None:
    """What need not be there because something else brings it.

    A topology has a potential and structures, the run that another one starts from has structures,
    and stages may each have a method.
    """
    whole["required"] = [key for key in whole["required"] if key not in _BROUGHT]
    whole["allOf"] = [{"anyOf": [{"required": [key]}, *others]} for key, others in _BROUGHT.items()]
    system = whole["$defs"]["SystemConfig"]
    system["required"] = [key for key in system["required"] if key != "structure"]


def _in_run(*alternatives: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"run": {"anyOf": [*alternatives]}}}


_TOPOLOGY = {"required": ["topology"]}
_START = {"required": ["start_from"]}
_BROUGHT: dict[str, list[dict[str, Any]]] = {
    "potential": [_TOPOLOGY],
    "systems": [
        _TOPOLOGY,
        _in_run({"type": "object", **_START}, {"type": "array", "prefixItems": [_START]}),
    ],
    "method": [_in_run({"type": "array", "items": {"required": ["method"]}})],
}
"""For keys that may be left out, where."""


_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
"""What pydantic leaves as it is where a number is read from text first."""


def _quantities(node: Any) -> Any:
    """Every number may be written as text: with a unit, or as 1e6, which YAML takes for text."""
    if isinstance(node, list):
        return [_quantities(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {_BOUNDS.get(key, key): _quantities(value) for key, value in node.items()}
    if changed.get("type") in ("number", "integer"):
        kept = {k: changed.pop(k) for k in ("title", "default", "description") if k in changed}
        return {**kept, "anyOf": [changed, {"type": "string"}]}
    return changed
