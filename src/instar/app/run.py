"""`run` and `resume`: the one host loop. Advance a chunk, record, checkpoint, show."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from instar.app.build import Job, built
from instar.app.config import Loaded, load
from instar.app.directory import RunDirectory, RunDirectoryError
from instar.app.progress import Progress, Silent
from instar.app.provenance import provenance
from instar.app.recorder import THERMO
from instar.app.results import Run, summarised
from instar.app.snapshot import arrays_of, restored, sizes_of
from instar.app.units import parse_unit
from instar.core.propagator import advance
from instar.dynamics import md
from instar.storage import (
    Background,
    Column,
    Recording,
    newest_checkpoint,
    write_checkpoint,
)

__all__ = ["StoppedError", "resume", "run"]

_CHUNK_SECONDS = 0.5
"""About how long the host waits for a chunk: so often it looks at the clock and at signals."""

FEMTOSECOND = parse_unit("fs")[0]


class StoppedError(RuntimeError):
    """A run was asked to stop; it can be resumed."""


def run(
    config: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    changes: Sequence[str] = (),
    progress: Progress | None = None,
    report: bool = True,
) -> Run:
    """Do what a configuration says, in a new folder; gives what was found.

    ``out`` is the folder, in place of ``output.directory``. A run that is stopped, by a signal or
    by a failure, goes on with `resume`. At its end a ``report`` is written.
    """
    loaded = load(config, changes)
    place = out or loaded.config.output.directory
    if place is None:
        raise RunDirectoryError("Say where the run is to live: --out DIR, or output.directory.")
    RunDirectory(Path(place)).check_free()
    with _precision(loaded):
        job = built(loaded)
        directory = RunDirectory.create(Path(place), loaded)
        with directory.locked():
            directory.write_json("provenance.json", provenance(loaded))
            _worked(directory, loaded, job, progress or Silent(), start=True)
            return _finished(directory, loaded, report)


def resume(out: str | Path, *, progress: Progress | None = None, report: bool = True) -> Run:
    """Go on with a run from its last checkpoint, to the number of steps that was asked for."""
    directory = RunDirectory.open(Path(out))
    with directory.locked():
        loaded = load(directory.config, structures=directory.structures())
        with _precision(loaded):
            _worked(directory, loaded, built(loaded), progress or Silent(), start=False)
            return _finished(directory, loaded, report)


def _finished(directory: RunDirectory, loaded: Loaded, report: bool) -> Run:
    directory.write_json("summary.json", summarised(directory.trajectory, loaded))
    if report:
        from instar.app.report import write_report  # what it draws with takes time to import

        write_report(directory, loaded)
    return Run(directory)


def _precision(loaded: Loaded) -> Any:
    return jax.enable_x64(loaded.config.precision == "float64")


def _worked(
    directory: RunDirectory, loaded: Loaded, job: Job, progress: Progress, start: bool
) -> None:
    with progress, _log(directory) as log:
        work = _Work(directory, loaded, job, _both(log, progress.say), progress)
        if not start:
            work.take_up()
        with Background() as background:
            work.go(background)


class _Work:
    """A run that is going on: its state, its recording, its clock."""

    def __init__(
        self,
        directory: RunDirectory,
        loaded: Loaded,
        job: Job,
        say: Callable[[str], None],
        progress: Progress,
    ) -> None:
        self.directory, self.loaded, self.job = directory, loaded, job
        self.say, self.progress = say, progress
        self.state, self.segments, self.chunk = job.state, 0, 1
        self.growth: list[str] = []
        self.exploded = 0
        self.stop = threading.Event()

    @property
    def step(self) -> int:
        """How many steps are made."""
        return int(self.state.step)

    def take_up(self) -> None:
        """Go on from the newest checkpoint that is whole; from the beginning if there is none."""
        if not any(self.directory.checkpoints.iterdir()):
            self.say("There is no checkpoint yet: the run begins anew.")
            return
        found, problems = newest_checkpoint(self.directory.checkpoints)
        for problem in problems:
            self.say(f"{problem} The one before is taken.")
        if found.meta["configuration"] != _digest(self.loaded):
            raise RunDirectoryError(
                f"The checkpoints in {self.directory.path} are those of another configuration."
            )
        self.state = dataclasses.replace(
            restored(self.job.state, found.arrays, found.meta["sizes"]),
            observed=self.job.state.observed,
        )
        self.segments = found.meta["segments"]
        self.say(f"Going on from step {self.step} of {self.job.last}.")

    def go(self, background: Background) -> None:
        """To the last step, or until it is told to stop."""
        recording = Recording(
            self.directory.trajectory,
            _streams(self.job.state, self.loaded),
            _constants(self.loaded),
            _about(self.loaded),
            self.segments,
        )
        begin, first = time.monotonic(), self.step
        due = begin + self.loaded.config.output.checkpoint_every
        with _signals(self.stop):
            while self.step < self.job.last and not self.stop.is_set():
                thermo, frames = self._advance_a_chunk()
                background.do(_appending(recording, thermo, frames, self.loaded))
                if time.monotonic() >= due:
                    self._checkpoint(background, recording)
                    due = time.monotonic() + self.loaded.config.output.checkpoint_every
            self._checkpoint(background, recording)
        self._note_timing(first, time.monotonic() - begin)
        if self.step < self.job.last:
            raise StoppedError(
                f"Stopped at step {self.step} of {self.job.last}.\n"
                f"Go on with: instar resume {self.directory.path}"
            )

    def _advance_a_chunk(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        phase = self.job.phase_at(self.step)
        count = min(self.chunk, self.job.longest_chunk, phase.last - self.step)
        begin, before = time.monotonic(), self.state
        repaired: list[int] = []
        state = advance(
            phase.step,
            jax.random.key(self.job.seed),
            self.state,
            count,
            start=self.step,
            on_repair=lambda one: repaired.append(one.step),
        )
        thermo, frames = state.observed.read()
        took = time.monotonic() - begin
        self.state = dataclasses.replace(state, observed=state.observed.erased())
        self.chunk = int(np.clip(count * _CHUNK_SECONDS / max(took, 1e-3), 1, 4 * self.chunk))
        if repaired:
            self._say_what_grew(repaired[0], sizes_of(before) or {}, sizes_of(state) or {})
        self._look_for_explosions()
        self.progress.update(self.step, self.job.last, phase.name, thermo)
        return thermo, frames

    def _say_what_grew(self, step: int, before: dict[str, int], after: dict[str, int]) -> None:
        grown = [f"{n} {before[n]} → {after[n]}" for n in before if before[n] != after[n]]
        self.growth.append(f"step {step}: {', '.join(grown)}")
        self.say(f"Buffers have grown at {self.growth[-1]}. The result is not changed by that.")

    def _note_timing(self, first: int, seconds: float) -> None:
        session = {
            "first": first,
            "last": self.step,
            "seconds": seconds,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "growth": self.growth,
        }
        known = self.directory.read_json("timing.json") or []
        self.directory.write_json("timing.json", [*known, session])

    def _look_for_explosions(self) -> None:
        if int(np.sum(self.state.systems.data.frozen)) > self.exploded:
            found = md.explosions(self.state)
            for explosion in found:
                self.say(str(explosion))
            self.exploded = len(found)

    def _checkpoint(self, background: Background, recording: Recording) -> None:
        """All that was noted so far is on disk, then the state that comes after it."""
        background.do(recording.commit)
        background.wait()
        meta = {
            "configuration": _digest(self.loaded),
            "sizes": sizes_of(self.state),
            "segments": recording.segments,
            "step": self.step,
        }
        write_checkpoint(self.directory.checkpoints, self.step, arrays_of(self.state), meta)


def _digest(loaded: Loaded) -> str:
    """What a checkpoint must have been made for."""
    text = json.dumps({**loaded.data, "output": None, "memory": None}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _streams(state: md.State, loaded: Loaded) -> dict[str, dict[str, Column]]:
    systems, particles = len(state.systems), len(state.particles)
    frames = {
        "step": Column((), "int64"),
        "time": Column((), "float64", "fs"),
        "positions": Column((particles, 3), "float32", "angstrom"),
        "cell": Column((systems, 3, 3), "float64", "angstrom"),
    }
    if loaded.config.output.velocities:
        frames["velocities"] = Column((particles, 3), "float32", "angstrom/fs")
    thermo = {"step": Column((), "int64"), "time": Column((), "float64", "fs")}
    thermo |= {name: Column((systems,), "float64", unit) for name, unit in THERMO.items()}
    return {"frames": frames, "thermo": thermo}


def _constants(loaded: Loaded) -> dict[str, dict[str, Any]]:
    structures = loaded.structures
    wanted = [(w.temperature, w.pressure) for w in loaded.systems]
    asked = np.array([[np.nan if x is None else x for x in row] for row in wanted])
    counts = np.array([len(atoms) for atoms in structures])
    return {
        "particles": {
            "system": np.repeat(np.arange(len(structures), dtype=np.int32), counts),
            "numbers": np.concatenate([atoms.numbers for atoms in structures]).astype(np.int32),
            "masses": np.concatenate([atoms.get_masses() for atoms in structures]),
        },
        "systems": {
            "particles": counts,
            "periodic": np.array([atoms.pbc for atoms in structures]),
            "temperature": asked[:, 0],
            "pressure": asked[:, 1] / parse_unit("bar")[0],
        },
    }


def _about(loaded: Loaded) -> dict[str, Any]:
    return {
        "title": loaded.config.title,
        "time_step": loaded.config.method.time_step / FEMTOSECOND,
        "equilibration": loaded.config.run.equilibration,
    }


def _appending(
    recording: Recording,
    thermo: Mapping[str, np.ndarray],
    frames: Mapping[str, np.ndarray],
    loaded: Loaded,
) -> Callable[[], None]:
    """Work for the background: rows as they stand on disk."""
    time_step = loaded.config.method.time_step / FEMTOSECOND

    def append() -> None:
        for stream, rows in (("thermo", thermo), ("frames", frames)):
            if len(rows["step"]):
                timed = {**rows, "time": rows["step"] * time_step}
                if "velocities" in timed:
                    timed["velocities"] = timed["velocities"] * FEMTOSECOND
                recording.append(stream, timed)

    return append


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM end the run after its chunk; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def asked(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {n: signal.signal(n, asked) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _log(directory: RunDirectory) -> Iterator[Callable[[str], None]]:
    with open(directory.log, "a", encoding="utf-8") as file:

        def say(text: str) -> None:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            file.write(f"{stamp} {text}\n")
            file.flush()

        yield say


def _both(*tell: Callable[[str], None]) -> Callable[[str], None]:
    def say(text: str) -> None:
        for one in tell:
            one(text)

    return say
