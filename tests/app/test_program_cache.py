"""Compiled programs on disk: bounded, whole, and nothing that a run could fail by."""

import os
import subprocess
import sys

from instar.app.cli.cache import ProgramCache, cache_folder


def test_a_program_is_found_again(tmp_path):
    ProgramCache(tmp_path / "new" / "folder").put("step", b"code")
    assert ProgramCache(tmp_path / "new" / "folder").get("step") == b"code"
    assert ProgramCache(tmp_path).get("step") is None


def test_what_was_not_used_for_longest_makes_room(tmp_path):
    cache = ProgramCache(tmp_path, most=1000)
    for name in "abcd":
        cache.put(name, bytes(240))
        os.utime(tmp_path / f"{name}.program", (ord(name), ord(name)))
    assert cache.get("a")
    cache.put("e", bytes(240))
    assert [name for name in "abcde" if cache.get(name)] == ["a", "d", "e"]
    assert cache.size() <= 800


def test_a_program_larger_than_the_folder_may_be_is_not_kept(tmp_path):
    cache = ProgramCache(tmp_path, most=1000)
    cache.put("small", bytes(100))
    cache.put("large", bytes(2000))
    assert cache.get("small")
    assert cache.get("large") is None


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").touch()
    cache = ProgramCache(tmp_path / "file")
    cache.put("step", b"code")
    assert cache.get("step") is None


def test_processes_that_write_at_once_find_whole_programs(tmp_path):
    code = f"""
from pathlib import Path
from instar.app.cli.cache import ProgramCache
cache = ProgramCache(Path({str(tmp_path)!r}), most=200_000)
for turn in range(200):
    name = str(turn % 7)
    cache.put(name, name.encode() * 40_000)
    assert cache.get(name) in (None, name.encode() * 40_000)
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert ProgramCache(tmp_path).size() <= 7 * 40_000
    assert not list(tmp_path.glob("*.part"))


def test_the_folder_is_that_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "instar" / "programs"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder().parts[-4:] == ("Library", "Caches", "instar", "programs")
