"""FIRE and L-BFGS are those of ASE, step for step, beside other systems."""

import ase.optimize
import numpy as np
import pytest
from ase.filters import FrechetCellFilter

import instar
from dynamics.relaxing import SMOOTH, by_system, crystals, state_of
from instar.dynamics import relax

PRESSURES = np.array([0.0, 0.002, -0.001])
FILTERS = {
    "fixed": None,
    "isotropic": {"hydrostatic_strain": True},
    "full": {},
    "constant_volume": {"constant_volume": True},
}
OPTIMIZERS = {
    "fire": (relax.fire, ase.optimize.FIRE, {}),
    "lbfgs": (relax.lbfgs, ase.optimize.LBFGS, {}),
    "lbfgs with a short memory": (relax.lbfgs, ase.optimize.LBFGS, {"memory": 4}),
}


def by_ase(atoms, optimizer, options, cell, pressure, mask=None):
    atoms = atoms.copy()
    atoms.calc = instar.calculator(SMOOTH)
    what = atoms
    if FILTERS[cell] is not None:
        what = FrechetCellFilter(atoms, mask=mask, scalar_pressure=pressure, **FILTERS[cell])
    optimizer(what, logfile=None, **options).run(fmax=1e-9, steps=50)
    return atoms.positions, atoms.cell.array


def check(name, cell, mask=None):
    method, optimizer, options = OPTIMIZERS[name]
    pressures = PRESSURES if cell != "fixed" else np.zeros(3)
    state = state_of(
        crystals(),
        cell=cell,
        pressure=pressures,
        mask=mask,
        steps=50,
        force_tolerance=1e-9,
        stress_tolerance=1e-9,
    )
    done = relax.relaxed(method(**options), state)
    assert set(relax.outcomes(done)) == {"out of steps"}
    for number, atoms in enumerate(crystals()):
        right = by_ase(atoms, optimizer, options, cell, pressures[number], mask)
        moved = np.abs(right[0] - atoms.positions).max()
        assert moved > 0.05
        for found, expected in zip(by_system(done)[number], right, strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("cell", FILTERS)
@pytest.mark.parametrize("name", ["fire", "lbfgs"])
def test_fifty_steps_are_those_of_ase(name, cell):
    check(name, cell)


def test_old_steps_are_forgotten_as_in_ase():
    check("lbfgs with a short memory", "full")


def test_a_mask_is_that_of_ase():
    check("fire", "full", mask=[True, True, False, False, False, True])
