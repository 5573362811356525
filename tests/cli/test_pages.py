"""report, export and convert."""

import csv
import json
from xml.etree import ElementTree as ET

import pytest
from pyarrow import parquet
from python_calamine import CalamineWorkbook


@pytest.fixture
def ran(steelyard, write, says):
    steelyard("run", write({"a": says("A"), "c": says("=1+1 B")}), code=0)


def test_a_report_goes_to_report_html_where_nothing_is_said(steelyard, ran, tmp_path):
    assert steelyard("report", "a", "c", code=0).err == "wrote report.html\n"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org/", "")
    steelyard("report", "a", "--markdown", "r.md", code=0)
    assert "25.0 %" in (tmp_path / "r.md").read_text(encoding="utf-8")


def test_export_writes_a_json_line_per_record(steelyard, ran, tmp_path):
    rows = [json.loads(line) for line in steelyard("export", "a", code=0).out.splitlines()]
    assert [row["sample"]["input"] for row in rows] == [f"Question {n}?" for n in range(20)]
    assert steelyard("export", "a", "--out", "deep/a.jsonl", code=0).out == "wrote deep/a.jsonl\n"
    assert len((tmp_path / "deep/a.jsonl").read_text(encoding="utf-8").splitlines()) == 20


def test_export_writes_csv_whose_cells_are_no_formulas_unless_asked(steelyard, ran):
    for more, cell in (([], "'=1+1 B"), (["--raw"], "=1+1 B")):
        out = steelyard("export", "c", "--format", "csv", *more, code=0).out
        rows = list(csv.DictReader(out.removeprefix("\ufeff").splitlines()))
        assert [row["output"] for row in rows if row["id"]][:1] == [cell]


def test_export_takes_its_format_from_the_name_of_the_file(steelyard, ran, tmp_path):
    steelyard("export", "a", "--out", "a.csv", code=0)
    assert (tmp_path / "a.csv").read_text(encoding="utf-8-sig").startswith("run,target,")
    steelyard("export", "a", "--out", "b.csv", "--format", "jsonl", code=0)
    assert (tmp_path / "b.csv").read_text(encoding="utf-8").startswith('{"run":')


def test_export_writes_a_list_per_target_into_a_folder(steelyard, ran, tmp_path):
    out = steelyard("export", "a", "--json-dir", "lists", code=0).out
    assert out.splitlines() == ["wrote lists/a.json: 20 rows", "wrote lists/c.json: 20 rows"]
    rows = json.loads((tmp_path / "lists/a.json").read_text(encoding="utf-8"))
    assert rows[0]["question"] == "Question 0?"


def test_export_refuses_an_unknown_format_and_a_place_it_cannot_write(steelyard, ran):
    assert "expected jsonl, csv, xlsx, parquet" in steelyard("export", "a", "--format", "xml", code=2).err
    assert ".ods is not written; name a .xlsx" in steelyard("export", "a", "--out", "a.ods", code=2).err
    assert ".pdf is not written; name a .xlsx" in steelyard("export", "a", "--out", "a.pdf", code=2).err
    assert "name a file with --out" in steelyard("export", "a", "--format", "parquet", code=2).err
    assert "a workbook only" in steelyard("export", "a", "c", code=2).err
    assert "cannot be written" in steelyard("export", "a", "--out", "exam.csv/a.jsonl", code=2).err


def test_export_writes_tables_by_the_name_of_their_file(steelyard, ran, tmp_path):
    steelyard("export", "a", "c", "--out", "both.xlsx", code=0)
    sheets = CalamineWorkbook.from_path(tmp_path / "both.xlsx").sheet_names
    assert sheets == ["Summary", "a", "c"]
    steelyard("export", "a", "--out", "deep/a.parquet", code=0)
    assert parquet.read_table(tmp_path / "deep/a.parquet").num_rows == 20


def test_report_writes_junit_alone_where_it_is_asked_for(steelyard, ran, tmp_path):
    steelyard("report", "a", "--junit", "junit.xml", code=0)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert root.find("testsuite").get("tests") == "20"
    assert not (tmp_path / "report.html").exists()


def test_convert_refuses_what_is_not_json_with_its_place(steelyard, tmp_path):
    (tmp_path / "old.json").write_text('{"sources":\n [}', encoding="utf-8")
    assert "old.json:2:" in steelyard("convert", "old.json", code=2).err
