"""Small files of a run's folder as they must be: a folder may come from anywhere."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config

__all__ = ["wrong_document", "wrong_meta"]

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Digits = Annotated[str, Field(pattern=r"^[0-9]{1,18}$")]
_STRICT = ConfigDict(strict=True, allow_inf_nan=True)


@with_config(_STRICT)
class _Average(TypedDict):
    mean: float | None
    error: float | None
    unit: str


@with_config(_STRICT)
class _Exploded(TypedDict):
    system: _Count
    step: _Count


@with_config(_STRICT)
class _Stage(TypedDict):
    name: str
    method: str
    first: _Count
    last: _Count
    rows: _Count
    systems: list[dict[str, _Average]]


@with_config(_STRICT)
class _Summary(TypedDict):
    rows: _Count
    shown: list[str]
    systems: list[dict[str, Any]]
    observed: dict[str, list[_Average]]
    exploded: list[_Exploded]
    stages: NotRequired[list[_Stage]]


@with_config(_STRICT)
class _Session(TypedDict):
    first: _Count
    last: _Count
    seconds: float
    peak: _Count
    planned: NotRequired[_Count]
    growth: list[str]


@with_config(_STRICT)
class _Budget(TypedDict):
    bytes: _Count
    source: str


_Row = Annotated[int, Field(ge=0, lt=2**31)]
_Batch = with_config(_STRICT)(
    TypedDict(
        "_Batch",
        {
            "from": NotRequired[_Row],
            "to": NotRequired[_Row],
            "items": NotRequired[list[_Row]],
            "shape": _Row,
        },
    )
)


@with_config(_STRICT)
class _Plan(TypedDict):
    predicted_peak: _Count
    limited_by: str
    batches: list[_Batch]
    budget: _Budget


@with_config(_STRICT)
class _Provenance(TypedDict):
    versions: NotRequired[dict[str, str | None]]


def _explosion(one: list[Any]) -> list[Any]:
    """The system, the step, and what is said of it."""
    right = len(one) == 3 and isinstance(one[2], str)
    if not right or not all(type(n) is int and n >= 0 for n in one[:2]):
        raise ValueError("two whole numbers and a text are needed")
    return one


_Explosion = Annotated[list[Any], AfterValidator(_explosion)]


@with_config(_STRICT)
class _Meta(TypedDict):
    configuration: dict[str, Any]
    number: _Count
    systems: Annotated[list[_Count], Field(min_length=2, max_length=2)]
    sizes: dict[str, _Count] | None
    blocks: NotRequired[_Count]
    segments: _Count
    segments_before: _Count
    step: _Count
    ends: dict[_Digits, Annotated[list[_Count], Field(min_length=2, max_length=2)]]
    exploded: list[_Explosion]


_DOCUMENTS: dict[str, TypeAdapter[Any]] = {
    "summary.json": TypeAdapter(_Summary),
    "timing.json": TypeAdapter(list[_Session]),
    "plan.json": TypeAdapter(_Plan),
    "provenance.json": TypeAdapter(_Provenance),
    "exploded.json": TypeAdapter(list[_Exploded]),
}
_META: TypeAdapter[Any] = TypeAdapter(_Meta)
_AVERAGE: TypeAdapter[Any] = TypeAdapter(_Average)


def wrong_document(name: str, content: Any) -> str | None:
    """What is wrong with a small file of this name, in words; None if nothing is known to be."""
    known = _DOCUMENTS.get(name)
    found = None if known is None else _wrong(known, content)
    return found or (_wrong_summary(content) if name == "summary.json" else None)


def wrong_meta(meta: dict[str, Any]) -> str | None:
    """What is wrong with what a checkpoint says of itself; None if nothing is."""
    found = _wrong(_META, meta)
    if found is None and meta["segments"] < meta["segments_before"]:
        return "segments_before: there are more than segments"
    return found


def _wrong(adapter: Any, content: Any) -> str | None:
    try:
        adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        return f"{place or 'it'}: {message[:1].lower()}{message[1:]}"
    return None


def _wrong_summary(content: Any) -> str | None:
    """Every system has every column that is shown."""
    for number, system in enumerate(content["systems"]):
        if not isinstance(system.get("atoms"), int):
            return f"systems.{number}.atoms is missing"
        for name in content["shown"]:
            if _wrong(_AVERAGE, system.get(name)) is not None:
                return f"systems.{number}.{name} is missing, or no average"
    for stage in content.get("stages", ()):
        lacks = any(set(content["shown"]) - set(one) for one in stage["systems"])
        if lacks or len(stage["systems"]) != len(content["systems"]):
            return f"stages: {stage['name']} does not have all averages of all systems"
    for name, column in content["observed"].items():
        if len(column) != len(content["systems"]):
            return f"observed.{name} has not one entry for each system"
    return None
