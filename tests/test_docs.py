"""Every code block and every command of the README, the handbook and CONTRIBUTING."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import pytest
import walkthrough
import yaml
from support import as_installed

from instar.app.cli.main import main
from instar.app.config import load

pytestmark = [
    pytest.mark.usefixtures("quickly_compiled"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:MDAnalysis"),
    pytest.mark.filterwarnings("ignore::UserWarning:MDAnalysis"),
]

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.fixture(autouse=True)
def _as_a_reader_runs_it():
    """Pages run under JAX's own defaults, not under the strictness of the tests.

    A page may ask for double precision for good; the next one starts again.
    """
    double = jax.config.jax_enable_x64
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
    jax.config.update("jax_enable_x64", double)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem != "packages"], ids=lambda page: page.stem
)
def test_code_blocks_run_and_print_what_the_page_says(page):
    blocks = page.read_text().count("```python\n")
    assert walkthrough.check(page) == blocks


def test_a_page_that_says_something_else_is_found(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("```python\nprint(1)\n```\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="but the page says"):
        walkthrough.check(page)


def commands_in_order() -> list[str]:
    text = "\n".join(page.read_text() for page in TEXTS)
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def commands() -> list[str]:
    text = "\n".join(page.read_text() for page in TEXTS)
    inline = re.findall(r"`((?:PYTHON=\S+ )?make [\w./-]+)`", text)
    return sorted({*commands_in_order(), *inline})


def test_there_are_commands_to_check():
    assert {"make demo", "make test", "make check"} <= set(commands())


@pytest.mark.parametrize("command", [c for c in commands() if " make " in f" {c}"])
def test_make_knows_every_target_that_is_named(command):
    target = command.split("make ")[1]
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_commands_of_instar_do_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line for line in commands_in_order() if line.startswith("instar ")]
    assert len(lines) >= 5
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err


def test_the_configurations_on_the_page_are_right():
    text = (ROOT / "docs" / "handbook" / "runs.md").read_text()
    found = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    whole, *parts = map(yaml.safe_load, found)
    assert len(load(whole).structures) == 5
    alone = [
        part for part in parts if "topology" not in part and "start_from" not in part.get("run", {})
    ]
    staged, observed = (load({**whole, **part}) for part in alone)
    assert [stage.name for stage in staged.stages] == ["heat", "settle", "production"]
    assert len(observed.observations) == 4


def test_the_package_on_the_page_is_found_by_its_entry_points(tmp_path):
    """In a process of its own: what is declared here would be known to all other tests."""
    text = (ROOT / "docs" / "handbook" / "packages.md").read_text()
    found = dict(re.findall(r"^```(toml|python|yaml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    project = tomllib.loads(found["toml"])["project"]
    (tmp_path / f"{project['name']}.py").write_text(found["python"])
    (tmp_path / "run.yaml").write_text(found["yaml"])
    as_installed(project, tmp_path)
    code = "import sys; from instar.app.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code, "validate", tmp_path / "run.yaml"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path[1:]])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("is valid: 1 system, 108 atoms.\n"), done.stderr


def test_the_walkthrough_tool_says_how_it_is_used():
    run = [sys.executable, ROOT / "tools" / "walkthrough.py", "no-such-page.md"]
    out = subprocess.run(run, capture_output=True, text=True, check=False)
    assert out.returncode != 0
    assert out.stderr.startswith("usage: walkthrough.py PAGE.md")


def test_one_test_can_be_run_as_contributing_says():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    command = re.search(r"`\.venv/bin/python (-m pytest .*?)`", text)
    assert command
    run = [sys.executable, *command[1].split(), "-p", "no:cacheprovider"]
    out = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


# The environment script -------------------------------------------------------------------


def fake_python(folder: Path, name: str, version: str) -> None:
    """An interpreter that only knows its version."""
    major, minor = version.split(".")
    script = folder / name
    script.write_text(
        "#!/bin/sh\n"
        f'case "$2" in *version_info*) [ {major} -gt 3 ] || [ {minor} -ge 12 ]; exit $? ;; esac\n'
        f'echo "$0 $*" >> {folder}/calls\n'
        'if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
    )
    script.chmod(0o755)


def run_environment(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    for tool in ("sh", "rm", "touch", "mkdir", "cp", "env"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    return subprocess.run(
        ["sh", ROOT / "tools" / "environment", tmp_path / "venv", "constraints.txt"],
        env={"PATH": str(tmp_path), **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_new_enough_python_one_line_says_what_to_install(tmp_path):
    fake_python(tmp_path, "python3", "3.11")
    done = run_environment(tmp_path)
    assert done.returncode != 0
    assert done.stderr.startswith("instar needs Python 3.12 or newer")
    assert done.stderr.count("\n") == 1


def test_a_named_python_that_does_not_do_is_an_error(tmp_path):
    fake_python(tmp_path, "python3", "3.13")
    fake_python(tmp_path, "old python", "3.11")
    done = run_environment(tmp_path, PYTHON=str(tmp_path / "old python"))
    assert done.returncode != 0
    assert "old python is not a Python 3.12 or newer" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path):
    fake_python(tmp_path, "python3", "3.13")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "thesis.tex").write_text("years of work")
    done = run_environment(tmp_path)
    assert done.returncode != 0
    assert "is there and is no virtual environment" in done.stderr
    assert (tmp_path / "venv" / "thesis.tex").exists()


@pytest.mark.parametrize("newer", ["python3.13", "python3.12"])
def test_an_older_python3_is_passed_over_for_a_newer_one(tmp_path, newer):
    fake_python(tmp_path, "python3", "3.11")
    fake_python(tmp_path, newer, newer.removeprefix("python"))
    done = run_environment(tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{newer} -m venv" in (tmp_path / "calls").read_text()
    assert (tmp_path / "venv" / ".ready").exists()
