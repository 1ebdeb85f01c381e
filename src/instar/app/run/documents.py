"""Small files of a run's folder as they must be: a folder may come from anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import (
    AfterValidator,
    ConfigDict,
    FailFast,
    Field,
    TypeAdapter,
    ValidationError,
    with_config,
)

__all__ = ["wrong_document", "wrong_explosions", "wrong_meta"]

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_STRICT = ConfigDict(strict=True, allow_inf_nan=True)


def _of_each(kind: Any) -> AfterValidator:
    """That the values of a mapping are of a kind; the first that is not is told, and no other."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def checked(found: dict[str, Any]) -> dict[str, Any]:
        for name, value in found.items():
            if (wrong := _wrong(adapter, value)) is not None:
                raise ValueError(f"{name:.80}: {wrong.removeprefix('it: ')}")
        return found

    return AfterValidator(checked)


@with_config(_STRICT)
class _Average(TypedDict):
    mean: float | None
    error: float | None
    unit: str


@with_config(_STRICT)
class _Exploded(TypedDict):
    system: _Count
    step: _Count


_Explosions = Annotated[list[_Exploded], FailFast()]


@with_config(_STRICT)
class _Stage(TypedDict):
    name: str
    method: str
    first: _Count
    last: _Count
    rows: _Count
    systems: Annotated[list[Annotated[dict[str, Any], _of_each(_Average)]], FailFast()]


@with_config(_STRICT)
class _Summary(TypedDict):
    rows: _Count
    shown: Annotated[list[str], FailFast(), Field(max_length=100)]
    systems: Annotated[list[dict[str, Any]], FailFast()]
    observed: Annotated[dict[str, Any], _of_each(Annotated[list[_Average], FailFast()])]
    exploded: _Explosions
    stages: NotRequired[Annotated[list[_Stage], FailFast(), Field(max_length=100)]]


@with_config(_STRICT)
class _Session(TypedDict):
    first: _Count
    last: _Count
    seconds: float
    peak: _Count
    planned: NotRequired[_Count]
    growth: Annotated[list[str], FailFast()]


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
            "items": NotRequired[Annotated[list[_Row], FailFast()]],
            "shape": _Row,
        },
    )
)


@with_config(_STRICT)
class _Shape(TypedDict):
    sizes: dict[str, Any]
    bytes: _Count


@with_config(_STRICT)
class _Plan(TypedDict):
    predicted_peak: _Count
    limited_by: str
    batches: Annotated[list[_Batch], FailFast()]
    budget: _Budget
    shapes: Annotated[list[_Shape], FailFast()]
    kept: _Count
    headroom: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


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


def _numbered(found: dict[str, Any]) -> dict[str, Any]:
    for name in found:
        if not (name.isdecimal() and len(name) < 18):
            raise ValueError(f"{name:.80} is not the number of a system")
    return found


_NUMBERED = AfterValidator(_numbered)
_End = Annotated[list[_Count], Field(min_length=2, max_length=2)]


@with_config(_STRICT)
class _Meta(TypedDict):
    configuration: dict[str, Any]
    number: _Count
    systems: Annotated[list[_Count], Field(min_length=2, max_length=2)]
    sizes: Annotated[dict[str, Any], _of_each(_Count)] | None
    blocks: NotRequired[_Count]
    segments: _Count
    segments_before: _Count
    step: _Count
    ends: Annotated[dict[str, Any], _of_each(_End), _NUMBERED]
    exploded: Annotated[list[_Explosion], FailFast()]


_DOCUMENTS: dict[str, TypeAdapter[Any]] = {
    "summary.json": TypeAdapter(_Summary),
    "timing.json": TypeAdapter(Annotated[list[_Session], FailFast(), Field(max_length=100_000)]),
    "plan.json": TypeAdapter(_Plan),
    "provenance.json": TypeAdapter(_Provenance),
    "exploded.json": TypeAdapter(_Explosions),
}
_META: TypeAdapter[Any] = TypeAdapter(_Meta)
_AVERAGE: TypeAdapter[Any] = TypeAdapter(_Average)


def wrong_document(name: str, content: Any) -> str | None:
    """What is wrong with a small file of this name, in words; None if nothing is known to be."""
    known = _DOCUMENTS.get(name)
    found = None if known is None else _wrong(known, content)
    return found or (_wrong_summary(content) if name == "summary.json" else None)


def wrong_meta(meta: dict[str, Any], systems: int) -> str | None:
    """What is wrong with what a checkpoint says of itself and of a run of so many systems."""
    found = _wrong(_META, meta)
    if found is not None:
        return found
    if meta["segments"] < meta["segments_before"]:
        return "segments_before: there are more than segments"
    return wrong_explosions(({"system": one[0]} for one in meta["exploded"]), systems)


def wrong_explosions(exploded: Iterable[dict[str, Any]], systems: int) -> str | None:
    """What is wrong with explosions in a run of so many systems; None if nothing is."""
    beyond = (one["system"] for one in exploded if one["system"] >= systems)
    number = next(beyond, None)
    return None if number is None else f"exploded: there is no system {number}"


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
                return f"systems.{number}.{name} is missing, or is not an average"
    for stage in content.get("stages", ()):
        lacks = any(set(content["shown"]) - set(one) for one in stage["systems"])
        if lacks or len(stage["systems"]) != len(content["systems"]):
            return f"stages: {stage['name']} does not have all averages of all systems"
    for name, column in content["observed"].items():
        if len(column) != len(content["systems"]):
            return f"observed.{name} does not have one entry for each system"
    return wrong_explosions(content["exploded"], len(content["systems"]))
