"""Named arrays and a little JSON in one archive, as NumPy writes them (``.npz``); never pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from instar.storage.files import StorageError

__all__ = ["packed_arrays", "unpacked_arrays"]

_META = "meta.json"


def packed_arrays(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> bytes:
    """Arrays by name, and what else is to be known."""
    if _META in arrays:
        raise StorageError(f"No array can have the name {_META}.")
    objects = [name for name, array in arrays.items() if np.asarray(array).dtype.hasobject]
    if objects:
        raise StorageError(f"{objects[0]} holds objects of Python; only numbers are written.")
    packed = io.BytesIO()
    content = np.frombuffer(json.dumps(dict(meta)).encode(), np.uint8)
    np.savez(packed, **{_META: content, **arrays})
    return packed.getvalue()


def unpacked_arrays(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `packed_arrays` packed; a ValueError, KeyError or OSError if it is anything else."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return arrays, json.loads(arrays.pop(_META).tobytes())
