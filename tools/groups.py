"""Runs groups of tests one after the other, goes on after a failure, and prints a table.

tools/groups.py test test-long ...      (what `make test-all` does)
"""

import re
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple


class Outcome(NamedTuple):
    """How a group went; without counts if pytest did not come to its end."""

    group: str
    passed: int | None
    failed: int | None
    seconds: float
    processor_seconds: float
    status: int


def counts(line: str) -> tuple[int, int] | None:
    """Passed and failed tests, from pytest's last line; an error counts as a failure."""
    if not re.search(r"\bin [\d.]+s", line):
        return None
    found = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", line)}
    bad = ("failed", "error", "errors")
    return found.get("passed", 0), sum(found.get(word, 0) for word in bad)


def processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def outcome_of(group: str) -> Outcome:
    """Runs a group; what it prints is shown as it comes."""
    begin, used, found = time.monotonic(), processor_seconds(), None
    with subprocess.Popen(["make", group], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            found = counts(line) or found
    passed, failed = found or (None, None)
    took = time.monotonic() - begin
    return Outcome(group, passed, failed, took, processor_seconds() - used, process.returncode)


def minutes(seconds: float) -> str:
    """Minutes and seconds, as on a clock."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def table(outcomes: Sequence[Outcome]) -> str:
    """One row per group."""
    rows = [f"{'group':<16}{'passed':>8}{'failed':>8}{'min':>8}{'CPU min':>9}"]
    for one in outcomes:
        numbers = ["-" if n is None else str(n) for n in (one.passed, one.failed)]
        times = [minutes(one.seconds), minutes(one.processor_seconds)]
        note = "" if one.status == 0 else "  FAILED" if one.failed else "  did not finish"
        columns = f"{numbers[0]:>8}{numbers[1]:>8}{times[0]:>8}{times[1]:>9}"
        rows.append(f"{one.group:<16}{columns}{note}")
    return "\n".join(rows)


def main(groups: Sequence[str]) -> int:
    """The exit status: 0 if every group passed."""
    if not groups:
        print("usage: groups.py GROUP ...", file=sys.stderr)
        return 2
    outcomes = [outcome_of(group) for group in groups]
    print(f"\n{table(outcomes)}")
    return int(any(one.status for one in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
