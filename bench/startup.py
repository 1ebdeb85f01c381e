"""How long it takes from the command to the first step, and what imports take of it.

    .venv/bin/python bench/startup.py [OLD]

Argon, 4000 atoms, Langevin, float64. Each turn starts the command `instar run` with an empty cache
of compiled programs, and again with the one that it has left; with another checkout ``OLD`` both
take turns. The bare limit of a start is that of importing JAX. Figures are the best of the turns.

Python's own bytecode is there before, as it is where a package was installed: one start that is not
timed makes it, in a folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from fluid import show
from record import timed, written
from run import CONFIG

TURNS = 4
HERE = Path(__file__).parents[1]


def seconds(code: list[str], checkout: Path, cache: Path, until: str = "") -> float:
    """Until a line on the standard error begins with some text, or the process ends."""
    variables = {**os.environ, "XLA_FLAGS": "", "XDG_CACHE_HOME": str(cache)}
    variables["PYTHONPATH"] = str(checkout / "src")
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    variables["PYTHONPYCACHEPREFIX"] = str(cache.parent / "bytecode")
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *code], env=variables, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if until and line.startswith(until):
            break
    took = time.perf_counter() - begin
    process.kill()
    process.wait()
    process.stderr.close()
    return took


def turn(checkout: Path, folder: Path, number: int) -> dict[str, float]:
    """One start of everything."""
    cache = folder / f"cache{number}-{checkout.name}"
    config = folder / "run.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    found = {}
    for name in ("empty cache", "compiled before"):
        out = folder / f"{checkout.name}-{number}-{name}"
        command = ["-m", "instar", "run", str(config), "--out", str(out)]
        found[name] = seconds(command, checkout, cache, "step ")
    found["import instar"] = seconds(["-c", "import instar"], checkout, cache)
    found["instar --help"] = seconds(["-m", "instar", "--help"], checkout, cache)
    found["import jax"] = seconds(["-c", "import jax"], checkout, cache)
    return found


GOALS = {"empty cache": "<= 4", "compiled before": "<= 2", "import instar": "<= 0.3"}


def main() -> None:
    """All checkouts, turn by turn."""
    checkouts = [HERE, *(Path(name).resolve() for name in sys.argv[1:2])]
    found: dict[Path, list[dict[str, float]]] = {checkout: [] for checkout in checkouts}
    with tempfile.TemporaryDirectory() as name:
        for checkout in checkouts:
            turn(checkout, Path(name), TURNS)
        for number in range(TURNS):
            for checkout in checkouts:
                found[checkout].append(turn(checkout, Path(name), number))
    for checkout, turns in found.items():
        whose = "" if checkout == HERE else ", the other checkout"
        for what in turns[0]:
            times = [each[what] for each in turns]
            timed(times, what + whose)
            goal = "" if whose else GOALS.get(what, "")
            show(f"seconds: {what}{whose}", min(times), goal)


if __name__ == "__main__":
    with written("startup"):
        main()
