"""`Background`: writing that goes on while a run computes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Background"]


class Background:
    """One thread that does work in the order in which it is given.

    The queue is short: who gives work faster than it is done has to wait. The first error ends
    all work, and is raised by the next `do` or `wait`.
    """

    def __init__(self, depth: int = 4) -> None:
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(depth)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="instar-writer", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], None]) -> None:
        """Have it done, soon."""
        self._raise()
        self._queue.put(work)

    def wait(self) -> None:
        """Until all that was given is done."""
        self._queue.join()
        self._raise()

    def close(self) -> None:
        """Do what is left, then end the thread; errors are those of `wait`."""
        self._queue.put(None)
        self._thread.join()
        self._raise()

    def __enter__(self) -> Background:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._queue.put(None)  # an error is on its way already
            self._thread.join()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while True:
            work = self._queue.get()
            try:
                if work is None:
                    return
                if self._error is None:
                    work()
            except BaseException as error:  # raised where the run is
                self._error = error
            finally:
                self._queue.task_done()
