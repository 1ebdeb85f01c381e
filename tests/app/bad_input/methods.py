"""Methods and observers that are incomplete, or mean nothing together."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import A, Row, gas, method, observe, put, usual, without
from ase import Atoms
from ase.constraints import FixAtoms

NVT = {"ensemble": "nvt", "thermostat": "langevin"}
HOT = "systems.0.temperature"


def fixed(here):
    """One of two atoms is held, and the cell is to change."""
    system = {"structure": {"file": "x.extxyz"}, "temperature": 60, "pressure": 1}
    usual(kind="mtk", systems=[system])(here)
    held = Atoms("Ar2", [[0, 0, 0], [4, 0, 0]], cell=[9] * 3, pbc=True, constraint=FixAtoms([0]))
    put(here, "x.extxyz", held)


ROWS = {
    "an ensemble that there is not": Row(method(ensemble="nph"), A + "method.ensemble: 'nph' is unknown; did you mean 'npt'?"),
    "no ensemble": Row(method(), A + "method.ensemble: is missing"),
    "no time step": Row(without("method.time_step"), A + "method.time_step: is missing"),
    "a method that there is not": Row(usual("method.type", "monte_carlo"), A + "method: there is no type 'monte_carlo'; known are …"),
    "a method without a type": Row(without("method.type"), A + "method: has no type; types are …"),
    "a method that is a word": Row(usual("method", "md"), A + "method: 'md' is of the wrong kind: a mapping is needed"),
    "a method in a list": Row(usual("method", [{"type": "md"}]), A + "method: [{'type': 'md'}] is of the wrong kind: a mapping is needed"),
    "a key that there is not in a method": Row(usual("method.timestep", 2), A + "method.timestep: unknown key; did you mean 'time_step'?"),
    "no thermostat": Row(method(ensemble="nvt"), A + "method: nvt needs a thermostat: brownian, langevin, nose_hoover, velocity_rescaling"),
    "a thermostat that there is not": Row(method(ensemble="nvt", thermostat="nose-hoover"), A + "method.thermostat: 'nose-hoover' is unknown; did you mean 'nose_hoover'?"),
    "a thermostat that is a barostat": Row(method(ensemble="nvt", thermostat="mtk"), A + "method.thermostat: 'mtk' is unknown; known are …"),
    "a thermostat at constant energy": Row(method(ensemble="nve", thermostat="langevin"), A + "method: thermostat has no meaning for nve"),
    "a barostat at constant volume": Row(method(**NVT, barostat="mtk"), A + "method: barostat has no meaning for nvt with langevin"),
    "no barostat": Row(method(ensemble="npt", thermostat="langevin"), A + "method: npt needs a barostat: cell_rescaling, mtk"),
    "a friction below zero": Row(method(**NVT, friction=-1), A + "method.friction: -1 is out of range: must be above 0"),
    "a friction in femtoseconds": Row(method(**NVT, friction="100 fs"), A + "method.friction: '100 fs' has the wrong unit: an inverse time, such as 1/ps is needed."),
    "a friction without an end": Row(method(**NVT, friction=float("inf")), A + "method.friction: inf is not a finite number."),
    "a knob of another thermostat": Row(method(**NVT, time_constant="1 ps"), A + "method: time_constant has no meaning for nvt with langevin"),
    "a time constant of zero": Row(method(ensemble="nvt", thermostat="nose_hoover", time_constant=0), A + "method.time_constant: 0 is out of range: must be above 0"),
    "a coupling that there is not": Row(usual("method.coupling", "sideways", kind="mtk"), A + "method.coupling: 'sideways' is unknown; known are …"),
    "a compressibility below zero": Row(usual("method.compressibility", -1, kind="cell_rescaling"), A + "method.compressibility: -1 is out of range: must be above 0"),
    "a compressibility that is a pressure": Row(usual("method.compressibility", "1 bar", kind="cell_rescaling"), A + "method.compressibility: '1 bar' has the wrong unit: an inverse pressure, such as 1/bar is needed."),
    "no pressure": Row(usual("systems.0.pressure", None, kind="mtk"), A + "systems[0]: npt needs a pressure"),
    "a pressure at constant volume": Row(usual("systems.0.pressure", 1), A + "systems[0]: a pressure has no meaning for nvt"),
    "a pressure in a box that does not repeat": Row(gas(kind="mtk"), A + "systems[0]: npt needs a cell that repeats along all three axes"),
    "a pressure around fixed atoms": Row(fixed, A + "systems[0]: npt can't change a cell around fixed atoms; free them"),
    "no temperature": Row(usual(HOT, None), A + "systems[0]: nvt needs a temperature above zero"),
    "a temperature of zero": Row(usual(HOT, 0), A + "systems[0]: nvt needs a temperature above zero"),
    "a ramp without an end": Row(usual(HOT, {"from": 3}), A + "systems[0].temperature.to: is missing"),
    "a ramp without a meaning": Row(usual(HOT, {"from": 3, "to": 5}, kind="nve"), A + "systems[0]: a ramp has no meaning for nve"),
    "a ramp to below zero": Row(usual(HOT, {"from": 3, "to": -5}), A + "systems[0].temperature.to: -5 is out of range: must be at least 0"),
    "a ramp to zero": Row(usual(HOT, {"from": 3, "to": 0}), A + "systems[0]: nvt needs a temperature above zero"),
    "a ramp to everything": Row(usual(HOT, {"from": 3, "to": 1e308}), A + "systems[0].temperature.to: 1e+308 is too large to compute with."),
    # Observers
    "an observer that there is not": Row(observe(type="rdf"), A + "observe[0]: there is no type 'rdf'; known are …"),
    "an observer without a type": Row(observe(every=10), A + "observe[0]: has no type; types are …"),
    "observers without a list": Row(usual("observe", {"type": "radial_distribution"}), A + "observe: must be a list of entries, each with a type"),
    "observers that are words": Row(usual("observe", ["radial_distribution"]), A + "observe[0]: 'radial_distribution' is of the wrong kind: a mapping is needed"),
    "a key that there is not in an observer": Row(observe(type="radial_distribution", bin=3), A + "observe[0].bin: unknown key; did you mean 'bins'?"),
    "two observers of one name": Row(usual("observe", [{"type": "density_profile"}] * 2), A + "observe[0]: two observers are called 'density_profile'; give one of them a name"),
    "an observer that is named as a path": Row(observe(type="density_profile", name="../../x"), A + "observe[0].name: a name is made of letters, digits, spaces and _ . + -, and has 80 of them at most"),
    "an observer of atoms that there are not": Row(observe(type="mean_square_displacement", label="Kr", window=5), A + "observe[0]: no atom is labelled 'Kr'; there are Ar"),
    "a pair of one": Row(observe(type="radial_distribution", pair=["Ar"]), A + "observe[0].pair[1]: is missing"),
    "a pair of atoms that there are not": Row(observe(type="radial_distribution", pair=["Ar", "Kr"]), A + "observe[0]: no atom is labelled 'Kr'; there are Ar"),
    "no bins": Row(observe(type="radial_distribution", bins=0), A + "observe[0].bins: 0 is out of range: must be at least 1"),
    "a reach of zero": Row(observe(type="radial_distribution", reach=0), A + "observe[0].reach: 0 is out of range: must be above 0"),
    "a reach of everything": Row(observe(type="radial_distribution", reach=1e6), A + "observe[0].reach: 1000000.0 is out of range: must be at most 100"),
    "a reach in femtoseconds": Row(observe(type="radial_distribution", reach="10 fs"), A + "observe[0].reach: '10 fs' has the wrong unit: a length, such as angstrom is needed."),
    "an axis that there is not": Row(observe(type="density_profile", axis="d"), A + "observe[0].axis: 'd' is unknown; known are …"),
    "no window": Row(observe(type="mean_square_displacement", window=0), A + "observe[0].window: 0 is out of range: must be at least 3"),
    "a window longer than the run": Row(observe(type="mean_square_displacement", every=100, window=1000), A + "observe[0]: it finds nothing in less than 100000 steps, and the run has 180"),
    "a window without an end": Row(observe(type="mean_square_displacement", window=10**15), A + "observe[0].window: 1000000000000000 is out of range: must be at most 100000"),
    "looks in steps of zero": Row(observe(type="density_profile", every=0), A + "observe[0].every: 0 is out of range: must be at least 1"),
    "looks that never come": Row(observe(type="density_profile", every=10**6), A + "observe[0]: it finds nothing in less than 1000000 steps, and the run has 180"),
    "a profile in a box that does not repeat": Row(gas("observe", [{"type": "density_profile"}]), A + "observe[0]: structure 0 has no cell of three vectors"),
}  # fmt: skip
