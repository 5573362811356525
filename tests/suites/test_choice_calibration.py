"""Confidences of an exam's answers, stated or given: calibration on pages, in JSON and in gates; majority too."""

import json
import re

import pytest
from tests.report.sections_read import rows
from tests.suites.test_choice_points import runs_of

from steelyard import Output, Sample
from steelyard.analysis.gate.gate_figures import rule_figure
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.analysis.gate.gate_rules import parse_rule
from steelyard.constraints import check_options
from steelyard.errors import DataError
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.sections.classification import calibration_section
from steelyard.scorers.choice import Choice, LikelihoodAccuracy
from steelyard.targets.replay import Replay

EXAM = "\n".join(["id,question,A,B,answer", *(f"q{no},{no}?,x,y,A" for no in range(8))])
SAID = {f"q{no}": f"{'A' if no < 6 else 'B'}. Confidence: {90 if no % 2 else 60} %" for no in range(8)}


@pytest.fixture
def run(tmp_path):
    return runs_of(tmp_path, EXAM, {"m": SAID})[0]


def judged(run, **gate):
    summary = run.summary()
    figures = {
        (run.id, rule.text): rule_figure(rule, run.data(), summary) for rule in map(parse_rule, gate, gate.values())
    }
    return judge_gate(gate, [summary], figures=figures).results


def test_stated_confidences_are_compared_with_what_was_right(run):
    (found,) = run.summary().details.calibrations
    figures = found.figures
    assert (found.score, found.without, figures.n) == ("solve_rate", 0, 8)
    # Each bin has four answers, three of them right.
    assert figures.ece == pytest.approx((0.15 + 0.15) / 2)
    assert figures.brier == pytest.approx((3 * 0.16 + 0.36 + 3 * 0.01 + 0.81) / 8)
    table = rows(calibration_section(PageRuns([run.summary()], ["m"])), "calibration")
    assert table["calibration error (ECE)"] == ["15.0 %"]
    assert table["Brier score"][0].startswith("0.2100, ")
    assert run.summary().json_fields()["calibrations"] == (found,)


def test_the_reliability_diagram_is_on_the_page_and_its_bins_are_in_a_comment(run):
    page = html_report([run])
    assert "m: reliability diagram, 95 % CI" in page
    assert "60 to 70 %: confidence 60.0 %, right 75.0 %" in page
    comment = markdown_report([run])
    assert "calibration error" in comment
    assert "90 to 100 %" in comment


def test_gates_hold_calibration(run):
    results = judged(run, ece="<= 0.2", brier="<=! 0.2")
    assert [result.state for result in results] == ["holds", "undecided"]
    assert re.search(r"15.0 % over 8 answers of solve_rate; \d+.\d % by chance alone", results[0].sentence)


def test_without_confidences_there_is_no_section_and_a_gate_cannot_be_decided(tmp_path):
    said = {name: reply[:1] if name < "q5" else reply for name, reply in SAID.items()}
    run = runs_of(tmp_path, EXAM, {"m": said})[0]
    assert run.summary().details.calibrations == ()
    assert not calibration_section(PageRuns([run.summary()], ["m"]))
    (result,) = judged(run, ece="<= 0.2")
    assert (result.state, "fewer than half of its answers have a confidence" in result.sentence) == ("undecided", True)


def test_a_file_of_answers_may_hold_confidences(tmp_path):
    file = tmp_path / "r.csv"
    file.write_text("id,output,sure\nq0,A,0.25\nq1,B,\n", "utf-8")
    target = Replay(file, confidence="sure")
    outputs = [target(Sample(name, f"{name}?", "A", ("x", "y"))) for name in ("q0", "q1")]
    assert [output.metadata for output in outputs] == [{"confidence": 0.25}, {}]
    assert Choice()(Sample("q0", "?", "A", ("x", "y")), outputs[0]).detail["probability"] == 0.25


@pytest.mark.parametrize("value", ["85", "-0.1", "sure", "nan"])
def test_a_probability_out_of_range_is_refused_with_its_line(tmp_path, value):
    (tmp_path / "r.csv").write_text(f"id,output,confidence\nq0,A,0.5\nq1,A,{value}\n", "utf-8")
    message = f"r.csv line 3: 'confidence' is '{value}'; write a probability between 0 and 1, 0.85 for 85 %"
    with pytest.raises(DataError, match=re.escape(message)):
        check_options(Replay(tmp_path / "r.csv"))


def test_a_confidence_of_an_output_from_python_is_checked():
    with pytest.raises(ValueError, match="confidence is 85; write a probability between 0 and 1"):
        Choice()(Sample("q", "?", "A", ("x", "y")), Output("A", (), {"confidence": 85}))


def test_the_probability_of_the_likeliest_letter_is_a_confidence():
    likelihood = {"by": "letters", "logprobs": {"A": -0.2, "B": -1.7}, "probabilities": {"A": 0.81757, "B": 0.18243}}
    scores = LikelihoodAccuracy()(Sample("q", "?", "B", ("x", "y")), Output("A", (), {"likelihood": likelihood}))
    assert [score.detail.get("probability") for score in scores] == [0.818, None, None]


def test_a_gate_holds_the_majority_over_repeats(tmp_path):
    run = runs_of(tmp_path, EXAM, {"m": SAID}, options={"repeats": 3}, gate={"majority": ">= 0.7"})[0]
    results = judged(run, majority=">= 0.7")
    assert (results[0].state, results[0].value) == ("holds", 0.75)
    assert "75.0 % by the most frequent of 3 answers" in results[0].sentence
    config = json.loads((tmp_path / "exam.json").read_text())
    assert config["gate"] == {"majority": ">= 0.7"}


def test_a_majority_without_repeats_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(Exception, match="majority needs repeats of each sample"):
        runs_of(tmp_path, EXAM, {"m": SAID}, gate={"majority": ">= 0.7"})
