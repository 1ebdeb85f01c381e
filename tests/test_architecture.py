"""The page on architecture says what the folders and the import contract say."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
SOURCE = ROOT / "src" / "instar"


def section(title):
    return matched(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE)


def matched(pattern, text):
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert found, pattern
    return found[1]


def first_column(text):
    rows = re.findall(r"^\| (`[^|]*?(?:\\\|[^|]*?)*) \|", text, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) for row in rows]


def folders(path):
    return {p.name for p in path.iterdir() if p.is_dir() and p.name != "__pycache__"}


def contract(name):
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found = next(c for c in contracts["contracts"] if c["name"] == name)
    return [[room.strip() for room in layer.split("|")] for layer in found["layers"]]


def test_the_floors_are_those_of_the_import_contract():
    floors, of_app = section("The floors").split("Inside of `app`")
    assert first_column(floors) == contract("A room imports only the floors below it")
    inside = matched(r"Inside of `core`, top to bottom: (.*?)\.\n", floors)
    inside = re.sub(r"\(.*?\)", "", inside, flags=re.DOTALL)
    named = [re.findall(r"`([^`]+)`", floor) for floor in inside.split(",")]
    assert named == contract("Inside core")
    assert {row[0] for row in first_column(of_app)} == folders(SOURCE / "app")


def test_every_folder_is_a_floor():
    floors = {room for row in first_column(section("The floors")) for room in row}
    assert folders(SOURCE) <= floors


def test_every_file_that_is_named_is_there():
    named = re.findall(r"(?<![\w/.])((?:[a-z_]+/)+[a-z_]+\.py)", PAGE)
    assert len(named) > 10
    for name in named:
        assert (SOURCE / name).is_file() or (ROOT / name).is_file(), name


def test_the_folders_of_one_thing_are_those_that_are_searched():
    from instar.app.config.registry import ROOMS

    rows = re.findall(r"^\| [^|]+ \| `([^`]+)` \| [^|]+ \| `(instar\.\w+)` \|", PAGE, re.MULTILINE)
    assert {group for _, group in rows} == set(ROOMS)
    for folder, group in rows:
        module = f"instar.{folder.replace('/', '.')}"
        assert any(module.startswith(room) for room in ROOMS[group])
