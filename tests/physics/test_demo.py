"""The demo at its full length, as a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.physics

ROOT = Path(__file__).parents[2]


def test_nine_of_ten_states_of_the_demo_agree_with_the_published_equation(tmp_path, report):
    command = [sys.executable, "examples/equation_of_state/run.py", "--out", tmp_path / "run"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    report(done.stdout)
    assert done.returncode == 0, done.stderr
