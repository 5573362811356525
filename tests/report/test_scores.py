"""Verdicts that have names: counted per run, side by side in every kind of page, and in frames."""

from __future__ import annotations

import pytest
from tests.report.sections_read import rows

from steelyard import Options, Sample, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.analysis.comparison.compare_runs import compare
from steelyard.cli.outcome import evaluate_runs, print_outcome
from steelyard.evaluation.evaluate import RunConfig
from steelyard.plain_json import json_value
from steelyard.report.charts.svg import svg
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.sections.regressions import changed_samples
from steelyard.report.sections.scores import score_chart, scores_section, verdict_chart
from steelyard.report.sections.targets import run_remarks
from steelyard.scorers import ExactMatch, LabelMatch
from steelyard.types import StageInfo

NASTY = "<b>worse</b> | \u202eeman"


class Grade:
    """Two scores, both of whose verdicts have names, and a column of its own."""

    score_infos = tuple(ScoreInfo(name, (0, 1), denominator="all", named_verdicts=True) for name in ("parses", "grade"))
    stage_info = StageInfo(name="grade")

    def __call__(self, sample, output):
        if sample.id == "5":
            raise RuntimeError("down")
        right = float(output.value == "right")
        named = "good" if right else NASTY
        columns = {"sql": f"SELECT {sample.id}"} if sample.id != "0" else {}
        return [
            Score("parses", 1.0, detail={"label": "parsed", "columns": columns}),
            Score("grade", right, detail={"label": named}) if sample.id != "1" else not_said(),
        ]


def not_said():
    return Score("grade", None, outcome="not_applicable", reason="nobody asked")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    samples = [Sample(str(no), f"{no}?") for no in range(6)]
    targets = {"first": lambda sample: "right", "second": lambda sample: "right" if sample.id > "2" else "wrong"}
    suite = Suite("graded", "custom", samples, targets, (Grade(),), Options(max_errors=1.0), primary="grade")
    return evaluate_suite(suite, how=RunConfig(store=folder / "s.db"))


def test_a_summary_counts_each_verdict_the_most_frequent_first(runs):
    labels = runs[1].summary().details.labels
    assert {name: list(counts.items()) for name, counts in labels.items()} == {
        "parses": [("parsed", 5)],
        "grade": [(NASTY, 2), ("good", 2), ("not applicable", 1)],
    }
    assert json_value(runs[1].summary())["labels"]["grade"]["good"] == 2


def test_a_score_that_a_failed_record_lacks_is_an_error_of_each_announced_score(runs):
    assert {score.name: score.errors for score in runs[0].summary().scores} == {"parses": 1, "grade": 1}


def section(runs):
    return scores_section(PageRuns([run.summary() for run in runs], [run.target for run in runs]))


def test_verdicts_have_counts_and_shares_a_column_per_run(runs):
    assert rows(section(runs), "Parses: verdicts") == {"parsed": ["5, 100.0 %", "5, 100.0 %"]}
    grade = rows(section(runs), "Grade: verdicts")
    assert grade["good"] == ["4, 80.0 %", "2, 40.0 %"]
    assert grade[NASTY] == ["0, 0.0 %", "2, 40.0 %"]


def test_replies_that_cannot_be_read_are_called_so_in_tables_and_bars(tmp_path):
    samples = [Sample(str(no), "Which?", ("yes", "no")[no % 2]) for no in range(4)]
    suite = Suite(
        "read", "custom", samples, {"ours": lambda sample: "yes" if sample.id < "3" else "Hm."}, (LabelMatch(),)
    )
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    (found,) = [part for part in section([run]).parts if "verdicts" in part.title]
    assert [row[0].text for row in found.table.rows] == ["yes", "unreadable"]
    text = svg(found.chart)
    assert "unreadable" in text
    assert "unparsed" not in text


def test_unreadable_replies_are_counted_beside_a_further_score_in_the_short_result(tmp_path, capsys):
    samples = [Sample(str(no), "Which?", ("yes", "no")[no % 2]) for no in range(4)]
    target = lambda sample: "yes" if sample.id < "3" else "Hm."  # noqa: E731
    suite = Suite("read", "custom", samples, {"ours": target}, (ExactMatch(), LabelMatch()))
    print_outcome(evaluate_runs(evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))), as_json=False)
    assert "also      Accuracy 50.0 % (1 unreadable)" in capsys.readouterr().out


def test_refused_replies_are_counted_beside_a_further_score_in_the_short_result(tmp_path, capsys):
    class Judged:
        score_infos = tuple(ScoreInfo(name, (0, 1), denominator="all") for name in ("first", "second"))
        stage_info = StageInfo(name="judged")

        def __call__(self, sample, output):
            second = {"value": None, "outcome": "refused"} if sample.id == "0" else {"value": 1.0}
            return [Score("first", 1.0), Score("second", **second)]

    suite = Suite("read", "custom", [Sample(no, "Which?") for no in "01"], {"ours": lambda _: "yes"}, (Judged(),))
    print_outcome(evaluate_runs(evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))), as_json=False)
    assert "also      Second 50.0 % (1 refused)" in capsys.readouterr().out


def test_scores_by_run_show_what_each_mean_leaves_out(runs):
    grade = rows(section(runs), "Scores by run")["Grade"][1]
    assert grade.startswith("50.0 %")
    assert grade.endswith("2 of 4, 15.0 to 85.0, 1 error, 1 not applicable")


def test_bars_show_every_verdict_of_every_run(runs):
    summaries = [run.summary() for run in runs]
    text = svg(verdict_chart(summaries, "grade"))
    assert "4 (80.0 %)" in text
    assert "2 (40.0 %)" in text
    assert "<b>worse" not in text
    assert "first" in text
    assert "100.0 %" in svg(score_chart(summaries))


def test_a_page_and_a_comment_show_the_verdicts_inert(runs):
    page = html_report(runs)
    assert "Grade: verdicts per run" in page
    assert "Scores by run" in page
    assert "Means with 95 % CI; n is the number of records in each" in page
    assert "<b>worse" not in page
    comment = markdown_report(runs)
    assert "**Grade: verdicts per run**" in comment
    assert "| good | 4 · 80.0 % | 2 · 40.0 % |" in comment
    assert NASTY not in comment


def test_the_terminal_says_how_often_each_verdict_was_given(runs, capsys):
    print_outcome(evaluate_runs(runs), as_json=False, full=True)
    lines = capsys.readouterr().out.splitlines()
    good = next(line for line in lines if line.startswith("good"))
    assert good.split() == ["good", "4", "(80.0", "%)", "2", "(40.0", "%)"]
    assert all(len(line) <= 80 for line in lines)
    assert not any("\u202e" in line for line in lines)


def test_the_terminal_says_to_how_many_records_a_score_does_not_apply(runs, capsys):
    print_outcome(evaluate_runs(runs[:1]), as_json=False, full=True)
    assert "first: grade does not apply to 1 of 6 records" in capsys.readouterr().out


def test_a_comparison_lists_what_regressed_with_the_verdicts_before_and_now(runs, capsys):
    print_outcome(evaluate_runs(runs), as_json=False, full=True, compared=True)
    lines = [line for line in capsys.readouterr().out.splitlines() if "✓ good → ✗ <b>worse</b>" in line]
    assert [line.split()[0] for line in lines] == ["0", "2"]
    (pair,) = compare(*runs, score="grade").pairs
    assert [(sample.change, sample.sample, sample.before) for sample in changed_samples(runs, pair, most=1)] == [
        ("regression", "0", "good")
    ]
    assert changed_samples(runs[::-1], compare(*runs[::-1], score="grade").pairs[0], most=9)[0].change == "improvement"


def test_a_frame_has_the_first_verdict_as_label_and_the_columns_of_the_scorer(runs):
    table = runs[1].to_frame()
    assert list(table["label"])[:2] == ["parsed", "parsed"]
    assert list(table["grade_label"])[2] == NASTY
    assert list(table["sql"])[1:5] == ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4"]
    assert table["sql"].isna().tolist() == [True, False, False, False, False, True]
    assert table["response"][0] == "wrong"
    assert table["model"].isna().all()


def test_scores_come_back_in_the_order_in_which_they_were_announced(runs):
    assert [score.name for score in next(runs[0].records()).scores] == ["parses", "grade"]
    assert [score.name for score in runs[0].summary().scores] == ["parses", "grade"]


def test_a_score_that_is_a_share_in_one_run_only_has_one_unit_side_by_side(tmp_path):
    def signed(sample, output):
        return Score("signed", output.value * 1.0)

    def half(sample, output):
        return 0.5

    targets = {"up": lambda sample: 1, "down": lambda sample: -1}
    samples = [Sample(str(no), "?") for no in range(3)]
    runs = evaluate_suite(
        Suite("s", "custom", samples, targets, (signed, half)), how=RunConfig(store=tmp_path / "s.db")
    )
    signed_cells = rows(section(runs), "Scores by run")["Signed"]
    assert [cell.split()[0].rstrip(",") for cell in signed_cells] == ["1.00", "-1.00"]
    assert score_chart([run.summary() for run in runs]) is None


def test_unreadable_replies_are_counted_by_kind_in_words(tmp_path):
    samples = [Sample(str(no), "?", ("bug", "other")[no % 2]) for no in range(1_100)]
    suite = Suite("s", "custom", samples, {"t": lambda sample: "bug or other"}, (LabelMatch(),), Options())
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    texts = [remark.text for remark in run_remarks(run.summary(), several=False)]
    assert "t: 1,100 replies not readable: 1,100 several answers" in texts
