"""A table of inputs: which column is which, by headers and by what prompts name, and what a sample holds."""

import csv
import json

import openpyxl
import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.prompts.conversation import question_of
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
    assert rows.data.notes == ("1 further column: channel; a prompt or a scorer may use it, as {{channel}}",)


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
    with pytest.raises(ConfigError, match="the columns answer and ground_truths may each be the expected"):
        read("question,answer,ground_truths\nq,what a system said,a\n")
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
        read("id,body,channel\n0123456789abcdef0123456789abcdef,b,\n")


@pytest.mark.parametrize("content", ["ticket,label\nb,l\n", "id,ticket\n7,b\n", "label,category,ticket\nl,x,b\n"])
def test_the_only_column_without_a_role_is_the_input(read, content):
    assert read(content).data.samples[0].input == "b"


@pytest.mark.parametrize("content", ["ticket\nb\n", "ticket,channel,label\nb,c,l\n"])
def test_one_of_several_or_of_a_table_without_any_header_that_is_known_is_not_guessed_to_be_the_input(read, content):
    with pytest.raises(ConfigError, match="no column for the input"):
        read(content)


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
        ([{"role": "assistant", "content": "Rome"}], "Rome"),
        ({"role": "assistant", "content": [{"type": "text", "text": "Rome"}]}, "Rome"),
        ({"role": "assistant", "salary": 3000}, {"role": "assistant", "salary": 3000}),
        ('{"text": ["Rome", "Roma"], "answer_start": [5, 80]}', ["Rome", "Roma"]),
        ({"text": [], "answer_start": []}, None),
        ({"spans": ["Ann", "Bob"], "types": ["span", "span"]}, "Ann, Bob"),
        ({"number": "0", "date": {"day": "", "month": "", "year": ""}, "spans": [], "worker_id": "w"}, "0"),
        ({"number": "", "date": {"day": "3", "month": "May", "year": "1920"}, "spans": []}, "3 May 1920"),
        (" ", None),
        (None, None),
    ],
)
def test_expected_outputs_keep_their_structure_and_scalars_are_texts(read, expected, reference):
    rows = read([{"text": "t", "expected": expected}, {"text": "u", "expected": "x"}], name="r.jsonl")
    assert rows.data.samples[0].reference == reference


@pytest.mark.parametrize(
    "written", ["[42]", "[0.9130]", '["a", 1]', "[[5.96, -1.04], [11.63, -6.76]]", '[{"op": "remove"}]']
)
def test_a_text_in_brackets_is_how_the_answer_is_to_be_written(read, written):
    as_json = read([{"input": "Sum?", "ideal": written}], name="r.jsonl")
    as_cell = read(f'input,ideal\nSum?,"{written.replace(chr(34), 2 * chr(34))}"\n')
    assert [rows.data.samples[0].reference for rows in (as_json, as_cell)] == [written, written]


def test_instructions_alone_ask_as_in_datasets_of_openai_evals(read):
    messages = [{"role": "system", "content": "You know ships."}, {"role": "system", "content": "Which sank?"}]
    (sample,) = read([{"input": messages, "ideal": "Vasa"}], name="r.jsonl").data.samples
    assert (sample.input, question_of(sample.input)) == (messages, "Which sank?")
    answered = [*messages, {"role": "assistant", "content": "Vasa"}]
    (sample,) = read([{"messages": answered}], name="r.jsonl").data.samples
    assert (sample.input, sample.reference) == (messages, "Vasa")
    with pytest.raises(DataError, match="line 1 key input: the last message is blank"):
        read([{"input": [{"role": "system", "content": " "}], "ideal": "Vasa"}], name="r.jsonl")


def test_inputs_are_texts_messages_or_any_json(read):
    talk = [{"role": "user", "content": "Why?"}]
    rows = read([{"input": talk}, {"input": json.dumps(talk)}, {"input": {"a": 1}}, {"input": 7}], name="r.jsonl")
    assert [sample.input for sample in rows.data.samples] == [talk, talk, {"a": 1}, "7"]


def test_a_text_of_json_is_sent_with_the_blanks_around_it_as_code_needs_them(read):
    rows = read([{"prompt": "    return x\n", "code": "\tif a:"}], name="rows.jsonl")
    (sample,) = rows.data.samples
    assert (sample.input, sample.metadata["code"]) == ("    return x\n", "\tif a:")


def test_a_long_document_is_a_value_and_not_left_out(read):
    rows = read([{"question": "Why?", "contract": "x" * 200_000}], name="rows.jsonl")
    assert len(rows.data.samples[0].metadata["contract"]) == 200_000


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
        (
            {"messages": [{"role": "user", "content": "2 + 2?"}]},
            {"messages": [{"role": "assistant", "content": "4"}]},
            [{"role": "user", "content": "2 + 2?"}],
            "4",
        ),
        ({"question": "2 + 2?"}, {"answer": "4"}, "2 + 2?", "4"),
        (
            {"input": [{"type": "human", "data": {"content": "2 + 2?"}}]},
            {"output": {"type": "ai", "data": {"content": "4", "tool_calls": []}}},
            [{"role": "user", "content": "2 + 2?"}],
            "4",
        ),
        (
            {"q": {"role": "user", "content": "2?"}},
            {"a": {"role": "assistant", "content": "4"}},
            [{"role": "user", "content": "2?"}],
            "4",
        ),
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


@pytest.mark.parametrize(
    ("row", "expected", "unused"),
    [
        (
            {"inputs": {"question": "2?"}, "expectations": {"expected_response": "4"}, "outputs": {"answer": "5"}},
            "4",
            1,
        ),
        (
            {"inputs": {"question": "2?"}, "expectations": {"expected_facts": ["4"]}, "outputs": {"answer": "5"}},
            None,
            2,
        ),
        ({"inputs": {"question": "2?"}, "outputs": {"answer": "5"}, "run_type": "chain"}, None, 2),
    ],
)
def test_answers_of_an_application_are_not_the_expected_output(tmp_path, row, expected, unused):
    """Records of MLflow's datasets, and runs of LangSmith, hold what an application said as `outputs`."""
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    (sample,) = load_general(SampleFiles(tmp_path / "a.jsonl")).data.samples
    assert (sample.input, sample.reference) == ("2?", expected)
    assert len(sample.metadata.keys() & row.keys()) == unused


def test_other_expectations_of_mlflow_are_kept_with_the_sample(read):
    expectations = {"expected_response": "4", "guidelines": ["be short"], "expected_facts": []}
    (sample,) = read([{"inputs": {"question": "2?"}, "expectations": expectations}], name="m.jsonl").data.samples
    assert sample.reference == "4"
    assert sample.metadata["expectations"] == {"guidelines": ["be short"], "expected_facts": []}


def test_inputs_that_are_objects_are_told(read):
    items = [{"id": "i1", "input": {"question": "Why?"}, "expectedOutput": {"answer": "So."}}]  # of Langfuse
    assert any("1 of 1 inputs are objects" in note for note in read(items, name="l.jsonl").data.notes)
    assert not any("objects" in note for note in read([{"input": "Why?"}], name="t.jsonl").data.notes)


def test_turns_of_mt_bench_are_messages_of_the_user_and_the_last_reference_is_expected(read):
    rows = [{"question_id": 81, "turns": ["2 + 2?", "Twice that?"], "reference": ["4", "8"]}]
    (sample,) = read(rows, name="r.jsonl").data.samples
    asked = [{"role": "user", "content": "2 + 2?"}, {"role": "user", "content": "Twice that?"}]
    assert (sample.input, sample.reference) == (asked, "8")
    with_system = [{"role": "system", "content": "Be brief."}, asked[0]]
    of_arena_hard = [{"content": "2 + 2?"}]
    for turns, sent in ((["2 + 2?"], asked[:1]), (of_arena_hard, asked[:1]), (with_system, with_system)):
        (sample,) = read([{"turns": turns, "reference": ["4", "four"]}], name="s.jsonl").data.samples
        assert (sample.input, sample.reference) == (sent, ["4", "four"])


def test_texts_of_langfuse_are_read_without_the_quotes_of_json(read):
    cells = [["input", "expectedOutput", "note"], ['"Say \\"hi\\""', '"hi"', '"a" or b'], ['"Why?"', '""', '"c"']]
    data = read("\n".join(",".join('"{}"'.format(cell.replace('"', '""')) for cell in row) for row in cells)).data
    assert [(sample.input, sample.reference) for sample in data.samples] == [('Say "hi"', "hi"), ("Why?", None)]
    assert [sample.metadata["note"] for sample in data.samples] == ['"a" or b', '"c"']
    assert "rows.csv: each text in A, B is written as JSON, and read without its quotes" in data.notes


def test_outputs_beside_another_expected_output_are_values_of_the_row(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"inputs": "2?", "outputs": {"answer": "5"}, "expected": "4"}))
    (sample,) = load_general(SampleFiles(tmp_path / "a.jsonl")).data.samples
    assert sample.reference == "4"


_FINE_TUNING = [
    {"messages": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]},
    {"conversations": [{"from": "human", "value": "2 + 2?"}, {"from": "gpt", "value": "4"}]},
    {"messages": str([{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4", "name": None}])},
]


@pytest.mark.parametrize("row", _FINE_TUNING)
def test_the_answer_that_data_for_fine_tuning_ends_with_is_expected_and_not_sent(read, row):
    data = read([row], name="r.jsonl").data
    (sample,) = data.samples
    assert (sample.input, sample.reference) == ([{"role": "user", "content": "2 + 2?"}], "4")
    assert data.notes == (
        "the last message of a conversation, if it is the assistant's, is the expected output; not sent",
    )


def test_a_conversation_stays_whole_where_it_is_asked_about_or_has_an_expected_output(read):
    row = _FINE_TUNING[0]
    assert read([row], "transcript", name="r.jsonl").data.samples[0].input == row["messages"]
    assert read([row], "messages", name="r.jsonl").data.samples[0].input == row["messages"][:-1]
    (sample,) = read([{**row, "label": "sum"}], name="r.jsonl").data.samples
    assert (sample.input, sample.reference) == (row["messages"], "sum")


@pytest.mark.parametrize("named", [("instruction", "input"), ("input", "instruction")])
def test_of_two_columns_that_a_prompt_names_the_one_without_blanks_is_the_input(read, named):
    rows = [{"instruction": "Translate", "input": "Haus"}, {"instruction": "Name a colour", "input": ""}]
    read_rows = read(rows, *named, name="r.jsonl")
    assert [sample.input for sample in read_rows.data.samples] == ["Translate", "Name a colour"]
    assert read_rows.places["input"] == "metadata.input"


@pytest.mark.parametrize(
    ("name", "options"), [("choices", ["a", "b"]), ("options", {"text": ["a", "b"], "label": ["A", "B"]})]
)
def test_choices_are_said_to_be_read_by_the_suite_choice(read, name, options):
    data = read([{"question": "q", name: options, "answer": 1}], name="r.jsonl").data
    assert data.notes[-1].startswith(f"each row has {name}: the suite choice reads exams")


@pytest.mark.parametrize(
    ("context", "texts"),
    [
        ({"title": ["Ems", "Elz"], "sentences": [["A river.", " It is long."], ["A brook."]]}, 2),
        ([["Ems", ["A river.", " It is long."]]], 1),
        ({"contexts": ["Ems\nA river. It is long.", "b"], "labels": ["AIM", "RESULTS"]}, 2),
    ],
)
def test_passages_of_hotpotqa_and_pubmedqa_are_contexts(read, context, texts):
    (sample,) = read([{"question": "q", "context": context, "answer": "a"}], name="r.jsonl").data.samples
    assert (sample.contexts[0], len(sample.contexts)) == ("Ems\nA river. It is long.", texts)


def test_a_problem_is_the_input_where_nothing_else_is_and_an_answer_is_not_proposed(read):
    row = {"problem": "1 + 1?", "solution": "It is two, as we know."}
    assert read([row], name="r.jsonl").data.samples[0].input == "1 + 1?"
    assert read([{**row, "text": "t"}], name="r.jsonl").data.samples[0].input == "t"
    with pytest.raises(ConfigError, match=r"columns: \{input: goal\}"):
        read([{"goal": "Boil it", "solution": row["solution"], "steps": ["heat the water", "wait"]}], name="r.jsonl")


def test_rows_of_ragas_have_their_input_and_contexts(read):
    row = {"user_input": "Why?", "retrieved_contexts": ["It rains."], "response": "R", "reference": "So."}
    (sample,) = read([row], name="r.jsonl").data.samples
    assert (sample.input, sample.contexts, sample.reference) == ("Why?", ("It rains.",), "So.")


def test_aliases_of_an_answer_are_right_too(read):
    rows = [{"question": "q", "answer": "Rome", "answer_aliases": aliases} for aliases in (["Roma"], [])]
    assert [sample.reference for sample in read(rows, name="r.jsonl").data.samples] == [["Rome", "Roma"], "Rome"]
    (sample,) = read("question,answer,answer_aliases\nq,Rome,\"['Roma', 'Urbs']\"\n", name="r.csv").data.samples
    assert sample.reference == ["Rome", "Roma", "Urbs"]
    others = [{"question": "q", "label": "city", "text answer": "Rome", "answer_aliases": ["Roma"]}]
    assert read(others, name="r.jsonl").data.samples[0].reference == "city"


def test_a_column_of_an_own_name_has_both_names(read):
    data = read([{"question": "q", "passage": "p"}], name="r.jsonl")
    assert {name: place for name, place in data.places.items() if "passage" in name} == dict.fromkeys(
        ("passage", "passage column"), "metadata.passage column"
    )


def test_objects_as_python_prints_them_are_said_to_be_texts(read):
    rows = [{"input": "[{'role': None}]", "expected": "{'city': None}"}, {"input": "b", "expected": "x"}]
    data = read(rows, name="r.jsonl").data
    assert (data.samples[0].input, data.samples[0].reference) == ("[{'role': None}]", "{'city': None}")
    assert data.notes == (
        "inputs as Python prints objects are read as texts (1 rows); write objects as JSON",
        "expected outputs as Python prints objects are read as texts (1 rows); write objects as JSON",
    )


def test_a_comma_outside_of_quotes_is_a_defect_and_loses_nothing(read):
    with pytest.raises(DataError, match=r"line 3: 2 cells where 1 were expected; is a cell with a comma not"):
        read("input\nWhat is 1 + 1?\nWhat is 2 + 2, and 3 + 4?\n")


def test_a_merged_cell_applies_to_each_of_its_rows(tmp_path):
    book = openpyxl.Workbook()
    for row in (["group", "input", "expected", "channel"], ["g", "a", "1", "mail"], [None, "b", "2", None]):
        book.active.append(row)
    for column in "AD":
        book.active.merge_cells(f"{column}2:{column}3")
    book.save(tmp_path / "a.xlsx")
    samples = load_general(SampleFiles(tmp_path / "a.xlsx")).data.samples
    assert [(sample.group, sample.metadata["channel"]) for sample in samples] == 2 * [("g", "mail")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.jsonl", "\n", "r.jsonl: there is no row in it"),
        ("r.json", "[]", "r.json: there is no row in it"),
        ("r.txt", "input,expected\na,1\n", "r.txt is read as SQL, a statement a line; name a table .csv"),
    ],
)
def test_a_file_that_is_no_table_is_told_so(read, name, content, message):
    with pytest.raises((ConfigError, DataError), match=message):
        read(content, name=name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.json", '{"input": "a", "expected": "1"}\n{"input": "b", "expected": "2"}\n'),
        ("r.jsonl", '\n[{"input": "a",\n "expected": "1"}, {"input": "b", "expected": "2"}]'),
    ],
)
def test_lines_and_lists_of_json_are_read_under_either_name(read, name, content):
    assert [sample.reference for sample in read(content, name=name).data.samples] == ["1", "2"]
