"""Workbooks and Parquet files of stored runs."""

from __future__ import annotations

import sys

import openpyxl
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

from steelyard.errors import ConfigError
from steelyard.report.exports.records import ExportTable, write_parquet
from steelyard.report.exports.workbook import write_workbook
from steelyard.types import Label, Output, Record, Remarks, Sample, Score


class Kept:
    """A stored run of given records."""

    id, target, seconds, tags = "r1", "glm", 2.5, {"size": "6b"}

    def __init__(self, *records, labels=(), of=None):
        self._records, self._labels, self._of = records, labels, of
        self.manifest = {"primary": "solve_rate", "scores": ["solve_rate"]}
        self.done = len(records)

    def records(self):
        return iter(self._records)

    def scored_names(self):
        return iter(())

    def remarks(self):
        return Remarks((), self._labels)

    def summary(self):
        return self._of.summary()


def record(output="A", value=1.0, **more):
    score = Score("solve_rate", value, passed=value == 1) if value is not None else _unparsed()
    return Record(Sample("q1", "Which?", "B", ("left", "right")), Output(output), (score,), **more)


def _unparsed():
    return Score("solve_rate", None, outcome="unparsed")


def sheet_of(path, name):
    return list(openpyxl.load_workbook(path)[name].iter_rows())


def test_a_workbook_has_a_sheet_of_summaries_and_one_per_run(pair, tmp_path):
    write_workbook(pair, tmp_path / "out.xlsx")
    book = CalamineWorkbook.from_path(tmp_path / "out.xlsx")
    first, *others = book.sheet_names
    assert first == "Summary"
    assert len(others) == len(pair)
    rows = book.get_sheet_by_name(others[0]).to_python()
    assert len(rows) == 1 + len(list(pair[0].records()))
    summary = book.get_sheet_by_name("Summary").to_python()
    value = summary[0].index("value")
    mean = pair[0].summary().scores[0].headline
    assert summary[1][value] == pytest.approx(mean.value)
    assert summary[1][summary[0].index("standard_error")] == pytest.approx(mean.standard_error)


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "\t=1", "#REF!", "TRUE"])
def test_no_text_becomes_a_formula(pair, text, tmp_path):
    write_workbook([Kept(record(text), of=pair[0])], tmp_path / "out.xlsx")
    header, row = sheet_of(tmp_path / "out.xlsx", "glm")
    cell = row[[cell_of.value for cell_of in header].index("output")]
    assert (cell.data_type, cell.value.strip("\t")) == ("s", text.strip("\t"))


def test_what_no_sheet_takes_is_escaped_and_what_is_too_long_is_cut(pair, tmp_path):
    long = Kept(record("\x00\x1b" + "長" * 40_000), of=pair[0])
    write_workbook([long], tmp_path / "out.xlsx")
    header, row = sheet_of(tmp_path / "out.xlsx", "glm")
    shown = row[[cell.value for cell in header].index("output")].value
    assert shown.startswith("\\x00\\x1b長")
    assert (len(shown), shown[-5:]) == (32_767, "(cut)")


def test_two_targets_of_one_name_get_two_sheets(pair, tmp_path):
    runs = [Kept(record(), of=pair[0]) for _ in range(3)]
    runs[1].target, runs[2].target = "GLM", "a/b[c]:" + "x" * 40
    write_workbook(runs, tmp_path / "out.xlsx")
    assert CalamineWorkbook.from_path(tmp_path / "out.xlsx").sheet_names == [
        "Summary", "glm", "GLM (2)", "a_b_c__" + "x" * 24,
    ]  # fmt: skip


def test_no_sheet_has_the_name_that_excel_keeps_for_itself(pair, tmp_path):
    run = Kept(record(), of=pair[0])
    run.target = "history"
    write_workbook([run], tmp_path / "out.xlsx")
    assert CalamineWorkbook.from_path(tmp_path / "out.xlsx").sheet_names == ["Summary", "history (2)"]


def test_a_table_that_cannot_be_put_in_its_place_leaves_no_part_behind(pair, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_workbook(pair, tmp_path / "out")
    with pytest.raises(OSError, match="directory"):
        write_parquet(pair[0], tmp_path / "out")
    assert [path.name for path in tmp_path.glob("out*")] == ["out"]


def test_parquet_has_typed_columns_and_every_record(pair, tmp_path):
    write_parquet(pair[0], tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.num_rows == len(list(pair[0].records()))
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["solve_rate"], types["input_tokens"], types["output"]) == ("double", "int64", "string")
    assert table.column_names == ExportTable.of(pair[0]).names


def test_a_score_named_like_a_column_keeps_a_column_of_its_own(tmp_path):
    run = Kept(Record(Sample("q1", "?", "B"), Output("A"), (Score("output", 0.5),)))
    run.manifest = {"scores": ["output"]}
    write_parquet(run, tmp_path / "out.parquet")
    row = pq.read_table(tmp_path / "out.parquet").to_pylist()[0]
    assert (row["output"], row["output_2"]) == ("A", 0.5)


def test_hostile_text_is_written_to_parquet_as_escapes(tmp_path):
    write_parquet(Kept(record("\ud800\x00")), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["output"].to_pylist() == ["\\ud800\\x00"]


def test_labels_stand_in_columns_of_their_own(tmp_path):
    from datetime import UTC, datetime

    label = Label("q1", "cause", "typo", "ann", datetime(2026, 1, 1, tzinfo=UTC))
    write_parquet(Kept(record(), labels=(label,)), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["label_cause"].to_pylist() == ["typo"]


@pytest.mark.parametrize(("module", "write"), [("openpyxl", write_workbook), ("pyarrow", write_parquet)])
def test_a_missing_extra_is_named_with_what_to_install(module, write, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r"pip install '(openpyxl|pyarrow)>="):
        write([Kept()] if write is write_workbook else Kept(), tmp_path / "out")
