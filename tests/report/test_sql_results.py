"""Queries and results of a sample side by side: terminal, Markdown and page mark the words and cells that differ."""

from __future__ import annotations

import pytest

from steelyard import Sample, evaluate
from steelyard.report.record_lines import sample_lines
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.scorers.sql import SqlResult
from steelyard.scorers.tables import TableMetrics

SCHEMA = """CREATE TABLE staff (name TEXT, age INTEGER);
INSERT INTO staff VALUES ('Ada', 36), ('Bo', 41), ('<b>Cy', 41), ('Di', 50);"""
QUERIES = {
    "age": (
        "SELECT name, age FROM staff WHERE age > 40 ORDER BY age",
        "SELECT name, age + 1 FROM staff WHERE age >= 41",
    ),
    "right": ("SELECT name FROM staff", "select name\nfrom staff"),
    "fails": ("SELECT name FROM staff", "SELECT nam FROM staff"),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    samples = [
        Sample(name, name, reference, metadata={"schema": SCHEMA, "db_id": "", "dialect": "SQLite"})
        for name, (reference, _) in QUERIES.items()
    ]
    return evaluate(lambda asked: QUERIES[asked.id][1], samples, [SqlResult()], store=folder / "steelyard.db")


def lines(run, sample):
    [record] = [record for record in run.records() if record.sample.id == sample]
    return list(sample_lines(record))


def test_definitions_of_execution_accuracy_that_agree_are_one_row_and_a_sentence(run):
    text = markdown_report([run])
    sentence = "the same as result correct: execution accuracy (Spider), execution accuracy (Spider, keep distinct), "
    assert f"{sentence}execution accuracy (BIRD), execution accuracy (QATCH)" in text
    assert "| Result correct | **33.3 %** |" in text
    assert "| Execution accuracy" not in text


def test_a_terminal_shows_the_queries_as_a_diff_and_both_results(run):
    shown = lines(run, "age")
    start = shown.index("  SQL (- expected, + returned by the target):")
    assert shown[start + 1 : start + 7] == [
        "    - SELECT name, age",
        "    + SELECT name, age + 1",
        "      FROM staff",
        "    - WHERE age > 40",
        "    - ORDER BY age",
        "    + WHERE age >= 41",
    ]
    assert shown[start + 7] == "  rows: 3 expected, 3 returned; * marks cells that differ"
    assert shown[start + 8].split() == ["row", "name", "age", "|", "row", "name", "age", "+", "1"]
    assert shown[start + 9].split() == ["1", "'Bo'", "*41", "|", "1", "'Bo'", "*42"]
    assert all(len(line) <= 80 for line in shown[start:])


def test_equal_queries_and_results_have_no_marks(run):
    text = "\n".join(lines(run, "right"))
    assert "    - " not in text
    assert "    + " not in text
    assert "*'" not in text


def test_a_failed_query_leaves_the_reference_alone(run):
    shown = lines(run, "fails")
    assert "  rows: 4 expected, no result; * marks cells that differ" in shown
    assert "    1    'Ada'" in shown


def test_a_comment_names_the_rows_and_lines_that_differ(run):
    text = markdown_report([run])
    assert "| row | expected name | expected age | returned name | returned age + 1 |" in text
    assert "| 1 | 'Bo' | **41** | 'Bo' | **42** |" in text
    assert "\\+ WHERE age &gt;= 41" in text


def test_a_page_marks_words_and_cells_and_shows_no_json_of_rows(run, in_browser):
    async def visit(page):
        texts = "[...document.querySelectorAll({!r})].map(one => one.textContent)"
        found = {
            "deleted": await page.run(texts.format(".detail del")),
            "inserted": await page.run(texts.format(".detail ins")),
            "differs": await page.run(texts.format(".detail td.differs")),
            "cells": await page.run(texts.format(".detail table.result td")),
            "captions": await page.run(texts.format(".detail caption")),
            "bold": await page.run("document.querySelectorAll('.detail b').length"),
            "text": await page.run("document.querySelector('.detail').textContent"),
            "wide": await page.run("document.documentElement.scrollWidth <= innerWidth"),
        }
        return found, page.complaints

    found, complaints = in_browser(html_report([run]), visit, address="#open=age")
    assert complaints == []
    assert found["deleted"] == [" 40", "ORDER", " BY", " age"]
    assert found["inserted"] == [" +", " 1", "=", " 41"]
    assert [text.removeprefix("differs: ") for text in found["differs"]] == ["41", "41", "50", "42", "42", "51"]
    assert "'<b>Cy'" in found["cells"]
    assert found["captions"] == ["Result of the reference: 3 rows", "Result of <lambda>: 3 rows"]
    assert found["bold"] == 0
    assert '"cells"' not in found["text"]
    assert found["wide"]


def test_tables_that_are_given_are_shown_as_well(tmp_path):
    run = evaluate(
        lambda _: [["tea", 2.5], ["ink", 4]],
        [Sample("1", "?", [["tea", 2.5], ["ink", 5]])],
        [TableMetrics()],
        store=tmp_path / "steelyard.db",
    )
    shown = lines(run, "1")
    assert "  rows: 2 expected, 2 returned; * marks cells that differ" in shown
    assert [line.split() for line in shown if "ink" in line and "|" in line] == [
        ["2", "'ink'", "*5", "|", "2", "'ink'", "*4"]
    ]
