"""What a bench writes down beside what it prints."""

import importlib
import json
from pathlib import Path

import pytest

import instar

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The module as a script of `bench/` finds it, with a folder of its own for results."""
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("record")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


def test_figures_are_written_with_their_spread_the_machine_and_versions(record, tmp_path):
    with record.written("speed"):
        record.timed([3.0, 1.0, 2.5], "ours")
        record.figure("ours against theirs", 1.5, "<= 2")
        record.figure("bytes", 12, kind="plain")
    found = json.loads((tmp_path / "results" / "speed.json").read_text())
    ours = {"what": "ours", "repeats": 3, "best": 1.0, "median": 2.5, "worst": 3.0}
    assert found["figures"] == [
        {"what": "ours against theirs", "value": 1.5, "goal": "<= 2", "seconds": [ours]},
        {"what": "bytes", "value": 12, "goal": None, "kind": "plain"},
    ]
    assert found["versions"].keys() == {"python", "instar", "jax", "jaxlib", "numpy"}
    assert found["versions"]["instar"] == instar.__version__
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory"] > 2**20


def test_a_bench_that_fails_leaves_the_last_results_alone(record, tmp_path):
    with record.written("speed"):
        record.figure("one", 1)
    with pytest.raises(RuntimeError), record.written("speed"):
        raise RuntimeError
    found = json.loads((tmp_path / "results" / "speed.json").read_text())
    assert [figure["value"] for figure in found["figures"]] == [1]
