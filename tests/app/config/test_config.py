"""Configurations: what they mean, and what each mistake is told."""

import json

import ase.io
import numpy as np
import pytest
import yaml
from app.runs import METHODS, configuration, written
from ase import Atoms
from ase.build import bulk
from support import raises

from instar.app.cli.main import main
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.config.published import schema
from instar.app.config.registry import found
from instar.app.config.template import template
from instar.app.config.units import parse_unit
from instar.potentials.entry import POTENTIALS


def changed(place, value):
    """The usual configuration with one entry replaced; None takes it out."""
    config = json.loads(json.dumps(configuration()))
    target = config
    *above, last = place
    for part in above:
        target = target[part]
    if value is None:
        del target[last]
    else:
        target[last] = value
    return config


FIRST = ("systems", 0)
STRUCTURE = (*FIRST, "structure")
MISTAKES = {
    "a misspelled key": (("sed",), 1, "sed: unknown key; did you mean 'seed'?"),
    "a misspelled key deep inside": (
        (*STRUCTURE, "densty"),
        1,
        "systems[0].structure.densty: unknown key; did you mean 'density'?",
    ),
    "a misspelled key of a potential": (
        ("potential", 0, "cutof"),
        "6 angstrom",
        "potential[0].cutof: unknown key; did you mean 'cutoff'?",
    ),
    "a missing key": (("run", "steps"), None, "run.steps: is missing"),
    "a missing cutoff": (("potential", 0, "cutoff"), None, "potential[0].cutoff: is missing"),
    "no systems": (("systems",), [], "systems: "),
    "no potential": (("potential",), None, "potential: is missing"),
    "an empty potential": (("potential",), [], "potential: A potential is"),
    "steps below zero": (("run", "steps"), -1, "run.steps: -1 is out of range"),
    "steps that are no number": (
        ("run", "steps"),
        "many",
        "run.steps: 'many' is of the wrong kind",
    ),
    "half a step": (("run", "steps"), 1.5, "run.steps: 1.5 is of the wrong kind"),
    "a time step of zero": (
        ("method", "time_step"),
        "0 fs",
        "method.time_step: '0 fs' is out of range: must be above 0",
    ),
    "a time step in kelvin": (
        ("method", "time_step"),
        "2 K",
        "method.time_step: '2 K' has the wrong unit: a time, such as fs is needed.",
    ),
    "a negative temperature": (
        (*FIRST, "temperature"),
        "-3 K",
        "systems[0].temperature: '-3 K' is out of range",
    ),
    "a temperature that is not finite": (
        (*FIRST, "temperature"),
        float("nan"),
        "systems[0].temperature: nan is not a finite number.",
    ),
    "no temperature for a thermostat": (
        (*FIRST, "temperature"),
        None,
        "systems[0]: nvt needs a temperature above zero",
    ),
    "a pressure without a barostat": (
        (*FIRST, "pressure"),
        "1 bar",
        "systems[0]: a pressure has no meaning for nvt",
    ),
    "an unknown element": (
        (*STRUCTURE, "species"),
        "Arr",
        "systems[0].structure: there is no element 'Arr'; did you mean 'Ar'?",
    ),
    "an element without parameters": (
        (*STRUCTURE, "species"),
        "Ne",
        "systems[0].structure: LennardJones has no parameters for Ne. ",
    ),
    "a density of zero": ((*STRUCTURE, "density"), 0, "systems[0].structure.density: 0 is out of"),
    "neither density nor constant": (
        (*STRUCTURE, "density"),
        None,
        "systems[0]: the structure needs a density (or a lattice its constant a)",
    ),
    "density and constant": (
        (*STRUCTURE, "a"),
        5.0,
        "systems[0]: a lattice has a density or a lattice constant a, not both",
    ),
    "no structure": (STRUCTURE, {}, "systems[0].structure: a structure has one of the keys"),
    "a file that is not there": (
        STRUCTURE,
        {"file": "no such.cif"},
        "systems[0].structure: there is no file",
    ),
    "atoms that do not fit": (
        STRUCTURE,
        {"random": {"Ar": 50}, "density": "1.4 g/cm^3", "distance": 6},
        "systems[0].structure: only ",
    ),
    "an empty sweep": ((*FIRST, "sweep"), {}, "systems[0].sweep: a sweep goes through values"),
    "what is given and swept": (
        (*FIRST, "sweep"),
        {"temperature": [1, 2]},
        "systems[0]: temperature is given, and swept as well; one of the two is enough",
    ),
    "a cutoff of zero": (("potential", 0, "cutoff"), 0, "potential[0].cutoff: "),
    "a potential of no kind": (
        ("potential", 0, "type"),
        "lenard_jones",
        "potential[0]: there is no type 'lenard_jones'; did you mean 'lennard_jones'?",
    ),
    "no thermostat": (("method", "thermostat"), None, "method: "),
    "a knob without a meaning": (
        ("method", "time_constant"),
        "1 ps",
        "method: time_constant has no meaning for nvt with langevin",
    ),
    "a barostat where the volume is constant": (
        ("method", "barostat"),
        "mtk",
        "method: barostat has no meaning for nvt with langevin",
    ),
    "another ensemble": (("method", "ensemble"), "nph", "method.ensemble: 'nph' is unknown"),
    "a precision that is none": (("precision",), "half", "precision: 'half' is unknown"),
    "a negative seed": (("seed",), -1, "seed: -1 is out of range"),
    "never any thermo": (("output", "thermo_every"), 0, "output.thermo_every: 0 is out of range"),
    "a strange clock": (
        ("output", "checkpoint_every"),
        "5 fortnights",
        "output.checkpoint_every: '5 fortnights' is not a time on the clock",
    ),
    "more memory than there is": (("memory",), {"budget": "600 %"}, "memory.budget: A share"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_place(name):
    place, value, said = MISTAKES[name]
    with pytest.raises(ConfigurationError) as caught:
        load(changed(place, value))
    lines = str(caught.value).splitlines()
    assert any(line.startswith(f"configuration: {said}") for line in lines), str(caught.value)


def test_a_potential_that_is_null_is_missing():
    with raises(ConfigurationError, "configuration: potential: is missing"):
        load({**changed(("seed",), 0), "potential": None})


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(tmp_path, capsys):
    config = configuration(seed=-1, precision="half", run={"steps": -1})
    config["systems"][1] = {"structure": {"file": "nowhere.cif"}, "temperature": 10}
    path = written(tmp_path / "bad.yaml", config)
    assert main(["validate", str(path)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"instar: {path}:")
    text = path.read_text().splitlines()
    places = ["systems[1].structure", "run.steps", "seed", "precision"]
    lines = told.removeprefix("instar: ").splitlines()
    assert [line.split(": ")[1] for line in lines] == places
    for line, word in zip(lines, ("structure", "steps", "seed", "precision"), strict=True):
        number = int(line.removeprefix(f"{path}:").split(":")[0])
        assert word in text[number - 1]
    assert "Traceback" not in told


TEXTS = {
    "a key twice": ("seed: 1\nseed: 2\n", ":2: the key 'seed' comes twice; the first one is in"),
    "a tag": ("seed: !!python/object/apply:os.system [ls]\n", ":1: the tag "),
    "another tag": ("seed: !mine 1\n", ":1: the tag !mine is not allowed."),
    "binary": ("seed: !!binary aGVsbG8=\n", ":1: the tag "),
    "an alias bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdef", "bcdefg")),  # noqa: B905
        ": more than 100000 entries, aliases written out; this is refused.",
    ),
    "an alias of itself": ("a: &a [*a]\n", ":1: an alias that contains itself."),
    "no YAML": ("systems: [\n", ":2: this is not YAML: "),
    "a list": ("- 1\n", ": a configuration is a mapping; start from: instar new NAME"),
    "nothing": ("", " is empty."),
    "a key that is a list": ("[1, 2]: 3\n", ":1: a key must be a word."),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_configuration_is_refused(tmp_path, name):
    text, said = TEXTS[name]
    path = tmp_path / "bad é.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{said}"), str(caught.value)


def test_files_that_can_not_be_read_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="can't be read: No such file"):
        load(tmp_path / "nothing.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00seed")
    with pytest.raises(ConfigurationError, match="not text in UTF-8"):
        load(tmp_path / "bytes.yaml")


STRUCTURES = {
    "coordinates that are not finite": (
        Atoms("Ar2", [[0, 0, 0], [np.nan, 0, 0]], cell=[9] * 3, pbc=True),
        "the position of atom 1 is not finite",
    ),
    "atoms at one place": (
        Atoms("Ar3", [[0, 0, 0], [4, 0, 0], [9, 0, 0]], cell=[9] * 3, pbc=True),
        "atoms 0 and 2 are at the same place",
    ),
    "a cell without a volume": (
        Atoms("Ar", [[0, 0, 0]], cell=[[9, 0, 0], [0, 9, 0], [9, 9, 0]], pbc=True),
        "has no volume",
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_that_can_not_be_computed_with_are_refused(tmp_path, name):
    atoms, said = STRUCTURES[name]
    ase.io.write(tmp_path / "x.traj", atoms)
    config = changed(STRUCTURE, {"file": "x.traj"})
    with pytest.raises(ConfigurationError, match=r"systems\[0\].structure") as caught:
        load(written(tmp_path / "run.yaml", config))
    assert said in str(caught.value)


def test_a_file_that_ase_can_not_read_is_refused(tmp_path):
    (tmp_path / "x.cif").write_text("this is no CIF")
    config = changed(STRUCTURE, {"file": "x.cif"})
    with pytest.raises(ConfigurationError, match=r"x\.cif can't be read"):
        load(written(tmp_path / "run.yaml", config))


def test_changes_from_the_command_line(tmp_path):
    path = written(tmp_path / "run.yaml", configuration())
    found = load(path, ["run.steps=1e3", "systems.0.temperature=10 K", "output.velocities=true"])
    assert found.config.run.steps == 1000
    assert found.systems[0].temperature == 10
    assert found.config.output.velocities
    for change, said in {
        "run.steps": "write key=value",
        "systems.7.temperature=1": "no entry '7' in a list of 2",
        "method.type.x=1": "there is nothing below",
        "seed=[": "the value is not YAML",
    }.items():
        with pytest.raises(ConfigurationError, match=said):
            load(path, [change])


def test_quantities_have_units_or_the_documented_ones():
    config = configuration("cell_rescaling")
    config["systems"][0]["pressure"], config["systems"][1]["pressure"] = 100, "10 MPa"
    config["method"]["time_step"] = 2
    found = load(config)
    assert found.systems[0].pressure == pytest.approx(found.systems[1].pressure)
    assert found.config.method.time_step == pytest.approx(2 * parse_unit("fs")[0])


def test_numbers_of_numpy_are_numbers(tmp_path):
    config = configuration()
    config["seed"] = np.int64(3)
    config["systems"][1]["structure"]["a"] = np.float64(4)
    config["systems"][0]["sweep"] = {"temperature": tuple(np.array([60.0, 70.0]))}
    del config["systems"][0]["temperature"]
    found = load(config)
    assert len(found.structures) == 3
    assert yaml.safe_load(yaml.safe_dump(found.data)) == found.data


def test_a_sweep_is_every_combination():
    config = configuration()
    config["systems"] = [
        {
            "structure": {"lattice": "fcc", "species": "Ar"},
            "sweep": {
                "density": [1.0, 1.2],
                "temperature": ["50 K", "60 K"],
                "repeat": [2, [2, 2, 3]],
            },
        }
    ]
    found = load(config)
    assert len(found.structures) == 8
    assert sorted({len(atoms) for atoms in found.structures}) == [32, 48]
    assert sorted({wanted.temperature for wanted in found.systems}) == [50, 60]
    config["systems"][0]["copies"] = 3
    thrice = load(config).systems
    assert len(thrice) == 24
    assert thrice[::3] == thrice[1::3] == thrice[2::3] == found.systems


def test_lattices_files_and_packings_become_structures(tmp_path):
    ase.io.write(tmp_path / "x y é.extxyz", bulk("Ar", "fcc", 5.3, cubic=True))
    config = changed(STRUCTURE, {"file": "x y é.extxyz", "repeat": [1, 2, 1]})
    config["systems"][1]["structure"] = {"random": {"Ar": 20}, "density": "0.8 g/cm^3"}
    found = load(written(tmp_path / "run.yaml", config))
    assert len(found.structures[0]) == 8
    packed = found.structures[1]
    apart = packed.get_all_distances(mic=True) + 99 * np.eye(20)
    assert apart.min() >= 2.5
    again = load(written(tmp_path / "run.yaml", config)).structures[1]
    np.testing.assert_array_equal(packed.positions, again.positions)


def test_the_configuration_to_start_from_is_right(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "argon"]) == 0
    assert main(["validate", "argon.yaml"]) == 0
    assert "argon.yaml is valid: 5 systems, 1280 atoms." in capsys.readouterr().out
    assert main(["new", "argon"]) == 1
    assert "NAME" not in (tmp_path / "argon.yaml").read_text()
    assert max(map(len, template("x").splitlines())) <= 110
    assert all(name in template("x") for name in found(POTENTIALS))


def test_the_schema_knows_every_key_and_type(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    text = json.dumps(schema())
    for word in (*configuration(), "lennard_jones", "rigid_water", "lattice", "checkpoint_every"):
        assert f'"{word}"' in text
    for method in METHODS.values():
        for key in method:
            assert f'"{key}"' in text
