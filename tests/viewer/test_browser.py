"""The viewer in a real browser: keys, filters, a run that is followed live, and no violation of the page's policy."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

import pytest
from tests.report.conftest import browse  # noqa: F401  # a fixture
from tests.viewer.conftest import TOKEN, serving

from steelyard.errors import SteelyardError
from steelyard.store import Store

SLOW_RUN = """
import sys, time
from steelyard import Options, Output, Suite, evaluate_suite
from steelyard.scorers.choice import Choice
from steelyard.suite.evaluate import RunConfig
from tests.viewer.conftest import exam

def slow(sample):
    time.sleep(0.05)
    return Output("The answer is A.")

suite = Suite("Live", "choice", exam(240), {"slow": slow}, (Choice(),), Options(concurrency=1))
evaluate_suite(suite, how=RunConfig(store=sys.argv[1]))
"""


def address(viewer, path):
    """The first address of a visit: its token becomes a cookie."""
    return f"http://127.0.0.1:{viewer.port}{path}{'&' if '?' in path else '?'}token={TOKEN}"


async def until(page, script, seconds=20):
    """Wait for an expression to be true, and give its value."""
    for _ in range(seconds * 20):
        if found := await page.run(script):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"never true: {script}")


async def press(page, key):
    """Press and release a key as a person does."""
    text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
    code = {"Enter": 13, "Escape": 27}.get(key) or ord(key.upper())
    await page.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
    await page.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)


def test_a_run_is_looked_through_by_keyboard(viewer, browse):  # noqa: F811  # a fixture
    run = next(run for run in viewer.store.runs() if run.target == "second")

    async def visit(page):
        await until(page, "document.readyState === 'complete'")
        assert await page.run("document.querySelectorAll('[data-row]').length") == 40
        await press(page, "f")
        assert await page.run("document.activeElement.name") == "where"
        await page.send("Input.insertText", text="unparsed")
        await press(page, "Enter")
        await until(page, "document.querySelectorAll('[data-row]').length === 5")
        assert "where=unparsed" in await page.run("location.search")
        await page.run("document.activeElement.blur()")
        await press(page, "j")
        await press(page, "j")
        await press(page, "Enter")
        await until(page, "document.title.startsWith('q0013') && document.readyState === 'complete'")
        await press(page, "Escape")
        await until(page, "document.querySelectorAll('[data-row]').length === 5")
        await until(page, "document.readyState === 'complete'")  # scripts run after the rows are there
        await press(page, "?")
        assert await page.run("document.getElementById('keys').open")
        return page.complaints

    assert browse(address(viewer, f"/run/{run.id}"), visit) == []


@pytest.mark.parametrize(
    "path", ["/", "/run/{0}", "/run/{0}/s/q0001", "/compare?a={0}&b={1}", "/live/{0}", "/history/Exam"]
)
def test_no_page_violates_its_own_policy(viewer, browse, path):  # noqa: F811  # a fixture
    ids = [run.id for run in sorted(viewer.store.runs(), key=lambda run: run.num)]

    async def visit(page):
        assert await until(page, "document.readyState === 'complete' && typeof htmx === 'object' && document.title")
        foreign = [url for url in page.requests if not url.startswith((f"http://127.0.0.1:{viewer.port}/", "data:"))]
        return page.complaints, foreign

    assert browse(address(viewer, path.format(*ids)), visit) == ([], [])


def test_a_run_of_another_process_is_followed_until_it_ends(tmp_path, browse):  # noqa: F811  # a fixture
    where = tmp_path / "live.db"
    script = tmp_path / "slow.py"
    script.write_text(SLOW_RUN, encoding="utf-8")
    root = str(pytest.importorskip("tests").__path__[0]).rsplit("/", 1)[0]
    running = subprocess.Popen([sys.executable, str(script), str(where)], cwd=root, env=_environment(root))
    try:
        with serving_when_there(where, running) as served:
            run = served.store.runs()[0]

            async def visit(page):
                await until(page, "document.querySelector('.badge.running') !== null", 30)
                done = "parseInt(document.querySelector('progress').value)"
                first = await page.run(done)
                await until(page, f"{done} > {first}", 30)
                await until(page, "document.querySelector('.badge.finished') !== null", 60)
                return page.complaints, await page.run(done)

            assert browse(address(served, f"/live/{run.id}"), visit) == ([], 100)
    finally:
        running.wait(timeout=120)


def _environment(root):
    return {**os.environ, "PYTHONPATH": os.pathsep.join([f"{root}/src", root])}


def serving_when_there(where, running):
    """A viewer of a store that another process is about to make, once it holds a run."""
    while running.poll() is None:
        try:
            with Store(where) as store:
                if store.runs():
                    break
        except SteelyardError:
            pass
        time.sleep(0.1)
    return serving(where)
