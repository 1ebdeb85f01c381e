"""The kernels outside of Python, under the sanitizers of addresses and of undefined behavior."""

import subprocess
from pathlib import Path

import pytest

from instar.kernels import build

pytestmark = pytest.mark.long

DRIVER = Path(__file__).with_name("driver.cpp")


def test_the_kernels_stay_within_their_buffers(tmp_path):
    try:
        compiler = build.compiler()
    except build.BuildError as error:
        pytest.fail(f"This group needs a C++ compiler: {error}")
    made = build.driver(compiler, DRIVER, tmp_path)
    ran = subprocess.run([made], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
