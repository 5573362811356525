"""Datasets of questions about documents: columns found, sources read, every defect named with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.suites.rag import SourceError, count_documents, load_rag, sources_in


def lines(tmp_path, rows, name="questions.jsonl"):
    file = tmp_path / name
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return file


def load(file, **options):
    return load_rag(SampleFiles(file, **options))


def test_a_made_question_set_is_read_with_its_source_and_offsets(tmp_path):
    row = {"id": "q1", "question": "How high?", "answer": "1.25 m", "document": "handbook.pdf", "page": 3, "start": 40,
           "end": 90, "source": "The screen stands at 1.25 m.", "chunk": "ab12", "group": "numbers"}  # fmt: skip
    (sample,) = load(lines(tmp_path, [row])).samples
    assert (sample.id, sample.input, sample.reference, sample.group) == ("q1", "How high?", "1.25 m", "numbers")
    assert sample.metadata == {
        "position": 0,
        "document": "handbook.pdf",
        "sources": [
            {"id": "ab12", "document": "handbook.pdf", "start": 40, "end": 90, "page": 3, "text": row["source"]}
        ],
    }


def test_a_cluster_is_read_and_holds_the_question_that_others_paraphrase(tmp_path):
    rows = [
        {"id": "q1", "question": "How high?", "paraphrase_of": ""},
        {"id": "q2", "question": "What height?", "paraphrase_of": "q1"},
        {"id": "q3", "question": "How far?", "paraphrase_of": ""},
    ]
    assert [sample.cluster for sample in load(lines(tmp_path, rows)).samples] == ["q1", "q1", "q3"]


def test_a_sheet_with_chinese_headers_is_read(tmp_path):
    file = tmp_path / "题.csv"
    file.write_text(
        "问题,参考答案,文档,原文\n气压计多久校准?,每年一次,手册.md,气压计每年校准一次。\n", encoding="utf-8"
    )
    data = load(file)
    assert data.samples[0].reference == "每年一次"
    assert data.samples[0].metadata["sources"] == [{"document": "手册.md", "text": "气压计每年校准一次。"}]
    assert count_documents(data.samples) == {"手册.md": 1}


@pytest.mark.parametrize("name", ["ground_truth", "ground_truths", "expected_response", "golden_answers"])
def test_the_reference_is_taken_and_not_the_answer_where_a_row_has_both(tmp_path, name):
    row = {"user_input": "Why?", "answer": "what a system said", name: "because", "contexts": ["a", "b"]}
    (sample,) = load(lines(tmp_path, [row])).samples
    assert (sample.reference, sample.contexts) == ("because", ("a", "b"))


def test_several_sources_are_texts_objects_or_ids(tmp_path):
    rows = [
        {"question": "1", "sources": ["x", "y"], "document": "d"},
        {"question": "2", "sources": [{"document": "d", "start": 1, "end": 5}, {"document": "e", "text": "z"}]},
        {"question": "3", "chunk_ids": ["n1", "n2"]},
        {"question": "4", "document": "d"},
    ]
    first, second, third, fourth = (sample.metadata for sample in load(lines(tmp_path, rows)).samples)
    assert first["sources"] == [{"document": "d", "text": "x"}, {"document": "d", "text": "y"}]
    assert second["sources"] == [{"document": "d", "start": 1, "end": 5}, {"document": "e", "text": "z"}]
    assert second["document"] == "d"
    assert third["sources"] == [{"id": "n1"}, {"id": "n2"}]
    assert "sources" not in fourth
    assert fourth["document"] == "d"


def test_several_right_answers_are_kept_as_a_list(tmp_path):
    (sample,) = load(lines(tmp_path, [{"question": "Who?", "answer": ["Ann", " Bob "]}])).samples
    assert sample.reference == ["Ann", "Bob"]


def test_a_sheet_holds_several_answers_as_json(tmp_path):
    file = tmp_path / "q.csv"
    file.write_text('question,answer\nWho?,"[""Ann"", ""Bob""]"\nWhich?,"[1, 2]"\n', encoding="utf-8")
    assert [sample.reference for sample in load(file).samples] == [["Ann", "Bob"], "[1, 2]"]


def test_a_dataset_of_llama_index_is_read_as_it_is_written(tmp_path):
    example = {
        "query": "Who?",
        "query_by": {"model_name": "m", "type": "ai"},
        "reference_contexts": ["Ann reads it.", "Daily."],
        "reference_answer": "Ann",
        "reference_answer_by": {"model_name": "m", "type": "ai"},
    }
    (tmp_path / "rag_dataset.json").write_text(json.dumps({"examples": [example]}), encoding="utf-8")
    (sample,) = load(tmp_path / "rag_dataset.json").samples
    assert (sample.input, sample.reference) == ("Who?", "Ann")
    assert sample.metadata["sources"] == [{"text": "Ann reads it."}, {"text": "Daily."}]


def test_missing_answers_and_sources_are_told_and_are_no_defect(tmp_path):
    data = load(lines(tmp_path, [{"question": "Who?", "answer": ""}, {"question": "Why?", "answer": "so"}]))
    assert [sample.reference for sample in data.samples] == [None, "so"]
    assert data.notes == ("1 of 2 questions have no reference answer",)


def test_every_defect_is_named_with_its_place(tmp_path):
    rows = [
        {"id": "a", "question": " ", "answer": "x"},
        {"id": "a", "question": "Who?", "answer": {"is": "Ann"}},
        {"id": "b", "question": "Who?", "start": 9, "end": 3, "document": "d"},
        {"id": "c", "question": "Who?", "page": "iv", "source": "x"},
        {"id": "d", "question": "Who?", "contexts": [1]},
    ]
    with pytest.raises(DataError) as raised:
        load(lines(tmp_path, rows))
    message = "\n".join(raised.value.defects)
    for part in (
        "line 1 key question: the question is blank",
        "neither a text nor a list",
        "the same id as",
        "give both, with start below end",
        "'iv', not a whole number",
        "contexts is neither text",
    ):
        assert part in message
    remaining = load(lines(tmp_path, [*rows, {"question": "Sound?"}]), skip_bad=True)
    assert [sample.input for sample in remaining.samples] == ["Sound?"]


def test_a_row_with_two_defects_is_one_row_that_is_left_out(tmp_path):
    rows = [{"question": " ", "answerable": "perhaps"}, {"question": "Sound?"}]
    assert "1 row with a defect was left out (skip_bad)" in load(lines(tmp_path, rows), skip_bad=True).notes


@given(
    st.dictionaries(
        st.sampled_from(["source", "document", "page", "start", "end", "chunk"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=6,
        ),
    )
)
def test_any_cells_give_plain_sources_or_a_reason(cells):
    try:
        result = sources_in(cells)
    except SourceError as error:
        result, role = [], error.role
    else:
        role = ""
    assert role in {"", "source", "document", "page", "start", "end", "chunk"}
    for entry in result:
        assert set(entry) <= {"id", "document", "start", "end", "page", "text"}
        assert entry.get("start", 0) < entry.get("end", 1)


@pytest.mark.parametrize(
    ("cells", "unanswerable"),
    [
        ({"answerable": False}, True),
        ({"answerable": "no"}, True),
        ({"answerable": "yes"}, False),
        ({"answerable": ""}, False),
        ({"is_impossible": True}, True),  # the key of SQuAD 2.0
        ({"unanswerable": 0}, False),
        ({"是否可回答": "否"}, True),
    ],
)
def test_a_row_can_be_marked_as_unanswerable(tmp_path, cells, unanswerable):
    (sample,) = load(lines(tmp_path, [{"question": "What did it cost?", **cells}])).samples
    assert ("answerable" in sample.metadata) is unanswerable, "others keep the hash that they had"
    assert sample.metadata.get("answerable") is (False if unanswerable else None)


def test_a_mark_that_is_neither_yes_nor_no_is_a_defect(tmp_path):
    with pytest.raises(DataError, match="answerable is 'perhaps', not yes or no"):
        load(lines(tmp_path, [{"question": "What did it cost?", "answerable": "perhaps"}]))


def test_right_answers_of_published_sets_are_alternatives(tmp_path):
    squad = {"question": "When?", "answers": {"text": ["1975", "in 1975"], "answer_start": [4, 1]}}
    unanswerable = {"question": "Why?", "answers": {"text": [], "answer_start": []}}
    samples = load(lines(tmp_path, [squad, unanswerable]), columns={"answer": "answers"}).samples
    assert [sample.reference for sample in samples] == [["1975", "in 1975"], None]
    named = {"aliases": ["Skorpio"], "normalized_value": "scorpio", "type": "FreeForm", "value": "Scorpio"}
    (trivia,) = load(lines(tmp_path, [{"question": "Which sign?", "answer": named}])).samples
    assert trivia.reference == ["Scorpio", "Skorpio"]
    rows = [{"question": "q", "answer": "Rome", "answer_aliases": aliases} for aliases in (["Roma"], [])]  # MuSiQue
    assert [sample.reference for sample in load(lines(tmp_path, rows)).samples] == [["Rome", "Roma"], "Rome"]


def test_a_source_of_financebench_is_refused_with_its_keys(tmp_path):
    evidence = {"evidence_text": "Table of Contents", "doc_name": "3M_2018_10K", "evidence_page_num": 59}
    with pytest.raises(DataError, match="its keys are evidence_text, doc_name, evidence_page_num"):
        load(lines(tmp_path, [{"question": "How much?", "answer": "$1577.00", "evidence": [evidence]}]))


def test_a_source_without_a_text_is_said_to_have_none(tmp_path):
    row = {"question": "How much?", "source": [{"text": "It rains."}, {"text": ""}]}
    with pytest.raises(DataError, match=r"a source has nothing under id, .*, text; its keys are text"):
        load(lines(tmp_path, [row]))


def test_sentences_of_2wikimultihop_are_parted(tmp_path):
    context = [["Teutberga", ["Teutberga was a queen.", "She was a daughter of Bosonid Boso the Elder."]]]
    (sample,) = load(lines(tmp_path, [{"question": "Who?", "context": context}])).samples
    assert sample.contexts == ("Teutberga\nTeutberga was a queen. She was a daughter of Bosonid Boso the Elder.",)
