"""The list of runs and the page of a run in a real browser: ticks and marks, completion, repeats, and a saved file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.browser.conftest import address
from tests.store.test_store import new
from tests.viewer.conftest import exam, first, second, serving

from steelyard import Options, Store, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers.choice import Choice

TICK = "document.querySelectorAll('input[name=run]')[{}].click()"
LATER = "htmx.ajax('GET', '/', {target: '#runs', swap: 'innerMorph', select: '#runs'})"

BUTTON = "[...document.querySelectorAll('button')].find(button => button.textContent === '{}')"
ONE_LEFT = "document.querySelectorAll('input[name=run]').length === 1"


@pytest.fixture
def repeated(tmp_path):
    """A viewer of two runs with three repeats of each sample."""
    where = tmp_path / "s.db"
    options = Options(repeats=3, max_errors=0.5)
    targets = {"first": first, "second": second}
    evaluate_suite(Suite("Exam", "choice", exam(40), targets, (Choice(),), options), how=RunConfig(store=where))
    with serving(where) as served:
        yield served


def test_runs_are_pinned_and_archived_from_the_list(repeated, browse):
    async def visit(page):
        await page.until("document.querySelectorAll('input[name=run]').length === 2")
        await page.run(TICK.format(1))
        await page.run(f"{BUTTON.format('Pin as baseline')}.click()")
        await page.until("document.querySelector('#runs [data-row] td .tag')?.textContent === 'baseline'")
        await page.until("document.querySelector('#runs [data-row] td .v')?.textContent.match(/[+−]/)")
        await page.run(TICK.format(0))
        await page.run(f"{BUTTON.format('Archive')}.click()")
        await page.until("document.querySelectorAll('input[name=run]').length === 1")
        return page.complaints

    assert browse(address(repeated, "/"), visit) == []


def test_a_ticked_run_that_cannot_be_a_baseline_is_not_offered_to_be_pinned(repeated, browse):
    """A run of which one record is left to do stands above the two that are finished."""
    first_run = repeated.store.runs()[0]
    with Store(repeated.store.path) as other:
        writer = other.begin_evaluation([replace(new(), suite=first_run.suite, kind=first_run.kind)])[1][0]
        offered = f"[{BUTTON.format('Pin as baseline')}.hidden, document.getElementById('no-baseline').textContent]"

        async def visit(page):
            await page.until("document.querySelectorAll('input[name=run]').length === 3")
            seen = []
            for at in (1, 0, 0):
                await page.run(TICK.format(at))
                seen.append(await page.run(offered))
            return seen, page.complaints

        seen, complaints = browse(address(repeated, "/"), visit)
        reason = f"run {writer.run.id} is running: a baseline is a finished run"
        writer.abandon()
    assert (seen, complaints) == ([[False, ""], [True, reason], [False, ""]], [])


def test_what_is_ticked_stays_ticked_when_figures_come_later(repeated, browse):
    async def visit(page):
        await page.until("typeof htmx === 'object' && document.querySelectorAll('input[name=run]').length === 2")
        await page.run(TICK.format(0))
        await page.run(f"{LATER}.then(() => {{ window.later = true; }})")
        await page.until("window.later")
        return await page.run("[...document.querySelectorAll('input[name=run]')].map(box => box.checked)")

    assert browse(address(repeated, "/"), visit) == [True, False]


def test_samples_begin_in_the_first_screen_with_repeats_in_one_row(repeated, browse):
    run = repeated.store.runs()[0]

    async def visit(page):
        await page.until("document.querySelector('[data-row]') !== null")
        top = await page.run("document.querySelector('[data-row]').getBoundingClientRect().bottom")
        ids = await page.run("[...document.querySelectorAll('[data-row] th')].map(cell => cell.textContent.trim())")
        return top, ids, await page.run("document.querySelector('[data-row] td b').textContent.trim()")

    top, ids, times = browse(address(repeated, f"/run/{run.id}"), visit)
    assert top < 800
    assert len(ids) == len(set(ids)) == 17, "50 records, and the last repeat of the last sample"
    assert times == "3 ×"


def test_a_filter_is_completed_part_by_part(repeated, browse):
    run = repeated.store.runs()[0]

    async def visit(page):
        await page.until("document.readyState === 'complete'")
        offered = "[...document.querySelectorAll('#words option')].map(option => option.value)"
        before = await page.run(offered)
        await page.press("f")
        await page.tab.keyboard.type("wrong and g")
        during = await page.run(offered)
        await page.tab.keyboard.press("Control+A")
        await page.tab.keyboard.type("w")
        return before, during, await page.run(offered)

    before, during, after = browse(address(repeated, f"/run/{run.id}"), visit)
    assert 'group = "g1"' in before
    assert during == [f"wrong and {word}" for word in before]
    assert after == before


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ('"a and b" < 1 and w', '"a and b" < 1 and '),
        ('wrong and "a and b', "wrong and "),
        ('"a and b', ""),
        ('group = "sums and signs" and w', 'group = "sums and signs" and '),
        ("group = 'sums and signs' and w", "group = 'sums and signs' and "),
        ('wrong and group = "sums and s', "wrong and "),
        ("wrong and group = 'sums and s", "wrong and "),
        ('group = "sums and signs"', ""),
        ('group = says "no" and w', 'group = says "no" and '),
    ],
)
def test_an_and_within_quotation_marks_ends_no_part_of_a_filter(repeated, browse, typed, kept):
    run = repeated.store.runs()[0]

    async def visit(page):
        await page.until("document.readyState === 'complete'")
        offered = "[...document.querySelectorAll('#words option')].map(option => option.value)"
        before = await page.run(offered)
        await page.press("f")
        await page.tab.keyboard.type(typed)
        return before, await page.run(offered)

    before, during = browse(address(repeated, f"/run/{run.id}"), visit)
    assert during == [f"{kept}{word}" for word in before]


def test_a_saved_page_opens_from_disk_and_asks_for_nothing(repeated, in_browser):
    ids = [run.id for run in repeated.store.runs()]
    for query in (f"run={ids[0]}", f"run={ids[1]}&run={ids[0]}"):
        text = repeated.ask(f"/save?{query}")[2]

        async def visit(page):
            await page.until("document.querySelectorAll('#browser tbody tr').length > 0")
            return page.complaints, [url for url in page.requests if not url.startswith(("file:", "data:", "about:"))]

        assert in_browser(text, visit) == ([], [])


def test_marks_and_deletion_are_clicked_through_without_a_violation(repeated, browse):
    run = next(run for run in repeated.store.runs() if run.target == "second")
    path = f"/run/{run.id}"

    async def visit(page):
        for press, then in (
            ("Pin as baseline of the suite", "Unpin the baseline"),
            ("Unpin the baseline", "Pin as baseline of the suite"),
            ("Archive", "Bring back from the archive"),
            ("Bring back from the archive", "Archive"),
        ):
            await page.until(f"document.readyState === 'complete' && !!({BUTTON.format(press)})")
            await page.run("document.querySelector('details.marks').open = true")
            await page.run(f"{BUTTON.format(press)}.click()")
            await page.until(f"!!({BUTTON.format(then)})")
        for press, tags in (("Add the tag", 1), ("Remove the tag", 0)):
            await page.until(f"document.readyState === 'complete' && !!({BUTTON.format(press)})")
            await page.run("document.querySelector('details.marks').open = true")
            await page.run("document.querySelector('input[name=tag]').value = 'v2/zh'")
            await page.run(f"{BUTTON.format(press)}.click()")
            await page.until(f"document.querySelectorAll('.head > a.tag').length === {tags}")
        await page.until("document.readyState === 'complete' && !!document.querySelector('a[href$=\"/delete\"]')")
        await page.run("document.querySelector('a[href$=\"/delete\"]').click()")
        for name, then in (("first", "!!document.querySelector('.warning')"), ("second", ONE_LEFT)):
            await page.until("!!document.querySelector('input[name=name]')")
            await page.run(f"document.querySelector('input[name=name]').value = '{name}'")
            await page.run(f"{BUTTON.format('Delete the run')}.click()")
            await page.until(then)
        return page.complaints

    refused = [text for text in browse(address(repeated, path), visit) if "422" not in text]
    assert refused == []
    assert [run.target for run in repeated.store.runs()] == ["first"]


def test_many_columns_scroll_in_their_own_box(repeated, browse):
    run = repeated.store.runs()[0]
    chosen = "&".join(
        f"columns={key}" for key in ("group", "input", "reference", "output", "seconds", "score.solve_rate")
    )

    async def visit(page):
        await page.tab.set_viewport_size({"width": 900, "height": 700})
        await page.until("document.querySelectorAll('table.data.stack thead th').length === 7")
        return await page.run(
            "[document.querySelector('.scroll > table.data.stack') !== null,"
            " document.documentElement.scrollWidth <= innerWidth]"
        )

    assert browse(address(repeated, f"/run/{run.id}?{chosen}"), visit) == [True, True]


@pytest.mark.parametrize("path", ["/", "/run/{0}", "/run/{0}/s/q0001", "/compare?a={0}&b={1}", "/live/{0}"])
def test_a_printed_page_has_what_it_says_and_nothing_to_press(repeated, browse, path):
    ids = [run.id for run in sorted(repeated.store.runs(), key=lambda run: run.num)]
    seen = """[...document.querySelectorAll(
      'input:not([type=hidden]), button, select, textarea, a[download], h1, tbody th')]
      .filter(each => each.checkVisibility()).map(each => each.localName)"""

    async def visit(page):
        on_screen = await page.run(seen)
        await page.tab.emulate_media(media="print", color_scheme="dark")
        colours = await page.run(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
        return on_screen, await page.run(seen), colours

    on_screen, printed, colours = browse(address(repeated, path.format(*ids)), visit)
    texts = ("h1", "th")
    assert {*printed} == {*texts}
    assert len(printed) >= sum(name in texts for name in on_screen), "also what is folded on the screen"
    assert len(on_screen) > len(printed)
    assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
