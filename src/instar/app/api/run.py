"""`run` and `resume`: a configuration becomes a folder with what was found."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from instar.app.config import Loaded, Trust, load
from instar.app.config.changes import lengthening
from instar.app.results.run import Run
from instar.app.results.summary import summarised
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.app.run.kinds import kind_of
from instar.app.run.loop import RunLoop, StoppedError
from instar.app.run.notes import notes_of
from instar.app.run.planning import check_disk, planned
from instar.app.run.progress import Progress, progress_of
from instar.app.run.provenance import departures, provenance
from instar.app.run.standing import ExplodedError
from instar.dynamics import ExplosionWarning
from instar.memory import HighWater, Plan, find_budget, show
from instar.potentials import Potential

__all__ = ["ExplodedError", "StoppedError", "open_run", "resume", "run"]

if TYPE_CHECKING:
    Folder = str | os.PathLike[str]
else:
    Folder = Any  # what is none is refused in words


def run(
    config: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    changes: Sequence[str] = (),
    progress: bool | Progress | Callable[[int, int], None] | None = None,
    report: bool = True,
    trusted: bool = False,
) -> Run:
    """Run a simulation from a configuration, in a new folder.

    A run that is stopped, by a signal or by a failure, goes on with `resume`; one that fails before
    its first step leaves no folder. Systems that explode are frozen, and the others go on: an
    `ExplosionWarning` counts them at the end.

    Parameters
    ----------
    config
        A YAML file, or a mapping of the same form.
    out
        The folder, in place of ``output.directory``.
    changes
        Changes of the configuration, such as ``["run.steps=100"]``.
    progress
        True to show it, False for none, None to show it on a terminal and in a notebook; or a
        function that is called with what is done and with all there is to do (steps).
    report
        Whether ``report.html`` is written at the end.
    trusted
        Whether the configuration may name calculators that start programs or load code.

    Returns
    -------
    Run
        What was found: averages, thermo, frames.

    Raises
    ------
    ConfigurationError
        If the configuration is wrong: all mistakes, with their lines.
    RunDirectoryError
        If the folder can't be used.
    MemoryPlanError
        If a system does not fit into the budget.
    ExplodedError
        If all systems have exploded; the run ends early.
    StoppedError
        If the run was asked to stop (SIGINT, SIGTERM), after a checkpoint.

    Examples
    --------
    >>> import instar
    >>> instar.run({"systems": []}, out="nowhere")
    Traceback (most recent call last):
        ...
    instar.app.config.base.ConfigurationError: configuration: ...
    """
    shown = progress_of(progress)
    loaded = load(config, changes, trust=Trust.of(trusted))
    place = out or loaded.config.output.directory
    if not place:
        raise RunDirectoryError("The run needs a folder: --out DIR, or output.directory.")
    RunDirectory(Path(place)).check_free()
    check_disk(loaded, Path(place))
    shown.say(f"Compiling the program for {loaded.told}.")
    with jax.enable_x64(loaded.config.precision == "float64"):
        high_water = HighWater()
        plan, job = planned(loaded, high_water)
        about = {"provenance.json": provenance(loaded), "plan.json": plan.to_json()}
        directory = RunDirectory.create(Path(place), loaded, about)
        with (
            _discarded_unless_begun(directory) as loops,
            directory.locked(),
            _told(directory, loaded, shown) as say,
        ):
            loop = RunLoop(directory, loaded, plan, high_water, say, shown, ready=job)
            loops.append(loop)
            del job  # its state is the run's from now on
            for text in (_headline(loaded, plan), *notes_of(loaded)):
                say(text)
            loop.go()
            return _finished(directory, loaded, say, report)


def resume(
    out: Folder,
    *,
    steps: int | None = None,
    potential: Potential | None = None,
    progress: bool | Progress | Callable[[int, int], None] | None = None,
    report: bool = True,
    trusted: bool = False,
) -> Run:
    """Continue a run from its last checkpoint, to the number of steps that was asked for.

    The result is that of a run that was never stopped, to the bit.

    Parameters
    ----------
    out
        The folder of the run.
    steps
        Steps of the last stage in all, in place of those that were asked for before: also a run
        that has ended goes on, to what a run of that many steps would have found, to the bit.
    potential
        That of a run which began with an object.
    progress, report, trusted
        As for `run`.

    Returns
    -------
    Run
        What was found: averages, thermo, frames.

    Raises
    ------
    RunDirectoryError
        If there is no run in the folder, another process works there, or its configuration has
        changed.
    StoppedError
        If the run was asked to stop again.

    Examples
    --------
    >>> import instar
    >>> instar.resume("no/such/folder")
    Traceback (most recent call last):
        ...
    instar.app.run.directory.RunDirectoryError: There is no run in no/such/folder: it has no ...
    """
    shown = progress_of(progress)
    directory = RunDirectory.open(_path_of(out))
    directory.check_goes_on()
    with directory.locked():
        changes = () if steps is None else (lengthening(directory.config, steps),)
        trust = Trust.of(trusted)
        loaded = load(directory.config, changes, directory.start(), potential, trust)
        if loaded.recipe.is_recorded:
            raise RunDirectoryError(f"The potential of {out} {loaded.recipe.absence}.")
        if steps is not None and loaded.ends_with_ramp:
            raise RunDirectoryError(
                f"The run in {out} can't be made longer: the ramps of its systems end with it."
            )
        with (
            jax.enable_x64(loaded.config.precision == "float64"),
            _told(directory, loaded, shown) as say,
        ):
            budget = find_budget(loaded.config.memory.budget)
            plan = dataclasses.replace(directory.plan(), budget=budget)
            loop = RunLoop(directory, loaded, plan, HighWater(), say, shown)
            loop.take_up()
            if not loop.left:
                say("The run had already ended; --steps makes it longer.")
            elif changed := departures(directory.read_json("provenance.json") or {}):
                say(changed)
            check_disk(loaded, directory.path, 1 - loop.made / loop.total)
            if steps is None:
                directory.write_resolved(loaded)
            else:
                directory.write_config(loaded)
            loop.go()
            return _finished(directory, loaded, say, report)


@contextlib.contextmanager
def _discarded_unless_begun(directory: RunDirectory) -> Iterator[list[RunLoop]]:
    """A new folder is removed by a failure before the first step of the loops that are noted."""
    loops: list[RunLoop] = []
    try:
        yield loops
    except StoppedError:
        raise
    except BaseException:
        if not any(loop.has_begun for loop in loops):
            directory.discard()
        raise


def open_run(folder: Folder) -> Run:
    """Open the folder of a run: one that has ended, was stopped, or is still running.

    Parameters
    ----------
    folder
        The folder of the run.

    Returns
    -------
    Run
        Averages, thermo, frames and what was observed; it is read when asked for, and nothing is
        changed.

    Raises
    ------
    RunDirectoryError
        If there is no run in the folder, or it is not a path.

    Examples
    --------
    >>> import instar
    >>> instar.open("no/such/folder")
    Traceback (most recent call last):
        ...
    instar.app.run.directory.RunDirectoryError: There is no run in no/such/folder: it has no ...
    """
    return Run(RunDirectory.open(_path_of(folder)))


def _path_of(folder: Folder) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise RunDirectoryError(f"The folder of a run is a path, not {folder!r:.100}.")
    return Path(folder)


def _headline(loaded: Loaded, plan: Plan) -> str:
    batches = "1 batch" if len(plan.batches) == 1 else f"{len(plan.batches)} batches"
    return (
        f"{loaded.told}, in {batches}; planned memory "
        f"{show(plan.predicted_peak)} of {show(plan.limit)} ({plan.budget.source})."
    )


def _finished(
    directory: RunDirectory, loaded: Loaded, say: Callable[[str], None], report: bool
) -> Run:
    summary = summarised(directory, loaded)
    directory.write_json("summary.json", summary)
    if report:
        say("All steps are done; the report is being drawn.")
    for one in summary["exploded"]:
        say(f"{loaded.called(one['system'])} exploded at step {one['step']} and was frozen.")
    if report:
        from instar.app.report import write_report  # what it draws with takes time to import

        write_report(directory, loaded)
    _tell_of_explosions(directory, len(summary["exploded"]), len(loaded.systems))
    return Run(directory)


def _tell_of_explosions(directory: RunDirectory, exploded: int, systems: int) -> None:
    if exploded == systems:
        which = "The system" if systems == 1 else f"All {systems} systems"
        raise ExplodedError(f"{which} exploded; {directory.log} says when, and what to do.")
    if exploded:
        text = f"{exploded} of {systems} systems exploded; {directory.log} says when."
        warnings.warn(text, ExplosionWarning, stacklevel=4)


@contextlib.contextmanager
def _told(
    directory: RunDirectory, loaded: Loaded, shown: Progress
) -> Iterator[Callable[[str], None]]:
    """What tells of things that happen, in the log and to whoever looks."""
    columns = kind_of(loaded).THERMO.items()
    shown.shown = {name: loaded.units.label(q.unit) for name, q in columns if q.live}

    def say(text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n"
        # A log that can't be written stops nothing.
        with contextlib.suppress(OSError), open(directory.log, "a", encoding="utf-8") as file:
            file.write(line)
        shown.say(text)

    with shown:
        yield say
