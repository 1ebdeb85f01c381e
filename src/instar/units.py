"""Units that people write, as numbers in the units that instar computes with (CODATA 2018).

Inside are eV, Å, amu, e, K and rad. Time follows from them: Å·√(amu/eV), which is 10.18 fs;
pressure is in eV/Å³. A quantity is a number times its unit; divided by a unit it is a number to
show:

    time_step = 2 * fs
    pressure_in_bar = pressure / bar
"""

import math

from instar.geometry.constants import BOLTZMANN, COULOMB_CONSTANT

__all__ = [
    "BOLTZMANN",
    "COULOMB_CONSTANT",
    "GPa",
    "J",
    "K",
    "MPa",
    "Pa",
    "amu",
    "angstrom",
    "atm",
    "bar",
    "bohr",
    "cm",
    "deg",
    "e",
    "eV",
    "fs",
    "gram",
    "hartree",
    "kJ_per_mol",
    "kPa",
    "kcal_per_mol",
    "kg",
    "m",
    "meV",
    "nm",
    "ns",
    "pm",
    "ps",
    "rad",
    "s",
]

_AVOGADRO = 6.02214076e23
_CHARGE = 1.602176634e-19  # C, so that 1 eV is as many J
_AMU = 1.66053906660e-27  # kg
_TIME = 1e-10 * math.sqrt(_AMU / _CHARGE)  # s

eV = 1.0
"""Energy: the electronvolt."""
meV = 1e-3
"""Energy: 0.001 eV."""
J = 1 / _CHARGE
"""Energy: the joule."""
kJ_per_mol = 1e3 / (_AVOGADRO * _CHARGE)
"""Energy: kJ/mol, per particle."""
kcal_per_mol = 4184 / (_AVOGADRO * _CHARGE)
"""Energy: kcal/mol, per particle; 1 kcal is 4184 J."""
hartree = 27.211386245988
"""Energy: the atomic unit."""

angstrom = 1.0
"""Length: 10⁻¹⁰ m."""
pm = 0.01
"""Length: 10⁻¹² m."""
nm = 10.0
"""Length: 10⁻⁹ m."""
bohr = 0.529177210903
"""Length: the atomic unit."""
cm = 1e8
"""Length: 10⁻² m."""
m = 1e10
"""Length: the metre."""

fs = 1e-15 / _TIME
"""Time: 10⁻¹⁵ s, 0.0982 Å·√(amu/eV)."""
ps = 1e-12 / _TIME
"""Time: 10⁻¹² s."""
ns = 1e-9 / _TIME
"""Time: 10⁻⁹ s."""
s = 1 / _TIME
"""Time: the second."""

e = 1.0
"""Charge: that of a proton."""
K = 1.0
"""Temperature: the kelvin. A temperature times `BOLTZMANN` is an energy."""

rad = 1.0
"""Angle: the radian."""
deg = math.pi / 180
"""Angle: the degree."""

amu = 1.0
"""Mass: the dalton."""
gram = 1e-3 / _AMU
"""Mass: the gram; a density of 1 g/cm³ is gram / cm**3."""
kg = 1 / _AMU
"""Mass: the kilogram."""

Pa = 1e-30 / _CHARGE
"""Pressure: the pascal."""
kPa = 1e-27 / _CHARGE
"""Pressure: 10³ Pa."""
MPa = 1e-24 / _CHARGE
"""Pressure: 10⁶ Pa."""
GPa = 1e-21 / _CHARGE
"""Pressure: 10⁹ Pa."""
bar = 1e-25 / _CHARGE
"""Pressure: 10⁵ Pa."""
atm = 101325e-30 / _CHARGE
"""Pressure: 101325 Pa."""
