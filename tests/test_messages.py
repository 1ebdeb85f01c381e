"""What a user reads who passes the wrong type.

In the tests the run-time type check answers first, so these run as a user's program does.
"""

import subprocess
import sys

import pytest

PREPARE = """
import jax, jax.numpy as jnp
from instar import Buffered, Index, ParticleId, SystemId, Table, lens
table = Table.arange({"x": jnp.zeros(2), "system": Index.zeros(2, label=SystemId)}, ParticleId)
column = lens(lambda d: d["system"])
buffer = Buffered.full(table, view=column)
"""

CASES = {
    'Index.arange(2, label="system")': "A key class is a class such as SystemId, not 'system'.",
    "Index((0, 1), [0], SystemId)": "max_count is a number, not ",
    'Index((0, 1), ["a"])': "Index entries are integers, not <U1.",
    "table[0]": "Rows of a table are named by an Index, not by int.",
    "buffer.free(0)": "Rows of a table are named by an Index, not by int.",
    "buffer.select_free(1, where=len)": "where is a lens on the buffer, ",
    "Buffered.full(table, view=len)": "view names a column by a lens, ",
    "Buffered.pad(table, 1.5, view=column)": "'float' object cannot be interpreted as an integer",
}


def run(lines: list[str]) -> list[str]:
    program = PREPARE
    for line in lines:
        program += (
            f"try:\n    {line}\nexcept TypeError as error:\n    print(str(error).splitlines()[0])\n"
        )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def messages() -> dict[str, str]:
    return dict(zip(CASES, run(list(CASES)), strict=True))


@pytest.mark.parametrize("line", CASES)
def test_a_wrong_type_is_a_type_error_that_says_so(messages, line):
    assert messages[line].startswith(CASES[line])
