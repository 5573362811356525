"""The viewer in a real browser: a walk by keyboard, and no violation of the page's policy."""

from __future__ import annotations

import pytest
from tests.browser.conftest import address


def test_a_run_is_looked_through_by_keyboard(viewer, browse):
    run = next(run for run in viewer.store.runs() if run.target == "second")

    async def visit(page):
        await page.until("document.readyState === 'complete'")
        assert await page.run("document.querySelectorAll('[data-row]').length") == 40
        await page.press("f")
        assert await page.run("document.activeElement.name") == "where"
        await page.tab.keyboard.insert_text("unparsed")  # at once: a part of it is no filter
        await page.press("Enter")
        await page.until("document.querySelectorAll('[data-row]').length === 5")
        assert "where=unparsed" in await page.run("location.search")
        await page.run("document.activeElement.blur()")
        await page.press("j")
        await page.press("j")
        await page.press("Enter")
        await page.until("document.title.startsWith('q0013') && document.readyState === 'complete'")
        await page.press("Escape")
        await page.until("document.querySelectorAll('[data-row]').length === 5")
        await page.until("document.readyState === 'complete'")  # scripts run after the rows are there
        await page.press("?")
        assert await page.run("document.getElementById('keys').open")
        return page.complaints

    assert browse(address(viewer, f"/run/{run.id}"), visit) == []


def test_columns_are_picked_by_keyboard_and_stand_in_the_address(viewer, browse):
    run = next(run for run in viewer.store.runs() if run.target == "second")
    headings = "[...document.querySelectorAll('table.data.stack thead th')].map(cell => cell.textContent).join()"

    async def visit(page):
        await page.until("document.readyState === 'complete'")
        before = await page.run(headings)
        await page.press("o")
        await page.run("document.querySelector('[name=columns][value=group]').focus()")
        await page.tab.keyboard.press("Space")
        await page.run("document.querySelector('[name=columns][value=reference]').focus()")
        await page.tab.keyboard.press("Space")
        await page.press("Enter")
        await page.until(f"!{headings}.includes('Expected')")
        await page.until("location.search.includes('columns=group')")
        return before, await page.run(headings), page.complaints

    before, after, complaints = browse(address(viewer, f"/run/{run.id}"), visit)
    before, after = before.split(","), after.split(",")
    assert ("Group" in before, "Expected" in before) == (False, True)
    assert ("Group" in after, "Expected" in after) == (True, False)
    assert complaints == []


@pytest.mark.parametrize(
    "path", ["/", "/run/{0}", "/run/{0}/s/q0001", "/compare?a={0}&b={1}", "/live/{0}", "/history/Exam"]
)
def test_no_page_violates_its_own_policy(viewer, browse, path):
    ids = [run.id for run in sorted(viewer.store.runs(), key=lambda run: run.num)]

    async def visit(page):
        assert await page.until("document.readyState === 'complete' && typeof htmx === 'object' && document.title")
        foreign = [url for url in page.requests if not url.startswith((f"http://{viewer.host}/", "data:"))]
        return page.complaints, foreign

    assert browse(address(viewer, path.format(*ids)), visit) == ([], [])


@pytest.mark.parametrize(("path", "field", "kept"), [("/run/{}", "where", "unparsed"), ("/", "filter", "second")])
def test_enter_in_a_filter_sends_it_at_once_and_once(viewer, browse, path, field, kept):
    run = next(run for run in viewer.store.runs() if run.target == "second")

    async def sent(page):
        before = len(page.requests)
        await page.press("Enter")
        await page.tab.wait_for_timeout(1000)  # what was typed is sent when the typing pauses, if it was not before
        return [f"{field}={kept}" in request for request in page.requests[before:] if "/static/" not in request]

    async def typed_and_again(page):
        await page.tab.fill(f"[name={field}]", kept)
        return await sent(page), await sent(page)

    there = address(viewer, path.format(run.id))
    assert browse(there, typed_and_again) == ([True], [True])
    assert browse(there, typed_and_again, java_script_enabled=False)[0] == [True]


def test_enter_beside_a_label_saves_the_note_and_gives_no_verdict(viewer, browse):
    run = next(run for run in viewer.store.runs() if run.target == "second")

    async def visit(page):
        await page.tab.fill("[name=comment]", "a trap")
        await page.tab.fill("[name=author]", "ann")
        await page.press("Enter")
        await page.until("document.querySelector('dl.kv b')?.textContent === 'a trap'")
        return await page.run("document.querySelectorAll('[name=verdict][aria-pressed=true]').length")

    assert browse(address(viewer, f"/run/{run.id}/s/q0001"), visit) == 0
    assert {(label.name, label.value) for label in viewer.store.run(run.id).labels()} == {("comment", "a trap")}
