"""How much memory the processes hold that a test started: looked at while they run."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


class Watch:
    """The most memory that a process and its children held, looked at again and again."""

    def __init__(self, pid):
        self.most_mib = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _look(self):
        while not self._stop.wait(0.02):
            self.most_mib = max(self.most_mib, *(held_mib(pid) for pid in children(self._pid)), 0)


def children(pid):
    """Children and theirs; of one that ends meanwhile, what was seen before."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in task.read_text().split():
                found += [int(child), *children(int(child))]
    return found


def held_mib(pid):
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
