"""New versions of a dataset's file: every format comes back through the ordinary loader as it was meant."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from steelyard.data import SampleFiles
from steelyard.data.dataset_file import dataset_difference, digest_of_file, read_dataset_file
from steelyard.data.new_version import RowEdit, edited_rows, unwritable, write_new_version
from steelyard.errors import ConfigError, DataError
from steelyard.suites.pairwise import ROLES, load_pairwise

HARD = ["=1+1", "a,b;c\td", 'says "so"', "two\nlines", " blanks ", "题目，是", "+49", "007", "1.50"]
"""Texts that a writer of sheets or of delimited files likes to change."""


def cells(at):
    return {"id": f"r{at}", "question": f"Question {at}?", "answer": HARD[at], "group": "g"}


ROWS = [cells(at) for at in range(len(HARD))]


def csv_text(rows, delimiter=","):
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    return text.getvalue()


def workbook(path, rows):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "Exam"
    for line in [["An exam of 2026"], list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(line)
        for cell in book.active[book.active.max_row]:
            cell.data_type = "s"
    book.save(path)


WRITERS = {
    "rows.csv": lambda path, rows: path.write_text(csv_text(rows), encoding="utf-8"),
    "rows.tsv": lambda path, rows: path.write_text(csv_text(rows, "\t"), encoding="utf-8"),
    "marked.csv": lambda path, rows: path.write_text(csv_text(rows, ";"), encoding="utf-8-sig"),
    "chinese.csv": lambda path, rows: path.write_text(csv_text(rows), encoding="gb18030"),
    "rows.jsonl": lambda path, rows: path.write_text("".join(map(_line, rows)), encoding="utf-8"),
    "rows.json": lambda path, rows: path.write_text(json.dumps(rows), encoding="utf-8"),
    "wrapped.json": lambda path, rows: path.write_text(json.dumps({"by": "us", "data": rows}), encoding="utf-8"),
    "rows.xlsx": workbook,
}


def _line(row):
    return json.dumps(row) + "\n"


def opened(path):
    return read_dataset_file(SampleFiles(path), ROLES, digest_of_file(path))


def saved(path, edits):
    file = opened(path)
    return write_new_version(file, edited_rows(file, edits), lambda new: read_dataset_file(SampleFiles(new), ROLES, ""))


def samples(path):
    return {
        sample.id: (sample.input, sample.reference, sample.group) for sample in load_pairwise(SampleFiles(path)).samples
    }


@pytest.mark.parametrize("name", WRITERS)
def test_each_format_comes_back_with_its_ids_and_hard_texts(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path, ROWS)
    before = samples(path)
    edits = {
        "r2": RowEdit("changed", {"question": "Changed?\nSecond, line", "answer": "=cmd()"}),
        "r3": RowEdit("retired"),
        "new": RowEdit("added", {"question": "New?", "answer": '"quoted"'}),
    }
    new, digest = saved(path, edits)
    assert new.name == f"{path.stem}.v2{path.suffix}"
    assert digest_of_file(new) == digest
    expected = {ident: sample for ident, sample in before.items() if ident != "r3"}
    expected |= {"r2": ("Changed?\nSecond, line", "=cmd()", "g"), "new": ("New?", '"quoted"', "")}
    assert samples(new) == expected
    assert list(samples(new)) == list(expected)
    difference = dataset_difference(opened(path), opened(new))
    assert difference.counts == {"added": 1, "changed": 1, "retired": 1}
    assert {path.name, new.name} == {each.name for each in tmp_path.iterdir()}


def test_the_keys_beside_a_list_stay(tmp_path):
    path = tmp_path / "wrapped.json"
    WRITERS["wrapped.json"](path, ROWS)
    new, _ = saved(path, {"r1": RowEdit("retired")})
    assert json.loads(new.read_text(encoding="utf-8"))["by"] == "us"


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.xlsx"])
def test_rows_without_ids_keep_those_that_runs_know(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path, [{key: value for key, value in row.items() if key != "id"} for row in ROWS])
    before = list(samples(path))
    new, _ = saved(path, {before[1]: RowEdit("retired")})
    assert list(samples(new)) == [before[0], *before[2:]]
    assert opened(new).id_column == "id"
    assert dataset_difference(opened(path), opened(new)).counts == {"added": 0, "changed": 0, "retired": 1}


def test_values_of_json_that_are_no_texts_stay_what_they_are(tmp_path):
    rows = [
        {"id": 1, "question": "a?", "answer": ["x", "y"], "n": 1.5, "more": {"k": None}, "no": None},
        {"id": 2, "question": "b?"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(map(_line, rows)), encoding="utf-8")
    new, _ = saved(path, {"2": RowEdit("changed", {"answer": "z"})})
    (first, second) = map(json.loads, new.read_text(encoding="utf-8").splitlines())
    del rows[0]["no"]
    assert first == rows[0]
    assert second == {"id": 2, "question": "b?", "answer": "z"}


def test_a_cell_that_its_format_cannot_hold_is_refused_and_leaves_no_file(tmp_path):
    path = tmp_path / "rows.csv"
    WRITERS["rows.csv"](path, ROWS[:2])
    with pytest.raises(DataError, match="the new file:3: a NUL character"):
        saved(path, {"r1": RowEdit("changed", {"answer": "before\x00after"})})
    assert [each.name for each in tmp_path.iterdir()] == ["rows.csv"]


def test_a_sheet_without_header_and_ids_is_refused_since_ids_would_move(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("What is it?,that\nWho is it?,he\n", encoding="utf-8")
    files = SampleFiles(path, header="none", columns={"question": "A", "answer": "B"})
    file = read_dataset_file(files, ROLES, "")
    with pytest.raises(ConfigError, match="neither ids nor a header"):
        write_new_version(file, file.rows[:1], lambda _: file)


def test_a_format_that_cannot_be_written_says_which_can():
    assert ".csv, .json, .jsonl, .tsv, .xlsx can" in unwritable(Path("rows.parquet"))


def test_a_pipe_a_folder_and_a_link_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "real.csv").write_text("a,b\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    for name, reason in {"pipe": "not a regular file", "folder": "not a regular file", "link": "symbolic link"}.items():
        with pytest.raises(ConfigError, match=reason):
            digest_of_file(tmp_path / f"{name}.csv")
