"""Potentials that are incomplete, contradict themselves, or do not fit the structures."""
# ruff: noqa: E501 (a row is a line where it can be)

from app.bad_input.table import LJ, NEUTRAL, RUN, SALT, STRUCTURE, A, Row, gas, potential, usual

P = "potential.0."
BOND = {"k": 1.0, "r0": 1.0}


def bonded(kind="harmonic_bond", molecule=None, structures=None, **term):
    """Terms of one kind beside a pair potential."""
    more = {"molecule": molecule, "structures": structures}
    return potential(
        LJ, {"type": kind, "terms": [term], **{k: v for k, v in more.items() if v is not None}}
    )


ROWS = {
    "a type that there is not": Row(usual(P + "type", "lenard_jones"), A + "potential[0]: there is no type 'lenard_jones'; did you mean 'lennard_jones'?"),
    "a type that is a number": Row(usual(P + "type", 7), A + "potential[0]: there is no type '7'; known are …"),
    "no type": Row(potential(cutoff=6), A + "potential[0]: has no type; types are …"),
    "a potential that is a word": Row(usual("potential", "lennard_jones"), A + "potential: A potential is an object of instar.potentials, a mapping with a type, or a list of such mappings; not 'lennard_jones'."),
    "a list of words": Row(usual("potential", ["lennard_jones"]), A + "potential[0]: 'lennard_jones' is of the wrong kind: a mapping is needed"),
    "no potential in the list": Row(usual("potential", []), A + "potential: A potential is an object of instar.potentials, a mapping with a type, or a list of such mappings; not []."),
    "a potential that is null": Row(usual("potential", None), A + "potential: is missing"),
    "the record of an object": Row(usual("potential", {"object": "my.Potential", "digest": "0" * 64}), A + "potential: was an object of Python, a my.Potential, which a file can't hold; go on from Python: instar.resume(DIR, potential=…)"),
    "a record of the wrong kind": Row(usual("potential", {"object": 3, "digest": []}), A + "potential[0]: has no type; types are …"),
    "a key that there is not in a potential": Row(usual(P + "cutof", 3), A + "potential[0].cutof: unknown key; did you mean 'cutoff'?"),
    "a parameter that there is not": Row(usual(P + "parameters.Ar.eps", 3), A + "potential[0].parameters.Ar.eps: unknown key; did you mean 'epsilon'?"),
    "a parameter that is missing": Row(usual(P + "parameters", {"Ar": {"sigma": 3}}), A + "potential[0].parameters.Ar.epsilon: is missing"),
    "parameters in a list": Row(usual(P + "parameters", [1, 2]), A + "potential[0].parameters: [1, 2] is of the wrong kind: a mapping is needed"),
    "parameters of nothing": Row(usual(P + "parameters", {}), STRUCTURE + "LennardJones has no parameters for Ar. Give them in parameters or pairs, or name a mixing rule."),
    "parameters of another element": Row(usual(P + "parameters", {"Kr": {"epsilon": 1, "sigma": 3}}), STRUCTURE + "LennardJones has no parameters for Ar. Give them in parameters or pairs, or name a mixing rule."),
    "no cutoff": Row(potential(type="lennard_jones", parameters=LJ["parameters"]), A + "potential[0].cutoff: is missing"),
    "a cutoff where there is none": Row(potential(type="weeks_chandler_andersen", cutoff=3, parameters=LJ["parameters"]), A + "potential[0].cutoff: unknown key; known are …"),
    "a pair of three": Row(usual(P + "pairs", {"Ar-Kr-Xe": {"epsilon": 1, "sigma": 3}}), A + "potential: 'Ar-Kr-Xe' is not a pair of labels; write them as 'Ar-Kr'."),
    "a pair twice": Row(usual(P + "pairs", {"Ar-Kr": {"epsilon": 1, "sigma": 3}, "Kr-Ar": {"epsilon": 2, "sigma": 3}}), A + "potential: A pair is given twice, in both orders: Ar-Kr, Kr-Ar."),
    "a truncation that there is not": Row(usual(P + "truncation", "smooth"), A + "potential[0].truncation: 'smooth' is unknown; did you mean 'switch'?"),
    "a switch that begins nowhere": Row(usual(P + "truncation", "switch"), A + "potential: An inner radius belongs to truncation='switch', and that needs one: inner=..., in Å, below the cutoff."),
    "a switch that begins at its end": Row(potential(**LJ, truncation="switch", inner=6.0), A + "potential: The inner radius 6.0 Å is not between 0 and the cutoff 6.0 Å."),
    "a switch without a switch": Row(potential(**LJ, inner=5.0), A + "potential: An inner radius belongs to truncation='switch', and that needs one: inner=..., in Å, below the cutoff."),
    "a mixing rule that there is not": Row(usual(P + "mixing", "arithmetic"), A + "potential[0].mixing: 'arithmetic' is unknown; did you mean 'geometric'?"),
    "a tail in a box that does not repeat": Row(gas("potential", [{**LJ, "truncation": "tail"}]), STRUCTURE + "tail corrections hold for a fluid that fills space, along all three axes. Give it a periodic cell, or choose another truncation, such as shift."),
    "a Morse potential that opens": Row(potential(type="morse", cutoff=6, parameters={"Ar": {"D": 1, "a": -1, "r0": 1}}), A + "potential[0].parameters.Ar.a: -1 is out of range: must be above 0"),
    "a soft sphere of no use": Row(potential(type="soft_sphere", cutoff=6, parameters={"Ar": {"epsilon": 1, "sigma": 3, "n": 2}}), A + "potential[0].parameters.Ar.n: 2 is out of range: must be above 3"),
    # Charges
    "charges that nobody has": Row(potential(type="coulomb"), STRUCTURE + "there are no charges, and the potential needs them. Set atoms.set_initial_charges([...]), or give charges by label in the potential."),
    "charges of another element": Row(potential(type="coulomb", charges={"Kr": 1.0}), A + "systems: There is no charge for 'Ar', only for Kr."),
    "charges in kelvin": Row(potential(type="coulomb", charges={"Ar": "1 K"}), A + "potential[0].charges.Ar: '1 K' has the wrong unit: a charge, such as e is needed."),
    "charges without an end": Row(potential(type="coulomb", charges={"Ar": float("inf")}), A + "potential[0].charges.Ar: inf is not a finite number."),
    "charges twice": Row(potential(SALT, SALT), A + "potential: Charges are given twice; one table of charges is enough."),
    "charges in a box that does not repeat": Row(gas("potential", [SALT]), STRUCTURE + "there are charges, but no Ewald sum, as it does not repeat along all three axes. Give it a periodic cell, or use cutoff_coulomb."),
    "a third of an Ewald sum": Row(potential(**SALT, alpha=0.3), A + "potential[0]: alpha, real_cutoff and k_max are given together, or none of them"),
    "an Ewald sum and its accuracy": Row(potential(**SALT, alpha=0.3, real_cutoff=6.0, k_max=5, accuracy=1e-6), A + "potential[0]: alpha, real_cutoff and k_max are all there is to say; leave out accuracy and method, or leave out those three"),
    "waves below zero": Row(potential(**SALT, alpha=0.3, real_cutoff=6.0, k_max=-1), A + "potential[0].k_max: -1 is out of range: must be at least 0"),
    "waves beyond counting": Row(potential(**NEUTRAL, alpha=0.3, real_cutoff=6.0, k_max=10**30), A + "potential: An Ewald sum of 4e+90 waves (1…, 1… and 1… along the axes) is not made; at most 2e+07 are."),
    "a method of sums that there is not": Row(potential(**SALT, method="fmm"), A + "potential[0].method: 'fmm' is unknown; known are …"),
    # Terms
    "a bond to an atom that there is not": Row(bonded(atoms=[0, 99], **BOND), A + "potential: harmonic_bond: term 0 is between the atoms [0, 99], but structure 0 has 32 atoms, counted from 0."),
    "a bond to itself": Row(bonded(atoms=[1, 1], **BOND), A + "potential[1].terms[0].atoms: an atom is named twice: [1, 1]"),
    "a bond of three": Row(bonded(atoms=[0, 1, 2], **BOND), A + "potential[1].terms[0].atoms: 2 atoms are needed, such as [0, 1]"),
    "a bond to an atom below zero": Row(bonded(atoms=[-1, 0], **BOND), A + "potential[1].terms[0].atoms: atoms are whole numbers, counted from 0; -1 is none"),
    "a bond beyond counting": Row(bonded(atoms=[0, 10**30], **BOND), A + "potential[1].terms[0].atoms: atoms are whole numbers, counted from 0; 1000000000000000000000000000000 is none"),
    "a bond without a length": Row(bonded(atoms=[0, 1], k=1.0), A + "potential[1].terms[0].r0: is missing"),
    "bonds of a structure that there is not": Row(bonded(atoms=[0, 1], structures=[7], **BOND), A + "potential: harmonic_bond: there is no structure 7; there are 2, counted from 0."),
    "molecules that do not fit": Row(bonded(atoms=[0, 1], molecule=7, **BOND), A + "potential: harmonic_bond: structure 0 has 32 atoms, which are not a whole number of molecules of 7."),
    "molecules of no atoms": Row(bonded(atoms=[0, 1], molecule=0, **BOND), A + "potential[1].molecule: 0 is out of range: must be at least 1"),
    "terms of a structure beyond counting": Row(bonded(atoms=[0, 1], structures=[10**30], **BOND), A + "potential[1].structures: there is nothing with the number 1000000000000000000000000000000"),
    "molecules beyond counting": Row(bonded(atoms=[0, 1], molecule=10**30, **BOND), A + "potential[1].molecule: there is nothing with the number 1000000000000000000000000000000"),
    "terms that are a word": Row(potential(LJ, {"type": "harmonic_bond", "terms": "all"}), A + "potential[1].terms: a list of terms is needed"),
    "an angle beyond a half turn": Row(bonded("harmonic_angle", atoms=[0, 1, 2], k=1.0, theta0="200 deg"), A + "potential[1].terms[0].theta0: is between 0 and 180 deg, not 200 deg"),
    "half a multiplicity": Row(bonded("periodic_dihedral", atoms=[0, 1, 2, 3], k=1.0, n=1.5, phi0=0.0), A + "potential[1].terms[0].n: is a whole number from 1, not 1.5"),
    "exclusions of nothing": Row(potential(LJ, {"type": "exclusions"}), A + "potential: exclusions: nothing is bonded, so nothing would be excluded."),
    "exclusions alone": Row(potential(type="exclusions", bonds=[[0, 1]]), A + "potential: exclusions: there is no interaction of pairs to exclude them from."),
    "exclusions of an atom that there is not": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 999]]}), A + "potential: exclusions: term 0 is between the atoms [0, 999], but structure 0 has 32 atoms, counted from 0."),
    "exclusions beyond counting": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 10**30]]}), A + "potential[1].bonds: there is nothing with the number 1000000000000000000000000000000"),
    "factors that are two": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 1]], "pair": [0, 1]}), A + "potential[1].pair[2]: is missing"),
    "factors that are not finite": Row(potential(LJ, {"type": "exclusions", "bonds": [[0, 1]], "pair": [0, 0, float("nan")]}), A + "potential[1].pair[2]: nan is not a finite number."),
    "a distance that is held at nothing": Row(bonded("distance_constraint", atoms=[0, 1], r0=0), A + "potential[1].terms[0].r0: 0 is out of range: must be above 0"),
    # Fields
    "a direction of two numbers": Row(potential(type="wall", epsilon=1.0, sigma=3.0, normal=[0, 1]), A + "potential[0].normal[2]: is missing"),
    "a field of charges that there are not": Row(potential(LJ, {"type": "uniform_field", "force": [0, 0, 1], "strength": "spin"}), A + "potential[1].strength: 'spin' is unknown; known are …"),
    # ASE
    "a calculator that there is not": Row(potential(type="ase", calculator="emtt"), A + "potential[0].calculator: ASE has no calculator 'emtt'; did you mean 'emt'?"),
    "a calculator by its path": Row(potential(type="ase", calculator="../evil.py"), A + "potential[0].calculator: ASE has no calculator '../evil.py'; known are …"),
    "a calculator with arguments in a list": Row(potential(type="ase", calculator="lj", arguments=[1]), A + "potential[0].arguments: [1] is of the wrong kind: a mapping is needed"),
    "a calculator with an argument that there is not": Row(potential(type="ase", calculator="tip3p", arguments={"speed": 9}), A + "potential: ase: the calculator 'tip3p' can't be made with the arguments {'speed': 9}: TypeError: TIP3P.__init__() got an unexpected keyword argument 'speed'", (*RUN, "--trust")),
}  # fmt: skip
