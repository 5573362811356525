"""How `steelyard check` reads a dataset: the suite that it is for, and the lines about its references."""

import json

import pytest

from steelyard.config.check_dataset import reference_lines, suite_of
from steelyard.data.sample_files import SampleFiles
from steelyard.scorers.reference_checks import ReferenceFinding


def findings(kind, n):
    return [ReferenceFinding(f"q{no}", f"set.jsonl line {no}", kind, "") for no in range(n)]


def test_of_many_references_with_one_fault_the_first_are_listed_and_the_others_counted():
    first, *listed, last = reference_lines(findings("no_unique_result", 75))
    assert first.strip().startswith("warning, 75 references: ")
    assert listed[0].strip() == "q0 (set.jsonl line 0)"
    assert last.strip() == f"and {75 - len(listed)} more: --json has all"
    assert list(reference_lines([])) == []


def test_errors_come_before_warnings():
    lines = list(reference_lines([*findings("no_unique_result", 1), *findings("cannot_run", 2)]))
    assert [line.split(",")[0].strip() for line in lines if "reference" in line] == ["error", "warning"]


@pytest.mark.parametrize(
    ("content", "suite"),
    [
        ("question,A,B,answer\nq,x,y,A\n", "choice"),
        ("乾卦？,天,地,山,A\n坤卦？,天,地,山,B\n", "choice"),
        ('question,answer\n"Who?\nA. Ann\nB. Bob",A\n"Why?\nA. x\nB. y",B\n', "choice"),
        ("question,answer\nWho?,Ann\nWhy?,So\n", "general"),
        ("text,label\nIt broke.,bug\n", "general"),
        ("a,b\n1,2\n", "general"),
        ([{"question": "How many?", "query": "SELECT 1", "db_id": "x"}], "text2sql"),
        ([{"question": "How many?", "answer": "SELECT 1", "context": "CREATE TABLE t (a INT)"}], "text2sql"),
        ([{"question": "How many?", "answer": "2", "context": "Two came."}], "general"),
        ([{"question": "Which?", "target": [["a", 1]]}], "tables"),
        ([{"doc": {}, "target": "A", "arguments": [["Which?", " A"]]}], "general"),
        ([{"question": "Who?", "answer": "Ann", "source": "Ann came."}], "rag"),
        ([{"source": "Hello", "reference": "Hallo"}], "general"),
        ([{"inputs": {"q": "Who?"}, "expectations": {"expected_response": "Ann"}, "source": {}}], "general"),
        ("input,output,label,score,explanation\nWho?,Ann,correct,1,so\nWhy?,So,incorrect,0,so\n", "general"),
    ],
)
def test_the_columns_of_a_dataset_tell_its_suite(tmp_path, content, suite):
    is_csv = isinstance(content, str)
    file = tmp_path / ("rows.csv" if is_csv else "rows.jsonl")
    file.write_text(content if is_csv else "\n".join(map(json.dumps, content)), encoding="utf-8")
    assert suite_of(SampleFiles(file)) == suite
