"""A headless Chromium that all tests of pages share, driven by Playwright.

Chromium is the system's, by its path: Playwright downloads nothing. It lives on an event loop in a thread of its own,
so that a test may run an evaluation, which has a loop too, before and while it looks at a page.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_OPENED = """
new Promise(done => {
  const wait = () => document.getElementById('browser')?.hidden ? setTimeout(wait, 20) : done();
  wait();
})
"""
_VISIT_S = 240
"""Of one visit; the longest looks at some 250 pages."""


class Page:
    """One tab, and what went on in it.

    Attributes:
        tab: Playwright's page.
        requests: addresses that were asked for.
        complaints: exceptions, whatever the browser refused or warned of, and dialogs.
    """

    def __init__(self, tab, debugger):
        self.tab = tab
        self._debugger = debugger
        self.requests = []
        self.complaints = []
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("console", self._said)
        tab.on("dialog", self._asked)

    def _said(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    async def _asked(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    async def open(self, url):
        await self.tab.goto(url)
        # A page of many samples inflates them after it is loaded.
        await self.run(_OPENED)

    async def run(self, script):
        """The value of an expression; a promise is waited for.

        Asked of the debugger: Playwright's own `evaluate` is an `eval`, which a strict policy refuses.
        """
        result = await self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, script, seconds=20):
        """Wait for an expression to be true, and give its value; the page may be replaced meanwhile."""
        for _ in range(seconds * 20):
            try:
                if found := await self.run(script):
                    return found
            except Exception as error:  # of a page that is just left
                if "context" not in str(error) and "navigat" not in str(error):
                    raise
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {script}; {self.requests[-3:]} {self.complaints}")

    async def press(self, *keys):
        """Press keys as a person does."""
        for key in keys:
            await self.tab.keyboard.press(key)

    async def send(self, method, **parameters):
        """A command of the debugger's protocol."""
        return await self._debugger.send(method, parameters)


class Browser:
    """The shared browser: each visit has cookies of its own."""

    def __init__(self, chromium, loop):
        self._chromium = chromium
        self._loop = loop

    def visit(self, url, visit, **options):
        """Open an address in a new tab, run `visit(page)`, and give what it returns.

        Args:
            url: the address.
            visit: a coroutine function.
            options: of the context: `viewport`, `color_scheme` and so on.
        """

        async def whole():
            async with self._tab(options) as page:
                await page.open(url)
                return await visit(page)

        return asyncio.run_coroutine_threadsafe(whole(), self._loop).result(_VISIT_S)

    @asynccontextmanager
    async def _tab(self, options):
        context = await self._chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        try:
            tab = await context.new_page()
            yield Page(tab, await context.new_cdp_session(tab))
        finally:
            await context.close()


@contextmanager
def _loop_in_a_thread():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def missing(what):
    """Skip the test, or fail it where a browser is required."""
    if os.environ.get("STEELYARD_TEST_BROWSER") == "required":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def chromium():
    """The browser of all tests of this process."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing("there is no Chromium here: `sh tools/browser.sh` installs it")
    from playwright.async_api import async_playwright

    with _loop_in_a_thread() as loop:

        def on_loop(coroutine):
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

        playwright = on_loop(async_playwright().start())
        browser = on_loop(playwright.chromium.launch(executable_path=program, args=_FLAGS))
        yield Browser(browser, loop)
        on_loop(browser.close())
        on_loop(playwright.stop())


@pytest.fixture
def browse(chromium):
    """Open an address in Chromium, run `visit(page)` there, and give what it returns."""
    return chromium.visit


@pytest.fixture
def in_browser(tmp_path, browse):
    """Open a page from a file in Chromium, run `visit(page)` there, and give what it returns."""

    def look(html: str, visit, *, address: str = "", **options):
        file = Path(tmp_path / "page.html")
        file.write_bytes(html.encode("utf-8"))
        return browse(file.as_uri() + address, visit, **options)

    return look
