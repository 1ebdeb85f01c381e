"""`RunDirectory`: the one folder that a run lives in.

config.yaml        the configuration, changes included
structures.npz     what the systems began with
provenance.json    versions, platform, precision, seed
plan.json          memory: what was expected
trajectory.h5      frames and thermo (see `instar.storage.recording`)
observed/          what observers have found, one file per batch
checkpoints/       the last two
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
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from instar.app.ase.start_structures import packed, unpacked
from instar.app.config import Loaded
from instar.app.run.documents import wrong_document
from instar.memory import Plan
from instar.storage import StorageError, write_atomically

__all__ = ["RunDirectory", "RunDirectoryError"]


class RunDirectoryError(StorageError):
    """A folder that a run can't live in."""


class RunDirectory:
    """Paths of a run, and who may write to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.trajectory = path / "trajectory.h5"
        self.observed = path / "observed"
        self.checkpoints = path / "checkpoints"
        self.log = path / "log.txt"
        self.report = path / "report.html"
        self._structures = path / "structures.npz"
        self._lock = path / "lock"

    @staticmethod
    def create(path: Path, loaded: Loaded, about: Mapping[str, Any]) -> RunDirectory:
        """A new folder for a run; one that holds anything already is refused.

        ``about`` are small files by name. The configuration comes last: with it the run has begun.
        """
        directory = RunDirectory(path)
        directory.check_free()
        try:
            path.mkdir(parents=True, exist_ok=True)
            directory.checkpoints.mkdir()
            write_atomically(directory._structures, packed(loaded.structures))
            for name, content in about.items():
                directory.write_json(name, content)
            text = yaml.safe_dump(loaded.data, sort_keys=False, allow_unicode=True)
            write_atomically(directory.config, text.encode())
        except OSError as error:
            raise RunDirectoryError(
                f"The folder {path} can't be written: {error.strerror}."
            ) from error
        return directory

    def check_free(self) -> None:
        """Refuse a folder that holds anything already."""
        if self.config.exists():
            raise RunDirectoryError(
                f"There is a run in {self.path} already.\n"
                f"Go on with it: instar resume {self.path}\nOr choose another folder: --out DIR"
            )
        if self.path.exists() and not (self.path.is_dir() and not any(self.path.iterdir())):
            raise RunDirectoryError(
                f"{self.path} is there already, and is no run.\nChoose another folder: --out DIR"
            )

    @staticmethod
    def open(path: Path) -> RunDirectory:
        """The folder of a run that has begun."""
        directory = RunDirectory(path)
        if not directory.config.is_file():
            raise RunDirectoryError(f"There is no run in {path}: it has no config.yaml.")
        return directory

    def structures(self) -> tuple[Any, ...]:
        """What the systems began with, to the bit."""
        try:
            return unpacked(self._structures)
        except (OSError, ValueError, StorageError, MemoryError) as error:
            raise RunDirectoryError(f"{self._structures} can't be read: {error}.") from error

    def plan(self) -> Plan:
        """The batches that the run was cut into."""
        path = self.path / "plan.json"
        try:
            return Plan.from_json(self.read_json(path.name) or {})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunDirectoryError(f"{path} is missing or damaged: {error}.") from error

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
            content = json.loads(_read(path)) if path.is_file() else None
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(f"{path} is damaged: {error}.") from error
        if content is not None and (wrong := wrong_document(name, content)):
            raise RunDirectoryError(f"{path} is damaged: {wrong}.")
        return content


_MOST_BYTES = 2**28
"""Of a small file."""


def _read(path: Path) -> bytes:
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise RunDirectoryError(f"{path} has more than {_MOST_BYTES >> 20} MiB; it is not read.")
    return content
