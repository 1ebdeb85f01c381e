"""Runs that do not fit into their budget at once: batches after each other, the same result."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import jax
import numpy as np
import pytest
from app.runs import (
    OBSERVE,
    StopAfter,
    assert_same,
    configuration,
    recorded,
    resume,
    run,
    written,
)

import instar
from instar.app.api.run import StoppedError
from instar.app.cli.main import main
from instar.app.config import load
from instar.app.run.directory import RunDirectoryError
from instar.app.run.kinds import kind_of
from instar.memory import MemoryPlanError, Plan

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def planned(tmp_path, capsys, config):
    """What `instar plan` says, and the bytes that it finds."""
    assert main(["plan", str(written(tmp_path / "plan.yaml", config))]) == 0
    return capsys.readouterr().out


def budget_for(bytes_needed):
    """A budget of which that much may be taken."""
    return {"budget": int(bytes_needed / 0.9) + 1000}


def needs(folder):
    plan = Plan.from_json(json.loads((folder / "plan.json").read_text()))
    return [plan.shapes[batch.shape].bytes for batch in plan.batches]


def config(**changes):
    return configuration(observe=OBSERVE, **changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(config(), out=tmp_path_factory.mktemp("batches") / "whole")


@pytest.fixture(scope="module")
def cut(tmp_path_factory, whole):
    """The same run with a budget that is too small for both systems at once."""
    (need,) = needs(whole.path)
    folder = tmp_path_factory.mktemp("batches") / "cut"
    return run(config(memory=budget_for(need - 100_000)), out=folder)


def test_batches_give_what_one_batch_gives(whole, cut):
    assert len(needs(cut.path)) == 2
    one, other = recorded(whole.path), recorded(cut.path)
    assert one.keys() == other.keys()
    assert one.pop("systems/names").tolist() == other.pop("systems/names").tolist()
    for name, values in one.items():
        assert values.shape == other[name].shape, name
        np.testing.assert_allclose(values, other[name], rtol=1e-5, atol=1e-5, err_msg=name)


def test_batches_find_what_one_batch_finds(whole, cut):
    assert len(list((cut.path / "observed").iterdir())) == 2
    for title, finding in whole.observed.items():
        for name, curve in finding.curves.items():
            other = cut.observed[title].curves[name]
            np.testing.assert_allclose(other.y, curve.y, rtol=1e-6, atol=1e-9, err_msg=title)


def test_segments_hold_their_batch_alone(cut):
    shapes = []
    for path in sorted((cut.path / "trajectory").iterdir()):
        with h5py.File(path) as file:
            shapes.append((file["frames/positions"].shape[1], tuple(file.attrs["systems"])))
    assert shapes == [(32, (0, 1)), (27, (1, 2))]


def test_each_system_can_be_exported_and_looked_at(cut):
    for kind in ("h5md", "extxyz"):
        assert main(["export", str(cut.path), "--to", kind]) == 0
    with h5py.File(cut.path / "h5md" / "system-1.h5md") as file:
        values = np.asarray(file["particles/trajectory/position/value"])
    np.testing.assert_array_equal(values, cut.trajectory.positions(1))
    assert main(["report", str(cut.path)]) == 0
    page = (cut.path / "report.html").read_text()
    assert "2 batches" in page


def test_stopped_in_a_later_batch_and_resumed_is_the_same_to_the_bit(tmp_path, cut):
    plan = Plan.from_json(json.loads((cut.path / "plan.json").read_text()))
    small = config(memory={"budget": plan.budget.bytes})
    with pytest.raises(StoppedError, match=r"Stopped at step \d+ of 400"):
        run(small, out=tmp_path / "run", progress=StopAfter(203))
    assert main(["report", str(tmp_path / "run")]) == 0  # as far as it has come
    assert main(["export", str(tmp_path / "run"), "--to", "h5md"]) == 0
    resume(tmp_path / "run")
    assert_same(tmp_path / "run", cut.path)


def test_stopped_in_a_later_batch_and_made_longer_all_batches_reach_the_same_end(tmp_path, cut):
    plan = Plan.from_json(json.loads((cut.path / "plan.json").read_text()))
    short = {"steps": 60, "equilibration": 20}
    small = config(memory={"budget": plan.budget.bytes}, run=short)
    with pytest.raises(StoppedError, match=r"Stopped at step \d+ of 160"):
        run(small, out=tmp_path / "run", progress=StopAfter(83))
    longer = resume(tmp_path / "run", steps=180)
    assert_same(longer.path, cut.path)
    assert longer.summary == cut.summary


def test_an_end_that_is_gone_is_written_again_by_resume(tmp_path, cut):
    copy = instar.open(shutil.copytree(cut.path, tmp_path / "copy"))
    ended, observed = ((copy.path / name / "000000001.npz") for name in ("end", "observed"))
    contents = [path.read_bytes() for path in (ended, observed)]
    ended.unlink()
    observed.unlink()
    with pytest.raises(RunDirectoryError, match="Go on with: instar resume"):
        _ = copy.structures

    resume(copy.path)

    assert [path.read_bytes() for path in (ended, observed)] == contents
    assert len(copy.structures) == 2
    assert "The end of batch 2 is missing from the folder" in (copy.path / "log.txt").read_text()
    assert_same(copy.path, cut.path)


def test_the_plan_says_what_a_run_would_take(tmp_path, capsys, whole):
    said = planned(tmp_path, capsys, config())
    for part in ("2 systems, 59 atoms", "predicted peak", "disk", "19 frames"):
        assert part in said
    taken = json.loads((whole.path / "timing.json").read_text())[0]["peak"]
    assert 0 < taken < 2 * needs(whole.path)[0]


FRESH = """
import sys
from instar.app.cli.main import main, set_up
set_up()
few = ["--set", "run.steps=20", "--set", "run.equilibration=0"]
sys.exit(main(["run", sys.argv[1], "--out", sys.argv[2], *few]))
"""


@pytest.mark.long
def test_a_run_that_compiles_everything_keeps_to_its_plan(tmp_path):
    """Charges take the largest programs; none of them is memory of the run."""
    example = Path(__file__).parents[3] / "examples" / "rigid_water.yaml"
    subprocess.run(
        [sys.executable, "-c", FRESH, example, tmp_path / "run"],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True,
        capture_output=True,
    )
    (session,) = json.loads((tmp_path / "run" / "timing.json").read_text())
    assert 0 < session["peak"] < session["planned"]


@pytest.mark.long
def test_a_batch_that_outgrows_its_budget_is_begun_anew_in_two(tmp_path):
    """A gas that is compressed: its neighbors become more than there is memory for."""
    config = configuration("cell_rescaling", run={"steps": 400})
    config["method"] |= {"pressure_time_constant": "100 fs", "compressibility": "1e-3 /bar"}
    for system in config["systems"]:
        structure = {"lattice": "fcc", "species": "Ar", "repeat": 3, "density": 0.2}
        system |= {"structure": structure, "pressure": "5000 bar", "temperature": "150 K"}
    whole = run(config, out=tmp_path / "whole")
    assert "Buffers have grown at step" in (whole.path / "log.txt").read_text()
    (need,) = needs(whole.path)
    cut = run({**config, "memory": budget_for(need + 1000)}, out=tmp_path / "cut")
    assert "it is cut in two, and begins again" in (cut.path / "log.txt").read_text()
    assert len(needs(cut.path)) == 2
    one, other = recorded(whole.path), recorded(cut.path)
    for name in ("thermo/step", "frames/step"):
        np.testing.assert_array_equal(one[name], other[name])
    early = one["thermo/step"] < 40  # later, rounding has grown
    np.testing.assert_allclose(
        one["thermo/potential"][early], other["thermo/potential"][early], rtol=1e-6
    )
    assert np.isfinite(other["frames/positions"]).all()


def test_how_a_system_is_equilibrated_does_not_depend_on_its_batch():
    """A thermostat equilibrates for `nve`, if all systems of the run have a temperature."""
    config = configuration("nve")
    assert len({jax.tree.structure(step) for step in kind_of(load(config)).steps(range(1))}) == 2
    del config["systems"][1]["temperature"]
    loaded = load(config)
    equilibration, production = kind_of(loaded).steps(range(1))
    assert jax.tree.structure(equilibration) == jax.tree.structure(production)


def test_a_large_system_among_small_ones_is_refused_at_once(tmp_path):
    config = configuration()
    small, large = config["systems"][1], config["systems"][0]
    large["structure"]["repeat"] = 26  # 70,304 atoms
    config["systems"] = [small, small, large, small, small]
    config["memory"] = {"budget": "55 MiB"}
    with pytest.raises(MemoryPlanError, match=r"System 2 \(70304 atoms\) needs"):
        run(config, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_terms_for_structures_by_number_hold_in_their_batch(tmp_path):
    config = configuration(run={"steps": 10})
    bond = {"atoms": [0, 1], "k": 5.0, "r0": 3.0}
    config["potential"].append({"type": "harmonic_bond", "structures": [1], "terms": [bond]})
    at_once = run(config, out=tmp_path / "at once")
    (need,) = needs(at_once.path)
    parts = run({**config, "memory": budget_for(need - 100_000)}, out=tmp_path / "parts")
    assert len(needs(parts.path)) == 2
    one, other = (recorded(done.path)["thermo/potential"] for done in (at_once, parts))
    np.testing.assert_allclose(one, other, rtol=1e-9)
