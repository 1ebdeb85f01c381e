"""`simulate_blocks`: many systems, a few at a time through all steps.

A block is a state of a few systems. What its step needs stays in a processor's cache, its neighbors
are listed again only when one of its own particles has moved too far, and devices share no work:
each takes its blocks one after the other. Trajectories are those of one large state, up to
rounding, since every system draws from its own stream.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from instar.core.propagator import Repair
from instar.dynamics.containment import explosions
from instar.dynamics.md.state import NEIGHBORS, State
from instar.dynamics.observing import observing
from instar.dynamics.part import Part
from instar.dynamics.simulate import advanced, warn_of
from instar.dynamics.state import check_state
from instar.neighbors import Sizes
from instar.observables.observer import Observer

__all__ = ["begin_blocks", "simulate_blocks"]


def begin_blocks(method: Part, blocks: Sequence[State]) -> list[State]:
    """Prepare every block for a method that has variables of its own, such as `nose_hoover`.

    Parameters
    ----------
    method
        A step such as `nose_hoover` makes.
    blocks
        States, such as `instar.md_blocks` makes.

    Returns
    -------
    list of State
        The blocks, each after ``method.begin(block)``.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> from instar.units import fs
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> blocks = instar.md_blocks([Atoms("Ar")] * 6, trap, atoms=2, temperature=40.0)
    >>> method = instar.md.nose_hoover(2 * fs, temperature=40.0, time_constant=100 * fs)
    >>> blocks = instar.md.begin_blocks(method, blocks)
    >>> print(blocks[0].systems.data.thermostat.velocity.shape)
    (2, 3)
    """
    methods = _of_blocks(method, blocks)
    return [one.begin(block) for one, block in zip(methods, blocks, strict=True)]


def simulate_blocks(
    method: Part,
    blocks: Sequence[State],
    steps: int,
    *,
    seed: int = 0,
    observers: Callable[[State], Mapping[str, Observer]] | None = None,
    every: int = 1,
    devices: Sequence[jax.Device] | None = None,  # pyright: ignore[reportInvalidTypeForm]
    on_repair: Callable[[int, Repair], None] | None = None,
) -> list[State]:
    """Every block after that many more steps, as `simulate` does it for one state.

    Blocks of one shape share a compiled program, and the room of their neighbor lists. Devices take
    the blocks in turn, each block through all steps.

    Parameters
    ----------
    method
        A step such as `langevin` makes; its numbers are one for all systems, or one per system,
        counted through all blocks. One with variables of its own needs `begin_blocks` first.
    blocks
        States, such as `instar.md_blocks` makes. No two systems may have the same stream
        (``start(..., streams=...)``).
    steps
        How many more steps.
    seed
        Of random numbers; every system draws from a stream of its own.
    observers
        A function of a block that returns its observers by name; left out, those that the blocks
        have go on.
    every
        Steps between two looks.
    devices
        Devices of JAX; left out, all local ones.
    on_repair
        Called with the number of the block and a `Repair` when something has grown.

    Returns
    -------
    list of State
        The blocks, in their order.

    Raises
    ------
    ValueError
        If two systems have the same stream.
    CapacityError
        If something is too small that can't grow.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> blocks = instar.md_blocks([Atoms("Ar")] * 6, trap, atoms=2, temperature=40.0)
    >>> blocks = instar.md.simulate_blocks(instar.md.nve(2 * instar.units.fs), blocks, 10)
    >>> [int(block.step) for block in blocks]
    [10, 10, 10]
    """
    for block in blocks:
        check_state(block)
    _check_streams(blocks)
    methods = _of_blocks(method, blocks)
    if observers is not None:
        blocks = [observing(block, observers(block), every) for block in blocks]
    before = [frozenset(explosion.system for explosion in explosions(b)) for b in blocks]
    devices = jax.local_devices() if devices is None else list(devices)
    common, failed = _Room(), threading.Event()
    for block in blocks:
        common.noted(block)

    def one(number: int, device: Any) -> State:
        told = None if on_repair is None else _numbered(on_repair, number)
        with jax.enable_x64(blocks[number].dtype == np.float64):
            block = jax.device_put(common.given(blocks[number]), device)
            return advanced(methods[number], block, steps, seed, told)

    def of_device(place: int) -> dict[int, State]:
        done: dict[int, State] = {}
        for number in range(place, len(blocks), len(devices)):
            if failed.is_set():
                break
            try:
                done[number] = one(number, devices[place])
            except BaseException:
                failed.set()
                raise
            common.noted(done[number])
        return done

    with ThreadPoolExecutor(len(devices)) as pool:
        parts = [pool.submit(of_device, place) for place in range(len(devices))]
    done = {number: block for part in parts for number, block in part.result().items()}
    first = 0
    for number, known in enumerate(before):
        warn_of(done[number], known, first)
        first += len(done[number].systems)
    return [done[number] for number in range(len(blocks))]


def _numbered(tell: Callable[[int, Repair], None], number: int) -> Callable[[Repair], None]:
    return lambda repair: tell(number, repair)


def _check_streams(blocks: Sequence[State]) -> None:
    streams = np.concatenate([np.asarray(b.systems.data.stream) for b in blocks] or [[]])
    if len(np.unique(streams)) < len(streams):
        raise ValueError(
            "Two systems of these blocks have the same stream, so they would draw the same "
            "numbers.\nGive each block streams of its own: start(..., streams=range(first, last))."
        )


def _of_blocks(method: Part, blocks: Sequence[State]) -> list[Part]:
    """The method for each block: knobs that have one number a system are cut."""
    total = sum(len(block.systems) for block in blocks)
    methods, first = [], 0
    for block in blocks:
        last = first + len(block.systems)

        def cut(knob: Any, first: int = first, last: int = last) -> Any:
            return knob[first:last] if np.shape(knob)[:1] == (total,) else knob

        methods.append(jax.tree.map(cut, method))
        first = last
    return methods


class _Room:
    """The most room that a neighbor list of any block has needed: what one grew, all have."""

    def __init__(self) -> None:
        self._most: Sizes | None = None
        self._lock = threading.Lock()

    def noted(self, block: State) -> None:
        """Learn from a block."""
        if block.neighbors is None:
            return
        here = block.neighbors.sizes
        with self._lock:
            self._most = here if self._most is None else self._larger(here, self._most)

    def given(self, block: State) -> State:
        """The block with that room; how it divides space stays its own."""
        if block.neighbors is None or self._most is None:
            return block
        with self._lock:
            most = dataclasses.asdict(self._larger(block.neighbors.sizes, self._most))
        return NEIGHBORS.set(block, block.neighbors.resized(**most))

    @staticmethod
    def _larger(here: Sizes, there: Sizes) -> Sizes:
        names = ("images", "neighbors", "words")
        most = {name: max(getattr(here, name), getattr(there, name)) for name in names}
        return dataclasses.replace(here, **most)
