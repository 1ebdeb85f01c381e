"""The schema that editors check with accepts every configuration that `load` accepts."""

import copy
import json
import re

import ase.io
import pytest
import yaml
from app.runs import METHODS, OBSERVE, ROOT, configuration, written
from ase.build import bulk
from json_schema import misfits

from instar.app.config import load
from instar.app.config.published import schema

SCHEMA = schema()
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES.remove(ROOT / "docs" / "handbook" / "packages.md")  # what it shows has to be installed first
FULL = {name: {"type": "md", "time_step": "2 fs", **METHODS[name]} for name in METHODS}


def fits(config):
    return misfits(SCHEMA, json.loads(json.dumps(config))) == []


def without(*keys, **changes):
    found = configuration(**changes)
    return {key: value for key, value in found.items() if key not in keys}


def changed(place, value):
    """The usual configuration with one entry replaced, such as run.steps."""
    config = copy.deepcopy(configuration("mtk"))
    *above, last = (int(part) if part.isdecimal() else part for part in place.split("."))
    target = config
    for part in above:
        target = target[part]
    target[last] = value
    return config


SPELLED = {
    **{name: configuration(name) for name in METHODS},
    "observed": configuration(observe=OBSERVE),
    "a potential alone": configuration(potential=configuration()["potential"][0]),
    "steps in powers of ten": changed("run.steps", "1e3"),
    "steps with a point": changed("run.steps", 1000.0),
    "numbers for quantities": changed("method.time_step", 2),
    "images along each axis": changed("systems.0.structure.repeat", [2, 3, 4]),
    "a file of many frames": changed(
        "systems.0.structure", {"file": "x.extxyz", "frames": "all"}
    ),
    "a sweep": changed("systems.0", {
        "structure": {"lattice": "fcc", "species": "Ar"},
        "sweep": {"density": [1.0, "1.2 g/cm^3"], "repeat": [2, [2, 2, 3]], "pressure": ["1 bar"]},
        "temperature": {"from": 60, "to": "90 K"},
    }),
    "atoms at random": changed("systems.0.structure", {"random": {"Ar": 9}, "density": 0.5}),
    "a clock": changed("output.checkpoint_every", "5 min"),
    "memory": configuration(memory={"budget": "50 %", "neighbors": 40}),
    "nothing": configuration(observe=None, topology=None, units=None),
    "stages": configuration(run=[
        {"steps": 9, "temperature": {"from": 9, "to": 60}, "output": {"trajectory_every": 0}},
        {"name": "npt", "steps": 9, "method": METHODS["mtk"], "pressure": "1 bar"},
    ]),
    "methods of stages": without("method", run=[{"steps": 9, "method": FULL["nve"]}] * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLED)
def test_what_is_valid_fits(name, tmp_path):
    ase.io.write(tmp_path / "x.extxyz", [bulk("Ar", cubic=True)] * 2)
    assert load(written(tmp_path / "a.yaml", SPELLED[name])).structures
    assert fits(SPELLED[name])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_fit(path):
    assert fits(yaml.safe_load(path.read_text()))


BROUGHT = {
    "structures of a run that has ended": without("systems", run={"steps": 9, "start_from": "x"}),
    "conditions of a run that has ended": configuration(
        systems=[{"temperature": 90}], run=[{"steps": 9, "start_from": "x"}, {"steps": 9}]
    ),
    "a topology": without("systems", "potential", topology={"file": "x.data", "units": "real"}),
    "a topology with conditions": without(
        "potential", systems=[{"temperature": 300, "copies": 4}], topology={"file": "x.data"}
    ),
}


@pytest.mark.parametrize("name", BROUGHT)
def test_what_something_else_brings_may_be_left_out(name):
    assert fits(BROUGHT[name])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_on_pages_fit_where_they_leave_out_no_more_than_a_part(page):
    for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        assert fits(configuration() | yaml.safe_load(block))


LACKING = {
    "a method": without("method"),
    "a method of one stage": without(
        "method", run=[{"steps": 9, "method": FULL["nve"]}, {"steps": 9}]
    ),
    "systems": without("systems"),
    "systems of the second stage": without(
        "systems", run=[{"steps": 9}, {"steps": 9, "start_from": "x"}]
    ),
    "a potential": without("potential"),
    "a run": without("run"),
    "steps": changed("run", {"equilibration": 5}),
    "a known key": changed("run.stpes", 5),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_is_missing_is_missed(name):
    assert not fits(LACKING[name])
