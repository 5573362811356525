"""Question sets of other tools go under `samples` as their own writers leave them."""

import csv
import json
from pathlib import Path

import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.suites.general.rows import load_general
from steelyard.suites.rag import load_rag

FOREIGN = Path(__file__).parent / "foreign"


def beir_folder(folder, judgements):
    (folder / "qrels").mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        (folder / name).write_bytes((FOREIGN / "beir" / name).read_bytes())
    (folder / "qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judgements}\n", encoding="utf-8")
    return folder


def loaded(name, **options):
    return load_rag(SampleFiles(FOREIGN / name, **options)).samples


def test_inputs_of_langchain_are_questions(tmp_path):
    path = tmp_path / "howto.jsonl"
    rows = [{"inputs": "How long?"}, {"inputs": {"question": " Who? "}, "outputs": {"answer": "Ann"}}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    samples = load_rag(SampleFiles(path)).samples
    assert [(sample.input, sample.reference) for sample in samples] == [("How long?", None), ("Who?", "Ann")]


@pytest.mark.parametrize(
    "rows",
    [
        [{"inputs": {"q": "It's?"}, "outputs": {"a": "Ann"}}, {"inputs": {"q": "a", "n": None}, "outputs": {"a": "b"}}],
        [{"inputs": {"q": "It's?"}, "expectations": {"expected_response": "Ann", "facts": (1, 2)}}],
    ],
)
def test_objects_that_pandas_wrote_to_csv_are_those_of_langsmith_and_mlflow(tmp_path, rows):
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)  # writes objects as Python prints them, as pandas does
    as_json, as_csv = (load_general(SampleFiles(tmp_path / f"rows.{kind}")).data for kind in ("json", "csv"))
    for there, here in zip(as_json.samples, as_csv.samples, strict=True):
        assert (here.input, here.reference, here.metadata) == (there.input, there.reference, there.metadata)
    assert as_csv.samples[0].reference == "Ann"


@pytest.mark.parametrize("role", [{"role": "assistant"}, {"type": "ai"}])
def test_messages_of_langsmith_have_the_last_one_as_the_answer(tmp_path, role):
    chat = {"messages": [{"role": "user", "content": "How long?"}]}
    answer = {"messages": [{**role, "content": "Fourteen days."}]}
    (tmp_path / "chat.json").write_text(json.dumps([{"inputs": chat, "outputs": answer}]), encoding="utf-8")
    (sample,) = load_rag(SampleFiles(tmp_path / "chat.json")).samples
    assert (sample.input, sample.reference) == (chat["messages"], "Fourteen days.")


def test_messages_of_langchain_are_sent_with_their_pictures_and_calls(tmp_path):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}}
    own = {"type": "image", "mime_type": "image/png"}
    address = {"type": "image", "url": picture["image_url"]["url"]}
    base64 = [{**own, "base64": "AAEC"}, {**own, "source_type": "base64", "data": "AAEC"}]
    parts = ["What is it?", picture, *base64, address]
    use = [{"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]
    messages = [
        {"type": "human", "content": parts},
        {"type": "ai", "content": use, "tool_calls": [{"id": "c1", "name": "f", "args": {"a": 1}}]},
        {"type": "tool", "content": "no", "tool_call_id": "c1", "status": "error"},
        {"type": "human", "content": "So?"},
    ]
    dumped = [{"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": message} for message in messages]
    rows = [{"inputs": {"messages": messages}}, {"inputs": {"messages": [dumped]}, "run_type": "llm"}]
    (tmp_path / "chat.json").write_text(json.dumps(rows), encoding="utf-8")
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    for sample in load_general(SampleFiles(tmp_path / "chat.json")).data.samples:
        assert sample.input == [
            {"role": "user", "content": [{"type": "text", "text": "What is it?"}, *[picture] * 4]},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
            {"role": "tool", "content": "no", "tool_call_id": "c1"},
            {"role": "user", "content": "So?"},
        ]


def test_a_set_of_llama_index_has_its_queries_with_their_passages():
    first, second = loaded("llama_index.json")
    assert (first.id, first.input) == ("q1", "How long is a loan?")
    assert first.metadata["sources"] == [{"id": "n1", "text": "A loan lasts fourteen days."}]
    assert [source["id"] for source in second.metadata["sources"]] == ["n2", "n1"]


def test_the_true_answer_beside_one_to_judge_is_the_reference(tmp_path):
    row = {"query": "Who?", "answer": "Bob", "ground_truth_answer": "Ann", "contexts": ["It is Ann."]}
    (tmp_path / "judged.json").write_text(json.dumps({"examples": [row]}), encoding="utf-8")
    (sample,) = load_rag(SampleFiles(tmp_path / "judged.json")).samples
    assert (sample.reference, sample.metadata["answer"]) == ("Ann", "Bob")


def test_advice_on_objects_names_a_key_and_no_sheet(tmp_path):
    (tmp_path / "answers.json").write_text('[{"response": "Ann", "contexts": ["It is Ann."]}]', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"Name the columns, for example columns: \{question: KEY\}$"):
        load_rag(SampleFiles(tmp_path / "answers.json"))


def test_a_judgement_of_llama_index_on_an_unknown_passage_is_named(tmp_path):
    value = json.loads((FOREIGN / "llama_index.json").read_text(encoding="utf-8"))
    value["relevant_docs"]["q2"] = ["n3"]
    (tmp_path / "qa.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError, match=r"qa\.json relevant_docs: 'q2' names 'n3', not an id of corpus"):
        load_rag(SampleFiles(tmp_path / "qa.json"))
    del value["relevant_docs"]["q2"]
    (tmp_path / "qa.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError, match=r"nothing is listed for the query 'q2'"):
        load_rag(SampleFiles(tmp_path / "qa.json"))


def test_single_turns_of_ragas_have_passages_to_find_and_a_reference():
    (sample,) = loaded("ragas_single.jsonl")
    assert (sample.input, sample.reference) == ("How long is a loan?", "Fourteen days.")
    assert sample.metadata["sources"] == [{"text": "A loan lasts fourteen days."}]


def test_several_turns_of_ragas_are_a_conversation_with_roles():
    (sample,) = loaded("ragas_multi.jsonl")
    assert [message["role"] for message in sample.input] == ["user", "assistant", "tool", "user"]
    function = {"name": "find", "arguments": '{"title": "Emma"}'}
    assert sample.input[1]["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    assert sample.input[2] == {"role": "tool", "content": "on shelf 3", "tool_call_id": "call_1"}
    assert sample.input[-1]["content"] == "How long is a loan?"
    assert sample.reference == "Fourteen days."


def test_goldens_of_deepeval_have_their_context_as_what_should_be_found():
    first, second = loaded("deepeval.json")
    assert (first.input, first.reference, first.contexts) == ("How long is a loan?", "Fourteen days.", ())
    assert first.metadata["sources"] == [{"text": "A loan lasts fourteen days."}]
    assert second.contexts == ("The fee is two euros.",)


@pytest.mark.parametrize("name", ["deepeval_saved.csv", "deepeval_saved.jsonl"])
def test_goldens_that_deepeval_saved_with_bars_have_each_passage(name):
    first, second = loaded(name)
    sources = ["Refunds within 30 days.", "No refunds on sale items."]
    assert first.metadata["sources"] == [{"text": text} for text in sources]
    assert (first.input, first.contexts) == ("What is the refund window?", ())
    assert second.contexts == ("Customer pays return shipping.", "Other")
    assert load_general(SampleFiles(FOREIGN / name)).data.samples[0].contexts == tuple(sources)


def test_a_golden_with_a_blank_text_of_passages_has_none(tmp_path):
    golden = {"input": "Who?", "actual_output": "", "expected_output": "Ann", "context": "", "retrieval_context": ""}
    (tmp_path / "goldens.jsonl").write_text(json.dumps(golden), encoding="utf-8")
    (sample,) = load_general(SampleFiles(tmp_path / "goldens.jsonl")).data.samples
    assert sample.contexts == ()


def test_a_folder_of_beir_has_its_judged_queries_with_the_relevant_passages():
    samples = loaded("beir")
    assert [(sample.id, sample.input) for sample in samples] == [("q1", "How long is a loan?"), ("q2", "What is it?")]
    assert samples[0].metadata["sources"] == [{"id": "n1", "text": "Loans\nA loan lasts fourteen days."}]
    assert "sources" not in samples[1].metadata
    assert [sample.id for sample in loaded("beir", split="dev")] == ["q3"]


@pytest.mark.parametrize(
    ("judgement", "message"),
    [
        (
            "q1\tn9\t1",
            r"test\.tsv line 2: 'n9' is no _id of corpus\.jsonl: add it to corpus\.jsonl or delete the line$",
        ),
        ("q9\tn1\t1", r"test\.tsv line 2: 'q9' is no _id of queries\.jsonl"),
        ("q1\tn9\t1\nq1\tn8\t1\nq9\tn1\t1", r"line 2: 'n9' is no .* delete the line \(the first of 3 such lines\)"),
        ("q1\tn1\tyes", r"test\.tsv line 2: the score is 'yes', expected a whole number"),
    ],
)
def test_a_judgement_of_beir_that_fits_nothing_is_named_with_its_line(tmp_path, judgement, message):
    folder = beir_folder(tmp_path, judgement)
    with pytest.raises(DataError, match=message):
        load_rag(SampleFiles(folder))
    with pytest.raises(ConfigError, match="has no split 'dev'"):
        load_rag(SampleFiles(folder, split="dev"))


@pytest.mark.parametrize(
    ("judgement", "message"),
    [
        ("q1\tn1\t1\nq1\tn1\t0", r"line 3: 'q1' and 'n1' have the score 0, and 1 in test\.tsv line 2; delete one"),
        ("q1\tn1\t1\nq9\tn1\t0", r"line 3: 'q9' is no _id of queries\.jsonl"),
        ("q1\tn1\t1.5", r"line 2: the score is '1\.5', expected a whole number"),
    ],
)
def test_a_judgement_of_beir_that_contradicts_another_or_asks_nothing_is_named(tmp_path, judgement, message):
    folder = beir_folder(tmp_path, judgement)
    with pytest.raises(DataError, match=message):
        load_rag(SampleFiles(folder))


def test_grades_of_beir_count_alike_and_a_note_says_so(tmp_path):
    loaded_set = load_rag(SampleFiles(beir_folder(tmp_path, "q1\tn1\t3\nq1\tn2\t1\nq2\tn1\t-1")))
    assert [source["id"] for source in loaded_set.samples[0].metadata["sources"]] == ["n1", "n2"]
    assert "sources" not in loaded_set.samples[1].metadata
    assert "test.tsv: scores of 1 to 3 count alike, as relevant" in loaded_set.notes


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_two_lines_of_beir_with_one_id_are_named(tmp_path, name):
    folder = beir_folder(tmp_path, "q1\tn1\t1")
    first = (folder / name).read_text(encoding="utf-8").splitlines()[0]
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(f"{first}\n")
    with pytest.raises(DataError, match=rf"{name} line \d+: an earlier line has the _id '[nq]1'; give each its own"):
        load_rag(SampleFiles(folder))


def test_a_judgement_of_llama_index_on_an_unknown_query_is_named(tmp_path):
    value = json.loads((FOREIGN / "llama_index.json").read_text(encoding="utf-8"))
    value["relevant_docs"]["q7"] = ["n1"]
    (tmp_path / "qa.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError, match=r"qa\.json relevant_docs: 'q7' is no id of queries"):
        load_rag(SampleFiles(tmp_path / "qa.json"))


def test_goldens_of_earlier_versions_of_deepeval_have_each_passage(tmp_path):
    path = tmp_path / "goldens.csv"
    path.write_text("input,actual_output,expected_output,context,source_file\nWho?,,Ann,one|two,a.md\n", "utf-8")
    (sample,) = load_rag(SampleFiles(path)).samples
    assert (sample.contexts, sample.metadata["sources"]) == ((), [{"text": "one"}, {"text": "two"}])


@pytest.mark.parametrize("name", ["goldens.csv", "goldens.json"])
def test_conversational_goldens_of_deepeval_are_messages_without_blank_keys_and_have_sources(tmp_path, name):
    turns = [{"role": "user", "content": "How long?", "user_id": None, "metadata": None}]
    row = {"scenario": "A loan", "turns": turns, "expected_outcome": "Is told", "context": ["one", "two"]}
    if name.endswith(".csv"):
        cells = [json.dumps(turns), "one|two"]
        quoted = ",".join('"{}"'.format(cell.replace('"', '""')) for cell in cells)
        text = f"scenario,expected_outcome,turns,context\nA loan,Is told,{quoted}\n"
    else:
        text = json.dumps([row])
    (tmp_path / name).write_text(text, encoding="utf-8")
    (sample,) = load_rag(SampleFiles(tmp_path / name)).samples
    assert sample.input == [{"role": "user", "content": "How long?"}]
    assert (sample.contexts, sample.metadata["sources"]) == ((), [{"text": "one"}, {"text": "two"}])


def test_ids_of_ragas_belong_to_its_texts_one_to_one(tmp_path):
    path = tmp_path / "ragas.jsonl"
    row = {"user_input": "Who?", "reference_contexts": ["one", "two"], "reference_context_ids": ["a", "b"]}
    path.write_text(json.dumps(row), encoding="utf-8")
    (sample,) = load_rag(SampleFiles(path)).samples
    assert sample.metadata["sources"] == [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}]
    path.write_text(json.dumps(row | {"reference_contexts": ["one"]}), encoding="utf-8")
    with pytest.raises(DataError, match=r"2 ids of passages for 1 texts: give each its id, or none"):
        load_rag(SampleFiles(path))


def test_passages_as_numpy_prints_them_are_read_unless_some_are_left_out(tmp_path):
    path = tmp_path / "set.csv"
    path.write_text("question,reference_contexts\nWho?,\"['one'\n 'two']\"\n", encoding="utf-8")
    (sample,) = load_rag(SampleFiles(path)).samples
    assert sample.metadata["sources"] == [{"text": "one"}, {"text": "two"}]
    path.write_text("question,reference_contexts\nWho?,\"['one' 'two' ... 'nine']\"\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"source is a list as numpy prints it, .*: write it as JSON"):
        load_rag(SampleFiles(path))
