"""Bad input gets one sentence, soon: tables of (how to make it, the command, what is said).

Nothing here compiles. Each row says that a command ends with 1, without a traceback, with this
first line, in seconds, and that the files it was given are as they were.
"""

import hashlib
import subprocess
import sys
import time

import pytest
from app.bad_input import (
    commands,
    configurations,
    folders,
    methods,
    potentials,
    quantities,
    structures,
    topologies,
)
from app.bad_input.table import SALT, potential

from instar.app.cli.main import main

SECONDS = 10
"""Of the processor, for one row: time on the clock also counts what else the machine does."""
ON_THE_CLOCK = 60
"""Seconds for what waits, or works in a process of its own."""
TABLES = (
    configurations,
    quantities,
    structures,
    potentials,
    methods,
    topologies,
    folders,
    commands,
)
ROWS = {name: row for table in TABLES for name, row in table.ROWS.items()}


def test_there_are_hundreds_of_mistakes_and_no_two_of_one_name():
    assert len(ROWS) == sum(len(table.ROWS) for table in TABLES) > 400


def hashes(folder):
    """All files, but for the lock and the log that say who was here."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in ("lock", "log.txt")
    }


def ended(arguments):
    """The exit code, also of a command that is not understood."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bad_input_gets_a_sentence(tmp_path, capsys, name):
    row = ROWS[name]
    row.make(tmp_path)
    before = hashes(tmp_path)
    begin, spent = time.monotonic(), time.process_time()

    code = ended(row.command(tmp_path))

    assert time.process_time() - spent < SECONDS
    assert time.monotonic() - begin < ON_THE_CLOCK
    error = capsys.readouterr().err
    assert code == row.code
    assert row.is_said(tmp_path, error), error[:2000]
    assert "Traceback" not in error
    assert hashes(tmp_path) == before


FEW = tuple(name for table in TABLES for name in list(table.ROWS)[1::40])
MANY = sorted(set(ROWS) - set(FEW))


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.long) for name in MANY)]
)
def test_the_command_itself_says_it(tmp_path, name):
    row = ROWS[name]
    row.make(tmp_path)
    words = [sys.executable, "-m", "instar", *row.command(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == row.code
    assert row.is_said(tmp_path, done.stderr), done.stderr[:2000]
    assert "Traceback" not in done.stderr


def test_what_is_only_doubtful_is_a_note_in_words(tmp_path):
    potential(**SALT, accuracy=1e-3)(tmp_path)
    words = [sys.executable, "-m", "instar", "validate", str(tmp_path / "a.yaml")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    first = "instar: note: System 0 has a net charge of +32 e; a uniform background neutralises it."
    assert done.stderr.splitlines()[0] == first
    assert ".py" not in done.stderr


def test_a_reader_that_has_seen_enough_ends_it_quietly():
    words = f"{sys.executable} -m instar schema | head -1"
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")
