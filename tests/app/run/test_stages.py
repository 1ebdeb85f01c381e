"""Runs in stages, and runs that start where another one has ended."""

import contextlib
import itertools
import json
import shutil
import signal
from typing import ClassVar

import ase.io
import jax
import numpy as np
import pytest
import yaml
from app.runs import METHODS, StopAfter, assert_same, configuration, recorded, resume, run

import instar
from instar.app.api.run import StoppedError
from instar.app.cli.main import main
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.config.resolved import resolved
from instar.app.run import loop
from instar.app.run.directory import RunDirectoryError
from instar.app.run.kinds import kind_of
from instar.app.run.progress import Progress
from instar.storage import StorageError

pytestmark = pytest.mark.usefixtures("quickly_compiled")

STAGES = [
    {
        "name": "heat",
        "steps": 25,
        "temperature": {"from": "20 K", "to": "60 K"},
        "output": {"trajectory_every": 0},
    },
    {"steps": 30, "method": {"ensemble": "npt", "barostat": "mtk"}, "pressure": "100 bar"},
    {
        "name": "production",
        "steps": 40,
        "method": {"ensemble": "nve", "time_step": "1 fs"},
        "output": {"thermo_every": 4},
    },
]


@contextlib.contextmanager
def refused(error, *parts):
    with pytest.raises(error) as caught:
        yield
    for part in parts:
        assert part in str(caught.value)


def staged(stages=STAGES, **changes):
    return configuration(run=stages, **changes)


class Paced(Progress):
    """Notes what a million steps per second are said to be, by stage."""

    said: ClassVar[dict[str, str]] = {}

    def update(self, step, last, phase, thermo, memory):
        self.said[phase] = self.pace(1e6)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(staged(), tmp_path_factory.mktemp("stages") / "whole", progress=Paced())


def test_progress_is_told_in_the_time_step_of_the_stage(whole):
    assert Paced.said == {
        "heat": "1.73e+05 ns/day",
        "npt": "1.73e+05 ns/day",
        "production": "8.64e+04 ns/day",
    }


def test_each_stage_has_its_own_method_spacing_and_time_step(whole):
    thermo, frames = whole.thermo, whole.trajectory
    steps = [*range(0, 25, 5), *range(25, 55, 5), *range(55, 96, 4)]
    assert thermo["step"].tolist() == steps
    assert frames.steps.tolist() == [25, 35, 45, 55, 65, 75, 85, 95]
    assert frames.times.tolist() == [50, 70, 90, 110, 120, 130, 140, 150]
    assert whole.stages == {
        "heat": range(0, 25),
        "npt": range(25, 55),
        "production": range(55, 95),
    }
    volumes = 1 / thermo["density"]
    changes = np.abs(np.diff(volumes, axis=0)) > 0
    made = np.array(steps[1:])
    assert not changes[made <= 25].any()
    assert changes[(made > 25) & (made <= 55)].all()
    assert not changes[made > 55].any()
    energies = thermo["total"][np.array(steps) >= 55]
    assert np.ptp(energies, axis=0).max() < 1e-3 * np.ptp(thermo["total"], axis=0).min()


def test_averages_are_those_of_the_last_stage_and_each_stage_has_its_own(whole):
    thermo, summary = whole.thermo, whole.summary
    last = thermo["temperature"][thermo["step"] > 55].mean(axis=0)
    assert summary["rows"] == 10
    assert [one["temperature"]["mean"] for one in summary["systems"]] == pytest.approx(last)
    assert [(s["name"], s["method"], s["first"], s["last"]) for s in summary["stages"]] == [
        ("heat", "nvt", 0, 25),
        ("npt", "npt", 25, 55),
        ("production", "nve", 55, 95),
    ]
    heat = thermo["temperature"][(thermo["step"] > 0) & (thermo["step"] <= 25)].mean(axis=0)
    found = [one["temperature"]["mean"] for one in summary["stages"][0]["systems"]]
    assert found == pytest.approx(heat)


def test_the_report_has_a_table_of_each_stage_and_names_those_that_are_grey(tmp_path, whole):
    shutil.copytree(whole.path, tmp_path / "copy")
    assert main(["report", str(tmp_path / "copy")]) == 0
    page = (tmp_path / "copy" / "report.html").read_text()
    assert "heat (nvt, 25 steps), npt (npt, 30 steps), production (nve, 40 steps)" in page
    assert "<summary>heat (nvt, steps 0 to 25)</summary>" in page
    assert "<summary>npt (npt, steps 25 to 55)</summary>" in page
    assert "<summary>production" not in page
    assert "Grey: heat, npt." in page


def test_displacements_are_those_of_the_last_stage(whole):
    positions = whole.trajectory.positions(0)[3:]
    moved = ((positions[1] - positions[0]) ** 2).sum(axis=-1).mean()
    found = whole.mean_square_displacement(lags=5)
    assert found.x[0].tolist() == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])
    assert found.y[0, 4] == pytest.approx(((positions[4] - positions[0]) ** 2).sum(axis=-1).mean())
    assert found.y[0, 1] != pytest.approx(moved)  # which is one of four origins


def test_exports_have_the_times_of_each_stage_or_say_why_not(tmp_path, whole):
    shutil.copytree(whole.path, tmp_path / "copy")
    copy = instar.open(tmp_path / "copy")
    with refused(StorageError, "different time steps", "Export to xtc"):
        copy.export("dcd")
    path, *_ = copy.export("extxyz")
    assert [one.info["time"] for one in ase.io.read(path, ":")] == whole.trajectory.times.tolist()


def test_velocities_are_drawn_for_the_first_stage(whole):
    assert whole.thermo["temperature"][0].tolist() == pytest.approx([20, 20])


def test_equilibration_and_production_are_stages_to_the_bit(tmp_path):
    usual = run(configuration(run={"equilibration": 20, "steps": 20}), tmp_path / "usual")
    stages = [{"steps": 20, "output": {"trajectory_every": 0}}, {"steps": 20}]
    listed = run(staged(stages), tmp_path / "listed")
    assert_same(usual.path, listed.path)


@pytest.mark.parametrize("stop", [10, 30, 70])
def test_a_run_that_was_stopped_in_a_stage_goes_on_to_the_bit(tmp_path, whole, stop):
    with pytest.raises(StoppedError):
        run(staged(), tmp_path / "cut", progress=StopAfter(stop))
    resume(tmp_path / "cut")
    assert_same(whole.path, tmp_path / "cut")


def test_more_steps_are_those_of_the_last_stage(tmp_path, whole):
    *before, last = STAGES
    run(staged([*before, {**last, "steps": 16}]), tmp_path / "short")
    resume(tmp_path / "short", steps=40)
    assert_same(whole.path, tmp_path / "short")
    assert json.loads((tmp_path / "short" / "provenance.json").read_text())
    config = yaml.safe_load((tmp_path / "short" / "config.yaml").read_text())
    assert [stage["steps"] for stage in config["run"]] == [25, 30, 40]
    with refused(RunDirectoryError, "has made 40 steps of production already", "shortened to 12"):
        resume(tmp_path / "short", steps=12)


def test_a_stage_that_was_edited_is_refused(tmp_path):
    with pytest.raises(StoppedError):
        run(staged(), tmp_path / "cut", progress=StopAfter(10))
    path = tmp_path / "cut" / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["run"][1]["pressure"] = "200 bar"
    path.write_text(yaml.safe_dump(config))
    with refused(RunDirectoryError, "those of another configuration: run differs"):
        resume(tmp_path / "cut")


def test_a_last_stage_with_a_ramp_is_not_made_longer(tmp_path):
    out = run(staged([STAGES[0]]), tmp_path / "heated")
    with refused(RunDirectoryError, "can't be made longer"):
        resume(out.path, steps=100)


def test_defaults_written_out_are_the_same_configuration():
    loaded = load(staged())
    again = load(resolved(loaded))
    assert again.stages == loaded.stages
    assert again.config == load(resolved(again)).config


def test_methods_of_stages_need_none_on_top():
    methods = [{**METHODS[name], "type": "md", "time_step": "2 fs"} for name in ("nve", "langevin")]
    config = staged([{"steps": 10, "method": method} for method in methods])
    del config["method"]
    assert [stage.name for stage in load(config).stages] == ["nve", "nvt"]


@pytest.mark.parametrize(("first", "second"), [*itertools.combinations(sorted(METHODS), 2)])
def test_any_method_may_follow_any_other(first, second):
    """What a state has does not depend on the order in which methods are prepared."""
    stages = [
        {"steps": 5, "method": METHODS[name], "pressure": "1 bar"}
        if METHODS[name]["ensemble"] == "npt"
        else {"steps": 5, "method": METHODS[name]}
        for name in (first, second)
    ]
    kind = kind_of(load(staged(stages)))
    systems = range(2)
    with jax.enable_x64(True):
        state, steps = kind.state(systems), kind.steps(systems)
        one = steps[1].begin(steps[0].begin(state))
        other = steps[0].begin(steps[1].begin(state))
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert [np.shape(a) for a in jax.tree.leaves(one)] == [
        np.shape(a) for a in jax.tree.leaves(other)
    ]


WRONG = {
    "unknown key": ({"steps": 5, "stpes": 5}, "run[0].stpes: unknown key; did you mean 'steps'?"),
    "no steps": ({"name": "a"}, "run[0].steps: is missing"),
    "equilibration": ({"steps": 5, "equilibration": 5}, "run[0].equilibration: unknown key"),
    "key of a method": (
        {"steps": 5, "method": {"frictoin": "1 /ps"}},
        "run[0].method.frictoin: unknown key; did you mean 'friction'?",
    ),
    "no barostat": ({"steps": 5, "method": {"ensemble": "npt"}}, "npt needs a barostat"),
    "no pressure": (
        {"steps": 5, "method": {"ensemble": "npt", "barostat": "mtk"}},
        "systems[0]: npt needs a pressure (stage npt)",
    ),
    "pressure of nvt": (
        {"steps": 5, "pressure": "1 bar"},
        "run[0].pressure: a pressure has no meaning for nvt",
    ),
    "output": ({"steps": 5, "output": {"directory": "x"}}, "run[0].output.directory: unknown key"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_in_a_stage_are_told_with_their_place(name):
    stage, text = WRONG[name]
    with refused(ConfigurationError, text):
        load(staged([stage]))


def test_a_key_of_stages_alone_is_not_suggested_where_there_are_none():
    with refused(ConfigurationError, "temperature: unknown key; known are steps, equilibration, "):
        load(configuration(run={"steps": 5, "temperature": "60 K"}))


def test_mistakes_of_stages_that_follow_each_other():
    usual = {"steps": 5}
    skin = {"steps": 5, "method": {"skin": "2 angstrom"}}
    with refused(ConfigurationError, "run[1].method.skin: is the same for all stages"):
        load(staged([usual, skin]))
    hot = {"steps": 5, "method": {"ensemble": "nve"}, "temperature": "50 K"}
    with refused(ConfigurationError, "run[1].temperature: a temperature has no meaning for nve"):
        load(staged([usual, hot]))
    with refused(ConfigurationError, "run[1].start_from: only the first stage"):
        load(staged([usual, {"steps": 5, "start_from": "x"}]))
    with refused(ConfigurationError, "run: has 0 entries; at least 1 are needed"):
        load(staged([]))
    with refused(ConfigurationError, "run: has 6000000000 steps in all; at most 4294967294 can"):
        load(staged([{"steps": 3_000_000_000}] * 2))
    ramped = configuration(run=[usual])
    ramped["systems"][0]["temperature"] = {"from": "1 K", "to": "2 K"}
    with refused(ConfigurationError, "systems[0]: with stages, a ramp is written in the stage"):
        load(ramped)


# start_from -------------------------------------------------------------------------------------


def going_on(folder, **changes):
    config = configuration("nve", run={"steps": 10, "start_from": str(folder)})
    del config["systems"]
    return config | changes


def test_a_run_starts_where_another_has_ended_with_its_velocities(tmp_path, whole):
    after = run(going_on(whole.path), tmp_path / "after")
    kinetic = whole.thermo["kinetic"][-1]
    assert whole.thermo["step"][-1] == 95
    assert after.thermo["kinetic"][0] == pytest.approx(kinetic, rel=1e-12)
    assert after.thermo["density"][0] == pytest.approx(whole.thermo["density"][-1], rel=1e-12)
    np.testing.assert_allclose(
        after.trajectory.positions(1)[0], whole.trajectory.positions(1)[-1], atol=1e-5
    )
    assert after.trajectory.names == whole.trajectory.names
    assert [one.get_temperature() for one in whole.structures] == pytest.approx(
        whole.thermo["temperature"][-1] * [31 / 32, 26 / 27]  # ASE counts the centre as well
    )


def test_a_run_that_started_from_another_goes_on_without_it(tmp_path, whole):
    run(going_on(whole.path), tmp_path / "usual")
    with pytest.raises(StoppedError):
        run(going_on(whole.path), tmp_path / "cut", progress=StopAfter(1))
    path = tmp_path / "cut" / "config.yaml"
    config = yaml.safe_load(path.read_text())
    assert config["run"]["start_from"] == str(whole.path)
    resume(tmp_path / "cut")
    ours, usual = recorded(tmp_path / "cut"), recorded(tmp_path / "usual")
    np.testing.assert_array_equal(ours["frames/positions"], usual["frames/positions"])


def test_conditions_are_those_of_the_run_before_or_new_ones(whole):
    hot = {"type": "md", "time_step": "2 fs", **METHODS["langevin"]}
    kept = load(going_on(whole.path, method=hot))
    assert [one.temperature for one in kept.systems] == [60, 120]
    one = load(going_on(whole.path, method=hot, systems=[{"temperature": "80 K"}]))
    assert [one.temperature for one in one.systems] == [80, 80]
    each = [{"temperature": "80 K"}, {"name": "warm", "temperature": {"from": "90 K", "to": "1 K"}}]
    both = load(going_on(whole.path, method=hot, systems=each))
    assert [(one.temperature, one.last_temperature) for one in both.systems] == [
        (80, None),
        (90, 1),
    ]
    assert both.names[1] == "warm"


def test_what_can_not_be_started_from_is_refused_in_words(tmp_path, whole):
    with refused(ConfigurationError, "run.start_from: There is no run in"):
        load(going_on(tmp_path))
    with pytest.raises(StoppedError):
        run(staged(), tmp_path / "cut", progress=StopAfter(10))
    with refused(ConfigurationError, "run.start_from: The folder xxx", "File name too long."):
        load(going_on("x" * 5000))
    with refused(ConfigurationError, "run.start_from: The run in", "has not come to its end"):
        load(going_on(tmp_path / "cut"))
    with refused(ConfigurationError, "systems[0].structure: the run that it starts from has"):
        load(going_on(whole.path, systems=configuration()["systems"]))
    with refused(ConfigurationError, "systems: the run in", "has 2 systems"):
        load(going_on(whole.path, systems=[{}, {}, {}]))
    with refused(ConfigurationError, "systems[0]: the systems are those of the run"):
        load(going_on(whole.path, systems=[{"copies": 2}]))


def test_a_run_that_goes_on_has_no_end_until_it_is_there(tmp_path):
    out = run(staged([{"steps": 10}]), tmp_path / "run")
    assert len(out.structures) == 2
    with pytest.raises(StoppedError):
        instar.resume(out.path, steps=200, progress=StopAfter(20), report=False)
    with refused(RunDirectoryError, "has not come to its end"):
        _ = out.structures


# What a stage does not take over from the one before ---------------------------------------------


def test_a_barostat_begins_at_rest_and_an_isotropic_one_keeps_the_shape(tmp_path):
    barostat = {"ensemble": "npt", "barostat": "mtk", "pressure_time_constant": "100 fs"}
    stages = [
        {"steps": 60, "method": {**barostat, "coupling": "full"}, "pressure": "1000 bar"},
        {"steps": 60, "method": {**barostat, "coupling": "isotropic"}, "pressure": "1000 bar"},
    ]
    found = run(staged(stages), tmp_path / "run")
    cells = found.trajectory.cells(0)
    shapes = cells / np.cbrt(np.linalg.det(cells))[:, None, None]
    assert np.ptp(shapes[:7], axis=0).max() > 1e-4
    assert np.ptp(shapes[6:], axis=0).max() < 1e-6


def test_the_first_row_is_that_of_the_first_method(tmp_path):
    stages = [
        {"steps": 5, "method": METHODS["nve"]},
        {"steps": 5, "method": METHODS["mtk"], "pressure": "10000 bar"},
    ]
    conserved = run(staged(stages), tmp_path / "run").thermo["conserved"]
    assert (
        np.abs(conserved[1] - conserved[0]).max() < 1e-2 < np.abs(conserved[2] - conserved[0]).min()
    )


def test_a_run_that_is_stopped_before_its_first_step_has_its_start_once(tmp_path, monkeypatch):
    fetched = loop.fetched

    def stopped(*arguments):
        signal.raise_signal(signal.SIGINT)
        return fetched(*arguments)

    monkeypatch.setattr(loop, "fetched", stopped)
    with pytest.raises(StoppedError):
        run(staged([{"steps": 10}]), tmp_path / "cut")
    monkeypatch.setattr(loop, "fetched", fetched)
    resume(tmp_path / "cut")
    assert instar.open(tmp_path / "cut").thermo["step"].tolist() == [0, 5, 10]


def test_single_precision_runs_too(tmp_path):
    config = configuration("mtk", run={"steps": 5}, precision="float32")
    found = run(config, tmp_path / "run")
    assert np.isfinite(found.thermo["pressure"]).all()


def test_defaults_of_stages_with_methods_of_their_own_are_the_same_configuration():
    methods = [{**METHODS[name], "type": "md", "time_step": "2 fs"} for name in ("langevin", "mtk")]
    config = staged([{"steps": 10, "method": m, "pressure": "1 bar"} for m in methods])
    del config["method"], config["run"][0]["pressure"]
    loaded = load(config)
    assert load(resolved(loaded)).stages == loaded.stages
    del config["run"][0]["method"]
    with refused(ConfigurationError, "method: is missing"):
        load(config)


def test_constant_energy_asks_for_what_the_stage_before_had():
    stages = [{"steps": 5, "temperature": "200 K"}, {"steps": 5, "method": METHODS["nve"]}]
    loaded = load(staged(stages))
    assert [loaded.asked(one).temperature for one in loaded.systems] == [200, 200]


def test_a_temperature_that_nothing_follows_is_refused(whole):
    with refused(
        ConfigurationError, "systems[0]: a temperature has no meaning for nve: velocities"
    ):
        load(going_on(whole.path, systems=[{"temperature": "500 K"}]))
    assert load(going_on(whole.path, run={"steps": 5, "start_from": whole.path})).structures


def test_a_run_in_other_units_is_not_started_from(whole):
    reduced = going_on(whole.path, units="lj")
    reduced["method"] = {"type": "md", "ensemble": "nve", "time_step": 0.001, "skin": 0.3}
    parameters = {"Ar": {"epsilon": 1.0, "sigma": 1.0}}
    reduced["potential"] = [{"type": "lennard_jones", "cutoff": 2.5, "parameters": parameters}]
    with refused(ConfigurationError, "has other units"):
        load(reduced)
