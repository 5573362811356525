"""Datasets on the command line: what the viewer does, in a terminal."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

ROWS = [
    ["id", "question", "A", "B", "answer", "group"],
    ["q1", "1 + 1?", "1", "2", "B", "sums"],
    ["q2", "2 + 2?", "4", "5", "A", "sums"],
    ["q3", "Sky?", "blue", "red", "A", "world"],
]


@pytest.fixture
def exam(steelyard, once):
    """A run of three questions in a CSV file; the command line of its folder."""

    def make():
        with Path("exam.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(ROWS)
        Path("exam.yaml").write_text(
            "suite: choice\nsamples: {file: exam.csv}\ntargets:\n  random: {baseline: random}\n", encoding="utf-8"
        )
        steelyard("run", "exam.yaml", code=0)

    once(make)
    return steelyard


def test_a_dataset_is_changed_compared_and_saved(exam):
    assert exam("data", "list", "--json", code=0).json()[0]["versions"][0]["file"] == "exam.csv"
    exam("data", "edit", "exam.csv", "q1", "--set", "question=One and one?", "--author", "ann", code=0)
    exam("data", "retire", "exam.csv", "q2", "--author", "bob", code=0)
    exam("data", "add", "exam.csv", "q4", "--from", "latest/q3", "--set", "A=black", "--author", "ann", code=0)
    shown = exam("data", "show", "exam.csv", "--search", "one and", "--json", code=0).json()
    assert [(row["id"], row["draft"]) for row in shown] == [("q1", "changed")]
    before = exam("data", "diff", "exam.csv", "--json", code=0).json()
    assert exam("data", "save", "exam.csv", "--author", "ann", "--json", code=0).json()["added"] == 1
    assert exam("data", "diff", "exam.csv", "--json", code=0).json() == before
    assert before["changed"] == [{"id": "q1", "cells": {"question": ["1 + 1?", "One and one?"]}}]
    with Path("exam.v2.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ROWS[0],
        ["q1", "One and one?", *ROWS[1][2:]],
        ROWS[3],
        ["q4", "Sky?", "black", "red", "A", "world"],
    ]
    newest = exam("data", "list", "--json", code=0).json()[0]["versions"][0]
    assert (newest["file"], newest["author"], newest["runs"]) == ("exam.v2.csv", "ann", [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "exams.csv"), "did you mean 'exam.csv'"),
        (("show", "exam.csv", "--version", "zz"), "has no version 'zz'"),
        (("edit", "exam.csv", "q9", "--set", "A=x", "--author", "ann"), "has no row 'q9'"),
        (("edit", "exam.csv", "q1", "--set", "questoin=x", "--author", "ann"), "did you mean 'question'"),
        (("edit", "exam.csv", "q1", "--set", "id=x", "--author", "ann"), "has no column 'id' to set"),
        (("add", "exam.csv", "q1", "--set", "A=x", "--author", "ann"), "has a row with the id q1"),
        (("retire", "exam.csv", "q1", "--undo", "--author", "ann"), "the draft of exam.csv has no row"),
        (("retire", "exam.csv", "q1", "--author", " "), "your name is missing"),
        (("save", "exam.csv", "--author", "ann"), "no changes to save"),
    ],
)
def test_what_cannot_be_done_is_said(exam, arguments, words):
    done = exam("data", *arguments, code=2)
    assert words in " ".join(f"{done.out} {done.err}".split())
    assert sorted(path.name for path in Path().glob("*.csv")) == ["exam.csv"]


def test_undoing_takes_a_row_out_of_the_draft(exam):
    exam("data", "retire", "exam.csv", "q1", "--author", "ann", code=0)
    exam("data", "retire", "exam.csv", "q1", "--undo", "--author", "bob", code=0)
    assert "no changes to save" in exam("data", "save", "exam.csv", "--author", "ann", code=2).err
