"""Numbers that can't be, and units that do not fit."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import LJ, NEUTRAL, PLAN, SALT, A, Row, observe, potential, usual

HOT = "systems.0.temperature"
INF = float("inf")
NAN = float("nan")


def reduced(place="seed", value=0):
    """A configuration in reduced units, with one entry replaced."""
    system = {
        "structure": {"lattice": "fcc", "species": "Ar", "repeat": 3, "density": 0.8},
        "temperature": 1.0,
    }
    lj = {"type": "lennard_jones", "cutoff": 2.5, "parameters": {"Ar": {"epsilon": 1, "sigma": 1}}}
    method = {
        "type": "md",
        "ensemble": "nvt",
        "time_step": 0.005,
        "skin": 0.3,
        "thermostat": "langevin",
        "friction": 1.0,
    }
    return usual(place, value, units="lj", systems=[system], potential=[lj], method=method)


ROWS = {
    # Temperatures, pressures
    "a temperature of everything": Row(usual(HOT, 1e308), A + "systems[0].temperature: 1e+308 is too large to compute with."),
    "a temperature hotter than the sun": Row(usual(HOT, "1e12 K"), A + "systems[0].temperature: '1e12 K' is out of range: must be at most 1e+09 K"),
    "a temperature below zero": Row(usual(HOT, -5), A + "systems[0].temperature: -5 is out of range: must be at least 0"),
    "a temperature that is no number": Row(usual(HOT, NAN), A + "systems[0].temperature: nan is not a finite number."),
    "a temperature in words": Row(usual(HOT, "warm"), A + "systems[0].temperature: 'warm' is not a quantity; write a number, then a unit: '8.5 angstrom'."),
    "a temperature in femtoseconds": Row(usual(HOT, "300 fs"), A + "systems[0].temperature: '300 fs' has the wrong unit: a temperature, such as K is needed."),
    "a temperature in degrees": Row(usual(HOT, "25 °C"), A + "systems[0].temperature: '°C' is not a unit; known are …"),
    "a temperature that is true": Row(usual(HOT, True), A + "systems[0].temperature: True is not a quantity; write a number, or a number with a unit."),
    "a temperature with a comma": Row(usual(HOT, "298,15 K"), A + "systems[0].temperature: ',15 K' is not a unit; write numbers with a point, such as 298.15."),
    "a temperature that is a list": Row(usual(HOT, [100, 200]), A + "systems[0].temperature: [100, 200] is not a quantity; write a number, or a number with a unit."),
    "a pressure of everything": Row(usual("systems.0.pressure", 1e308, kind="cell_rescaling"), A + "systems[0].pressure: 1e+308 is too large to compute with."),
    "a pressure in kelvin": Row(usual("systems.0.pressure", "1 K", kind="mtk"), A + "systems[0].pressure: '1 K' has the wrong unit: a pressure, such as bar is needed."),
    # Times
    "a time step of zero": Row(usual("method.time_step", 0), A + "method.time_step: 0 is out of range: must be above 0"),
    "a time step below zero": Row(usual("method.time_step", "-2 fs"), A + "method.time_step: '-2 fs' is out of range: must be above 0"),
    "a time step that is a length": Row(usual("method.time_step", "2 angstrom"), A + "method.time_step: '2 angstrom' has the wrong unit: a time, such as fs is needed."),
    "a time step of everything": Row(usual("method.time_step", 1e300), A + "method.time_step: 1e+300 is too large to compute with."),
    "a time step of a second": Row(usual("method.time_step", "1e15 fs"), A + "method.time_step: '1e15 fs' is out of range: must be at most 1e+09 fs"),
    "a time step of nothing": Row(usual("method.time_step", 1e-300), A + "method.time_step: 1e-300 is out of range: must be at least 1e-09 fs"),
    "a clock that stands": Row(usual("output.checkpoint_every", 0), A + "output.checkpoint_every: 0 is out of range: must be above 0"),
    "a clock without an end": Row(usual("output.checkpoint_every", INF), A + "output.checkpoint_every: inf is not a time on the clock; write it as '5 min', '30 s' or '2 h'."),
    "a clock that is no number": Row(usual("output.checkpoint_every", NAN), A + "output.checkpoint_every: nan is not a time on the clock; write it as '5 min', '30 s' or '2 h'."),
    "a clock of fortnights": Row(usual("output.checkpoint_every", "2 fortnights"), A + "output.checkpoint_every: '2 fortnights' is not a time on the clock; write it as '5 min', '30 s' or '2 h'."),
    # Lengths, densities, energies
    "a cutoff beyond everything": Row(usual("potential.0.cutoff", 1e308), A + "potential[0].cutoff: 1e+308 is too large to compute with."),
    "a cutoff of a micrometre": Row(usual("potential.0.cutoff", 1e4), A + "systems[0]: particles that see 1e+04 Å far, … about 2e+11 images; …"),
    "a skin of a micrometre": Row(usual("method.skin", 1e4), A + "systems[0]: particles that see …"),
    "a cutoff that is not finite": Row(usual("potential.0.cutoff", INF), A + "potential[0].cutoff: inf is not a finite number."),
    "a cutoff of zero": Row(usual("potential.0.cutoff", 0), A + "potential[0].cutoff: 0 is out of range: must be above 0"),
    "a cutoff in eV": Row(usual("potential.0.cutoff", "6 eV"), A + "potential[0].cutoff: '6 eV' has the wrong unit: a length, such as angstrom is needed."),
    "a cutoff in a unit that there is not": Row(usual("potential.0.cutoff", "6 angstroms"), A + "potential[0].cutoff: 'angstroms' is not a unit; known are …"),
    "a unit to a power of everything": Row(usual("potential.0.cutoff", "6 bohr^99999999"), A + "potential[0].cutoff: 'bohr^99999999' is not a unit; known are …"),
    "a power of 5000 digits": Row(usual("potential.0.cutoff", "6 angstrom^" + "9" * 5000), A + "potential[0].cutoff: 'angstrom^99999999999999999999…' is not a unit; known are …"),
    "a unit that is divided by zero": Row(usual("potential.0.cutoff", "6 angstrom/0"), A + "potential[0].cutoff: 'angstrom/0' is not a unit; known are …"),
    "a skin below zero": Row(usual("method.skin", -1), A + "method.skin: -1 is out of range: must be at least 0"),
    "a density below zero": Row(usual("systems.0.structure.density", -1), A + "systems[0].structure.density: -1 is out of range: must be above 0"),
    "a density that is a length": Row(usual("systems.0.structure.density", "3 angstrom"), A + "systems[0].structure.density: '3 angstrom' has the wrong unit: a density, such as g/cm^3 is needed."),
    "a depth below zero": Row(usual("potential.0.parameters.Ar.epsilon", -1), A + "potential[0].parameters.Ar.epsilon: -1 is out of range: must be at least 0"),
    "a depth in angstrom": Row(usual("potential.0.parameters.Ar.epsilon", "1 angstrom"), A + "potential[0].parameters.Ar.epsilon: '1 angstrom' has the wrong unit: an energy, such as eV is needed."),
    "a depth of everything": Row(usual("potential.0.parameters.Ar.epsilon", 1e308), A + "potential[0].parameters.Ar.epsilon: 1e+308 is too large to compute with."),
    "a size of zero": Row(usual("potential.0.parameters.Ar.sigma", 0), A + "potential[0].parameters.Ar.sigma: 0 is out of range: must be above 0"),
    "a size of everything": Row(usual("potential.0.parameters.Ar.sigma", 1e200), A + "potential[0].parameters.Ar.sigma: 1e+200 is too large to compute with."),
    "waves without end": Row(
        potential(**NEUTRAL, alpha=0.3, real_cutoff=6.0, k_max=500),
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
    "no step at all": Row(usual("run.steps", 0), A + "run.steps: 0 is out of range: must be at least 1"),
    "half a step": Row(usual("run.steps", 1.5), A + "run.steps: 1.5 is of the wrong kind: a whole number is needed"),
    "steps that are true": Row(usual("run.steps", True), A + "run.steps: true and false are not numbers"),
    "steps that are no number": Row(usual("run.steps", NAN), A + "run.steps: must be a finite number"),
    "steps in picoseconds": Row(usual("run.steps", "10 ps"), A + "run.steps: '10 ps' is of the wrong kind: a whole number is needed"),
    "equilibration below zero": Row(usual("run.equilibration", -1), A + "run.equilibration: -1 is out of range: must be at least 0"),
    "no thermo ever": Row(usual("output.thermo_every", 0), A + "output.thermo_every: 0 is out of range: must be at least 1"),
    "frames below zero": Row(usual("output.trajectory_every", -10), A + "output.trajectory_every: -10 is out of range: must be at least 0"),
    "no copies": Row(usual("systems.0.copies", 0), A + "systems[0].copies: 0 is out of range: must be at least 1"),
    "copies without an end": Row(usual("systems.0.copies", 10**9), A + "systems[0]: there would be 1000000000 systems, and a run has at most 10000000; ask for fewer copies, values of a sweep or frames"),
    "a sweep without an end": Row(
        usual("systems.0", {"structure": {"lattice": "fcc", "species": "Ar", "density": 1}, "sweep": {"temperature": [1.0] * 999}, "copies": 10**6}),
        A + "systems[0]: there would be 999000000 systems, and a run has at most 10000000; …",
    ),
    "repeated not at all": Row(usual("systems.0.structure.repeat", 0), A + "systems[0].structure.repeat: 0 is out of range: must be at least 1"),
    "repeated along two vectors": Row(usual("systems.0.structure.repeat", [2, 2]), A + "systems[0].structure.repeat[2]: is missing"),
    "repeated half": Row(usual("systems.0.structure.repeat", 1.5), A + "systems[0].structure.repeat: 1.5 is of the wrong kind: a whole number is needed"),
    "bins beyond counting": Row(observe(type="radial_distribution", bins=10**12), A + "observe[0].bins: …"),
    # Memory
    "memory below zero": Row(usual("memory", {"budget": "-1 GB"}), A + "memory.budget: An amount of memory is at least one byte, not '-1 GB'."),
    "memory in bananas": Row(usual("memory", {"budget": "3 bananas"}), A + "memory.budget: 'bananas' in '3 bananas' is not a unit of memory."),
    "memory of more than all": Row(usual("memory", {"budget": "200 %"}), A + "memory.budget: A share of the memory is above 0 % and at most 100 %, not '200 %'."),
    "memory that is a list": Row(usual("memory", {"budget": [1]}), A + "memory.budget: [1] is not an amount of memory; write it as '8 GiB', '60 %' or 1000000000"),
    "memory of half a byte": Row(usual("memory", {"budget": 0.5}), A + "memory.budget: 0.5 is not an amount of memory; write it as '8 GiB', '60 %' or 1000000000"),
    "memory without an end": Row(usual("memory", {"budget": "1e999 GB"}), A + "memory.budget: An amount of memory is a finite number, not '1e999 GB'."),
    "memory of one byte": Row(usual("memory", {"budget": "1 B"}), "A run takes 48.0 MiB at least, and this one may take 1 B (given: 1 B, 10% kept free).", PLAN),
    "room for no neighbors": Row(usual("memory", {"neighbors": 0}), A + "memory.neighbors: 0 is out of range: must be at least 1"),
    "room for more neighbors than memory": Row(usual("memory", {"neighbors": 2**31}), "System 0 (32 atoms) needs 960 GiB, and a run may take …", PLAN),
    # Reduced units
    "kelvin in reduced units": Row(reduced(HOT, "1 K"), A + "systems[0].temperature: '1 K' is not a reduced number; with units: lj numbers have no unit."),
    "a temperature of everything in reduced units": Row(reduced(HOT, 1e9), A + "systems[0].temperature: 1000000000.0 is out of range: must be at most 9e+04"),
    "femtoseconds in reduced units": Row(reduced("method.time_step", "2 fs"), A + "method.time_step: '2 fs' is not a reduced number; with units: lj numbers have no unit."),
    "charges in reduced units": Row(reduced("potential", [LJ, SALT]), A + "potential[1].charges.Ar: charges have no reduced unit; leave out units: lj."),
    "no skin in reduced units": Row(reduced("method", {"type": "md", "ensemble": "nve", "time_step": 0.005}), A + "method.skin: has no default in reduced units; give it as a bare number"),
    "a reach that is left out in reduced units": Row(reduced("observe", [{"type": "radial_distribution"}]), A + "observe[0].reach: has no default in reduced units; give it as a bare number"),
    "a number of text in reduced units": Row(reduced(HOT, "one"), A + "systems[0].temperature: 'one' is not a reduced number; with units: lj numbers have no unit."),
    "not a number in reduced units": Row(reduced(HOT, NAN), A + "systems[0].temperature: nan is not a finite number."),
}  # fmt: skip
