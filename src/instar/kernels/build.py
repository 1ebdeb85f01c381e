"""Compiles the kernels: a shared library beside their sources, in `library/`.

    python src/instar/kernels/build.py       or, installed: python -m instar.kernels.build

The hook of the package's build (`hatch_build.py`) does the same. The C++ compiler is `$CXX`, else
c++, g++ or clang++; the headers are jaxlib's. What is hot is compiled once for each set of
instructions, and chosen when it runs. The name of a library holds a digest of what it was made
from, so one that was built from other sources is never loaded; and the version of XLA's interface.

This file needs nothing but Python: it runs before the package is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["BuildError", "built", "compiler", "digest", "driver", "library", "reason"]

_HERE = Path(__file__).parent
_SOURCES, _LIBRARIES = _HERE / "source", _HERE / "library"
_REASON = _LIBRARIES / "reason.txt"

_IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-Wall", "-Wextra", "-Wno-psabi"]
_FLAGS += ["-DINSTAR_X86"] if _IS_X86 else []
# What is not a number stays so: no flag of -ffast-math but the two that only concern errno and
# exceptions. Sums are added up in the order that is written, and products are rounded before:
# contracted where nothing else needs them, forces would have other bits with a virial than without.
_ARITHMETIC = ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]

_X86 = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": [
        *("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mavx2", "-mfma"),
        "-mprefer-vector-width=512",
    ],
}
_HANDLERS = "_handlers"
"""How the names of sources end that XLA calls; all others are kernels."""


class BuildError(RuntimeError):
    """The kernels could not be compiled."""


def library() -> Path | None:
    """The newest library of these sources that this jaxlib can use; None if there is none."""
    most = _version(_headers())
    usable = {
        v: p for p in _of_these_sources() if (v := _version_in(p)) <= most and v[0] == most[0]
    }
    return usable[max(usable)] if usable else None


def reason() -> str:
    """Why there is no library."""
    if _REASON.exists():
        return _REASON.read_text(encoding="utf-8").strip()
    again = "python -m instar.kernels.build"
    if any(_LIBRARIES.glob("kernels-*.so")):
        return f"built from other sources, or for a newer jaxlib; build them again: {again}"
    return f"not built: {again}"


def built() -> Path:
    """Compile and link what is not there yet; libraries of other sources are removed."""
    _LIBRARIES.mkdir(exist_ok=True)
    try:
        if (present := library()) is not None:
            return present
        headers = _headers()
        major, minor = _version(headers)
        with tempfile.TemporaryDirectory(dir=_LIBRARIES) as folder:
            made = _linked(compiler(), headers, Path(folder))
            for old in {*_LIBRARIES.glob("kernels-*.so")} - {*_of_these_sources()}:
                old.unlink()
            wanted = made.replace(_LIBRARIES / f"kernels-{digest()}-{major}.{minor}.so")
    except BuildError as error:
        _REASON.write_text(f"{error}\n", encoding="utf-8")
        raise
    _REASON.unlink(missing_ok=True)
    return wanted


def digest() -> str:
    """Of the sources, and of how they are compiled."""
    found = hashlib.sha256(repr((platform.machine(), _FLAGS, _kernels())).encode())
    for path in sorted([*_SOURCES.glob("*.cpp"), *_SOURCES.glob("*.hpp")]):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:12]


def _of_these_sources() -> list[Path]:
    return [*_LIBRARIES.glob(f"kernels-{digest()}-*.so")]


def _version_in(path: Path) -> tuple[int, int]:
    major, minor = path.stem.rsplit("-", 1)[1].split(".")
    return int(major), int(minor)


def _version(headers: Path) -> tuple[int, int]:
    """Of XLA's interface for foreign functions; what was built for an older one can be used."""
    text = (headers / "xla" / "ffi" / "api" / "c_api.h").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text))
    return int(numbers["MAJOR"]), int(numbers["MINOR"])


def compiler() -> list[str]:
    """The command of the C++ compiler."""
    named = os.environ.get("CXX")
    for candidate in [named] if named else ["c++", "g++", "clang++"]:
        command = shlex.split(candidate)
        if command and shutil.which(command[0]):
            return command
    tried = f"CXX={named}" if named else "c++, g++ and clang++"
    raise BuildError(f"not built, as no C++ compiler was found (tried {tried})")


def _headers() -> Path:
    found = importlib.util.find_spec("jaxlib")
    places = [] if found is None else found.submodule_search_locations or []
    for place in places:
        if (Path(place) / "include" / "xla" / "ffi" / "api" / "ffi.h").exists():
            return Path(place) / "include"
    raise BuildError("not built, as jaxlib and its headers were not found")


def _linked(command: list[str], headers: Path, folder: Path) -> Path:
    """The library, of kernels and of what XLA calls."""
    calls = {
        f"{name}.o": ["-isystem", str(headers), f"{name}.cpp"]
        for name in _sources()
        if name.endswith(_HANDLERS)
    }
    objects = _kernels() | calls
    return _program(command, _FLAGS, objects, ["-shared"], folder / "kernels.so")


def driver(command: list[str], main: Path, folder: Path) -> Path:
    """A program around the kernels that ends at any mistake with memory or undefined behavior."""
    checks = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    objects = _kernels() | {"main.o": [str(main)]}
    flags = [*_FLAGS, *checks, f"-I{_SOURCES}"]
    return _program(command, flags, objects, checks, folder / "driver")


def _kernels() -> dict[str, list[str]]:
    """Arguments for each object file."""
    sets = _X86 if _IS_X86 else {"baseline": []}
    return {
        f"{name}-{instructions}.o": [
            *_ARITHMETIC,
            *flags,
            f"-DINSTRUCTIONS={instructions}",
            f"{name}.cpp",
        ]
        for name in _sources()
        if not name.endswith(_HANDLERS)
        for instructions, flags in sets.items()
    }


def _sources() -> list[str]:
    return sorted(path.stem for path in _SOURCES.glob("*.cpp"))


def _program(
    command: list[str],
    flags: list[str],
    objects: dict[str, list[str]],
    linking: list[str],
    made: Path,
) -> Path:
    """Compile all objects at once, and link them."""
    folder = made.parent
    running = [
        _started([*command, *flags, "-c", *arguments, "-o", str(folder / name)])
        for name, arguments in objects.items()
    ]
    for process in running:
        _finished(process)
    known = [str(folder / name) for name in objects]
    _finished(_started([*command, *linking, "-pthread", *known, "-o", str(made)]))
    return made


def _started(command: list[str]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=_SOURCES
        )
    except OSError as error:
        raise BuildError(f"not built, as {command[0]} did not start: {error}") from error


def _finished(process: subprocess.Popen[str]) -> None:
    said, _ = process.communicate()
    if process.returncode:
        command = process.args[0] if isinstance(process.args, list) else process.args
        first = " ".join(said.split())[:500]
        raise BuildError(f"not built, as {command} failed: {first or 'it did not say why'}")


if __name__ == "__main__":
    try:
        print(f"Kernels: {built()}")
    except BuildError as error:
        print(f"Kernels: {error}.\ninstar works without them, slower.")
