"""Named arrays and a little JSON in one archive, as NumPy writes them (``.npz``); never pickle.

What is read may come from anywhere: members of an archive must lie there as they are (no packing,
so that none is larger than the file), and each must hold as many bytes as its header says.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy

from instar.storage.files import StorageError

__all__ = ["packed_arrays", "read_arrays", "unpacked_arrays"]

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
    """What `packed_arrays` packed; a `StorageError` says what is wrong with anything else."""
    arrays = read_arrays(content)
    if _META not in arrays:
        raise StorageError(f"it has no {_META}")
    try:
        meta = json.loads(arrays.pop(_META).tobytes())
    except (ValueError, RecursionError) as error:
        raise StorageError(f"its {_META} is not JSON ({error})") from error
    if not isinstance(meta, dict):
        raise StorageError(f"its {_META} is not a mapping")
    return arrays, meta


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """All arrays of an archive; a `StorageError` says why it is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len({member.filename for member in members}) < len(members):
                raise StorageError("a name comes twice")
            return {m.filename.removesuffix(".npy"): _array(archive, m) for m in members}
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"it is not an archive of arrays ({error})") from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    if member.compress_type != zipfile.ZIP_STORED:
        raise StorageError(f"{member.filename} is packed, and could be of any size")
    stream = io.BytesIO(archive.read(member))
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(stream)
    except (ValueError, KeyError, SyntaxError, RecursionError) as error:
        raise StorageError(f"{member.filename} is not a NumPy array ({error})") from error
    return _filled(member.filename, stream.read(), tuple(shape), bool(fortran), dtype)


def _filled(
    name: str, content: bytes, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]
) -> np.ndarray:
    if dtype.hasobject or dtype.kind not in "biufcU":
        raise StorageError(f"{name} holds {dtype}, not numbers or text")
    claimed = dtype.itemsize
    for length in shape:  # whole numbers of Python: no product is too large
        claimed *= length
    if claimed != len(content) or any(length < 0 for length in shape):
        raise StorageError(f"{name} claims {claimed} bytes, and has {len(content)}")
    values = np.frombuffer(content, dtype) if claimed else np.zeros(shape, dtype)
    return values.reshape(shape, order="F" if fortran else "C").copy()
