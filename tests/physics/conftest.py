"""The figures of the physics tests, shown after the tests."""

from collections.abc import Callable

import jax
import pytest


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say a figure, to be shown whether the test passes or not."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for outcome in ("passed", "failed"):
        for each in terminalreporter.stats.get(outcome, []):
            figures = [text for name, text in each.user_properties if name == "figure"]
            if each.when == "call" and figures:
                terminalreporter.write_line(f"{outcome} {each.nodeid} ({each.duration:.0f} s)")
                for text in figures:
                    terminalreporter.write_line(f"    {text}")
