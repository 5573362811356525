"""Labelling in Chromium by two people, in two tabs, and of a run that goes away: nothing that was said is lost."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from tests.browser.chromium import Page
from tests.browser.conftest import address
from tests.store.conftest import on_server, schema, server, where  # noqa: F401  # fixtures
from tests.store.outside import execute
from tests.viewer.conftest import exam, first, serving
from tests.viewer.test_queues import queue_in

from steelyard import Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.people.queues import RESERVED_S, read_progress
from steelyard.scorers.choice import Choice
from steelyard.store.delete import delete_runs

READY = "document.readyState === 'complete' && typeof htmx === 'object'"
SAYS = "(document.body?.innerText ?? '').includes"


@pytest.fixture
def viewer(where):  # noqa: F811
    evaluate_suite(Suite("Exam", "choice", exam(2), {"first": first}, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        yield served


@asynccontextmanager
async def another_browser(page):
    """A browser that shares no cookie with this one."""
    context = await page.tab.context.browser.new_context()
    try:
        yield await tab_in(context)
    finally:
        await context.close()


async def tab_in(context):
    tab = await context.new_page()
    return Page(tab, await context.new_cdp_session(tab))


async def begin(page, rater):
    """Give the name on the page of a queue; the address of the record that is given."""
    await page.until(READY)
    await page.run("document.querySelector('input[name=name]').select()")
    await page.tab.keyboard.type(rater)
    await page.run("window.before = true")
    await page.press("Control+Enter")
    await page.until(f"{READY} && !window.before && !!document.body")
    return await page.run("location.pathname")


async def label(page, key):
    await page.press(key)
    await page.until(f"{READY} && {SAYS}('is stored')")


def verdicts(viewer, queue):
    """Sample -> rater -> what they said."""
    return {key[1]: dict(said) for key, said in read_progress(viewer.store, queue)[1].items()}


def test_two_raters_never_have_one_record_at_once_until_a_reservation_lapses(viewer, browse):
    queue = queue_in(viewer.store, overlap=0.0)
    overview = address(viewer, f"/queue/{queue.id}")

    async def visit(ann):
        async with another_browser(ann) as bob, another_browser(ann) as eve:
            await bob.open(overview)
            await eve.open(overview)
            of_ann, of_bob = await begin(ann, "ann"), await begin(bob, "bob")
            of_eve = await begin(eve, "eve")  # both records are on a screen
            execute(viewer.store.path, f"UPDATE reservation SET until = until - {RESERVED_S + 1} WHERE rater = 'ann'")
            of_eve_later = await begin(eve, "eve")
            await label(eve, "1")
            await label(ann, "2")  # she was away, and what she says is kept all the same
            await label(bob, "1")
            return (of_ann, of_bob, of_eve, of_eve_later), [*ann.complaints, *bob.complaints, *eve.complaints]

    (of_ann, of_bob, of_eve, of_eve_later), complaints = browse(overview, visit)
    assert complaints == []
    assert of_ann != of_bob
    assert of_eve == f"/queue/{queue.id}"
    assert of_eve_later == of_ann
    progress, said = read_progress(viewer.store, queue)
    assert progress.reserved == 0
    assert sorted(sorted(raters.items()) for raters in said.values()) == [
        [("ann", "fail"), ("eve", "pass")],
        [("bob", "pass")],
    ]


def test_two_tabs_of_one_rater_show_one_record_and_keep_the_last_verdict(viewer, browse):
    queue = queue_in(viewer.store, overlap=0.0)

    async def visit(page):
        place = await begin(page, "ann")
        other = await tab_in(page.tab.context)
        await other.open(page.tab.url.partition("/i/")[0])
        assert await begin(other, "ann") == place
        await label(page, "1")
        await label(other, "2")
        # The first tab goes on from what it shows, and learns of the second when it comes back.
        await page.press("Control+Enter")
        await page.until(f"{READY} && {SAYS}('Choose a verdict')")
        await page.tab.go_back()
        await page.tab.reload()
        await page.until(f"{READY} && {SAYS}('Your verdict “fail” is stored')")
        return [*page.complaints, *other.complaints]

    assert browse(address(viewer, f"/queue/{queue.id}"), visit) == []
    [raters] = [raters for raters in read_progress(viewer.store, queue)[1].values() if raters]
    assert raters == {"ann": "fail"}


def test_a_run_that_is_deleted_while_it_is_labelled_says_so_and_shows_the_comment(viewer, browse):
    queue = queue_in(viewer.store, overlap=0.0)

    async def visit(page):
        await begin(page, "ann")
        await page.press("c")
        await page.tab.keyboard.type("a long thought")
        delete_runs(viewer.store, viewer.store.runs())
        await page.press("Control+Enter")
        await page.until(f"{READY} && {SAYS}('its run may have been deleted')")
        said = await page.run("document.querySelector('main').innerText")
        await page.tab.goto(page.tab.url.partition("/queue")[0] + f"/queue/{queue.id}")
        await page.until(f"{READY} && {SAYS}('0 of 0 records done')")
        return said

    assert "a long thought" in browse(address(viewer, f"/queue/{queue.id}"), visit)
