"""`HighWater`: how much more memory was held at once than at a beginning."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Iterator
from typing import Any

import jax

from instar.memory.readings import high_water, reset_high_water, resident

__all__ = ["HighWater"]

PAUSES = (0.0, 0.001, 0.004, 0.015, 0.05)
"""Seconds to wait for memory that is about to be freed."""


class HighWater:
    """From its making on: the device's own record, or that of the process if it is a CPU.

    What the process held at most before counts where the system can't forget it.
    """

    def __init__(self, device: Any = None) -> None:
        self._device = jax.local_devices()[0] if device is None else device
        self._on_host = self._device.platform == "cpu"
        self._most, self._stuck = 0, 0.0
        self._before = self._held()
        if self._on_host:
            reset_high_water()

    def growth(self) -> int | None:
        """Bytes beyond those at the beginning; None if nobody keeps a record."""
        most = high_water() if self._on_host else self._stats().get("peak_bytes_in_use")
        if most is None or self._before is None:
            return None
        return max(self._most, int(most) - self._before)

    def give_back_beyond(self, kept: int | float) -> None:
        """Let the allocator give free blocks back if more than ``kept`` bytes are held."""
        for pause in PAUSES:
            held = resident() if self._on_host else None
            if held is None or self._before is None or held - self._before <= kept + self._stuck:
                return
            time.sleep(pause)  # programs free their buffers a moment after they are done
            _give_back()
        self._stuck = max(0.0, (resident() or 0) - self._before - kept)  # not worth another wait

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """What is held within is not counted: a compiler's own memory, and its programs."""
        if not self._on_host:
            yield
            return
        self._most = self.growth() or 0
        before = self._held()
        yield
        after = self._held()
        if None not in (before, after, self._before) and reset_high_water():
            self._before += after - before

    def _held(self) -> Any:
        if self._on_host:
            _give_back()
        return resident() if self._on_host else self._stats().get("bytes_in_use")

    def _stats(self) -> dict[str, Any]:
        return self._device.memory_stats() or {}


def _give_back() -> None:
    """Free blocks that the allocator keeps go back to the system, where it can be asked to."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
