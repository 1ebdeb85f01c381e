"""One self-contained page: averages, thermo, g(r), structures, timing; and its parts as files."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from instar.app.config import Loaded
from instar.app.report.figures import (
    as_svg,
    axis_labels,
    curve_figure,
    save_png,
    structure_figure,
    thermo_figure,
)
from instar.app.report.radial import radial_of
from instar.app.results.summary import summarised, with_error
from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory, RunDirectoryError
from instar.app.run.findings import read_findings
from instar.app.run.kinds import kind_of
from instar.memory import show
from instar.observables import Finding
from instar.observables.radial import RadialObservation
from instar.storage import write_atomically

__all__ = ["Section", "write_report"]

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
    _check_fits(directory, trajectory, loaded)
    summary = directory.read_json("summary.json") or summarised(directory, loaded)
    columns = {"atoms", *trajectory.units}
    systems = summary["systems"]
    if len(systems) != trajectory.systems or any(columns - set(one) for one in systems):
        raise RunDirectoryError(
            f"{directory.path / 'summary.json'} is that of another trajectory.\n"
            "Remove it, and it is made again."
        )
    folder = directory.path / "report"
    folder.mkdir(exist_ok=True)
    _write_csv(folder / "summary.csv", summary, trajectory.units)
    findings = read_findings(directory.observed, trajectory.systems)
    _write_curves(folder, findings)
    figures = _figures(trajectory, loaded, findings)
    for of_heading in figures.values():
        for name, figure in of_heading.items():
            save_png(figure, folder / f"{name}.png")
    for section in sections:
        for name, figure in section.figures.items():
            save_png(figure, folder / f"{name}.png")
    page = _page(directory, loaded, summary, figures, sections)
    write_atomically(directory.report, page.encode())
    return directory.report


def _check_fits(directory: RunDirectory, trajectory: Trajectory, loaded: Loaded) -> None:
    """The trajectory is that of the systems and the method of the configuration."""
    sizes = [len(trajectory.numbers(system)) for system in range(trajectory.systems)]
    missing = set(kind_of(loaded).THERMO) - set(trajectory.units)
    if missing or sizes != [len(atoms) for atoms in loaded.structures]:
        raise RunDirectoryError(
            f"{directory.trajectory} does not belong to {directory.config}: other systems, or "
            "other columns."
        )


def _figures(
    trajectory: Trajectory, loaded: Loaded, findings: Mapping[str, Finding]
) -> dict[str, dict[str, Figure]]:
    """Pictures by the heading that they stand under, and by name."""
    looked = any(isinstance(one, RadialObservation) for one in loaded.observations)
    return {
        "In time": _in_time(trajectory, loaded),
        "Observed": _observed(findings),
        "Radial distribution": {} if looked else _radial(trajectory, loaded),
        "Structures": _structures(trajectory, loaded),
    }


def _in_time(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    thermo, method = trajectory.thermo, loaded.config.method
    if not len(thermo["step"]):
        return {}
    timed = "time" in thermo
    x = (thermo["time"] / 1000, "time (ps)") if timed else (thermo["step"], "steps")
    before = loaded.config.run.equilibration
    shaded = method.time(before) / 1000 if timed else before
    found = {}
    for name, column in kind_of(loaded).THERMO.items():
        unit = trajectory.units[name]
        values, label = thermo[name], f"{name} ({unit})"
        if column.shown == "change":
            values, label = values - values[:1], f"{name}, change ({unit})"
        if column.shown != "no" and np.isfinite(values).any():
            found[name] = thermo_figure(*x, values, label, shaded)
    return found


def _observed(findings: Mapping[str, Finding]) -> dict[str, Figure]:
    """A picture of each curve."""
    return {
        _file_name(title, name): curve_figure(curve, title)
        for title, finding in findings.items()
        for name, curve in finding.curves.items()
        if np.isfinite(curve.y).any()
    }


def _file_name(title: str, name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", f"{title}-{name}").strip("-")


def _write_curves(folder: Path, findings: Mapping[str, Finding]) -> None:
    """Every curve as a table: one row per system and point."""
    for title, finding in findings.items():
        for name, curve in finding.curves.items():
            path = folder / f"{_file_name(title, name)}.csv"
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["system", *axis_labels(curve)])
                for system, points in enumerate(zip(curve.x, curve.y, strict=True)):
                    writer.writerows((system, x, y) for x, y in zip(*points, strict=True))


def _radial(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    curve = radial_of(trajectory, loaded)
    return {} if curve is None else {"radial": curve_figure(curve)}


def _structures(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    found = {}
    for system in range(min(trajectory.systems, _MOST_PICTURES)):
        name = trajectory.names[system]
        pictures = [(f"{name}, start", loaded.structures[system])]
        if trajectory.count(system):
            pictures.append((f"{name}, end", trajectory.atoms(system)))
        found[f"structure-{system}"] = structure_figure(pictures)
    return found


def _write_csv(path: Path, summary: dict[str, Any], units: dict[str, str]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        systems = summary.get("systems", [])
        columns = {
            name: (unit, [system[name] for system in systems]) for name, unit in units.items()
        }
        for name, found in summary.get("observed", {}).items():
            columns[name] = (found[0]["unit"], found)
        parts = ("mean", "error")
        heads = [f"{name} {part} ({u})" for name, (u, _) in columns.items() for part in parts]
        writer.writerow(["system", "name", "atoms", *heads])
        for number, system in enumerate(systems):
            values = [found[number][part] for _, found in columns.values() for part in parts]
            writer.writerow([number, system["name"], system["atoms"], *values])


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
        *(
            f"<p><strong>System {one['system']} exploded at step {one['step']}</strong> and was "
            "frozen; its averages are those before.</p>"
            for one in summary.get("exploded", ())
        ),
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
    atoms = int(loaded.counts.sum())
    versions = about.get("versions", {})
    return html.escape(
        f"{len(loaded.structures)} systems, {atoms} atoms; {loaded.config.method.label}, "
        f"{loaded.config.run.steps} steps; {loaded.config.precision}, seed {loaded.config.seed}; "
        f"instar {versions.get('instar', '')}, jax {versions.get('jax', '')}"
    )


def _table(summary: dict[str, Any]) -> str:
    if not (summary.get("rows") or summary.get("observed")):
        return "<p>There are no averages yet.</p>"
    systems, shown = summary["systems"], summary.get("shown", ())
    columns = {name: [system[name] for system in systems] for name in shown}
    columns |= summary.get("observed", {})
    heads = "".join(_head(name, column[0]["unit"]) for name, column in columns.items())
    rows = [
        f"<tr><td>{number}</td><td>{html.escape(system['name'])}</td><td>{system['atoms']}</td>"
        + "".join(f"<td>{with_error(column[number])}</td>" for column in columns.values())
        + "</tr>"
        for number, system in enumerate(systems)
    ]
    head = f"<thead><tr><th>system</th><th>name</th><th>atoms</th>{heads}</tr></thead>"
    return (
        f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
        f'<p class="quiet">Mean ± standard error, by blocking of {summary["rows"]} rows of thermo; '
        "what was observed, over all looks.</p>"
    )


def _head(name: str, unit: str) -> str:
    return f"<th>{html.escape(name)}{f'<br>({html.escape(unit)})' if unit else ''}</th>"


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
    return html.escape(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ""
