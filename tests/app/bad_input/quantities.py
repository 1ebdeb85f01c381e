"""Numbers that can't be, and units that do not fit."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import LJ, PLAN, SALT, A, Row, observe, potential, usual

HOT = "systems.0.temperature"
INF = float("inf")
NAN = float("nan")


def reduced(place="seed", value=0):
    """A configuration in reduced units, with one entry replaced."""
    system = {"structure": {"lattice": "fcc", "species": "Ar", "repeat": 3, "density": 0.8}, "temperature": 1.0}
    lj = {"type": "lennard_jones", "cutoff": 2.5, "parameters": {"Ar": {"epsilon": 1, "sigma": 1}}}
    method = {"type": "md", "ensemble": "nvt", "time_step": 0.005, "skin": 0.3, "thermostat": "langevin", "friction": 1.0}
    return usual(place, value, units="lj", systems=[system], potential=[lj], method=method)


ROWS = {
    # Temperatures, pressures
    "a temperature of everything": Row(usual(HOT, 1e308), "?"),
    "a temperature hotter than the sun": Row(usual(HOT, "1e12 K"), "?"),
    "a temperature below zero": Row(usual(HOT, -5), "?"),
    "a temperature that is no number": Row(usual(HOT, NAN), "?"),
    "a temperature in words": Row(usual(HOT, "warm"), "?"),
    "a temperature in femtoseconds": Row(usual(HOT, "300 fs"), "?"),
    "a temperature in degrees": Row(usual(HOT, "25 °C"), "?"),
    "a temperature that is true": Row(usual(HOT, True), "?"),
    "a temperature with a comma": Row(usual(HOT, "298,15 K"), "?"),
    "a temperature that is a list": Row(usual(HOT, [100, 200]), "?"),
    "a pressure of everything": Row(usual("systems.0.pressure", 1e308, kind="cell_rescaling"), "?"),
    "a pressure in kelvin": Row(usual("systems.0.pressure", "1 K", kind="mtk"), "?"),
    # Times
    "a time step of zero": Row(usual("method.time_step", 0), "?"),
    "a time step below zero": Row(usual("method.time_step", "-2 fs"), "?"),
    "a time step that is a length": Row(usual("method.time_step", "2 angstrom"), "?"),
    "a time step of everything": Row(usual("method.time_step", 1e300), "?"),
    "a time step of a second": Row(usual("method.time_step", "1e15 fs"), "?"),
    "a time step of nothing": Row(usual("method.time_step", 1e-300), "?"),
    "a clock that stands": Row(usual("output.checkpoint_every", 0), "?"),
    "a clock without an end": Row(usual("output.checkpoint_every", INF), "?"),
    "a clock that is no number": Row(usual("output.checkpoint_every", NAN), "?"),
    "a clock of fortnights": Row(usual("output.checkpoint_every", "2 fortnights"), "?"),
    # Lengths, densities, energies
    "a cutoff beyond everything": Row(usual("potential.0.cutoff", 1e308), A + "systems[0]: particles that see 1e+308 Å far, …; make the cutoff …"),
    "a cutoff of a micrometre": Row(usual("potential.0.cutoff", 1e4), A + "systems[0]: particles that see 1e+04 Å far, … about 2e+11 images; …"),
    "a skin of a micrometre": Row(usual("method.skin", 1e4), A + "systems[0]: particles that see …"),
    "a cutoff that is not finite": Row(usual("potential.0.cutoff", INF), A + "potential[0].cutoff: inf is not a finite number."),
    "a cutoff of zero": Row(usual("potential.0.cutoff", 0), "?"),
    "a cutoff in eV": Row(usual("potential.0.cutoff", "6 eV"), "?"),
    "a cutoff in a unit that there is not": Row(usual("potential.0.cutoff", "6 angstroms"), "?"),
    "a unit to a power of everything": Row(usual("potential.0.cutoff", "6 bohr^99999999"), "?"),
    "a power of 5000 digits": Row(usual("potential.0.cutoff", "6 angstrom^" + "9" * 5000), "?"),
    "a unit that is divided by zero": Row(usual("potential.0.cutoff", "6 angstrom/0"), "?"),
    "a skin below zero": Row(usual("method.skin", -1), "?"),
    "a density below zero": Row(usual("systems.0.structure.density", -1), "?"),
    "a density that is a length": Row(usual("systems.0.structure.density", "3 angstrom"), "?"),
    "a depth below zero": Row(usual("potential.0.parameters.Ar.epsilon", -1), "?"),
    "a depth in angstrom": Row(usual("potential.0.parameters.Ar.epsilon", "1 angstrom"), "?"),
    "a depth of everything": Row(usual("potential.0.parameters.Ar.epsilon", 1e308), "?"),
    "a size of zero": Row(usual("potential.0.parameters.Ar.sigma", 0), "?"),
    "a size of everything": Row(usual("potential.0.parameters.Ar.sigma", 1e200), "?"),
    "waves without end": Row(
        potential(**SALT, alpha=0.3, real_cutoff=6.0, k_max=500),
        A + "potential: An Ewald sum of 5.02e+08 waves (500, 500 and 500 along …",
    ),
    "an accuracy beyond everything": Row(potential(**SALT, accuracy=1e300), A + "potential[0].accuracy: …"),
    "an accuracy of nothing": Row(potential(**SALT, accuracy=1e-300), A + "potential[0].accuracy: is at least 1e-14, which …; not 1e-300"),
    "a direction of nothing": Row(
        potential(type="wall", epsilon=1.0, sigma=3.0, normal=[0, 0, 1e-200]),
        A + "potential[0].normal: a direction has a length of about 1, not 1e-200",
    ),
    # Counts
    "steps beyond counting": Row(usual("run.steps", 10**30), A + "run.steps: 1000000000000000000000000000000 is out of range: …"),
    "no step at all": Row(usual("run.steps", 0), "?"),
    "half a step": Row(usual("run.steps", 1.5), "?"),
    "steps that are true": Row(usual("run.steps", True), "?"),
    "steps that are no number": Row(usual("run.steps", NAN), "?"),
    "steps in picoseconds": Row(usual("run.steps", "10 ps"), "?"),
    "equilibration below zero": Row(usual("run.equilibration", -1), "?"),
    "no thermo ever": Row(usual("output.thermo_every", 0), "?"),
    "frames below zero": Row(usual("output.trajectory_every", -10), "?"),
    "no copies": Row(usual("systems.0.copies", 0), "?"),
    "copies without an end": Row(usual("systems.0.copies", 10**9), "?"),
    "a sweep without an end": Row(
        usual("systems.0", {"structure": {"lattice": "fcc", "species": "Ar", "density": 1}, "sweep": {"temperature": [1.0] * 999}, "copies": 10**6}), "?"
    ),
    "repeated not at all": Row(usual("systems.0.structure.repeat", 0), "?"),
    "repeated along two vectors": Row(usual("systems.0.structure.repeat", [2, 2]), "?"),
    "repeated half": Row(usual("systems.0.structure.repeat", 1.5), "?"),
    "bins beyond counting": Row(observe(type="radial_distribution", bins=10**12), A + "observe[0].bins: …"),
    # Memory
    "memory below zero": Row(usual("memory", {"budget": "-1 GB"}), "?"),
    "memory in bananas": Row(usual("memory", {"budget": "3 bananas"}), "?"),
    "memory of more than all": Row(usual("memory", {"budget": "200 %"}), "?"),
    "memory that is a list": Row(usual("memory", {"budget": [1]}), "?"),
    "memory of half a byte": Row(usual("memory", {"budget": 0.5}), "?"),
    "memory without an end": Row(usual("memory", {"budget": "1e999 GB"}), "?"),
    "memory of one byte": Row(usual("memory", {"budget": "1 B"}), "?", PLAN),
    "room for no neighbors": Row(usual("memory", {"neighbors": 0}), "?"),
    "room for more neighbors than memory": Row(usual("memory", {"neighbors": 2**31}), "?", PLAN),
    # Reduced units
    "kelvin in reduced units": Row(reduced(HOT, "1 K"), "?"),
    "femtoseconds in reduced units": Row(reduced("method.time_step", "2 fs"), "?"),
    "charges in reduced units": Row(reduced("potential", [LJ, SALT]), "?"),
    "no skin in reduced units": Row(reduced("method", {"type": "md", "ensemble": "nve", "time_step": 0.005}), "?"),
    "a reach that is left out in reduced units": Row(reduced("observe", [{"type": "radial_distribution"}]), "?"),
    "a number of text in reduced units": Row(reduced(HOT, "one"), "?"),
    "not a number in reduced units": Row(reduced(HOT, NAN), "?"),
}  # fmt: skip
