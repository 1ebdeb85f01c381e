"""What a result depends on, besides the configuration."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

import jax

from instar import kernels
from instar.app.config import Loaded
from instar.app.run.directory import VERSION

__all__ = ["installed", "provenance", "threads"]

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


def installed() -> dict[str, str]:
    """Versions of instar and of the packages that results depend on."""
    return {name: importlib.metadata.version(name) for name in _PACKAGES}


def threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
