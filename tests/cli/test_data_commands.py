"""Datasets on the command line: their rows, what a draft or a version changes, and saving a draft."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from steelyard import Store
from steelyard.data.new_version import RowEdit
from steelyard.people.dataset_drafts import change_row, read_draft
from steelyard.people.named_datasets import named_datasets

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
    changes = {
        "q1": RowEdit("changed", {"question": "One and one?"}),
        "q2": RowEdit("retired"),
        "q4": RowEdit("added", dict(zip(ROWS[0][1:], ["Sky?", "black", "red", "A", "world"], strict=True))),
    }
    with Store() as store:
        [dataset] = named_datasets(store)
        draft = read_draft(store, dataset.id, dataset.versions[0].digest)
        for row, edit in changes.items():
            change_row(store, draft, row, edit, author="ann", seen=0)
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
        (("diff", "exams.csv"), "did you mean 'exam.csv'"),
        (("diff", "exam.csv", "-b", "zz"), "has no version 'zz'"),
        (("save", "exam.csv", "--author", "ann"), "no changes to save"),
    ],
)
def test_what_cannot_be_done_is_said(exam, arguments, words):
    done = exam("data", *arguments, code=2)
    assert words in " ".join(f"{done.out} {done.err}".split())
    assert sorted(path.name for path in Path().glob("*.csv")) == ["exam.csv"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE run SET manifest = json_set(manifest, '$.samples.source.sheets', json('true'))",
        "UPDATE event SET body = '[]' WHERE kind = 'saved'",
        "UPDATE event SET body = json_remove(body, '$.parent') WHERE kind = 'saved'",
    ],
)
def test_what_a_store_of_strangers_says_of_a_dataset_is_damage_and_no_defect(exam, change):
    with Store() as store:
        dataset = named_datasets(store)[0]
        draft = read_draft(store, dataset.id, dataset.versions[0].digest)
        change_row(store, draft, "q1", RowEdit("changed", {"answer": "A"}), author="ann", seen=0)
    exam("data", "save", "exam.csv", "--author", "ann", code=0)
    with closing(sqlite3.connect(".steelyard/steelyard.db")) as connection, connection:
        connection.execute(change)
    said = exam("data", "diff", "exam.csv", code=4).err
    assert said.startswith("error: the store ")
    assert "defect" not in said
