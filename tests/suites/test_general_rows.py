"""A table of inputs: which column is which, by headers and by what prompts name, and what a sample holds."""

import csv
import json

import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.suites.general.rows import load_general


@pytest.fixture
def read(tmp_path):
    def read(content, *named, name="rows.csv", **keys):
        file = tmp_path / name
        rows = content if isinstance(content, str) else "\n".join(map(json.dumps, content))
        file.write_text(rows, encoding="utf-8")
        return load_general(SampleFiles(file, **keys), named=named)

    return read


def test_headers_give_the_roles_and_every_other_column_is_a_value(read):
    rows = read("ticket_id,text,label,channel\nT1,It never came.,billing,phone\n")
    (sample,) = rows.data.samples
    assert (sample.id, sample.input, sample.reference) == ("T1", "It never came.", "billing")
    assert sample.metadata == {"position": 0, "channel": "phone"}
    assert rows.places == {"text": "question", "ticket_id": "id", "channel": "metadata.channel"}
    assert rows.data.notes == (
        "1 column is a value of each row: channel; a prompt or a scorer may use it, as {{channel}}",
    )


@pytest.mark.parametrize(
    "header",
    ["input", "prompt", "question", "query", "text", "document", "article", "content", "instruction", "inputs"],
)
def test_each_usual_header_of_an_input_is_found(read, header):
    assert read([{header: "Why?", "channel": "x"}], name="r.jsonl").data.samples[0].input == "Why?"


@pytest.mark.parametrize("header", ["expected", "expected_output", "reference", "answer", "ideal", "target", "label"])
def test_each_usual_header_of_an_expected_output_is_found(read, header):
    assert read([{"text": "Why?", header: "So."}], name="r.jsonl").data.samples[0].reference == "So."


def test_a_column_that_a_prompt_names_is_the_input_whatever_its_header(read):
    rows = read("source,reference,domain\nA gate.,Ein Tor.,news\n", "source", columns={"group": "domain"})
    (sample,) = rows.data.samples
    assert (sample.input, sample.reference, sample.group) == ("A gate.", "Ein Tor.", "news")
    assert rows.places == {"source": "question", "domain": "group"}


def test_a_prompt_decides_between_two_headers_of_one_role(read):
    content = "question,text,answer,label\nq,t,a,l\n"
    with pytest.raises(ConfigError, match="the columns answer and label may each be the expected"):
        read(content, "text")
    with pytest.raises(ConfigError, match=r"question and text may each be the input; name one in a prompt, as \{\{q"):
        read("question,text,label\nq,t,l\n")
    sample = read(content, "text", columns={"expected": "label"}).data.samples[0]
    assert (sample.input, sample.reference) == ("t", "l")
    assert (sample.metadata["question"], sample.metadata["answer"]) == ("q", "a")
    rated = read(content, "answer", "question").data.samples[0]
    assert (rated.input, rated.reference, rated.metadata["answer"]) == ("q", "l", "a")


def test_a_prompt_that_shows_the_expected_output_is_refused_unless_the_column_is_said_to_be_the_input(read):
    content = "text,label\nt,l\n"
    with pytest.raises(ConfigError, match=r"\{\{label\}\} is the expected output of rows.csv.*columns: \{input: label"):
        read(content, "text", "label")
    sample = read(content, "label", columns={"input": "label"}).data.samples[0]
    assert (sample.input, sample.reference) == ("l", None)


def test_without_an_input_the_error_says_what_to_write(read):
    with pytest.raises(
        ConfigError, match=r"no column for the input; the columns found are body, channel.*\{\{body\}\}"
    ):
        read("body,channel\nb,c\n")


def test_without_an_input_no_id_is_proposed_however_long_it_is(read):
    with pytest.raises(ConfigError, match=r"as \{\{body\}\}"):
        read("id,body\n0123456789abcdef0123456789abcdef,b\n")


def test_a_title_above_the_header_is_passed_over_where_a_prompt_names_a_column(read):
    rows = read("Tickets of May,\nbody,label\nb,l\n", "body")
    assert [sample.input for sample in rows.data.samples] == ["b"]


def test_a_single_column_under_its_header_is_the_input(read):
    assert [sample.input for sample in read("question\nWhy?\nWho?\n").data.samples] == ["Why?", "Who?"]


@pytest.mark.parametrize(
    ("expected", "reference"),
    [
        ({"total": 3}, {"total": 3}),
        ('{"total": 3}', {"total": 3}),
        ("{no json", "{no json"),
        (["a", "b"], ["a", "b"]),
        (["a", {"b": 1}], ["a", {"b": 1}]),
        (5, "5"),
        (False, "false"),
        (" ", None),
        (None, None),
    ],
)
def test_expected_outputs_keep_their_structure_and_scalars_are_texts(read, expected, reference):
    rows = read([{"text": "t", "expected": expected}, {"text": "u", "expected": "x"}], name="r.jsonl")
    assert rows.data.samples[0].reference == reference


def test_inputs_are_texts_messages_or_any_json(read):
    talk = [{"role": "user", "content": "Why?"}]
    rows = read([{"input": talk}, {"input": json.dumps(talk)}, {"input": {"a": 1}}, {"input": 7}], name="r.jsonl")
    assert [sample.input for sample in rows.data.samples] == [talk, talk, {"a": 1}, "7"]


def test_rows_with_defects_are_told_with_their_places(read):
    with pytest.raises(DataError) as caught:
        read("id,text,label\na,,x\nb,t,y\nb,u,z\n")
    assert "rows.csv line 2 column B: the input is blank" in str(caught.value)
    assert "rows.csv line 4 column A: the same id as rows.csv line 3" in str(caught.value)


def test_a_column_with_the_name_of_a_key_of_ours_is_kept_under_another(read):
    rows = read([{"question": "q", "position": 4, "document": "d"}], "question", name="r.jsonl")
    assert rows.data.samples[0].metadata == {"position": 0, "position column": 4, "document": "d"}
    assert rows.places["position"] == "metadata.position column"


@pytest.mark.parametrize(
    ("inputs", "outputs", "asked", "expected"),
    [
        ({"question": "2 + 2?"}, {"answer": "4"}, "2 + 2?", "4"),
        ({"question": "2 + 2?", "lang": "en"}, {"sum": 4}, {"question": "2 + 2?", "lang": "en"}, {"sum": 4}),
        ({"messages": [{"role": "user", "content": "2 + 2?"}]}, None, [{"role": "user", "content": "2 + 2?"}], None),
    ],
)
def test_examples_of_langsmith_have_their_expected_output(tmp_path, inputs, outputs, asked, expected):
    (tmp_path / "a.jsonl").write_text(json.dumps({"inputs": inputs, "outputs": outputs}))
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["inputs", "outputs"], [json.dumps(inputs), json.dumps(outputs) if outputs else ""]]
        )
    for name in ("a.jsonl", "a.csv"):
        (sample,) = load_general(SampleFiles(tmp_path / name)).data.samples
        assert (sample.input, sample.reference) == (asked, expected), name


def test_outputs_beside_another_expected_output_are_values_of_the_row(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"inputs": "2?", "outputs": {"answer": "5"}, "expected": "4"}))
    (sample,) = load_general(SampleFiles(tmp_path / "a.jsonl")).data.samples
    assert sample.reference == "4"
