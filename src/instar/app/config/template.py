"""A configuration to start from, with a word about every key."""

from __future__ import annotations

import textwrap

from instar.app.config.registry import found
from instar.dynamics.md.declared import BAROSTAT, THERMOSTAT
from instar.dynamics.method import METHODS
from instar.observables.entry import OBSERVERS
from instar.potentials.entry import POTENTIALS

__all__ = ["template"]

_CHOSEN = "langevin"

_TEMPLATE = """\
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
  # Other structures: {file: x.cif} (any format that ASE reads; mofs/*.cif; frames: all),
  # {random: {Ar: 100}, density: ...}. Entries may have a name, and copies: 10.

potential:                  # parts are added up; their types are
                            # POTENTIALS
  - type: lennard_jones
    cutoff: 8.5 angstrom
    truncation: force_shift
    parameters: {Ar: {epsilon: 0.0104 eV, sigma: 3.4 angstrom}}

method:
  type: md
  time_step: 2 fs
  ensemble: nvt             # nve; npt with a barostat, where systems need a pressure as well
  # thermostats: THERMOSTATS
  # barostats: BAROSTATS
METHOD

run:
  equilibration: 2000       # steps before averages and frames begin
  steps: 20000
  # Or a list of stages: [{name: heat, steps: 5000, temperature: {from: 20 K, to: 94.4 K}}, …], each
  # with what it changes of method and output. start_from: DIR begins where another run has ended.

observe:                    # measured on the way, over the whole production; types are
                            # OBSERVERS
  - {type: radial_distribution, every: 100, reach: 8 angstrom}

output:
  directory: runs/NAME
  trajectory_every: 100     # steps; 0 for no frames
  thermo_every: 20          # steps
  checkpoint_every: 5 min   # on the clock

memory:
  budget: 60 %              # or an amount: 8 GiB
"""


def template(name: str) -> str:
    """The text of a configuration for a run of that name; lists are those of what is declared."""
    chosen = found(METHODS)[_CHOSEN]
    lines = [f"thermostat: {_CHOSEN}", *(f"{n}: {o.default}" for n, o in chosen.options.items())]
    about = [chosen.help.split(":")[0], *(option.help for option in chosen.options.values())]
    method = [f"  {line:26}# {text}" for line, text in zip(lines, about, strict=True)]
    known = {
        "METHOD": "\n".join(method),
        "POTENTIALS": _wrapped(list(found(POTENTIALS))),
        "OBSERVERS": _wrapped(list(found(OBSERVERS))),
        "THERMOSTATS": ", ".join(_named(THERMOSTAT)),
        "BAROSTATS": ", ".join(_named(BAROSTAT)),
        "NAME": name,
    }
    text = _TEMPLATE
    for word, new in known.items():
        text = text.replace(word, new)
    return text


def _named(role: str) -> list[str]:
    return [name for name, known in found(METHODS).items() if known.role == role]


def _wrapped(names: list[str]) -> str:
    """Names behind a comment, in lines that fit on a screen."""
    lines = textwrap.wrap(", ".join(names), 68)
    return f"\n{'':28}# ".join(lines)
