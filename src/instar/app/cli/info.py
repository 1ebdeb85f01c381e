"""What `instar info` prints: the installation and the machine, for bug reports."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import jax

from instar import kernels
from instar.app.run.provenance import installed, threads
from instar.memory.amounts import show
from instar.memory.readings import readings_of

__all__ = ["info"]


def info() -> str:
    """Versions, devices, precision, kernels, the compilation cache, and limits of memory."""
    return "\n".join(f"{name:13}{text}" for name, text in _lines())


def _lines() -> Iterator[tuple[str, str]]:
    yield from installed().items()
    yield "python", platform.python_version()
    yield "platform", platform.platform()
    devices = [f"{device.platform}:{device.device_kind}" for device in jax.local_devices()]
    for kind in dict.fromkeys(devices):
        yield "devices", f"{devices.count(kind)} × {kind}"
    yield "cores", str(threads())
    yield "precision", "float64, where a configuration does not say float32"
    yield "kernels", kernels.status().text
    yield "compiled", _cache()
    for reading in readings_of():
        yield "memory", f"{show(reading.left)} left of {show(reading.limit)} ({reading.source})"


def _cache() -> str:
    folder = jax.config.jax_compilation_cache_dir
    if not folder:
        return "programs are not kept"
    sizes = [size for path in Path(folder).rglob("*") if (size := _size(path)) is not None]
    return f"{len(sizes)} files, {show(sum(sizes))} in {folder}"


def _size(path: Path) -> int | None:
    """Of a file; None for folders, and for what another process has just removed."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return None if path.is_dir() else found.st_size
