"""The JSON schema of configurations, which lets editors complete and check them."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from instar.app.config.schema import Config
from instar.app.potentials import PotentialConfig

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """The schema; a quantity is a number, or text with a unit."""
    whole = Config.model_json_schema()
    parts = TypeAdapter(list[PotentialConfig]).json_schema(ref_template="#/$defs/{model}")
    whole["$defs"] |= parts.pop("$defs")
    whole["properties"]["potential"] = parts
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    whole["title"] = "instar"
    return _quantities(whole)


def _quantities(node: Any) -> Any:
    """Every number may be written with a unit."""
    if isinstance(node, list):
        return [_quantities(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {key: _quantities(value) for key, value in node.items()}
    if changed.get("type") == "number":
        kept = {k: changed.pop(k) for k in ("title", "default", "description") if k in changed}
        return {**kept, "anyOf": [changed, {"type": "string"}]}
    return changed
