"""Runs to make pages of, and a browser to look at them with."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import aiohttp
import pytest

from steelyard import Options, Output, Sample, Suite, evaluate_suite
from steelyard.scorers.choice import Choice
from steelyard.suite.evaluate import RunConfig

HOSTILE = (
    "</script><script>document.title='pwned'</script> The answer is A.",
    "<img src=x onerror=\"document.title='pwned'\"> The answer is B.",
    "[click](javascript:document.title='pwned') The answer is C.",
    "\u202egnp.exe\u2066 The answer is D.\u200b",
    "\x1b]8;;http://evil.example\x07\x1b[31m The answer is A.",
    "nul \x00 byte. The answer is B.",
    "\ud800 alone 😀 The answer is C.",
    '=HYPERLINK("http://evil.example") | `x` @team The answer is D.',
)
"""Replies that try to act on whoever shows them; each can be read all the same."""

GROUPS = ("卦象", "爻辞 <b>", "易传 | 十翼")


def exam(n):
    """n questions with four options in three groups; the key goes A A B B C C D D A ..."""
    return [
        Sample(
            f"q{no:04d}",
            f"第{no}题：下列哪一项正确？<i>{no}</i>",
            "ABCD"[no // 2 % 4],
            choices=tuple(f"选项{letter}{no}" for letter in "甲乙丙丁"),
            group=GROUPS[no % 3],
        )
        for no in range(n)
    ]


def hostile(sample):
    """Every reply is hostile; every 11th sample fails, every 13th is refused, every 17th cannot be read."""
    no = int(sample.id[1:])
    if no % 11 == 10:
        raise RuntimeError("<script>document.title='pwned'</script>\x1b[2J")
    if no % 13 == 12:
        return "I'm sorry, but I can't help with that."
    if no % 17 == 16:
        return "Hm."
    return Output(HOSTILE[no % len(HOSTILE)], contexts=("</script><b>passage</b>",), metadata={"<k>": "\u202e"})


def better(sample):
    """As `hostile`, but right in the first half."""
    return f"答案：{sample.reference}" if int(sample.id[1:]) < 30 else hostile(sample)


CHOICE = (Choice(),)


@pytest.fixture
def make_runs(tmp_path):
    """Runs of the named targets over n samples, stored in a file of this test."""

    def make(targets, n=60, *, name="Exam <&> \u202e", scorers=CHOICE, store="store.db", **options):
        suite = Suite(name, "choice", exam(n), targets, scorers, Options(max_errors=0.5, **options))
        return evaluate_suite(suite, how=RunConfig(store=tmp_path / store))

    return make


@pytest.fixture
def pair(make_runs):
    return make_runs({"base <script>": hostile, "better 知识库": better})


_OPENED = """
new Promise(done => {
  const wait = () => document.getElementById('browser')?.hidden ? setTimeout(wait, 20) : done();
  wait();
})
"""


class Page:
    """One tab of a headless Chromium, driven over its debugging socket."""

    def __init__(self, socket):
        self._socket = socket
        self._numbers = count(1)
        self.events = []

    async def send(self, method, **parameters):
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async for message in self._socket:
            answer = json.loads(message.data)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)
        raise AssertionError("the browser went away")

    async def open(self, url):
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.send(f"{domain}.enable")
        await self.send("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(json.loads((await self._socket.receive()).data))
        # A page of many samples inflates them after it is loaded.
        await self.run(_OPENED)

    async def run(self, script):
        """The value of an expression; a promise is waited for."""
        result = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    @property
    def requests(self):
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self):
        """Exceptions, and whatever the browser refused or warned of."""
        return [
            event["params"] for event in self.events if event["method"] in {"Runtime.exceptionThrown", "Log.entryAdded"}
        ]


_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)  # fmt: skip


@asynccontextmanager
async def _chromium(program, profile):
    process = await asyncio.create_subprocess_exec(
        program, *_FLAGS, f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        while b"DevTools listening on" not in (line := await asyncio.wait_for(process.stderr.readline(), 60)):
            assert line, "the browser did not start"
        drained = asyncio.create_task(process.stderr.read())
        yield line.decode().split("/")[2]
        process.terminate()
        await drained
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.fixture
def browse(tmp_path):
    """Open an address in Chromium, run `visit(page)` there, and give what it returns."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        missing = "there is no Chromium here: `sh tools/browser.sh` installs it"
        if os.environ.get("STEELYARD_TEST_BROWSER") == "required":
            pytest.fail(missing)
        pytest.skip(missing)

    async def drive(url, visit):
        async with _chromium(program, tmp_path / "profile") as address, aiohttp.ClientSession() as session:
            async with session.get(f"http://{address}/json/list") as response:
                tab = next(target for target in await response.json() if target["type"] == "page")
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                await page.open(url)
                return await visit(page)

    return lambda url, visit: asyncio.run(drive(url, visit))


@pytest.fixture
def in_browser(tmp_path, browse):
    """Open a page from a file in Chromium, run `visit(page)` there, and give what it returns."""

    def look(html: str, visit, *, address: str = ""):
        file = Path(tmp_path / "page.html")
        file.write_bytes(html.encode("utf-8"))
        return browse(file.as_uri() + address, visit)

    return look
