"""Labels in files: which repeat of a sample each is about."""

import json

import pytest

from steelyard import ExactMatch, Sample, evaluate
from steelyard.errors import DataError
from steelyard.people.sheets import read_labels


def test_a_label_is_of_the_repeat_that_its_row_names_and_else_of_the_first(tmp_path):
    samples = [Sample("q1", "?", "yes"), Sample("q2", "?", "yes")]
    run = evaluate(lambda sample: "yes", samples, [ExactMatch()], repeats=3)
    path = tmp_path / "labels.csv"
    rows = "q1,2,exact_match,1,ann\nq1,,exact_match,0,bob\nq2,1,exact_match,1,ann\n"
    path.write_text(f"sample,repeat,name,value,author\n{rows}", encoding="utf-8")
    labelled = [(label.sample, label.repeat, label.author) for label in read_labels(run, path)]
    assert labelled == [("q1", 2, "ann"), ("q1", 0, "bob"), ("q2", 1, "ann")]


@pytest.mark.parametrize("value", ["nan", "NaN", "NAN", "-nan", "inf", "+Inf", "-Infinity", "INFINITY", " nan "])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_value_that_is_no_finite_number_is_refused_with_its_row(tmp_path, value, suffix):
    run = evaluate(lambda sample: "yes", [Sample("q1", "?", "yes")], [ExactMatch()])
    path = tmp_path / f"labels.{suffix}"
    header = "sample,name,value,author\nq1,exact_match,1,bob\n"
    rows = [{"sample": "q1", "name": "exact_match", "value": said, "author": "ann"} for said in (1, value)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(f"{header}q1,exact_match,{value},ann\n" if suffix == "csv" else lines, encoding="utf-8")
    with pytest.raises(DataError, match=rf"labels.{suffix} row [23]: value is .*; expected a finite number"):
        read_labels(run, path)


def test_a_remark_may_say_nan(tmp_path):
    run = evaluate(lambda sample: "yes", [Sample("q1", "?", "yes")], [ExactMatch()])
    path = tmp_path / "labels.csv"
    path.write_text("sample,name,kind,value,author\nq1,comment,text,nan,ann\n", encoding="utf-8")
    assert [label.value for label in read_labels(run, path)] == ["nan"]


def test_a_cell_that_is_nested_too_deep_is_a_text(tmp_path):
    run = evaluate(lambda sample: "yes", [Sample("q1", "?", "yes")], [ExactMatch()])
    path = tmp_path / "labels.csv"
    cell = "[" * 100_000
    path.write_text(f"sample,name,kind,value,author\nq1,comment,text,{cell},ann\n", encoding="utf-8")
    assert [label.value for label in read_labels(run, path)] == [cell]
