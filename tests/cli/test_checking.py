"""`check` on datasets: every table, count and defect in one go, and the options that say how to read it."""

import json
import sqlite3
import stat

import openpyxl
import pytest

from steelyard.config.check_dataset import check_dataset
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.sql.sandbox import Sandbox

HEADER = ["题目", "A", "B", "C", "D", "答案", "类别"]
OPTIONS = ["乾", "坤", "震", "巽"]


@pytest.fixture
def exam(tmp_path):
    """Two sheets; the second has its columns in another order, a near-duplicate and a row with a defect."""
    book = openpyxl.Workbook()
    book.active.title = "上"
    for row in [HEADER, *[[f"第{n}问：{'天地雷风水火山泽'[n]}", *OPTIONS, "ABCD"[n % 4], "卦象"] for n in range(8)]]:
        book.active.append(row)
    sheet = book.create_sheet("下")
    for row in [
        ["答案", *HEADER[:5]],
        ["B", "第九问：水，请选", *OPTIONS],
        ["B", "第九问，水：请选", *reversed(OPTIONS)],
        ["E", "为水者何", *OPTIONS],
    ]:
        sheet.append(row)
    book.save(tmp_path / "exam.xlsx")
    return tmp_path / "exam.xlsx"


def test_every_table_is_shown_with_its_columns_and_every_defect_with_its_cell(steelyard, exam):
    shown = steelyard("check", exam, code=2).out
    assert "exam.xlsx 上: 8 samples" in shown
    assert "exam.xlsx 下: 2 samples\n" in shown
    assert "answer: A 答案" in shown
    assert "answer: F 答案" in shown
    assert "groups: 卦象 8, none 2" in shown
    assert "exam.xlsx 下!A4: the key 'E' is neither a letter A to D nor an option's text" in shown
    assert shown.endswith("or leave such rows out: --skip-bad, in a configuration skip_bad: true under samples\n")


def test_json_has_tables_groups_kinds_of_defects_and_pairs(steelyard, exam):
    found = steelyard("check", exam, "--json", code=2).json()
    assert [(one["table"], one["samples"], one["header_row"]) for one in found["tables"]] == [
        ("exam.xlsx 上", 8, 1),
        ("exam.xlsx 下", 2, 1),
    ]
    assert (found["groups"], found["defect_kinds"]) == ({"卦象": 8, "": 2}, {"bad key": 1})
    assert {"place", "earlier", "similarity", "differ", "words", "same_key"} == set(found["pairs"][0])


def test_rows_with_defects_are_excused_and_counted(steelyard, exam):
    shown = steelyard("check", exam, "--skip-bad", code=0).out
    assert "1 defect (their rows are left out):" in shown
    assert "or leave such rows out" not in shown


def test_a_sheet_and_columns_are_chosen_as_in_a_configuration(steelyard, exam):
    shown = steelyard(
        "check", exam, "--sheet", "上", "--columns", "question=题目,options=A:D", "--columns", "answer=F", code=0
    )
    assert "8 samples" in shown.out
    assert "下" not in shown.out
    wrong = steelyard("check", exam, "--columns", "answer=答按", code=2).err
    assert "exam.xlsx 上 has no column '答按'; found: 题目, A, B, C, D, 答案, 类别" in wrong
    assert (
        "there is no role 'anser': did you mean 'answer'?"
        in steelyard("check", exam, "--columns", "anser=F", code=2).err
    )
    assert "role=column" in steelyard("check", exam, "--columns", "F", code=2).err


def test_the_row_of_the_header_can_be_named(steelyard, tmp_path):
    (tmp_path / "a.csv").write_text("question,A,B,answer\nQ,left,right,key\nreally?,yes,no,A\n", encoding="utf-8")
    shown = steelyard(
        "check", tmp_path / "a.csv", "--header", "2", "--columns", "question=Q,options=left:right,answer=key"
    )
    assert "1 sample, suite choice\n" in shown.out
    assert "expected auto, none, or the number of a row" in steelyard("check", "a.csv", "--header", "two", code=2).err


def test_several_files_and_a_folder_are_one_dataset(steelyard, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"question,A,B,answer\nabout {name}?,yes,no,A\n", encoding="utf-8")
    assert steelyard("check", "a.csv", "b.csv", "--json", code=0).json()["samples"] == 2
    (tmp_path / "set" / "test").mkdir(parents=True)
    (tmp_path / "a.csv").rename(tmp_path / "set" / "test" / "a.csv")
    assert steelyard("check", tmp_path / "set", "--split", "test", "--json", code=0).json()["samples"] == 1


def test_every_defect_is_told_even_where_no_row_is_sound(steelyard, tmp_path):
    rows = "".join(f"q{n},x,y,Z\n" for n in range(30))
    (tmp_path / "a.csv").write_text("question,A,B,answer\n" + rows, encoding="utf-8")
    shown = steelyard("check", "a.csv", code=2).out
    assert "30 times: the key 'Z' is neither a letter A to B nor an option's text: a.csv line 2 column D, " in shown
    assert "a.csv line 6 column D and 25 more" in shown
    steelyard("check", "a.csv", "--skip-bad", code=2)


def test_of_very_many_defects_the_first_are_shown_and_json_has_all(steelyard, tmp_path):
    rows = "".join(f"q{n},x,y,{n}{'Z' * 3000}\n" for n in range(300))
    (tmp_path / "a.csv").write_text("question,A,B,answer\n" + rows, encoding="utf-8")
    shown = steelyard("check", "a.csv", code=2).out
    assert shown.count("a.csv line ") == 200
    assert "and 100 more: --json has all" in shown
    assert max(map(len, shown.splitlines())) < 1100
    defects = steelyard("check", "a.csv", "--json", code=2).json()["defects"]
    assert len(defects) == 300
    assert max(len(defect["message"]) for defect in defects) < 1100


@pytest.mark.parametrize(
    "model",
    [
        "openai_compatible: {name: m, base_url: 'http://127.0.0.1:9/v1'",
        "http: {url: 'http://127.0.0.1:9/x', body: {q: '{{prompt}}'}, response: {text: a}",
    ],
)
@pytest.mark.parametrize(
    ("header", "message"),
    [
        (r'"X-A": "a\r\nEvil: 1"', r"the value of X-A holds the control character '\r'"),
        (r'"X-A\nEvil": "1"', r"'X-A\nEvil' is not a header's name"),
    ],
)
def test_a_header_with_a_line_break_is_refused_with_its_line(steelyard, tmp_path, model, header, message):
    (tmp_path / "q.csv").write_text("question,A,B,answer\nQ?,yes,no,A\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text(
        "suite: choice\nsamples: {file: q.csv}\ntargets:\n  t: {prompt: {template: en/four_options, model: {"
        f"{model},\n      headers: {{{header}}}}}}}}}}}\n",
        encoding="utf-8",
    )
    error = steelyard("check", "a.yaml", code=2).err
    assert "a.yaml:5:" in error
    assert message in error


def test_many_groups_fit_a_terminal_of_80_columns(steelyard, tmp_path):
    rows = "".join(f"q{n},x,y,A,类别{n}\n" for n in range(80))
    (tmp_path / "a.csv").write_text("question,A,B,answer,group\n" + rows, encoding="utf-8")
    lines = steelyard("check", "a.csv", code=0).out.splitlines()
    packed = [line for line in lines if "类别" in line]
    assert len(packed) > 5
    assert all(sum(2 if ord(one) > 255 else 1 for one in line) <= 80 for line in packed)
    assert "and 20 more" in packed[-1]


def test_options_of_datasets_are_refused_for_a_configuration_and_a_source_is_needed(steelyard, write, says):
    path = write({"a": says()})
    assert "--skip-bad is for datasets" in steelyard("check", path, "--skip-bad", code=2).err
    assert "name a file to check" in steelyard("check", code=2).err


def test_several_configurations_are_checked_each_and_all_that_is_wrong_is_told(steelyard, tmp_path):
    for name in "ab":
        steelyard("init", tmp_path / name, "--suite", "choice")
    good = [tmp_path / name / "choice.yaml" for name in "ab"]
    checked = json.loads(steelyard("check", "--json", *good).out)
    assert [entry["file"] for entry in checked] == list(map(str, good))
    bad = tmp_path / "bad.yaml"
    bad.write_text("suite: chioce", encoding="utf-8")
    worse = tmp_path / "worse.yaml"
    worse.write_text("suite: choice\nsampels: {}", encoding="utf-8")
    failed = steelyard("check", bad, good[0], worse, code=2)
    assert f"{good[0]} is valid" in failed.out
    assert "did you mean 'choice'" in failed.err
    assert "worse.yaml:2:1" in failed.err


def test_samples_of_which_a_file_of_outputs_has_none_are_named_before_a_run(steelyard, tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"id": ident, "question": "Which?", "answer": "x"}) + "\n" for ident in "abc")
    )
    (tmp_path / "stored.jsonl").write_text('{"id": "b", "output": "x"}\n')
    configuration = tmp_path / "replayed.yaml"
    configuration.write_text("samples: rows.jsonl\ntargets: {stored: {replay: stored.jsonl}}\n")
    assert "note: stored.jsonl holds no output for 2 of 3 samples: a, c" in steelyard("check", configuration).out


@pytest.mark.parametrize("suite", ["rag", "pairwise", "tables", "text2sql"])
def test_every_suite_reads_the_same_sources_by_the_same_mapping(steelyard, tmp_path, suite):
    import polars as pl  # the one test here that needs it

    wanted = {"rag": "answer", "pairwise": "answer", "tables": "target", "text2sql": "sql"}[suite]
    frame = pl.DataFrame({"frage": ["How many?", "Which?"], "loesung": ["SELECT 1", "SELECT 2"]})
    frame = frame.with_columns(loesung=pl.Series(['[["1"]]', '[["2"]]'])) if suite == "tables" else frame
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()), encoding="utf-8")
    # The reader of Parquet knows of no suite and is a process each time.
    for suffix in ("parquet", "csv", "jsonl") if suite == "rag" else ("csv", "jsonl"):
        found = steelyard(
            "check", f"a.{suffix}", "--suite", suite, "--columns", f"question=frage,{wanted}=loesung", "--json", code=0
        )
        assert found.json()["samples"] == 2


def test_rows_are_said_to_be_left_out_only_with_the_option(steelyard, tmp_path):
    rows = tmp_path / "questions.csv"
    rows.write_text("question,answer\nQ1?,x\n,y\nQ3?,z\n", encoding="utf-8")
    plain = steelyard("check", rows, "--suite", "rag", code=2).out
    assert "the question is blank" in plain
    assert "left out (skip_bad)" not in plain
    assert "1 row with a defect was left out" in steelyard("check", rows, "--suite", "rag", "--skip-bad", code=0).out


def test_a_dataset_without_a_sound_row_names_what_is_wrong_with_its_rows(steelyard, tmp_path):
    rows = tmp_path / "questions.csv"
    rows.write_text("question,answer\n,x\n,y\n", encoding="utf-8")
    assert "line 2 column A: the question is blank" in steelyard("check", rows, "--suite", "rag", code=2).err


SCHEMA = "CREATE TABLE staff (name TEXT, age INT); INSERT INTO staff VALUES ('Ada', 36), ('Bo', 41), ('Cy', 41);"


def test_a_file_of_text_is_said_to_be_read_as_statements(steelyard, tmp_path):
    (tmp_path / "prompt.TXT").write_text("Answer in one word.\n", encoding="utf-8")
    error = steelyard("check", tmp_path / "prompt.TXT", code=2).err
    assert "It was read as a dataset of tables, one SQL statement a line; errors for other suites: --suite" in error
    with pytest.raises(ConfigError, match="It was read as a dataset of choice; errors for other suites: --suite"):
        check_dataset("", SampleFiles.of([{"question": "Why?", "options": "A. x B. y"}]), None)


@pytest.mark.parametrize("configured", [True, False])
def test_references_without_a_unique_result_are_listed_with_their_place(steelyard, tmp_path, configured):
    queries = ["SELECT name FROM staff ORDER BY age DESC LIMIT 1", "SELECT name FROM staff ORDER BY age LIMIT 1"]
    rows = [{"id": f"q{n}", "question": "?", "query": query, "schema": SCHEMA} for n, query in enumerate(queries)]
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "dev.yaml").write_text(
        "suite: text2sql\nsamples: {file: dev.jsonl}\ntargets: {gold: {baseline: reference}}\n"
    )
    command = (
        ["check", tmp_path / "dev.yaml"] if configured else ["check", tmp_path / "dev.jsonl", "--suite", "text2sql"]
    )
    shown = steelyard(*command, code=0).out
    assert "warning, 1 reference: no unique result" in shown
    assert f"q0 (dev.jsonl line 1): ties at the LIMIT of: {queries[0]}" in shown
    assert "q1 (" not in shown
    [finding] = steelyard(*command, "--json", code=0).json()["reference_findings"]
    assert (finding["sample"], finding["place"]) == ("q0", "dev.jsonl line 1")
    assert (finding["kind"], finding["error"]) == ("no_unique_result", False)


REFERENCES = {
    "ok": "SELECT name FROM staff",
    "column": "SELECT nme FROM staff",
    "writes": "DELETE FROM staff",
    "nobody": "SELECT name FROM staff WHERE name = 'ada'",
    "empty": "SELECT count(*) FROM log",
    "tie": "SELECT name FROM staff ORDER BY age DESC LIMIT 1",
    "clock": "SELECT name FROM staff WHERE date('now') > '2020-01-01'",
    "text": "SELECT name FROM staff ORDER BY mark DESC",
    "null": "SELECT name FROM staff ORDER BY height LIMIT 1",
    "no null": "SELECT name FROM staff WHERE height > 0 ORDER BY height LIMIT 1",
    "greatest": "SELECT age, MAX(mark) FROM staff WHERE age > 1 GROUP BY age HAVING count(*) > 0",
    "greatest of numbers": "SELECT max(age), min(CAST(mark AS INT)) FROM staff",
    "cast": "SELECT name FROM staff ORDER BY CAST(mark AS INT) DESC",
}
STAFF = """CREATE TABLE staff (name TEXT, age INT, mark TEXT, height REAL); CREATE TABLE log (at TEXT);
INSERT INTO staff VALUES ('Ada', 36, '9', NULL), ('Bo', 41, '10', 1.7), ('Cy', 41, '8', 1.6);"""


def _findings(steelyard, *arguments, code=2):
    found = steelyard("check", *arguments, "--suite", "text2sql", "--json", code=code).json()["reference_findings"]
    return {(finding["sample"], finding["kind"]): finding for finding in found}


@pytest.fixture
def references(tmp_path):
    rows = [{"id": name, "question": name, "query": query, "schema": STAFF} for name, query in REFERENCES.items()]
    rows.append({"id": "ddl", "question": "?", "query": "SELECT 1", "schema": "CREATE TABLE t (a INT); SELEC 1"})
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path / "dev.jsonl"


def test_every_reference_is_run_and_what_is_wrong_with_it_is_listed(steelyard, references):
    found = _findings(steelyard, references)
    assert sorted(found) == [
        ("clock", "depends_on_clock"),
        ("column", "cannot_run"),
        ("ddl", "schema_fails"),
        ("empty", "empty_tables"),
        ("greatest", "text_as_number"),
        ("nobody", "returns_nothing"),
        ("null", "null_in_limit"),
        ("text", "text_as_number"),
        ("tie", "no_unique_result"),
        ("writes", "cannot_run"),
    ]
    assert found["column", "cannot_run"]["message"] == "no such column: nme"
    assert found["column", "cannot_run"]["place"] == "dev.jsonl line 2"
    assert 'near "SELEC": syntax error' in found["ddl", "schema_fails"]["message"]
    assert {name for name, finding in found.items() if finding["error"]} == {
        ("column", "cannot_run"),
        ("writes", "cannot_run"),
        ("ddl", "schema_fails"),
    }
    shown = steelyard("check", references, "--suite", "text2sql", code=2).out
    assert "error, 2 references: cannot be run\n    column (dev.jsonl line 2): no such column: nme" in shown
    assert "no defects" not in shown


def test_references_are_not_run_where_that_is_said(steelyard, references):
    assert _findings(steelyard, references, "--no-references", code=0) == {}
    configuration = references.with_suffix(".yaml")
    configuration.write_text(
        "suite: text2sql\nsamples: {file: dev.jsonl}\ntargets: {gold: {baseline: reference}}\n", encoding="utf-8"
    )
    assert "error, 2 references: cannot be run" in steelyard("check", configuration, code=2).out
    assert "error" not in steelyard("check", configuration, "--no-references", code=0).out


def test_warnings_alone_are_no_mistake_and_a_pinned_clock_is_none(steelyard, references):
    rows = [row for row in references.read_text().splitlines() if '"id": "clock"' in row]
    references.write_text(rows[0], encoding="utf-8")
    assert list(_findings(steelyard, references, code=0)) == [("clock", "depends_on_clock")]
    configuration = references.with_suffix(".yaml")
    configuration.write_text(
        "suite: text2sql\nsamples: {file: dev.jsonl}\nscoring: {now: 2024-03-31}\n"
        "targets: {gold: {baseline: reference}}\n",
        encoding="utf-8",
    )
    assert "warning," not in steelyard("check", configuration, code=0).out


def test_a_second_check_runs_only_what_changed(steelyard, references, monkeypatch, tmp_path):
    """What was found is remembered by statement, data and settings, in a file of this person alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ran = []
    run = Sandbox.arun

    async def counted(self, database, query, **options):
        ran.append(query)
        return await run(self, database, query, **options)

    monkeypatch.setattr(Sandbox, "arun", counted)
    first = _findings(steelyard, references)
    assert ran.count(REFERENCES["column"]) == 1
    ran.clear()
    assert _findings(steelyard, references) == first
    # The clock goes on, so that what asks for it is run again.
    assert set(ran) >= {REFERENCES["clock"]}
    assert not {REFERENCES["ok"], REFERENCES["column"], REFERENCES["tie"]} & set(ran)
    references.write_text(references.read_text().replace("'Cy', 41", "'Cy', 40"), encoding="utf-8")
    assert ("tie", "no_unique_result") not in _findings(steelyard, references)
    file = tmp_path / "cache" / "steelyard" / "references.db"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    file.write_bytes(b"no database")
    assert ("column", "cannot_run") in _findings(steelyard, references)


def test_a_dataset_without_rows_does_not_warn_of_each_sample(steelyard, tmp_path):
    rows = [{"question": str(n), "query": "SELECT a FROM t", "schema": "CREATE TABLE t (a INT)"} for n in range(3)]
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert _findings(steelyard, tmp_path / "dev.jsonl", code=0) == {}


@pytest.mark.parametrize("configured", [True, False])
def test_references_of_tables_are_listed_with_their_line(steelyard, tmp_path, configured):
    (tmp_path / "dbs").mkdir()
    with sqlite3.connect(tmp_path / "dbs" / "shop.sqlite") as opened:
        opened.executescript(STAFF)
    opened.close()
    rows = [{"id": name, "question": name, "query": REFERENCES[name], "db_id": "shop"} for name in ("ok", "column")]
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "dev.yaml").write_text(
        "suite: tables\ntask: SP\nsamples: {file: dev.jsonl}\ndatabases: dbs\ntargets: {gold: {baseline: reference}}\n",
        encoding="utf-8",
    )
    plain = ["check", tmp_path / "dev.jsonl", "--suite", "tables", "--databases", tmp_path / "dbs"]
    shown = steelyard(*(["check", tmp_path / "dev.yaml"] if configured else plain), code=2).out
    assert "error, 1 reference: cannot be run" in shown
    assert "column (dev.jsonl line 2" in shown
