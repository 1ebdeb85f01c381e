"""Recordings: what was committed stays, and nothing else is shown."""

import os
import resource
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import raises

from instar.storage import Background, Column, Recording, RecordingError, open_recording

STREAMS = {
    "frames": {
        "step": Column((), "int64"),
        "positions": Column((5, 3), "float32", "angstrom", "particles"),
    },
    "thermo": {"energy": Column((2,), "float64", "eV")},
}
CONSTANTS = {"particles": {"masses": np.arange(5.0)}}


def recording(path, **options):
    return Recording(path, STREAMS, CONSTANTS, {"creator": "test"}, **options)


def rows(first, count):
    step = np.arange(first, first + count)
    return {"step": step, "positions": step[:, None, None] + np.zeros((count, 5, 3))}


def steps_of(path):
    with open_recording(path) as file:
        steps = file["frames/step"][:]
        np.testing.assert_array_equal(file["frames/positions"][:, 4, 2], steps)
        return steps.tolist()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.integers(1, 700), max_size=3), min_size=1, max_size=4))
def test_committed_rows_are_shown_in_their_order(tmp_path_factory, commits):
    path = tmp_path_factory.mktemp("run") / "trajectory.h5"
    writing, count = recording(path), 0
    for blocks in commits:
        before = count
        for block in blocks:
            writing.append("frames", rows(count, block))
            count += block
        assert steps_of(path) == list(range(before))
        writing.commit()
        assert steps_of(path) == list(range(count))
    with open_recording(path) as file:
        assert file["frames/positions"].attrs["unit"] == "angstrom"
        np.testing.assert_array_equal(file["particles/masses"], np.arange(5.0))
        assert file["thermo/energy"].shape == (0, 2)


def test_a_recording_goes_on_from_as_many_segments_as_are_kept(tmp_path):
    path = tmp_path / "trajectory.h5"
    writing = recording(path)
    for first in (0, 10, 20):
        writing.append("frames", rows(first, 10))
        writing.commit()
    writing.append("frames", rows(30, 5))
    again = recording(path, segments=2)
    assert steps_of(path) == list(range(20))
    again.append("frames", rows(20, 3))
    again.commit()
    assert steps_of(path) == list(range(23))
    assert len(list((tmp_path / "trajectory").iterdir())) == 3


def test_parts_stand_beside_each_other_and_what_is_missing_is_nan(tmp_path):
    path = tmp_path / "trajectory.h5"
    parts, lengths, segments = (range(2), range(2, 5)), ([3, 4], [5]), 0
    for part, blocks in zip(parts, lengths, strict=True):
        writing, first = recording(path, segments=segments, part={"particles": part}), 0
        for block in blocks:
            some = rows(first, block)
            some["positions"] = some["positions"][:, part] + 100 * part.start
            writing.append("frames", some)
            writing.commit()
            first += block
        segments = writing.segments
    with open_recording(path) as file:
        steps, positions = file["frames/step"][:], file["frames/positions"][:]
    np.testing.assert_array_equal(steps, np.arange(7))
    np.testing.assert_array_equal(positions[:, 1, 0], np.arange(7))
    np.testing.assert_array_equal(positions[:, 2, 0], [200, 201, 202, 203, 204, np.nan, np.nan])
    assert np.isnan(positions[5:, 2:]).all()


def test_it_can_be_moved_and_read_from_anywhere(tmp_path, monkeypatch):
    old = tmp_path / "old é name"
    old.mkdir()
    writing = recording(old / "trajectory.h5")
    writing.append("frames", rows(0, 4))
    writing.commit()
    old.rename(tmp_path / "new")
    monkeypatch.chdir("/")
    assert steps_of(tmp_path / "new" / "trajectory.h5") == [0, 1, 2, 3]


def test_a_missing_segment_is_an_error_and_never_zeros(tmp_path):
    path = tmp_path / "trajectory.h5"
    writing = recording(path)
    writing.append("frames", rows(1, 4))
    writing.commit()
    (tmp_path / "trajectory" / "00000.h5").unlink()
    with raises(RecordingError, f"{path} shows trajectory/00000.h5, which is not there."):
        steps_of(path)
    with h5py.File(path) as plain:
        assert np.isnan(plain["frames/positions"]).all()


@pytest.mark.parametrize("kind", ["external link", "soft link", "external data", "elsewhere"])
def test_files_that_point_elsewhere_are_refused(tmp_path, kind):
    path, secret = tmp_path / "trajectory.h5", tmp_path / "secret.h5"
    recording(path)
    with h5py.File(secret, "w") as file:
        file["x"] = np.arange(3.0)
    with h5py.File(path, "a") as file:
        if kind == "external link":
            file["more"] = h5py.ExternalLink("secret.h5", "/x")
        elif kind == "soft link":
            file["more"] = h5py.SoftLink("/frames")
        elif kind == "external data":
            file.create_dataset("more", (3,), float, external=[(str(secret), 0, 24)])
        else:
            layout = h5py.VirtualLayout((3,), float)
            layout[:] = h5py.VirtualSource("../secret.h5", "x", (3,))
            file.create_virtual_dataset("more", layout)
    with pytest.raises(RecordingError, match=r"not followed|is not read"), open_recording(path):
        pass


ELSEWHERE = {
    "external link": "links are not followed",
    "soft link": "links are not followed",
    "external data": "is not read",
    "view": "a segment is not read beyond itself",
    "symbolic link": "is a link to another folder; it is not read",
}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_segments_that_lead_elsewhere_are_refused(tmp_path, kind):
    path, secret = tmp_path / "trajectory.h5", tmp_path / "secret.h5"
    writing = recording(path)
    writing.append("frames", rows(0, 4))
    writing.commit()
    segment = tmp_path / "trajectory" / "00000.h5"
    segment.rename(secret)
    with h5py.File(secret, "a") as file:
        shape = file["frames/positions"].shape
    if kind == "symbolic link":
        segment.symlink_to(secret)
    else:
        with h5py.File(segment, "w") as file:
            if kind == "external link":
                file["frames"] = h5py.ExternalLink("../secret.h5", "/frames")
            elif kind == "soft link":
                file["frames"] = h5py.SoftLink("/x")
            elif kind == "external data":
                file.create_dataset(
                    "frames/positions", (3,), float, external=[(str(secret), 0, 24)]
                )
            else:
                layout = h5py.VirtualLayout(shape, float)
                layout[:] = h5py.VirtualSource(str(secret), "frames/positions", shape)
                file.create_virtual_dataset("frames/positions", layout)
    with pytest.raises(RecordingError, match=ELSEWHERE[kind]), open_recording(path):
        pass


@pytest.mark.parametrize("place", ["main", "segment", "view"])
def test_sizes_that_are_only_claimed_are_refused(tmp_path, place):
    path = tmp_path / "trajectory.h5"
    writing = recording(path)
    writing.append("frames", rows(0, 4))
    writing.commit()
    target = tmp_path / "trajectory" / "00000.h5" if place == "segment" else path
    with h5py.File(target, "a") as file:
        if place == "view":
            layout = h5py.VirtualLayout((2**40,), float)
            layout[:4] = h5py.VirtualSource("trajectory/00000.h5", "frames/step", (4,))
            file.create_virtual_dataset("more", layout)
        else:
            file.create_dataset("more", (2**40,), float, chunks=(1024,), compression="gzip")
    with pytest.raises(RecordingError, match=r"claims .* it is not read"), open_recording(path):
        pass


def test_a_group_that_holds_itself_is_refused(tmp_path):
    path = tmp_path / "trajectory.h5"
    recording(path)
    with h5py.File(path, "a") as file:
        file["frames/again"] = file["frames"]
    with pytest.raises(RecordingError, match="groups within groups"), open_recording(path):
        pass


def test_what_is_no_recording_is_refused(tmp_path):
    path = tmp_path / "trajectory.h5"
    path.write_text("nothing of the kind")
    with pytest.raises(RecordingError, match="can't be read as HDF5"), open_recording(path):
        pass
    with h5py.File(path, "w") as file:
        file["x"] = 1
    with raises(RecordingError, f"{path} is not a recording of instar."), open_recording(path):
        pass


WRITER = """
import sys, pathlib
sys.path.insert(0, sys.argv[2])
from storage.test_recording import recording, rows
writing = recording(pathlib.Path(sys.argv[1]))
for n in range(10**6):
    writing.append("frames", rows(50 * n, 50))
    if n % 3 == 2:
        writing.commit()
        print(n, flush=True)
"""


def test_a_killed_writer_leaves_all_that_it_committed(tmp_path):
    path = tmp_path / "trajectory.h5"
    here = os.path.dirname(os.path.dirname(__file__))
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path, here], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    last = [int(process.stdout.readline()) for _ in range(3)][-1]
    time.sleep(0.02)
    process.kill()
    rest = process.stdout.read().split()
    process.wait()
    process.stdout.close()
    committed = 50 * (int(rest[-1] if rest else last) + 1)
    steps = steps_of(path)
    assert steps == list(range(len(steps)))
    assert len(steps) >= committed


def test_the_first_error_in_the_background_comes_out_and_ends_all_work():
    done = []

    def fails():
        raise OSError("disk full")

    worker = Background(2)
    worker.do(lambda: done.append(1))
    worker.do(fails)
    worker.do(lambda: done.append(2))
    with raises(OSError, "disk full"):
        worker.wait()
    with raises(OSError, "disk full"):
        worker.do(lambda: done.append(3))
    with raises(OSError, "disk full"):
        worker.close()
    assert done == [1]


def test_a_disk_that_is_full_is_told_in_a_sentence_and_what_was_committed_stays(tmp_path):
    path = tmp_path / "trajectory.h5"
    writing = recording(path)
    writing.append("frames", rows(0, 3))
    writing.commit()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    noise = np.random.default_rng(0).random((20_000, 5, 3))
    try:
        with raises(RecordingError, f"{tmp_path / 'trajectory'} can't be written: File too large."):
            writing.append("frames", {"step": np.arange(20_000), "positions": noise})
            writing.commit()
        writing.abandon()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert steps_of(path) == [0, 1, 2]
    assert [one.name for one in (tmp_path / "trajectory").iterdir()] == ["00000.h5"]
