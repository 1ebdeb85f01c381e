"""Commands with words that mean nothing, and places that can't be written to."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import RUN, Row, nothing, usual

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
    "a --set without a value": Row(usual(), "?", (*CHECK, "run.steps")),
    "a --set without a key": Row(usual(), "?", (*CHECK, "=3")),
    "a --set to nothing": Row(usual(), "?", (*CHECK, "run.steps=")),
    "a --set of a key that there is not": Row(usual(), "?", (*CHECK, "run.stepps=3")),
    "a --set of a system that there is not": Row(usual(), "?", (*CHECK, "systems.9.temperature=3")),
    "a --set of a list by a word": Row(usual(), "?", (*CHECK, "systems.first.temperature=3")),
    "a --set below a number": Row(usual(), "?", (*CHECK, "run.steps.more=3")),
    "a --set with an empty part": Row(usual(), "?", (*CHECK, "run..steps=3")),
    "a --set of thousands of levels": Row(usual(), "?", (*CHECK, ".".join("a" * 5000) + "=1")),
    "a --set of a tag": Row(usual(), "?", (*CHECK, "seed=!!python/name:os.system")),
    "a --set of a path with half a character": Row(usual(), "?", (*CHECK, 'title="\\ud800"')),
    # Words
    "no command": Row(nothing, "?", (), 2),
    "a command that there is not": Row(nothing, "?", ("simulate", "HERE/a.yaml"), 2),
    "no configuration": Row(nothing, "?", ("run",), 2),
    "an option that there is not on the command line": Row(usual(), "?", ("run", "HERE/a.yaml", "--output", "x"), 2),
    "threads of zero": Row(usual(), "?", (*RUN, "--threads", "0"), 2),
    "threads below zero": Row(usual(), "?", (*RUN, "--threads=-2"), 2),
    "threads in words": Row(usual(), "?", (*RUN, "--threads", "all"), 2),
    "threads without an end": Row(usual(), "?", (*RUN, "--threads", "9" * 5000), 2),
    "devices of zero": Row(usual(), "?", (*RUN, "--devices", "0"), 2),
    "devices without an end": Row(usual(), "?", (*RUN, "--devices", "1000000000"), 2),
    "steps of zero on the command line": Row(nothing, "?", ("resume", "HERE/run", "--steps", "0"), 2),
    "half a step on the command line": Row(nothing, "?", ("resume", "HERE/run", "--steps", "1.5"), 2),
    "steps without an end on the command line": Row(nothing, "?", ("resume", "HERE/run", "--steps", "9" * 30)),
    "an export to nothing": Row(nothing, "?", ("export", "HERE/run"), 2),
    # Places
    "nowhere to run": Row(usual(), "?", ("run", "HERE/a.yaml")),
    "a run in a folder of something else": Row(full, "?", RUN),
    "a run in the place of a file": Row(taken, "?", RUN),
    "a run below a file": Row(taken, "?", ("run", "HERE/a.yaml", "--out", "HERE/out/run")),
    "a run where there is one": Row(begun, "?", RUN),
    "a run where nothing can be": Row(usual(), "?", ("run", "HERE/a.yaml", "--out", "/proc/run")),
    "a run with a name too long": Row(usual(), "?", ("run", "HERE/a.yaml", "--out", "HERE/" + "x" * 300)),
    "a run in a place of text": Row(usual("output.directory", ""), "?", ("run", "HERE/a.yaml")),
    "a resume of a file": Row(taken, "?", ("resume", "HERE/out")),
    "a report of nothing": Row(nothing, "?", ("report", "HERE/run")),
    "an export of nothing": Row(nothing, "?", ("export", "HERE/run", "--to", "csv")),
    "a new configuration where there is one": Row(usual(), "?", ("new", "HERE/a")),
    "a new configuration in no folder": Row(nothing, "?", ("new", "HERE/x/y")),
    "a new configuration without a name": Row(nothing, "?", ("new", "")),
    "a new configuration that is a folder": Row(nothing, "?", ("new", "HERE/..")),
    "a new configuration with a name too long": Row(nothing, "?", ("new", "HERE/" + "x" * 300)),
}  # fmt: skip
