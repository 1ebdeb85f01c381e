"""Patterns of file names: what matches, and that looking for it is bounded."""

import pytest

from instar.app.config import patterns
from instar.app.config.patterns import PatternError, matching

FILES = ("top.cif", "a/x.cif", "b/a/y.cif", ".hidden/z.cif")
MATCHES = {
    "*.cif": {"top.cif"},
    "**/*.cif": {"top.cif", "a/x.cif", "b/a/y.cif"},
    "*/x.cif": {"a/x.cif"},
    "**/a/**/?.cif": {"a/x.cif", "b/a/y.cif"},
    "**/**/[xy].*": {"a/x.cif", "b/a/y.cif"},
    "[ab]/**": {"a/x.cif", "b/a/y.cif"},
    ".h*/*": {".hidden/z.cif"},
    "b/../*.cif": {"b/../top.cif"},
    "link/*/*": {"link/a/y.cif"},
    "none/*": set(),
}


@pytest.fixture
def folder(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("b")
    return tmp_path


@pytest.mark.parametrize("pattern", MATCHES)
def test_a_pattern_matches_files_and_follows_links_only_where_it_names_them(folder, pattern):
    found = [name for name in matching(pattern, folder) if (folder / name).is_file()]
    assert sorted(found) == sorted(MATCHES[pattern])


def test_an_absolute_pattern_matches_from_the_root(folder):
    assert matching(f"{folder}/a/*", folder / "b") == [f"{folder}/a/x.cif"]


def test_a_loop_of_links_is_not_followed(folder):
    (folder / "a" / "loop").symlink_to(folder)
    assert sorted(matching("**/x.cif", folder)) == ["a/x.cif"]


def test_only_so_much_is_looked_at(folder, monkeypatch):
    monkeypatch.setattr(patterns, "_MOST", 5)
    with pytest.raises(PatternError, match="would look through more than 5 files and folders"):
        matching("**/*.cif", folder)
