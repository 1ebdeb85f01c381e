"""Configurations that are no YAML, or have keys and entries that there are not."""
# ruff: noqa: E501 (a row is a line where it can be)

import os

from app.bad_input.table import (
    PLAN,
    RUN,
    STRUCTURE,
    A,
    Row,
    nothing,
    potential,
    structure,
    text,
    usual,
    without,
)


def pipe(here):
    os.mkfifo(here / "a.yaml")


def loop(here):
    (here / "a.yaml").symlink_to(here / "a.yaml")


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)
)
FOREIGN = potential(type="ase", calculator="cp2k", arguments={"command": "touch x"})
AT = "HERE/a.yaml"

ROWS = {
    # Files
    "no file": Row(nothing, AT + " can't be read: No such file or directory."),
    "a folder": Row(lambda here: (here / "a.yaml").mkdir(), AT + " can't be read: Is a directory."),
    "a file in the place of a folder": Row(text(""), "HERE/a.yaml/b.yaml can't be read: Not a directory.", ("validate", "HERE/a.yaml/b.yaml")),
    "a link to itself": Row(loop, "HERE/a.yaml can't be read: Too many levels of symbolic links."),
    "a pipe that nobody writes to": Row(pipe, "HERE/a.yaml can't be read: it is a pipe, not a file."),
    "a device without an end": Row(nothing, "/dev/zero has more than 8 MiB; this is not a configuration.", ("validate", "/dev/zero")),
    "a name that is too long": Row(nothing, "HERE/xxxxxxxxxxxxxxxxxxxx… can't be read: File name too long.", ("validate", "HERE/" + "x" * 300)),
    "nothing in it": Row(text(""), AT + " is empty."),
    "only a comment": Row(text("# later\n"), "HERE/a.yaml is empty."),
    "bytes": Row(text(b"\xff\xfe\x00"), AT + " is not text in UTF-8."),
    "another encoding": Row(text("title: Mühle\n".encode("latin-1")), "HERE/a.yaml is not text in UTF-8."),
    "UTF-16": Row(text("seed: 1\n".encode("utf-16")), "HERE/a.yaml is not text in UTF-8."),
    "too many bytes": Row(text(b"#" * (8 * 2**20 + 1)), AT + " has more than 8 MiB; this is not a configuration."),
    # YAML
    "a NUL byte": Row(text("seed: 1\ntitle: a\0b\n"), AT + ":2: the character '\\x00' is not allowed in YAML."),
    "a NUL that is written out": Row(usual("title", "a\0b"), A + "title: 'a\\x00b' is not valid text: it holds the character NUL, …"),
    "half a character": Row(text('title: "\\ud800"\n'), AT + ":1: title: '\\ud800' is not valid text: …surrogate…"),
    "a path with NUL": Row(structure(file="a\0.cif"), A + "systems[0].structure.file: 'a\\x00.cif' is not valid text: …"),
    "no int": Row(text("seed: !!int abc\n"), AT + ":1: 'abc' is not a valid int."),
    "no float": Row(text("seed: !!float abc\n"), AT + ":1: 'abc' is not a valid float."),
    "no bool": Row(text("seed: !!bool abc\n"), AT + ":1: 'abc' is not a valid bool."),
    "a number of 5000 digits": Row(text(f"seed: {'7' * 5000}\n"), AT + ":1: a number of 5000 digits."),
    "a binary number without end": Row(text(f"seed: 0b{'1' * 20_000}\n"), AT + ":1: a number of 20002 digits."),
    "nesting of thousands": Row(text("a: " + "[" * 5000), AT + ":1: this is not YAML: deeper than 60 levels."),
    "nesting of thousands by aliases": Row(
        text("a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))),
        AT + ":…: deeper than 60 levels.",
    ),
    "an alias of itself": Row(text("a: &a [*a]\n"), AT + ":1: an alias that contains itself."),
    "a bomb of aliases": Row(text(BOMB), "HERE/a.yaml: more than 100000 entries, aliases written out; this is refused."),
    "an alias of nothing": Row(text("seed: *x\n"), A + "this is not YAML: found undefined alias 'x'."),
    "keys that are merged": Row(text("a: &a {seed: 1}\nrun:\n  <<: *a\n"), A + "keys are not merged by '<<'; write them out."),
    "more entries than anybody writes": Row(text("a: [" + "1," * 100_001 + "]"), A + "this is not YAML: more than 100000 entries."),
    "a tag of Python": Row(
        text("seed: !!python/object/apply:os.system [ls]\n"),
        AT + ":1: the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed.",
    ),
    "bytes as a tag": Row(text("seed: !!binary aGVsbG8=\n"), A + "the tag tag:yaml.org,2002:binary is not allowed."),
    "a tab": Row(text("run:\n\tsteps: 1\n"), A + "this is not YAML: found character '\\t' that cannot start any token."),
    "a key twice": Row(text("seed: 1\nseed: 2\n"), A + "the key 'seed' comes twice; the first one is in line 1."),
    "a key twice inside": Row(text("seed: 1\nrun:\n  steps: 1\n  steps: 2\n"), A + "the key 'steps' comes twice; the first one is in line 3."),
    "a quote without an end": Row(text("title: 'a\nseed: 1\n"), A + "this is not YAML: found unexpected end of stream, while scanning a quoted scalar that begins in line 1."),
    "a bracket without an end": Row(text("systems: [\n"), A + "this is not YAML: expected the node content, but found '<stream end>'."),
    "a colon without a space": Row(text("seed:1\nrun:2\n"), "HERE/a.yaml: a configuration is a mapping; start from: instar new NAME"),
    "an indent that is wrong": Row(text("run:\n  steps: 1\n equilibration: 2\n"), A + "this is not YAML: expected <block end>, but found '<block mapping start>', while parsing a block mapping that begins in line 1."),
    "two documents": Row(text("seed: 1\n---\nseed: 2\n"), A + "this is not YAML: expected a single document in the stream, but found another document."),
    "another version of YAML": Row(text("%YAML 9.0\n---\nseed: 1\n"), A + "this is not YAML: found incompatible YAML document (version 1.* is required)."),
    "a key that is a list": Row(text("[1, 2]: 3\n"), A + "a key must be a word."),
    "a list of everything": Row(text("- seed: 1\n"), "HERE/a.yaml: a configuration is a mapping; start from: instar new NAME"),
    "one word": Row(text("simulate\n"), "HERE/a.yaml: a configuration is a mapping; start from: instar new NAME"),
    "a page of HTML": Row(text("<!DOCTYPE html>\n<html><body>404: Not Found</body></html>\n"), A + "this is not YAML: mapping values are not allowed here."),
    # Keys and entries
    "a key that there is not": Row(usual("system", []), A + "system: unknown key; did you mean 'systems'?"),
    "a key that there is not in a system": Row(usual("systems.0.temp", 3), A + "systems[0].temp: unknown key; did you mean 'temperature'?"),
    "a key that there is not in a structure": Row(usual("systems.0.structure.densty", 3), A + "systems[0].structure.densty: unknown key; did you mean 'density'?"),
    "a key that there is not in a sweep": Row(usual("systems.1.sweep", {"volume": [1, 2]}), A + "systems[1].sweep.volume: unknown key; known are …"),
    "a key that there is not in a ramp": Row(usual("systems.0.temperature", {"from": 1, "to": 3, "too": 2}), A + "systems[0].temperature.too: unknown key; did you mean 'to'?"),
    "a key that there is not in the run": Row(usual("run.step", 3), A + "run.step: unknown key; did you mean 'steps'?"),
    "a key that there is not in the output": Row(usual("output.dir", "x"), A + "output.dir: unknown key; did you mean 'directory'?"),
    "a key that there is not in memory": Row(usual("memory", {"limit": "1 GB"}), A + "memory.limit: unknown key; known are …"),
    "a key that is a number": Row(usual("7", 1), A + "7: unknown key; known are …"),
    "a section that is empty": Row(usual("run", None), A + "run: is empty: a mapping is needed"),
    "a section that is a list": Row(usual("output", [1]), A + "output: [1] is of the wrong kind: a mapping is needed"),
    "a section that is a word": Row(usual("run", "fast"), A + "run: 'fast' is of the wrong kind: a mapping is needed"),
    "no steps": Row(without("run.steps"), A + "run.steps: is missing"),
    "no systems": Row(without("systems"), A + "systems: is missing"),
    "systems that are none": Row(usual("systems", []), A + "systems: has 0 entries; at least 1 are needed"),
    "systems without a list": Row(usual("systems", {"structure": {"lattice": "fcc"}}), A + "systems: {'structure': {'lattice': 'fcc'}} is of the wrong kind: a list is needed"),
    "a system that is null": Row(usual("systems", [None]), A + "systems[0]: is empty: a mapping is needed"),
    "a structure that is a word": Row(usual("systems.0.structure", "argon.cif"), STRUCTURE + "a structure has one of the keys lattice, file, random"),
    "a title that is a list": Row(usual("title", ["a"]), A + "title: ['a'] is of the wrong kind: text is needed"),
    "a name of 101 characters": Row(usual("systems.0.name", "x" * 101), A + "systems[0].name: has more than 100 characters"),
    "a folder that is a number": Row(usual("output.directory", 3), A + "output.directory: 3 is of the wrong kind: text is needed"),
    "a precision of 16 bits": Row(usual("precision", "float16"), A + "precision: 'float16' is unknown; did you mean 'float64'?"),
    "units that there are not": Row(usual("units", "real"), A + "units: 'real' is unknown; known are …"),
    "a seed that is a word": Row(usual("seed", "lucky"), A + "seed: 'lucky' is of the wrong kind: a whole number is needed"),
    "a seed below zero": Row(usual("seed", -1), A + "seed: -1 is out of range: must be at least 0"),
    "a switch that is a word": Row(usual("output.velocities", "maybe"), A + "output.velocities: 'maybe' is of the wrong kind: true or false is needed"),
    "a long wrong word": Row(usual("precision", "x" * 100_000), A + "precision: 'xxxxxxxx…"),
    # Programs
    "a program to start": Row(
        FOREIGN,
        AT + ": the ASE calculator 'cp2k' may start programs or load code, and is made with command='touch x'; a plan does not try it, and can't be made without it",
        PLAN,
    ),
    "a program to start in a run": Row(FOREIGN, A + "potential[0]: the ASE calculator 'cp2k' may start programs …--trust…", RUN),
}  # fmt: skip
