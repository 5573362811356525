"""A score has the same columns wherever records are exported."""

from __future__ import annotations

import csv
import io
import json
import math

import openpyxl
import pyarrow.parquet as pq
import pytest

from steelyard import Sample, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.report.exports.records import csv as csv_lines
from steelyard.report.exports.records import jsonl, write_parquet
from steelyard.report.exports.workbook import write_workbook

WANTED = {
    "a": {"result": 1.0, "result_outcome": "scored", "result_passed": 1, "result_label": "SQL correct"},
    "b": {"result": 0.0, "result_outcome": "scored", "result_passed": 0, "result_label": "SQL incorrect"},
    "c": {"result": None, "result_outcome": "unparsed", "result_passed": None, "result_label": None},
}
REASONS = {"a": "same rows", "b": "row 2 is missing", "c": "no SQL"}


def result(sample, output):
    if sample.id == "c":
        return Score("result", None, outcome="unparsed", reason=REASONS["c"])
    right = sample.id == "a"
    label = {"label": "SQL correct" if right else "SQL incorrect"}
    return Score("result", float(right), reason=REASONS[sample.id], detail=label)


def hit(sample, output):
    return Score("hit", float(sample.id == "a"))


def overlap(sample, output):
    return Score("overlap", 0.4)


result.score_infos = (ScoreInfo("result", (0, 1), threshold=1.0, named_verdicts=True),)
hit.score_infos = (ScoreInfo("hit", (0, 1), threshold=1.0, labels=("hit", "miss")),)
overlap.score_infos = (ScoreInfo("overlap", (0, 1)),)


@pytest.fixture
def run(tmp_path):
    samples = [Sample(name, f"{name}?") for name in WANTED]
    suite = Suite("s", "custom", samples, {"t": lambda _: "x"}, (result, hit, overlap))
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))
    return run


def rows_of(run, form, tmp_path):
    """Sample's id -> its cells by column, empty cells as None and numbers as numbers."""
    if form == "frame":
        frame = run.to_frame()
        rows = [
            {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
            for row in frame.to_dict("records")
        ]
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO("".join(csv_lines(run)).removeprefix("\ufeff"))))
        rows = [{name: _number(value) for name, value in row.items()} for row in rows]
    elif form == "parquet":
        write_parquet(run, tmp_path / "out.parquet")
        rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    else:
        write_workbook([run], tmp_path / "out.xlsx")
        header, *cells = openpyxl.load_workbook(tmp_path / "out.xlsx")["t"].iter_rows(values_only=True)
        rows = [dict(zip(header, row, strict=True)) for row in cells]
    return {row["id"]: row for row in rows}


def _number(text):
    try:
        return float(text) if text else None
    except ValueError:
        return text


@pytest.mark.parametrize("form", ["frame", "csv", "xlsx", "parquet"])
def test_label_and_reason_of_a_verdict_are_in_every_format(run, form, tmp_path):
    rows = rows_of(run, form, tmp_path)
    for name, wanted in WANTED.items():
        assert {column: rows[name][column] for column in wanted} == wanted
        assert rows[name]["result_reason"] == REASONS[name]
    assert [rows[name]["hit_label"] for name in "ab"] == ["hit", "miss"]
    assert {row["overlap_passed"] for row in rows.values()} == {None}
    assert "overlap_label" not in rows["a"]


def test_json_lines_name_the_verdict_too(run):
    entries = [json.loads(line)["scores"] for line in jsonl(run)]
    assert [entry[0].get("label") for entry in entries] == ["SQL correct", "SQL incorrect", None]
    assert [entry[1]["label"] for entry in entries[:2]] == ["hit", "miss"]
    assert entries[1][0]["reason"] == REASONS["b"]
