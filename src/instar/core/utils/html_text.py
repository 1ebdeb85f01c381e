"""Small pieces of HTML for notebooks; all text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["html_table"]


def html_table(caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption above it; cells are shown as their text. It may have no heads."""
    head = "".join(f"<th>{_escaped(cell)}</th>" for cell in heads)
    above = f"<thead><tr>{head}</tr></thead>" if head else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table style="white-space: nowrap">'
        f'<caption style="text-align: left">{_escaped(caption)}</caption>'
        f"{above}<tbody>{body}</tbody></table>"
    )


def _escaped(content: Any) -> str:
    """As text; of a number with a fraction, six digits."""
    return html.escape(f"{content:.6g}" if isinstance(content, float) else str(content))
