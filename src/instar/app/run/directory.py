"""`RunDirectory`: the one folder that a run lives in.

config.yaml        the configuration, changes included
resolved.yaml      the same with all defaults
structures.npz     what the systems began with, and their names
inputs/            structures and topologies that the configuration names, if they were given to it
provenance.json    versions, platform, precision, seed, the version of this layout
plan.json          memory: what was expected
trajectory.h5      frames and thermo (see `instar.storage.recording`)
observed/          what observers have found, one file per batch
end/               systems at their end with their velocities, one file per batch
checkpoints/       the last two, and the end of each batch
log.txt            what happened, line by line
summary.json       averages, once there are some
report.html, …     pictures
lock               held by the process that runs
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from instar.app.ase.start_structures import packed, unpacked
from instar.app.config import Loaded
from instar.app.config.resolved import resolved
from instar.app.config.systems import Beginning
from instar.app.run.documents import wrong_document, wrong_explosions
from instar.app.run.inputs import write_input
from instar.memory import Plan
from instar.storage import StorageError, write_atomically

__all__ = ["AGAIN", "VERSION", "RunDirectory", "RunDirectoryError"]


class RunDirectoryError(StorageError):
    """A folder that a run can't live in."""


VERSION = 2
"""Of the layout of a folder. Before version 2 recordings had no row of the start, and there was no
``end``: such folders, some of which have no version, are read, but no run goes on in them."""

AGAIN = "Run its configuration again in a new folder: instar run CONFIG --out DIR"
"""What to do with a folder of an older version."""

_STAGE = ".new"
"""What a folder is made in, before it has its name; one that is left over holds nothing."""


class RunDirectory:
    """Paths of a run, and who may write to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.resolved = path / "resolved.yaml"
        self.trajectory = path / "trajectory.h5"
        self.observed = path / "observed"
        self.end = path / "end"
        self.checkpoints = path / "checkpoints"
        self.log = path / "log.txt"
        self.report = path / "report.html"
        self._structures = path / "structures.npz"
        self._lock = path / "lock"

    @staticmethod
    def create(path: Path, loaded: Loaded, about: Mapping[str, Any]) -> RunDirectory:
        """A new folder for a run; one that holds anything already is refused.

        ``about`` are small files by name. It is made beside its place, or in a corner of a folder
        that is there, and moved when it is whole: a run has begun, or there is nothing.
        """
        directory = RunDirectory(path)
        directory.check_free()
        unique = f".{path.resolve().name}{_STAGE}-{uuid.uuid4().hex[:8]}"
        stage = path / _STAGE if path.is_dir() else path.resolve().with_name(unique)
        try:
            with _removed_on_failure(stage):
                stage.mkdir(parents=True)
                RunDirectory(stage)._fill(loaded, about)
                _move(stage, path)
        except OSError as error:
            raise RunDirectoryError(
                f"The folder {path} can't be written: {error.strerror}."
            ) from error
        return directory

    def _fill(self, loaded: Loaded, about: Mapping[str, Any]) -> None:
        self.checkpoints.mkdir()
        write_atomically(self._structures, packed(loaded.systems, loaded.structures))
        for name, given in loaded.inputs.items():
            write_input(self.path / name, given)
        for name, content in about.items():
            self.write_json(name, content)
        self.write_config(loaded)

    def write_config(self, loaded: Loaded) -> None:
        """The configuration with all defaults, and as it was given."""
        self.write_resolved(loaded)
        write_atomically(self.config, _as_yaml(loaded.data))

    def write_resolved(self, loaded: Loaded) -> None:
        """The configuration with all defaults."""
        write_atomically(self.resolved, _as_yaml(resolved(loaded)))

    def discard(self) -> None:
        """Remove all of a run that has not made a step."""
        for inside in self.path.iterdir():
            shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
        with contextlib.suppress(OSError):  # where somebody is
            self.path.rmdir()

    def check_free(self) -> None:
        """Refuse a folder that holds anything already."""
        if self.config.exists():
            raise RunDirectoryError(
                f"There is a run in {self.path} already.\n"
                f"Go on with it: instar resume {self.path}\nOr choose another folder: --out DIR"
            )
        if not self._is_free():
            raise RunDirectoryError(
                f"{self.path} exists and is not an instar run.\nChoose another folder: --out DIR"
            )

        above = next(folder for folder in self.path.absolute().parents if folder.exists())
        if not above.is_dir():
            raise RunDirectoryError(
                f"The folder {self.path} can't be written: {above} is not a folder."
            )

    def _is_free(self) -> bool:
        if not self.path.exists():
            return True
        if not self.path.is_dir():
            return False
        if {inside.name for inside in self.path.iterdir()} == {_STAGE}:
            shutil.rmtree(self.path / _STAGE)  # a run that was killed before it had begun
        return not any(self.path.iterdir())

    @staticmethod
    def open(path: Path) -> RunDirectory:
        """The folder of a run that has begun."""
        directory = RunDirectory(path)
        try:
            is_there = directory.config.is_file()
        except OSError as error:  # such as a name that is too long, which is not repeated here
            text = f"The folder {str(path)[:80]}… can't be read: {error.strerror}."
            raise RunDirectoryError(text) from error
        if not is_there:
            raise RunDirectoryError(f"There is no run in {path}: it has no config.yaml.")
        _check_own(path)
        if (version := directory.version) not in range(1, VERSION + 1):
            raise RunDirectoryError(
                f"{path} is the folder of a run of version {version}; this instar reads versions "
                f"1 to {VERSION}."
            )
        return directory

    @property
    def version(self) -> Any:
        """Of its layout, as the folder says itself."""
        return (self.read_json("provenance.json") or {}).get("folder", 1)

    def check_goes_on(self) -> None:
        """Refuse to add to what an older version has recorded."""
        if self.version != VERSION:
            raise RunDirectoryError(
                f"The run in {self.path} was begun by an older instar (version {self.version} of "
                f"its folder; this one writes {VERSION}), whose recordings lack the row of the "
                f"start: it can be read, but not continued.\n{AGAIN}"
            )

    def start(self) -> Beginning:
        """What the systems began with, to the bit."""
        try:
            return unpacked(self._structures)
        except OSError as error:
            text = f"{self._structures} can't be read: {error.strerror}."
            raise RunDirectoryError(text) from error
        except (ValueError, StorageError, MemoryError) as error:
            raise RunDirectoryError(f"{self._structures} can't be read: {error}.") from error

    def plan(self) -> Plan:
        """The batches that the run was cut into."""
        path = self.path / "plan.json"
        content = self.read_json(path.name)
        if content is None:
            raise RunDirectoryError(
                f"The file {path} is missing; the run can't continue without it."
            )
        try:
            return Plan.from_json(content)
        except KeyError as error:
            raise RunDirectoryError(f"{path} is damaged: {error} is missing.") from error
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise RunDirectoryError(f"{path} is damaged: {error}.") from error

    def exploded(self, systems: int) -> list[dict[str, int]]:
        """Systems that were frozen, and the step of each, in a run of so many systems."""
        found = self.read_json("exploded.json") or []
        if (wrong := wrong_explosions(found, systems)) is not None:
            raise RunDirectoryError(f"{self.path / 'exploded.json'} is damaged: {wrong}.")
        return [{"system": one["system"], "step": one["step"]} for one in found]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else runs here meanwhile."""
        with open(self._lock, "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise RunDirectoryError(
                    f"Another process works in {self.path}: {file.read().strip() or 'unknown'}."
                ) from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
            yield

    def write_json(self, name: str, content: Any) -> None:
        """A small file for people and programs."""
        text = json.dumps(content, indent=2, ensure_ascii=False)
        write_atomically(self.path / name, text.encode())

    def read_json(self, name: str) -> Any:
        """What `write_json` wrote; None if there is nothing."""
        path = self.path / name
        try:
            most = _MOST_BYTES if name == "summary.json" else _FEW_BYTES
            content = json.loads(_read(path, most)) if path.is_file() else None
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(f"{path} is damaged: {error}.") from error
        if content is not None and (wrong := wrong_document(name, content)):
            raise RunDirectoryError(f"{path} is damaged: {wrong}.")
        return content


_FOLDERS = ("checkpoints", "end", "inputs", "observed", "report", "trajectory")
"""What a run reads from and writes to, below its folder."""


def _check_own(path: Path) -> None:
    """Refuse links, which lead out of the folder, and pipes and devices, which never end."""
    for folder in (path, *(path / name for name in _FOLDERS)):
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            os.scandir(folder) as entries,
        ):
            for entry in entries:
                if entry.is_symlink():
                    raise RunDirectoryError(
                        f"{entry.path} is a link; links in the folder of a run are not followed.\n"
                        "Put what it leads to in its place."
                    )
                kept = entry.is_file() or entry.is_dir() or not os.path.lexists(entry.path)
                if not kept:
                    raise RunDirectoryError(f"{entry.path} is neither a file nor a folder.")


_MOST_BYTES, _FEW_BYTES = 2**28, 2**26
"""Of the averages of all systems, and of other small files."""


def _read(path: Path, most: int) -> bytes:
    with open(path, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise RunDirectoryError(f"{path} has more than {most >> 20} MiB; it is not read.")
    return content


def _as_yaml(data: Any) -> bytes:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True).encode()


@contextlib.contextmanager
def _removed_on_failure(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _move(stage: Path, place: Path) -> None:
    """To its place as one; into a folder that is there file by file, the configuration last."""
    if stage.parent != place:
        stage.rename(place)
        return
    for inside in sorted(stage.iterdir(), key=lambda path: path.name == "config.yaml"):
        inside.rename(place / inside.name)
    stage.rmdir()
