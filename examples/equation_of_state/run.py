"""The equation of state of the Lennard-Jones fluid, measured and compared with the published one.

    .venv/bin/python examples/equation_of_state/run.py [--out DIR] [--set KEY=VALUE ...]

Plans, runs argon.yaml (24 states in one batch), and writes a report in which pressures and energies
stand beside those of the equation of Thol and others. Ends with 1 if fewer than nine in ten agree.
Stopped with Ctrl-C, it continues when it is called again.
"""

import argparse
import csv
import dataclasses
import sys
from pathlib import Path

from instar.__main__ import main as command
from instar.__main__ import set_up

set_up()

import numpy as np
import yaml
from matplotlib.figure import Figure
from thol import for_few_atoms, pressure_and_energy

import instar
from instar.observables import block_average
from instar.units import BOLTZMANN, bar

HERE = Path(__file__).parent
ENOUGH = 0.9


@dataclasses.dataclass
class States:
    """What was measured and what is published, reduced by ε and σ; one entry per system."""

    temperature: np.ndarray
    density: np.ndarray
    atoms: np.ndarray
    pressure: np.ndarray
    pressure_error: np.ndarray
    energy: np.ndarray
    energy_error: np.ndarray

    @property
    def published(self):
        """p* and U/N of as many atoms."""
        return for_few_atoms(self.temperature, self.density, self.atoms)

    @property
    def residuals(self):
        """Measured less published, in standard errors."""
        pressure, energy = self.published
        return (
            (self.pressure - pressure) / self.pressure_error,
            (self.energy - energy) / self.energy_error,
        )

    @property
    def agree(self):
        """Within two standard errors plus what published equations differ by among themselves."""
        pressure, energy = self.published
        known = np.maximum(0.01 * np.abs(pressure), 0.01), np.maximum(0.01 * np.abs(energy), 0.005)
        return (np.abs(self.pressure - pressure) <= 2 * self.pressure_error + known[0]) & (
            np.abs(self.energy - energy) <= 2 * self.energy_error + known[1]
        )


def measured(run):
    """The states of a run. p = ρk_BT + W/3V: the kinetic part is known, so T does not add noise."""
    (pair,) = yaml.safe_load((run.path / "config.yaml").read_text())["potential"]
    argon = pair["parameters"]["Ar"]
    epsilon, sigma = (float(str(argon[name]).split()[0]) for name in ("epsilon", "sigma"))
    thermo, atoms = run.thermo, run.averages["atoms"]
    after = thermo["step"] > run.stages["production"].start
    asked = [system["asked"]["temperature"]["value"] for system in run.summary["systems"]]
    temperature = np.array(asked) * BOLTZMANN
    volume = thermo["volume"][after]
    missing = (atoms * temperature - 2 / 3 * thermo["kinetic"][after]) / volume
    pressure = (thermo["pressure"][after] * bar + missing) * sigma**3 / epsilon
    energy = thermo["potential"][after] / atoms / epsilon
    averages = [[block_average(column) for column in rows.T] for rows in (pressure, energy)]
    p, u = averages
    return States(
        temperature / epsilon,
        atoms / volume[0] * sigma**3,
        atoms,
        *(np.array([float(one.mean) for one in p]), np.array([float(one.error) for one in p])),
        *(np.array([float(one.mean) for one in u]), np.array([float(one.error) for one in u])),
    )


def isotherms(axes, states, which):
    """Pressure (0) or energy (1) against density: published lines, measured points."""
    density = np.linspace(0.01, 1.05 * states.density.max(), 100)
    mean = (states.pressure, states.energy)[which]
    error = (states.pressure_error, states.energy_error)[which]
    for number, temperature in enumerate(np.unique(states.temperature.round(6))):
        here, colour = np.isclose(states.temperature, temperature), f"C{number}"
        axes.plot(density, pressure_and_energy(temperature, density)[which], color=colour, lw=1)
        points = {"fmt": "o", "ms": 4, "color": colour, "label": f"T* = {temperature:.2g}"}
        axes.errorbar(states.density[here], mean[here], 2 * error[here], **points)
    axes.set_xlabel("ρ*")
    axes.set_ylabel(("p*", "U/Nε")[which])
    axes.legend(frameon=False, fontsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def residuals(axes, states):
    """Measured less published in standard errors; the band is two of them."""
    place = np.arange(len(states.atoms))
    for offset, values, name in zip((-0.15, 0.15), states.residuals, ("p*", "U/N"), strict=True):
        axes.plot(place + offset, values, "o", ms=3, label=name)
    axes.axhspan(-2, 2, color="gray", alpha=0.15, lw=0)
    axes.set_xlabel("system")
    axes.set_ylabel("residual (standard errors)")
    axes.legend(frameon=False, fontsize=7)
    axes.spines[["top", "right"]].set_visible(False)


DRAWN = {
    "pressure-isotherms": lambda axes, states: isotherms(axes, states, 0),
    "energy-isotherms": lambda axes, states: isotherms(axes, states, 1),
    "residuals": residuals,
}


def pictures(states):
    """One figure per entry of `DRAWN`."""
    figures = {}
    for name, draw in DRAWN.items():
        figures[name] = Figure(figsize=(4.6, 3.0), layout="constrained")
        draw(figures[name].add_subplot(), states)
    return figures


def overview(states):
    """All pictures side by side."""
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    for axes, draw in zip(figure.subplots(1, len(DRAWN)), DRAWN.values(), strict=True):
        draw(axes, states)
    return figure


HEADS = ("T*", "ρ*", "atoms", "p*", "published", "U/Nε", "published", "residuals", "")


def rows_of(states):
    """The table, as text."""
    pressure, energy = states.published
    of_pressure, of_energy = states.residuals
    for n in range(len(states.atoms)):
        yield (
            f"{states.temperature[n]:.2f}",
            f"{states.density[n]:.2f}",
            f"{states.atoms[n]}",
            f"{states.pressure[n]:.4f} ± {states.pressure_error[n]:.4f}",
            f"{pressure[n]:.4f}",
            f"{states.energy[n]:.4f} ± {states.energy_error[n]:.4f}",
            f"{energy[n]:.4f}",
            f"{of_pressure[n]:+.1f}, {of_energy[n]:+.1f}",
            "" if states.agree[n] else "differs",
        )


def section(states):
    """The comparison as a part of the report."""
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows_of(states)
    )
    text = (
        f"<p>{verdict(states)}</p>"
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        '</div><p class="quiet">Published: M. Thol et al., J. Phys. Chem. Ref. Data 45, 023101 '
        "(2016), for as many atoms. Residuals of p* and U/N in standard errors.</p>"
    )
    return "Equation of state", text, pictures(states)


def verdict(states):
    """How many agree, and how large residuals are: 1 would be noise alone."""
    of_pressure, of_energy = (np.mean(values**2) for values in states.residuals)
    return (
        f"{states.agree.sum()} of {len(states.agree)} states agree with the published equation: "
        "within two standard errors plus max(1 %, 0.01 in p*, 0.005 in U/N). Mean squares of the "
        f"residuals are {of_pressure:.1f} for p* and {of_energy:.1f} for U/N."
    )


def compared(run):
    """The states of a run, which are written into the report and a table."""
    states = measured(run)
    page = run.report(section(states))
    overview(states).savefig(run.path / "report" / "overview.png", dpi=150)
    with open(run.path / "report" / "equation_of_state.csv", "w", newline="") as file:
        csv.writer(file).writerows([HEADS, *rows_of(states)])
    print("\n".join("  ".join(f"{cell:>17}" for cell in row) for row in (HEADS, *rows_of(states))))
    print(f"{verdict(states)}\nThe report: {page}")
    return states


def main(arguments=None):
    """Plan, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/equation_of_state"))
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    config = HERE / "argon.yaml"
    changes = [part for change in options.changes for part in ("--set", change)]
    print("The plan:")
    if command(["plan", str(config), *changes]):
        return 1
    if code := done(config, changes, options.out):
        return code
    states = compared(instar.open(options.out))
    return 0 if states.agree.mean() >= ENOUGH else 1


def done(config, changes, out):
    """The exit code of the run, to its end; one that was started before is continued."""
    if (out / "config.yaml").exists():
        print(f"{out} has a run already: it is continued, or read again if it is complete.")
        return command(["resume", str(out)])
    return command(["run", str(config), "--out", str(out), *changes])


if __name__ == "__main__":
    sys.exit(main())
