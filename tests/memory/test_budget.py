"""The budget is what the tightest limit leaves, and says where it comes from."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from support import raises

from instar.memory.budget import Budget, BudgetError, find_budget
from instar.memory.readings import (
    Reading,
    high_water,
    readings_of,
    reset_high_water,
    resident,
)

GiB = 2**30
CPU = jax.devices("cpu")[0]
MEMORY = {"proc/meminfo": f"MemTotal: {32 * GiB // 1024} kB\nMemAvailable: {20 * GiB // 1024} kB\n"}
AVAILABLE = Reading("available memory", 32 * GiB, 12 * GiB)
STATUS = {"proc/self/status": "Name:\tpy:thon 5\nVmSize:\t8388608 kB\nVmData:\t1048576 kB\n"}
V2 = {"sys/fs/cgroup/cgroup.controllers": "cpu memory\n"}


class Accelerator:
    platform = "gpu"

    def __init__(self, stats):
        self.stats = stats

    def memory_stats(self):
        if isinstance(self.stats, Exception):
            raise self.stats
        return self.stats


def v1(folder, limit, usage, cache=0):
    group = f"sys/fs/cgroup/memory/{folder}"
    return {
        f"{group}/memory.limit_in_bytes": f"{limit}\n",
        f"{group}/memory.usage_in_bytes": f"{usage}\n",
        f"{group}/memory.stat": f"inactive_file 7\ntotal_inactive_file {cache}\n",
    }


def v2(folder, limit, usage, cache=0):
    group = f"sys/fs/cgroup/{folder}"
    return {
        f"{group}/memory.max": f"{limit}\n",
        f"{group}/memory.current": f"{usage}\n",
        f"{group}/memory.stat": f"anon 7\ninactive_file {cache}\n",
    }


def groups(*lines):
    return {"proc/self/cgroup": "".join(f"{line}\n" for line in lines)}


@pytest.fixture
def limits(monkeypatch):
    limits = {}
    no_limit = resource.RLIM_INFINITY
    monkeypatch.setattr(
        resource, "getrlimit", lambda which: (limits.get(which, no_limit), no_limit)
    )
    return limits


@pytest.fixture
def pages(monkeypatch):
    pages = {}

    def sysconf(name):
        if name not in pages:
            raise ValueError("unrecognized configuration name")
        return pages[name]

    monkeypatch.setattr(os, "sysconf", sysconf)
    return pages


@pytest.fixture
def tree(tmp_path, limits, pages):
    def lay_out(*parts):
        for part in parts:
            for name, text in part.items():
                file = tmp_path / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        return tmp_path

    return lay_out


NO_LIMIT = 9223372036854771712

GROUPS = {
    "version 2": (
        [groups("0::/job"), V2, v2("job", 4 * GiB, 3 * GiB, GiB)],
        [Reading("control group", 4 * GiB, 2 * GiB)],
    ),
    "version 2, the parent is tighter": (
        [
            groups("0::/a/b/c"),
            V2,
            v2("a/b/c", 8 * GiB, GiB),
            v2("a/b", "max", GiB),
            v2("a", 5 * GiB, 4 * GiB),
        ],
        [Reading("control group", 8 * GiB, GiB), Reading("control group", 5 * GiB, 4 * GiB)],
    ),
    "version 2, in a container": (
        [groups("0::/outer/inner"), V2, v2(".", 4 * GiB, GiB)],
        [Reading("control group", 4 * GiB, GiB)],
    ),
    "version 2, a group inside of a container": (
        [groups("0::/outer/inner"), V2, v2(".", 4 * GiB, GiB), v2("inner", 3 * GiB, GiB)],
        [Reading("control group", 3 * GiB, GiB), Reading("control group", 4 * GiB, GiB)],
    ),
    "version 2, seen from inside of another group": (
        [groups("0::/../job"), V2, v2(".", 4 * GiB, GiB), v2("../job", 3 * GiB, GiB)],
        [Reading("control group", 4 * GiB, GiB)],
    ),
    "version 2, without a limit": ([groups("0::/job"), V2, v2("job", "max", GiB)], []),
    "version 1": (
        [groups("4:memory:/job", "3:cpu:/else"), v1("job", 4 * GiB, 3 * GiB, GiB)],
        [Reading("control group", 4 * GiB, 2 * GiB)],
    ),
    "version 1, the parent is tighter": (
        [
            groups("4:cpuset,memory:/a/b"),
            v1("a/b", 8 * GiB, GiB),
            v1("a", 6 * GiB, 5 * GiB),
            v1(".", NO_LIMIT, 9 * GiB),
        ],
        [Reading("control group", 8 * GiB, GiB), Reading("control group", 6 * GiB, 5 * GiB)],
    ),
    "version 1, in a container": (
        [groups("4:memory:/docker/1234"), v1(".", 4 * GiB, GiB)],
        [Reading("control group", 4 * GiB, GiB)],
    ),
    "version 1, without a limit": ([groups("4:memory:/job"), v1("job", NO_LIMIT, GiB)], []),
    "both, limited by version 1": (
        [
            groups("4:memory:/job", "1:name=systemd:/job", "0::/job"),
            {"sys/fs/cgroup/unified/job/cgroup.procs": ""},
            v1("job", 4 * GiB, GiB),
        ],
        [Reading("control group", 4 * GiB, GiB)],
    ),
    "both, limited by version 2": (
        [groups("1:name=systemd:/", "0::/job"), v2("unified/job", 4 * GiB, GiB)],
        [Reading("control group", 4 * GiB, GiB)],
    ),
    "more cache than use": (
        [groups("0::/job"), V2, v2("job", 4 * GiB, GiB, 2 * GiB)],
        [Reading("control group", 4 * GiB, 0)],
    ),
    "a file that cannot be understood": (
        [{"proc/self/cgroup": "\nwhat\n\xff"}, V2, v2("job", 4 * GiB, GiB)],
        [],
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_the_limits_of_all_groups_above_the_process_are_read(tree, case):
    parts, expected = GROUPS[case]
    assert readings_of(CPU, tree(*parts)) == tuple(expected)


def test_the_budget_is_what_the_tightest_limit_leaves(tree):
    parts, _ = GROUPS["version 2, the parent is tighter"]
    budget = find_budget(device=CPU, root=tree(*parts, MEMORY))
    assert (budget.bytes, budget.source) == (GiB, "control group")
    assert len(budget.readings) == 3


def test_without_limits_the_available_memory_is_the_budget(tree):
    budget = find_budget(root=tree(MEMORY, STATUS))
    assert budget == Budget(20 * GiB, "available memory", (AVAILABLE,))


def test_limits_of_the_process_count_with_what_it_holds_of_them(tree, limits):
    limits[resource.RLIMIT_AS] = 10 * GiB
    limits[resource.RLIMIT_DATA] = 4 * GiB
    found = readings_of(CPU, tree(MEMORY, STATUS))
    assert found == (
        Reading("process limit", 10 * GiB, 8 * GiB),
        Reading("process limit", 4 * GiB, GiB),
        AVAILABLE,
    )
    assert find_budget(root=tree()).bytes == 2 * GiB


def test_elsewhere_the_pages_of_the_system_are_counted(tree, pages):
    pages.update(SC_PAGE_SIZE=4096, SC_PHYS_PAGES=1000, SC_AVPHYS_PAGES=300)
    assert readings_of(CPU, tree()) == (Reading("available memory", 4096_000, 2867_200),)


def test_where_only_the_size_of_the_memory_is_known_the_process_itself_is_held(tree, pages):
    pages.update(SC_PAGE_SIZE=4096, SC_PHYS_PAGES=1000)
    root = tree({"proc/self/status": "VmHWM: 1000 kB\n"})
    assert readings_of(CPU, root) == (Reading("physical memory", 4096_000, 1024_000),)


def test_a_device_with_memory_of_its_own_is_limited_by_that_alone(tree):
    device = Accelerator({"bytes_limit": 16 * GiB, "bytes_in_use": 2 * GiB})
    budget = find_budget(device=device, root=tree(MEMORY))
    assert budget.readings == (Reading("device limit", 16 * GiB, 2 * GiB),)
    assert (budget.bytes, budget.source) == (14 * GiB, "device limit")


@pytest.mark.parametrize("stats", [None, {}, {"bytes_in_use": 5}, jax.errors.JaxRuntimeError("no")])
def test_a_device_that_does_not_tell_its_limit_needs_an_amount(tree, stats):
    device = Accelerator(stats)
    with raises(BudgetError, "How much memory there is cannot be read on this machine."):
        find_budget(device=device, root=tree(MEMORY))
    assert find_budget("64 GiB", device=device) == Budget(64 * GiB, "given: 64 GiB")


def test_without_a_device_the_default_one_is_read(tree):
    with jax.default_device(CPU):
        assert readings_of(root=tree(MEMORY)) == (AVAILABLE,)
    with jax.default_device("cpu"):
        assert readings_of(root=tree()) == (AVAILABLE,)


@pytest.mark.parametrize(
    ("asked", "share", "source"),
    [
        ("60 %", 0.6, "60 % of available memory"),
        ("60%", 0.6, "60 % of available memory"),
        (" 12.5 % ", 0.125, "12.5 % of available memory"),
        ("100 %", 1.0, "100 % of available memory"),
    ],
)
def test_a_share_is_one_of_what_is_left(tree, asked, share, source):
    budget = find_budget(asked, root=tree(MEMORY))
    assert budget == Budget(int(20 * GiB * share), source, (AVAILABLE,))


@pytest.mark.parametrize("asked", ["0 %", "-5 %", "101 %", "100.1%"])
def test_a_share_is_between_nothing_and_all(tree, asked):
    line = f"A share of the memory is above 0 % and at most 100 %, not {asked!r}."
    with raises(BudgetError, line):
        find_budget(asked, root=tree(MEMORY))


@pytest.mark.parametrize("asked", ["%", "most %", "nan %", "60 % of it", "60 %%"])
def test_what_is_no_share_is_refused(tree, asked):
    with raises(BudgetError, f"{asked!r} is not a share of the memory."):
        find_budget(asked, root=tree(MEMORY))


@pytest.mark.parametrize(
    ("asked", "amount", "source"),
    [
        ("8 GiB", 8 * GiB, "given: 8 GiB"),
        (" 8   GiB", 8 * GiB, "given: 8 GiB"),
        (3 * GiB, 3 * GiB, "given: 3.00 GiB"),
        (1.5 * GiB, 3 * GiB // 2, "given: 1.50 GiB"),
        ("20 GiB", 20 * GiB, "given: 20 GiB"),
        ("64 GiB", 20 * GiB, "given: 64 GiB, of which 20.0 GiB are left (available memory)"),
    ],
)
def test_an_amount_is_given_as_far_as_it_is_left(tree, asked, amount, source):
    assert find_budget(asked, root=tree(MEMORY)) == Budget(amount, source, (AVAILABLE,))


def test_an_amount_that_cannot_be_read_is_refused_and_shares_are_mentioned(tree):
    with raises(BudgetError, "An amount of memory is a finite number, not nan."):
        find_budget(float("nan"), root=tree(MEMORY))
    with pytest.raises(BudgetError, match='A share of what is left is written like "60 %"'):
        find_budget(0.6, root=tree())


@pytest.mark.parametrize("asked", [None, "60 %"])
def test_without_any_reading_an_amount_is_needed(tree, asked):
    with raises(BudgetError, "How much memory there is cannot be read on this machine."):
        find_budget(asked, root=tree())
    assert find_budget("1 GB", root=tree()) == Budget(10**9, "given: 1 GB")


@pytest.mark.parametrize("asked", [None, "60 %", "1 GiB"])
def test_where_nothing_is_left_all_readings_are_listed(tree, asked):
    root = tree(groups("0::/job"), V2, v2("job", 4 * GiB, 5 * GiB), MEMORY)
    with pytest.raises(BudgetError) as caught:
        find_budget(asked, root=root)
    assert str(caught.value).splitlines() == [
        "No memory is left: control group.",
        "    control group: 0 B left, 5.00 GiB held of 4.00 GiB",
        "    available memory: 20.0 GiB left, 12.0 GiB held of 32.0 GiB",
        "Raise that limit, or end what holds the memory.",
    ]


def test_a_budget_is_given_back_as_it_is(tree):
    budget = Budget(5, "given: 5")
    assert find_budget(budget, root=tree()) is budget


def test_a_budget_survives_being_written(tree):
    budget = find_budget("60 %", root=tree(MEMORY))
    assert Budget.from_json(json.loads(json.dumps(budget.to_json()))) == budget


def test_what_is_not_there_is_not_read(tmp_path):
    assert resident(tmp_path) is None
    assert reset_high_water(tmp_path) is False
    assert (high_water(tmp_path) or 0) >= 2**20


on_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


@on_linux
def test_the_high_water_mark_follows_what_is_held_and_can_be_reset():
    before, size = resident() or 0, 2**27
    block = np.ones(size, np.uint8)
    assert (resident() or 0) > before + 0.9 * size
    assert (high_water() or 0) > before + 0.9 * size
    del block
    if not reset_high_water():
        pytest.skip("the mark cannot be reset here")
    assert 0 < (high_water() or 0) < before + 0.5 * size


@on_linux
def test_a_real_limit_on_the_data_of_a_process_is_its_budget():
    program = """
import jax, resource
from instar.memory.budget import find_budget
jax.devices()
held = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmData"))
limit = int(held) * 1024 + 2**28
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
budget = find_budget()
print(budget.source, limit in [reading.limit for reading in budget.readings])
print(2**27 < budget.bytes <= 2**28, find_budget("1 TiB").source.endswith("(process limit)"))
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["process", "limit", "True", "True", "True"]
