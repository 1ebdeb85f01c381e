"""Files that may come from anywhere."""

import os

import pytest
from support import raises

from instar.storage import StorageError, read_whole


def test_a_file_of_holes_that_is_larger_than_the_memory_is_not_read(tmp_path):
    path = tmp_path / "holes"
    path.touch()
    os.truncate(path, 2**43)
    with raises(StorageError, f"it has {2**43} bytes, more than half of the memory"):
        read_whole(path)


def test_a_file_is_read_whole(tmp_path):
    (tmp_path / "some").write_bytes(b"some")
    assert read_whole(tmp_path / "some") == b"some"
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "none")
