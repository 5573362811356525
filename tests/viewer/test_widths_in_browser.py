"""Tables fit the width that a page gives them, and ordinary words stay whole."""

from __future__ import annotations

import pytest
from tests.browser.conftest import address
from tests.viewer.conftest import serving

from steelyard import Judge, Output, Sample, Score, Scripted, Suite, evaluate, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers import Preference
from steelyard.scorers.choice import Choice
from steelyard.targets.replay import Pair

LINES = """(selector) => [...document.querySelectorAll(selector)].flatMap(cell => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), lines = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (const {0: word, index} of text.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (range.getClientRects().length > 1) lines.push(word);
    }
  return lines;
})"""
"""The words of some cells that are broken between two lines."""


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A viewer of two runs with groups and targets of ordinary names; some replies cannot be read."""
    where = tmp_path_factory.mktemp("named") / "s.db"
    groups = ("Upper canon", "Lower canon", "Commentary")
    samples = [
        Sample(f"q{no:03d}", f"Question {no}?", "ABCD"[no % 4], choices=("a", "b", "c", "d"), group=groups[no % 3])
        for no in range(60)
    ]

    def answers(every, unread):
        def answer(sample):
            no = int(sample.id[1:])
            return Output("Hm." if no in unread else f"The answer is {'ABCD'[(no + (no % every == 0)) % 4]}.")

        return answer

    targets = {"retrieval-large": answers(5, {3, 6}), "small model with a long name v2": answers(7, {9, 12})}
    evaluate_suite(Suite("Exam", "choice", samples, targets, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        yield served


def test_a_table_beside_a_chart_is_not_cut(named, browse):
    run = named.store.runs()[0]

    async def visit(page):
        return await page.run(
            "[...document.querySelectorAll('.halves .scroll')].map(box => [box.clientWidth, box.scrollWidth])"
        )

    widths = browse(address(named, f"/run/{run.id}"), visit, viewport={"width": 1280, "height": 800})
    assert widths
    assert [box for box in widths if box[1] > box[0]] == []


def test_the_name_of_a_group_is_not_broken(named, browse):
    run = named.store.runs()[0]

    async def visit(page):
        names = await page.run("document.querySelectorAll('table.stack td:nth-child(2)').length")
        return names > 0, await page.run(f"({LINES})('table.stack td:nth-child(2)')")

    path = f"/run/{run.id}?columns=group&columns=output"
    assert browse(address(named, path), visit, viewport={"width": 1280, "height": 800}) == (True, [])


def test_targets_in_the_table_of_outcomes_are_not_broken_on_a_phone(named, browse):
    first, second = sorted(named.store.runs(), key=lambda run: run.num)

    async def visit(page):
        rates = "document.querySelector('[aria-label=\"Rates of the runs\"]')"
        cut = await page.run(f"{rates}.scrollWidth - {rates}.clientWidth")
        return await page.run(f"({LINES})('table.outcomes th, table.outcomes td')"), cut

    broken, cut = browse(
        address(named, f"/compare?a={first.id}&b={second.id}"), visit, viewport={"width": 390, "height": 844}
    )
    assert (broken, cut) == ([], 0)


def test_remarks_on_a_phone_are_lines_and_no_column_of_words(named, browse):
    async def visit(page):
        return await page.run("[...document.querySelectorAll('tr.n2 > td')].map(cell => cell.offsetWidth)")

    widths = browse(address(named, "/history/Exam"), visit, viewport={"width": 390, "height": 844})
    assert widths
    assert min(widths) >= 200


def test_on_a_phone_the_label_panel_follows_the_output_and_a_button_at_the_top_leads_to_it(named, browse):
    run = named.store.runs()[0]
    record = next(iter(run.records()))

    async def visit(page):
        places = "selectors => selectors.map(each => document.querySelector(each).getBoundingClientRect().top)"
        tops = await page.tab.evaluate(places, ["section.out", "#your-label", "section[aria-labelledby^=scores]"])
        await page.tab.click("a.jump")
        shown = await page.tab.evaluate("document.querySelector('#your-label').getBoundingClientRect().top")
        return tops, shown

    where = address(named, f"/run/{run.id}/s/{record.sample.id}")
    tops, shown = browse(where, visit, viewport={"width": 390, "height": 500})
    assert tops == sorted(tops)
    assert tops[1] > 500, "below the fold"
    assert 0 <= shown < 500


def test_words_of_the_label_buttons_of_a_pair_are_not_broken(tmp_path, browse):
    targets = {"sentences": lambda _: "short", "paragraphs": lambda _: "long", "both": Pair("sentences", "paragraphs")}
    scorers = {"both": (Preference(Judge(Scripted(default="[[A]]"))),)}
    suite = Suite("s", "pairwise", [Sample("q0", "Which?")], targets, (), scorers_of=scorers)
    judging = evaluate_suite(suite, store=tmp_path / "s.db")[-1]

    async def visit(page):
        buttons = await page.run("document.querySelectorAll('.two .btn').length")
        return await page.run(f"({LINES})('.two .btn')"), buttons

    with serving(tmp_path / "s.db") as viewer:
        where = address(viewer, f"/run/{judging.id}/s/q0")
        assert browse(where, visit, viewport={"width": 1280, "height": 800}) == ([], 3)


LONG_NAMES = [f"execution accuracy of the {rule} rule" for rule in ("first", "second", "third", "fourth", "fifth")]
OUTSIDE = """[...document.querySelectorAll('main table, main fieldset')].filter(each => each.checkVisibility())
  .map(each => each.getBoundingClientRect()).filter(box => box.left < 0 || box.right > innerWidth).length"""
WIDTHS = "[...document.querySelectorAll('.stack td.t')].map(cell => cell.getBoundingClientRect().width)"


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A viewer of a run with several scores of long names, over more samples than a page lists."""

    def score(sample, output):
        return [Score(name, float(len(output.value) % 2), passed=len(output.value) % 2 == 1) for name in LONG_NAMES]

    where = tmp_path_factory.mktemp("scored") / "s.db"
    question = "Which of the boats that are in the harbour of the town are longer than seven metres"
    samples = [Sample(f"boats-{no:02d}", f"{question}, number {no}?", question) for no in range(60)]
    evaluate(lambda sample: f"{question} {sample.id}", samples, [score], store=where)
    with serving(where) as served:
        yield served


def test_columns_of_marks_leave_the_texts_their_space(scored, browse):
    async def visit(page):
        return await page.run(
            "[...document.querySelectorAll('tbody tr:first-child td.t')].map(cell => cell.offsetWidth)"
        )

    widths = browse(
        address(scored, f"/run/{scored.store.runs()[0].id}"), visit, viewport={"width": 1280, "height": 800}
    )
    assert len(widths) == 3
    assert min(widths) >= 120


def test_a_printed_run_fits_the_paper_and_says_how_many_of_its_records_it_has(scored, browse):
    async def visit(page):
        await page.tab.emulate_media(media="print")
        return (
            await page.run(OUTSIDE),
            await page.run("document.querySelector('.pages').innerText"),
            await page.run(WIDTHS),
        )

    where = address(scored, f"/run/{scored.store.runs()[0].id}")
    outside, footer, widths = browse(where, visit, viewport={"width": 688, "height": 1000})  # A4 without its margins
    assert outside == 0
    assert footer.strip() == "60 of 60 records, 50 of them on this page"
    assert min(widths) > 200, "texts are no columns of a few words"


def test_forms_that_are_not_filled_are_not_printed_with_their_headings(scored, browse):
    async def visit(page):
        await page.tab.emulate_media(media="print")
        return await page.run("document.querySelector('main').innerText")

    run = scored.store.runs()[0].id
    assert "Notes" not in browse(address(scored, f"/run/{run}"), visit)
    assert "make the first one" not in browse(address(scored, "/queue"), visit)


@pytest.mark.parametrize("page_of", ["/run/{0}", "/compare?a={0}&b={1}"])
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_a_menu_opens_within_the_window(named, browse, page_of, width):
    first, second = (run.id for run in named.store.runs())

    async def visit(page):
        await page.tab.click(".picker > summary")
        return await page.run(OUTSIDE.replace("main table, main fieldset", ".picker > div"))

    path = page_of.format(first, second)
    assert browse(address(named, path), visit, viewport={"width": width, "height": 800}) == 0


NUMBERS = """[...document.querySelectorAll('.strip td.num')].filter(each => each.checkVisibility())
  .map(each => each.getBoundingClientRect().right)"""


def test_the_numbers_of_all_scores_are_in_sight_on_a_phone(scored, browse):
    async def visit(page):
        return await page.run(NUMBERS)

    ends = browse(address(scored, f"/run/{scored.store.runs()[0].id}"), visit, viewport={"width": 390, "height": 844})
    assert ends
    assert max(ends) <= 390
