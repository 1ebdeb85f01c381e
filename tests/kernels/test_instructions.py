"""A product that is added takes one instruction, of its own precision, for every compiler."""

import subprocess

import pytest

from instar.kernels import build

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not build._IS_X86, reason="looks for instructions of x86"),
]

SOURCE = """
#include "{header}"
double wide(double a, double b, double c) {{ return instar::{function}(a, b, c); }}
float narrow(float a, float b, float c) {{ return instar::{function}(a, b, c); }}
"""


@pytest.mark.parametrize(
    ("header", "function"), [("lanes.hpp", "added"), ("neighbor_arithmetic.hpp", "sum_of")]
)
def test_a_product_that_is_added_is_rounded_once_and_never_widened(header, function):
    # Clang does not define the first two for x86; both define __FMA__.
    flags = ["-U__FP_FAST_FMA", "-U__FP_FAST_FMAF", *build._ARITHMETIC]
    reading = ["-w", f"-I{build._SOURCES}", "-x", "c++", "-S", "-", "-o", "-"]
    command = [*build.compiler(), "-std=c++17", "-O2", *flags, *build._X86["avx2"], *reading]
    text = SOURCE.format(header=header, function=function)
    made = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "cvtss2sd" not in made.stdout
    for kind in ("sd", "ss"):
        assert any(f"{name}{kind}" in made.stdout for name in ("fmadd132", "fmadd213", "fmadd231"))
