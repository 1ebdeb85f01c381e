"""``observe:``: what a run measures on the way is what its frames say, however it was run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from app.runs import OBSERVE, StopAfter, assert_same, configuration, resume, run, written
from support import raises

from instar.app.api.run import StoppedError
from instar.app.ase.structures import structures_of, tables
from instar.app.cli.main import main
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.run.directory import RunDirectoryError
from instar.app.run.planning import planned
from instar.core.utils.jax import dataclass
from instar.memory import HighWater, MemoryPlanError
from instar.observables import (
    DensityProfile,
    RadialDistribution,
    mean_square_displacement,
    observe,
    observed,
)

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def config(**changes):
    return configuration("cell_rescaling", observe=OBSERVE, **changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(config(), out=tmp_path_factory.mktemp("observe") / "whole")


@dataclass
class Frame:
    particles: object
    systems: object


def stacked(trajectory):
    frames = [
        Frame(*tables(structures_of(trajectory.structures(n)), np.float64))
        for n in range(1, len(trajectory))  # observers begin after the start
    ]
    return frames[0], jax.tree.map(lambda *leaves: jnp.stack(leaves), *frames)


def test_what_is_found_is_what_the_frames_say(whole):
    found = whole.observed
    with jax.enable_x64(True):
        first, frames = stacked(whole.trajectory)
        radial = observe(RadialDistribution.of(first, 7.0, 40), frames).result()
        profile = observe(DensityProfile.of(first, 0, 8), frames).result()
        positions, system = frames.particles.data.positions, first.particles.data.system
        msd = mean_square_displacement(positions, system, lags=6)
    g, n = (found["radial_distribution"].curves[name] for name in "gn")
    np.testing.assert_allclose(g.x[1], radial.distance)
    # Frames are in single precision: now and then an atom is in the bin beside.
    np.testing.assert_allclose(g.y, radial.g, atol=0.05)
    np.testing.assert_allclose(n.y[:, -1], radial.coordination[:, -1], rtol=1e-2)
    density = found["density_profile"].curves["density"]
    np.testing.assert_allclose(density.y, profile.density, atol=2e-4)
    np.testing.assert_allclose(density.x, profile.position, rtol=1e-6)
    curve = found["mean_square_displacement"].curves["msd"]
    np.testing.assert_allclose(curve.y, msd.T, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(curve.x[0], 0.02 * np.arange(6))
    slope = np.polyfit(curve.x[0, 3:], curve.y[:, 3:].T, 1)[0]
    value = found["mean_square_displacement"].values["diffusion"]
    np.testing.assert_allclose(value.value, slope / 6 * 1e-4)  # Å²/ps in cm²/s
    assert (value.error > 0).all()


def test_a_run_that_was_stopped_finds_the_same_to_the_bit(whole, tmp_path):
    with pytest.raises(StoppedError):
        run(config(), out=tmp_path / "cut", progress=StopAfter(70))
    before = (tmp_path / "cut" / "observed" / "000000000.npz").read_bytes()
    resume(tmp_path / "cut")
    after = (tmp_path / "cut" / "observed" / "000000000.npz").read_bytes()
    assert after != before
    assert after == (whole.path / "observed" / "000000000.npz").read_bytes()


def test_a_run_that_is_made_longer_finds_the_same_to_the_bit(whole, tmp_path):
    short = run(config(run={"steps": 70, "equilibration": 20}), out=tmp_path / "short")
    assert_same(resume(short.path, steps=180).path, whole.path)
    found = (short.path / "observed" / "000000000.npz").read_bytes()
    assert found == (whole.path / "observed" / "000000000.npz").read_bytes()


def test_a_trajectory_does_not_change_by_being_observed(whole, tmp_path):
    alone = run(configuration("cell_rescaling"), out=tmp_path / "alone")
    assert not alone.observed
    for system in range(2):
        np.testing.assert_array_equal(
            alone.trajectory.positions(system), whole.trajectory.positions(system)
        )


def test_averages_and_values_stand_in_the_summary_and_in_the_report(whole):
    from instar.app.report import write_report

    summary = whole.summary["observed"]["mean_square_displacement: diffusion"]
    value = whole.observed["mean_square_displacement"].values["diffusion"]
    assert [one["mean"] for one in summary] == value.value.tolist()
    page = write_report(whole.directory, load(whole.directory.config)).read_text()
    assert "mean_square_displacement: diffusion (cm^2/s)" in page
    table = (whole.path / "report" / "radial_distribution-g.csv").read_text().splitlines()
    assert table[0] == "system,r (angstrom),g(r)"
    assert len(table) == 81
    assert not (whole.path / "report" / "radial.png").exists()


def test_a_pair_that_one_batch_does_not_have_is_found_in_the_others(tmp_path):
    mixed = configuration(
        systems=[
            {
                "structure": {"random": {"Ar": 12, "Kr": 12}, "density": 1.0},
                "temperature": "90 K",
            },
            configuration()["systems"][0],
        ],
        observe=[{**OBSERVE[0], "pair": ["Ar", "Kr"]}],
        run={"steps": 20},
    )
    mixed["potential"][0]["mixing"] = "lorentz_berthelot"
    mixed["potential"][0]["parameters"]["Kr"] = {"epsilon": "0.014 eV", "sigma": "3.6 angstrom"}
    found = run(mixed, out=tmp_path / "run").observed["radial_distribution Ar-Kr"].curves["g"]
    assert np.isfinite(found.y[0]).all()
    assert np.isnan(found.y[1]).all()


MISTAKES = {
    "no list": ({"type": "density_profile"}, "observe: must be a list of entries"),
    "a misspelled type": ([{"type": "radial"}], "there is no type 'radial'; did you mean 'radial_"),
    "no type": ([{"every": 3}], "has no type"),
    "a misspelled key": ([{**OBSERVE[0], "rech": 3}], "unknown key; did you mean 'reach'?"),
    "no number": ([{**OBSERVE[0], "bins": True}], "true and false are not numbers"),
    "beyond counting": (
        [{**OBSERVE[0], "every": 2**33}],
        "8589934592 is out of range: must be at most 2147483648",
    ),
    "a long name": ([{**OBSERVE[2], "name": "x" * 81}], "80 of them at most"),
    "never": ([{**OBSERVE[0], "every": 0}], "0 is out of range: must be at least 1"),
    "a wrong unit": ([{**OBSERVE[0], "reach": "7 K"}], "7 K"),
    "a short window": ([{**OBSERVE[1], "window": 2}], "2 is out of range: must be at least 3"),
    "an unknown label": ([{**OBSERVE[1], "label": "Xe"}], "no atom is labelled 'Xe'; there are Ar"),
    "another axis": ([{**OBSERVE[2], "axis": "z"}], "observe"),
    "a window longer than the run": (
        [{**OBSERVE[1], "window": 19}],
        "it finds nothing in less than 190 steps, and the run has 180",
    ),
    "a name that is a path": ([{**OBSERVE[2], "name": "../x"}], "a name is made of letters"),
    "a name of our own": ([{**OBSERVE[2], "name": "record: thermo"}], "a name is made of letters"),
    "twice": ([OBSERVE[0], OBSERVE[0]], "two observers are called 'radial_distribution'"),
}


@pytest.mark.parametrize(("given", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_found_before_anything_is_computed(given, message):
    with pytest.raises(ConfigurationError) as error:
        load(configuration(observe=given))
    assert message in str(error.value)
    assert "observe" in str(error.value)


@observed("three_numbers")
def three_numbers(state):
    """Too many."""
    return jnp.zeros((len(state.systems), 3))


@observed("a_table")
def a_table(state):
    """Not an array."""
    return {"x": jnp.zeros(len(state.systems)), "y": jnp.zeros(len(state.systems))}


@observed("strange_unit", unit="foo")
def strange_unit(state):
    """In a unit that there is not."""
    return jnp.zeros(len(state.systems))


@observed("stumbling")
def stumbling(state):
    """A mistake."""
    return state.particles.data.nothing


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("three_numbers", "it must give one number per system"),
        ("a_table", "it must give one number per system"),
        ("strange_unit", "foo"),
        ("stumbling", "AttributeError"),
    ],
)
def test_functions_that_can_not_be_averaged_are_refused_before_the_first_step(
    tmp_path, name, message
):
    with pytest.raises(ConfigurationError) as error:
        run(configuration(observe=[{"type": name}]), out=tmp_path / "run")
    assert message in str(error.value)
    assert f"observe[0] ({name})" in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_window_that_does_not_fit_is_refused_before_it_is_made():
    kinds = ("mean_square_displacement", "velocity_autocorrelation")
    wide = [{"type": kind, "window": 10**5, "every": 1} for kind in kinds]
    given = configuration(observe=wide, run={"steps": 10**6}, memory={"budget": "100 MiB"})
    with (
        jax.enable_x64(True),
        pytest.raises(MemoryPlanError, match="shorter windows to observe"),
    ):
        planned(load(given), HighWater())


def test_an_observer_that_fails_costs_no_state(whole, tmp_path, monkeypatch):
    from instar.app.run import loop

    def fails(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(loop, "write_findings", fails)
        with raises(
            RunDirectoryError, f"{tmp_path / 'run'} can't be written: No space left on device."
        ):
            run(config(), out=tmp_path / "run")
    assert list((tmp_path / "run" / "checkpoints").iterdir())


def test_the_report_of_a_stopped_run_has_averages(tmp_path):
    with pytest.raises(StoppedError):
        run(config(), out=tmp_path / "cut", progress=StopAfter(70))
    assert main(["report", str(tmp_path / "cut")]) == 0
    page = (tmp_path / "cut" / "report.html").read_text()
    assert "no averages yet" not in page
    head = (tmp_path / "cut" / "report" / "summary.csv").read_text().splitlines()[0]
    assert "mean_square_displacement: diffusion mean (cm^2/s)" in head


def test_what_has_no_volume_has_no_radial_distribution(tmp_path, capsys):
    from ase import Atoms

    Atoms("Ar2", [[0, 0, 0], [4, 0, 0]]).write(tmp_path / "pair.xyz")
    open_one = configuration(observe=OBSERVE[:1])
    open_one["systems"][1]["structure"] = {"file": "pair.xyz"}
    path = written(tmp_path / "run.yaml", open_one)
    assert main(["validate", str(path)]) == 1
    assert "structure 1 does not repeat along all axes" in capsys.readouterr().err
