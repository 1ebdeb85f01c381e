"""The command `instar`: arguments, messages, exit codes. The only place that sets up JAX.

Exit codes: 0 done; 1 a mistake or a failure, with a message; 2 a command that is not understood;
3 all systems exploded; 130 stopped on request, to be resumed.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["command", "main", "set_up"]

EXPLODED, STOPPED = 3, 130


def command() -> int:
    """The program itself: a process of its own, which may set up JAX as it likes."""
    options = _parser().parse_args()
    warnings.showwarning = _note
    set_up(
        getattr(options, "threads", None),
        getattr(options, "devices", None),
        keep_programs=not getattr(options, "no_cache", False),
    )
    return _done(options)


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in words, without the line of the program that it comes from."""
    print(f"instar: note: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say in a process that has set up JAX; returns the exit code."""
    return _done(_parser().parse_args(arguments))


def _done(options: Any) -> int:
    from instar.app.ase.structures import StructureError
    from instar.app.config.base import ConfigurationError
    from instar.core.capacity import CapacityError
    from instar.memory import BudgetError, MemoryPlanError
    from instar.storage import StorageError

    known = (ConfigurationError, StructureError, StorageError, BudgetError, MemoryPlanError)
    try:
        code = options.command(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who reads has seen enough, as in: instar schema | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (*known, CapacityError, OSError) as error:
        print(f"instar: {_told(error)}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"instar: there is not enough memory: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("instar: interrupted.", file=sys.stderr)
        return STOPPED


def _told(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename2 or error.filename or 'a file'}: {error.strerror}."
    return str(error)


def set_up(
    threads: int | None = None, devices: int | None = None, *, keep_programs: bool = True
) -> None:
    """A compilation cache that lasts, and one device for each core; before JAX is used.

    With ``threads`` this process keeps to that many cores; ``devices`` is how many parts they are
    divided into. A cache that JAX was told of, by its own variables, is left as it is.
    """
    if threads is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    flag, flags = "--xla_force_host_platform_device_count", os.environ.get("XLA_FLAGS", "")
    if devices is not None or (flag not in flags and cores > 1):
        kept = [one for one in flags.split() if not one.startswith(flag)]
        os.environ["XLA_FLAGS"] = " ".join([*kept, f"{flag}={devices or min(cores, 8)}"])
    import jax

    if not keep_programs:
        jax.config.update("jax_enable_compilation_cache", False)
    elif not jax.config.jax_compilation_cache_dir:
        from instar.app.cli.cache import ProgramCache, cache_folder
        from instar.core.utils.jax_compat import keep_programs_in

        folder = cache_folder()
        keep_programs_in(ProgramCache(folder))
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def _parser() -> argparse.ArgumentParser:
    from instar import __version__

    parser = argparse.ArgumentParser(prog="instar", description="Batched particle simulation.")
    parser.add_argument("--version", action="version", version=f"instar {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def added_command(name: str, work: Callable[[Any], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(command=work)
        return added

    def of_config(added: argparse.ArgumentParser) -> None:
        added.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file")
        added.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            dest="changes",
            help="change an entry, such as run.steps=1000; may be repeated",
        )

    run = added_command("run", _run, "Run a simulation from a YAML file in a new directory.")
    of_config(run)
    run.add_argument("--out", type=Path, metavar="DIR", help="the folder of the run")
    resume = added_command("resume", _resume, "Continue a run that was stopped, or make it longer.")
    resume.add_argument("directory", type=Path, metavar="DIR")
    resume.add_argument(
        "--steps",
        type=_count,
        metavar="N",
        help="total number of production steps, in place of run.steps",
    )
    _running(run)
    _running(resume)
    of_config(
        added_command(
            "plan", _plan, "Show the memory and disk space that a run needs, without running it."
        )
    )
    of_config(added_command("validate", _validate, "Check a configuration for mistakes."))
    report = added_command("report", _report, "Write the report of a run, finished or not.")
    report.add_argument("directory", type=Path, metavar="DIR")
    export = added_command("export", _export, "Export a run for other programs.")
    export.add_argument("directory", type=Path, metavar="DIR")
    export.add_argument(
        "--to", required=True, metavar="FORMAT", help="extxyz, h5md, pdb, dcd, xtc, csv, …"
    )
    new = added_command("new", _new, "Write a commented configuration to start from.")
    new.add_argument("name", metavar="NAME", help="NAME.yaml is written")
    added_command("info", _info, "Show versions, devices, kernels and memory, for bug reports.")
    added_command("schema", _schema, "Print the JSON schema of configurations, for editors.")
    return parser


def _running(added: argparse.ArgumentParser) -> None:
    """Options of commands that compute."""
    added.add_argument(
        "--trust",
        action="store_true",
        help="let the configuration start programs and load code, as some calculators of ASE do",
    )
    added.add_argument(
        "--threads", type=_count, metavar="N", help="use at most that many cores of the CPU"
    )
    added.add_argument(
        "--devices",
        type=_devices,
        metavar="N",
        help="number of devices that the cores are divided into",
    )

    added.add_argument(
        "--require-converged",
        action="store_true",
        help="exit with 1 if a system that was relaxed has not converged",
    )
    added.add_argument(
        "--no-cache",
        action="store_true",
        help="neither use nor keep compiled programs on disk",
    )


def _count(text: str) -> int:
    if len(text) > 15:
        raise argparse.ArgumentTypeError(f"{text[:15]!r}… has too many digits")
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


_MOST_DEVICES = 1024
"""Each takes threads and memory, whatever it computes."""


def _devices(text: str) -> int:
    if (count := _count(text)) > _MOST_DEVICES:
        raise argparse.ArgumentTypeError(f"{count} devices are too many; at most {_MOST_DEVICES}")
    return count


def _run(options: Any) -> int:
    from instar.app.api.run import run

    chosen = {"changes": options.changes, "progress": True, "trusted": options.trust}
    return _shown(lambda: run(options.config, options.out, **chosen), options.require_converged)


def _resume(options: Any) -> int:
    from instar.app.api.run import resume

    chosen = {"steps": options.steps, "progress": True, "trusted": options.trust}
    return _shown(lambda: resume(options.directory, **chosen), options.require_converged)


def _shown(work: Callable[[], Any], require_converged: bool = False) -> int:
    """Do it; then say where the results are, and the averages of the first systems."""
    from instar.app.api.run import ExplodedError, StoppedError
    from instar.app.results.summary import with_error
    from instar.dynamics import ExplosionWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExplosionWarning)  # it is said on the way
            done = work()
    except ExplodedError as exploded:
        print(f"instar: {exploded}", file=sys.stderr)
        return EXPLODED
    except StoppedError as stopped:
        print(f"instar: {stopped}", file=sys.stderr)
        return STOPPED
    summary = done.summary
    systems = summary.get("systems", [])
    for number, system in enumerate(systems[:_MOST]):
        found = {name: system[name] for name in summary["shown"]}
        found |= {name: values[number] for name, values in summary["observed"].items()}
        known = {name: one for name, one in found.items() if one["mean"] is not None}
        parts = (f"{n} {with_error(one)} {one['unit']}".strip() for n, one in known.items())
        print(f"{system['name']}: {', '.join(parts) or 'no averages'}")
    if len(systems) > _MOST:
        print(f"and {len(systems) - _MOST} more")
    print(f"Results are in {done.path}; the report is {done.directory.report}.")
    return _judged(done, require_converged)


def _judged(done: Any, require_converged: bool) -> int:
    """Say what has become of systems that were relaxed; whether it is what was required."""
    from instar.app.results.outcomes import outcomes_of

    frozen = [one["system"] for one in done.summary.get("exploded", ())]
    found = outcomes_of(done.trajectory, frozen)
    if found:
        counts = collections.Counter(one.outcome for one in found)
        print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    left = [one.name for one in found if not one.converged]
    if require_converged and (left or not found):
        which = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
        print(f"instar: not converged: {which or 'this run relaxes nothing'}.", file=sys.stderr)
        return 1
    return 0


_MOST = 20
"""Systems whose averages are printed."""


def _validate(options: Any) -> int:
    from instar.app.config import Trust, load
    from instar.app.run.notes import notes_of

    loaded = load(options.config, options.changes, trust=Trust.UNTRIED)
    print(f"{options.config} is valid: {loaded.told}.")
    _say_untried(loaded)
    for note in notes_of(loaded):
        print(note)
    return 0


def _say_untried(loaded: Any) -> None:
    for what in loaded.recipe.untried:
        print(f"instar: not tried: {what}.", file=sys.stderr)


def _plan(options: Any) -> int:
    import jax

    from instar.app.config import Trust, load
    from instar.app.config.base import ConfigurationError
    from instar.app.run.planning import disk_of, sketched

    loaded = load(options.config, options.changes, trust=Trust.UNTRIED)
    if loaded.recipe.untried:
        raise ConfigurationError(
            f"{options.config}: {loaded.recipe.untried[0]}; a plan does not try it, and "
            "can't be made without it"
        )
    with jax.enable_x64(loaded.config.precision == "float64"):
        plan = sketched(loaded)
    steps = ", ".join(f"{stage.name} {stage.steps} steps" for stage in loaded.stages)
    print(f"{options.config}: {loaded.told}, {steps}")
    print(f"{plan}\n{'disk':16}{disk_of(loaded)}")
    return 0


def _report(options: Any) -> int:
    from instar.app.config import Trust, load
    from instar.app.report import write_report
    from instar.app.run.directory import RunDirectory

    directory = RunDirectory.open(options.directory)
    loaded = load(directory.config, start=directory.start(), trust=Trust.UNTRIED)
    _say_untried(loaded)
    print(write_report(directory, loaded))
    return 0


def _export(options: Any) -> int:
    from instar.app.results.export import export
    from instar.app.run.directory import RunDirectory

    for path in export(RunDirectory.open(options.directory), options.to):
        print(path)
    return 0


def _new(options: Any) -> int:
    from instar.app.config.template import template
    from instar.app.run.directory import RunDirectoryError

    if Path(options.name).name in ("", ".", ".."):
        raise RunDirectoryError(f"{options.name!r} is not a file name; write one such as argon.")
    path = Path(options.name).with_suffix(".yaml")
    if path.exists():
        raise RunDirectoryError(f"{path} exists already; choose another name.")
    path.write_text(template(path.stem), encoding="utf-8")
    print(f"Wrote {path}. Run it: instar run {path}")
    return 0


def _info(options: Any) -> int:
    from instar.app.cli.info import info

    print(info())
    return 0


def _schema(options: Any) -> int:
    from instar.app.config.published import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0
