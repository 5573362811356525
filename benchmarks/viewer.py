"""What the viewer costs: its start, each page of runs of 100,000 samples, and what a browser loads of 5,000.

    python -m benchmarks.viewer                # makes stores of its own, which takes minutes
    python -m benchmarks.viewer STORE          # of the newest two runs of a store that is there already

The viewer is a process of its own, as a user starts it. CPU is what the operating system counted for it between a
request and its answer: the first time that a page is asked for, and the least of several times after it. "Later" is
what the first one left to a thread, which nobody waits for: figures that the list of runs fills in.
"""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from benchmarks.large_runs import make_large

ROUNDS = 5
PAGES = (
    ("list of runs", "/"),
    ("list of runs, filtered", "/?filter=finished"),
    ("run", "/run/{two}"),
    ("its samples from 50,001", "/run/{two}?after=50000"),
    ("filter: wrong", "/run/{two}?where=wrong"),
    ("filter: group", f"/run/{{two}}?where={quote('group = ' + chr(34) + 'group 3' + chr(34))}"),
    ("sort by score", "/run/{two}?sort=-solve_rate"),
    ("sort by id, filter", "/run/{two}?sort=id&where=wrong"),
    ("search: one record", "/run/{two}?search=question+4711"),
    ("search: all records", "/run/{two}?search=question"),
    ("search, filter, sort", "/run/{two}?search=question&where=wrong&sort=-solve_rate"),
    ("regressions", "/run/{two}?where=regression&against={one}"),
    ("sample", "/run/{two}/s/q47"),
    ("sample of a search", "/run/{two}/s/q47?search=question&at=47"),
    ("comparison", "/compare?a={one}&b={two}"),
    ("live", "/live/{two}"),
    ("history", "/history/exam"),
)
TICKS = os.sysconf("SC_CLK_TCK")


class Viewer:
    """A viewer that was started on a store."""

    def __init__(self, store: str | Path) -> None:
        program = "from steelyard.cli import main; main()"
        command = [sys.executable, "-c", program, "view", "--no-browser", "--port", "0", "--store", str(store)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout
        self.address = self.process.stdout.readline().split()[-1]
        self._at, self._cookie = urlsplit(self.address), ""
        first = self._answer(f"{self._at.path}?{self._at.query}")
        if first.status in {302, 303, 307}:  # to the host name that this viewer alone has
            self._at = urlsplit(first.headers["location"])
            first = self._answer(f"{self._at.path}?{self._at.query}")
        self._cookie = first.headers["set-cookie"].partition(";")[0]
        self.start_cpu = self.cpu()  # with the first answer, which is when a user has something

    def sign(self, cookie: str) -> None:
        """Send a further cookie with each request, as of a rater's name."""
        self._cookie = f"{self._cookie}; {cookie}"

    def _answer(self, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._at.port, timeout=600)
        cookie = {"Cookie": self._cookie} if self._cookie else {}
        connection.request("GET", path, headers={"Host": self._at.netloc, **cookie})
        return connection.getresponse()

    def cpu(self) -> float:
        """Seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak_mib(self) -> float:
        """The most memory that it has held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def settled(self) -> float:
        """Milliseconds of CPU until nothing is computed any more: the list has figures filled in later."""
        begun = before = self.cpu()
        while True:
            time.sleep(1)
            if (now := self.cpu()) == before:
                return 1000 * (now - begun)
            before = now

    def ask(self, path: str) -> tuple[float, int]:
        """Milliseconds of CPU, and bytes, of a page."""
        before = self.cpu()
        answer = self._answer(path)
        content = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status}")
        return 1000 * (self.cpu() - before), len(content)


@contextmanager
def viewing(store: str | Path) -> Iterator[Viewer]:
    viewer = Viewer(store)
    try:
        yield viewer
    finally:
        viewer.process.kill()
        viewer.process.communicate()


def measure(store: str = "") -> list[str]:
    """The table's lines."""
    from steelyard import Store

    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(store or Path(folder) / "large.db"), Path(folder) / "small.db"
        if not store:
            make_large(str(large))
        make_large(str(small), 5000)
        with Store(large) as opened:
            runs = opened.runs()[:2]
        two, one = (run.id for run in runs)
        lines = [
            _line(("page", "first, CPU ms", "following, CPU ms", "later, CPU ms", "KB", "goal")),
            _line(["---"] * 6),
        ]
        with viewing(large) as viewer:
            for name, path in PAGES:
                asked = path.format(one=one, two=two)
                first, size = viewer.ask(asked)
                later = viewer.settled()
                following = min(viewer.ask(asked)[0] for _ in range(ROUNDS))
                lines.append(
                    _line((name, f"{first:.0f}", f"{following:.0f}", f"{later:.0f}", f"{size / 1000:.0f}", "200 ms"))
                )
            peak = viewer.peak_mib()
        starts = []
        for _ in range(ROUNDS):
            with viewing(large) as viewer:
                starts.append(viewer.start_cpu)
        start = f"{runs[0].done:,} samples a run. The start takes {min(starts):.2f} s of CPU (goal: 0.5 s); "
        return [*lines, "", f"{start}the viewer had {peak:.0f} MiB at most (goal: 150 MB).", "", _browsed(small)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _browsed(store: Path) -> str:
    """What Chromium loads of a run of 5,000 samples with an empty cache, and how long until rows are there."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        return "There is no Chromium here to look at a run of 5,000 samples with."
    from playwright.sync_api import sync_playwright

    from steelyard import Store

    with Store(store) as opened:
        run = opened.runs()[0].id
    with viewing(store) as viewer, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        taken, loaded = [], 0.0
        for _ in range(ROUNDS):
            context = browser.new_context()  # nothing is cached
            page = context.new_page()
            debugger = context.new_cdp_session(page)
            sizes: list[float] = []
            debugger.on("Network.loadingFinished", lambda event, sizes=sizes: sizes.append(event["encodedDataLength"]))
            debugger.send("Network.enable")
            begun = time.perf_counter()
            page.goto(viewer.address.replace("/?", f"/run/{run}?"), wait_until="commit")
            page.wait_for_selector("[data-row]")
            taken.append(time.perf_counter() - begun)
            page.wait_for_load_state("networkidle")
            loaded = sum(sizes) / 1000
            context.close()
        browser.close()
    return (
        f"5,000 samples in Chromium with an empty cache: rows are there after {min(taken):.2f} s (goal: 1 s), "
        f"{loaded:.0f} KB in all (goal: 1 MB)."
    )


if __name__ == "__main__":
    print("\n".join(measure(*sys.argv[1:])))
