"""`make test-all`: every group runs, and a table tells how each went."""

import subprocess
import sys
from pathlib import Path

import groups
import pytest

ROOT = Path(__file__).parents[1]
MAKEFILE = """
good:
\t@echo '7 passed, 2 deselected in 3.21s'
bad:
\t@echo '1 failed, 4 passed, 2 errors in 61.00s (0:01:01)'; exit 1
refused:
\t@echo 'Name a folder' >&2; exit 1
"""


@pytest.fixture
def made(tmp_path):
    (tmp_path / "Makefile").write_text(MAKEFILE)

    def run(*names):
        command = [sys.executable, ROOT / "tools" / "groups.py", *names]
        return subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)

    return run


def test_all_groups_run_after_a_failure_and_the_table_tells_it(made):
    done = made("bad", "refused", "good")
    *_, bad, refused, good = (line.split() for line in done.stdout.splitlines())
    assert done.returncode == 1
    assert bad[:3] == ["bad", "4", "3"]
    assert bad[-1] == "FAILED"
    assert refused[:3] == ["refused", "-", "-"]
    assert " ".join(refused[-3:]) == "did not finish"
    assert good[:3] == ["good", "7", "0"]
    assert "Name a folder" in done.stderr


def test_groups_that_pass_are_a_success(made):
    assert made("good").returncode == 0


def test_numbers_in_other_lines_are_not_counted():
    assert groups.counts("the 3 failed checks in 4 seconds") is None


def test_test_all_names_every_group_of_tests():
    plan = subprocess.run(
        ["make", "--no-print-directory", "-n", "test-all"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    makefile = (ROOT / "Makefile").read_text().splitlines()
    targets = {line.split(":")[0] for line in makefile if line.startswith("test")}
    assert set(plan.stdout.split("groups.py ")[1].split()) == targets - {"test-all"}


@pytest.mark.parametrize("folder", ["REFERENCE", "STRUCTURES"])
def test_a_folder_without_reference_files_is_refused(tmp_path, folder):
    command = ["make", "-o", ".venv/.ready", "test-reference", f"{folder}={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"{folder}={tmp_path} holds no" in done.stderr


def test_what_is_left_to_test_long_are_tests():
    lines = (ROOT / "tests" / "only_in_test_long.txt").read_text().splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    assert names
    for name in names:
        path, function = name.split("[")[0].split("::")
        assert f"\ndef {function}(" in (ROOT / path).read_text(), name
