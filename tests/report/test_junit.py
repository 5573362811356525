"""JUnit XML: what a continuous integration server makes of a run."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.report.render.junit import junit
from steelyard.types import Failure, Output, Record, Remarks, Sample, Score


class Kept:
    """A stored run of given records."""

    id, target, seconds, done = "r1", "glm", 2.5, 0

    def __init__(self, *records):
        self._records = records
        self.manifest = {"primary": "solve_rate"}

    def records(self):
        return iter(self._records)

    def remarks(self):
        return Remarks()


def record(score, **more):
    return Record(Sample("q1", "Which?", "B", group="taste"), Output("It is A"), (score,) if score else (), **more)


def read(*records, gate=None):
    return ET.fromstring("".join(junit([Kept(*records)], gate)))


@pytest.mark.parametrize(
    ("score", "tag", "kind"),
    [
        (Score("solve_rate", 1.0, passed=True), None, None),
        (Score("solve_rate", 0.0, passed=False, reason="A, B is right"), "failure", "not passed"),
        (Score("solve_rate", None, outcome="unparsed", reason="nothing"), "failure", "unparsed"),
        (Score("solve_rate", None, outcome="refused"), "failure", "refused"),
        (Score("solve_rate", None, outcome="not_applicable"), "skipped", None),
        (Score("solve_rate", 0.0), "skipped", None),
        (Score("solve_rate", 0.9), "skipped", None),
        (None, "skipped", None),
    ],
)
def test_what_came_of_a_record_is_an_element_of_its_test(score, tag, kind):
    [test] = read(record(score)).iter("testcase")
    assert [element.tag for element in test] == ([tag] if tag else [])
    assert (test.get("name"), test.get("classname")) == ("q1", "taste")
    if kind:
        assert test[0].get("type") == kind


def test_a_record_that_failed_is_an_error_and_no_failure():
    suite = read(record(None, failure=Failure("target", "timeout", "no answer in 120 s"))).find("testsuite")
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    assert "no answer" in suite.find("testcase/error").text


def test_counts_stand_before_the_tests_and_agree_with_them():
    wrong, right = Score("solve_rate", 0.0, passed=False), Score("solve_rate", 1.0, passed=True)
    suite = read(record(wrong), record(right, repeat=1), record(None)).find("testsuite")
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1", "time": "2.500"}
    assert [test.get("name") for test in suite] == ["q1", "q1 (repeat 1)", "q1"]


def test_a_rule_of_the_gate_is_a_test(pair):
    gate = judge_gate({"solve_rate": ">= 0.99"}, [pair[0].summary()])
    [runs, rules] = ET.fromstring("".join(junit([pair[0]], gate))).iter("testsuite")
    assert int(runs.get("tests")) == len(list(pair[0].records()))
    assert rules.get("name") == "gate"
    assert rules.find("testcase/failure").get("type") == gate.results[0].state


@given(st.text())
def test_whatever_a_model_wrote_the_file_is_xml(text):
    wrong = Score("solve_rate", 0.0, passed=False, reason=text)
    hostile = Record(Sample("q" + text, text, "B", group=text), Output(text), (wrong,))
    [test] = read(hostile).iter("testcase")
    assert test.find("failure") is not None
