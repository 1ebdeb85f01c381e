"""Many systems through few rooms: what has ended leaves, and what waits takes its place.

A state has a fixed number of rows for particles and of slots for systems, so that one compiled
program does for all. It runs until enough has ended; then the host takes out what has, and puts in
what waits, the largest first. A newcomer needs neither rows that follow each other nor the slot of
one of its size. The order follows from the sizes alone, and from what has become of the others.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

__all__ = ["Passengers", "Room", "fly", "room_for_flight"]


@dataclasses.dataclass(frozen=True)
class Room:
    """What there is at once: rows for atoms, slots for systems, rows for periodic images."""

    atoms: int
    systems: int
    images: int


@runtime_checkable
class Passengers(Protocol):
    """Systems that wait, and a state that has room for some of them."""

    @property
    def atoms(self) -> np.ndarray:
        """How many rows each of all systems takes."""
        ...

    @property
    def images(self) -> np.ndarray:
        """How many rows for images each of them takes, about."""
        ...

    def put(self, state: Any, items: list[int], slots: list[int], rows: list[np.ndarray]) -> Any:
        """The state with these systems in these slots, and their atoms in these rows."""
        ...

    def ended(self, state: Any) -> np.ndarray:
        """(slots,) which systems have ended."""
        ...

    def taken(self, state: Any, slot: int, rows: np.ndarray) -> Any:
        """What has become of the system in a slot."""
        ...

    def emptied(self, state: Any, slots: list[int], rows: list[np.ndarray]) -> Any:
        """The state without the systems in these slots."""
        ...

    def advanced(self, state: Any, waiting: bool) -> Any:
        """The state after some steps: until enough have ended for what waits, or all have."""
        ...


def fly(
    passengers: Passengers,
    state: Any,
    room: Room,
    order: np.ndarray,
    landed: Callable[[int, Any], None],
) -> Any:
    """The state once all systems have ended; ``landed(item, result)`` is called for each."""
    waiting = order.tolist()
    inside: dict[int, tuple[int, np.ndarray]] = {}  # by slot: which system, and its rows
    free_rows = np.ones(room.atoms, bool)
    while True:
        entering = _entering(waiting, inside, room, passengers, int(free_rows.sum()))
        slots = [n for n in range(room.systems) if n not in inside][: len(entering)]
        places = []
        for item, slot in zip(entering, slots, strict=True):
            rows = np.flatnonzero(free_rows)[: passengers.atoms[item]]
            free_rows[rows] = False
            inside[slot] = (item, rows)
            places.append(rows)
        if entering:
            state = passengers.put(state, entering, slots, places)
        if not inside:
            return state
        state = passengers.advanced(state, bool(waiting))
        ended = passengers.ended(state)
        leaving = [slot for slot in sorted(inside) if ended[slot]]
        for slot in leaving:
            item, rows = inside[slot]
            landed(item, passengers.taken(state, slot, rows))
            free_rows[rows] = True
        gone = [inside.pop(slot)[1] for slot in leaving]
        state = passengers.emptied(state, leaving, gone)


def _entering(
    waiting: list[int],
    inside: dict[int, tuple[int, np.ndarray]],
    room: Room,
    passengers: Passengers,
    rows: int,
) -> list[int]:
    """The first of those who wait that fit, one after the other; they wait no longer."""
    slots = room.systems - len(inside)
    images = room.images - int(sum(passengers.images[item] for item, _ in inside.values()))
    chosen: list[int] = []
    smallest = min((int(passengers.atoms[item]) for item in waiting), default=0)
    for item in waiting:
        if slots == 0 or rows < smallest:
            break
        atoms, seen = int(passengers.atoms[item]), int(passengers.images[item])
        alone = not inside and not chosen
        if atoms <= rows and (seen <= images or alone):
            chosen.append(item)
            slots, rows, images = slots - 1, rows - atoms, images - seen
    left = set(chosen)
    waiting[:] = [item for item in waiting if item not in left]
    return chosen


def room_for_flight(
    atoms: np.ndarray, images: np.ndarray, rows: int, *, whole: bool = False
) -> Room:
    """About so many rows, or as many as the largest system has; and slots and images for them.

    ``whole`` is room for all systems at once.
    """
    if whole:
        return Room(int(atoms.sum()), len(atoms), int(np.ceil(1.1 * images.sum())) + 1)
    rows = min(max(rows, int(atoms.max(initial=1))), int(atoms.sum()))
    small = max(1.0, float(np.quantile(atoms, 0.1)))  # those come last, and then fill all rows
    seen = float(images.sum()) / max(1, int(atoms.sum()))
    slots = min(len(atoms), max(1, int(np.ceil(rows / small))))
    most = int(np.ceil(1.1 * rows * max(seen, 1.0)))
    return Room(max(1, rows), slots, max(most, int(images.max(initial=1))))
