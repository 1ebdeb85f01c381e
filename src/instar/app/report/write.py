"""The report: averages, thermo, g(r), structures, timing; one page, and its parts as files."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from instar.app.config import Loaded
from instar.app.report.figures import (
    Lines,
    axis_labels,
    counts_figure,
    curve_figure,
    lines_figure,
    save_png,
)
from instar.app.report.page import Section, page_of
from instar.app.report.radial import radial_of
from instar.app.report.structures import structure_figure
from instar.app.report.tables import (
    averages_table,
    outcomes_table,
    stages_table,
    write_averages,
)
from instar.app.results.outcomes import outcomes_of
from instar.app.results.summary import summarised
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


def write_report(directory: RunDirectory, loaded: Loaded, sections: Sequence[Section] = ()) -> Path:
    """Write the report of a run, as far as it has come; returns the path of the page.

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
            f"{directory.path / 'summary.json'} belongs to another trajectory.\n"
            "Remove it; it is written again."
        )
    findings = _findings(directory, trajectory, loaded)
    drawn = [
        *_explosions(summary),
        *sections,
        *_outcomes(trajectory, summary),
        Section("Averages", averages_table(summary) + stages_table(summary), {}),
        *_drawn(trajectory, loaded, findings, summary),
        Section("The run", _about_run(directory), {}),
    ]
    folder = directory.path / "report"
    folder.mkdir(exist_ok=True)
    write_averages(folder / "summary.csv", summary, trajectory.units)
    _write_curves(folder, findings)
    for section in drawn:
        for name, figure in section.figures.items():
            save_png(figure, folder / f"{name}.png")
    title = loaded.config.title or directory.path.name
    page = page_of(title, _headline(loaded, directory.read_json("provenance.json") or {}), drawn)
    write_atomically(directory.report, page.encode())
    return directory.report


def _findings(
    directory: RunDirectory, trajectory: Trajectory, loaded: Loaded
) -> dict[str, Finding]:
    """What was found by observers of the configuration, and by no others."""
    found = read_findings(directory.observed, trajectory.systems)
    others = sorted(set(found) - {one.title for one in loaded.observations})
    if others:
        raise RunDirectoryError(
            f"{directory.observed} has {others[0]!r}, which {directory.config} does not observe."
        )
    return found


def _check_fits(directory: RunDirectory, trajectory: Trajectory, loaded: Loaded) -> None:
    """The trajectory is that of the systems and the method of the configuration."""
    sizes = [len(trajectory.numbers(system)) for system in range(trajectory.systems)]
    missing = set(kind_of(loaded).THERMO) - set(trajectory.units)
    if missing or sizes != [len(atoms) for atoms in loaded.structures]:
        raise RunDirectoryError(
            f"{directory.trajectory} does not belong to {directory.config}: other systems, or "
            "other columns."
        )


def _explosions(summary: Mapping[str, Any]) -> list[Section]:
    """Systems that were frozen, first of all."""
    lines = [
        f"<p><strong>{html.escape(_named(summary, one['system']))} exploded at step {one['step']}"
        "</strong> and was frozen; its averages are those before, if there are any.</p>"
        for one in summary.get("exploded", ())
    ]
    return [Section("Explosions", "\n".join(lines), {})] if lines else []


def _outcomes(trajectory: Trajectory, summary: Mapping[str, Any]) -> list[Section]:
    """What has become of systems that were relaxed: a table, and how many steps they made."""
    frozen = [one["system"] for one in summary.get("exploded", ())]
    found = outcomes_of(trajectory, frozen, ended=False)
    if not found:
        return []
    figures = {"steps": counts_figure([float(one.steps) for one in found], "steps made", "systems")}
    return [Section("Outcomes", outcomes_table(found), figures)]


def _named(summary: Mapping[str, Any], system: int) -> str:
    names = {n: one.get("name", "–") for n, one in enumerate(summary["systems"])}
    return f"System {system} ({names.get(system, '–')})"


def _drawn(
    trajectory: Trajectory,
    loaded: Loaded,
    findings: Mapping[str, Finding],
    summary: Mapping[str, Any],
) -> list[Section]:
    """Sections with pictures, as far as there is something to see."""
    looked = any(one.MEASURES == RadialObservation.MEASURES for one in loaded.observations)
    exploded = [one["system"] for one in summary.get("exploded", ())]
    parts = [
        _in_time(trajectory, loaded, summary),
        Section("Observed", "", _observed(findings, trajectory.names)),
        Section("Radial distribution", "", {}) if looked else _radial(trajectory, loaded, exploded),
        Section("Structures", "", _structures(trajectory, loaded)),
    ]
    return [part for part in parts if part.figures or part.html]


def _in_time(trajectory: Trajectory, loaded: Loaded, summary: Mapping[str, Any]) -> Section:
    """Columns of thermo that change, against time."""
    thermo = trajectory.thermo
    if not len(thermo["step"]):
        return Section("In time", "", {})
    timed = "time" in thermo
    x, x_label = (thermo["time"] / 1000, "time (ps)") if timed else (thermo["step"], "steps")
    ends = np.array([loaded.production.first, loaded.production.last])
    production = loaded.time(ends) / 1000 if timed else ends
    kept = loaded.method.has_set_points
    found, constant, dashed = {}, [], False
    for name, column in kind_of(loaded).THERMO.items():
        unit = trajectory.units[name]
        values, label = thermo[name], f"{name} ({unit})" if unit else name
        if column.shown == "change":
            within = " within a stage" if len(loaded.stages) > 1 else ""
            label = f"{name}, change{within} ({unit})"
            values = _changes(values, thermo["step"], [stage.first for stage in loaded.stages])
        known = np.flatnonzero(np.isfinite(values).any(axis=0)).tolist()
        if column.shown == "no" or not known:
            continue
        if column.shown == "value" and _is_constant(values[:, known]):
            constant.append(name)
            continue
        lines = {system: (x, values[:, system]) for system in known}
        asked = _asked_lines(name, summary, production, float(x[-1])) if kept else {}
        dashed = dashed or bool(asked)
        shown = Lines(lines, x_label, label, "", float(production[0]), trajectory.names, asked)
        found[name] = lines_figure(shown)
    earlier = ", ".join(stage.name for stage in loaded.stages[:-1])
    notes = [f"Grey: {earlier}."] if earlier else []
    notes += ["Dashed: what was asked for."] if dashed else []
    notes += [f"Constant, and not drawn: {', '.join(constant)}."] if constant else []
    return Section("In time", _quiet(" ".join(notes)), found)


def _changes(values: np.ndarray, steps: np.ndarray, begins: Sequence[int]) -> np.ndarray:
    """What has changed since the first row of a stage: another method conserves something else."""
    stage = np.maximum(np.searchsorted(begins, steps) - 1, 0)  # the start is of the first one
    return values - values[np.searchsorted(stage, stage)]


def _is_constant(values: np.ndarray) -> bool:
    """Whether no system changes, but for rounding."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return bool(np.all(high - low <= 1e-6 * np.maximum(np.abs(low), np.abs(high))))


def _asked_lines(
    name: str, summary: Mapping[str, Any], production: np.ndarray, reached: float
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """What systems were to have in the production, as far as it has come, by system."""
    made = np.array([production[0], max(reached, production[0])])
    wanted = {n: one.get("asked", {}).get(name) for n, one in enumerate(summary["systems"])}
    return {
        system: (made, np.interp(made, production, [one["value"], one.get("last", one["value"])]))
        for system, one in wanted.items()
        if one is not None
    }


def _quiet(note: str) -> str:
    return f'<p class="quiet">{html.escape(note)}</p>' if note else ""


def _observed(findings: Mapping[str, Finding], names: Sequence[str]) -> dict[str, Figure]:
    """A picture of each curve."""
    return {
        _file_name(title, name): curve_figure(curve, title, names)
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


def _radial(trajectory: Trajectory, loaded: Loaded, exploded: Sequence[int]) -> Section:
    curves, note = radial_of(trajectory, loaded, exploded)
    figures = {
        f"radial-{name}": curve_figure(curve, name, trajectory.names)
        for name, curve in curves.items()
        if np.isfinite(curve.y).any()
    }
    return Section("Radial distribution", _quiet(note), figures)


def _structures(trajectory: Trajectory, loaded: Loaded) -> dict[str, Figure]:
    found = {}
    for system in range(min(trajectory.systems, _MOST_PICTURES)):
        pictures = [("start", loaded.structures[system])]
        if trajectory.count(system):
            pictures.append(("end", trajectory.atoms(system)))
        found[f"structure-{system}"] = structure_figure(trajectory.names[system], pictures)
    return found


def _headline(loaded: Loaded, about: dict[str, Any]) -> str:
    versions = about.get("versions", {})
    return (
        f"{loaded.told}; {_stages(loaded)}; "
        f"{loaded.config.precision}, seed {loaded.config.seed}; "
        f"instar {versions.get('instar', '')}, jax {versions.get('jax', '')}"
    )


def _stages(loaded: Loaded) -> str:
    """What was done in which order, in a line."""
    parts = (f"{stage.name} ({stage.method.label}, {stage.steps} steps)" for stage in loaded.stages)
    return ", ".join(parts)


def _about_run(directory: RunDirectory) -> str:
    """Timing, memory, and the texts that belong to the run."""
    timing = directory.read_json("timing.json") or []
    parts = [
        _timing(timing, directory.read_json("plan.json")),
        f"<details><summary>Configuration</summary><pre>{_text(directory.config)}</pre></details>",
        f"<details><summary>Log</summary><pre>{_text(directory.log)}</pre></details>",
    ]
    return "\n".join(parts)


def _timing(sessions: list[dict[str, Any]], plan: dict[str, Any] | None) -> str:
    """What each process that worked on the run took, and what grew on the way."""
    lines = [
        f"<p>Steps {one['first']} to {one['last']} in {one['seconds']:.1f} s; "
        f"peak memory {show(one['peak'])}, planned {show(one.get('planned', 0))}.</p>"
        for one in sessions
    ]
    if plan is not None:
        lines.append(
            f"<p>The plan: {show(plan['predicted_peak'])}, "
            f"{_counted(len(plan['batches']), 'batch', 'batches')}, limited by "
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


_MOST_TEXT = 2**18
"""Bytes of a text in the page: the last ones."""


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        before = max(0, path.stat().st_size - _MOST_TEXT)
        file.seek(before)
        content = file.read(_MOST_TEXT).decode(errors="replace")
    return html.escape(f"…{content}" if before else content)
