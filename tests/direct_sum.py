"""Energies of pairs from the mappings of a topology, written out over all pairs."""

import numpy as np

COULOMB = 14.399645478425668  # eV Å / e²


def separations(count, bonds):
    """How many bonds apart two atoms are; 4 for all that are further apart than 3."""
    joined = np.zeros((count, count), bool)
    for a, b in bonds:
        joined[a, b] = joined[b, a] = True
    apart = np.full((count, count), 4)
    reached = np.eye(count, dtype=bool)
    for number in (1, 2, 3):
        reached = reached @ joined
        apart[reached & (apart == 4)] = number
    return apart


def factors(potential, name, count):
    """By what every pair is multiplied."""
    entry = next(entry for entry in potential if entry["type"] == "exclusions")
    apart = separations(count, entry["bonds"])
    return np.choose(apart - 1, [*entry[name], 1.0])


def pair_energies(atoms, potential):
    """Energies (eV) of Lennard-Jones and of Coulomb pairs, within the cutoff of each."""
    first, second = np.triu_indices(len(atoms), 1)
    distances = atoms.get_all_distances(mic=bool(atoms.pbc.any()))[first, second]
    entries = {entry["type"]: entry for entry in potential}
    lennard_jones, coulomb = entries["lennard_jones"], entries["cutoff_coulomb"]
    values = [lennard_jones["parameters"][label] for label in atoms.arrays["labels"]]
    epsilon, sigma = (np.array([v[name] for v in values]) for name in ("epsilon", "sigma"))
    depth = np.sqrt(epsilon[first] * epsilon[second])
    if lennard_jones["mixing"] == "geometric":
        size = np.sqrt(sigma[first] * sigma[second])
    else:
        size = (sigma[first] + sigma[second]) / 2
    sixth = (size / distances) ** 6
    energy = 4 * depth * (sixth**2 - sixth) * factors(potential, "pair", len(atoms))[first, second]
    charges = atoms.get_initial_charges()
    between = COULOMB * charges[first] * charges[second] / distances
    between = between * factors(potential, "coulomb", len(atoms))[first, second]
    return (
        energy[distances < lennard_jones["cutoff"]].sum(),
        between[distances < coulomb["cutoff"]].sum(),
    )
