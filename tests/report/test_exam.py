"""The details of the rate of an exam, on the page, in Markdown and in sentences."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.report.sections_read import notes, part, rows
from tests.store.exam_run import exam_runs, question

from steelyard import Label, Store, compare
from steelyard.people.labels import add_labels
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.sections.changed_scores import labels_section
from steelyard.report.sections.exam import exam_section, macro_sentences

ORDERS = ("ABCD", "BCDA", "CDAB", "DABC")
KEYS = "ADCB"


def samples(n=12):
    return [
        question(
            f"q{no}@{turn + 1}", KEYS[turn], cluster=f"q{no}", group=f"group {no % 2}", metadata={"order": ORDERS[turn]}
        )
        for no in range(n)
        for turn in range(4)
    ]


def runs_in(folder):
    questions = samples()
    steady = [KEYS[at % 4] if at % 5 else "well" for at in range(len(questions))]
    always = ["maybe A" if at % 7 else "A" for at in range(len(questions))]
    return exam_runs(folder / "s.db", {"steady": steady, "always A": always}, samples=questions, repeats=2)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs that tests only read."""
    return runs_in(tmp_path_factory.mktemp("exam"))


def labelled(runs, **labels_by_target):
    with Store(runs[0].store.path) as store:
        for run in runs:
            labels = [Label(*fields) for fields in labels_by_target.get(run.target.replace(" ", "_"), ())]
            add_labels(store, store.run(run.id), labels)
    return [run.with_labels() for run in runs]


def section(runs, *labels):
    return exam_section(PageRuns([run.summary() for run in runs], labels or [run.target for run in runs]))


def test_a_line_per_figure_and_a_cell_per_run(runs):
    figures = rows(section(runs), "More about this rate")
    assert figures["all questions"][1].startswith("25.0 %, ")
    assert figures["expected by guessing"] == ["25.0 %", "25.0 %"]
    assert figures["above guessing (0 = guessing, 100 = all right)"][1].startswith("0.0 %, ")
    assert figures["independent questions"] == ["12", "12"]
    assert figures["all 4 orders right"][1].startswith("0.0 %")
    assert figures["most frequent of 4 orders"][1].endswith("24 tied")
    assert figures["answer differs in 2 repeats"][0].startswith("0.0 %")
    assert figures["to check by hand"] == ["20 replies, 20 unreadable", "82 replies, 82 inferred"]


def test_a_model_that_always_says_a_is_told_that_the_letter_matters(runs):
    bias = part(section(runs[1:], "always A"), "Position bias")
    recall = rows(bias, "solved by the correct letter")
    assert {letter: cells[:2] for letter, cells in recall.items()} == {
        "A": ["24", "96"], "B": ["24", "0"], "C": ["24", "0"], "D": ["24", "0"],
    }  # fmt: skip
    (sentence,) = notes(bias)
    assert "differs by 100.0 points" in sentence
    assert sentence.startswith("always A: The target prefers some letters: ")


def test_other_tools_rules_stand_beside_ours_and_in_no_other_table(runs):
    assert list(rows(section(runs), "As other tools")) == ["Steelyard", "last letter of the reply"]
    assert [score.name for score in runs[0].summary().own_scores] == ["solve_rate"]
    assert [score.score for score in compare(*runs).pairs[0].further.scores] == []
    assert "last_letter" not in html_report(runs).split("<script", maxsplit=1)[0].split("What was run")[0]


def test_page_and_markdown_carry_the_section(runs):
    page, text = html_report(runs, compare(*runs)), markdown_report(runs)
    for words in ("mean of the categories", "above guessing", "all 4 orders right"):
        assert words in page
        assert words in text
    assert "last letter of the reply" in page
    assert "Position bias" in page
    assert "between letters the rate solved differs by 100.0 points" in page


def test_a_run_that_is_no_exam_has_no_section(make_runs):
    from steelyard import ExactMatch

    (run,) = make_runs({"one": lambda sample: "x"}, n=6, scorers=(ExactMatch(),))
    assert 'id="exam-title"' not in html_report([run])
    assert "mean of the 3 groups" in html_report([run]), "any score with groups has both averages"
    assert macro_sentences(PageRuns([run.summary()], ["one"]), "exact_match")[0].startswith(
        "one: mean of the 3 groups 0.0 %"
    )


def test_what_people_decided_is_told_per_run_and_authors_are_inert(tmp_path):
    runs = runs_in(tmp_path)
    at, hostile = datetime(2026, 3, 1, tzinfo=UTC), "<script>alert(1)</script>\x1b[2J|`x`"
    labelled_runs = labelled(runs, steady=[("q0@1", "answer", "A", hostile, at), ("q1@2", "answer", "B", "ann", at)])
    summaries = [run.summary() for run in labelled_runs]
    section = labels_section(PageRuns(summaries, ["steady", "always A"]))
    first, second = notes(section, "fact")
    warnings = [text for text in notes(section, "warning") if "Nobody" in text]
    assert "1 by ann" in first
    assert second == "always A: replies decided by people: none."
    assert len(warnings) == 2
    page, text = html_report(labelled_runs), markdown_report(labelled_runs)
    assert "replies decided by people" in page
    assert "<script>alert" not in page
    assert "<script>alert" not in text
    assert "\x1b" not in page + text


def test_no_warning_where_nothing_was_decided_or_every_queue_was_seen(tmp_path):
    runs = runs_in(tmp_path)
    summaries = [run.summary() for run in labelled(runs)]
    assert not any("Nobody" in text for text in notes(labels_section(PageRuns(summaries, ["a", "b"]))))
    seen = [
        replace(
            summary,
            raters=replace(summary.raters, labelled=replace(summary.raters.labelled, decided={"ann": 3}, unseen=0)),
        )
        for summary in summaries
        if summary.raters.labelled
    ]
    assert not any("Nobody" in text for text in notes(labels_section(PageRuns(seen, ["a", "b"]))))


def test_the_page_is_drawn_without_a_complaint(runs, in_browser):
    async def visit(page):
        rows = await page.run("document.querySelectorAll('section[aria-labelledby=exam-title] table tr').length")
        wide = await page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        return rows, wide, page.complaints

    rows, wide, complaints = in_browser(html_report(runs, compare(*runs)), visit)
    assert rows > 20
    assert wide
    assert complaints == []
