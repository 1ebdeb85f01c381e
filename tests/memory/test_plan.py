import json

import numpy as np
import pytest
from support import raises

from instar.memory import Budget, Footprint, MemoryPlanError, Plan, plan

PER_FRAME = Footprint(0.0, {"frames": 2.0**20}, "a test")
RAGGED = Footprint(1e6, {"systems": 100.0, "atoms": 1000.0}, "a test")


def ragged(atoms):
    return {"systems": np.ones(len(atoms), int), "atoms": np.array(atoms)}


def test_the_largest_batch_keeps_the_headroom_free():
    made = plan(PER_FRAME, 10_000, "1 GiB", headroom=0.25)
    assert made.predicted_peak <= 0.75 * 2**30
    assert len(made.batches) == -(-10_000 // 768)


@pytest.mark.parametrize("items", [1, 7, 100, 5000])
def test_more_memory_never_makes_more_batches(items):
    budgets = ("8 MiB", "64 MiB", "1 GiB", "4 GiB")
    counts = [len(plan(PER_FRAME, items, budget).batches) for budget in budgets]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    "made",
    [
        plan(PER_FRAME, 999, "100 MiB"),
        plan(RAGGED, ragged([10, 500, 30, 7000, 2000]), "10 MiB"),
        plan(RAGGED, ragged([]), "10 MiB"),
    ],
    ids=["frames", "ragged", "none"],
)
def test_a_plan_survives_json(made):
    again = Plan.from_json(json.loads(json.dumps(made.to_json())))
    assert again == made
    assert str(again) == str(made)


def test_the_text_tells_what_a_user_asks():
    text = str(plan(PER_FRAME, 999, "100 MiB"))
    assert "100 MiB (given: 100 MiB), 10% kept free" in text
    assert "12 for 999 items, in 1 compiled shape" in text
    assert "84 frames: 84.0 MiB" in text
    assert "memory: frames take 100% of the largest batch" in text


def test_one_item_that_does_not_fit_is_refused_with_numbers():
    with raises(
        MemoryPlanError,
        "Item 1 (1 systems, 9000 atoms) needs 9.54 MiB, but a batch may take 9.00 MiB.",
    ):
        plan(RAGGED, ragged([10, 9000, 20]), "10 MiB")


def test_a_budget_that_is_given_is_taken_as_it_is():
    budget = Budget(2**20 * 10, "a test", ())
    assert plan(PER_FRAME, 5, budget).budget is budget


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"items": {"atoms": [1]}},
            "Items say nothing of systems, which the footprint has.",
        ),
        (
            {"items": {"atoms": [-1], "systems": [1]}},
            "Item 0 has a negative size in atoms.",
        ),
        (
            {"items": {"systems": [1], "atoms": [1.5]}},
            "Sizes are whole numbers; those in atoms are of float64.",
        ),
        ({"items": 5}, "The footprint has the measures systems, atoms; give what each item adds "),
        (
            {"items": ragged([1]), "headroom": 1.0},
            "Headroom is a part of the budget, from 0 to below 1; not 1.0.",
        ),
        (
            {"items": ragged([1]), "most_shapes": 0},
            "A plan needs at least one shape, not 0.",
        ),
    ],
)
def test_requests_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=r".") as caught:
        plan(RAGGED, budget="1 GiB", **arguments)
    assert str(caught.value).startswith(message)
