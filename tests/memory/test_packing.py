import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instar.memory import Footprint, plan
from instar.memory.packing import pack

PER = {"systems": 500.0, "atoms": 2000.0, "edges": 50.0}


def footprint(per=None, fixed=1e6):
    return Footprint(fixed, per or PER, "a test")


def log_uniform(seed, neighbors):
    rng = np.random.default_rng(seed)
    atoms = np.exp(rng.uniform(np.log(10), np.log(10_000), 1000)).astype(int)
    edges = atoms * rng.integers(*neighbors, 1000)
    return {"systems": np.ones(1000, int), "atoms": atoms, "edges": edges}


@pytest.mark.parametrize("budget", ["66 MiB", "100 MiB", "300 MiB", "1 GiB", "8 GiB"])
@pytest.mark.parametrize("neighbors", [(50, 51), (20, 80)])
@pytest.mark.parametrize("seed", range(3))
def test_sizes_over_three_decades_waste_little_in_few_shapes(seed, neighbors, budget):
    items = log_uniform(seed, neighbors)
    made = plan(footprint(), items, budget)
    padded = sum(made.shapes[batch.shape].sizes["atoms"] for batch in made.batches)
    assert len(made.shapes) <= 8
    assert made.waste <= 0.1
    assert 1 - items["atoms"].sum() / padded <= 0.2
    assert made.predicted_peak <= made.limit


sizes = st.lists(
    st.tuples(st.integers(1, 500), st.integers(0, 5000)).map(np.array), min_size=1, max_size=60
)


@given(sizes, st.floats(1, 20), st.integers(1, 8))
def test_every_item_is_in_one_batch_that_holds_it(items, room, most_shapes):
    atoms, edges = np.array(items).T
    measures = {"atoms": atoms, "edges": edges}

    def weigh(sizes):
        return np.asarray(sizes["atoms"]) * 10.0 + np.asarray(sizes["edges"])

    capacity = room * float(weigh(measures).max())
    packed = pack(measures, weigh, capacity, most_shapes, capacity)
    found = np.concatenate([np.asarray(items) for items in packed.batches])
    np.testing.assert_array_equal(np.sort(found), np.arange(len(atoms)))
    assert len(packed.batches) == len(packed.shape_of)
    for batch, number in zip(packed.batches, packed.shape_of, strict=True):
        shape = packed.shapes[number]
        assert all(values[np.asarray(batch)].sum() <= shape[n] for n, values in measures.items())
        assert weigh(shape) <= capacity * (1 + 1e-5)


def test_equal_items_go_into_equal_batches():
    made = plan(Footprint(0.0, {"frames": 1e6}, "a test"), 1000, "700 MB", headroom=0)
    assert [len(batch) for batch in made.batches] == [500, 500]
    assert made.batches[1].items == range(500, 1000)
    assert made.waste == 0


def test_items_that_fit_alone_always_have_a_plan():
    rng = np.random.default_rng(0)
    atoms = rng.integers(900, 1000, 3000)
    items = {"atoms": atoms, "edges": 2000 - atoms}
    per = {"atoms": 1.0, "edges": 1.0}
    made = plan(Footprint(0.0, per, "a test"), items, 2001, headroom=0)
    assert made.predicted_peak <= 2001
    assert sum(map(len, made.batches)) == 3000


def test_items_as_heavy_as_a_batch_are_alone():
    weights = {"atoms": np.array([100, 99, 98, 1, 1, 1])}
    packed = pack(weights, lambda s: np.asarray(s["atoms"], float), 100.0, 8, 100.0)
    assert len(packed.batches) == 3
    assert max(packed.shapes[0].values()) <= 100
