"""Small pieces of HTML for notebooks; all text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["html_table"]


def html_table(caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption above it; cells are shown as their text."""
    head = "".join(f"<th>{_escaped(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{_escaped(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _escaped(content: Any) -> str:
    return html.escape(str(content))
