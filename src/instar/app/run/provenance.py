"""What a result depends on, besides the configuration."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

import jax

from instar import kernels
from instar.app.config import Loaded
from instar.app.run.directory import VERSION

__all__ = ["departures", "installed", "provenance", "threads"]

_EXACT = ("instar", "jax", "jaxlib", "numpy")
"""Packages with which the last digits of a result may change."""

_PACKAGES = ("instar", "jax", "jaxlib", "numpy", "ase", "h5py")


def provenance(loaded: Loaded) -> dict[str, Any]:
    """Versions, seed, precision, platform, devices and kernels."""
    devices = jax.local_devices()
    return {
        "folder": VERSION,
        "versions": installed(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "devices": [f"{device.platform}:{device.device_kind}" for device in devices],
        "threads": threads(),
        "kernels": kernels.status().text,
        "precision": loaded.config.precision,
        "seed": loaded.config.seed,
        "systems": len(loaded.structures),
        "atoms": int(loaded.counts.sum()),
        "command": sys.argv,
    }


def departures(about: Mapping[str, Any]) -> str | None:
    """A sentence about what changes last digits and is not as in a provenance; None if all is."""
    versions, devices = about.get("versions", {}), about.get("devices")
    before = {name: versions.get(name) for name in _EXACT}
    before |= {"kernels": about.get("kernels")}
    before |= {"devices": len(devices) if isinstance(devices, list) else None}
    now: dict[str, Any] = {name: version for name, version in installed().items() if name in _EXACT}
    now |= {"kernels": kernels.status().text, "devices": jax.local_device_count()}
    changed = [
        f"{name} ({before[name]!s:.100} then, {now[name]} now)"
        for name in now
        if before[name] not in (None, now[name])
    ]
    if not changed:
        return None
    return (
        f"Not as at the start of the run: {', '.join(changed)}. The last digits of what follows "
        "may differ from those of a run that was not stopped."
    )


def installed() -> dict[str, str]:
    """Versions of instar and of the packages that results depend on."""
    return {name: importlib.metadata.version(name) for name in _PACKAGES}


def threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
