"""The suite that a dataset is for, by its columns alone."""

import json

import pytest

from steelyard.config.check_dataset import suite_of
from steelyard.data.sample_files import SampleFiles


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
        ([{"question": "Who?", "answer": "Ann", "source": "Ann came."}], "rag"),
        ([{"source": "Hello", "reference": "Hallo"}], "general"),
    ],
)
def test_the_columns_of_a_dataset_tell_its_suite(tmp_path, content, suite):
    is_csv = isinstance(content, str)
    file = tmp_path / ("rows.csv" if is_csv else "rows.jsonl")
    file.write_text(content if is_csv else "\n".join(map(json.dumps, content)), encoding="utf-8")
    assert suite_of(SampleFiles(file)) == suite
