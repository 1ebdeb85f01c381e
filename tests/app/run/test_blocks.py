"""Runs of many small systems move them in blocks, and nothing else notices."""

import pytest
from app.runs import OBSERVE, StopAfter, assert_same, configuration, resume, run

from instar.app.api.run import StoppedError
from instar.storage import newest_checkpoint

pytestmark = pytest.mark.usefixtures("quickly_compiled")

LATTICE = {"lattice": "fcc", "species": "Ar", "repeat": 3, "density": 1.5}


def config(**changes):
    systems = [
        {"structure": LATTICE, "temperature": f"{60 + 5 * n} K", "copies": 2} for n in range(5)
    ]
    changes = {"run": {"steps": 80, "equilibration": 10}, **changes}
    return configuration(systems=systems, observe=OBSERVE, **changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(config(), out=tmp_path_factory.mktemp("blocks") / "whole")


def blocks_of(path):
    found, _ = newest_checkpoint(path / "checkpoints")
    return found.meta["blocks"]


def test_a_run_of_many_systems_is_in_blocks(whole):
    assert blocks_of(whole.path) > 1


def test_stopping_in_blocks_changes_no_bit(whole, tmp_path):
    with pytest.raises(StoppedError):
        run(config(), out=tmp_path / "run", progress=StopAfter(33))
    resume(tmp_path / "run")
    assert_same(whole.path, tmp_path / "run")


def test_growth_in_blocks_changes_no_bit(whole, tmp_path):
    few = run(config(memory={"neighbors": 8}), out=tmp_path / "few")
    assert "Buffers have grown" in few.directory.log.read_text()
    assert_same(whole.path, few.path)
