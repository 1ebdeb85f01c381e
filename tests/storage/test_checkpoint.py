"""Checkpoints: whole or refused."""

import numpy as np
import pytest
from support import raises

from instar.storage import (
    CheckpointError,
    StorageError,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)

ARRAYS = {"a.b": np.arange(6.0).reshape(2, 3), "step": np.uint32(7), "none": np.zeros((0, 3), bool)}


def test_arrays_and_meta_come_back_to_the_bit(tmp_path):
    path = write_checkpoint(tmp_path, 7, ARRAYS, {"seed": 0, "name": "é"})
    found = read_checkpoint(path)
    assert found.meta == {"seed": 0, "name": "é"}
    assert found.arrays.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert found.arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(found.arrays[name], values)


def test_the_last_two_are_kept_and_no_others(tmp_path):
    (tmp_path / "notes.checkpoint").write_text("mine")
    for number in (1, 30, 4, 200):
        write_checkpoint(tmp_path, number, ARRAYS, {"n": number})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["000000000030.checkpoint", "000000000200.checkpoint", "notes.checkpoint"]


def test_those_that_are_still_needed_are_kept_as_well(tmp_path):
    for number in (1, 2, 3, 4, 5):
        write_checkpoint(tmp_path, number, ARRAYS, {}, keep={2})
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [2, 4, 5]


@pytest.mark.parametrize("place", [0, 25, 90, 200, -1])
def test_a_flipped_byte_is_found_and_the_one_before_is_taken(tmp_path, place):
    write_checkpoint(tmp_path, 1, ARRAYS, {"n": 1})
    newest = write_checkpoint(tmp_path, 2, ARRAYS, {"n": 2})
    content = bytearray(newest.read_bytes())
    content[place] ^= 1
    newest.write_bytes(content)
    found, problems = newest_checkpoint(tmp_path)
    assert found.meta == {"n": 1}
    assert str(newest) in problems[0]


@pytest.mark.parametrize("length", [0, 10, 60, 300])
def test_a_checkpoint_that_is_cut_is_found(tmp_path, length):
    path = write_checkpoint(tmp_path, 1, ARRAYS, {})
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CheckpointError):
        read_checkpoint(path)


def test_another_version_is_named(tmp_path):
    path = write_checkpoint(tmp_path, 1, ARRAYS, {})
    path.write_bytes(path.read_bytes().replace(b"checkpoint 3", b"checkpoint 9", 1))
    with raises(
        CheckpointError,
        f"{path} is a checkpoint of version 9; this instar reads version 3.",
    ):
        read_checkpoint(path)


def test_an_empty_folder_has_none(tmp_path):
    with raises(CheckpointError, f"There is no checkpoint to go on from in {tmp_path}."):
        newest_checkpoint(tmp_path)


def test_objects_of_python_are_not_written(tmp_path):
    with raises(StorageError, "things holds objects of Python; only numbers are written."):
        write_checkpoint(tmp_path, 1, {"things": np.array([{}], object)}, {})
    assert not list(tmp_path.iterdir())
