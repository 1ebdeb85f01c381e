import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

import instar
from instar.memory import FrameError, HighWater, MemoryPlanError, plan_work
from instar.memory import over_frames as planned
from instar.memory.frames import FramesWork, frames_of
from instar.statefunc import (
    Edges,
    Sample,
    apply,
    coordinates,
    distance,
    pair_sum,
    separation,
    total,
)

SMALL = "11 MiB"
x = coordinates(3)
FORCE = pair_sum(apply(jnp.exp, -1 * distance(3) ** 2, "exp") * separation(3))
EDGES = Edges.all_pairs(12)
FRAMES = np.random.default_rng(0).normal(size=(4001, 12, 3)).astype(np.float32)


def sorted_outer(positions):
    """Takes much more memory than it is given."""
    outer = positions[:, None] * positions[None]
    return jnp.sort(outer.reshape(-1, 3), axis=0)[:5]


@pytest.fixture(scope="module")
def values():
    return np.concatenate(
        [jax.vmap(sorted_outer)(FRAMES[k : k + 1000]) for k in range(0, 4001, 1000)]
    )


@pytest.fixture(params=["array", "memory map", "dataset", "compressed", "device"])
def source(request, tmp_path):
    if request.param == "array":
        yield FRAMES
    elif request.param == "device":
        yield jnp.asarray(FRAMES)
    elif request.param == "memory map":
        np.save(tmp_path / "x.npy", FRAMES)
        yield np.load(tmp_path / "x.npy", mmap_mode="r")
    else:
        options = {"chunks": (100, 12, 3), "compression": "gzip"}
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file.create_dataset("x", data=FRAMES, **(options if "comp" in request.param else {}))
        with h5py.File(tmp_path / "x.h5") as file:
            yield file["x"]


def test_batches_from_anywhere_equal_the_unbatched_result(source, values):
    found = planned(sorted_outer, source, budget=SMALL)
    assert len(found.outcome.plan.batches) > 1
    np.testing.assert_allclose(found.value, values, rtol=1e-6)


def test_results_may_be_written_to_a_file(tmp_path, values):
    with h5py.File(tmp_path / "y.h5", "w") as file:
        out = file.create_dataset("y", (4001, 5, 3), np.float32)
        assert instar.over_frames(sorted_outer, FRAMES, budget=SMALL, out=out) is out
        np.testing.assert_allclose(out[:], values, rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "min", "max"])
def test_reductions_are_the_same_to_the_bit_for_every_plan(name, values):
    roomy = instar.over_frames(sorted_outer, FRAMES, reduce=name)
    tight = planned(sorted_outer, FRAMES, reduce=name, budget=SMALL)
    assert len(tight.outcome.plan.batches) > 1
    assert tight.value.tobytes() == roomy.tobytes()
    expected = getattr(values.astype(np.float64), name)(axis=0)
    np.testing.assert_allclose(tight.value, expected, rtol=1e-6)


def test_a_sum_of_many_small_values_keeps_its_digits():
    ones = np.full((1_000_000, 1), 0.1, np.float32)
    found = instar.over_frames(lambda v: v[0], ones, reduce="sum")
    assert found == pytest.approx(0.1 * 1_000_000, rel=1e-6)


def test_a_fold_of_ones_own_goes_through_the_frames_in_order():
    counted = instar.over_frames(
        lambda v: v.sum(),
        FRAMES,
        reduce=lambda carry, value: (carry[0] * np.float32(0.5) + value, carry[1] + 1),
        initial=(np.float32(0), np.int32(0)),
        budget=SMALL,
    )
    carry = np.float32(0)
    for value in FRAMES.sum((1, 2)):
        carry = carry * np.float32(0.5) + value
    assert counted[0] == pytest.approx(carry, rel=1e-5)
    assert counted[1] == 4001


def test_a_state_function_takes_samples_whose_edges_serve_all_frames():
    whole = FORCE(Sample(jnp.asarray(FRAMES[:100]), edges=EDGES))
    found = instar.over_frames(FORCE, Sample(FRAMES[:100], edges=EDGES))
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6)


def test_every_frame_may_have_its_own_mask_and_edges():
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 12, (50, 30, 2)).astype(np.int32)
    edges = Edges.between(pairs[..., 0], pairs[..., 1], particles=12)
    sample = Sample(FRAMES[:50], mask=rng.random((50, 12)) < 0.8, edges=edges)
    found = instar.over_frames(FORCE, sample)
    one = Sample(
        jnp.asarray(FRAMES[7]),
        mask=jnp.asarray(sample.mask[7]),
        edges=Edges.between(pairs[7, :, 0], pairs[7, :, 1], particles=12),
    )
    np.testing.assert_allclose(found[7], FORCE(one), rtol=1e-5, atol=1e-6)


def test_a_state_function_takes_positions_alone():
    found = instar.over_frames(total(x), FRAMES)
    np.testing.assert_allclose(found[..., 0], FRAMES.sum(1), rtol=1e-4, atol=1e-5)


def test_trees_of_arrays_give_trees_of_results():
    given = {"x": FRAMES, "weight": np.arange(4001, dtype=np.float32)}
    found = instar.over_frames(lambda f: {"scaled": f["x"] * f["weight"]}, given, budget=SMALL)
    np.testing.assert_allclose(found["scaled"], FRAMES * given["weight"][:, None, None])


def test_double_precision_stays_double():
    exact = 1 + np.arange(5.0)[:, None] * 1e-12
    found = instar.over_frames(lambda v: v - 1, exact)
    np.testing.assert_allclose(found, exact - 1, rtol=0, atol=0)
    assert found.dtype == np.float64


def test_no_frames_give_no_values():
    assert instar.over_frames(sorted_outer, FRAMES[:0]).shape == (0, 5, 3)
    assert instar.over_frames(sorted_outer, FRAMES[:0], reduce="sum").sum() == 0


def test_progress_is_told_after_each_batch():
    told = []
    instar.over_frames(sorted_outer, FRAMES, budget=SMALL, progress=lambda *now: told.append(now))
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == (4001, 4001)


def test_lines_show_the_plan_on_standard_error_where_it_is_no_terminal(capfd):
    instar.over_frames(sorted_outer, FRAMES, budget=SMALL, progress=True)
    out, shown = capfd.readouterr()
    assert out == ""
    assert "4001 frames in" in shown
    assert "frame 4001 of 4001" in shown


def test_nothing_is_shown_where_there_is_no_terminal(capfd):
    instar.over_frames(sorted_outer, FRAMES[:10])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"frames": [FRAMES[0], FRAMES[1]]},
            FrameError,
            "Frames are an array with one row per frame; stack a list: np.stack(list).",
        ),
        (
            {"frames": {"a": FRAMES, "b": FRAMES[:3]}},
            FrameError,
            "All arrays have one row per frame, but there are [3, 4001] rows.",
        ),
        (
            {"frames": np.float32(3)},
            FrameError,
            "Frames have an axis that counts them; this array has no axes.",
        ),
        ({"frames": ()}, FrameError, "There are no frames: give an array with one row per frame."),
        (
            {"reduce": "median"},
            ValueError,
            "There is no reduction 'median'; there are sum, mean, min, max, or give a function "
            "(carry, value) -> carry.",
        ),
        (
            {"reduce": lambda carry, value: carry},
            ValueError,
            "A reduction of your own needs initial=, the carry to start from.",
        ),
        (
            {"out": np.zeros((3, 5, 3), np.float32)},
            FrameError,
            "out has the shape (3, 5, 3) and float32, but the values are (4001, 5, 3) in float32.",
        ),
        (
            {"frames": jax.random.split(jax.random.key(0), 3)},
            FrameError,
            "Frames are numbers, not key<fry>.",
        ),
        (
            {"frames": np.array([b"a", b"b"])},
            FrameError,
            "Frames are numbers, not |S1.",
        ),
        (
            {"frames": np.ma.masked_less(FRAMES, 0)},
            FrameError,
            "Masked arrays are not read: their masks would be lost.",
        ),
        (
            {"function": FORCE, "frames": Sample(FRAMES[0], edges=EDGES)},
            FrameError,
            "One frame of positions has 2 axes, and another one counts the frames; these have the "
            "shape (12, 3).",
        ),
        (
            {"function": 3.0},
            TypeError,
            "A function of one frame is asked for first, then the frames; not 3.0.",
        ),
        (
            {"function": lambda v: None},
            FrameError,
            "The function returns no arrays, so there is nothing to evaluate.",
        ),
        (
            {"budget": "3 MiB", "function": lambda v: jnp.tile(v, (10, 1))},
            MemoryPlanError,
            "The values of 4001 frames take 5.49 MiB by themselves, of 2.70 MiB.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error, message):
    with raises(error, message):
        instar.over_frames(**{"function": sorted_outer, "frames": FRAMES, **arguments})


def test_big_endian_frames_are_numbers_like_any_others():
    np.testing.assert_allclose(
        instar.over_frames(lambda v: v * 2, np.arange(3, dtype=">f8")), [0.0, 2.0, 4.0]
    )


def test_half_precision_is_added_up_in_single_precision():
    halves = np.full(70_000, 0.5, np.float16)
    assert instar.over_frames(lambda v: v, halves, reduce="mean") == pytest.approx(0.5)


def test_a_sum_with_an_infinity_is_infinite():
    values = np.array([1, np.inf, 2], np.float32)
    assert instar.over_frames(lambda v: v, values, reduce="sum") == np.inf


def test_a_carry_in_double_precision_stays_so():
    counted = instar.over_frames(
        lambda v: v.sum(),
        FRAMES[:100],
        reduce=lambda carry, value: carry + 1,
        initial=np.array(2**40),
    )
    assert counted == 2**40 + 100


def test_the_largest_of_truths_is_whether_any_is_true():
    assert instar.over_frames(lambda v: v > 2, np.arange(4, dtype=np.float32), reduce="max")


def test_a_failing_progress_function_does_not_count_frames_twice():
    def progress(done, total):
        raise MemoryError("Out of memory, in the caller's own code")

    with pytest.raises(MemoryError, match="own code"):
        instar.over_frames(lambda v: v.sum(), FRAMES, reduce="sum", budget=SMALL, progress=progress)


def test_planning_many_frames_takes_no_memory_for_each():
    frames = np.broadcast_to(np.float32(1), (50_000_000, 1))
    work = FramesWork(lambda v: v * 2, frames_of(frames, None), held=0)
    peak = HighWater()
    made = plan_work(work, "60 MiB")
    assert sum(map(len, made.batches)) == 50_000_000
    assert (peak.growth() or 0) < 150 * 2**20


def test_integers_are_not_added_up_where_they_may_overflow():
    with raises(TypeError, "Values of int32 may overflow when they are added up."):
        instar.over_frames(lambda v: (v > 0).sum(dtype=jnp.int32), FRAMES, reduce="sum")
