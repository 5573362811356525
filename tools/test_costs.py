"""A pytest plugin that writes down what each test costs: CPU with that of its child processes, time, and memory.

    python -m pytest -q -p tools.test_costs --costs OUT.jsonl tests
    python tools/test_costs.py OUT.jsonl            # the dearest files, and the tests that made the process grow

Threads are counted; a child process counts for the test that waited for its end.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SHOWN = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file to write to; a worker of xdist appends to the same."""
    parser.addoption("--costs", type=Path, help="append the costs of each test to this file")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test with its fixtures; a wider fixture counts for the first test that uses it."""
    return (yield from _measured(item.config, item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Measure the import of a test file."""
    return (yield from _measured(collector.config, collector.nodeid))


def _measured(config: pytest.Config, name: str) -> Iterator[None]:
    before = _cpu_s(), time.perf_counter(), _resident_bytes()
    done = yield
    after = _cpu_s(), time.perf_counter(), _resident_bytes()
    cpu, wall, grown = (end - start for start, end in zip(before, after, strict=True))
    if path := config.getoption("costs"):
        measured = {"test": name, "cpu_s": round(cpu, 4), "wall_s": round(wall, 4)}
        memory = {"grown_mib": grown >> 20, "mib": after[2] >> 20, "peak_mib": _peak_mib()}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**measured, **memory}) + "\n")
    return done


def _cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except FileNotFoundError:  # macOS: the peak alone is known
        return 0
    return pages * resource.getpagesize()


def _peak_mib() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20


def main() -> None:
    """Print the dearest files, the dearest tests, and what made the process grow."""
    costs = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    files: Counter[str] = Counter()
    for cost in costs:
        files[cost["test"].partition("::")[0]] += cost["cpu_s"]
    print(f"{sum(files.values()):.0f} s of CPU, peak {max(cost['peak_mib'] for cost in costs)} MiB")
    print("".join(f"{cpu:8.1f} s  {file}\n" for file, cpu in files.most_common(SHOWN)))
    for key, unit in (("cpu_s", "s"), ("grown_mib", "MiB")):
        dearest = sorted(costs, key=lambda cost: -cost[key])[:SHOWN]
        print("".join(f"{cost[key]:8.1f} {unit}  {cost['test']}\n" for cost in dearest))


if __name__ == "__main__":
    main()
