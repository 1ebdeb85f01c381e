"""A configuration to start from, with a word about every key."""

TEMPLATE = """\
# A run of instar. Quantities have units ("94.4 K", "2 fs"); bare numbers are in K, fs, bar, g/cm^3,
# angstrom, eV. Check it: instar validate NAME.yaml; run it: instar run NAME.yaml
title: NAME
seed: 0                     # of all random numbers; 0 is a seed like any other
precision: float64          # or float32

systems:                    # all of them run side by side, in one program
  - structure: {lattice: fcc, species: Ar, repeat: [4, 4, 4], density: 1.4 g/cm^3}
    temperature: 94.4 K
  # A sweep is as many systems as it has combinations:
  - sweep: {temperature: [180 K, 240 K], density: [0.6 g/cm^3, 1.0 g/cm^3]}
    structure: {lattice: fcc, species: Ar, repeat: 4}
  # Other structures: {file: x.cif} (any format that ASE reads), {random: {Ar: 100}, density: ...}

potential:                  # parts are added up
  - type: lennard_jones
    cutoff: 8.5 angstrom
    truncation: force_shift
    parameters: {Ar: {epsilon: 0.0104 eV, sigma: 3.4 angstrom}}

method:
  type: md
  ensemble: nvt             # nve; npt with a barostat, where systems need a pressure as well
  thermostat: langevin      # velocity_rescaling, nose_hoover (both with time_constant), brownian
  friction: 1 /ps
  time_step: 2 fs

run:
  equilibration: 2000       # steps before averages and frames begin
  steps: 20000

output:
  directory: runs/NAME
  trajectory_every: 100     # steps; 0 for no frames
  thermo_every: 20          # steps
  checkpoint_every: 5 min   # on the clock

memory:
  budget: 60 %              # or an amount: 8 GiB
"""
