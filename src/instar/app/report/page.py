"""The page as text: one file without anything to fetch, in the colours of the reader's screen."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from instar.app.report.figures import as_svg

__all__ = ["Section", "page_of"]


class Section(NamedTuple):
    """A part of the page: a heading, some HTML, and pictures by name."""

    heading: str
    html: str
    figures: Mapping[str, Figure]


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { display: inline; font-size: 1.4rem; }
.part { margin-top: 2rem; } .part > summary { cursor: pointer; margin-bottom: 1rem; }
.grid { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; flex: 0 1 30rem; min-width: 0; } figure svg { width: 100%; height: auto; }
figure.broad { flex-basis: 100%; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
td, th { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; } .mark { color: light-dark(#a40, #f93); }
.words { text-align: left; }
td.long { min-width: 12rem; white-space: normal; overflow-wrap: anywhere; }
th { font-weight: 600; vertical-align: bottom; } tbody tr:hover { background: var(--soft); }
th.sorts { cursor: pointer; } th[aria-sort=ascending]::after { content: " ▲"; }
th[aria-sort=descending]::after { content: " ▼"; }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; font-size: .85rem; }
.quiet { opacity: .7; }
"""

_SCRIPT = """
const text = (row, n) => row.cells[n].dataset.value ?? row.cells[n].textContent.trim();
const order = new Intl.Collator("en", { numeric: true }).compare;
const compare = (a, b) => {
  const [x, y] = [parseFloat(a), parseFloat(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? order(a, b) : x - y;
};
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, n) => {
    const sort = () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const body = table.tBodies[0], rows = [...body.rows], unknown = row => text(row, n) === "–";
      const known = rows.filter(row => !unknown(row));
      known.sort((a, b) => sign * compare(text(a, n), text(b, n)));
      body.append(...known, ...rows.filter(unknown));
    };
    head.classList.add("sorts");
    head.tabIndex = 0;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  });
}
"""


def page_of(title: str, headline: str, sections: Sequence[Section]) -> str:
    """The whole page; each section folds. Headings are text, what is in a section is HTML."""
    body = "\n".join(_section(section) for section in sections)
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{html.escape(title)}</h1>\n"
        f'<p class="quiet">{html.escape(headline)}</p>\n{body}\n'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _section(section: Section) -> str:
    return (
        f'<details class="part" open><summary><h2>{html.escape(section.heading)}</h2></summary>\n'
        f"{_pictures(section.figures)}\n{section.html}\n</details>"
    )


def _pictures(figures: Mapping[str, Figure]) -> str:
    if not figures:
        return ""
    shown = "".join(f"<figure{_breadth(one)}>{as_svg(one)}</figure>" for one in figures.values())
    return f'<div class="grid">{shown}</div>'


def _breadth(figure: Figure) -> str:
    return ' class="broad"' if figure.get_figwidth() > 7 else ""
