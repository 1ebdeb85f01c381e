"""Libraries are built from these sources, found, or missing with a reason."""

import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from instar import kernels
from instar.app.cli.main import main
from instar.kernels import build

FOLDER = Path(build.__file__).parent


@pytest.fixture
def copy(tmp_path):
    """The sources elsewhere, with the library that was made of them, if there is one."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(FOLDER, tmp_path / "kernels", ignore=ignored)


def said_by(copy, code, compiler):
    words = [sys.executable, "-c", f"import build\n{code}"]
    environment = {"CXX": compiler, "PATH": "/usr/bin:/bin"}
    settings = {"cwd": copy, "env": environment, "capture_output": True, "text": True}
    ran = subprocess.run(words, check=False, **settings)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


BUILT = """
try:
    print(build.built())
except build.BuildError as error:
    print(error)
    print(build.library(), build.reason())
"""


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        ("/bin/false", "not built, as /bin/false failed: it did not say why"),
        (
            "no-such-compiler",
            "not built, as no C++ compiler was found (tried CXX=no-such-compiler)",
        ),
    ],
)
def test_without_a_compiler_there_is_a_reason_instead(copy, compiler, reason):
    shutil.rmtree(copy / "library", ignore_errors=True)
    assert said_by(copy, BUILT, compiler) == f"{reason}\nNone {reason}"


def test_a_library_of_other_sources_is_never_loaded(copy):
    (copy / "library").mkdir(exist_ok=True)
    (copy / "library" / "kernels-000000000000-0.1.so").touch()
    (copy / "library" / "reason.txt").unlink(missing_ok=True)
    with (copy / "source" / "pair_pass.cpp").open("a") as source:
        source.write("// changed\n")
    told = said_by(copy, "print(build.library(), build.reason())", "/bin/false")
    assert told.startswith("None built from other sources")


def test_the_switch_is_part_of_what_is_compiled_for():
    traced = []

    @jax.jit
    def count(x):
        traced.append(kernels.in_use())
        return x

    count(1.0)
    with kernels.using(False):
        count(1.0)
        assert kernels.status() == (False, "switched off")
    count(1.0)
    assert traced == [kernels.status().used, False]


def test_the_environment_leaves_kernels_out(monkeypatch):
    monkeypatch.setenv("INSTAR_KERNELS", "off")
    assert kernels.status() == (False, "switched off")
    with kernels.using(True):
        assert kernels.in_use() or "built" in kernels.status().text


def test_info_says_whether_kernels_are_used(capsys):
    assert main(["info"]) == 0
    told = capsys.readouterr().out
    assert f"kernels      {kernels.status().text}" in told
    assert all(f"\n{name} " in told for name in ("jax", "devices", "precision", "compiled"))


def test_the_switch_of_the_environment_is_read_and_another_word_is_told(monkeypatch):
    monkeypatch.delenv("INSTAR_KERNELS", raising=False)
    plain = kernels.status()
    monkeypatch.setenv("INSTAR_KERNELS", "OFF")
    assert kernels.status() == (False, "switched off")
    monkeypatch.setenv("INSTAR_KERNELS", "of")
    told = f"{plain.text}; INSTAR_KERNELS=of is ignored: it is on or off"
    assert kernels.status() == (plain.used, told)
