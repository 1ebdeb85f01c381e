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
    _or_a_topology(whole)
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    whole["title"] = "instar"
    return _quantities(whole)


def _or_a_topology(whole: dict[str, Any]) -> None:
    """With a topology there is no potential, and systems have its structure."""
    whole["required"] = [key for key in whole["required"] if key not in ("potential", "systems")]
    whole["anyOf"] = [{"required": ["potential", "systems"]}, {"required": ["topology"]}]
    system = whole["$defs"]["SystemConfig"]
    system["required"] = [key for key in system["required"] if key != "structure"]


_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
"""What pydantic leaves as it is where a number is read from text first."""


def _quantities(node: Any) -> Any:
    """Every number may be written with a unit."""
    if isinstance(node, list):
        return [_quantities(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {_BOUNDS.get(key, key): _quantities(value) for key, value in node.items()}
    if changed.get("type") == "number":
        kept = {k: changed.pop(k) for k in ("title", "default", "description") if k in changed}
        return {**kept, "anyOf": [changed, {"type": "string"}]}
    return changed
