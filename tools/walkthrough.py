"""Run the Python blocks of a Markdown page in order, showing each and what it prints.

    python tools/walkthrough.py docs/handbook/walkthrough.md

A ``text`` block that follows a Python block is what it must print; `check` holds it to that.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """One Python block of a page, and the output that the page says it has."""

    page: Path
    line: int
    code: str
    expected: str | None


def steps_of(page: Path) -> Iterator[Step]:
    """The Python blocks of a page with the output that stands behind them."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block[1] != "python":
            continue
        shows = following is not None and following[1] == "text"
        expected = following[2] if following and shows else None
        yield Step(page, text.count("\n", 0, block.start()) + 2, block[2], expected)


def run(step: Step, names: dict[str, object]) -> str:
    """What the block prints; errors point into the page."""
    code = "\n" * (step.line - 1) + step.code
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(step.page), "exec", dont_inherit=True), names)
    return out.getvalue()


def check(page: Path) -> int:
    """Run a page and compare what it prints with what it says; gives the number of blocks."""
    names: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for step in steps_of(page):
        printed = run(step, names)
        if step.expected is not None and printed.rstrip() != step.expected.rstrip():
            raise AssertionError(
                f"{page}:{step.line} prints\n{printed}\nbut the page says\n{step.expected}"
            )
        count += 1
    return count


def show(page: Path) -> None:
    """Run a page for a reader: prose, code and output in the order of the page."""
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text()
    steps = iter(steps_of(page))
    position = 0
    for block in BLOCK.finditer(text):
        prose = text[position : block.start()].strip()
        if prose:
            print(prose, end="\n\n")
        position = block.end()
        if block[1] == "python":
            print("    " + block[2].rstrip().replace("\n", "\n    "), end="\n\n", flush=True)
            printed = run(next(steps), names).rstrip()
            if printed:
                print("  → " + printed.replace("\n", "\n    "), end="\n\n", flush=True)
        elif block[1] != "text":
            print(block[0], end="\n\n")
    print(text[position:].strip())


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: walkthrough.py PAGE.md (a page with python blocks)")
    show(Path(sys.argv[1]))
