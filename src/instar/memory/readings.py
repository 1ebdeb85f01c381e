"""What the machine says about memory right now: what is held, and every limit there is.

Read are the files of Linux; where there are none, a reading is left out and nothing fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax

__all__ = ["Device", "Reading", "high_water", "readings_of", "reset_high_water", "resident"]

ROOT = Path("/")
NO_LIMIT = 2**60  # control groups of version 1 write "no limit" as a number beyond this


class Reading(NamedTuple):
    """One limit on memory, in bytes, and what counts against it already."""

    source: str
    limit: int
    held: int

    @property
    def left(self) -> int:
        """Bytes that can still be taken before this limit is met."""
        return max(0, self.limit - self.held)


@runtime_checkable
class Device(Protocol):
    """What is read of a device; one of JAX has it."""

    @property
    def platform(self) -> str:
        """The kind of device: "cpu", "gpu", "tpu"."""
        ...

    def memory_stats(self) -> dict[str, Any] | None:
        """What the device counts, in bytes; None if it does not count."""
        ...


class _GroupFiles(NamedTuple):
    """How a version of control groups names what is read."""

    limit: str
    held: str
    cache: str


_VERSION_1 = _GroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = _GroupFiles("memory.max", "memory.current", "inactive_file")


def resident(root: Path = ROOT) -> int | None:
    """Bytes of memory that this process holds now; None where that cannot be read."""
    return _table(root / "proc/self/status").get("VmRSS")


def high_water(root: Path = ROOT) -> int | None:
    """The most bytes that this process has held, since the start or `reset_high_water`."""
    return _table(root / "proc/self/status").get("VmHWM") or _most_held_since_start()


def reset_high_water(root: Path = ROOT) -> bool:
    """Let `high_water` start again; False where the system does not allow it."""
    try:
        (root / "proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return False
    return True


def readings_of(device: Device | None = None, root: Path = ROOT) -> tuple[Reading, ...]:
    """Every limit on the memory of a device, JAX's default one if none is given.

    A CPU's are those on this process: its control groups, its own limits, and the memory of the
    machine. Any other device has memory of its own, and only its own limit counts.
    """
    device = _default_device() if device is None else device
    if device.platform != "cpu":
        return tuple(_of_device(device))
    return (*_of_groups(root), *_of_process(root), *_of_machine(root))


def _default_device() -> Device:
    (device,) = jax.device_put(0).devices()
    return device


def _of_device(device: Device) -> Iterator[Reading]:
    try:
        stats = device.memory_stats() or {}
    except jax.errors.JaxRuntimeError:  # how some backends say that they do not count
        return
    if limit := stats.get("bytes_limit"):
        yield Reading("device limit", limit, stats.get("bytes_in_use", 0))


def _of_groups(root: Path) -> Iterator[Reading]:
    mounts = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers:
            alone = os.path.exists(mounts / "cgroup.controllers")
            yield from _of_group(mounts if alone else mounts / "unified", path, _VERSION_2)
        elif "memory" in controllers.split(","):
            yield from _of_group(mounts / "memory", path, _VERSION_1)


def _of_group(mount: Path, path: str, files: _GroupFiles) -> Iterator[Reading]:
    """The limits of a group and of all above it, each of which holds for the process too."""
    inside = _inside(mount, path)
    for depth in range(len(inside), -1, -1):
        group = mount.joinpath(*inside[:depth])
        limit, held = _number(group / files.limit), _number(group / files.held) or 0
        if limit is not None and limit < NO_LIMIT:
            cache = _table(group / "memory.stat").get(files.cache, 0)
            yield Reading("control group", limit, max(0, held - cache))


def _inside(mount: Path, path: str) -> tuple[str, ...]:
    """The way from the mount to a group.

    In a container the mount may be that of an inner group while the path starts outside, so
    leading folders are left out until the rest exists: in the end, the mount itself.
    """
    parts = PurePosixPath(path).parts[1:]
    ends = (parts[start:] for start in range(len(parts)))
    there = (end for end in ends if ".." not in end and os.path.isdir(mount.joinpath(*end)))
    return next(there, ())


def _of_process(root: Path) -> Iterator[Reading]:
    status = _table(root / "proc/self/status")
    for name, field in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        limit, held = _process_limit(name), status.get(field)
        if limit is not None and held is not None:
            yield Reading("process limit", limit, held)


def _of_machine(root: Path) -> Iterator[Reading]:
    memory = _table(root / "proc/meminfo")
    if "MemTotal" in memory and "MemAvailable" in memory:
        total, left = memory["MemTotal"], memory["MemAvailable"]
    else:
        total, left = _pages("SC_PHYS_PAGES"), _pages("SC_AVPHYS_PAGES")
    if total and left is not None:
        yield Reading("available memory", total, total - left)
    elif total:  # what others hold is not known here
        yield Reading("physical memory", total, high_water(root) or 0)


def _process_limit(name: str) -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(getattr(resource, name))
    return None if limit == resource.RLIM_INFINITY else limit


def _most_held_since_start() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _pages(name: str) -> int | None:
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # each a way of not having it
        return None


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _table(path: Path) -> dict[str, int]:
    """The numbers of a file with a name and a number on each line, kB turned into bytes."""
    lines = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {
        line[0]: int(line[1]) * (1024 if line[2:] == ["kB"] else 1)
        for line in lines
        if len(line) > 1 and line[1].isdecimal()
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
