"""report, export and convert."""

import csv
import json
import re
import shlex
from xml.etree import ElementTree as ET

import pytest
from pyarrow import parquet
from python_calamine import CalamineWorkbook

from steelyard import Store


@pytest.fixture
def ran(steelyard, write, says, once):
    once(lambda: steelyard("run", write({"a": says("A"), "c": says("=1+1 B")}), code=0))


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
    assert steelyard("export", "a", "--out", "deep/down/a.jsonl", code=0).out == "wrote deep/down/a.jsonl\n"
    assert len((tmp_path / "deep/down/a.jsonl").read_text(encoding="utf-8").splitlines()) == 20


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
    assert out.splitlines() == ["wrote lists/a.json: 20 rows"]
    assert [one.name for one in (tmp_path / "lists").iterdir()] == ["a.json"]
    out = steelyard("export", "a", "c", "--json-dir", "lists", code=0).out
    assert out.splitlines() == ["wrote lists/a.json: 20 rows", "wrote lists/c.json: 20 rows"]
    rows = json.loads((tmp_path / "lists/a.json").read_text(encoding="utf-8"))
    assert rows[0]["question"] == "Question 0?"


def test_the_exported_list_is_scored_again_by_replay_with_the_same_rate(steelyard, ran, write):
    steelyard("export", "a", "--json-dir", "lists", code=0)
    again = {"replay": {"file": "lists/a.json", "id": "question", "output": "kb_answer"}}
    steelyard("run", write({"again": again}, name="again.json"), code=0)
    with Store() as store:
        scored = {run.target: run.summary().score("solve_rate") for run in store.runs()}
    assert scored["again"].overall == scored["a"].overall
    assert scored["a"].scored == 20


def test_export_refuses_an_unknown_format_and_a_place_it_cannot_write(steelyard, ran):
    assert "expected jsonl, csv, xlsx, parquet" in steelyard("export", "a", "--format", "xml", code=2).err
    assert ".ods files cannot be written; name a .xlsx" in steelyard("export", "a", "--out", "a.ods", code=2).err
    assert ".pdf files cannot be written; name a .xlsx" in steelyard("export", "a", "--out", "a.pdf", code=2).err
    assert "name a file with --out" in steelyard("export", "a", "--format", "parquet", code=2).err
    assert "to a workbook (--out FILE.xlsx) or a folder" in steelyard("export", "a", "c", code=2).err
    assert "need --json-dir" in steelyard("export", "a", "--source", "x.csv", code=2).err
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


def test_export_never_replaces_the_file_of_another_run(steelyard, ran, write, says, tmp_path):
    steelyard("run", write({"a": says("C")}), "--quiet", code=0)
    newer, older = [one["id"] for one in steelyard("runs", "--json").json() if one["target"] == "a"]
    steelyard("export", older, "--json-dir", "out", code=0)
    before = (tmp_path / "out/a.json").read_bytes()
    refused = steelyard("export", newer, "--json-dir", "out", code=2).err
    assert "out/a.json holds other rows" in refused
    assert (tmp_path / "out/a.json").read_bytes() == before
    steelyard("export", older, "--json-dir", "out", code=0)
    steelyard("export", newer, older, newer, "--json-dir", "both", code=0)
    assert {one.name for one in (tmp_path / "both").iterdir()} == {f"a.{newer}.json", f"a.{older}.json"}
    steelyard("export", newer, "--json-dir", "out", "--overwrite", code=0)
    assert (tmp_path / "out/a.json").read_bytes() != before


@pytest.fixture
def two_sources(tmp_path):
    """Two exams of three and two questions in one old configuration, which is converted."""
    for folder, n in (("2022", 3), ("2023", 2)):
        (tmp_path / folder).mkdir()
        rows = [f"{folder} question {k}?,one,two,three,four,{'AB'[k % 2]},group {k % 2}" for k in range(n)]
        (tmp_path / folder / "exam.csv").write_text("\n".join(["题目,A,B,C,D,答案,类别", *rows]), encoding="utf-8")
    old = {
        "sources": ["2022/exam.csv", "2023/exam.csv"],
        "targets": ["target1", "target2"],
        "prompt": {"k": "{question} {options}"},
        "test_args": {"zhipu": {"api_key": "k", "model": ["glm-4", "glm-3"]}},
    }
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")


def test_every_source_has_a_rate_and_a_result_file_of_its_own(steelyard, two_sources, tmp_path, monkeypatch):
    monkeypatch.setenv("ZHIPU_API_KEY", "sk-0123456789")
    steelyard("convert", "old.json", "--out", "new.yaml", code=0)
    assert re.search(r"zhipu +target +5 +5 ", steelyard("run", "new.yaml", "--dry-run", code=0).out)
    text = (tmp_path / "new.yaml").read_text(encoding="utf-8")
    scripted = re.sub(r"openai_compatible: .*", "scripted: {default: A}", text, count=1)
    (tmp_path / "new.yaml").write_text(scripted, encoding="utf-8")
    ran = steelyard("run", "new.yaml", "--quiet", "--full", code=0).out
    assert re.search(r"2022/exam\.csv +66\.7 %.* 2 of 3 ", ran), ran
    assert re.search(r"2023/exam\.csv +50\.0 %.* 1 of 2 ", ran), ran
    found = steelyard("show", "zhipu", "--json").json()["breakdowns"]["source"]["solve_rate"]
    assert {one["group"]: (one["headline"]["value"], one["n"]) for one in found} == {
        "2022/exam.csv": (pytest.approx(2 / 3), 3), "2023/exam.csv": (0.5, 2),
    }  # fmt: skip
    steelyard("report", "zhipu", "--html", "r.html", "--markdown", "r.md", code=0)
    assert "| 2022/exam.csv | **66.7 %** | 20.8 to 93.9 | 2 of 3 |" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "by source" in (tmp_path / "r.html").read_text(encoding="utf-8")
    for line in re.findall(r"steelyard (export .*)", text):
        steelyard(*shlex.split(line), code=0)
    for folder, source, n in (("target1", "2022", 3), ("target2", "2023", 2)):
        rows = json.loads((tmp_path / folder / "zhipu.json").read_text(encoding="utf-8"))
        assert [row["question"] for row in rows] == [f"{source} question {k}?" for k in range(n)]
    steelyard("export", "zhipu", "--json-dir", "all", code=0)
    assert sorted(str(one.relative_to(tmp_path)) for one in (tmp_path / "all").rglob("*.json")) == [
        "all/2022_exam.csv/zhipu.json", "all/2023_exam.csv/zhipu.json",
    ]  # fmt: skip
    assert (
        "did you mean '2022/exam.csv'"
        in steelyard("export", "zhipu", "--json-dir", "x", "--source", "2022/exam.cs", code=2).err
    )
    steelyard("export", "zhipu", "--out", "rows.csv", code=0)
    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["source"] for row in csv.DictReader(file)] == ["2022/exam.csv"] * 3 + ["2023/exam.csv"] * 2
    with Store() as store:
        assert list(store.run("zhipu").to_frame()["source"]) == ["2022/exam.csv"] * 3 + ["2023/exam.csv"] * 2


def test_a_comparison_shows_the_rates_of_each_sheet(steelyard, write, says, tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    for place, name in enumerate(("dev", "test")):
        sheet = book.active if not place else book.create_sheet()
        sheet.title = name
        for row in [["question", "A", "B", "answer"], *([f"{name} {k}?", "x", "y", "AB"[k % 2]] for k in range(4))]:
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    config = write({"a": says("A"), "b": says("B")}, samples={"file": "book.xlsx"})
    out = steelyard("run", config, "--quiet", "--full", code=0).out
    assert re.search(r"Solve rate by sheet +a +b *\n *dev +50\.0 % \(2 of 4[^)]*\) +50\.0 % \(2 of 4", out), out
