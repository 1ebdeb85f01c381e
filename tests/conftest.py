"""Hostile settings for every test: shapes checked, promotion refused, warnings are errors."""

import os

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

hypothesis.settings.register_profile("ci", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("long", max_examples=500, deadline=None)
hypothesis.settings.load_profile("ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long group to `make test-long`, which asks for every mark."""
    if config.getoption("-m") or config.getoption("--hypothesis-profile") == "long":
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def precision(request: pytest.FixtureRequest):
    """Runs a test in single and in double precision."""
    with jax.enable_x64(request.param):
        yield "float64" if request.param else "float32"
