"""Times vesin's full neighbor list of one periodic configuration.

    tools/peers vesin
    .venv-peers/vesin/bin/python bench/peers/vesin_list.py --atoms 4000 --reach 2.8

An fcc lattice at rho* 0.8442 with Gaussian noise, or --positions file.npy in a cubic --box. What is
timed is one call of NeighborList.compute, copies into NumPy arrays included, best of --repeats:
for pairs and shifts ("ijS"), and for pairs, shifts and distances ("ijSd").
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np
from vesin import NeighborList

DENSITY = 0.8442


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--atoms", type=int, default=4000, help="four times a cube: 4000, 32000")
    parser.add_argument("--reach", type=float, default=2.8)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--positions", type=Path, help="file.npy of (n, 3), instead of --atoms")
    parser.add_argument("--box", type=float, help="side of the cube that --positions are in")
    parser.add_argument("--threads", type=int, default=1, help="0: every core")
    parser.add_argument("--repeats", type=int, default=20)
    return parser.parse_args()


def configuration(options: argparse.Namespace) -> tuple[np.ndarray, float]:
    if options.positions:
        if options.box is None:
            raise SystemExit("--positions needs --box.")
        return np.load(options.positions).astype(float), options.box
    side = round((options.atoms / 4) ** (1 / 3))
    if 4 * side**3 != options.atoms:
        raise SystemExit(f"--atoms {options.atoms} is not 4 n³: use 4000 or 32000.")
    length = (options.atoms / DENSITY) ** (1 / 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.array(list(product(range(side), repeat=3)))
    sites = (corners[:, None] + basis).reshape(-1, 3) * length / side
    noise = np.random.default_rng(0).normal(scale=options.noise, size=sites.shape)
    return (sites + noise) % length, length


def main() -> None:
    options = arguments()
    positions, length = configuration(options)
    box = length * np.eye(3)
    quantities = ("ijS", "ijSd")
    seconds: dict[str, list[float]] = {wanted: [] for wanted in quantities}
    pairs = 0
    neighbors = NeighborList(cutoff=options.reach, full_list=True, n_threads=options.threads)
    for _, wanted in product(range(options.repeats), quantities):
        begin = time.perf_counter()
        found = neighbors.compute(positions, box, periodic=True, quantities=wanted)
        seconds[wanted].append(time.perf_counter() - begin)
        pairs = len(found[0])
    best = {"seconds": min(seconds["ijS"]), "seconds_with_distances": min(seconds["ijSd"])}
    print(json.dumps(best | {"pairs": pairs}))


if __name__ == "__main__":
    main()
