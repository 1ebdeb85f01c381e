"""What physical_validation says about samples of an ensemble.

    tools/peers physical_validation
    .venv-peers/physical_validation/bin/python tests/physics/judge.py samples.npz

The file holds independent samples and `questions`, a JSON list of

    {"ask": "kinetic", "kinetic": NAME, "temperature": T, "degrees": N}
    {"ask": "ensemble", "states": [{"potential": NAME, "volume": NAME or a number,
                                    "temperature": T, "pressure": P or null}, {...}]}

with NAMEs of arrays, eV, K, Å³ and eV/Å³. One JSON list of answers is printed.

kinetic: how far mean and width are from those of the Maxwell–Boltzmann distribution, in standard
errors (`mean`, `width`), and the probability of a Kolmogorov–Smirnov distance as large (`strict`).

ensemble: how far the slope of ln P₂/P₁ is from the exact one, in standard errors (`deviation`), the
slope over the exact one (`slope`) and its standard error (`error`), and how far the two states are
from each other, over what is recommended (`spacing`).
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import numpy as np

with contextlib.redirect_stdout(sys.stderr):
    import physical_validation as pv
    from physical_validation.util import ensemble

BOLTZMANN = 8.617333262145179e-5
CHARGE, AVOGADRO = 1.602176634e-19, 6.02214076e23
UNITS = pv.data.UnitData(  # and what they are in kJ/mol, nm, bar, ps
    kb=BOLTZMANN,
    energy_conversion=CHARGE * AVOGADRO / 1e3,
    length_conversion=0.1,
    volume_conversion=1e-3,
    temperature_conversion=1,
    pressure_conversion=CHARGE * 1e25,
    time_conversion=1.0180505717e-2,
    energy_str="eV",
    length_str="A",
    volume_str="A^3",
    temperature_str="K",
    pressure_str="eV/A^3",
    time_str="A sqrt(amu/eV)",
)
SEED = 1


def kinetic(question: dict[str, Any], arrays: Any) -> dict[str, float]:
    """Mean and width, and the whole distribution."""
    degrees = int(question["degrees"])
    data = pv.data.SimulationData(
        units=UNITS,
        ensemble=pv.data.EnsembleData("NVT", 1, volume=1.0, temperature=question["temperature"]),
        system=pv.data.SystemData(
            natoms=degrees, nconstraints=2 * degrees, ndof_reduction_tra=0, ndof_reduction_rot=0
        ),
        observables=pv.data.ObservableData(kinetic_energy=arrays[question["kinetic"]]),
    )
    options = {"verbosity": 0, "data_is_uncorrelated": True, "bootstrap_seed": SEED}
    mean, width = pv.kinetic_energy.distribution(data, strict=False, **options)
    strict = pv.kinetic_energy.distribution(data, strict=True, **options)
    return {"mean": float(mean), "width": float(width), "strict": float(strict)}


def _state(state: dict[str, Any], arrays: Any) -> Any:
    energy = arrays[state["potential"]]
    constant = not isinstance(state["volume"], str)
    volume = np.full(len(energy), state["volume"]) if constant else arrays[state["volume"]]
    known = {"volume": float(volume[0])} if constant else {"pressure": state["pressure"]}
    kind = "NVT" if constant else "NPT"
    return pv.data.SimulationData(
        units=UNITS,
        ensemble=pv.data.EnsembleData(kind, 1, temperature=state["temperature"], **known),
        observables=pv.data.ObservableData(potential_energy=energy, volume=volume),
    )


def two_states(question: dict[str, Any], arrays: Any) -> dict[str, float]:
    """The ratio of two distributions: of energy, of enthalpy, or of volume."""
    one, two = question["states"]
    both = [_state(state, arrays) for state in (one, two)]
    options = {"verbosity": 0, "data_is_uncorrelated": True}
    (deviation,) = pv.ensemble.check(*both, **options)
    apart = pv.ensemble.estimate_interval(both[0], **options)
    beta = [1 / (BOLTZMANN * state["temperature"]) for state in (one, two)]
    if one["temperature"] == two["temperature"]:
        exact = beta[0] * (one["pressure"] - two["pressure"])
        series = [data.observables.volume for data in both]
        spacing = abs(one["pressure"] - two["pressure"]) / apart["dP"]
    else:
        exact = beta[0] - beta[1]
        pressure = one["pressure"] or 0
        series = [d.observables.potential_energy + pressure * d.observables.volume for d in both]
        spacing = abs(one["temperature"] - two["temperature"]) / apart["dT"]
    start = np.array([-exact * np.mean([s.mean() for s in series]), exact])
    fit, error = ensemble.do_max_likelihood_fit(*series, 1.0, 1.0, start, False)
    return {
        "deviation": float(deviation),
        "slope": float(fit[1] / exact),
        "error": float(abs(error[1] / exact)),
        "spacing": float(spacing),
    }


def main() -> None:
    """Answer the questions of a file."""
    arrays = np.load(sys.argv[1])
    ask = {"kinetic": kinetic, "ensemble": two_states}
    with contextlib.redirect_stdout(sys.stderr):
        answers = [ask[q["ask"]](q, arrays) for q in json.loads(str(arrays["questions"]))]
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
