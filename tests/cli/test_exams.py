"""The tables of an exam on a terminal of 80 columns."""

import datetime as dt
import json

import openpyxl
import pytest
from tests.report.test_exam import KEYS, samples
from tests.store.exam_run import exam_runs


@pytest.fixture
def exam(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = samples()
    one = [KEYS[at % 4] if at % 5 else "well" for at in range(len(asked))]
    names = ("a target with a name that is longer than any column", "b", "c")
    exam_runs(".steelyard/steelyard.db", {name: one[at:] + one[:at] for at, name in enumerate(names)}, samples=asked)


def widest(text):
    return max(map(len, text.splitlines()))


def test_one_run_is_shown_in_full(steelyard, exam):
    out = steelyard("show", "b", code=0).out
    for part in (
        "More about this rate",
        "mean of the categories",
        "above guessing",
        "all 4 orders right",
        "correct letter",
    ):
        assert part in out
    assert "As other tools would read it" in out
    assert widest(out) <= 80


def test_two_runs_stand_side_by_side_and_no_figure_is_cut(steelyard, exam):
    out = steelyard("compare", "b", "c", "--full", code=0).out
    assert "all questions" in out
    assert widest(out) <= 80
    assert "…" not in out.split("More about this rate")[1].split("As other tools")[0]


def test_more_runs_leave_the_section_to_the_page(steelyard, exam):
    runs = [one["id"] for one in steelyard("runs", "--json").json()]
    out = steelyard("compare", *runs, code=0).out
    assert "More about this rate" not in out
    assert widest(out) <= 80


def test_json_has_all_of_it(steelyard, exam):
    plain = steelyard("show", "b", "--json", code=0).json()
    (found,) = plain["exams"]
    assert (found["score"], found["questions"], found["rotations"]["orders"]) == ("solve_rate", 12, 4)
    assert plain["also_scored"] == ["last_letter"]
    assert plain["scores"][0]["macro"]["n"] == 2
    assert plain["labelled"] is None


def test_copies_are_kept_and_rows_with_lost_fractions_left_out_by_one_configuration(steelyard, says, tmp_path):
    book = openpyxl.Workbook()
    rows = [
        ["Which?", "Sun", "Mars", "A"],
        ["Which?", "Sun", "Mars", "A"],
        ["How many?", dt.date(2026, 1, 2), "3/4", "B"],
    ]
    for row in (["question", "A", "B", "answer"], *rows, rows[0]):
        book.active.append(row)
    book.save(tmp_path / "exam.xlsx")
    given = {"file": "exam.xlsx", "duplicates": "keep", "skip_rows_with": ["dates"]}
    config = {"suite": "choice", "samples": given, "targets": {"a": says("A")}}
    (tmp_path / "exam.json").write_text(json.dumps(config), "utf-8")
    checked = " ".join(steelyard("check", "exam.json", code=0).out.split())
    assert "3 samples" in checked
    assert "1 row was left out (skip_rows_with: dates)" in checked
    assert "kept: 1, with 2 copies" in checked
    steelyard("run", "exam.json", code=0)
    shown = steelyard("show", "a", "--json", code=0).json()
    assert (shown["done"], shown["exams"][0]["questions"]) == (3, 1)
