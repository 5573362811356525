"""Datasets of questions for pairs: columns found, references, conversations, every defect named with its place."""

from __future__ import annotations

import json

import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.suites.pairwise import load_pairwise


def lines(tmp_path, rows, name="questions.jsonl"):
    file = tmp_path / name
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return file


def load(file, **options):
    return load_pairwise(SampleFiles(file, **options))


def test_a_row_has_a_question_and_may_have_a_reference_group_cluster_and_id(tmp_path):
    row = {"id": "q1", "question": "How?", "reference": "So.", "category": "easy", "cluster": "c1"}
    bare = {"prompt": "Why?"}
    first, second = (load(lines(tmp_path, [entry])).samples[0] for entry in (row, bare))
    assert (first.id, first.input, first.reference, first.group, first.cluster) == ("q1", "How?", "So.", "easy", "c1")
    assert (second.id, second.input, second.reference, second.group, second.cluster) == ("line:1", "Why?", None, "", "")
    assert first.metadata == {"position": 0}


def test_a_sheet_with_chinese_headers_is_read(tmp_path):
    file = tmp_path / "题.csv"
    file.write_text("问题,参考答案,类别,会话\n怎么煮鸡蛋？,煮十分钟。,厨房,甲\n", encoding="utf-8")
    (sample,) = load(file).samples
    assert (sample.input, sample.reference, sample.group, sample.cluster) == (
        "怎么煮鸡蛋？",
        "煮十分钟。",
        "厨房",
        "甲",
    )


def test_a_blank_cluster_stands_for_the_id_that_the_row_states(tmp_path):
    rows = [
        {"id": "q1", "question": "How high?", "paraphrase_of": ""},
        {"id": "q2", "question": "What height?", "paraphrase_of": "q1"},
        {"id": "q3", "question": "How far?"},
        {"question": "How old?"},
    ]
    assert [sample.cluster for sample in load(lines(tmp_path, rows)).samples] == ["q1", "q1", "q3", ""]


def test_several_references_are_alternatives(tmp_path):
    rows = [{"question": "1", "reference": ["a", " b "]}, {"question": "2", "reference": '["a", "b"]'}]
    assert [sample.reference for sample in load(lines(tmp_path, rows)).samples] == [["a", "b"], ["a", "b"]]


def test_a_conversation_stays_a_list_of_messages(tmp_path):
    requests = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "How?"}]
    (sample,) = load(lines(tmp_path, [{"prompt": requests}])).samples
    assert sample.input == requests


def test_questions_without_a_reference_are_told(tmp_path):
    data = load(lines(tmp_path, [{"question": "1", "answer": "a"}, {"question": "2"}]))
    assert data.notes == ("1 of 2 questions have no reference answer",)
    assert [sample.group for sample in data.samples] == ["", ""]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": " "}, "line 2 key question: the question is blank"),
        ({"question": {"a": 1}}, "neither a text nor a list of messages"),
        ({"question": [{"role": "assistant", "content": "x"}]}, "there is no message of the user"),
        ({"question": "?", "reference": {"a": 1}}, "neither a text nor a list of texts"),
        ({"question": "?", "id": "q1"}, "the same id as"),
    ],
)
def test_a_defect_is_named_with_its_place(tmp_path, row, message):
    rows = [{"id": "q1", "question": "1", "reference": "a"}, {"id": "q2", **row}]
    with pytest.raises(DataError) as refused:
        load(lines(tmp_path, rows))
    assert message in str(refused.value)
    data = load(lines(tmp_path, rows), skip_bad=True)
    assert ([sample.id for sample in data.samples], len(data.defects)) == (["q1"], 1)


def test_a_part_of_the_rows_keeps_their_positions(tmp_path):
    data = load(lines(tmp_path, [{"question": str(no)} for no in range(5)]), last=2)
    assert [(sample.input, sample.metadata["position"]) for sample in data.samples] == [("3", 3), ("4", 4)]


def test_a_column_of_difficulty_becomes_a_number_of_the_sample(tmp_path):
    rows = [{"question": "1", "instruction_difficulty": -0.5}, {"question": "2", "instruction_difficulty": "1.25"}]
    samples = load(lines(tmp_path, rows)).samples
    assert [sample.metadata["instruction_difficulty"] for sample in samples] == [-0.5, 1.25]
    (named,) = load(lines(tmp_path, [{"question": "1", "d": 2}]), columns={"difficulty": "d"}).samples
    assert named.metadata["instruction_difficulty"] == 2.0


@pytest.mark.parametrize(
    ("cell", "found"), [("hard", "'hard' is not a number"), ("", "it is blank"), ("nan", "'nan' is not a number")]
)
def test_a_difficulty_that_is_no_number_is_a_defect_of_its_cell(tmp_path, cell, found):
    rows = [{"question": "1", "instruction_difficulty": 1}, {"question": "2", "instruction_difficulty": cell}]
    with pytest.raises(DataError) as refused:
        load(lines(tmp_path, rows))
    assert f"{found}; write how hard the instruction is, as a number for every row, or leave the column out" in str(
        refused.value
    )


def test_turns_of_mt_bench_are_messages_of_the_user_with_the_last_reference(tmp_path):
    rows = [
        {
            "question_id": 101,
            "category": "reasoning",
            "turns": ["Who?", "And then?"],
            "reference": ["You.", "Uncertain."],
        },
        {"question_id": 81, "category": "writing", "turns": ["Compose a post.", "Rewrite it."]},
    ]
    first, second = load(lines(tmp_path, rows)).samples
    assert first.input == [{"role": "user", "content": "Who?"}, {"role": "user", "content": "And then?"}]
    assert (first.reference, second.reference, second.group) == ("Uncertain.", None, "writing")
