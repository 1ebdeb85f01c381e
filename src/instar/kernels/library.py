"""The library of kernels: found, loaded, registered with JAX; or why not."""

from __future__ import annotations

import ctypes
import functools
import os
from contextlib import AbstractContextManager
from typing import NamedTuple

import jax

from instar.kernels import build

__all__ = ["Status", "in_use", "status", "target", "using"]

KERNELS = ("image_points", "pair_pass")
TARGETS = tuple(f"instar_{name}_{kind}" for name in KERNELS for kind in ("float32", "float64"))
"""The functions of the library that XLA may call."""

# Part of JAX's trace caches: a function traced with kernels is traced again without them.
_switch = jax.make_user_context(default_value=None)


class Status(NamedTuple):
    """Whether kernels are used, and what there is to say about it."""

    used: bool
    text: str


def using(kernels: bool) -> AbstractContextManager[None]:
    """A context in which kernels are used, or left out, in whatever is traced in it.

    Parameters
    ----------
    kernels
        False: only JAX code is used.

    Returns
    -------
    AbstractContextManager
        For a ``with`` statement.

    Examples
    --------
    >>> import instar.kernels
    >>> with instar.kernels.using(False):
    ...     print(instar.kernels.in_use())
    False
    """
    return _switch(kernels)


def in_use() -> bool:
    """Whether what is traced now calls kernels on a CPU."""
    return status().used


@functools.cache
def target(function: str) -> str:
    """The name by which XLA calls a function of the library.

    It holds the digest of the sources: a program that was compiled and kept on disk for other
    kernels is not taken for one with these.
    """
    return f"{function}_{build.digest()}"


def status() -> Status:
    """Whether kernels are used, with the instructions they use, or why not.

    Returns
    -------
    Status
        ``used``, and a line of ``text``.

    Examples
    --------
    >>> import instar.kernels
    >>> used, text = instar.kernels.status()
    """
    chosen, asked = _switch.value, os.environ.get("INSTAR_KERNELS") or "on"
    if chosen is False or (chosen is None and asked.lower() == "off"):
        return Status(False, "switched off")
    used, text = _loaded()
    if asked.lower() in ("on", "off"):
        return Status(used, text)
    return Status(used, f"{text}; INSTAR_KERNELS={asked:.20} is ignored: it is on or off")


@functools.cache
def _loaded() -> Status:
    """Load and register the library, once; it stays for as long as the process."""
    try:
        path = build.library()
    except build.BuildError as error:
        return Status(False, str(error))
    if path is None:
        return Status(False, build.reason())
    try:
        library = ctypes.CDLL(str(path))
        for function in TARGETS:
            capsule = jax.ffi.pycapsule(getattr(library, function))
            jax.ffi.register_ffi_target(target(function), capsule, platform="cpu")
        named = library.instar_instructions
    except Exception as error:  # whatever it is, instar works without
        first = str(error).splitlines()[0]
        return Status(False, f"{path.name} can't be loaded: {first}")
    named.restype = ctypes.c_char_p
    return Status(True, f"found, {named().decode()} instructions")
