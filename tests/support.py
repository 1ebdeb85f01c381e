"""What several tests share."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest


@contextlib.contextmanager
def raises(error: type[Exception], first_line: str) -> Iterator[None]:
    """The block must raise ``error`` with exactly this first line."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value).splitlines()[0] == first_line


def shown_signature(function: Callable[..., Any]) -> str:
    """The signature as `inspect` shows it, without annotations."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    shown = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return shown.replace(repr(dataclasses.MISSING), "MISSING")


def as_installed(project: Mapping[str, Any], site: Path) -> None:
    """Give a folder what pip notes of a package: its name, and its entry points."""
    about = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {place}" for name, place in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
