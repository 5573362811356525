"""A run in another process is followed to its end, also where the viewer is killed and started again meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from tests.browser.conftest import address, exam_runs
from tests.browser.processes import STARTED, ViewerProcess, free_port, gated_run, viewer_process
from tests.viewer.conftest import serving

from steelyard.store.delete import delete_runs

DONE = "document.querySelector('progress').value"
CONNECTION = "(document.querySelector('#connection:not([hidden])')?.textContent ?? '')"
REFUSED = (
    "401", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "htmx:sse:error",
    "Failed to fetch",
)  # fmt: skip
"""What the browser itself says of a server that is gone or does not know the page any more."""


def beside(address, path):
    """Another page of the viewer at an address with a token."""
    return address.replace("/?", f"{path}?")


@pytest.fixture
def store(tmp_path):
    return tmp_path / "live.db"


async def finished(page, run):
    """Let the run end, and wait until the page says so."""
    run.allow(40)
    await page.until(f"{DONE} > 50", 30)
    run.allow(60)
    await page.until("document.querySelector('.badge.finished') !== null", 30)
    return await page.run(DONE)


def test_a_run_of_another_process_is_followed_until_it_ends(store, browse):
    with gated_run(store) as run, viewer_process(store, "--port", "0") as viewer:

        async def visit(page):
            await page.until(f"document.querySelector('.badge.running') !== null && {DONE} > 25", 30)
            loads = sum(url.endswith("/events") for url in page.requests)
            return await finished(page, run), loads, page.complaints

        assert browse(beside(viewer.address, f"/live/{run.id}"), visit) == (100, 1, [])


def test_an_open_page_goes_on_where_the_viewer_starts_again_with_its_token(store, tmp_path, browse):
    options = ("--port", str(free_port()), "--token-file", str(tmp_path / "token"))
    with gated_run(store) as run, viewer_process(store, *options) as killed:

        async def visit(page):
            await page.until(f"{DONE} > 25", 30)
            killed.kill()
            said = await page.until(CONNECTION, 30)
            shown = await page.run("document.querySelectorAll('.badge.running').length")
            again = await asyncio.to_thread(ViewerProcess, store, *options)
            try:
                await page.until(f"!{CONNECTION}", 60)
                return said, shown, again.address, await finished(page, run), page.complaints
            finally:
                again.kill()

        said, shown, again, done, complaints = browse(beside(killed.address, f"/live/{run.id}"), visit)
    assert said == "The viewer does not answer. The page shows an earlier state."
    assert (shown, again, done) == (1, killed.address, 100)
    assert [text for text in complaints if not any(expected in text for expected in REFUSED)] == []


def test_a_page_whose_first_connection_fails_connects_again(store, browse):
    with gated_run(store) as run, viewer_process(store, "--port", "0") as viewer:

        async def visit(page):
            cut = []

            async def cut_first(route):
                cut.append(route)
                await (route.abort() if len(cut) == 1 else route.continue_())

            async def late(route):
                await asyncio.sleep(0.5)
                await route.continue_()

            await page.tab.route("**/events", cut_first)
            await page.tab.route("**/viewer.js", late)
            await page.tab.reload()
            said = await page.until(CONNECTION)
            await page.until(f"!{CONNECTION}")
            return said, await finished(page, run), len(cut)

        said, done, connections = browse(beside(viewer.address, f"/live/{run.id}"), visit)
    assert said == "The viewer does not answer. The page shows an earlier state."
    assert (done, connections) == (100, 2)


def test_an_open_page_says_so_where_the_viewer_starts_again_with_another_token(store, browse):
    options = ("--port", str(free_port()))
    with gated_run(store) as run, viewer_process(store, *options) as killed:

        async def live(page):
            await page.until(f"{DONE} > 25", 30)
            killed.kill()
            again = await asyncio.to_thread(ViewerProcess, store, *options)
            try:
                return await page.until(f"{CONNECTION}.includes('again') && {CONNECTION}", 60)
            finally:
                again.kill()
                run.allow(60)

        said = browse(beside(killed.address, f"/live/{run.id}"), live)
    assert said == "The viewer was started again. Open the address that it printed."


def test_a_filter_and_a_link_of_a_page_from_before_say_what_to_do(store, browse):
    options = ("--port", str(free_port()))
    with gated_run(store) as run:
        run.allow(60)
        with viewer_process(store, *options) as killed:

            async def visit(page):
                killed.kill()
                await page.tab.fill("[name=where]", "wrong")
                stopped = await page.until(CONNECTION)
                again = await asyncio.to_thread(ViewerProcess, store, *options)
                try:
                    await page.tab.fill("[name=where]", "right")
                    await page.until(f"{CONNECTION}.includes('again')")
                    rows = await page.run("document.querySelectorAll('[data-row]').length")
                    await page.tab.click("a.brand")
                    await page.until("document.title === 'Steelyard: no token'")
                    return stopped, rows, await page.run("document.body.textContent")
                finally:
                    again.kill()

            stopped, rows, refused = browse(beside(killed.address, f"/run/{run.id}"), visit)
    assert "does not answer" in stopped
    assert rows > STARTED
    assert "Open the address that steelyard view printed" in refused


def test_an_open_page_says_so_while_the_store_cannot_be_read(store, browse):
    with gated_run(store) as run, viewer_process(store, "--port", "0") as viewer:
        away = store.with_name("away.db")

        async def visit(page):
            await page.until(f"{DONE} > 25", 30)
            with run.stopped():  # it would end where its store is taken away
                store.rename(away)
                try:
                    said = await page.until(CONNECTION, 30)
                    shown = await page.run("document.querySelectorAll('.badge.running').length")
                finally:
                    away.rename(store)
            await page.until(f"!{CONNECTION}", 30)
            return said, shown, await finished(page, run), page.complaints

        said, shown, done, complaints = browse(beside(viewer.address, f"/live/{run.id}"), visit)
    assert said.startswith("The store cannot be read: ")
    assert (shown, done, complaints) == (1, 100, [])


def test_a_list_of_a_run_that_was_deleted_says_so_in_its_place(tmp_path, browse):
    (run,) = exam_runs(tmp_path)[:1]
    shape = "[document.querySelectorAll('main, .brand, #samples, #keys, #connection').length, document.title]"
    with serving(tmp_path / "exam.db") as viewer:

        async def visit(page):
            before = await page.run(shape)
            await asyncio.to_thread(delete_runs, viewer.store, [viewer.store.run(run.id)])
            await page.tab.fill("[name=where]", "wrong")
            said = await page.until("document.querySelector('#samples > [role=alert]')?.textContent")
            return before, await page.run(shape), said

        before, after, said = browse(address(viewer, f"/run/{run.id}"), visit)
    assert after == before
    assert f"there is no run with the id '{run.id}': it may have been deleted" in said
