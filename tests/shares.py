"""Runs pytest in several processes at once, each on its share of the files: `python -m tests.shares N ARGUMENTS`.

A plain process each, as one that hands tests to workers and takes their reports needs a millisecond of CPU for each.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile

import pytest


def run_shares(processes, arguments):
    """The worst of their exit codes. The first prints as it goes, the others once all have ended.

    Which of them failed is printed last: one that was killed has not said which test it ran.
    """
    command = [sys.executable, "-m", "pytest", *arguments]
    with contextlib.ExitStack() as stack:
        outputs = [None, *(stack.enter_context(tempfile.TemporaryFile()) for _ in range(1, processes))]
        running = [
            subprocess.Popen([*command, "--share", f"{number}/{processes}"], stdout=output, stderr=output)
            for number, output in enumerate(outputs)
        ]
        codes = {f"{number}/{processes}": process.wait() for number, process in enumerate(running)}
        for output in outputs[1:]:
            output.seek(0)
            sys.stdout.write(output.read().decode(errors="replace"))
    # Few files leave a share without a test; a process that was killed has a negative code.
    none = pytest.ExitCode.NO_TESTS_COLLECTED
    for share, code in codes.items():
        if code not in {0, none}:
            sys.stdout.write(f"exit code {code} of: python -m pytest {' '.join(arguments)} -v --share {share}\n")
    return max((abs(code) for code in codes.values() if code != none), default=int(none))


if __name__ == "__main__":
    sys.exit(run_shares(int(sys.argv[1]), sys.argv[2:]))
