"""The command `instar`: arguments, messages, exit codes. The only place that sets up JAX.

Exit codes: 0 done; 1 a mistake or a failure, with a message; 2 a command that is not understood;
130 stopped on request, to be resumed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["command", "main", "set_up"]

STOPPED = 130


def command() -> int:
    """The program itself: a process of its own, which may set up JAX as it likes."""
    set_up()
    return main()


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; gives the exit code."""
    options = _parser().parse_args(arguments)
    from instar.app.ase.structures import StructureError
    from instar.app.config.base import ConfigurationError
    from instar.core.capacity import CapacityError
    from instar.memory import BudgetError, MemoryPlanError
    from instar.storage import StorageError

    known = (ConfigurationError, StructureError, StorageError, BudgetError, MemoryPlanError)
    try:
        return options.command(options)
    except (*known, CapacityError, OSError) as error:
        print(f"instar: {_told(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("instar: interrupted.", file=sys.stderr)
        return STOPPED


def _told(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}."
    return str(error)


def set_up() -> None:
    """A compilation cache that lasts, and one device for each core; before JAX is used."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", "") and cores > 1:
        flag = f"--xla_force_host_platform_device_count={min(cores, 8)}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    import jax

    if not jax.config.jax_compilation_cache_dir:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(caches / "instar" / "jax"))
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
            help="change an entry, such as run.steps=1000; may be given again",
        )

    run = added_command("run", _run, "Do what a configuration says, in a new folder.")
    of_config(run)
    run.add_argument("--out", type=Path, metavar="DIR", help="the folder of the run")
    resume = added_command("resume", _resume, "Go on with a run that was stopped.")
    resume.add_argument("directory", type=Path, metavar="DIR")
    of_config(added_command("plan", _plan, "Say what a run would take, without running it."))
    of_config(added_command("validate", _validate, "Look for mistakes in a configuration."))
    report = added_command("report", _report, "Write the report of a run, as far as it has come.")
    report.add_argument("directory", type=Path, metavar="DIR")
    export = added_command("export", _export, "Write what a run has found for other programs.")
    export.add_argument("directory", type=Path, metavar="DIR")
    export.add_argument(
        "--to", required=True, metavar="FORMAT", help="extxyz, h5md, pdb, dcd, xtc, csv, …"
    )
    new = added_command("new", _new, "Write a commented configuration to start from.")
    new.add_argument("name", metavar="NAME", help="NAME.yaml is written")
    added_command("schema", _schema, "Print the JSON schema of configurations, for editors.")
    return parser


def _run(options: Any) -> int:
    from instar.app.api.run import run
    from instar.app.run.progress import progress_on

    progress = progress_on()
    return _shown(
        lambda: run(options.config, options.out, changes=options.changes, progress=progress)
    )


def _resume(options: Any) -> int:
    from instar.app.api.run import resume
    from instar.app.run.progress import progress_on

    return _shown(lambda: resume(options.directory, progress=progress_on()))


def _shown(work: Callable[[], Any]) -> int:
    """Do it; then say where the results are, and the averages of the first systems."""
    from instar.app.api.run import StoppedError
    from instar.app.results.summary import with_error

    try:
        done = work()
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
        print(f"{system['name']}: {', '.join(parts)}")
    if len(systems) > _MOST:
        print(f"and {len(systems) - _MOST} more")
    print(f"Results are in {done.path}; look at {done.directory.report}.")
    return 0


_MOST = 20
"""Systems whose averages are printed."""


def _validate(options: Any) -> int:
    from instar.app.config import load

    loaded = load(options.config, options.changes)
    atoms = int(loaded.counts.sum())
    print(f"{options.config} is right: {len(loaded.structures)} systems, {atoms} atoms.")
    return 0


def _plan(options: Any) -> int:
    import jax

    from instar.app.config import load
    from instar.app.run.planning import disk_of, sketched

    loaded = load(options.config, options.changes)
    with jax.enable_x64(loaded.config.precision == "float64"):
        plan = sketched(loaded)
    run, atoms = loaded.config.run, int(loaded.counts.sum())
    steps = f"{run.equilibration} steps to equilibrate and {run.steps} more"
    print(f"{options.config}: {len(loaded.structures)} systems, {atoms} atoms, {steps}")
    print(f"{plan}\n{'disk':16}{disk_of(loaded)}")
    return 0


def _report(options: Any) -> int:
    from instar.app.config import load
    from instar.app.report import write_report
    from instar.app.run.directory import RunDirectory

    directory = RunDirectory.open(options.directory)
    loaded = load(directory.config, start=directory.start())
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

    path = Path(options.name).with_suffix(".yaml")
    if path.exists():
        raise RunDirectoryError(f"{path} is there already; choose another name.")
    path.write_text(template(path.stem), encoding="utf-8")
    print(f"Wrote {path}. Run it: instar run {path}")
    return 0


def _schema(options: Any) -> int:
    from instar.app.config.published import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0
