from __future__ import annotations

import csv as standard_csv
import io
import json

from steelyard.report.exports.records import csv, jsonl, plain_record
from steelyard.types import Attempt, Failure, Output, Record, Reply, Sample, Score, Usage


def rows_of(run, **options):
    text = "".join(csv(run, **options))
    text.encode("utf-8")
    assert text.startswith("\ufeff")
    return list(standard_csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_every_record_is_a_line_that_reads_back(pair):
    lines = list(jsonl(pair[0]))
    records = list(pair[0].records())
    assert len(lines) == len(records)
    for line, record in zip(lines, records, strict=True):
        line.encode("utf-8")
        assert line.endswith("\n")
        assert len(line.splitlines()) == 1
        plain = json.loads(line)
        assert plain["target"] == "base <script>"
        assert plain["sample"]["id"] == record.sample.id
        assert (plain["output"] or {}).get("value") == (record.output.value if record.output else None)
        assert [score["value"] for score in plain["scores"]] == [score.value for score in record.scores]


def test_a_plain_record_holds_replies_with_usage_and_attempts_and_the_failure():
    tried = (Attempt("rate_limit", 0.1, 0.0, "429"), Attempt("", 0.5, 2.0))
    reply = Reply("00" * 10, "B", "length", Usage(12, 3), 0.5, tried)
    failure = Failure("scorer", "ValueError", "no", tried[:1])
    record = Record(Sample("1", "?", "A"), Output("B"), (Score("x", 0.0),), {"target": (reply,)}, failure, 1.5, 2)
    plain = json.loads(json.dumps(plain_record(record)))
    [call] = plain["replies"]["target"]
    assert (call["input_tokens"], call["output_tokens"], call["finish"]) == (12, 3, "length")
    assert [attempt["fault"] for attempt in call["attempts"]] == ["rate_limit", ""]
    assert plain["failure"]["attempts"][0]["message"] == "429"
    assert (plain["repeat"], plain["seconds"]) == (2, 1.5)


def test_a_cell_that_a_spreadsheet_would_run_is_inert_unless_raw_is_asked_for(pair):
    safe, raw = rows_of(pair[0]), rows_of(pair[0], raw=True)
    formulas = [number for number, row in enumerate(raw) if row["output"].startswith("=")]
    assert formulas
    for number in formulas:
        assert safe[number]["output"] == "'" + raw[number]["output"]
    assert all(row["output"][:1] not in set("=+-@") for row in safe)


def test_csv_has_a_column_per_score_and_an_empty_cell_where_there_is_none(pair):
    rows = rows_of(pair[0])
    summary = pair[0].summary()
    score = summary.score()
    solved = [row["solve_rate"] for row in rows]
    assert solved.count("1.0") + solved.count("0.0") == score.scored
    assert [row["solve_rate_outcome"] for row in rows].count("refused") == score.refused
    failed = [row for row in rows if row["failure"]]
    assert len(failed) == summary.counts.errors
    assert {row["solve_rate"] for row in failed} == {""}
    assert "A. 选项甲0\nB. 选项乙0" in rows[0]["options"]


def test_tags_are_columns(tmp_path):
    from steelyard import ExactMatch, Suite, evaluate_suite
    from steelyard.evaluation.evaluate import RunConfig

    suite = Suite(
        "s", "custom", [Sample("1", "?", "A")], {"t": lambda _: "A"}, (ExactMatch(),), tags={"t": {"kb": "=1"}}
    )
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    assert rows_of(run)[0]["tag_kb"] == "'=1"
    assert json.loads(next(jsonl(run)))["tags"] == {"kb": "=1"}
