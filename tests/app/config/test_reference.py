"""Everything that is declared is described, in the reference and in the schema."""

import json
from pathlib import Path

import numpy as np
import pytest
from dynamics import relaxing, systems
from potentials import catalog

from instar.app.config.published import schema
from instar.app.config.reference import reference
from instar.app.config.registry import ROOMS, found
from instar.core.utils.declaration import Option, declare, declared
from instar.dynamics.method import METHODS
from instar.observables.entry import OBSERVERS
from instar.potentials.entry import POTENTIALS

PAGE = Path(__file__).parents[3] / "docs" / "handbook" / "configuration.md"


def test_the_page_is_what_is_declared():
    assert PAGE.read_text() == reference(), "write it again: .venv/bin/python tools/reference.py"


@pytest.mark.parametrize("group", ROOMS)
def test_everything_declared_has_help(group):
    assert len(found(group)) > 2
    for known in found(group).values():
        assert known.help, known.name
        assert all(option.help for option in known.options.values()), known.name


def test_the_schema_describes_every_option():
    text = json.dumps(schema(), ensure_ascii=False)
    for group in (POTENTIALS, METHODS, OBSERVERS):
        for known in found(group).values():
            for option in known.options.values():
                assert json.dumps(option.help, ensure_ascii=False)[1:-1] in text, known.name


def test_laws_run_over_everything_that_is_declared():
    cases = {entry["type"] for case in catalog.CASES.values() for entry in case.config}
    ours = {
        group: {n for n, known in found(group).items() if known.target.__module__[:7] == "instar."}
        for group in (POTENTIALS, METHODS)
    }
    others = {"ase", "exclusions", "distance_constraint", "rigid_water"}  # with laws of their own
    assert ours[POTENTIALS] - others <= cases
    assert ours[METHODS] <= {*systems.METHODS, *relaxing.METHODS}


def test_two_things_can_not_have_one_name():
    def one():
        """One."""

    def other():
        """Another."""

    declare("a group of tests", "same", one, {"x": Option("x")})
    declare("a group of tests", "same", one, {"x": Option("x")})
    with pytest.raises(ValueError, match="Two things are called 'same' in a group of tests"):
        declare("a group of tests", "same", other, {})
    assert list(declared("a group of tests")) == ["same"]


def test_a_formula_without_a_case_gets_one(monkeypatch):
    cases = {name: case for name, case in catalog.CASES.items() if name != "buckingham"}
    monkeypatch.setattr(catalog, "CASES", cases)
    new = dict(catalog.registered_formulas())
    assert "buckingham" in new
    r = np.array([2.0, 3.0])
    example = {k: o.example for k, o in found(POTENTIALS)["buckingham"].options.items()}
    wall = example["A"] * np.exp(-r / example["rho"])
    u, slope = catalog.by_formula(found(POTENTIALS)["buckingham"].target(**example))(r, "A", "B")
    np.testing.assert_allclose(u, wall - example["C"] / r**6, rtol=1e-12)
    np.testing.assert_allclose(slope, -wall / example["rho"] + 6 * example["C"] / r**7, rtol=1e-12)
