"""Files start no programs and load no code, unless whoever is at the keyboard says so."""

import ase.calculators.calculator as calculators
import pytest
from app.runs import configuration, written
from ase import Atoms
from ase.calculators.lj import LennardJones

import instar
from instar.app.api.md_state import md_blocks, md_state
from instar.app.ase.in_process import _ARGUMENTS, beyond
from instar.app.cli.main import main
from instar.app.config import Trust, load
from instar.app.config.base import ConfigurationError
from instar.app.run.directory import VERSION, RunDirectory

ENTRY = {"type": "ase", "calculator": "stranger", "arguments": {"command": "touch x"}}
WHAT = "the ASE calculator 'stranger' may start programs or load code, and is made with "
HOW = "; this is done only if you say so: --trust (in Python: trusted=True), if you know where"
PAIR = Atoms("Ar2", [[0, 0, 0], [0, 0, 4]])


@pytest.fixture
def made(monkeypatch):
    """How often the calculator `stranger` has been made."""
    calls = []

    class Stranger(LennardJones):
        def __init__(self, command):
            calls.append(command)
            super().__init__()

    monkeypatch.setitem(calculators.external_calculators, "stranger", Stranger)
    return calls


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "a.yaml", configuration(potential=[ENTRY]))


@pytest.fixture
def folder(tmp_path, made):
    """A run's folder that somebody sent."""
    loaded = load(configuration(potential=[ENTRY]), trust=Trust.UNTRIED)
    about = {"plan.json": {}, "provenance.json": {"folder": VERSION}}
    return RunDirectory.create(tmp_path / "sent", loaded, about).path


@pytest.mark.parametrize(
    "arguments", [["run", "{file}", "--out", "{out}"], ["resume", "{folder}"]], ids=lambda a: a[0]
)
def test_running_refuses_and_says_what_where_and_how(
    file, folder, made, capsys, tmp_path, arguments
):
    places = {"file": file, "folder": folder, "out": tmp_path / "out"}

    code = main([one.format(**places) for one in arguments])

    assert code == 1
    assert not made
    assert not (tmp_path / "out").exists()
    line = capsys.readouterr().err.splitlines()[0]
    assert ": potential[0]: " + WHAT + "command='touch x'" + HOW in line
    assert line.startswith(f"instar: {file if arguments[0] == 'run' else folder / 'config.yaml'}:")


def test_looking_makes_nothing_and_says_so(file, made, capsys):
    assert main(["validate", str(file)]) == 0
    assert capsys.readouterr().err == f"instar: not tried: {WHAT}command='touch x'.\n"
    assert main(["plan", str(file)]) == 1
    assert "a plan does not try it" in capsys.readouterr().err
    assert not made


@pytest.mark.parametrize("words", [["report"], ["export", "--to", "extxyz"]])
def test_a_folder_that_was_sent_makes_nothing(folder, made, words, capsys):
    assert main([words[0], str(folder), *words[1:]]) == 1  # it has no trajectory
    assert not made
    assert "trajectory" in capsys.readouterr().err


DOORS = {
    "single_point": lambda **trust: instar.single_point(PAIR, ENTRY, **trust),
    "calculator": lambda **trust: instar.calculator(ENTRY, **trust),
    "md_state": lambda **trust: md_state(PAIR, ENTRY, **trust),
    "md_blocks": lambda **trust: md_blocks([PAIR], ENTRY, **trust),
    "run": lambda **trust: instar.run(configuration(potential=[ENTRY]), **trust),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_mapping_in_python_needs_the_word_as_well(made, door):
    with pytest.raises(ConfigurationError, match=r"potential\[0\]: the ASE calculator 'stranger'"):
        DOORS[door]()
    assert not made


def test_with_the_word_the_calculator_is_made(file, made):
    load(file, trust=Trust.ALLOWED)
    assert made == ["touch x"]
    instar.calculator(ENTRY, trusted=True)
    assert made == ["touch x"] * 2


def test_a_calculator_object_needs_no_word():
    instar.calculator(instar.ase_potential(LennardJones()))


@pytest.mark.parametrize("name", _ARGUMENTS)
def test_known_calculators_need_no_word_and_nothing_beyond_their_numbers(name):
    assert not beyond(name, dict.fromkeys(_ARGUMENTS[name], 1.0))
    for argument in ("command", "restart", "label", "directory", "neighbor_list", "profile"):
        assert f"made with {argument}='x'" in beyond(name, {argument: "x"})
    for argument in _ARGUMENTS[name] - {"potential", "form"}:
        assert beyond(name, {argument: "touch x"}).endswith(f"{argument}='touch x', not a number")


def test_a_table_of_numbers_is_a_file(tmp_path):
    table = tmp_path / "cu.alloy"
    table.write_text("numbers")
    assert not beyond("eam", {"potential": str(table)})
    assert "which is not a file" in beyond("eam", {"potential": "/dev/zero"})
