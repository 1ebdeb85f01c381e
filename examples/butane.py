"""How much of butane is trans: butane.yaml is run, and its dihedral angles are counted.

    python examples/butane.py

Only the torsion U depends on the dihedral angle φ, so the distribution of φ is exp(−U(φ)/k_BT). The
fraction that follows from it is printed beside the one that was found.
"""

from pathlib import Path

import numpy as np

import instar

CONFIG = Path(__file__).with_name("butane.yaml")


def main(changes=(), out="runs/butane"):
    """Run and count; returns the fraction of trans and its standard error."""
    run = instar.run(CONFIG, out, changes=changes)
    trajectory = run.trajectory
    found = [np.mean(is_trans(trajectory.positions(n))) for n in range(trajectory.systems)]
    fraction, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))
    temperature = run.summary["systems"][0]["asked"]["temperature"]["value"]
    print(f"trans: {fraction:.3f} ± {error:.3f}; exp(−U/k_BT) has {expected(temperature):.3f}")
    return float(fraction), float(error)


def is_trans(positions):
    """Whether the dihedral angle is nearer to 180° than to ±60°; positions (frames, 4, 3)."""
    first, middle, last = np.moveaxis(np.diff(positions, axis=1), 1, 0)
    sides = np.cross(first, middle), np.cross(middle, last)
    lengths = [np.linalg.norm(side, axis=-1) for side in sides]
    return np.sum(sides[0] * sides[1], axis=-1) < -0.5 * lengths[0] * lengths[1]


def expected(temperature):
    """The fraction of trans at a temperature (K), from the torsion alone."""
    angle = np.deg2rad(np.arange(0.5, 360))
    energy = (
        355.03 * (1 + np.cos(angle))
        - 68.19 * (1 - np.cos(2 * angle))
        + 791.32 * (1 + np.cos(3 * angle))
    )  # K
    weight = np.exp(-energy / temperature)
    return weight[np.cos(angle) < -0.5].sum() / weight.sum()


if __name__ == "__main__":
    main()
