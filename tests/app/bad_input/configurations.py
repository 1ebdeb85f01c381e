"""Configurations that are no YAML, or have keys and entries that there are not."""
# ruff: noqa: E501 (a row is a line where it can be)

import os

from app.bad_input.table import PLAN, RUN, A, Row, nothing, potential, structure, text, usual, without


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
    "a file in the place of a folder": Row(text(""), "?", ("validate", "HERE/a.yaml/b.yaml")),
    "a link to itself": Row(loop, "?"),
    "a pipe that nobody writes to": Row(pipe, "?"),
    "a device without an end": Row(nothing, "?", ("validate", "/dev/zero")),
    "a name that is too long": Row(nothing, "?", ("validate", "HERE/" + "x" * 300)),
    "nothing in it": Row(text(""), AT + " is empty."),
    "only a comment": Row(text("# later\n"), "?"),
    "bytes": Row(text(b"\xff\xfe\x00"), AT + " is no text in UTF-8."),
    "another encoding": Row(text("title: Mühle\n".encode("latin-1")), "?"),
    "UTF-16": Row(text("seed: 1\n".encode("utf-16")), "?"),
    "too many bytes": Row(text(b"#" * (8 * 2**20 + 1)), AT + " has more than 8 MiB; this is no configuration."),
    # YAML
    "a NUL byte": Row(text("seed: 1\ntitle: a\0b\n"), AT + ":2: the character '\\x00' is not allowed in YAML."),
    "a NUL that is written out": Row(usual("title", "a\0b"), A + "title: 'a\\x00b' is no text: it holds the character NUL, …"),
    "half a character": Row(text('title: "\\ud800"\n'), AT + ":1: title: '\\ud800' is no text: …surrogate…"),
    "a path with NUL": Row(structure(file="a\0.cif"), A + "systems[0].structure.file: 'a\\x00.cif' is no text: …"),
    "no int": Row(text("seed: !!int abc\n"), AT + ":1: 'abc' is no int."),
    "no float": Row(text("seed: !!float abc\n"), AT + ":1: 'abc' is no float."),
    "no bool": Row(text("seed: !!bool abc\n"), AT + ":1: 'abc' is no bool."),
    "a number of 5000 digits": Row(text(f"seed: {'7' * 5000}\n"), AT + ":1: a number of 5000 digits."),
    "a binary number without end": Row(text(f"seed: 0b{'1' * 20_000}\n"), AT + ":1: a number of 20002 digits."),
    "nesting of thousands": Row(text("a: " + "[" * 5000), AT + ":1: this is no YAML: deeper than 60 levels."),
    "nesting of thousands by aliases": Row(
        text("a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))),
        AT + ":…: deeper than 60 levels.",
    ),
    "an alias of itself": Row(text("a: &a [*a]\n"), AT + ":1: an alias that holds itself."),
    "a bomb of aliases": Row(text(BOMB), "?"),
    "an alias of nothing": Row(text("seed: *x\n"), "?"),
    "keys that are merged": Row(text("a: &a {seed: 1}\nrun:\n  <<: *a\n"), "?"),
    "more entries than anybody writes": Row(text("a: [" + "1," * 100_001 + "]"), "?"),
    "a tag of Python": Row(
        text("seed: !!python/object/apply:os.system [ls]\n"),
        AT + ":1: the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed.",
    ),
    "bytes as a tag": Row(text("seed: !!binary aGVsbG8=\n"), "?"),
    "a tab": Row(text("run:\n\tsteps: 1\n"), "?"),
    "a key twice": Row(text("seed: 1\nseed: 2\n"), "?"),
    "a key twice inside": Row(text("seed: 1\nrun:\n  steps: 1\n  steps: 2\n"), "?"),
    "a quote without an end": Row(text("title: 'a\nseed: 1\n"), "?"),
    "a bracket without an end": Row(text("systems: [\n"), "?"),
    "a colon without a space": Row(text("seed:1\nrun:2\n"), "?"),
    "an indent that is wrong": Row(text("run:\n  steps: 1\n equilibration: 2\n"), "?"),
    "two documents": Row(text("seed: 1\n---\nseed: 2\n"), "?"),
    "another version of YAML": Row(text("%YAML 9.0\n---\nseed: 1\n"), "?"),
    "a key that is a list": Row(text("[1, 2]: 3\n"), "?"),
    "a list of everything": Row(text("- seed: 1\n"), "?"),
    "one word": Row(text("simulate\n"), "?"),
    "a page of HTML": Row(text("<!DOCTYPE html>\n<html><body>404: Not Found</body></html>\n"), "?"),
    # Keys and entries
    "a key that there is not": Row(usual("sytems", []), "?"),
    "a key that there is not in a system": Row(usual("systems.0.temprature", 3), "?"),
    "a key that there is not in a structure": Row(usual("systems.0.structure.densty", 3), "?"),
    "a key that there is not in a sweep": Row(usual("systems.1.sweep", {"volume": [1, 2]}), "?"),
    "a key that there is not in a ramp": Row(usual("systems.0.temperature", {"from": 1, "too": 2}), "?"),
    "a key that there is not in the run": Row(usual("run.step", 3), "?"),
    "a key that there is not in the output": Row(usual("output.dir", "x"), "?"),
    "a key that there is not in memory": Row(usual("memory", {"limit": "1 GB"}), "?"),
    "a key that is a number": Row(text("1: 2\n"), "?"),
    "a section that is empty": Row(usual("run", None), "?"),
    "a section that is a list": Row(usual("output", [1]), "?"),
    "a section that is a word": Row(usual("run", "fast"), "?"),
    "no steps": Row(without("run.steps"), "?"),
    "no systems": Row(without("systems"), "?"),
    "systems that are none": Row(usual("systems", []), "?"),
    "systems without a list": Row(usual("systems", {"structure": {"lattice": "fcc"}}), "?"),
    "a system that is null": Row(usual("systems", [None]), "?"),
    "a structure that is a word": Row(usual("systems.0.structure", "argon.cif"), "?"),
    "a title that is a list": Row(usual("title", ["a"]), "?"),
    "a name of 101 characters": Row(usual("systems.0.name", "x" * 101), "?"),
    "a folder that is a number": Row(usual("output.directory", 3), "?"),
    "a precision of 16 bits": Row(usual("precision", "float16"), "?"),
    "units that there are not": Row(usual("units", "real"), "?"),
    "a seed that is a word": Row(usual("seed", "lucky"), "?"),
    "a seed below zero": Row(usual("seed", -1), "?"),
    "a switch that is a word": Row(usual("output.velocities", "maybe"), "?"),
    "a long wrong word": Row(usual("precision", "x" * 100_000), A + "precision: 'xxxxxxxx…"),
    # Programs
    "a program to start": Row(
        FOREIGN,
        AT + ": the ASE calculator 'cp2k' may start programs or load code, and is made with command='touch x'; a plan tries nothing of the kind, and can't be made without it",
        PLAN,
    ),
    "a program to start in a run": Row(FOREIGN, A + "potential[0]: the ASE calculator 'cp2k' may start programs …--trust…", RUN),
}  # fmt: skip
