"""One self-contained page: averages, thermo, g(r), structures, timing; and its parts as files."""

from __future__ import annotations

import csv
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from instar.app.config import Loaded
from instar.app.report.figures import (
    as_svg,
    radial_figure,
    save_png,
    structure_figure,
    thermo_figure,
)
from instar.app.report.radial import radial_of
from instar.app.results.summary import with_error
from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.memory import show
from instar.storage import write_atomically

__all__ = ["Section", "write_report"]

_SHOWN = ("temperature", "potential", "pressure", "density", "conserved")
_MOST_PICTURES = 3


class Section(NamedTuple):
    """A part of the page that somebody else made: a heading, some HTML, and pictures by name."""

    heading: str
    html: str
    figures: Mapping[str, Figure]


def write_report(directory: RunDirectory, loaded: Loaded, sections: Sequence[Section] = ()) -> Path:
    """Write the report of a run, as far as it has come; gives the path of the page.

    ``sections`` stand before all others.
    """
    if not directory.trajectory.is_file():
        raise RunDirectoryError(f"{directory.path} has no trajectory yet.")
    trajectory = Trajectory(directory.trajectory)
    summary = directory.read_json("summary.json") or {}
    folder = directory.path / "report"
    folder.mkdir(exist_ok=True)
    _write_csv(folder / "summary.csv", summary, trajectory.units)
    figures = _figures(trajectory, loaded)
    for of_heading in figures.values():
        for name, figure in of_heading.items():
            save_png(figure, folder / f"{name}.png")
    for section in sections:
        for name, figure in section.figures.items():
            save_png(figure, folder / f"{name}.png")
    page = _page(directory, loaded, summary, figures, sections)
    write_atomically(directory.report, page.encode())
    return directory.report


def _figures(trajectory: Trajectory, loaded: Loaded) -> dict[str, dict[str, Figure]]:
    """Pictures by the heading that they stand under, and by name."""
    return {
        "In time": _in_time(trajectory, loaded),
        "Radial distribution": _radial(trajectory, loaded),
        "Structures": _structures(trajectory, loaded),
    }


def _in_time(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    thermo = trajectory.thermo
    if not len(thermo["step"]):
        return {}
    shown = {
        f"{name} ({trajectory.units[name]})": thermo[name] for name in _SHOWN if name != "conserved"
    }
    shown["conserved, change (eV)"] = thermo["conserved"] - thermo["conserved"][:1]
    equilibration = loaded.config.run.equilibration * thermo["time"][0] / thermo["step"][0]
    return {
        label.split()[0].strip(","): thermo_figure(thermo["time"], values, label, equilibration)
        for label, values in shown.items()
        if np.isfinite(values).any()
    }


def _radial(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    distance, g = radial_of(trajectory, loaded)
    return {"radial": radial_figure(distance, g)} if len(distance) else {}


def _structures(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    found = {}
    for system in range(min(trajectory.systems, _MOST_PICTURES)):
        pictures = [(f"system {system}, start", loaded.structures[system])]
        if trajectory.count(system):
            pictures.append((f"system {system}, end", trajectory.atoms(system)))
        found[f"structure-{system}"] = structure_figure(pictures)
    return found


def _write_csv(path: Path, summary: dict[str, Any], units: dict[str, str]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        heads = [f"{n} {what} ({u})" for n, u in units.items() for what in ("mean", "error")]
        writer.writerow(["system", "atoms", *heads])
        for number, system in enumerate(summary.get("systems", [])):
            values = [system[name][what] for name in units for what in ("mean", "error")]
            writer.writerow([number, system["atoms"], *values])


# The page --------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; }
.grid { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; flex: 0 1 30rem; min-width: 0; } figure svg { width: 100%; height: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th { font-weight: 600; } tbody tr:hover { background: var(--soft); }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; font-size: .85rem; }
.quiet { opacity: .7; }
"""


def _page(
    directory: RunDirectory,
    loaded: Loaded,
    summary: dict[str, Any],
    figures: dict[str, dict[str, Figure]],
    sections: Sequence[Section],
) -> str:
    title = html.escape(loaded.config.title or directory.path.name)
    about = directory.read_json("provenance.json") or {}
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="quiet">{_headline(loaded, about)}</p>',
    ]
    for section in sections:
        parts += [f"<h2>{section.heading}</h2>", _pictures(section.figures), section.html]
    parts += ["<h2>Averages</h2>", _table(summary)]
    for heading, of_heading in figures.items():
        if of_heading:
            parts += [f"<h2>{heading}</h2>", _pictures(of_heading)]
    parts += [
        "<h2>The run</h2>",
        _timing(directory.read_json("timing.json") or [], directory.read_json("plan.json")),
        f"<details><summary>Configuration</summary><pre>{_text(directory.config)}</pre></details>",
        f"<details><summary>Log</summary><pre>{_text(directory.log)}</pre></details>",
    ]
    body = "\n".join(parts)
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _pictures(figures: Mapping[str, Figure]) -> str:
    shown = "".join(f"<figure>{as_svg(one)}</figure>" for one in figures.values())
    return f'<div class="grid">{shown}</div>'


def _headline(loaded: Loaded, about: dict[str, Any]) -> str:
    atoms = sum(len(one) for one in loaded.structures)
    versions = about.get("versions", {})
    return html.escape(
        f"{len(loaded.structures)} systems, {atoms} atoms; {loaded.config.method.ensemble}, "
        f"{loaded.config.run.steps} steps; {loaded.config.precision}, seed {loaded.config.seed}; "
        f"instar {versions.get('instar', '')}, jax {versions.get('jax', '')}"
    )


def _table(summary: dict[str, Any]) -> str:
    if not summary.get("rows"):
        return "<p>There are no averages yet.</p>"
    units = {name: summary["systems"][0][name]["unit"] for name in _SHOWN}
    heads = "".join(f"<th>{name}<br>({unit})</th>" for name, unit in units.items())
    rows = [
        f"<tr><td>{number}</td><td>{system['atoms']}</td>"
        + "".join(f"<td>{with_error(system[name])}</td>" for name in _SHOWN)
        + "</tr>"
        for number, system in enumerate(summary["systems"])
    ]
    head = f"<thead><tr><th>system</th><th>atoms</th>{heads}</tr></thead>"
    return (
        f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
        f'<p class="quiet">Mean ± standard error (blocking) of {summary["rows"]} rows.</p>'
    )


def _timing(sessions: list[dict[str, Any]], plan: dict[str, Any] | None) -> str:
    """What each process that worked on the run took, and what grew on the way."""
    lines = [
        f"<p>Steps {one['first']} to {one['last']} in {one['seconds']:.1f} s; "
        f"most memory {show(one['peak'])}, planned {show(one.get('planned', 0))}.</p>"
        for one in sessions
    ]
    if plan is not None:
        lines.append(
            f"<p>The plan: {show(plan['predicted_peak'])}, "
            f"{_counted(len(plan['batches']), 'batch', 'batches')}; "
            f"{html.escape(plan['limited_by'])}. The budget was {show(plan['budget']['bytes'])} "
            f"({html.escape(plan['budget']['source'])}).</p>"
        )
    grown = [f"<li>{html.escape(text)}</li>" for one in sessions for text in one["growth"]]
    if grown:
        lines.append("<p>Buffers that grew, which does not change the result:</p>")
        lines.append(f"<ul>{''.join(grown)}</ul>")
    return "\n".join(lines)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _text(path: Path) -> str:
    return html.escape(path.read_text(encoding="utf-8")) if path.is_file() else ""
