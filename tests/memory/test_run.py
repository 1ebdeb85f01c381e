import dataclasses
import subprocess
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest
from growing import PairEnergy, frames
from jax.tree_util import Partial

from instar.core.assertion import runtime_assert
from instar.core.capacity import CapacityError
from instar.memory import OutOfMemoryError, over_frames

FRAMES = frames(3000)


def roomy(function):
    return over_frames(dataclasses.replace(function, capacity=2048), FRAMES, budget="1 GiB").value


def kinds(outcome):
    return [event.kind for event in outcome.events]


def test_growth_that_does_not_fit_is_planned_anew_and_equal_to_rounding():
    function = PairEnergy(jnp.float32(2), capacity=128)
    found = over_frames(function, FRAMES, budget="24 MiB")
    (event,) = found.outcome.events
    assert event.kind == "re-planned"
    assert 0 < event.done <= 1500
    assert len(found.outcome.plan.batches) > 1
    assert found.outcome.predicted_peak <= found.outcome.plan.limit
    np.testing.assert_allclose(found.value, roomy(function), rtol=1e-6)


def test_growth_that_fits_keeps_every_bit():
    function = PairEnergy(jnp.float32(2), capacity=128)
    found = over_frames(function, FRAMES, budget="1 GiB")
    assert kinds(found.outcome) == ["grown"]
    assert found.value.tobytes() == roomy(function).tobytes()


def test_growth_of_one_item_beyond_the_budget_is_refused_before_it_is_allocated():
    big = frames(2, particles=1000, dense_from=0)
    with pytest.raises(OutOfMemoryError, match=r"alone needs .* MiB now that its buffers have"):
        over_frames(PairEnergy(jnp.float32(1), capacity=128), big, budget="40 MiB")


def test_a_failed_check_without_a_repair_raises():
    def checked(x):
        runtime_assert(x.max() < 1, "{x} is too large.", fmt_args={"x": x.max()})
        return x.sum()

    with pytest.raises(AssertionError, match=r"2\.0 is too large"):
        over_frames(checked, np.full((10, 3), 2, np.float32))


def test_a_growing_function_hidden_in_another_says_what_to_do():
    near = PairEnergy(jnp.float32(2), capacity=16)
    with pytest.raises(CapacityError) as caught:
        over_frames(lambda x: 2 * near(x), FRAMES)
    assert "give the object itself" in caught.value.__notes__[1]


def test_halving_goes_on_where_most_of_the_memory_is_always_there():
    class Source:
        """Frames that can only be read a few at a time."""

        shape, dtype = (400, 3), np.dtype(np.float32)

        def __getitem__(self, part):
            if part.stop - part.start > 100:
                raise MemoryError("Too many at once.")
            return np.ones((part.stop - part.start, 3), np.float32)

    weights = jnp.ones(5_000_000)
    found = over_frames(Partial(lambda w, x: x.sum() + w[0], weights), Source(), reduce="sum")
    assert found.value == 4 * 400
    assert set(kinds(found.outcome)) == {"halved"}


def limited(code):
    """What a fresh process prints; ``limit`` says how much more it may take than it holds."""
    prelude = """
    import resource
    import jax, jax.numpy as jnp, numpy as np
    from instar.memory import Budget, over_frames, plan_work, run
    from instar.memory.frames import FramesWork, frames_of

    jax.block_until_ready(jax.jit(lambda x: x + 1)(jnp.ones(10)))
    def cost(x):
        return jnp.sort(x[:, None] * x[None], axis=0).sum(0)
    frames = np.random.default_rng(0).normal(size=(10_000, 100)).astype(np.float32)

    def limit(more):
        for line in open("/proc/self/status"):
            if line.startswith("VmData"):
                held = int(line.split()[1]) * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (held + more, held + more))
    """
    run = [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(code)]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


def test_running_out_of_memory_halves_the_batch_and_goes_on():
    out = limited("""
    part = frames[-20:]
    expected = np.sort(part[:, :, None] * part[:, None], axis=1).sum(1)
    limit(300 * 2**20)
    work = FramesWork(cost, frames_of(frames, cost))
    plan = plan_work(work, Budget(2**30, "a lie", ()))
    last = []

    def consume(items, value):
        last[:] = [np.array(value[: len(items)][-20:])] if items[-1] == len(frames) - 1 else last

    outcome = run(work, plan, consume)
    print([event.kind for event in outcome.events])
    print(np.allclose(last[0], expected, atol=1e-4))
    """)
    events, equal = out.splitlines()
    assert set(eval(events)) == {"halved"}
    assert equal == "True"


def test_the_limit_of_the_process_is_found_and_kept():
    out = limited("""
    limit(300 * 2**20)
    found = over_frames(cost, frames)
    outcome = found.outcome
    print(outcome.plan.budget.source, len(outcome.events), len(outcome.plan.batches) > 1)
    print(outcome.measured_peak <= outcome.predicted_peak <= outcome.plan.limit)
    """)
    assert out.splitlines() == ["process limit 0 True", "True"]


def test_one_item_that_really_does_not_fit_raises():
    out = limited("""
    from instar.memory import OutOfMemoryError
    limit(300 * 2**20)
    try:
        over_frames(lambda x: jnp.sort(x[:, None] * x[None], axis=0).sum(0),
                 np.ones((1, 12_000), np.float32), budget=Budget(2**32, "a lie", ()))
    except OutOfMemoryError as error:
        print(str(error).splitlines()[0][:35])
    """)
    assert out.strip() == "Memory ran out with item 0 alone, w"
