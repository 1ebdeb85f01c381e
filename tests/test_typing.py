"""What the types promise, held by pyright itself."""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent / "typing"


def diagnostics(name: str) -> list[dict]:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    # Its own project, so that the repository's exclusion of this folder does not apply.
    run = subprocess.run([*command, "-p", HERE], capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)["generalDiagnostics"]
    return [d for d in found if Path(d["file"]).name == name and d["severity"] == "error"]


def test_pyright_accepts_what_is_right_and_finds_its_types():
    assert [d["message"] for d in diagnostics("accepted.py")] == []


def test_pyright_rejects_joins_over_the_wrong_key_class():
    lines = (HERE / "rejected.py").read_text().splitlines()
    expected = [n for n, line in enumerate(lines, 1) if line.endswith("# error")]
    rejected = diagnostics("rejected.py")
    found = {d["range"]["start"]["line"] + 1 for d in rejected}
    assert sorted(found) == expected
    assert {"ParticleId", "SystemId"} <= set(re.findall(r"\w+", rejected[0]["message"]))
