"""Potentials that are incomplete, contradict themselves, or do not fit the structures."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import LJ, SALT, Row, gas, potential, usual

P = "potential.0."
BOND = {"k": 1.0, "r0": 1.0}


def bonded(kind="harmonic_bond", molecule=None, structures=None, **term):
    """Terms of one kind beside a pair potential."""
    more = {"molecule": molecule, "structures": structures}
    return potential(LJ, {"type": kind, "terms": [term], **{k: v for k, v in more.items() if v is not None}})


ROWS = {
    "a type that there is not": Row(usual(P + "type", "lenard_jones"), "?"),
    "a type that is a number": Row(usual(P + "type", 7), "?"),
    "no type": Row(potential(cutoff=6), "?"),
    "a potential that is a word": Row(usual("potential", "lennard_jones"), "?"),
    "a list of words": Row(usual("potential", ["lennard_jones"]), "?"),
    "no potential in the list": Row(usual("potential", []), "?"),
    "a potential that is null": Row(usual("potential", None), "?"),
    "the record of an object": Row(usual("potential", {"object": "my.Potential", "digest": "0" * 64}), "?"),
    "a record of the wrong kind": Row(usual("potential", {"object": 3, "digest": []}), "?"),
    "a key that there is not in a potential": Row(usual(P + "cutof", 3), "?"),
    "a parameter that there is not": Row(usual(P + "parameters.Ar.eps", 3), "?"),
    "a parameter that is missing": Row(usual(P + "parameters", {"Ar": {"sigma": 3}}), "?"),
    "parameters in a list": Row(usual(P + "parameters", [1, 2]), "?"),
    "parameters of nothing": Row(usual(P + "parameters", {}), "?"),
    "parameters of another element": Row(usual(P + "parameters", {"Kr": {"epsilon": 1, "sigma": 3}}), "?"),
    "no cutoff": Row(potential(type="lennard_jones", parameters=LJ["parameters"]), "?"),
    "a cutoff where there is none": Row(potential(type="weeks_chandler_andersen", cutoff=3, parameters=LJ["parameters"]), "?"),
    "a pair of three": Row(usual(P + "pairs", {"Ar-Kr-Xe": {"epsilon": 1, "sigma": 3}}), "?"),
    "a pair twice": Row(usual(P + "pairs", {"Ar-Kr": {"epsilon": 1, "sigma": 3}, "Kr-Ar": {"epsilon": 2, "sigma": 3}}), "?"),
    "a truncation that there is not": Row(usual(P + "truncation", "smooth"), "?"),
    "a switch that begins nowhere": Row(usual(P + "truncation", "switch"), "?"),
    "a switch that begins at its end": Row(potential(**LJ, truncation="switch", inner=6.0), "?"),
    "a switch without a switch": Row(potential(**LJ, inner=5.0), "?"),
    "a mixing rule that there is not": Row(usual(P + "mixing", "arithmetic"), "?"),
    "a tail in a box that does not repeat": Row(gas("potential", [{**LJ, "truncation": "tail"}]), "?"),
    "a Morse potential that opens": Row(potential(type="morse", cutoff=6, parameters={"Ar": {"D": 1, "a": -1, "r0": 1}}), "?"),
    "a soft sphere of no use": Row(potential(type="soft_sphere", cutoff=6, parameters={"Ar": {"epsilon": 1, "sigma": 3, "n": 2}}), "?"),
    # Charges
    "charges that nobody has": Row(potential(type="coulomb"), "?"),
    "charges of another element": Row(potential(type="coulomb", charges={"Kr": 1.0}), "?"),
    "charges that do not add up": Row(potential(**SALT), "?"),
    "charges in kelvin": Row(potential(type="coulomb", charges={"Ar": "1 K"}), "?"),
    "charges without an end": Row(potential(type="coulomb", charges={"Ar": float("inf")}), "?"),
    "charges twice": Row(potential(SALT, SALT), "?"),
    "charges in a box that does not repeat": Row(gas("potential", [{**SALT, "charges": {"Ar": 0.0}}]), "?"),
    "a third of an Ewald sum": Row(potential(**SALT, alpha=0.3), "?"),
    "an Ewald sum and its accuracy": Row(potential(**SALT, alpha=0.3, real_cutoff=6.0, k_max=5, accuracy=1e-6), "?"),
    "waves below zero": Row(potential(**SALT, alpha=0.3, real_cutoff=6.0, k_max=-1), "?"),
    "a method of sums that there is not": Row(potential(**SALT, method="fmm"), "?"),
    # Terms
    "a bond to an atom that there is not": Row(bonded(atoms=[0, 99], **BOND), "?"),
    "a bond to itself": Row(bonded(atoms=[1, 1], **BOND), "?"),
    "a bond of three": Row(bonded(atoms=[0, 1, 2], **BOND), "?"),
    "a bond to an atom below zero": Row(bonded(atoms=[-1, 0], **BOND), "?"),
    "a bond beyond counting": Row(bonded(atoms=[0, 10**30], **BOND), "?"),
    "a bond without a length": Row(bonded(atoms=[0, 1], k=1.0), "?"),
    "bonds of a structure that there is not": Row(bonded(atoms=[0, 1], structures=[7], **BOND), "?"),
    "molecules that do not fit": Row(bonded(atoms=[0, 1], molecule=7, **BOND), "?"),
    "molecules of no atoms": Row(bonded(atoms=[0, 1], molecule=0, **BOND), "?"),
    "no terms": Row(potential(LJ, {"type": "harmonic_bond", "terms": []}), "?"),
    "terms that are a word": Row(potential(LJ, {"type": "harmonic_bond", "terms": "all"}), "?"),
    "an angle beyond a half turn": Row(bonded("harmonic_angle", atoms=[0, 1, 2], k=1.0, theta0="200 deg"), "?"),
    "half a multiplicity": Row(bonded("periodic_dihedral", atoms=[0, 1, 2, 3], k=1.0, n=1.5, phi0=0.0), "?"),
    "exclusions of nothing": Row(potential(LJ, {"type": "exclusions"}), "?"),
    "exclusions alone": Row(potential(type="exclusions", bonds=[[0, 1]]), "?"),
    "exclusions of an atom that there is not": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 999]]}), "?"),
    "factors that are two": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 1]], "pair": [0, 1]}), "?"),
    "factors that are not finite": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 1]], "pair": [0, 0, float("nan")]}), "?"),
    "a distance that is held at nothing": Row(bonded("fixed_distance", atoms=[0, 1], r0=0), "?"),
    # Fields
    "a direction of two numbers": Row(potential(type="wall", epsilon=1.0, sigma=3.0, normal=[0, 1]), "?"),
    "a field of charges that there are not": Row(potential(LJ, {"type": "uniform_field", "force": [0, 0, 1], "strength": "spin"}), "?"),
    # ASE
    "a calculator that there is not": Row(potential(type="ase", calculator="emtt"), "?"),
    "a calculator by its path": Row(potential(type="ase", calculator="../evil.py"), "?"),
    "a calculator with arguments in a list": Row(potential(type="ase", calculator="lj", arguments=[1]), "?"),
    "a calculator with an argument that there is not": Row(potential(type="ase", calculator="emt", arguments={"speed": 9}), "?"),
    "a calculator without the element": Row(potential(type="ase", calculator="emt"), "?"),
}  # fmt: skip
