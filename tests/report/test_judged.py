"""Judged scores in every kind of report: bounds, spreads, crosses, costs, breakdowns; all of it inert."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from tests.report.conftest import exam
from tests.report.judged_suite import NASTY, judged_runs

from steelyard import Choice, Options, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.cli.outcome import evaluate_runs, print_outcome
from steelyard.evaluation.evaluate import RunConfig
from steelyard.plain_json import json_value
from steelyard.report.charts.svg import svg
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import MOST_CHARACTERS, MOST_LINES, markdown_report
from steelyard.report.sample_evidence import score_evidence, source_label
from steelyard.report.sections.scores import histogram_chart
from steelyard.report.sections.targets import rate_chart

PHRASES = ("right and supported", "right but unsupported", "wrong but supported", "wrong and unsupported")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    (only_run,) = judged_runs(tmp_path_factory.mktemp("run"))
    return only_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return judged_runs(tmp_path_factory.mktemp("runs"), ("top 1", "top 2"))


def rows_of(html, heading):
    """The cells' texts of the table below a heading, row by row."""
    table = html.split(f">{heading}</h", 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    return [
        [re.sub(r"<[^>]*>", " ", cell).split() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    ]


def test_a_summary_holds_what_was_counted_by_hand(run):
    summary = run.summary()
    # Ratings of samples 0 to 4 and 8 to 11: 5, 4, 3.5, 2, 5 and 5, 4, 3.5, 2; 5 is unparsed, 6 refused, 7 not asked.
    correctness = summary.score("correctness")
    assert correctness.answered.value == pytest.approx(34 / 9)
    assert correctness.bounds == pytest.approx((36 / 11, 44 / 11))
    assert summary.details.spreads["correctness"].bins == ((1, 0), (2, 2), (3, 0), (4, 4), (5, 3))
    assert summary.details.spreads["correctness"].between == 2
    (table,) = summary.details.contingency_tables
    # Right are 0, 1, 4, 8, 9; supported is what 3 does not divide.
    assert dict(table.cells) == dict(zip(PHRASES, (3, 2, 3, 1), strict=True))
    assert (table.n, table.left_out) == (9, 3)
    assert [(stage.stage, stage.calls) for stage in summary.calls.stages] == [("correctness", 12), ("faithfulness", 12)]


def test_errors_beside_a_mean_are_its_own_and_those_of_other_scores_are_told_apart(tmp_path, capsys):
    def broken(sample, output):
        if sample.id in {"q1", "q2"}:
            raise ValueError("down")
        return 1.0

    first, second = judged_runs(tmp_path, ("top 1", "top 2"), further=(broken,))
    assert (first.summary().counts.errors, first.summary().score().errors) == (2, 0)
    sentence = "top 1: 2 of 12 records failed at some stage, 0 of them without correctness"
    page, text = html_report([first, second]), markdown_report([first, second])
    assert "Errors as" not in page
    assert "| top 1 | **3.78** | 2.87 to 4.68 | 3.27 to 4.00 | 9 | 1 | 1 | 1 | 0 |" in text
    print_outcome(evaluate_runs([first]), as_json=False, full=True)
    out = capsys.readouterr().out
    for shown in (page, text, " ".join(out.split())):
        assert sentence in shown
    assert re.search(r"top 1 +3\.78.* 9 +1 +1 +0$", out, re.MULTILINE)


def test_breakdowns_go_by_the_samples_metadata_and_add_up(run):
    summary = run.summary()
    assert list(summary.details.breakdowns) == ["document"]
    by_document = summary.details.breakdowns["document"]
    assert list(by_document) == ["correctness", "correct", "faithfulness", "claim_faithfulness"]
    assert [group.group for group in by_document["faithfulness"]] == [
        "handbook.pdf",
        "<b>notes</b>.md",
        "(no document)",
    ]
    assert [group.headline.value for group in by_document["faithfulness"]] == [0.0, 1.0, 1.0]
    for name, groups in by_document.items():
        assert sum(group.total for group in groups) == summary.score(name).total
    plain = json.loads(json.dumps(json_value(summary), allow_nan=False))["breakdowns"]["document"]
    assert plain["correctness"][0]["bounds"] == [(5 + 2 + 4 + 1) / 4, (5 + 2 + 4 + 5) / 4]


def test_a_page_shows_bounds_spread_cross_costs_and_breakdown(run):
    html = html_report([run])
    assert "over 9 replies; counting the 2 replies without a verdict, " in html
    assert "2.87 to 4.68" in html
    assert "Counting unreadable" in html
    # A mean over what was scored has no second rate: unread verdicts are not answers of the target.
    assert '<th scope="col" class="num">Mean</th>' in html
    assert "Accuracy (answered)" not in html
    assert "3.27 to 4.00" in html
    crossed = rows_of(html, "Correct against faithfulness")
    assert crossed[0] == [["right", "and", "supported"], ["3", "33.3", "%"]]
    assert crossed[3] == [["wrong", "and", "unsupported"], ["1", "11.1", "%"]]
    assert [cell[:1] for cell in rows_of(html, "Correctness: how often each value was given")[0][1:]] == [
        ["0"], ["2"], ["0"], ["4"], ["3"], ["1"], ["1"], ["1"],
    ]  # fmt: skip
    assert "values between whole numbers count at the nearest one, a half at the upper" in html
    assert rows_of(html, "Cost by stage")[1][:3] == [["top", "1"], ["faithfulness"], ["12"]]
    assert rows_of(html, "Correctness by document")[1][0] == ["&lt;b&gt;notes&lt;/b&gt;.md"]
    assert "document.title='pwned'</script>" not in html


def test_no_mean_of_any_score_hides_what_it_leaves_out(runs):
    """One run has a table of the other scores, several have them side by side."""
    (run, *_) = runs
    cells_of = {cells[0][0]: [" ".join(cell) for cell in cells] for cells in rows_of(html_report([run]), "Every score")}
    assert cells_of["Correct"][-4:] == ["5 of 9", "1", "1", "1"]  # nothing failed, as the caption says
    columns_of = dict(rows[:2] for rows in rows_of_text(html_report(runs), "Scores by run"))
    left_out = "1 unreadable, 1 refused, 1 not applicable, bounds 45.5 to 63.6 %"
    assert columns_of["Correct"].endswith(f"5 of 9, 26.7 to 81.1, {left_out}")
    assert columns_of["Faithfulness"].endswith("8 of 12, 39.1 to 86.2")
    assert markdown_report(runs).count(f"5 of 9, 26.7 to 81.1, {left_out}") == 2


def rows_of_text(html, heading):
    return [[" ".join(cell) for cell in cells] for cells in rows_of(html, heading)]


def test_charts_keep_to_the_scale_and_show_a_bar_per_value(runs):
    summaries = [run.summary() for run in runs]
    assert rate_chart(summaries).domain == (1.0, 5.0)
    text = svg(histogram_chart(summaries, "correctness"))
    assert text.count("4 (44.4 %)") >= 2
    assert "Correctness: share of each value" in text


def test_markdown_has_every_part_in_its_limits(runs):
    comment = markdown_report(runs[:1])
    assert "| run | target | Correctness | 95 % CI | counting unreadable | n | not applicable |" in comment
    for phrase in PHRASES:
        assert f"| {phrase} |" in comment
    assert "| top 1 | 0 | 2 | 0 | 4 | 3 | 1 | 1 | 1 |" in comment
    assert "| top 1 | correctness | 12 | 0 | 0 | 0 | 12 |" in comment
    assert NASTY not in comment
    for shown_runs in (runs[:1], runs):
        text = markdown_report(shown_runs)
        assert len(text.splitlines()) <= MOST_LINES
        assert len(text) <= MOST_CHARACTERS


def test_the_terminal_shows_it_in_80_columns(run, capsys):
    print_outcome(evaluate_runs([run]), as_json=False, full=True)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert all(len(line) <= 80 for line in lines)
    assert "top 1: 2 replies have no verdict and are left out. With them correctness is 3.27" in lines
    assert row_in(lines, "Correct  ") == [
        "Correct",
        "55.6",
        "%",
        "26.7",
        "to",
        "81.1",
        *["5", "of", "9", "1", "1", "1", "0"],
    ]
    assert row_in(lines, "right but unsupported")[-3:] == ["2", "(22.2", "%)"]
    assert row_in(lines, "4 ") == ["4", "4", "44.4", "%", "█" * 13]
    assert row_in(lines, "top 1          faithfulness") == ["top", "1", "faithfulness", "12", "0", "0", "0", "12"]


def row_in(lines, beginning):
    return next(line.split() for line in lines if line.startswith(beginning))


def test_no_score_of_several_runs_stands_without_what_it_leaves_out(tmp_path, capsys):
    class Partly:
        over = "scored"

        def __init__(self, no):
            self.no, self.score_infos = no, (ScoreInfo(f"score_{no}", (0, 1)),)

        def __call__(self, sample, output):
            if int(sample.id[1:]) < self.no:
                return Score(f"score_{self.no}", None, outcome="unparsed", detail={"kind": "none"})
            return Score(f"score_{self.no}", 1.0)

    runs = judged_runs(tmp_path, ("top 1", "top 2"), further=tuple(Partly(no) for no in range(1, 12)))
    print_outcome(evaluate_runs(runs), as_json=False, full=True)
    out = " ".join(capsys.readouterr().out.split())
    for no in range(1, 12):
        assert f"top 2: score_{no}: n {12 - no}, {no} unreadable, bounds " in out


def test_show_has_the_breakdowns_too(run, capsys):
    print_outcome(evaluate_runs([run]), as_json=False, full=True)
    lines = capsys.readouterr().out.splitlines()
    assert sum("by document" in line for line in lines) == 4
    assert row_in(lines, "(no ")[1] == "3.50"


def test_several_runs_stand_side_by_side_in_the_terminal(runs, capsys):
    print_outcome(evaluate_runs(runs), as_json=False, full=True)
    lines = capsys.readouterr().out.splitlines()
    assert row_in(lines, "Correct  ") == ["Correct", *["55.6", "%", "(5", "of", "9)"] * 2]
    assert "top 2: correct: n 9, 1 unreadable, 1 refused, 1 not applicable, bounds 45.5 to" in lines
    assert row_in(lines, "wrong but supported")[-6:] == ["3", "(33.3", "%)", "3", "(33.3", "%)"]


def test_a_notebook_shows_the_bounds_beside_the_mean(run):
    words: list[str] = []
    parser = HTMLParser()
    parser.handle_data = words.append
    parser.feed(run._repr_html_())
    cells = " ".join(" ".join(words).split())
    assert "Counting unreadable n" in cells
    assert "3.78 2.87 to 4.68 3.27 to 4.00 9" in cells
    assert "66.7 % 39.1 to 86.2" in cells


def test_a_run_without_any_of_it_says_nothing_of_it(tmp_path, capsys):
    targets = {"t": lambda _: "The answer is A."}
    suite = Suite("Exam", "choice", exam(8), targets, (Choice(),), Options())
    runs = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    html = html_report(runs)
    page = html[: html.index("<script>")]
    for words in (
        "Counting unreadable",
        "Cost by stage",
        "how often",
        "Breakdowns",
        '"judged"',
        '"failed"',
        '"sources"',
    ):
        assert words not in page
    assert "bounds" not in markdown_report(runs)
    print_outcome(evaluate_runs(runs), as_json=False, full=True)
    assert "stage" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ({"id": "7f", "document": "a.pdf", "page": 3, "start": 0, "end": 9}, "a.pdf, page 3, characters 0 to 9 (7f)"),
        ({"document": "a.pdf", "page": None}, "a.pdf"),
        ({"id": "7f"}, "7f"),
        ({}, ""),
        ("7f", "7f"),
    ],
)
def test_a_source_is_told_as_far_as_it_is_known(source, label):
    assert source_label(source) == label


def evidence(*scores, page_score="b"):
    """The columns with texts in the place of their numbers."""
    return score_evidence(scores, page_score, lambda text: text)


def test_scores_of_one_judge_show_what_they_share_with_the_first_that_a_page_shows():
    claims = [{"claim": "It rains", "verdict": "yes"}]
    shared = {"how": "single", "claims": claims, "verdict_like": "5/5"}
    (first, second) = evidence(Score("a", 1.0, True, detail=shared), Score("b", 0.0, False, detail=shared))["judged"]
    assert (first[0], json.loads(first[3])) == ("b", {"claims": claims, "verdict_like": "5/5"})
    assert second == ["a", 1, "", "{}"]


def test_why_a_verdict_was_not_read_is_told_in_words():
    score = Score("a", None, outcome="unparsed", detail={"how": "single", "kind": "none"})
    assert evidence(score)["judged"] == [["a", -1, "no verdict", "{}"]]


def test_scores_that_no_judge_gave_need_no_evidence():
    columns = evidence(Score("a", 1.0, True, detail={"label": "fine"}), Score("b", 0.0, False))
    assert columns == {"judged": [], "failed": []}
    assert evidence(Score("a", 0.0, False))["failed"] == ["a"]
    assert evidence(Score("a", 0.0))["failed"] == []  # a value without a verdict
