"""What a result depends on, besides the configuration."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import Any

import jax

from instar.app.config import Loaded

__all__ = ["provenance"]

_PACKAGES = ("instar", "jax", "jaxlib", "numpy", "ase", "h5py")


def provenance(loaded: Loaded) -> dict[str, Any]:
    """Versions, seed, precision, platform and devices."""
    devices = jax.local_devices()
    return {
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "devices": [f"{device.platform}:{device.device_kind}" for device in devices],
        "precision": loaded.config.precision,
        "seed": loaded.config.seed,
        "systems": len(loaded.structures),
        "atoms": int(loaded.counts.sum()),
        "command": sys.argv,
    }
