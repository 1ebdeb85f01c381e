"""What a row of bad input is, and how configurations and files with a mistake are made."""

import json
import re
from typing import NamedTuple

import ase.io
import numpy as np
import yaml
from app.runs import configuration
from ase import Atoms


class Row(NamedTuple):
    """What makes the input in a folder, what is said first, and the command.

    ``HERE`` is the folder, and ``…`` any text within a line. A command that is not understood ends
    with 2, and what it says last counts: the first line is how it is used.
    """

    make: object
    said: str
    words: tuple = ("validate", "HERE/a.yaml")
    code: int = 1

    def command(self, here):
        return [word.replace("HERE", str(here)) for word in self.words]

    def is_said(self, here, error):
        lines = error.splitlines() or [""]
        wanted = ".*".join(re.escape(part) for part in self.said.split("…"))
        wanted = wanted.replace("HERE", re.escape(str(here)))
        if self.code == 2:
            return re.fullmatch(rf"instar[ \w]*: error: {wanted}", lines[-1]) is not None
        first = "\n".join(lines[: self.said.count("\n") + 1])
        return re.fullmatch(f"instar: {wanted}", first) is not None


A = "HERE/a.yaml:…: "
"""The line of a configuration that the mistake is on."""

STRUCTURE = A + "systems[0].structure: "
TOPOLOGY = A + "topology: "
RUN = ("run", "HERE/a.yaml", "--out", "HERE/out")
PLAN = ("plan", "HERE/a.yaml")


def text(content):
    """A configuration with this content."""
    data = content if isinstance(content, bytes) else content.encode()
    return lambda here: (here / "a.yaml").write_bytes(data)


def config(here, content):
    (here / "a.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def usual(place="seed", value=0, kind="langevin", **more):
    """The usual configuration with one entry replaced, such as run.steps; `more` are whole ones."""

    def make(here):
        content = json.loads(json.dumps({**configuration(kind), **more}))
        *above, last = (int(part) if part.isdecimal() else part for part in place.split("."))
        target = content
        for part in above:
            target = target.setdefault(part, {}) if isinstance(target, dict) else target[part]
        target[last] = value
        config(here, content)

    return make


def without(place):
    """The usual configuration with one entry taken out."""

    def make(here):
        content = json.loads(json.dumps(configuration()))
        *above, last = place.split(".")
        target = content
        for part in above:
            target = target[part]
        del target[last]
        config(here, content)

    return make


def gas(place="seed", value=0, kind="langevin"):
    """The usual configuration of two atoms in a box that does not repeat, with one change."""

    def make(here):
        conditions = {"temperature": 60, **({"pressure": 1} if kind == "mtk" else {})}
        usual(place, value, kind, systems=[{"structure": {"file": "x.extxyz"}, **conditions}])(here)
        put(here, "x.extxyz", Atoms("Ar2", [[0, 0, 0], [4, 0, 0]]))

    return make


def structure(**keys):
    return usual("systems.0.structure", keys)


def lattice(**keys):
    return structure(**{"lattice": "fcc", "species": "Ar", "repeat": 1, **keys})


def put(here, name, content):
    if isinstance(content, Atoms):
        ase.io.write(here / name, content)
    else:
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def file_of(name, content, **keys):
    """The usual configuration with a structure from this file."""

    def make(here):
        structure(file=name, **keys)(here)
        put(here, name, content)

    return make


def cell(*vectors):
    """A structure of one atom in such a cell."""
    return file_of("x.extxyz", Atoms("Ar", cell=np.array(vectors, float), pbc=True))


def potential(*entries, **entry):
    """The usual configuration with these potentials."""
    return usual("potential", [*entries, *([entry] if entry else [])])


def method(**entry):
    """The usual configuration with another method."""
    return usual("method", {"type": "md", "time_step": "2 fs", **entry})


def observe(**entry):
    return usual("observe", [entry])


def nothing(here):
    """There is nothing."""


LJ = {
    "type": "lennard_jones",
    "cutoff": 6.0,
    "parameters": {"Ar": {"epsilon": 0.0104, "sigma": 3.4}},
}
SALT = {"type": "coulomb", "charges": {"Ar": 1.0}}
NEUTRAL = {"type": "coulomb", "charges": {"Ar": 0.0}}
