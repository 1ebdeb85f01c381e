"""The table of averages: what each system is, what was asked for, and what was found."""

from __future__ import annotations

import csv
import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from instar.app.results.outcomes import Outcome
from instar.app.results.summary import with_error

__all__ = ["averages_table", "outcomes_table", "stages_table", "write_averages"]


_WORDS = ' class="words"'
"""Cells of words stand at the left."""

_LONG = 30
"""Characters of words that may take several lines."""


def averages_table(summary: Mapping[str, Any]) -> str:
    """Averages as HTML, one row per system; a browser sorts it by the column that is clicked."""
    if not (summary.get("rows") or summary.get("observed")):
        return "<p>There are no averages yet.</p>"
    columns, asked = _columns(summary), _asked(summary)
    heads = "".join(
        f'<th scope="col"{_WORDS * (text in ("name", "formula"))}>{html.escape(text)}</th>'
        for text in _heads(columns, asked)
    )
    rows = "".join(
        f"<tr>{_row(number, system, columns, asked)}{_fewest(system, summary)}</tr>"
        for number, system in enumerate(summary["systems"])
    )
    return (
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        f'</div><p class="quiet">{_legend(summary)}</p>'
    )


def outcomes_table(found: Sequence[Outcome]) -> str:
    """What has become of systems that were relaxed, as HTML: counts, and a row per system."""
    counts = Counter(one.outcome for one in found)
    told = ", ".join(f"{html.escape(name)}: {count}" for name, count in counts.items())
    heads = ("system", "name", "outcome", "steps", "energy (eV)", "longest force (eV/angstrom)")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    rows = "".join(
        f"<tr><td>{one.system}</td><td{_WORDS}>{html.escape(one.name)}</td>"
        f"<td{_WORDS}>{html.escape(one.outcome)}</td><td>{one.steps}</td>"
        f"<td>{one.energy:.8g}</td><td>{one.force:.3g}</td></tr>"
        for one in found
    )
    return (
        f'<p>{told}</p><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def stages_table(summary: Mapping[str, Any]) -> str:
    """Averages of the stages before the last as HTML, folded; nothing if there is one stage."""
    return "".join(
        f"<details><summary>{html.escape(stage['name'])} ({html.escape(stage['method'])}, steps "
        f"{stage['first']} to {stage['last']})</summary>"
        f"{averages_table(_as_summary(stage, summary))}</details>"
        for stage in summary.get("stages", ())[:-1]
    )


def _as_summary(stage: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """A stage as if it were all of the run."""
    about = [{k: v for k, v in one.items() if k in _ABOUT} for one in summary["systems"]]
    systems = [a | found for a, found in zip(about, stage["systems"], strict=True)]
    return {"rows": stage["rows"], "shown": summary["shown"], "systems": systems}


_ABOUT = ("name", "formula", "atoms")
"""What a system is, whatever it does."""


def _columns(summary: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What was found, by name: one entry per system."""
    systems = summary["systems"]
    columns = {name: [system[name] for system in systems] for name in summary.get("shown", ())}
    return columns | summary.get("observed", {})


def _asked(summary: Mapping[str, Any]) -> dict[str, str]:
    """What was asked of any of the systems, and in which unit."""
    found = (item for one in summary["systems"] for item in one.get("asked", {}).items())
    return {name: asked["unit"] for name, asked in found}


def _heads(columns: Mapping[str, list[dict[str, Any]]], asked: Mapping[str, str]) -> list[str]:
    wanted = [f"{name} asked ({unit})" for name, unit in asked.items()]
    found = [_titled(name, column[0]["unit"]) for name, column in columns.items()]
    return ["system", "name", "formula", "atoms", *wanted, *found, "samples"]


def _row(
    number: int,
    system: Mapping[str, Any],
    columns: Mapping[str, list[dict[str, Any]]],
    asked: Mapping[str, str],
) -> str:
    found = (_found(column[number]) for column in columns.values())
    return "".join([*_about(number, system, asked), *found])


def _legend(summary: Mapping[str, Any]) -> str:
    """What the numbers and marks of the table mean: of the marks, those that there are."""
    looks = "; what was observed, over all looks" if summary.get("observed") else ""
    return " ".join(
        filter(
            None,
            (
                f"Mean ± standard error, by blocking of {summary['rows']} rows of thermo{looks}.",
                "Samples: independent values that the rows are worth, the fewest of the averages "
                "of a system.",
                _of_asked(summary),
                _of_marks(summary),
            ),
        )
    )


def _of_asked(summary: Mapping[str, Any]) -> str:
    asked = [one for system in summary["systems"] for one in system.get("asked", {}).values()]
    if not asked:
        return ""
    ramp = " (→: a ramp over the production)" if any("last" in one for one in asked) else ""
    return f"Asked: what the method was to keep{ramp}; in nve, what the run began with."


def _of_marks(summary: Mapping[str, Any]) -> str:
    """Marks that are in the table, what they mean, and how many systems have them."""
    shown, systems = summary.get("shown", ()), summary["systems"]
    marks = [{_mark(system[name]) for name in shown} for system in systems]
    counts = {mark: sum(mark in found for found in marks) for mark in _MEANING}
    return " ".join(
        f"{mark.capitalize()}{_part(count, len(systems))}: {_MEANING[mark]}"
        for mark, count in counts.items()
        if count
    )


def _part(count: int, systems: int) -> str:
    return f" ({count} of {systems} systems)" if systems > 1 else ""


_FEWEST = 5
"""Samples below which an error is itself no more than a guess."""

_MEANING = {
    "drifts": "the first half and the second differ by more than three standard errors: it was not "
    "in equilibrium yet.",
    "few": f"fewer than {_FEWEST} samples: too short for this average and its error.",
}


def _mark(found: Mapping[str, Any]) -> str:
    """What to know about an average before it is used; nothing if all is well."""
    if found.get("drifts"):
        return "drifts"
    samples = found.get("samples")
    return "few" if samples is not None and samples < _FEWEST else ""


def _about(number: int, system: Mapping[str, Any], asked: Mapping[str, str]) -> Iterator[str]:
    """What a system is: its number, name, formula, size, and what was asked for."""
    yield _cell(number)
    for part in ("name", "formula"):
        words = str(system.get(part, "–"))
        yield _cell(words, ' class="words long"' if len(words) > _LONG else _WORDS)
    yield _cell(system["atoms"])
    for name in asked:
        wanted = system.get("asked", {}).get(name)
        yield _cell("–" if wanted is None else _value_asked(wanted))


def _value_asked(wanted: Mapping[str, Any]) -> str:
    ramp = f" → {wanted['last']:.6g}" if "last" in wanted else ""
    return f"{wanted['value']:.6g}{ramp}"


def _found(found: dict[str, Any]) -> str:
    samples = found.get("samples")
    title = "" if samples is None else f' title="{_counted(float(samples))} independent samples"'
    value = "" if found["mean"] is None else f' data-value="{found["mean"]!r}"'
    mark = _mark(found)
    shown = f' <b class="mark">{mark}</b>' if mark else ""
    return f"<td{title}{value}>{html.escape(with_error(found))}{shown}</td>"


def _fewest(system: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    found = [system[name].get("samples") for name in summary.get("shown", ())]
    known = [samples for samples in found if samples is not None]
    return _cell(_counted(float(min(known))) if known else "–")


def _counted(samples: float) -> str:
    """A number of samples; of very few, a digit more: none at all would not be an average."""
    return f"{samples:.1f}" if samples < _FEWEST else f"{samples:.0f}"


def _cell(content: Any, kind: str = "") -> str:
    return f"<td{kind}>{html.escape(str(content))}</td>"


def _titled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def write_averages(path: Path, summary: Mapping[str, Any], units: Mapping[str, str]) -> None:
    """All averages as a file for spreadsheets, one row per system."""
    systems = summary.get("systems", [])
    columns = {name: (unit, [system[name] for system in systems]) for name, unit in units.items()}
    for name, found in summary.get("observed", {}).items():
        columns[name] = (found[0]["unit"], found)
    heads = [f"{name} {part} ({unit})" for name, (unit, _) in columns.items() for part in _PARTS]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        asked = _asked(summary) if systems else {}
        wanted = [f"{name} asked ({unit})" for name, unit in asked.items()]
        writer.writerow(["system", "name", "atoms", *heads, "formula", *wanted])
        for number, system in enumerate(systems):
            values = [found[number][part] for _, found in columns.values() for part in _PARTS]
            given = [system.get("asked", {}).get(name, {}).get("value") for name in asked]
            about = [number, system.get("name"), system["atoms"]]
            writer.writerow([*about, *values, system.get("formula"), *given])


_PARTS = ("mean", "error")
