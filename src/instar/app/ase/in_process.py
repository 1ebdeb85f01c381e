"""Calculators of ASE that are known to compute in this process, and to start and load nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

__all__ = ["beyond"]

_ARGUMENTS: Mapping[str, frozenset[str]] = {
    "emt": frozenset({"asap_cutoff"}),
    "lj": frozenset({"epsilon", "sigma", "rc", "ro", "smooth"}),
    "morse": frozenset({"epsilon", "r0", "rho0", "rcut1", "rcut2"}),
    "tip3p": frozenset({"rc", "width"}),
    "tip4p": frozenset({"rc", "width"}),
    "eam": frozenset({"potential", "form", "skin"}),
}
"""By name the arguments that are numbers or switches; arguments of ASE's base class, such as
``restart`` and ``directory``, name files and are not among them."""

_TEXT = {("eam", "potential"), ("eam", "form")}
"""Arguments that may be text: a table of numbers, read as text, and how it is laid out."""

_MOST = 64 * 2**20
"""Bytes of a table of numbers."""


def beyond(name: str, arguments: Mapping[str, Any]) -> str:
    """What goes beyond computing in this process with known arguments, in words; else nothing."""
    known = _ARGUMENTS.get(name)
    given = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
    if known is None:
        made = f", and is made with {given}" if given else ""
        return f"the ASE calculator {name!r} may start programs or load code{made}"
    for key, value in arguments.items():
        if key not in known:
            allowed = ", ".join(sorted(known))
            return (
                f"the ASE calculator {name!r} is made with {key}={_short(value)}, and is known to "
                f"be harmless only with {allowed}"
            )
        if not _is_plain(value) and not ((name, key) in _TEXT and isinstance(value, str)):
            return f"the ASE calculator {name!r} is made with {key}={_short(value)}, not a number"
    return _file_beyond(name, arguments)


def _file_beyond(name: str, arguments: Mapping[str, Any]) -> str:
    """A table is a file of limited size; no device, no pipe."""
    path = arguments.get("potential")
    if name != "eam" or not isinstance(path, str):
        return ""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return ""  # the calculator says that it is not there
    if stat.S_ISREG(about.st_mode) and about.st_size <= _MOST:
        return ""
    most = f"{_MOST >> 20} MiB"
    return f"the ASE calculator 'eam' reads {path}, which is not a file of at most {most}"


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
