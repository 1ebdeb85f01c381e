"""Structures from patterns, frames, databases, objects and topologies; names; very many systems."""

import inspect
import math
from types import SimpleNamespace
from typing import Any

import ase.db
import ase.io
import numpy as np
import pytest
import yaml
from app.runs import StopAfter, configuration, resume, run, written
from ase import Atoms
from ase.build import bulk
from ase.constraints import FixAtoms

import instar
from instar.app.api.run import StoppedError
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.config.names import file_name, unique_names
from instar.app.run import planning
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.app.topology import TopologyError
from instar.dynamics.containment import Explosion
from instar.memory.budget import FIXED

ARGON = bulk("Ar", "fcc", 5.3, cubic=True)
LATTICE = {"lattice": "fcc", "species": "Ar", "a": 5.3}


def of(structure, **more):
    """A configuration with one entry of systems."""
    return configuration(systems=[{"structure": structure, "temperature": 60, **more}])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with 1, 2 and 10 structures of different sizes, and a database with three."""
    path = tmp_path_factory.mktemp("inputs")
    for count in (1, 2, 10):
        frames = [ARGON.repeat((1, 1, n + 1)) for n in range(count)]
        ase.io.write(path / f"a{count}.extxyz", frames)
    database: Any = ase.db.connect(path / "rows.db")
    with database:
        for n in (1, 2, 3):
            database.write(ARGON.repeat((1, 1, n)))
    (path / "bad.db").write_text("this is no database")
    return path


ENTRIES = {
    "a pattern, in the order of its numbers": (
        {"file": "a*.extxyz"},
        {},
        {"a1": 4, "a2": 8, "a10": 40},
    ),
    "a pattern under a name": (
        {"file": "a?.extxyz", "frames": 0},
        {"name": "gas"},
        {"gas-a1": 4, "gas-a2": 4},
    ),
    "one file as it was": ({"file": "a10.extxyz"}, {}, {"a10": 40}),
    "one frame": ({"file": "a10.extxyz", "frames": 2}, {}, {"a10": 12}),
    "one frame from the end": ({"file": "a10.extxyz", "frames": -2}, {}, {"a10": 36}),
    "all frames": ({"file": "a2.extxyz", "frames": "all"}, {}, {"a2-0": 4, "a2-1": 8}),
    "a slice": (
        {"file": "a10.extxyz", "frames": "1:9:4"},
        {"name": "x"},
        {"x-a10-1": 8, "x-a10-5": 24},
    ),
    "a slice from the end": (
        {"file": "a10.extxyz", "frames": "-2:"},
        {},
        {"a10-8": 36, "a10-9": 40},
    ),
    "the last row of a database": ({"file": "rows.db"}, {}, {"rows": 12}),
    "rows of a database": ({"file": "rows.db", "frames": ":2"}, {}, {"rows-0": 4, "rows-1": 8}),
    "copies of a frame": (
        {"file": "a1.extxyz"},
        {"copies": 3},
        {"a1-0": 4, "a1-1": 4, "a1-2": 4},
    ),
    "a lattice": (LATTICE, {"copies": 2}, {"system-0": 4, "system-1": 4}),
    "a lattice with a name": (LATTICE, {"name": "liquid"}, {"liquid": 4}),
    "an object": (ARGON, {}, {"system-0": 4}),
    "objects": ([ARGON, ARGON * 2], {"name": "ar"}, {"ar-0": 4, "ar-1": 32}),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_as_many_systems_as_it_has_structures(folder, monkeypatch, name):
    structure, more, systems = ENTRIES[name]
    monkeypatch.chdir(folder)
    found = load(of(structure, **more))
    sizes = dict(zip(found.names, map(len, found.structures), strict=True))
    assert sizes == systems
    assert list(sizes) == list(systems)


MISTAKES = {
    "a pattern without a match": (
        {"file": "no/*.cif"},
        {},
        "systems[0].structure: no file matches no/*.cif, looked for in {folder}",
    ),
    "a frame that there is not": (
        {"file": "a2.extxyz", "frames": 2},
        {},
        "systems[0].structure: a2.extxyz has 2 frames; there is no frame 2",
    ),
    "a slice with nothing in it": (
        {"file": "a2.extxyz", "frames": "5:9"},
        {},
        "systems[0].structure: a2.extxyz has no frames 5:9",
    ),
    "frames that are none": (
        {"file": "a2.extxyz", "frames": "some"},
        {},
        "systems[0].structure.frames: 'some' names no frames; write a number (-1 is the last), "
        "all, or a slice: '0:100:10'",
    ),
    "a slice that stands still": (
        {"file": "a2.extxyz", "frames": "::0"},
        {},
        "systems[0].structure.frames: '::0' names no frames; write a number (-1 is the last), "
        "all, or a slice: '0:100:10'",
    ),
    "a database that is none": (
        {"file": "bad.db"},
        {},
        "systems[0].structure: bad.db can't be read: file is not a database",
    ),
    "a name that is a number": (
        LATTICE,
        {"name": 3},
        "systems[0].name: 3 is of the wrong kind: text is needed",
    ),
    "more copies than can be": (
        LATTICE,
        {"copies": 4_000_000_000},
        "systems[0]: there would be 4000000000 systems, and a run has at most 10000000; ask for "
        "fewer copies, values of a sweep or frames",
    ),
    "a sweep of a milliard": (
        {"lattice": "fcc", "species": "Ar"},
        {"sweep": {"density": [1.0] * 1000, "repeat": [2] * 1000}, "copies": 1000},
        "systems[0]: there would be 1000000000 systems, and a run has at most 10000000; ask for "
        "fewer copies, values of a sweep or frames",
    ),
    "a structure of a pattern that lacks something": (
        [ARGON, bulk("Ne", "fcc", 5.3, cubic=True)],
        {},
        "systems[0].structure: LennardJones has no parameters for Ne. ",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_inputs_that_can_not_be_are_told(folder, monkeypatch, name):
    structure, more, said = MISTAKES[name]
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigurationError) as caught:
        load(of(structure, **more))
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"configuration: {said.format(folder=folder)}")


@pytest.mark.parametrize("config", [None, 3, ["seed"]])
def test_what_is_no_configuration_is_refused_in_one_sentence(tmp_path, config):
    with pytest.raises(ConfigurationError) as caught:
        inspect.unwrap(instar.run)(config, tmp_path / "run")
    assert str(caught.value) == (
        f"A configuration is a mapping, or the path of a YAML file; not {config!r}."
    )


def test_a_slice_without_quotes_is_no_number_to_the_base_of_sixty(folder):
    text = yaml.safe_dump(of({"file": "a10.extxyz", "frames": "HERE"})).replace("HERE", "1:50:4")
    path = folder / "slice.yaml"
    path.write_text(text)
    assert load(path).names == ["a10-1", "a10-5", "a10-9"]


def test_names_are_unique_as_files_and_numbered_where_they_were_not():
    given = ["a", "A", "", "b/c", "b c", "a-0", "x" * 200, "x" * 200, ""]
    names = unique_names(given)
    files = [file_name(name).casefold() for name in names]
    assert len(set(files)) == len(given)
    assert names[2] == "system-2"
    assert names[5] == "a-0"
    assert names[8] == "system-8"
    assert not any("/" in name for name in files)


@pytest.mark.parametrize(
    ("name", "file"),
    [("../../etc", "etc"), ("", "system"), (".", "system"), ("MIL-53 (Al)", "MIL-53-Al")],
)
def test_a_name_is_never_a_path(name, file):
    assert file_name(name) == file


def test_copies_share_a_structure_and_are_as_many_as_were_asked_for():
    found = load(of(LATTICE, copies=200_000))
    assert len(found.structures) == 200_000
    assert found.counts.sum() == 800_000
    assert len({id(one) for one in found.structures}) == 1
    assert found.different(range(100, 5000)) == [100]


def test_very_many_systems_are_planned_from_what_few_of_them_need(monkeypatch):
    made = []

    def built(loaded, systems, limit):
        made.append(systems)
        return SimpleNamespace(need=FIXED + 10_000 * loaded.atoms_in(systems))

    monkeypatch.setattr(planning, "built", built)
    loaded = load(of(LATTICE, copies=300_001) | {"memory": {"budget": "1 GiB"}})
    plan = planning.sketched(loaded)
    assert [loaded.atoms_in(systems) < 60_000 for systems in made] == [True]
    assert plan.predicted_peak <= plan.limit
    fewest = math.ceil(10_000 * 1_200_004 / (plan.limit - FIXED))
    assert fewest <= len(plan.batches) <= fewest + 1
    ranges = [planning.systems_of(plan, number) for number in range(len(plan.batches))]
    assert [n for systems in ranges for n in systems] == list(range(300_001))


def test_terms_of_one_copy_alone_are_checked_with_it():
    config = of(LATTICE, copies=3)
    bond = {"atoms": [0, 9], "k": 1.0, "r0": 3.7}
    config["potential"].append({"type": "harmonic_bond", "structures": [2], "terms": [bond]})
    with pytest.raises(ConfigurationError, match="harmonic_bond: term 0 is between the atoms"):
        load(config)


def stored(tmp_path, config):
    """The folder that a run of this configuration would have."""
    return RunDirectory.create(tmp_path / "run", load(config), {})


def test_what_a_run_began_with_is_in_its_folder_to_the_bit(tmp_path):
    first = ARGON.copy()
    first.rattle(0.01)
    first.info["name"] = "shaken"
    first.set_constraint(FixAtoms([1]))
    config = of([first, ARGON], sweep={"temperature": [50, 60]}, copies=2)
    del config["systems"][0]["temperature"]
    directory = stored(tmp_path, config)
    before, after = load(config), load(directory.config, start=directory.start())
    assert after.names == before.names == [
        *(f"shaken-{n}" for n in range(4)),
        *(f"system-{n}" for n in range(4, 8)),
    ]  # fmt: skip
    assert after.systems == before.systems
    assert len({id(one) for one in after.structures}) == 2
    for one, other in zip(before.structures, after.structures, strict=True):
        np.testing.assert_array_equal(one.positions, other.positions)
        assert len(one.constraints) == len(other.constraints)


def test_the_configuration_in_the_folder_can_be_run_again(tmp_path, monkeypatch):
    first = ARGON.copy()
    first.info.update(name="shaken", other={"a": object()})
    first.set_constraint(FixAtoms([1]))
    directory = stored(tmp_path, of([first, ARGON]))
    monkeypatch.chdir(tmp_path)
    again = load(directory.config)
    assert again.names == ["shaken", "structures-0-1"]
    assert again.structures[0].constraints[0].index.tolist() == [1]
    np.testing.assert_allclose(again.structures[0].positions, first.positions, atol=1e-7)


def test_a_folder_of_another_version_is_refused_by_name(tmp_path):
    directory = stored(tmp_path, of(LATTICE))
    np.savez(directory.path / "structures.npz", counts=np.array([1]))
    with pytest.raises(RunDirectoryError, match="cell is missing, or does not fit 1 structures"):
        directory.start()


DATA = """Two molecules

4 atoms
2 bonds
1 atom types
1 bond types
0 20 xlo xhi
0 20 ylo yhi
0 20 zlo zhi

Masses

1 39.948

Pair Coeffs # lj/cut

1 0.0104 3.4

Bond Coeffs # harmonic

1 1.0 3.8

Atoms # molecular

1 1 1 1.0 1.0 1.0
2 1 1 4.8 1.0 1.0
3 2 1 1.0 9.0 1.0
4 2 1 4.8 9.0 1.0

Bonds

1 1 1 2
2 1 3 4
"""
TOPOLOGY = {"file": "dimers.data", "units": "metal", "cutoff": "8 angstrom"}


@pytest.fixture
def dimers(tmp_path):
    """A configuration with a topology in place of structures and a potential."""
    (tmp_path / "dimers.data").write_text(DATA)
    config = configuration(topology=TOPOLOGY, systems=[{"temperature": 60, "copies": 2}])
    del config["potential"]
    return config


def test_a_topology_is_the_structure_and_the_potential(tmp_path, dimers):
    found = load(written(tmp_path / "run.yaml", dimers))
    assert found.names == ["dimers-0", "dimers-1"]
    assert [len(atoms) for atoms in found.structures] == [4, 4]
    known = instar.read_topology(tmp_path / "dimers.data", units="metal", cutoff="8 angstrom")
    assert [entry.NAME for entry in found.recipe.entries] == [e["type"] for e in known.potential]


def test_a_topology_is_in_the_folder_of_a_run_as_a_whole(tmp_path, dimers):
    before = load(written(tmp_path / "run.yaml", dimers))
    directory = RunDirectory.create(tmp_path / "run", before, {})
    (tmp_path / "dimers.data").unlink()
    after = load(directory.config, start=directory.start())
    assert after.data == before.data
    assert after.recipe == before.recipe
    again = load(directory.config)
    np.testing.assert_array_equal(again.structures[0].positions, before.structures[0].positions)


def test_a_topology_may_be_an_object(tmp_path, dimers):
    options = {key: value for key, value in TOPOLOGY.items() if key != "file"}
    topology = instar.read_topology(tmp_path / "dimers.data", **options)
    found = load({**dimers, "topology": topology, "systems": [{"temperature": 60}]})
    assert found.names == ["topology"]
    assert found.recipe == load(written(tmp_path / "run.yaml", dimers)).recipe


@pytest.mark.long
@pytest.mark.usefixtures("quickly_compiled")
def test_a_run_of_a_topology_goes_on_from_its_folder_alone(tmp_path, dimers):
    path = written(tmp_path / "run.yaml", dimers | {"run": {"steps": 40}})
    with pytest.raises(StoppedError):
        run(path, tmp_path / "run", progress=StopAfter(10))
    path.unlink()
    (tmp_path / "dimers.data").unlink()
    done = resume(tmp_path / "run")
    assert done.trajectory.names == ["dimers-0", "dimers-1"]
    assert [system["name"] for system in done.summary["systems"]] == ["dimers-0", "dimers-1"]
    assert [one.name for one in done.export("extxyz")] == ["dimers-0.extxyz", "dimers-1.extxyz"]


CONFLICTS = {
    "a potential beside it": (
        {"potential": configuration()["potential"]},
        "potential: the topology has the potential already; take one of the two out",
    ),
    "a structure beside it": (
        {"systems": [{"structure": LATTICE, "temperature": 60}]},
        "systems[0].structure: the topology has the structure already; take one of the two out",
    ),
    "no file": (
        {"topology": {"file": "no.data"}},
        "topology: There is no file {folder}/no.data.",
    ),
    "an unknown option": (
        {"topology": {**TOPOLOGY, "cutof": 3}},
        "topology: There is no option 'cutof' for this file; did you mean 'cutoff'?",
    ),
    "no mapping": (
        {"topology": "dimers.data"},
        "topology: write the file and what it leaves open: {{file: water.data, …}}",
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_does_not_go_with_a_topology_is_told(tmp_path, dimers, name):
    more, said = CONFLICTS[name]
    path = written(tmp_path / "run.yaml", {**dimers, **more})
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    lines = [line.split(": ", 1)[1] for line in str(caught.value).splitlines()]
    assert lines == [said.format(folder=tmp_path)]


def test_a_stored_topology_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(TopologyError, match=r"^x.json is not a topology that a run has stored.$"):
        instar.read_topology(tmp_path / "x.json")


def test_an_explosion_is_told_with_the_name_of_its_system():
    told = str(Explosion(3, 5, (1,), "Make steps shorter.", "argon-3"))
    assert told.startswith("System 3 (argon-3) exploded at step 5 and is frozen as it was before:")


def test_objects_are_copied():
    atoms = Atoms("Ar2", [[0, 0, 0], [4, 0, 0]], cell=[20] * 3, pbc=True)
    found = load(of(atoms))
    atoms.positions += 1
    assert found.structures[0].positions[0].tolist() == [0, 0, 0]
