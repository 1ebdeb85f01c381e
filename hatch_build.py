"""Compiles the kernels when the package is built or installed, where there is a compiler."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import (  # pyright: ignore[reportMissingImports]
    BuildHookInterface,
)

ROOT = Path(__file__).parent


def _build() -> Any:
    """`instar/kernels/build.py`, which needs nothing that is not installed yet."""
    path = ROOT / "src" / "instar" / "kernels" / "build.py"
    spec = importlib.util.spec_from_file_location("instar_kernels_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class KernelsHook(BuildHookInterface[Any]):
    """Puts the library beside its sources, where an editable installation finds it, too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; the wheel is that of a platform if there is something to put into it."""
        build = _build()
        try:
            made = build.built()
        except build.BuildError as error:
            self.app.display_warning(
                f"instar's kernels: {error}. instar works without them, slower."
            )
            return
        build_data["artifacts"].append(made.relative_to(ROOT).as_posix())
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{system}"
        build_data["pure_python"] = False
