"""The configuration of a run, key by key."""

from __future__ import annotations

import functools
import math
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
    model_validator,
)

from instar.app.config.base import (
    Density,
    Length,
    Positive,
    Pressure,
    Strict,
    Temperature,
)
from instar.app.config.fields import whole
from instar.app.config.files import frames_key
from instar.app.config.methods import Method, method_model

__all__ = [
    "Config",
    "FileStructure",
    "LatticeStructure",
    "PressureRamp",
    "RandomStructure",
    "RunConfig",
    "StageConfig",
    "StructureConfig",
    "SystemConfig",
    "TemperatureRamp",
    "config_model",
]


Count = Annotated[int, BeforeValidator(whole), Field(ge=0, lt=2**32 - 1)]
AtLeastOne = Annotated[int, BeforeValidator(whole), Field(ge=1, lt=2**32 - 1)]
_Times = Annotated[int, BeforeValidator(whole), Field(ge=1, le=10_000)]


def _three(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return [value] * 3 if number else value


_Three = tuple[_Times, _Times, _Times]
Repeat = Annotated[_Three, BeforeValidator(_three, json_schema_input_type=_Times | _Three)]

_CLOCK = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(s|min|h)\s*")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def _seconds(value: Any) -> Any:
    if isinstance(value, str) and (match := _CLOCK.fullmatch(value)):
        return float(match[1]) * _SECONDS[match[2]]
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise ValueError(f"{value!r} is not a time on the clock; write it as '5 min', '30 s' or '2 h'.")


class LatticeStructure(Strict):
    """A crystal, cut from an infinite one."""

    lattice: Literal["sc", "fcc", "bcc", "diamond"]
    species: str
    repeat: Repeat = (1, 1, 1)
    density: Density | None = None
    a: Positive | None = None

    @property
    def needs_density(self) -> bool:
        """Whether only a density is missing."""
        return self.a is None and self.density is None


class FileStructure(Strict):
    """Structures from files of a format that ASE reads and that is data alone, or a database (.db).

    ``file`` may be a pattern, such as mofs/*.cif.
    """

    file: str
    frames: Annotated[int | str, BeforeValidator(frames_key)] = -1
    repeat: Repeat = (1, 1, 1)

    @property
    def needs_density(self) -> bool:
        """A file says where its atoms are."""
        return False


class RandomStructure(Strict):
    """Atoms at random places of a cube, none closer to another than a distance."""

    random: Annotated[dict[str, AtLeastOne], Field(min_length=1)]
    density: Density | None = None
    distance: Annotated[Length, Field(ge=0)] = 2.5

    @property
    def needs_density(self) -> bool:
        """Whether only a density is missing."""
        return self.density is None


def _kind(value: Any) -> str | None:
    keys = value if isinstance(value, dict) else vars(value) if hasattr(value, "__dict__") else ()
    return next((key for key in ("lattice", "file", "random") if key in keys), None)


StructureConfig = Annotated[
    Annotated[LatticeStructure, Tag("lattice")]
    | Annotated[FileStructure, Tag("file")]
    | Annotated[RandomStructure, Tag("random")],
    Discriminator(
        _kind,
        custom_error_type="no_structure",
        custom_error_message="a structure has one of the keys lattice, file, random",
    ),
]


class Sweep(Strict):
    """Values to go through; with several keys, all combinations."""

    temperature: Annotated[list[Temperature], Field(min_length=1)] | None = None
    pressure: Annotated[list[Pressure], Field(min_length=1)] | None = None
    density: Annotated[list[Density], Field(min_length=1)] | None = None
    repeat: Annotated[list[Repeat], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _something(self) -> Sweep:
        if not self.model_fields_set:
            raise ValueError(
                "a sweep goes through values of temperature, pressure, density, repeat"
            )
        return self


class TemperatureRamp(Strict):
    """A temperature that follows the steps of a stage, or of the production, linearly."""

    start: Annotated[Temperature, Field(alias="from")]
    to: Temperature


class PressureRamp(Strict):
    """A pressure that follows the steps of a stage, or of the production, linearly."""

    start: Annotated[Pressure, Field(alias="from")]
    to: Pressure


def _number_or_ramp(value: Any) -> str:
    return "ramp" if isinstance(value, dict | Strict) else "number"


_EITHER = Discriminator(_number_or_ramp)
SetTemperature = Annotated[
    Annotated[Temperature, Tag("number")] | Annotated[TemperatureRamp, Tag("ramp")], _EITHER
]
SetPressure = Annotated[
    Annotated[Pressure, Tag("number")] | Annotated[PressureRamp, Tag("ramp")], _EITHER
]


class SystemConfig(Strict):
    """One system, or as many as its files have structures and its sweep combinations; and copies.

    Copies differ in their random numbers. Names are numbered where several systems have the same.
    """

    name: Annotated[str, Field(max_length=100)] = ""
    structure: StructureConfig
    temperature: SetTemperature | None = None
    pressure: SetPressure | None = None
    sweep: Sweep | None = None
    copies: AtLeastOne = 1

    @model_validator(mode="after")
    def _consistent(self) -> SystemConfig:
        swept = self.sweep.model_fields_set if self.sweep else set()
        for key in sorted(swept & {"temperature", "pressure"}):
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is given, and swept as well; one of the two is enough")
        known = type(self.structure).model_fields
        for key in sorted(swept & {"density", "repeat"}):
            if key not in known or key in self.structure.model_fields_set:
                raise ValueError(f"a sweep can't set {key} of this structure: it has its own")
        if getattr(self.structure, "a", None) is not None and (
            "density" in swept or getattr(self.structure, "density", None) is not None
        ):
            raise ValueError("a lattice has a density or a lattice constant a, not both")
        if self.structure.needs_density and "density" not in swept:
            raise ValueError("the structure needs a density (or a lattice its constant a)")
        return self


_START = Field(
    description="the folder of a run that has ended: systems begin as they are there, with their "
    "velocities"
)


class RunConfig(Strict):
    """How long: steps of equilibration, then steps that averages and frames are taken from."""

    steps: AtLeastOne
    equilibration: Count = 0
    start_from: Annotated[str | None, _START] = None


class StageOutput(Strict):
    """How often rows are written during a stage, in place of ``output``."""

    trajectory_every: Count | None = None
    thermo_every: AtLeastOne | None = None


class StageConfig(Strict):
    """One of several stages, which follow each other; the last one is the production.

    What a stage leaves out is as on top: ``method`` and ``output``, and the temperatures and
    pressures of the systems.
    """

    name: Annotated[str, Field(max_length=100)] = ""
    steps: AtLeastOne
    temperature: SetTemperature | None = None
    pressure: SetPressure | None = None
    method: dict[str, Any] | None = None
    output: StageOutput = StageOutput()
    start_from: Annotated[str | None, _START] = None


def _one_or_stages(value: Any) -> str:
    return "stages" if isinstance(value, list) else "one"


Stages = Annotated[list[StageConfig], Field(min_length=1, max_length=100)]
RunOrStages = Annotated[
    Annotated[RunConfig, Tag("one")] | Annotated[Stages, Tag("stages")],
    Discriminator(_one_or_stages),
]


class OutputConfig(Strict):
    """Where to, and how often."""

    directory: str | None = None
    trajectory_every: Count = 100
    thermo_every: AtLeastOne = 20
    checkpoint_every: Annotated[float, BeforeValidator(_seconds), Field(gt=0)] = 300.0
    velocities: bool = False


def _amount(value: Any) -> Any:
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise ValueError(
        f"{value!r} is not an amount of memory; write it as '8 GiB', '60 %' or 1000000000"
    )


class MemoryConfig(Strict):
    """How much memory a run may take, and the room for neighbors of an atom that it starts with.

    Left out, the room is estimated. It grows where it is too small.
    """

    budget: Annotated[str | int | None, BeforeValidator(_amount)] = None
    neighbors: AtLeastOne | None = None


class TopologyConfig(Strict):
    """A file with a structure and all that acts in it, and what `read_topology` is told about it.

    A data file of LAMMPS, or a PDB file with its force_field; the systems have its structure.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    file: str


class Config(Strict):
    """All of it."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    precision: Literal["float64", "float32"] = "float64"
    title: str = ""
    units: Literal["lj"] | None = None
    topology: TopologyConfig | None = None
    systems: Annotated[list[SystemConfig], Field(min_length=1)]
    potential: Any
    method: Method
    observe: Any = None
    run: RunOrStages
    output: OutputConfig = OutputConfig()
    memory: MemoryConfig = MemoryConfig()


def config_model() -> type[Config]:
    """The model that validates, with the keys of all methods that are declared."""
    return _model(method_model())


@functools.lru_cache(1)
def _model(method: Any) -> type[Config]:
    about = (method, Field(description="how systems move"))
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, method=about)
