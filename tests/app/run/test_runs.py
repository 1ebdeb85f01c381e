"""Runs from beginning to end: what they write, that they can be stopped, killed and resumed."""

import dataclasses
import json
import random
import shutil
import time
from typing import Any

import jax
import numpy as np
import pytest
from app.runs import (
    METHODS,
    StopAfter,
    assert_same,
    command,
    configuration,
    recorded,
    resume,
    run,
    written,
)
from support import raises

import instar
import instar.kernels
from instar.app.api.run import ExplodedError, StoppedError
from instar.app.cli.main import EXPLODED, main
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.results.run import Run
from instar.app.run.directory import VERSION, RunDirectory, RunDirectoryError
from instar.app.run.provenance import departures, provenance
from instar.dynamics import ExplosionWarning
from instar.memory import MemoryPlanError
from instar.storage import newest_checkpoint

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole é run"
    return run(configuration(), out=folder)


def test_a_run_leaves_everything_in_its_folder(finished):
    names = {path.name for path in finished.path.iterdir()}
    assert names >= {
        "config.yaml",
        "structures.npz",
        "provenance.json",
        "trajectory.h5",
        "checkpoints",
        "log.txt",
        "summary.json",
    }
    about = json.loads((finished.path / "provenance.json").read_text())
    assert about["atoms"] == 59
    assert about["versions"]["instar"] == instar.__version__


def test_rows_come_at_their_steps_and_averages_from_the_production_alone(finished):
    thermo, trajectory = finished.trajectory.thermo, finished.trajectory
    np.testing.assert_array_equal(thermo["step"], np.arange(0, 201, 5))
    np.testing.assert_array_equal(thermo["time"], 2.0 * thermo["step"])
    np.testing.assert_array_equal(trajectory.steps, np.arange(20, 201, 10))
    assert trajectory.positions(1).shape == (19, 27, 3)
    hot = finished.summary["systems"][1]["temperature"]
    assert hot["mean"] == pytest.approx(thermo["temperature"][thermo["step"] > 20, 1].mean())
    assert finished.summary["systems"][0]["density"]["mean"] == pytest.approx(1.5)


def test_a_frame_is_a_structure(finished):
    atoms = finished.trajectory.atoms(0, frame=0)
    assert len(atoms) == 32
    assert atoms.pbc.all()
    np.testing.assert_allclose(
        atoms.positions, finished.trajectory.positions(0)[0], rtol=0, atol=1e-6
    )
    assert atoms.get_masses().sum() / atoms.get_volume() / 0.602214 == pytest.approx(1.5, rel=1e-3)


def test_a_system_or_a_frame_that_there_is_not_is_told(finished):
    trajectory = finished.trajectory
    assert trajectory.count(-1) == trajectory.count(1) == 19
    for read in (trajectory.positions, trajectory.atoms, trajectory.cells, trajectory.periodic):
        with raises(IndexError, "There are 2 systems, counted from 0; there is no system 2."):
            read(2)
    with raises(IndexError, "System 1 has 19 frames; there is no frame 19."):
        trajectory.atoms(1, 19)


def test_a_second_run_in_the_same_folder_is_refused_and_loses_nothing(finished):
    before = recorded(finished.path)
    with raises(RunDirectoryError, f"There is a run in {finished.path} already."):
        run(configuration(), out=finished.path)
    assert recorded(finished.path).keys() == before.keys()


def test_resuming_a_run_that_is_done_changes_nothing(finished):
    before = recorded(finished.path)
    again = resume(finished.path)
    for name, values in recorded(again.path).items():
        np.testing.assert_array_equal(values, before[name])
    assert "The run had already ended; --steps makes it longer." in again.directory.log.read_text()


def test_a_damaged_record_of_times_is_begun_again(finished):
    path = finished.path / "timing.json"
    path.write_text("{")
    resume(finished.path)
    assert len(json.loads(path.read_text())) == 1


def test_a_run_that_is_made_longer_is_the_one_of_that_length_to_the_bit(tmp_path, finished):
    short = run(configuration(run={"steps": 60, "equilibration": 20}), out=tmp_path / "run")
    longer = resume(short.path, steps=180)
    assert "Not as at the start" not in longer.directory.log.read_text()
    assert_same(longer.path, finished.path)
    assert longer.summary == finished.summary
    assert load(longer.directory.config).config.run.steps == 180


def test_what_changes_the_last_digits_is_told_when_a_run_goes_on(tmp_path):
    about: dict[str, Any] = provenance(load(configuration()))
    assert departures(about) is None
    assert departures({}) is None
    about["versions"]["jax"] = "0.0.1"
    about["devices"] = about["devices"] * 3
    with instar.kernels.using(False):
        said = departures(about)
    count = jax.local_device_count()
    assert said == (
        f"Not as at the start of the run: jax (0.0.1 then, {jax.__version__} now), kernels "
        f"({about['kernels']} then, switched off now), devices ({3 * count} then, {count} now). "
        "The last digits of what follows may differ from those of a run that was not stopped."
    )

    with pytest.raises(StoppedError):
        run(configuration(run={"steps": 20}), out=tmp_path / "run", progress=StopAfter(1))
    (tmp_path / "run" / "provenance.json").write_text(json.dumps(about | {"folder": VERSION}))
    assert (
        "Not as at the start of the run: jax (0.0.1 then"
        in resume(tmp_path / "run").directory.log.read_text()
    )


def test_a_run_is_not_made_shorter(finished, capsys):
    before = finished.directory.config.read_bytes()
    assert main(["resume", str(finished.path), "--steps", "100"]) == 1
    assert capsys.readouterr().err == (
        f"instar: The run in {finished.path} has made 180 steps of production already; it can't be "
        "shortened to 100.\n"
    )
    assert finished.directory.config.read_bytes() == before


def test_two_processes_do_not_work_in_one_folder(finished):
    with (
        RunDirectory.open(finished.path).locked(),
        pytest.raises(RunDirectoryError, match="Another process works in"),
    ):
        resume(finished.path)


@pytest.mark.parametrize("pairs", [True, False])
def test_a_run_compiles_one_program(tmp_path, caplog, pairs):
    """For its first forces, its first rows and its steps, where steps leave a state."""
    config = configuration(run={"steps": 40})
    if not pairs:
        bond = {"atoms": [0, 1], "k": 1.0, "r0": 4.0}
        config["potential"] = [{"type": "harmonic_bond", "terms": [bond]}]
    jax.clear_caches()  # another run may have compiled the same
    with jax.log_compiles(), caplog.at_level("WARNING", "jax"):
        instar.run(config, out=tmp_path / "run", report=False)
    told = [text for text in caplog.messages if "XLA compilation of" in text]
    assert [text.split()[4] for text in told] == ["jit(_chunk)"]


def test_a_run_of_a_few_steps_has_means_without_errors(tmp_path):
    short = run(configuration(run={"steps": 7}), out=tmp_path / "run")
    found = short.summary["systems"][0]["density"]
    known = {"mean": pytest.approx(1.5), "error": None, "unit": "g/cm^3"}
    assert found == known | {"samples": None, "drifts": False}


def test_a_system_that_explodes_is_told_and_the_others_have_their_averages(tmp_path):
    config = configuration(run={"steps": 40})
    config["systems"][1] |= {"temperature": "1e9 K", "name": "hot"}
    log = tmp_path / "run" / "log.txt"
    with raises(ExplosionWarning, f"1 of 2 systems exploded; {log} says when."):
        run(config, out=tmp_path / "run")
    done = Run(tmp_path / "run")
    (exploded,) = done.summary["exploded"]
    told = f"System 1 (hot) exploded at step {exploded['step']} and was frozen."
    assert exploded["system"] == 1
    assert log.read_text().endswith(f"{told}\n")
    cold, hot = (system["temperature"] for system in done.summary["systems"])
    assert cold["error"] > 0
    assert hot["mean"] is None


def test_a_run_whose_systems_have_all_exploded_ends_early_and_says_so(tmp_path, capsys):
    config = configuration(run={"steps": 10**6})
    for system in config["systems"]:
        system["temperature"] = "1e9 K"
    with raises(
        ExplodedError,
        f"All 2 systems exploded; {tmp_path / 'run' / 'log.txt'} says when, and what to do.",
    ):
        run(config, out=tmp_path / "run")
    assert len(Run(tmp_path / "run").summary["exploded"]) == 2
    assert main(["resume", str(tmp_path / "run")]) == EXPLODED
    assert "All 2 systems exploded" in capsys.readouterr().err


def test_a_run_that_can_not_fit_into_its_budget_is_refused_before_it_begins(tmp_path):
    with pytest.raises(MemoryPlanError, match=r"Give it a larger memory\.budget"):
        run(configuration(memory={"budget": "1 KiB"}), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with raises(RunDirectoryError, f"{tmp_path} exists and is not an instar run."):
        run(configuration(), out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_stopped_and_resumed_is_the_same_to_the_bit(tmp_path, method):
    config = configuration(method)
    whole = run(config, out=tmp_path / "whole")
    with pytest.raises(StoppedError, match="Go on with: instar resume"):
        run(config, out=tmp_path / "cut", progress=StopAfter(3))
    with pytest.raises(StoppedError):
        resume(tmp_path / "cut", progress=StopAfter(47))
    cut = resume(tmp_path / "cut")
    assert_same(whole.path, cut.path)
    assert whole.summary == cut.summary
    first, second = (newest_checkpoint(one.path / "checkpoints")[0] for one in (whole, cut))
    for name, values in first.arrays.items():
        np.testing.assert_array_equal(values, second.arrays[name], err_msg=name)


def test_a_run_goes_on_where_other_devices_share_its_list(tmp_path):
    """As it does without kernels, which share the cores themselves; to rounding."""
    config = configuration(run={"steps": 20})
    whole = run(config, out=tmp_path / "whole")
    with pytest.raises(StoppedError):
        run(config, out=tmp_path / "cut", progress=StopAfter(5))
    with instar.kernels.using(False):
        cut = resume(tmp_path / "cut")
    for name, values in whole.thermo.items():
        np.testing.assert_allclose(cut.thermo[name], values, rtol=1e-9, err_msg=name)


def test_a_damaged_checkpoint_falls_back_to_the_one_before_and_says_so(tmp_path):
    config, said = configuration(), []
    with pytest.raises(StoppedError):
        run(config, out=tmp_path / "run", progress=StopAfter(10))
    with pytest.raises(StoppedError):
        resume(tmp_path / "run", progress=StopAfter(50))
    newest = max((tmp_path / "run" / "checkpoints").iterdir())
    content = bytearray(newest.read_bytes())
    content[-100] ^= 1
    newest.write_bytes(content)
    listening = StopAfter(10**9)
    listening.say = said.append
    mended = resume(tmp_path / "run", progress=listening)
    assert any("is damaged" in text and "The one before is taken" in text for text in said)
    whole = run(config, out=tmp_path / "whole")
    assert_same(mended.path, whole.path)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    with pytest.raises(StoppedError):
        run(configuration(), out=tmp_path / "run", progress=StopAfter(10))
    (only,) = (tmp_path / "run" / "checkpoints").iterdir()
    only.rename(only.with_name(f".{only.name}.new"))  # as a kill in its middle leaves it
    again = resume(tmp_path / "run")
    assert len(again.trajectory) == 19


def test_checkpoints_of_another_configuration_are_refused(tmp_path):
    with pytest.raises(StoppedError):
        run(configuration(), out=tmp_path / "run", progress=StopAfter(10))
    other = configuration()
    other["systems"] = other["systems"][:1]
    written(tmp_path / "run" / "config.yaml", other)
    first = f"The checkpoints in {tmp_path / 'run'} are those of another configuration"
    with raises(RunDirectoryError, f"{first}: systems differs."):
        resume(tmp_path / "run")
    written(tmp_path / "run" / "config.yaml", configuration(seed=1))
    with raises(RunDirectoryError, f"{first}: seed differs."):
        resume(tmp_path / "run")
    output = {"trajectory_every": 10, "thermo_every": 7, "velocities": True}
    written(tmp_path / "run" / "config.yaml", configuration(output=output))
    changes = "output.thermo_every was 5 and is 7, output.velocities was False and is True"
    with raises(RunDirectoryError, f"{first}: {changes}."):
        resume(tmp_path / "run")


def test_checkpoints_that_are_gone_cost_nothing_that_was_recorded(tmp_path):
    with pytest.raises(StoppedError):
        run(configuration(), out=tmp_path / "run", progress=StopAfter(10))
    before = recorded(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with raises(
        RunDirectoryError,
        f"The checkpoints of the run in {tmp_path / 'run'} are gone, and what it has recorded "
        "would be lost if it began again.",
    ):
        resume(tmp_path / "run")
    assert recorded(tmp_path / "run").keys() == before.keys()
    (tmp_path / "run" / "trajectory.h5").unlink()
    assert len(resume(tmp_path / "run").trajectory) == 19


def test_a_potential_that_is_an_object_is_known_again(tmp_path, finished, capsys):
    mine = load(configuration()).potentials.of(range(2))
    other = dataclasses.replace(mine, cutoff=np.float64(5.0))
    with pytest.raises(StoppedError):
        run(configuration(potential=mine), out=tmp_path / "run", progress=StopAfter(40))
    assert main(["resume", str(tmp_path / "run")]) == 1
    assert capsys.readouterr().err == (
        f"instar: The potential of {tmp_path / 'run'} was an object of Python, a "
        "instar.potentials.pair.Pair, which a file can't hold; go on from Python: "
        "instar.resume(DIR, potential=…).\n"
    )
    with pytest.raises(ConfigurationError, match="the run began with another potential"):
        resume(tmp_path / "run", potential=other)
    assert_same(resume(tmp_path / "run", potential=mine).path, finished.path)
    assert main(["validate", str(tmp_path / "run" / "config.yaml")]) == 1


def test_a_full_disk_stops_the_run_and_what_was_written_stays(tmp_path, monkeypatch):
    from instar.storage import recording

    def full(*arguments):
        raise OSError(28, "No space left on device")

    with pytest.raises(StoppedError):
        run(configuration(), out=tmp_path / "run", progress=StopAfter(40))
    before = recorded(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(recording, "_new_segment", full)
        with raises(
            RunDirectoryError,
            f"{tmp_path / 'run' / 'trajectory'} can't be written: No space left on device.",
        ):
            resume(tmp_path / "run")
    for name, values in before.items():
        np.testing.assert_array_equal(values, recorded(tmp_path / "run")[name])
    resume(tmp_path / "run")
    assert len(recorded(tmp_path / "run")["thermo/step"]) == 41


@pytest.mark.parametrize(
    ("method", "kills"),
    [("langevin", 1), *(pytest.param(name, 10, marks=pytest.mark.long) for name in METHODS)],
)
def test_a_run_that_is_killed_again_and_again_ends_the_same_to_the_bit(tmp_path, method, kills):
    """Law 2, with processes that have no chance to tidy up."""
    output = {"trajectory_every": 50, "thermo_every": 10, "checkpoint_every": "0.1 s"}
    steps = {"steps": 4000 * max(1, kills // 3), "equilibration": 100}
    config = configuration(method, run=steps, output=output)
    path, cache = written(tmp_path / "run.yaml", config), tmp_path / "cache"
    whole = command("run", path, "--out", tmp_path / "whole", cache=cache)
    assert whole.communicate() is not None
    assert whole.returncode == 0
    rng, killed = random.Random(0), 0
    arguments = ("run", path, "--out", tmp_path / "cut")
    while killed < kills:
        process = command(*arguments, cache=cache)
        checkpoints = tmp_path / "cut" / "checkpoints"
        seen = set(checkpoints.glob("*")) if checkpoints.exists() else set()
        while process.poll() is None and not set(checkpoints.glob("*.checkpoint")) - seen:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        if process.returncode == 0:
            break  # it was faster
        killed += 1
        arguments = ("resume", tmp_path / "cut")
    assert killed >= min(kills, 2)
    last = command("resume", tmp_path / "cut", cache=cache)
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert_same(tmp_path / "whole", tmp_path / "cut")
