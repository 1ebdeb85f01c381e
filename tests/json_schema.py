"""Whether data fits a JSON schema: the keywords that the schema of configurations has."""

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_WORDS = {"$defs", "$schema", "default", "description", "discriminator", "examples", "title"}
"""Keywords that say nothing about what fits."""


def misfits(schema, data):
    """What does not fit, one line for each; of alternatives, those of all of them."""
    return list(_misfits(schema, data, schema["$defs"], "$"))


def _misfits(schema, data, known, at):
    for word, value in schema.items():
        if word not in _WORDS:
            yield from _CHECKS[word](value, data, known, at, schema)


def _type(name, data, known, at, schema):
    if name == "integer" and isinstance(data, float) and data.is_integer():
        return
    right = isinstance(data, _TYPES[name]) and (name == "boolean" or not isinstance(data, bool))
    if not right:
        yield f"{at}: {data!r} is not {name}"


def _alternatives(fewest, most):
    def check(options, data, known, at, schema):
        found = [list(_misfits(one, data, known, at)) for one in options]
        if not fewest <= sum(not one for one in found) <= most(options):
            yield f"{at}: fits {sum(not one for one in found)} of {len(options)}; {found}"

    return check


def _ref(name, data, known, at, schema):
    yield from _misfits(known[name.removeprefix("#/$defs/")], data, known, at)


def _required(keys, data, known, at, schema):
    if isinstance(data, dict):
        yield from (f"{at}: {key} is missing" for key in keys if key not in data)


def _properties(parts, data, known, at, schema):
    if isinstance(data, dict):
        for key in data.keys() & parts.keys():
            yield from _misfits(parts[key], data[key], known, f"{at}.{key}")


def _additional(allowed, data, known, at, schema):
    if isinstance(data, dict) and allowed is not True:
        for key in data.keys() - schema.get("properties", {}).keys():
            if allowed is False:
                yield f"{at}: {key} is unknown"
            else:
                yield from _misfits(allowed, data[key], known, f"{at}.{key}")


def _items(part, data, known, at, schema):
    if isinstance(data, list):
        for number, entry in enumerate(data[len(schema.get("prefixItems", ())) :]):
            yield from _misfits(part, entry, known, f"{at}[{number}]")


def _first_items(parts, data, known, at, schema):
    if isinstance(data, list):
        for number, (part, entry) in enumerate(zip(parts, data, strict=False)):
            yield from _misfits(part, entry, known, f"{at}[{number}]")


def _limit(kinds, holds):
    def check(limit, data, known, at, schema):
        if isinstance(data, kinds) and not isinstance(data, bool) and not holds(data, limit):
            yield f"{at}: {data!r} is beyond {limit}"

    return check


_NUMBER = (int, float)
_CHECKS = {
    "type": _type,
    "anyOf": _alternatives(1, len),
    "oneOf": _alternatives(1, lambda options: 1),
    "allOf": lambda options, *rest: (text for one in options for text in _misfits(one, *rest[:3])),
    "$ref": _ref,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "prefixItems": _first_items,
    "enum": _limit(object, lambda data, known: data in known),
    "const": _limit(object, lambda data, known: data == known),
    "minItems": _limit(list, lambda data, least: len(data) >= least),
    "maxItems": _limit(list, lambda data, most: len(data) <= most),
    "minProperties": _limit(dict, lambda data, least: len(data) >= least),
    "maxLength": _limit(str, lambda data, most: len(data) <= most),
    "minimum": _limit(_NUMBER, lambda data, least: data >= least),
    "maximum": _limit(_NUMBER, lambda data, most: data <= most),
    "exclusiveMinimum": _limit(_NUMBER, lambda data, least: data > least),
    "exclusiveMaximum": _limit(_NUMBER, lambda data, most: data < most),
}
