"""What a data file leaves open: units, styles, cutoffs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from instar.app.config.units import UNITS
from instar.app.topology.base import Kinds, TopologyError

__all__ = ["DataOptions", "Scales", "scales", "special_factors"]


@dataclass(frozen=True)
class DataOptions:
    """Options of `read_topology` for data files of LAMMPS.

    units          real | metal | electron | lj: those of the script that uses the file; they may
                   be left out where the title has them, as ``write_data`` makes it
    cutoff         of the pair style, Å or with a unit; needed where there are Pair Coeffs
    styles         {"pair": ..., "bond": ..., "atom": ...}, where the file has no ``# style``
    special_bonds  factors of pairs 1-2, 1-3 and 1-4 apart, as the command has them: "amber",
                   "lj/coul 0 0 0.5", ...; by default 0 0 0, as in LAMMPS
    mixing         lorentz_berthelot (LAMMPS' arithmetic) | geometric; by default that of the
                   pair style: geometric, but for lj/charmm
    truncation     of the Lennard-Jones part, and ``inner`` (Å) for switch
    accuracy       of Ewald sums, for styles with coul/long
    periodic       along which vectors the box repeats
    """

    units: str | None = None
    cutoff: float | int | str | None = None
    styles: Mapping[str, str] = field(default_factory=dict)
    special_bonds: str = "lj/coul 0 0 0"
    mixing: str | None = None
    truncation: str | None = None
    inner: float | int | str | None = None
    accuracy: float = 1e-6
    periodic: bool | tuple[bool, bool, bool] = True

    KINDS: ClassVar[Kinds] = {
        "units": ((str,), "a word"),
        "special_bonds": ((str,), "a word"),
        "mixing": ((str,), "a word"),
        "styles": ((Mapping,), "a mapping"),
        "periodic": ((bool, list, tuple), "true or false, or three of them"),
    }


@dataclass(frozen=True)
class Scales:
    """One unit of a file, in the units used inside."""

    energy: float
    length: float
    velocity: float
    charged: bool = True


_FS = UNITS["fs"][0]
_SCALES = {
    "real": Scales(UNITS["kcal/mol"][0], 1.0, 1.0 / _FS),
    "metal": Scales(1.0, 1.0, 1e-3 / _FS),
    # LAMMPS counts velocities here in Bohr by 1.03275 fs, the time that belongs to amu.
    "electron": Scales(UNITS["hartree"][0], UNITS["bohr"][0], UNITS["bohr"][0] / (1.03275 * _FS)),
    "lj": Scales(1.0, 1.0, 1.0, charged=False),
}


def scales(units: str) -> Scales:
    """The scales of a units style of LAMMPS."""
    if units not in _SCALES:
        raise TopologyError(f"units must be one of {', '.join(_SCALES)}, not {units!r}.")
    return _SCALES[units]


_WORDS = {
    "amber": ([0.0, 0.0, 0.5], [0.0, 0.0, 5 / 6]),
    "charmm": ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    "dreiding": ([0.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
}


def special_factors(text: str) -> tuple[list[float], list[float]]:
    """Factors of Lennard-Jones and of Coulomb pairs, from the words of ``special_bonds``."""
    pair, coulomb = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    words = text.split()
    if words and words[0] == "special_bonds":
        words = words[1:]
    while words:
        word = words.pop(0)
        if word in _WORDS:
            pair, coulomb = (list(factors) for factors in _WORDS[word])
        elif word in ("lj", "coul", "lj/coul"):
            factors, words = _three(words, text), words[3:]
            pair = factors if "lj" in word else pair
            coulomb = factors if "coul" in word else coulomb
        elif word in ("angle", "dihedral") and words[:1] == ["no"]:
            words = words[1:]
        else:
            raise _unclear(text)
    return pair, coulomb


def _three(words: list[str], text: str) -> list[float]:
    try:
        factors = [float(word) for word in words[:3]]
    except ValueError:
        raise _unclear(text) from None
    if len(factors) != 3 or not all(math.isfinite(f) and 0 <= f <= 1 for f in factors):
        raise _unclear(text)
    return factors


def _unclear(text: str) -> TopologyError:
    return TopologyError(
        f"special_bonds={text!r} is not understood.\nWrite amber, charmm, dreiding, or three "
        "factors from 0 to 1 after lj, coul or lj/coul: 'lj 0 0 0.5 coul 0 0 0.8333'."
    )
