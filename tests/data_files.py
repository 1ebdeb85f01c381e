"""Small data files of LAMMPS, and how tests read them."""

import instar

WATERS = """Two waters

6 atoms
4 bonds
2 angles
2 atom types
1 bond types
1 angle types
0 20 xlo xhi
0 20 ylo yhi
-10 10 zlo zhi

Masses

1 15.9994 # O
2 1.008

Pair Coeffs # lj/cut/coul/long

1 0.1521 3.1507
2 0 0

Bond Coeffs # harmonic

1 450 0.9572

Angle Coeffs # harmonic

1 55 104.52

Atoms # full

4 2 1 -0.834 5 0 0 0 0 0
5 2 2 0.417 5.9 0 0 0 0 0
6 2 2 0.417 4.8 0.9 0 0 0 0
1 1 1 -0.834 19.9 0 0 -1 0 1
2 1 2 0.417 0.8 0 0 0 0 1
3 1 2 0.417 19.6 0.9 0 -1 0 1

Velocities

1 0.001 0 0
2 0 0 0
3 0 0 0
4 0 0 0
5 0 0 0
6 0 0 -0.002

Bonds

1 1 1 2
2 1 1 3
3 1 4 5
4 1 4 6

Angles

1 1 2 1 3
2 1 5 4 6
"""

CHAIN = """Four united atoms in a tilted box

4 atoms
3 bonds
2 angles
1 dihedrals
1 impropers
1 atom types
1 bond types
1 angle types
1 dihedral types
1 improper types
0 10 xlo xhi
0 11 ylo yhi
0 12 zlo zhi
1 2 3 xy xz yz

Masses

1 14.027

Bond Coeffs

1 {bond}

Angle Coeffs

1 {angle}

Dihedral Coeffs

1 {dihedral}

Improper Coeffs

1 {improper}

Atoms # molecular

1 1 1 0 0 0
2 1 1 1.5 0 0
3 1 1 2 1.4 0
4 1 1 3.5 1.5 0.4

Bonds

1 1 1 2
2 1 2 3
3 1 3 4

Angles

1 1 1 2 3
2 1 2 3 4

Dihedrals

1 1 1 2 3 4

Impropers

1 1 1 2 3 4
"""
PLAIN = {
    "bond": "300 1.5",
    "angle": "60 110",
    "dihedral": "1.5 1 3",
    "improper": "20 0",
}
STYLES = dict.fromkeys(PLAIN, "harmonic")


def read(tmp_path, text, **options):
    path = tmp_path / "x.data"
    path.write_text(text)
    return instar.read_topology(path, **options)


def waters(tmp_path, text=WATERS, **options):
    return read(tmp_path, text, **({"units": "real", "cutoff": 9.0} | options))


def chain(tmp_path, styles=None, **coefficients):
    text = CHAIN.format(**(PLAIN | coefficients))
    return read(tmp_path, text, units="real", styles=STYLES | (styles or {}))


def entry(topology, kind):
    return next(entry for entry in topology.potential if entry["type"] == kind)
