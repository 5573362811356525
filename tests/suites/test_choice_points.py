"""Points and deductions of an exam: read from its columns, summed over all replies, and shown beside the rate."""

import json

import pytest
from tests.report.sections_read import rows

from steelyard import Label, Output, Sample, Store, compare
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.config.load import load
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.people.labels import add_labels
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.exam import exam_section
from steelyard.scorers.choice import Choice
from steelyard.suites.choice.reading import points_in
from steelyard.suites.choice.rows import examine_choice, load_choice

EXAM = """id,题目,A,B,C,D,答案,分值,扣分
q1,最大的一位数是？,7,8,9,6,C,5,1
q2,最小的正整数是？,0,1,2,3,B,2分,1
q3,三的平方是？,6,9,12,3,B,3,
"""
ANSWERS = {"m": {"q1": "C", "q2": "A", "q3": "B"}, "n": {"q1": "A", "q2": "B", "q3": "a horse"}}


@pytest.fixture
def runs(tmp_path):
    return runs_of(tmp_path, EXAM, ANSWERS)


def runs_of(folder, exam, answers, **keys):
    (folder / "exam.csv").write_text(exam, "utf-8")
    targets = {}
    for name, replies in answers.items():
        lines = (json.dumps({"id": sample, "output": reply}) for sample, reply in replies.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
        targets[name] = {"replay": f"{name}.jsonl"}
    config = {"suite": "choice", "samples": {"file": "exam.csv"}, "targets": targets, **keys}
    (folder / "exam.json").write_text(json.dumps(config), "utf-8")
    return evaluate_suite(load(folder / "exam.json", environ={}).suite, how=RunConfig(store=folder / "s.db"))


def test_the_points_of_all_stand_beside_the_rate(runs):
    summaries = [run.summary() for run in runs]
    assert [summary.primary for summary in summaries] == ["solve_rate", "solve_rate"]
    assert [summary.score("points").headline.value for summary in summaries] == pytest.approx([7 / 10, 1 / 10])
    section = exam_section(PageRuns(summaries, ["m", "n"]))
    table = rows(section, "More about this rate")
    assert [cell.split(",")[0] for cell in table["points"]] == ["7 of 10", "1 of 10"]
    assert table["points deducted"] == ["1, 1 wrong answer", "1, 1 wrong answer"]
    assert table["empty: no points, none deducted"] == ["–", "1 reply"]
    points = summaries[1].exam.points
    assert (points.gained, points.possible, points.deducted, points.wrong, points.empty) == (1, 10, 1, 1, 1)


def test_an_empty_reply_may_have_been_right_or_cost_its_deduction(runs):
    assert runs[1].summary().score("points").bounds == pytest.approx((1 / 10, 4 / 10))
    assert runs[0].summary().score("points").missing_bounds is None


def test_a_rule_on_points_is_on_their_share(runs):
    verdict = judge_gate({"points": ">= 0.6"}, [run.summary() for run in runs])
    assert [result.state for result in verdict.results] == ["holds", "fails"]
    assert "70.0 %" in verdict.results[0].sentence


def test_two_runs_are_compared_by_their_points_and_not_by_their_questions(runs):
    (pair,) = compare(*runs).pairs
    (points,) = [other for other in pair.further.scores if other.score == "points"]
    assert points.difference.difference == pytest.approx(1 / 10 - 7 / 10)
    assert points.difference.unit


def test_a_persons_letters_change_the_points_too(runs):
    with Store(runs[1].store.path) as store:
        add_labels(store, store.run(runs[1].id), [Label("q3", "answer", "B", "ann", runs[1].created)])
    labelled = runs[1].with_labels().summary()
    assert labelled.score("points").headline.value == pytest.approx(4 / 10)
    assert labelled.score().headline.value == pytest.approx(2 / 3)


def test_groups_weigh_by_their_points_and_the_macro_average_by_group(tmp_path):
    exam = "id,question,A,B,answer,points,subject\na,1?,x,y,A,9,one\n"
    exam += "b,2?,x,y,A,1,one\nc,3?,x,y,A,5,two\nd,4?,x,y,A,0,two\n"
    (run,) = runs_of(tmp_path, exam, {"m": {"a": "A", "b": "B", "c": "B", "d": "A"}})
    summary = run.summary()
    assert [group.headline.value for group in summary.groups["points"]] == pytest.approx([0.9, 0])
    score = summary.score("points")
    assert (score.headline.value, score.macro.value, score.weight) == (pytest.approx(9 / 15), pytest.approx(0.45), 15)
    assert score.not_applicable == 1


def test_the_macro_average_of_points_and_its_interval_stay_on_the_scale(tmp_path):
    exam = "id,question,A,B,answer,points,deduction,subject\n"
    exam += "a,1?,x,y,A,9,3,one\nb,2?,x,y,A,1,,one\nc,3?,x,y,A,5,1,two\n"
    (run,) = runs_of(tmp_path, exam, {"m": {"a": "A", "b": "B", "c": "A"}})
    macro = run.summary().score("points").macro
    assert macro.value == pytest.approx((0.9 + 1) / 2)
    assert macro.interval is not None
    assert -1 / 3 <= macro.interval.low < macro.value < macro.interval.high <= 1


def test_a_macro_average_without_wrong_answers_has_no_spread_from_its_points(tmp_path):
    exam = "id,question,A,B,answer,points,subject\n"
    exam += "".join(f"{name}{at},{name} {at}?,x,y,A,{at + 1},{name}\n" for name in ("one", "two") for at in range(4))
    (run,) = runs_of(tmp_path, exam, {"m": {f"{name}{at}": "A" for name in ("one", "two") for at in range(4)}})
    macro = run.summary().score("points").macro
    assert macro.value == pytest.approx(1)
    assert macro.interval.high == pytest.approx(1)
    assert macro.interval.low > 0.5


OPTIONS = ("Diffusion", "Osmosis", "Transport", "Filtration")


@pytest.mark.parametrize(
    ("credit", "reply", "points"),
    [
        ("all", "A, C", 4), ("all", "A", -1),
        ("subset", "A", 2), ("subset", "A, B", -1),
        ("per_option", "A", 3), ("per_option", "A, B", 2), ("per_option", "B, D", -1),
        ("jaccard", "A, B", 4 / 3), ("jaccard", "B", -1),
        ("subset", "Cells are fascinating.", None),
    ],
)  # fmt: skip
def test_an_answer_gets_its_credit_and_one_without_any_costs_the_deduction(credit, reply, points):
    sample = Sample("q", "Which?", "AC", OPTIONS, metadata={"points": 4, "deduction": 1, "several": True})
    scores = {score.name: score for score in Choice(credit=credit, points=True)(sample, Output(reply))}
    assert scores["points"].value == (None if points is None else pytest.approx(points / 4))
    assert scores["points"].detail["weight"] == 4


def test_credit_is_for_questions_that_may_have_several_answers():
    sample = Sample("q", "Which?", "A", OPTIONS, metadata={"points": 4})
    scores = {score.name: score.value for score in Choice(credit="per_option", points=True)(sample, Output("B"))}
    assert scores == {"solve_rate": 0, "points": 0, "partial_credit": 0}


@pytest.mark.parametrize("worth", [{"points": -1}, {"points": "5"}, {"points": float("inf")}, {"deduction": True}])
def test_points_of_a_sample_from_python_are_checked(worth):
    with pytest.raises(ValueError, match=r"sample 'q': metadata (points|deduction) is .*; write a number, 0 or more"):
        Choice(points=True)(Sample("q", "Which?", "A", OPTIONS, metadata=worth), Output("A"))


@pytest.mark.parametrize(
    ("cell", "number"),
    [("5", 5), (5.0, 5), ("2.5 points", 2.5), ("１分", 1), ("1/3", 1 / 3), ("4 marks", 4), ("3점", 3), ("0", 0)],
)
def test_points_are_written_in_several_ways(cell, number):
    assert points_in(cell, "points") == pytest.approx(number)


def test_bad_points_are_named_with_their_cells(tmp_path):
    (tmp_path / "exam.csv").write_text(
        EXAM.replace(",5,1", ",-5,1").replace("2分,1", "two,-1").replace(",3,\n", ",0,1\n"), "utf-8"
    )
    defects = [str(defect) for defect in examine_choice(SampleFiles(tmp_path / "exam.csv")).defects]
    assert "exam.csv line 2 column H: -5 is negative; write 0 or more" in defects[0]
    assert "exam.csv line 3 column H: 'two' is not a number of points; write a number such as 5" in defects[1]
    assert "exam.csv line 3 column I: -1 is negative; write 1" in defects[2]
    assert "exam.csv line 4 column H: a question of 0 points has a deduction" in defects[3]


def test_points_that_sum_to_nothing_are_refused(tmp_path):
    (tmp_path / "exam.csv").write_text("question,A,B,answer,points\n1?,x,y,A,0\n2?,x,y,A,0\n", "utf-8")
    with pytest.raises(DataError, match=r"points of all 2 questions sum to 0 \(exam.csv column E points\)"):
        load_choice(SampleFiles(tmp_path / "exam.csv"))


def test_rows_with_defects_are_told_apart_where_points_sum_to_nothing(tmp_path):
    rows = "1?,x,y,A,0\n2?,x,y,A,0\n3?,x,y,,5\n4?,x,y,Z,5\n"
    (tmp_path / "exam.csv").write_text(f"question,A,B,answer,points\n{rows}", "utf-8")
    told = r"all 2 questions without a defect, of 4, sum to 0 .* The first defect of the 2 others: exam\.csv line 4"
    for skip_bad in (False, True):
        with pytest.raises(DataError, match=told):
            load_choice(SampleFiles(tmp_path / "exam.csv", skip_bad=skip_bad))


def test_a_table_without_points_beside_one_with_them_is_noted(tmp_path):
    for name, head in (("a", "points"), ("b", "remark")):
        (tmp_path / f"{name}.csv").write_text(f"question,A,B,answer,{head}\n{name}?,x,y,A,2\n", "utf-8")
    notes = load_choice(SampleFiles((tmp_path / "a.csv", tmp_path / "b.csv"))).notes
    assert "b.csv: no column of points, so each of its questions is worth 1 point" in notes
