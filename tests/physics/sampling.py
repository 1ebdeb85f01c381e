"""Samples of an ensemble from runs of many replicas at once, and what may be concluded from them.

Lennard-Jones units are ours with ε = 1 eV, σ = 1 Å and m = 1 amu: T* = 1 is 1/k_B kelvin.

Standard errors follow from effective numbers of samples, n/τ with the integrated autocorrelation
time τ. Samples for the judge are taken 2τ apart, where e⁻⁴ of an exponential correlation is left.

A number is wrong if it is off by more than three standard errors in each of two independent runs;
the second is made only where the first is off. A right one is called wrong with a probability of
0.0027² = 7e-6, so that all of the group's less than 150 numbers pass with more than 99.9 %.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.dynamics import md
from instar.geometry.constants import BOLTZMANN
from instar.observables import Series

ROOT = Path(__file__).parents[2]
LIMIT = 3.0
SEEDS = (1, 2)
KELVIN = 1 / BOLTZMANN
"""The temperature (K) of k_B T = 1 eV."""


def lattice(cells: int, density: float) -> Atoms:
    """4·cells³ atoms of mass 1 on a face-centred cubic lattice."""
    base = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), axis=-1)
    places = (corners.reshape(-1, 1, 3) + base).reshape(-1, 3) / cells
    size = (len(places) / density) ** (1 / 3)
    return Atoms(
        ["Ar"] * len(places), places * size, cell=[size] * 3, pbc=True, masses=[1.0] * len(places)
    )


def lennard_jones(cutoff: float, truncation: str = "force_shift") -> dict[str, Any]:
    """Lennard-Jones with ε = 1 eV, σ = 1 Å."""
    pairs = {"Ar-Ar": {"epsilon": 1.0, "sigma": 1.0}}
    return {
        "type": "lennard_jones",
        "cutoff": cutoff,
        "truncation": truncation,
        "pairs": pairs,
    }


def sampled(
    method: md.Part,
    state: md.State,
    function: Callable[[md.State], dict[str, Any]],
    *,
    seed: int,
    steps: int,
    every: int,
    settle: int,
) -> dict[str, np.ndarray]:
    """Series (rows, systems, ...) of a function of the state, from the step ``settle`` on."""
    state = method.begin(state)
    series = Series.of(function, state, steps // every)
    state = md.simulate(method, state, steps, seed=seed, observers={"x": series}, every=every)
    rows = state.observed["x"].result()
    return {name: values[settle // every :] for name, values in rows.items()}


def correlation_time(series: np.ndarray) -> float:
    """τ = 1 + 2 Σ|ρ| of (rows, replicas), in rows, with Sokal's window of 5τ/2.

    ρ is the mean over replicas. Its absolute value counts, since what oscillates is correlated: the
    sum of ρ itself can even be negative for a cell with a mass.
    """
    count = len(series)
    spectrum = np.fft.rfft(series - series.mean(), 2 * count, axis=0)
    products = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: count // 2].sum(axis=1)
    covariance = products / (count - np.arange(count // 2))
    times = 2 * np.cumsum(np.abs(covariance / covariance[0])) - 1
    wide = np.arange(count // 2) >= 2.5 * times
    assert wide.any(), "The series is too short for its correlations."
    return float(times[np.argmax(wide)])


def effective(series: np.ndarray) -> float:
    """How many independent samples (rows, replicas) are worth."""
    return series.size / correlation_time(series)


def deviation(series: np.ndarray, exact: float) -> float:
    """How far the mean of (rows, replicas) is from what it must be, in standard errors."""
    return float((series.mean() - exact) * np.sqrt(effective(series)) / series.std())


def independent(*several: np.ndarray) -> list[np.ndarray]:
    """Of series (rows, replicas), rows two of the longest correlation times apart, as one array."""
    apart = int(np.ceil(2 * max(correlation_time(series) for series in several)))
    return [series[::apart].reshape(-1) for series in several]


def judged(questions: list[dict[str, Any]], arrays: Mapping[str, np.ndarray]) -> list[Any]:
    """The answers of physical_validation, which lives in an environment of its own."""
    subprocess.run([ROOT / "tools" / "peers", "physical_validation"], check=True, cwd=ROOT)
    python = ROOT / ".venv-peers" / "physical_validation" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npz"
        np.savez(path, questions=json.dumps(questions), **arrays)
        run = [python, Path(__file__).with_name("judge.py"), path]
        return json.loads(subprocess.run(run, check=True, capture_output=True).stdout)


def confirmed(measure: Callable[[int], Mapping[str, float]], report: Callable[[str], None]) -> None:
    """Assert that no deviation, in standard errors, exceeds the limit in two independent runs."""
    wrong: set[str] = set()
    for number, seed in enumerate(SEEDS):
        found = measure(seed)
        shown = ", ".join(f"{name} {value:+.2f}" for name, value in found.items())
        report(f"deviations in standard errors: {shown}")
        beyond = {name for name, value in found.items() if not abs(value) <= LIMIT}
        wrong = beyond & wrong if number else beyond
        if not wrong:
            return
    raise AssertionError(f"More than {LIMIT} standard errors off, twice: {', '.join(wrong)}")
