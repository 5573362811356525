"""Result files as the old script wrote them, but an error is never an answer."""

import json

from steelyard import Output, Record, Sample
from steelyard.report.exports.records import legacy_rows
from steelyard.types import Failure

SAMPLE = Sample("1", "乾？", "A", choices=("天", "地", "雷", "风"), group="卦象")


def test_a_row_has_the_keys_and_forms_of_the_old_files():
    assert legacy_rows([Record(SAMPLE, Output("选A"))]) == [
        {
            "question": "乾？",
            "options": ["A:天", "B:地", "C:雷", "D:风"],
            "correct_answer": "A",
            "type": "卦象",
            "kb_answer": "选A",
        }
    ]


def test_an_error_is_told_apart_and_does_not_end_the_list():
    failed = Record(SAMPLE, None, failure=Failure("target", "timeout", "no complete answer within 120 s"))
    rows = legacy_rows([failed, Record(SAMPLE, Output(""))])
    assert rows[0]["kb_answer"] is None
    assert rows[0]["error"] == "timeout: no complete answer within 120 s"
    assert rows[1]["kb_answer"] == ""
    assert "error" not in rows[1]


def test_rows_keep_the_order_of_the_records_and_are_plain_json():
    records = [Record(Sample(str(no), {"q": no}, None), Output({"letter": "B"})) for no in range(3)]
    rows = json.loads(json.dumps(legacy_rows(records)))
    assert [row["question"] for row in rows] == ['{"q":0}', '{"q":1}', '{"q":2}']
    assert rows[0]["kb_answer"] == '{"letter": "B"}'
    assert rows[0]["correct_answer"] is None
