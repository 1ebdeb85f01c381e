"""Hostile settings for every test: shapes checked, promotion refused, warnings are errors."""

import os
import shutil
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
)

import jaxtyping

jaxtyping.install_import_hook("instar", "beartype.beartype")

import hypothesis  # noqa: E402
import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("ci", max_examples=10, deadline=None, derandomize=True)
hypothesis.settings.register_profile("long", max_examples=500, deadline=None)
hypothesis.settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    """All processes and modules of one run share what they compile, small programs too.

    Thousands of operations outside of `jit` are programs of their own: 20 ms to compile, 4 to load.
    """
    if "INSTAR_TEST_PROGRAMS" not in os.environ:
        folder = tempfile.mkdtemp(prefix="instar-programs-")
        os.environ["INSTAR_TEST_PROGRAMS"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    jax.config.update("jax_compilation_cache_dir", os.environ["INSTAR_TEST_PROGRAMS"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


_FIRST = ("test_docs.py", "test_examples.py")
"""Modules with the longest tests: at the end, one process would wait for the other."""


_LATER = Path(__file__).with_name("only_in_test_long.txt").read_text().splitlines()
_ONLY_IN_TEST_LONG = tuple(line for line in _LATER if line and not line.startswith("#"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave other groups to the `make` target that asks for their mark."""
    for item in items:
        if item.nodeid.startswith(_ONLY_IN_TEST_LONG):
            item.add_marker(pytest.mark.long)
    asked = config.getoption("-m") or ""
    groups = [group for group in ("long", "peers", "physics", "reference") if group not in asked]
    if config.getoption("--hypothesis-profile") == "long":
        groups.remove("long")
    left = [item for item in items if any(item.get_closest_marker(group) for group in groups)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]
    items.sort(key=lambda item: item.path.name not in _FIRST)


@pytest.fixture(scope="module", autouse=True)
def _programs_are_let_go():
    """Compiled programs hold maps of memory, of which a process may have only so many."""
    yield
    jax.clear_caches()


@pytest.fixture(scope="module")
def quickly_compiled(request: pytest.FixtureRequest):
    """Lets the compiler optimize less, which saves it a third of its time.

    For modules that compare to rounding; what must be equal to the bit is compiled as for users,
    and in `make test-long` all is.
    """
    quick = request.config.getoption("--hypothesis-profile") != "long"
    jax.config.update("jax_disable_most_optimizations", quick)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def precision(request: pytest.FixtureRequest):
    """Runs a test in single and in double precision."""
    with jax.enable_x64(request.param):
        yield "float64" if request.param else "float32"
