"""`run` and `resume`: a configuration becomes a folder with what was found."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from instar.app.config import Loaded, load
from instar.app.results.run import Run
from instar.app.results.summary import summarised
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.app.run.kinds import kind_of
from instar.app.run.loop import RunLoop, StoppedError
from instar.app.run.planning import planned
from instar.app.run.progress import Progress, progress_of
from instar.app.run.provenance import provenance
from instar.memory import HighWater, Plan, find_budget, show

__all__ = ["StoppedError", "open_run", "resume", "run"]


def run(
    config: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    changes: Sequence[str] = (),
    progress: bool | Progress | Callable[[int, int], None] | None = None,
    report: bool = True,
) -> Run:
    """Do what a configuration says, in a new folder.

    A run that is stopped, by a signal or by a failure, goes on with `resume`.

    Parameters
    ----------
    config
        A YAML file, or a mapping of the same form.
    out
        The folder, in place of ``output.directory``.
    changes
        Changes of the configuration, such as ``["run.steps=100"]``.
    progress
        True to show it on standard error, False for none, None to show it if that is a terminal;
        or a function that is called with what is done and with all there is to do (steps).
    report
        Whether ``report.html`` is written at the end.

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
    loaded = load(config, changes)
    place = out or loaded.config.output.directory
    if place is None:
        raise RunDirectoryError("Say where the run is to live: --out DIR, or output.directory.")
    RunDirectory(Path(place)).check_free()
    with jax.enable_x64(loaded.config.precision == "float64"):
        high_water = HighWater()
        plan, job = planned(loaded, high_water)
        about = {"provenance.json": provenance(loaded), "plan.json": plan.to_json()}
        directory = RunDirectory.create(Path(place), loaded, about)
        with directory.locked(), _told(directory, loaded, progress) as (say, shown):
            say(_headline(loaded, plan))
            loop = RunLoop(directory, loaded, plan, high_water, say, shown, ready=job)
            del job  # its state is the run's from now on
            loop.go()
            return _finished(directory, loaded, report)


def resume(
    out: str | Path,
    *,
    progress: bool | Progress | Callable[[int, int], None] | None = None,
    report: bool = True,
) -> Run:
    """Go on with a run from its last checkpoint, to the number of steps that was asked for.

    The result is that of a run that was never stopped, to the bit.

    Parameters
    ----------
    out
        The folder of the run.
    progress, report
        As for `run`.

    Returns
    -------
    Run
        What was found: averages, thermo, frames.

    Raises
    ------
    RunDirectoryError
        If there is no run in the folder, or another process works there.
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
    directory = RunDirectory.open(Path(out))
    with directory.locked():
        loaded = load(directory.config, structures=directory.structures())
        with (
            jax.enable_x64(loaded.config.precision == "float64"),
            _told(directory, loaded, progress) as (say, shown),
        ):
            budget = find_budget(loaded.config.memory.budget)
            plan = dataclasses.replace(directory.plan(), budget=budget)
            loop = RunLoop(directory, loaded, plan, HighWater(), say, shown)
            loop.take_up()
            loop.go()
            return _finished(directory, loaded, report)


def open_run(folder: str | Path) -> Run:
    """What a run has found so far: one that has ended, was stopped, or goes on elsewhere.

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
        If there is no run in the folder.

    Examples
    --------
    >>> import instar
    >>> instar.open("no/such/folder")
    Traceback (most recent call last):
        ...
    instar.app.run.directory.RunDirectoryError: There is no run in no/such/folder: it has no ...
    """
    return Run(RunDirectory.open(Path(folder)))


def _headline(loaded: Loaded, plan: Plan) -> str:
    atoms = sum(map(len, loaded.structures))
    batches = "1 batch" if len(plan.batches) == 1 else f"{len(plan.batches)} batches"
    return (
        f"{len(loaded.structures)} systems, {atoms} atoms in {batches}; planned memory "
        f"{show(plan.predicted_peak)} of {show(plan.limit)} ({plan.budget.source})."
    )


def _finished(directory: RunDirectory, loaded: Loaded, report: bool) -> Run:
    directory.write_json("summary.json", summarised(directory, loaded))
    if report:
        from instar.app.report import write_report  # what it draws with takes time to import

        write_report(directory, loaded)
    return Run(directory)


@contextlib.contextmanager
def _told(
    directory: RunDirectory,
    loaded: Loaded,
    progress: bool | Progress | Callable[[int, int], None] | None,
) -> Iterator[tuple[Callable[[str], None], Progress]]:
    """What tells of things that happen, in the log and to whoever looks."""
    shown = progress_of(progress)
    shown.pace = loaded.config.method.pace
    shown.shown = {name: q.unit for name, q in kind_of(loaded).THERMO.items() if q.live}
    with open(directory.log, "a", encoding="utf-8") as file, shown:

        def say(text: str) -> None:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
            file.flush()
            shown.say(text)

        yield say, shown
