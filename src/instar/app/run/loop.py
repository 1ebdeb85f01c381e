"""`RunLoop`: the one host loop. Advance a chunk, record, checkpoint, show; batch after batch."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from instar.app.config import Loaded
from instar.app.run.agreement import check_agreement, marks_of
from instar.app.run.build import Job, OutgrownError, Phase, built, bytes_of, need_of_chunk, prepared
from instar.app.run.columns import appending, recording_of
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.app.run.documents import wrong_meta
from instar.app.run.ending import lost, remove_end, write_end
from instar.app.run.findings import remove_findings, write_findings
from instar.app.run.planning import cut, systems_of
from instar.app.run.progress import Progress
from instar.app.run.provenance import threads
from instar.app.run.rows import fetched, findings
from instar.app.run.signals import stopped_by_signals
from instar.app.run.snapshot import arrays_of, restored, sizes_of
from instar.app.run.standing import End, Standing
from instar.core.propagator import Repair, advance
from instar.dynamics import Explosion, explosions
from instar.memory import HighWater, MemoryPlanError, Plan, show
from instar.storage import (
    Background,
    Checkpoint,
    CheckpointError,
    Recording,
    RecordingError,
    checkpoint_path,
    newest_checkpoint,
    read_checkpoint,
    recorded_segments,
    write_checkpoint,
)

__all__ = ["RunLoop", "StoppedError"]

_CHUNK_SECONDS = 0.5
"""About how long the host waits for a chunk: so often it looks at the clock and at signals."""


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where there is no room."""


class StoppedError(RuntimeError):
    """A run was asked to stop; it can be resumed."""


@dataclasses.dataclass
class _Memory:
    """What a run has taken beyond what the process held before it."""

    high_water: HighWater
    planned: int
    state: int = 0

    @property
    def taken(self) -> int:
        """Bytes at most so far, the state included; programs and their compiler are not."""
        return self.state + (self.high_water.growth() or 0)


class RunLoop:
    """A run that is going on: its batch, its state, its recording, its clock."""

    def __init__(
        self,
        directory: RunDirectory,
        loaded: Loaded,
        plan: Plan,
        high_water: HighWater,
        say: Callable[[str], None],
        progress: Progress,
        ready: Job | None = None,
    ) -> None:
        self.directory, self.loaded, self.plan = directory, loaded, plan
        self.ready, self.limit = ready, plan.limit
        self.say, self.progress = say, progress
        self.memory = _Memory(high_water, plan.predicted_peak)
        self.batch, self.segments, self.segments_before = 0, 0, 0
        self.job: Job | None = None
        self.state: Any = None
        self.checkpoints, self.chunk = 0, 1
        self.standing, self.marks = Standing(), marks_of(loaded)
        self.prepared: set[str] = set()
        self.growth: list[str] = []
        self.stop, self.has_begun = threading.Event(), False

    # Where the run is ------------------------------------------------------------------------

    @property
    def made(self) -> int:
        """Steps of all batches that are made."""
        return sum(self._reached(batch) for batch in range(len(self.plan.batches)))

    def _reached(self, batch: int) -> int:
        if batch == self.batch and self.state is not None:
            return int(self.state.step)
        return self.standing.reached(systems_of(self.plan, batch))

    @property
    def left(self) -> list[int]:
        """Batches that have steps to make: not those whose systems have all exploded."""
        return [
            batch
            for batch in range(len(self.plan.batches))
            if self._reached(batch) < self.last
            and not self.standing.is_lost(systems_of(self.plan, batch))
        ]

    @property
    def last(self) -> int:
        """Steps of each batch."""
        return self.loaded.production.last

    @property
    def total(self) -> int:
        """Steps of all batches."""
        return self.last * len(self.plan.batches)

    def take_up(self) -> None:
        """Go on from the newest checkpoint that is whole; from the beginning if there is none."""
        if not any(self.directory.checkpoints.glob("*.checkpoint")):
            self._begin_again()
            return
        found, problems = newest_checkpoint(self.directory.checkpoints)
        for problem in problems:
            self.say(f"{problem} The one before is taken.")
        meta = found.meta
        if (wrong := wrong_meta(meta, len(self.loaded.structures))) is not None:
            raise CheckpointError(
                f"The newest checkpoint in {self.directory.checkpoints} is damaged: {wrong}."
            )
        check_agreement(self.directory.path, meta["configuration"], self.marks)
        self._check_plan()
        starts = [systems_of(self.plan, number).start for number in range(len(self.plan.batches))]
        if meta["systems"][0] not in starts:
            raise RunDirectoryError(
                f"The checkpoints in {self.directory.path} do not belong to its plan.json."
            )
        self.standing = Standing.from_json(meta)
        self._check_length(max(meta["step"], *(end.step for end in self.standing.ends.values()), 0))
        for number in self.left:
            remove_end(self.directory, systems_of(self.plan, number).start)
        self.batch, self.checkpoints = starts.index(meta["systems"][0]), meta["number"]
        self.segments_before = self.segments = meta["segments_before"]
        if range(*meta["systems"]) == systems_of(self.plan, self.batch):
            self.segments = meta["segments"]
            if meta["step"] < self.last and self.batch in self.left:
                self._restore(found)
        self.say(f"Going on from step {self.made} of {self.total}.")

    def _begin_again(self) -> None:
        """From the first step, if nothing gets lost by that: no checkpoint was made so far."""
        recorded = recorded_segments(self.directory.trajectory)
        if recorded > 1 or (recorded and not self.directory.checkpoints.is_dir()):
            raise RunDirectoryError(
                f"The checkpoints of the run in {self.directory.path} are gone, and what it has "
                "recorded would be lost if it began again.\n"
                f"Put {self.directory.checkpoints} back, or remove {self.directory.trajectory} to "
                "compute all of it again from the first step."
            )
        self.directory.checkpoints.mkdir(exist_ok=True)
        self.say("There is no checkpoint yet: the run begins again from its first step.")

    def _check_length(self, reached: int) -> None:
        last = self.loaded.production
        if reached > last.last:
            raise RunDirectoryError(
                f"The run in {self.directory.path} has made {reached - last.first} steps of "
                f"{last.name} already; it can't be shortened to {last.steps}."
            )

    def _begin(self, batch: int) -> None:
        """A batch: from where it had ended, or at its first step."""
        self.batch = batch
        end = self.standing.ends.get(systems_of(self.plan, batch).start)
        if end is None:
            self.segments_before = self.segments
            self._begin_batch()
        else:
            path = checkpoint_path(self.directory.checkpoints, end.checkpoint)
            self._restore(read_checkpoint(path))

    def _check_plan(self) -> None:
        """The batches of the plan are all systems, each once, in their order."""
        count = len(self.loaded.structures)
        right = sum(len(batch.items) for batch in self.plan.batches) == count
        right &= all(batch.shape < len(self.plan.shapes) for batch in self.plan.batches)
        items = (int(n) for batch in self.plan.batches for n in batch.items)
        if not right or list(items) != list(range(count)):
            raise RunDirectoryError(
                f"{self.directory.path / 'plan.json'} does not belong to the systems of the run."
            )

    def _restore(self, found: Checkpoint) -> None:
        """The state of a checkpoint; what has come so far is not stopped by its memory."""
        remove_end(self.directory, systems_of(self.plan, self.batch).start)
        systems = systems_of(self.plan, self.batch)
        with self.memory.high_water.apart():
            job = built(self.loaded, systems, None, found.meta.get("blocks", 0), ready=False)
        self._take(job)
        state = restored(self.state, found.arrays, found.meta["sizes"] or {})
        self.state = job.kind.placed(state)
        with self.memory.high_water.apart():
            need = need_of_chunk(job, self.state)
        self.prepared = {job.phase_at(min(int(self.state.step), job.last - 1)).name}
        if need > self.limit:
            self.say(f"The run needs {show(need)}, more than the {show(self.limit)} it may take.")
        self.limit = max(self.limit, need)
        self.memory.planned = max(self.memory.planned, need)

    def _begin_batch(self) -> None:
        """The batch, at its first step."""
        systems = systems_of(self.plan, self.batch)
        job, self.ready = self.ready, None
        if job is None or job.systems != systems:
            with self.memory.high_water.apart():
                job = built(self.loaded, systems, self.limit)
        self._take(job)
        self._check_need(job.need)
        self._say_what_grew("before the first step", job.sizes or {}, sizes_of(job.state))

    def _take(self, job: Job) -> None:
        self.job, self.state = dataclasses.replace(job, state=None), job.state
        self.chunk, self.prepared = 1, {job.phase_at(0).name}
        self.memory.state = bytes_of(job.state) if jax.default_backend() == "cpu" else 0

    # The loop ----------------------------------------------------------------------------------

    def go(self) -> None:
        """To the last step of the last batch, or until it is told to stop."""
        begin, first = time.monotonic(), self.made
        with self._told_if_full(), Background() as background, stopped_by_signals(self.stop):
            while self.left and not self.stop.is_set():
                try:
                    if self.state is None:
                        self._begin(self.left[0])
                    self._run_batch(background)
                except OutgrownError as outgrown:
                    self._cut(outgrown.need)
        self._note_timing(first, time.monotonic() - begin)
        if self.left:
            raise StoppedError(
                f"Stopped at step {self.made} of {self.total}.\n"
                f"Go on with: instar resume {self.directory.path}"
            )
        self._write_lost_ends()

    @contextlib.contextmanager
    def _told_if_full(self) -> Iterator[None]:
        """A disk that can't be written to ends a run in a sentence, and what to do about it."""
        try:
            yield
        except (RecordingError, OSError) as error:
            is_ours = isinstance(error, RecordingError) or error.errno in _FULL
            if not (self.has_begun and is_ours):
                raise
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"{self.directory.path} can't be written: {error.strerror}."
            raise RunDirectoryError(
                f"{reason}\n"
                "All that was recorded up to the last checkpoint is kept. Go on, once it can be "
                f"written, with: instar resume {self.directory.path}"
            ) from error

    def _run_batch(self, background: Background) -> None:
        assert self.job is not None
        recording = recording_of(
            self.directory.trajectory, self.job.kind, self.segments, self.job.systems
        )
        try:
            self._record_batch(self.job, recording, background)
        except OutgrownError:
            background.wait()
            recording.abandon()
            raise
        except RecordingError:  # the background does nothing any more
            recording.abandon()
            raise
        if self._is_over:
            self._let_go()

    @property
    def _is_over(self) -> bool:
        """Whether the batch has made all of its steps, or none of its systems can make another."""
        return self.batch not in self.left

    def _let_go(self) -> None:
        """Of the state, which was not counted when it was made."""
        with self.memory.high_water.apart():
            self.state, self.job = None, None

    def _record_batch(self, job: Job, recording: Recording, background: Background) -> None:
        pause = self.loaded.config.output.checkpoint_every
        due = time.monotonic() + pause
        if not int(self.state.step) and self.segments == self.segments_before:
            self.state, thermo, frames = fetched(job.kind, self.state)
            background.do(appending(recording, thermo, frames, self.loaded.time))
        while not (self._is_over or self.stop.is_set()):
            thermo, frames = self._advance_a_chunk(job)
            background.do(appending(recording, thermo, frames, self.loaded.time))
            if time.monotonic() >= due:
                self._checkpoint(background, recording)
                due = time.monotonic() + pause
        self._checkpoint(background, recording)

    def _advance_a_chunk(self, job: Job) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        step = int(self.state.step)
        phase = job.phase_at(step)
        if step == phase.begins_at:
            self._begin_stage(job, phase)
        count = min(self.chunk, phase.longest_chunk, phase.last - step)
        begin, sizes = time.monotonic(), sizes_of(self.state)
        if phase.name not in self.prepared:
            self._prepare(job, self.state)
            self.prepared.add(phase.name)

        def repaired(repair: Repair) -> None:
            self._say_what_grew(f"at step {repair.step}", sizes, sizes_of(repair.state))
            sizes.update(sizes_of(repair.state))
            self._prepare(job, repair.state)

        state = advance(phase.step, job.key, self.state, count, start=step, on_repair=repaired)
        self.state, thermo, frames = fetched(job.kind, state)
        self.has_begun = True
        self.memory.high_water.give_back_beyond(self.memory.planned - self.memory.state)
        took = time.monotonic() - begin
        self.chunk = int(np.clip(count * _CHUNK_SECONDS / max(took, 1e-3), 1, 4 * self.chunk))
        self._look_for_explosions(job.systems)
        self.progress.pace = self.loaded.pace_at(step)
        self.progress.update(
            self.made, self.total, self._named(phase.name), thermo, self._memory_line()
        )
        return thermo, frames

    def _begin_stage(self, job: Job, phase: Phase) -> None:
        """With what a method that begins here needs: cells and chains at rest, a virial."""
        sizes = sizes_of(self.state)
        with self.memory.high_water.apart():
            state = job.kind.placed(phase.step.laid_out(self.state))
            self._prepare(job, state)
            ready = prepared(job, state, lambda repair: self._prepare(job, repair.state))
            self.state = dataclasses.replace(ready, observed=state.observed)  # that has looked
        self.prepared.add(phase.name)
        self._say_what_grew(f"before the stage {phase.name}", sizes, sizes_of(self.state))

    def _named(self, phase: str) -> str:
        batches = len(self.plan.batches)
        return phase if batches == 1 else f"{phase}, batch {self.batch + 1} of {batches}"

    # Memory ------------------------------------------------------------------------------------

    def _memory_line(self) -> str:
        taken, planned = show(self.memory.taken), show(self.memory.planned)
        return f"{taken}, planned {planned}, allowed {show(self.limit)}"

    def _prepare(self, job: Job, state: Any) -> None:
        """Compile what comes next, and see that it fits."""
        with self.memory.high_water.apart():
            self._check_need(need_of_chunk(job, state))

    def _check_need(self, need: int) -> None:
        if need > self.limit:
            raise OutgrownError(need)
        self.memory.planned = max(self.memory.planned, need)

    def _cut(self, need: int) -> None:
        """Begin the batch again as two: together they no longer fit."""
        if systems_of(self.plan, self.batch).start in self.standing.ends:
            raise MemoryPlanError(
                f"Batch {self.batch + 1} would need {show(need)} of {show(self.limit)}; it has "
                "ended once, and a batch that is extended is not cut.\nGive the run a larger "
                f"memory.budget in {self.directory.config}, and resume it."
            )
        self.plan = cut(self.loaded, self.plan, self.batch, need)
        self.directory.write_json("plan.json", self.plan.to_json())
        remove_findings(self.directory.observed, systems_of(self.plan, self.batch).start)
        self.segments = self.segments_before
        self._let_go()
        self.say(
            f"Batch {self.batch + 1} would need {show(need)} of {show(self.limit)}: it is cut in "
            "two, and begins again."
        )

    def _say_what_grew(
        self, when: str, before: Mapping[str, int], after: Mapping[str, int]
    ) -> None:
        grown = [f"{n} {before[n]} → {after[n]}" for n in before if before[n] != after[n]]
        if grown:
            self.growth.append(f"{when}: {', '.join(grown)}")
            self.progress.grown += 1
            self.say(f"Buffers have grown {self.growth[-1]}. This does not change the result.")

    # What is kept ------------------------------------------------------------------------------

    def _note_timing(self, first: int, seconds: float) -> None:
        session = {
            "first": first,
            "last": self.made,
            "seconds": seconds,
            "peak": self.memory.taken,
            "planned": self.memory.planned,
            "growth": self.growth,
            "threads": threads(),
            "devices": jax.local_device_count(),
        }
        known: list[Any] = []
        with contextlib.suppress(RunDirectoryError):  # damaged: a run does not fail for its clock
            known = self.directory.read_json("timing.json") or []
        self.directory.write_json("timing.json", [*known, session])

    def _look_for_explosions(self, systems: range) -> None:
        known = sum(number in self.standing.exploded for number in systems)
        if int(np.asarray(self.state.systems.data.frozen).sum()) > known:
            for explosion in self.standing.note(self._explosions(systems)):
                self.say(str(explosion))
            self._note_explosions()

    def _explosions(self, systems: range) -> Iterator[Explosion]:
        """Systems of a batch that are frozen, by their numbers and names within the run."""
        for found in explosions(self.state):
            number = systems.start + found.system
            name = self.loaded.names[number] if self.loaded.systems[number].name else ""
            yield found._replace(system=number, name=name)

    def _note_explosions(self) -> None:
        told = [one._asdict() for one in sorted(self.standing.exploded.values())]
        self.directory.write_json("exploded.json", told)

    def _checkpoint(self, background: Background, recording: Recording) -> None:
        """All that was noted so far is on disk, then the state that comes after it."""
        assert self.job is not None
        background.do(recording.commit)
        background.wait()
        self.checkpoints, self.segments = self.checkpoints + 1, recording.segments
        systems, needed = self.job.systems, self.standing.checkpoints
        if self._is_over:
            self._write_end(self.job)
            self.standing.ends[systems.start] = End(int(self.state.step), self.checkpoints)
        try:
            write_findings(self.directory.observed, systems, findings(self.loaded, self.state))
        finally:  # whatever an observer does, the state is kept
            write_checkpoint(
                self.directory.checkpoints,
                self.checkpoints,
                arrays_of(self.state),
                self._meta(systems),
                needed | self.standing.checkpoints,
            )

    def _write_end(self, job: Job) -> None:
        structures = job.kind.structures(self.state, job.systems)
        write_end(self.directory, self.loaded, job.systems, structures)

    def _write_lost_ends(self) -> None:
        """What batches wrote at their end and is gone, from the checkpoints they ended with."""
        for batch in range(len(self.plan.batches)):
            first = systems_of(self.plan, batch).start
            known = first in self.standing.ends
            if not (known and lost(self.directory, first, self.loaded.observations)):
                continue
            self.say(
                f"The end of batch {batch + 1} is missing from the folder; it is written again."
            )
            self._begin(batch)
            assert self.job is not None
            self._write_end(self.job)
            found = findings(self.loaded, self.state)
            write_findings(self.directory.observed, self.job.systems, found)
            self._let_go()

    def _meta(self, systems: range) -> dict[str, Any]:
        assert self.job is not None
        return {
            "configuration": self.marks,
            "number": self.checkpoints,
            "systems": [systems.start, systems.stop],
            "sizes": sizes_of(self.state),
            "blocks": self.job.kind.blocks_of(self.state),
            "segments": self.segments,
            "segments_before": self.segments_before,
            "step": int(self.state.step),
            **self.standing.to_json(),
        }
