"""One file adds one thing (a potential, a thermostat, an observer, a format), here or beside."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support import as_installed

import instar

EXTENSION = Path(__file__).parents[2] / "extension"
FILES = {
    "gaussian_core": "potentials",
    "andersen": "dynamics/md",
    "spread": "observables",
    "last_frame": "app/results/export",
}
"""The files that add one thing each, and the folders of instar where they would stand."""

CONFIG = {
    "seed": 3,
    "systems": [
        {
            "structure": {"lattice": "sc", "species": "Ar", "repeat": 3, "a": "4 angstrom"},
            "temperature": "80 K",
        }
    ],
    "potential": [
        {
            "type": "gaussian_core",
            "cutoff": "5.5 angstrom",
            "parameters": {"Ar": {"epsilon": "0.02 eV", "sigma": "2.5 angstrom"}},
        }
    ],
    "method": {
        "type": "md",
        "ensemble": "nvt",
        "thermostat": "andersen",
        "rate": "20 /ps",
        "time_step": "2 fs",
    },
    "run": {"steps": 20},
    "observe": [{"type": "spread", "every": 2}],
    "output": {"trajectory_every": 10, "thermo_every": 5},
}
"""Everything that is new, in one configuration."""

SCRIPT = """
import json, sys
from instar.app.cli.main import main
from instar.app.config.published import schema
folder = sys.argv[1]
codes = [
    main(["run", f"{folder}/run.yaml", "--out", f"{folder}/run"]),
    main(["export", f"{folder}/run", "--to", "last_frame"]),
    main(["validate", f"{folder}/wrong.yaml"]),
]
print(json.dumps({"codes": codes, "schema": json.dumps(schema())}))
"""


def used(tmp_path, *path):
    """What the new things do, in a process that finds instar and others in these folders."""
    wrong = CONFIG | {"method": CONFIG["method"] | {"thermostat": "anderson"}}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(CONFIG))
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(wrong))
    known = os.pathsep.join(map(str, path))
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": known},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def check(tmp_path, found, said):
    assert found["codes"] == [0, 0, 1]
    assert "'anderson' is unknown; did you mean 'andersen'?" in said
    words = ("gaussian_core", "andersen", "collisions (1/ps)", "height ε (eV)", "which moment")
    for word in words:
        assert json.dumps(word)[1:-1] in found["schema"].replace("\\\\u", "\\u")
    assert len((tmp_path / "run" / "last_frame" / "system-0.xyz").read_text().splitlines()) == 29
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert 0 < summary["systems"][0]["temperature"]["mean"] < 300
    spread = summary["observed"]["spread: spread"][0]
    assert 3 < spread["mean"] < 7
    assert 0 < spread["error"] < 0.1
    assert spread["unit"] == "angstrom"
    assert (tmp_path / "run" / "report.html").is_file()
    assert list((tmp_path / "run" / "checkpoints").iterdir())


def test_a_package_of_somebody_else_adds_its_own_by_entry_points(tmp_path):
    site = tmp_path / "site"
    project = tomllib.loads((EXTENSION / "pyproject.toml").read_text())["project"]
    shutil.copytree(EXTENSION / "instar_extras", site / "instar_extras")
    as_installed(project, site)
    check(tmp_path, *used(tmp_path, site))


@pytest.mark.long
def test_one_file_in_instar_adds_one_thing_and_no_other_file_changes(tmp_path):
    source = Path(instar.__file__).parent
    shutil.copytree(
        source, tmp_path / "src" / "instar", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, room in FILES.items():
        shutil.copy(EXTENSION / "instar_extras" / f"{name}.py", tmp_path / "src" / "instar" / room)
    check(tmp_path, *used(tmp_path, tmp_path / "src"))
    new = {p.relative_to(tmp_path / "src" / "instar") for p in tmp_path.glob("src/**/*.py")}
    old = {p.relative_to(source) for p in source.rglob("*.py")}
    assert new - old == {Path(room) / f"{name}.py" for name, room in FILES.items()}
    copy = tmp_path / "src" / "instar"
    assert [p for p in old if (copy / p).read_bytes() != (source / p).read_bytes()] == []
