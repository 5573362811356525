"""A judged pair on the page: who was preferred, both answers, what each order said; all of it as text."""

from __future__ import annotations

import pytest
from tests.report.judging_suite import NASTY, pairwise_runs

from steelyard.cli.outcome import evaluate_runs
from steelyard.report.render.html import html_report

WHOLE = NASTY.replace("\u202e", "\\u202e")


def texts(selector):
    return f"[...document.querySelectorAll({selector!r})].map(one => one.textContent)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return pairwise_runs(tmp_path_factory.mktemp("pairs"), 20)


def page_of(runs):
    evaluated = evaluate_runs(runs)
    return html_report(evaluated.runs, evaluated.comparison, evaluated.gate, pairwise=evaluated.pairwise)


def test_a_judging_run_alone_shows_both_answers_and_both_orders_inert(runs, in_browser):
    async def visit(page):
        state = {
            "answers": await page.run(texts(".detail .answers .answers pre")),
            "heads": await page.run(texts(".detail .answers .answers h3")),
            "orders": await page.run(texts(".detail .orders li")),
            "bold": await page.run("document.querySelectorAll('.detail b').length"),
            "title": await page.run("document.title"),
        }
        return state, page.complaints

    state, complaints = in_browser(page_of([runs[2]]), visit, address="#open=q007")
    assert complaints == []
    assert (state["title"], state["bold"]) == ("How-to", 0)
    assert state["heads"] == ["A: ours <b>", "B: theirs"]
    assert state["answers"] == [f"Ours, answer 7. {WHOLE}", "Theirs, answer 7."]
    assert state["orders"] == [
        f"ours <b> shown first, theirs second: prefers ours <b>AB because of {WHOLE}",
        f"theirs shown first, ours <b> second: prefers theirsBA because of {WHOLE}",
    ]


def test_the_table_names_who_was_preferred_and_can_be_cut_to_a_verdict(runs, in_browser):
    async def visit(page):
        chips = await page.run(texts(".chips button"))
        cells = await page.run(texts(".samples tbody tr td:last-child"))
        await page.run(
            "[...document.querySelectorAll('.chips button')].find(one => /Tie/.test(one.textContent)).click()"
        )
        return chips, cells, await page.run(texts(".samples .open")), page.complaints

    chips, cells, ties, complaints = in_browser(page_of(runs), visit)
    assert complaints == []
    assert {"Prefers ours <b> 10", "Prefers theirs 2", "Tie 2", "Inconsistent 2", "Errors 2"} <= set(chips)
    assert not any("wrong" in chip.lower() or "right" in chip.lower() for chip in chips)
    assert cells[4:10] == [
        *("▸ ours <b>", "▸ theirs", "= tie", "≠ inconsistent", "? unreadable no verdict"),
        "– not applicable no answer of ours <b>",
    ]
    assert ties == ["q006", "q016"]


def test_answers_that_stand_on_the_page_are_not_repeated_and_can_be_searched_where_they_do_not(runs, in_browser):
    async def repeated(page):
        return await page.run(texts(".detail pre")), await page.run(texts(".detail .state"))

    boxes, states = in_browser(page_of(runs), repeated, address="#open=q009")
    assert "Theirs, answer 9." in boxes
    assert boxes.count("Theirs, answer 9.") == 1
    assert not any("no score" in text for text in states)

    async def searched(page):
        return await page.run(texts(".samples .open"))

    assert in_browser(page_of([runs[2]]), searched, address="#text=theirs%2C+answer+13.") == ["q013"]
