"""An object that may hold for the systems of a run only is never cut: not into batches either."""

import jax
import numpy as np
import pytest
from ase import Atoms

import instar
from instar.app.config import load
from instar.app.run.planning import cut, sketched
from instar.memory import Batch, Budget, Footprint, MemoryPlanError, Plan, Shape
from instar.potentials import Ewald, FunctionPotential, ewald

MANY = Atoms("Ar140000", 4.0 * np.argwhere(np.ones((50, 50, 56))))


def first_rows(parameters, particles, systems):
    raise AssertionError("It is refused before anything is computed.")


def configuration(atoms, potential, **changes):
    return {
        "systems": [{"structure": one, "temperature": "10 K"} for one in (atoms, atoms.copy())],
        "potential": potential,
        "method": {"type": "md", "ensemble": "nve", "time_step": "1 fs"},
        "run": {"steps": 2},
        **changes,
    }


def in_words(config, out):
    with jax.enable_x64(True):
        return sketched(load(config))


@pytest.mark.parametrize("door", [instar.run, in_words])
def test_a_run_that_would_be_cut_is_refused(door, tmp_path):
    config = configuration(MANY, FunctionPotential(first_rows), memory={"budget": "54 MiB"})
    with pytest.raises(MemoryPlanError, match=r"(?s)^2 systems need .*is_general is False"):
        door(config, out=tmp_path / "run")


def test_a_batch_that_outgrows_its_memory_is_not_cut_either():
    loaded = load(configuration(Atoms("Ar"), FunctionPotential(first_rows)))
    shape = Shape({"systems": 2, "atoms": 2}, 1000)
    plan = Plan(
        Budget(10**9, "given"), 0.1, (shape,), (Batch(range(2), 0),), Footprint(1.0, {}, "")
    )
    with pytest.raises(MemoryPlanError, match=r"(?s)^2 systems need .*is_general is False"):
        cut(loaded, plan, 0, 2 * 10**9)


def test_copies_of_a_structure_are_checked_with_all_that_an_object_was_made_for():
    salt = Atoms("NaCl", [[0, 0, 0], [2, 2, 2]], cell=[4, 4, 4], pbc=True)
    salt.set_initial_charges([1, -1])
    with jax.enable_x64(True):
        both = ewald([1, -1, 1, -1], [0, 0, 1, 1], np.array([4 * np.eye(3)] * 2), 1e-3)
    config = configuration(salt, both)
    config["systems"] = [{"structure": salt, "temperature": "10 K", "copies": 2}]
    loaded = load(config)
    assert isinstance(loaded.potentials.of(range(2)), Ewald)
    assert loaded.different(range(2)) == [0, 1]
