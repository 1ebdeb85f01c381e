"""What a bench found, as one JSON file in `bench/results` beside what it prints.

A script calls `figure` for every number that it prints, `timed` for the times that the next figure
rests on, and does its work inside `written`.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import instar

RESULTS = Path(__file__).parent / "results"
FIGURES: list[dict[str, Any]] = []
TIMES: list[dict[str, Any]] = []


def timed(seconds: Sequence[float], what: str = "") -> None:
    """Times (s) of repeats that the next figure rests on, and what took them."""
    TIMES.append(
        {
            "what": what,
            "repeats": len(seconds),
            "best": min(seconds),
            "median": statistics.median(seconds),
            "worst": max(seconds),
        }
    )


def spreads() -> list[dict[str, Any]]:
    """What `timed` noted since the last figure, for several figures: one of them for each."""
    found = list(TIMES)
    TIMES.clear()
    return found


def figure(what: str, value: float, goal: str | float | None = None, **more: Any) -> None:
    """One number, its goal where there is one, and the spread of the times behind it."""
    known = spreads()
    spread = {"seconds": known} if known else {}
    FIGURES.append({"what": what, "value": value, "goal": goal, **spread, **more})


def machine() -> dict[str, Any]:
    """Processor, cores and memory (bytes)."""
    processor = platform.processor()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"processor": processor, "cores": os.cpu_count(), "memory": memory}


def versions() -> dict[str, str]:
    """Of Python, of what is measured, and of what it rests on."""
    others = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy")}
    return {"python": platform.python_version(), "instar": instar.__version__, **others}


@contextlib.contextmanager
def written(name: str) -> Iterator[None]:
    """Write the figures of the block to `bench/results/<name>.json`, when it is done."""
    begun = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    FIGURES.clear()
    TIMES.clear()
    yield
    about = {
        "bench": name,
        "arguments": sys.argv[1:],
        "date": begun,
        "machine": machine(),
        "versions": versions(),
        "figures": FIGURES,
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(about, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
