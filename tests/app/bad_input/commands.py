"""Commands with words that mean nothing, and places that can't be written to."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import RUN, A, Row, nothing, usual

CHECK = ("validate", "HERE/a.yaml", "--set")


def full(here):
    usual()(here)
    (here / "out").mkdir()
    (here / "out" / "thesis.tex").write_text("")


def taken(here):
    usual()(here)
    (here / "out").write_text("")


def begun(here):
    usual()(here)
    (here / "out").mkdir()
    (here / "out" / "config.yaml").write_text("")


ROWS = {
    # --set
    "a --set that is no YAML": Row(usual(), "--set seed=[: the value is not YAML.", (*CHECK, "seed=[")),
    "a --set that is no int": Row(usual(), "--set seed=!!int x: the value is not YAML.", (*CHECK, "seed=!!int x")),
    "a --set without a value": Row(usual(), "--set run.steps: write key=value, such as run.steps=1000", (*CHECK, "run.steps")),
    "a --set without a key": Row(usual(), "--set =3: write key=value, such as run.steps=1000", (*CHECK, "=3")),
    "a --set to nothing": Row(usual(), A + "run.steps: is empty: a whole number is needed", (*CHECK, "run.steps=")),
    "a --set of a key that there is not": Row(usual(), A + "run.stepps: unknown key; did you mean 'steps'?", (*CHECK, "run.stepps=3")),
    "a --set of a system that there is not": Row(usual(), "--set systems.9.temperature=3: there is no entry '9' in a list of 2", (*CHECK, "systems.9.temperature=3")),
    "a --set of a list by a word": Row(usual(), "--set systems.first.temperature=3: there is no entry 'first' in a list of 2", (*CHECK, "systems.first.temperature=3")),
    "a --set below a number": Row(usual(), "--set run.steps.more=3: there is nothing below 'more'", (*CHECK, "run.steps.more=3")),
    "a --set with an empty part": Row(usual(), "--set run..steps=3: write key=value, such as run.steps=1000", (*CHECK, "run..steps=3")),
    "a --set of thousands of levels": Row(usual(), "--set a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.…: deeper than 60 levels", (*CHECK, ".".join("a" * 5000) + "=1")),
    "a --set of a tag": Row(usual(), "--set seed=!!python/name:os.system: the value is not YAML.", (*CHECK, "seed=!!python/name:os.system")),
    "a --set of a path with half a character": Row(usual(), A + "title: '\\ud800' is not valid text: it holds half of a character (a surrogate), which can't be written", (*CHECK, 'title="\\ud800"')),
    # Words
    "no command": Row(nothing, "the following arguments are required: COMMAND", (), 2),
    "a command that there is not": Row(nothing, "argument COMMAND: invalid choice: 'simulate' (choose from …", ("simulate", "HERE/a.yaml"), 2),
    "no configuration": Row(nothing, "the following arguments are required: CONFIG", ("run",), 2),
    "an option that there is not on the command line": Row(usual(), "unrecognized arguments: --output x", ("run", "HERE/a.yaml", "--output", "x"), 2),
    "threads of zero": Row(usual(), "argument --threads: '0' is not a whole number above zero", (*RUN, "--threads", "0"), 2),
    "threads below zero": Row(usual(), "argument --threads: '-2' is not a whole number above zero", (*RUN, "--threads=-2"), 2),
    "threads in words": Row(usual(), "argument --threads: 'all' is not a whole number above zero", (*RUN, "--threads", "all"), 2),
    "threads without an end": Row(usual(), "argument --threads: '999999999999999'… has too many digits", (*RUN, "--threads", "9" * 5000), 2),
    "devices of zero": Row(usual(), "argument --devices: '0' is not a whole number above zero", (*RUN, "--devices", "0"), 2),
    "devices without an end": Row(usual(), "argument --devices: 1000000000 devices are too many; at most 1024", (*RUN, "--devices", "1000000000"), 2),
    "steps of zero on the command line": Row(nothing, "argument --steps: '0' is not a whole number above zero", ("resume", "HERE/run", "--steps", "0"), 2),
    "half a step on the command line": Row(nothing, "argument --steps: '1.5' is not a whole number above zero", ("resume", "HERE/run", "--steps", "1.5"), 2),
    "an export to nothing": Row(nothing, "the following arguments are required: --to", ("export", "HERE/run"), 2),
    # Places
    "nowhere to run": Row(usual(), "The run needs a folder: --out DIR, or output.directory.", ("run", "HERE/a.yaml")),
    "a run in a folder of something else": Row(full, "HERE/out exists and is not an instar run.", RUN),
    "a run in the place of a file": Row(taken, "HERE/out exists and is not an instar run.", RUN),
    "a run below a file": Row(taken, "The folder HERE/out/run can't be written: HERE/out is not a folder.", ("run", "HERE/a.yaml", "--out", "HERE/out/run")),
    "a run where there is one": Row(begun, "There is a run in HERE/out already.", RUN),
    "a run where nothing can be": Row(usual(), "The run would write about 21.6 KiB to /proc/run, where 0 B are free.", ("run", "HERE/a.yaml", "--out", "/proc/run")),
    "a run with a name too long": Row(usual(), "HERE/xxxxxxxxxxxxxxxxxxxx…/config.yaml: File name too long.", ("run", "HERE/a.yaml", "--out", "HERE/" + "x" * 300)),
    "a run in a place of text": Row(usual("output.directory", ""), "The run needs a folder: --out DIR, or output.directory.", ("run", "HERE/a.yaml")),
    "a resume of a file": Row(taken, "There is no run in HERE/out: it has no config.yaml.", ("resume", "HERE/out")),
    "a report of nothing": Row(nothing, "There is no run in HERE/run: it has no config.yaml.", ("report", "HERE/run")),
    "an export of nothing": Row(nothing, "There is no run in HERE/run: it has no config.yaml.", ("export", "HERE/run", "--to", "csv")),
    "a new configuration where there is one": Row(usual(), "HERE/a.yaml exists already; choose another name.", ("new", "HERE/a")),
    "a new configuration in no folder": Row(nothing, "HERE/x/y.yaml: No such file or directory.", ("new", "HERE/x/y")),
    "a new configuration without a name": Row(nothing, "'' is not a file name; write one such as argon.", ("new", "")),
    "a new configuration that is a folder": Row(nothing, "'HERE/..' is not a file name; write one such as argon.", ("new", "HERE/..")),
    "a new configuration with a name too long": Row(nothing, "HERE/xxxxxxxxxxxxxxxxxxxx….yaml: File name too long.", ("new", "HERE/" + "x" * 300)),
}  # fmt: skip
