"""One walk through a run: what is read, made and traced, is so once."""

import collections
import json
import sys

import jax
import pytest
from app.runs import configuration, run, written

from instar import kernels
from instar.app.cli.main import main
from instar.app.config import load, potentials
from instar.app.run.kinds import kind_of
from instar.dynamics import Step
from instar.memory import HEADROOM

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture
def counted(monkeypatch):
    """How often functions are called, by the name given to each."""
    found = collections.Counter()

    def count(owner, name, what):
        function = getattr(owner, name)

        def wrapper(*args, **options):
            found[what] += 1
            return function(*args, **options)

        monkeypatch.setattr(owner, name, wrapper)

    count(sys.modules[load.__module__], "read_yaml", "read")
    count(potentials, "_summed", "potential made")
    count(Step, "unless", "step traced")
    return found


def test_a_run_reads_builds_and_traces_once(tmp_path, counted):
    path = written(tmp_path / "run.yaml", configuration(seed=71))
    assert main(["run", str(path), "--out", str(tmp_path / "run")]) == 0
    assert dict(counted) == {"read": 1, "potential made": 1, "step traced": 1}


CRYSTAL = {"lattice": "fcc", "species": "Ar", "repeat": 3, "density": "1.4 g/cm^3"}


def test_copies_have_one_potential_and_one_program_for_each_size_of_batch(tmp_path, counted):
    systems = [{"structure": CRYSTAL, "temperature": "50 K", "copies": 4}]
    out = {"trajectory_every": 5, "thermo_every": 5}
    config = configuration(systems=systems, run={"steps": 10}, output=out, seed=72)
    whole = plan_of(run(config, tmp_path / "whole"))
    assert dict(counted) == {"potential made": 1, "step traced": 1}
    counted.clear()
    config["memory"] = {"budget": int(whole["shapes"][0]["bytes"] / (1 - HEADROOM)) - 2**16}
    halves = plan_of(run(config, tmp_path / "halves"))
    assert (len(whole["batches"]), len(halves["batches"])) == (1, 2)
    assert dict(counted) == {"potential made": 1, "step traced": 1}  # for the half


def plan_of(ran):
    return json.loads((ran.path / "plan.json").read_text())


def test_constant_energy_is_reached_by_a_thermostat_where_temperatures_are_known():
    config = configuration("nve")
    loaded = load(config)
    settling, step = kind_of(loaded).steps(range(2))
    assert jax.tree.structure(settling) != jax.tree.structure(step)
    del config["systems"][1]["temperature"]
    loaded = load(config)
    first, second = kind_of(loaded).steps(range(2))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    with_bath = load(configuration("langevin"))
    first, second = kind_of(with_bath).steps(range(2))
    assert jax.tree.structure(first) == jax.tree.structure(second)


def test_kernels_share_the_cores_themselves():
    """Other code is shared by the devices: rows of the list are divided among them."""
    kind = kind_of(load(configuration()))
    for wanted in (True, False):
        with jax.enable_x64(True), kernels.using(wanted):
            listed = kind.state(range(2), blocks=0).neighbors
            assert listed is not None
            shared = len(jax.local_devices()) > 1 and not kernels.in_use()
            assert (listed.mesh is not None) == shared
