import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from support import raises

from instar.core.assertion import runtime_assert
from instar.core.capacity import LensCapacity
from instar.core.lens import lens
from instar.core.propagator import (
    Propagator,
    advance,
    compilations,
    loop,
    palindrome,
    propagate_and_fix,
    scan_steps,
    sequence,
    switch,
)
from instar.core.result import as_result_function
from instar.core.utils.jax import dataclass, field


@dataclass
class Simulation:
    need: jax.Array
    max_edges: int = field(static=True)
    base: float = field(static=True, default=2.0)


MAX_EDGES = lens(lambda s: s.max_edges, cls=Simulation)
KEY = jax.random.key(0)


def claim(state):
    LensCapacity(state.max_edges, MAX_EDGES, state.base).generate_assertion(state.need)


@jax.jit
@as_result_function
def simulate(state):
    claim(state)
    return state.need / 5


# propagate_and_fix ------------------------------------------------------------------------


def test_a_run_that_does_not_fit_is_repaired_and_run_again():
    runs = []

    def counted(state):
        runs.append(state.max_edges)
        return simulate(state)

    value, state = propagate_and_fix(counted, Simulation(jnp.float32(150), 10))
    assert value == 30.0
    assert state.max_edges == 256
    assert runs == [10, 256]


@pytest.mark.parametrize(("base", "retries"), [(2.0, 7), (1.0, 90)])
def test_growth_that_shows_only_step_by_step_settles(base, retries):
    runs = []

    def creeping(state):
        runs.append(state.max_edges)
        need = jnp.minimum(jnp.asarray(state.max_edges + 1), 100)
        return as_result_function(claim)(Simulation(need, state.max_edges, state.base))

    _, state = propagate_and_fix(creeping, Simulation(jnp.zeros(()), 10, base))
    assert state.max_edges >= 100
    assert len(runs) <= retries + 1


def test_growth_without_end_is_given_up_with_the_place_and_the_sizes():
    def hungry(state):
        need = jnp.asarray(state.max_edges + 1)
        return as_result_function(claim)(Simulation(need, state.max_edges))

    with pytest.raises(RuntimeError) as caught:
        propagate_and_fix(hungry, Simulation(jnp.zeros(()), 10), max_retries=3)
    text = str(caught.value)
    assert text.startswith("A check does not settle: 3 repairs were not enough.")
    assert "test_propagator.py" in text
    assert "16 → 32 → 64 → 128" in text


def test_a_repair_that_changes_nothing_is_given_up_at_once():
    def stubborn(state):
        runtime_assert(jnp.array(False), "no", fix_fn=lambda s, n: dict(s), fix_args=7)
        return state

    with raises(RuntimeError, "A check does not settle: its repair leaves the state as it is."):
        propagate_and_fix(as_result_function(stubborn), {"x": jnp.arange(3)})


def test_repairs_may_take_text_and_keys():
    def claim_by_name(state):
        runtime_assert(
            jnp.array(state >= 2),
            "too small",
            fix_fn=lambda s, args: s + args["by"],
            fix_args={"name": "edges", "by": 1, "key": KEY, "none": jnp.zeros(0)},
        )

    assert propagate_and_fix(as_result_function(claim_by_name), 0)[1] == 2


def test_a_failure_without_repair_raises_its_exception():
    def wrong(state):
        runtime_assert(jnp.array(False), "no", exception_type=KeyError)

    with pytest.raises(KeyError):
        propagate_and_fix(as_result_function(wrong), 1)


# advance ----------------------------------------------------------------------------------


@dataclass
class Walk:
    x: jax.Array
    room: int = field(static=True)


ROOM = lens(lambda s: s.room, cls=Walk)


def walk(key, state):
    x = state.x + jax.random.normal(key, state.x.shape)
    LensCapacity(state.room, ROOM).generate_assertion(10 * jnp.abs(x).max())
    return Walk(x, state.room)


def start(room):
    return Walk(jnp.zeros(5), room)


def same_bits(a, b):
    return all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def test_a_run_that_had_to_grow_equals_one_that_had_room():
    repairs = []
    grown = advance(walk, KEY, start(1), 200, on_repair=repairs.append)
    roomy = advance(walk, KEY, start(grown.room), 200)
    assert len(repairs) > 2
    assert [r.step for r in repairs] == sorted(r.step for r in repairs)
    assert same_bits(grown, roomy)


def test_a_repair_holds_the_state_that_was_given_and_the_one_that_goes_on():
    held, given = [], Walk(jnp.zeros(1013), 1)

    def note(_):
        held.append(sum(array.shape == given.x.shape for array in jax.live_arrays()))

    advance(walk, KEY, given, 50, on_repair=note)
    assert set(held) == {2}


class Strides:
    """Steps of `walk`, seven at a time."""

    def stride(self, key, state, first, last):
        end = jnp.minimum(last, first + 7)

        def one(carry):
            number, state = carry
            return number + 1, walk(jax.random.fold_in(key, number), state)

        number, state = lax.while_loop(lambda carry: carry[0] < end, one, (first, state))
        return state, number


def test_strides_are_the_same_steps():
    strides, repairs = Strides(), []
    grown = advance(strides, KEY, start(1), 200, on_repair=repairs.append)
    assert len(repairs) > 2
    assert all(repair.step % 7 == 0 for repair in repairs)
    assert same_bits(grown, advance(walk, KEY, start(grown.room), 200))
    first = advance(strides, KEY, start(1), 33)
    assert same_bits(advance(strides, KEY, first, 167, start=33), grown)


@pytest.mark.parametrize("cut", [1, 50, 77, 199])
def test_cutting_a_run_does_not_change_it(cut):
    whole = advance(walk, KEY, start(1), 200)
    first = advance(walk, KEY, start(1), cut)
    assert same_bits(advance(walk, KEY, first, 200 - cut, start=cut), whole)


def test_no_steps_change_nothing():
    assert same_bits(advance(walk, KEY, start(1), 0), start(1))


def test_donated_state_gives_the_same_run_and_is_gone():
    kept, given = start(1), start(1)
    expected = advance(walk, KEY, kept, 100)
    assert same_bits(advance(walk, KEY, given, 100, donate=True), expected)
    assert not kept.x.is_deleted()
    assert given.x.is_deleted()


def test_steps_as_a_scan_are_the_same_and_differentiable():
    state = scan_steps(walk, KEY, start(1000), 50)
    assert same_bits(state, advance(walk, KEY, start(1000), 50))
    slope = jax.grad(lambda x: scan_steps(walk, KEY, Walk(x, 1000), 50).x.sum())(jnp.zeros(5))
    assert slope.tolist() == [1.0] * 5
    tight = as_result_function(scan_steps)(walk, KEY, start(1), 50)
    assert not bool(tight.all_assertions_pass)


def falling(key, state):
    x = state.x + 1
    runtime_assert((x < 50.5).all(), "x got to {x}", fmt_args={"x": x[0]})
    return Walk(x, state.room)


def test_a_failure_without_repair_keeps_the_steps_before_it():
    with pytest.raises(AssertionError) as caught:
        advance(falling, KEY, start(1), 200, start=10)
    assert str(caught.value).splitlines()[0] == "x got to 51.0"
    assert "First failed in step 60 of advance" in str(caught.value)
    step, state = caught.value.last_good
    assert step == 60
    assert state.x.tolist() == [50.0] * 5


def test_sizes_that_come_back_are_not_compiled_again():
    def own(key, state):
        return walk(key, state)

    final = advance(own, KEY, start(1), 100)
    count = compilations(own)
    for _ in range(2):
        advance(own, KEY, start(1), 100)
    advance(own, KEY, start(1), 37, start=5)
    advance(own, KEY, start(final.room), 100)
    assert compilations(own) == count
    assert count <= 1 + np.log2(final.room)


@dataclass
class Drift:
    velocity: jax.Array

    def __call__(self, key, state, /):
        return Walk(state.x + self.velocity, state.room)


def test_arrays_of_a_propagator_are_not_compiled_in():
    assert advance(Drift(jnp.float32(1)), KEY, start(1), 3).x[0] == 3
    before = compilations(Drift(jnp.float32(1)))
    assert advance(Drift(jnp.float32(2)), KEY, start(1), 3).x[0] == 6
    assert compilations(Drift(jnp.float32(2))) == before == 1


def test_steps_are_numbered_up_to_the_end():
    last = 2**32 - 1
    state = advance(lambda key, x: x + 1, KEY, jnp.int32(0), 21, start=last - 21)
    assert state == 21


def test_shaped_and_batched_checks_are_reported():
    def shaped(key, x):
        runtime_assert(x < 3, "got to {x}", fmt_args={"x": x})
        return x + 1

    def batched(key, x):
        return jax.vmap(lambda x: shaped(key, x))(x)

    with pytest.raises(AssertionError, match="got to") as caught:
        advance(shaped, KEY, jnp.arange(3.0), 10)
    assert "step 1 of advance" in str(caught.value)
    assert "Entry 2 of the predicate" in str(caught.value)
    with pytest.raises(AssertionError, match=r"got to 3\.0") as caught:
        advance(batched, KEY, jnp.arange(3.0), 10)
    assert "Batch entry 2" in str(caught.value)


@dataclass
class Scaled:
    factor: object

    def __call__(self, key, x, /):
        return x * self.factor


def test_numbers_that_only_look_equal_are_compiled_apart():
    x = jnp.float32(1)
    zeros = [advance(Scaled(zero), KEY, x, 1) for zero in (0.0, -0.0)]
    assert np.signbit(zeros).tolist() == [False, True]
    with pytest.raises(TypeError, match="must be hashable"):
        advance(Scaled({1}), KEY, x, 1)


def test_what_cannot_be_driven_is_refused():
    with raises(TypeError, "advance works on the host and can't be traced."):
        jax.jit(lambda x: advance(walk, KEY, Walk(x, 1), 3))(jnp.zeros(5))
    with raises(ValueError, "Steps are numbered from 0 to 2³² - 2; asked for -1 steps from 0."):
        advance(walk, KEY, start(1), -1)


def test_a_propagator_that_is_not_repeatable_is_found_out():
    calls = []

    def fickle(key, state):
        def draw(x):
            calls.append(1)
            return np.asarray(len(calls) % 37 < 30)

        fine = jax.pure_callback(draw, jax.ShapeDtypeStruct((), bool), state.x[0])
        runtime_assert(fine, "no", fix_fn=lambda s, _: Walk(s.x, s.room + 1))
        return Walk(state.x + 1, state.room)

    with pytest.raises(RuntimeError, match="when it was run once more, and had not"):
        advance(fickle, KEY, start(1), 2000)


# Composition ------------------------------------------------------------------------------


def append(letter):
    def propagator(key, state):
        return (*state, letter, tuple(np.asarray(jax.random.key_data(key)).tolist()))

    return propagator


def letters(state):
    return "".join(x for x in state if isinstance(x, str))


def test_parts_run_in_turn_each_with_a_key_of_its_own():
    a, b, c = map(append, "abc")
    for whole, order in [(sequence(a, b, c), "abc"), (palindrome(a, b, c), "abcba")]:
        assert isinstance(whole, Propagator)
        state = whole(KEY, ())
        assert letters(state) == order
        keys = state[1::2]
        assert len(set(keys)) == len(order)
    assert letters(palindrome(a)(KEY, ())) == "a"


def noise(key, state):
    return state ^ jax.random.bits(key, state.shape)


def test_a_loop_runs_a_part_many_times_with_new_keys():
    looped = loop(noise, 4)(KEY, jnp.zeros(3, jnp.uint32))
    expected = jnp.zeros(3, jnp.uint32)
    for i in range(4):
        expected = noise(jax.random.fold_in(KEY, i), expected)
    assert same_bits(looped, expected)
    assert same_bits(loop(noise, 0)(KEY, jnp.ones(3, jnp.uint32)), jnp.ones(3, jnp.uint32))


def test_a_switch_draws_its_parts_with_their_probabilities():
    parts = tuple(lambda key, x, i=i: x.at[i].add(1) for i in range(3))
    chosen = advance(switch(parts, (0.2, 0.5, 0.3)), KEY, jnp.zeros(3, jnp.int32), 20_000)
    expected = np.array([0.2, 0.5, 0.3]) * 20_000
    sigma = np.sqrt(expected * (1 - expected / 20_000))
    assert (np.abs(np.asarray(chosen) - expected) < 4 * sigma).all()
    never = advance(switch(parts, (0.0, 1.0, 0.0)), KEY, jnp.zeros(3, jnp.int32), 1000)
    assert never.tolist() == [0, 1000, 0]


def test_impossible_compositions_are_refused():
    with raises(ValueError, "2 parts need as many probabilities, not 1."):
        switch((noise, noise), (1.0,))
    with raises(
        ValueError, "Probabilities are not negative and add up to 1; these are [0.5, 0.6]."
    ):
        switch((noise, noise), (0.5, 0.6))
    with raises(ValueError, "A loop can't run -1 times."):
        loop(noise, -1)


def test_a_composition_grows_like_its_parts():
    whole = sequence(loop(walk, 3), switch((walk, walk), (0.5, 0.5)))
    grown = advance(whole, KEY, start(1), 40)
    assert same_bits(grown, advance(whole, KEY, start(grown.room), 40))


# The application may keep compiled programs on disk -----------------------------------------


def test_a_second_process_finds_the_compiled_chunk_on_disk(tmp_path):
    program = textwrap.dedent(
        """
        import jax, jax.numpy as jnp, sys
        jax.config.update("jax_compilation_cache_dir", sys.argv[1])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        from instar.core.assertion import runtime_assert
        from instar.core.propagator import advance

        def step(key, x):
            runtime_assert(x < 100, "too far: {x}", fmt_args={"x": x})
            return x + jax.random.normal(key)

        print(float(advance(step, jax.random.key(0), jnp.float32(0), 10)))
        """
    )
    run = [sys.executable, "-c", program, str(tmp_path)]
    first = subprocess.run(run, capture_output=True, text=True, check=True, env=os.environ)
    entries = {p.name for p in tmp_path.iterdir() if p.name.endswith("-cache")}
    second = subprocess.run(run, capture_output=True, text=True, check=True, env=os.environ)
    assert entries
    assert {p.name for p in tmp_path.iterdir() if p.name.endswith("-cache")} == entries
    assert first.stdout == second.stdout
