"""Outputs that are there already: by id, exactly as the file holds them."""

import json

import pytest

from steelyard import ConfigError, ExactMatch, Output, Sample, evaluate
from steelyard.constraints import check_options
from steelyard.errors import DataError
from steelyard.prompts.sample_values import with_passage
from steelyard.prompts.trajectory import read_trajectory
from steelyard.report.exports import records
from steelyard.report.exports.records import legacy_rows
from steelyard.report.exports.workbook import write_workbook
from steelyard.scorers.retrieval import Retrieval
from steelyard.targets.replay import Replay


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def outputs(target, *idents):
    check_options(target)
    return [target(Sample(ident, "q")).value for ident in idents]


def test_json_lines_give_any_value(tmp_path):
    rows = [{"id": 1, "output": {"a": [1]}}, {"id": "b", "output": 0}]
    path = written(tmp_path, "o.jsonl", "\ufeff" + "\n\n".join(map(json.dumps, rows)) + "\n")
    assert outputs(Replay(path), "1", "b") == [{"a": [1]}, 0]


def test_samples_without_an_output_are_counted_and_the_first_named(tmp_path):
    rows = [{"id": str(ident), "output": "x"} for ident in range(3)]
    target = Replay(written(tmp_path, "o.jsonl", "\n".join(map(json.dumps, rows))))
    samples = [Sample(str(ident), f"question {ident}") for ident in range(10)]
    assert target.lacks(samples[:3]) == ""
    assert target.lacks(samples[2:4]) == "o.jsonl holds no output for 1 of 2 samples: 3"
    assert target.lacks(samples) == "o.jsonl holds no output for 7 of 10 samples: 3, 4, 5, 6, 7 and 2 more"


def test_a_json_list_of_objects_gives_one_output_each_and_equal_ones_may_be_repeated(tmp_path):
    rows = [{"question": "q1", "kb_answer": "A:H2O"}, {"question": "q2", "kb_answer": "C"}]
    path = written(tmp_path, "results.json", json.dumps([*rows, rows[0]], indent=1))
    assert outputs(Replay(path, id="question", output="kb_answer"), "q1", "q2") == ["A:H2O", "C"]


def test_a_line_separator_of_unicode_inside_a_text_ends_no_line(tmp_path):
    text = "one\u2028two\u2029three\x85four\x1cfive"
    path = written(tmp_path, "o.jsonl", json.dumps({"id": "a", "output": text}, ensure_ascii=False) + "\r\n")
    assert outputs(Replay(path), "a") == [text]


def test_outputs_beside_inputs_are_read_as_those_that_langsmith_and_mlflow_expect(tmp_path):
    rows = [{"inputs": {"question": "q1"}, "outputs": {"answer": "A"}}, {"inputs": "q2", "outputs": {"a": "1", "b": 2}}]
    path = written(tmp_path, "o.jsonl", "\n".join(map(json.dumps, rows)))
    assert outputs(Replay(path, id="inputs", output="outputs"), "q1", "q2") == ["A", {"a": "1", "b": 2}]
    failed = [{**rows[0], "run_type": "chain", "error": error} for error in (None, "boom")]
    path = written(tmp_path, "f.json", json.dumps([failed[0], {**failed[1], "inputs": "q2"}]))
    target = Replay(path, id="inputs", output="outputs")
    assert target(Sample("q1", "q")).value == "A"
    with pytest.raises(LookupError, match="no output for sample 'q2'"):
        target(Sample("q2", "q"))
    path = written(tmp_path, "p.jsonl", json.dumps({"id": 1, "outputs": {"answer": "A"}}))
    assert outputs(Replay(path, output="outputs"), "1") == [{"answer": "A"}]


def test_an_input_that_is_the_json_text_of_messages_is_found_by_that_text(tmp_path):
    asked = json.dumps([{"role": "user", "content": "How many?"}])
    target = Replay(written(tmp_path, "t.jsonl", json.dumps({"id": asked, "output": "Two."})))
    assert target(Sample("1", asked)).value == "Two."


@pytest.mark.parametrize("more", [{}, {"messages": [{"role": "user", "content": "How many?"}]}])
def test_the_tokens_of_a_row_count_for_a_reply_that_reports_none(tmp_path, more):
    row = {"id": "1", "output": [{"role": "assistant", "content": "Two."}], **more}
    row["usage"] = {"prompt_tokens": 9, "completion_tokens": 2}
    output = Replay(written(tmp_path, "u.jsonl", json.dumps(row)))(Sample("1", "How many?"))
    assert output.value == "Two."
    assert output.metadata["usage"] == {"input_tokens": 9, "output_tokens": 2, "calls": 1}


@pytest.mark.parametrize(
    ("called", "given"), [("tools_called", "input_parameters"), ("toolsCalled", "inputParameters")]
)
def test_the_tools_that_a_test_case_of_deepeval_called_are_its_calls(tmp_path, called, given):
    call = {"name": "weather", "type": "FUNCTION", "output": "18 degrees", given: {"city": "Rome"}}
    row = {"input": "How warm?", "actual_output": "It is 18.", called: [call]}
    target = Replay(written(tmp_path, "d.json", json.dumps([row])), id="input", output="actual_output")
    output = target(Sample("1", "How warm?"))
    (use,) = read_trajectory(output).calls
    assert (output.value, use.name, use.arguments, use.result) == (
        "It is 18.", "weather", {"city": "Rome"}, "18 degrees",
    )  # fmt: skip


def test_calls_of_the_user_of_tau2_bench_are_not_the_agents(tmp_path):
    messages = [
        {"role": "user", "content": "My phone has no data.", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "get_line", "arguments": {"n": 1}}]},
        {"id": "c1", "role": "tool", "content": "Line not found", "requestor": "assistant", "error": True},
        {"role": "assistant", "content": "Please toggle data.", "tool_calls": None},
        {"role": "user", "content": None, "tool_calls": [{"id": "u1", "name": "toggle", "requestor": "user"}]},
        {"id": "u1", "role": "tool", "content": "Data on", "requestor": "user", "error": False},
    ]
    row = {"id": "s1", "task_id": "t1", "messages": messages}
    output = Replay(written(tmp_path, "s.json", json.dumps([row])), id="task_id")(Sample("t1", "?"))
    assert output.value == "Please toggle data."
    (use,) = read_trajectory(output).calls
    assert (use.name, use.result, use.is_error) == ("get_line", "Line not found", True)


@pytest.mark.parametrize(
    ("name", "row", "error"),
    [
        (
            "s.jsonl",
            {"name": "chat m", "kind": "SPAN_KIND_CLIENT", "attributes": {}},
            "no 'id'; spans of OpenTelemetry",
        ),
        ("s.jsonl", {"attributes": {"colour": "red"}, "output": "a"}, "no 'id'; known: attributes, output"),
        ("s.jsonl", {"resourceSpans": []}, "no 'id'; spans of OpenTelemetry are not outputs: write a row for each"),
        ("s.json", {"resourceSpans": []}, "with a text for each; spans of OpenTelemetry are not outputs"),
        (
            "t.json",
            {"info": {}, "tasks": [], "simulations": []},
            "if the outputs are the list tasks or simulations, sav",
        ),
    ],
)
def test_a_file_that_holds_outputs_elsewhere_is_told_how_to_be_written(tmp_path, name, row, error):
    with pytest.raises((ConfigError, DataError), match=error):
        check_options(Replay(written(tmp_path, name, json.dumps(row))))


def test_an_output_of_its_own_wins_over_what_litellm_logs(tmp_path):
    row = {"id": "1", "call_type": "acompletion", "status": "success", "messages": [], "response": "3", "output": "2"}
    assert Replay(written(tmp_path, "o.jsonl", json.dumps(row)))(Sample("1", "How many?")).value == "2"


def test_calls_logged_by_litellm_answer_their_own_messages(tmp_path):
    asked = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    asked = [[*asked, {"role": "user", "content": name}] for name in ("How many?", "Where?")]
    reply = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Two."}}]}
    rows = [
        {"id": "c1", "call_type": "acompletion", "status": "success", "messages": asked[0], "response": reply},
        {"id": "c2", "call_type": "acompletion", "status": "failure", "messages": asked[1], "response": {}},
    ]
    target = Replay(written(tmp_path, "l.jsonl", "\n".join(map(json.dumps, rows))), id="messages")
    output = target(Sample("1", asked[0]))
    assert (output.value, output.metadata["messages"]) == ("Two.", [{"role": "assistant", "content": "Two."}])
    with pytest.raises(LookupError, match="no output for sample '2'"):
        target(Sample("2", asked[1]))


def test_answers_of_mt_bench_are_the_text_of_each_turn(tmp_path):
    rows = [
        {"question_id": number, "answer_id": "a", "model_id": "m", "choices": [{"index": 0, "turns": texts}]}
        for number, texts in ((81, ["A post with $ERROR$.", "A shorter post."]), (82, ["Three.", "$ERROR$"]))
    ]
    arena_hard = {"index": 0, "turns": [{"content": "Four.", "token_len": 2}]}
    rows.append({"question_id": 83, "answer_id": "a", "choices": [arena_hard]})
    path = written(tmp_path, "m.jsonl", "\n".join(map(json.dumps, rows)))
    target = Replay(path, id="question_id", output="choices")
    output = target(Sample("81", "q"))
    assert (output.value, len(output.metadata["messages"])) == ("A shorter post.", 2)
    assert target(Sample("83", "q")).value == "Four."
    with pytest.raises(LookupError, match="no output for sample '82'"):
        target(Sample("82", "q"))


def test_a_span_of_openinference_is_read_by_the_request_and_the_reply_that_it_keeps_as_json(tmp_path):
    asked = '{"messages": [{"role": "user", "content": "Capital?"}], "model": "m"}'
    reply = (
        '{"id":"c","choices":[{"finish_reason":"stop","index":0,"message":{"content":"Paris","role":"assistant"}}],'
        '"object":"chat.completion","usage":{"completion_tokens":2,"prompt_tokens":15}}'
    )
    row = {"id": asked, "output": reply}
    output = Replay(written(tmp_path, "o.jsonl", json.dumps(row)))(Sample("1", "Capital?"))
    assert (output.value, output.metadata["usage"]["input_tokens"]) == ("Paris", 15)
    json_answer = written(tmp_path, "a.jsonl", json.dumps({"id": 1, "output": '{"city": "Paris"}'}))
    assert outputs(Replay(json_answer), "1") == ['{"city": "Paris"}']


def test_a_column_of_questions_may_hold_objects(tmp_path):
    row = {"input": {"question": "Capital?"}, "output": "Paris"}  # of an experiment of Phoenix
    target = Replay(written(tmp_path, "o.jsonl", json.dumps(row)), id="input")
    assert target(Sample("1", {"question": "Capital?"})).value == "Paris"


def test_what_a_function_returned_is_read_from_where_opik_puts_it(tmp_path):
    values = {1: {"output": "A"}, 2: {"output": "A", "city": "Rome"}}
    rows = [{"dataset_item_id": number, "evaluation_task_output": value} for number, value in values.items()]
    path = written(tmp_path, "o.jsonl", "\n".join(map(json.dumps, rows)))
    target = Replay(path, id="dataset_item_id", output="evaluation_task_output")
    assert outputs(target, "1", "2") == ["A", {"output": "A", "city": "Rome"}]


def test_csv_columns_are_named(tmp_path):
    path = written(tmp_path, "o.csv", 'nr,answer\n1,"A, or\nB"\n2,\n')
    assert outputs(Replay(path, id="nr", output="answer"), "1", "2") == ["A, or\nB", ""]


def test_a_sample_without_an_output_is_a_failure_of_its_record_alone(tmp_path):
    path = written(tmp_path, "o.csv", "id,output\n1,A\n")
    run = evaluate(Replay(path), [Sample("1", "q", "A"), Sample("2", "q", "A")], [ExactMatch()])
    failures = [record.failure for record in run.records()]
    assert failures[0] is None
    assert (failures[1].kind, failures[1].message) == (
        "LookupError",
        "LookupError: o.csv holds no output for sample '2': no row has it, or its call failed",
    )


@pytest.mark.parametrize(
    "failed",
    [
        {"output": None},
        {"output": None, "messages": [{"role": "user", "content": "q"}], "error": "Error code: 429"},
        {"output": "", "error": "Error code: 429"},
        {"error": "Error code: 429"},
        {"output": {}, "request": {}, "response": {}, "status": "Bad Request: ..."},  # a batch of Vertex AI
        {"messages": [], "termination_reason": "infrastructure_error"},  # tau2-bench
        {"output": "Error during inference: timeout", "traceback": "Traceback (most recent call last): ..."},  # BFCL
        {"output": [], "info": {"error": "timeout", "traceback": "Traceback ..."}},  # tau-bench
        {"output": {"error": {"message": "Rate limit", "type": "requests", "code": "429"}}},  # a log of Helicone
        {"output": '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'},
    ],
)
def test_a_call_that_failed_has_no_output(tmp_path, failed):
    rows = [{"id": 1, "output": "", "error": None}, {"id": 2, **failed}]
    target = Replay(written(tmp_path, "o.jsonl", "\n".join(map(json.dumps, rows))))
    assert outputs(target, "1") == [""]
    with pytest.raises(LookupError, match="no output for sample '2'"):
        target(Sample("2", "q"))


@pytest.mark.parametrize(
    "answered",
    [
        {"output": {"error": {"message": "No date in the text"}}},
        {"output": {"error": {"message": "No date", "code": "missing"}, "date": None}},
        {"output": {"output": "x"}},
        {"output": "The key is missing.", "traceback": "KeyError: 'a'"},  # columns of the dataset
        {"output": "A complaint.", "call_type": "inbound", "status": "failure"},
        {"output": "GET", "request": "/", "status": "404", "response": ""},
        {"output": "The mark '$ERROR$'.", "answer_id": 2, "choices": [{"turns": ["'$ERROR$'"]}]},
        {"output": "A", "answer_id": 2, "choices": [{"turns": None}]},
    ],
)
def test_an_answer_is_not_taken_for_a_call_that_failed(tmp_path, answered):
    target = Replay(written(tmp_path, "o.jsonl", json.dumps({"id": 2, **answered})))
    assert outputs(target, "2") == [answered["output"]]


@pytest.mark.parametrize(
    ("name", "text", "error", "said_so"),
    [
        ("o.jsonl", '{"id": 1}', ConfigError, "line 1 has no 'output'; known: id"),
        ("o.jsonl", '{"id": 1, "outptu": 2}', ConfigError, "did you mean 'outptu'"),
        (
            "o.jsonl",
            '{"id": 1, "output": 2}\n{"id": "1", "output": 3}',
            DataError,
            "line 2: a second output for sample '1'",
        ),
        ("o.jsonl", "[1]", DataError, "entry 1: expected an object, got int"),
        ("o.jsonl", '{"id": 1, "output": 2}\n[1]', DataError, "line 2: expected an object, got list"),
        ("o.json", '[{"id": 1, "output": 2}, {"id": 1, "output": 3}]', DataError, "entry 2: a second output"),
        ("o.jsonl", '{"id": 1, "error": "KeyError", "reply": "A"}', DataError, "no row has an output under 'output'"),
        ("o.json", '{"q1": {"a": 1}}', DataError, "an object of id to output, with a text for each; write a row"),
        ("o.json", '{"0": {"prediction": "2", "gold": "2"}}', DataError, "an object of id to output"),  # OpenCompass
        ("o.json", '{"q1": 1, "q1": 2}', ConfigError, "has no 'id'"),
        ("o.jsonl", "{", DataError, "o.jsonl cannot be read"),
        ("o.jsonl", "[" * 100_000, DataError, "o.jsonl cannot be read"),
        ("o.csv", "id,output\n1\n", DataError, "line 2 is not as wide as the header"),
        ("o.tsv", "id\toutput\n1\tA\n", DataError, "outputs are read from JSON lines, a JSON list, CSV or .xlsx"),
        ("o.csv", "id,output\n1,2,3\n", DataError, "line 2 is not as wide as the header"),
        ("o.csv", 'id,output\n1,"2\n', DataError, "o.csv cannot be read"),
        ("o.csv", "id,output\n1," + "x" * 200_000, DataError, "field larger than"),
    ],
)
def test_a_file_that_cannot_be_meant_is_told_before_anything_is_run(tmp_path, name, text, error, said_so):
    with pytest.raises(error, match=said_so):
        check_options(Replay(written(tmp_path, name, text)))


@pytest.mark.parametrize("key", ["contexts", "sources", "confidence"])
def test_a_column_that_the_user_names_has_to_be_there(tmp_path, key):
    path = written(tmp_path, "o.csv", "id,output,surely\n1,A,\n")
    with pytest.raises(ConfigError, match=r"o\.csv: no row has 'sure': did you mean 'surely'"):
        check_options(Replay(path, **{key: "sure"}))
    check_options(Replay(path, **{key: "surely"}))


def test_bytes_that_are_no_utf_8_and_missing_files_are_told(tmp_path):
    (tmp_path / "o.csv").write_bytes(b"id,output\n1,\xff\n")
    for name in ("o.csv", "none.csv"):
        with pytest.raises(DataError, match=f"{name} cannot be read"):
            check_options(Replay(tmp_path / name))


def test_a_file_that_changed_is_read_again(tmp_path):
    path = written(tmp_path, "o.csv", "id,output\n1,A\n")
    target = Replay(path)
    assert outputs(target, "1") == ["A"]
    written(tmp_path, "o.csv", "id,output\n1,BB\n")
    assert outputs(target, "1") == ["BB"]


def at(position, db_id="", ident="x"):
    return Sample(ident, "q", metadata={"position": position, "db_id": db_id})


def test_lines_of_sql_go_by_the_place_of_the_sample(tmp_path):
    path = written(tmp_path, "pred.sql", "SELECT 1\r\n\nSELECT '\u2028'\tcar_1\n\n\n")
    target = Replay(path)
    check_options(target)
    assert [target(at(number)).value for number in range(3)] == ["SELECT 1", "", "SELECT '\u2028'"]
    with pytest.raises(LookupError, match=r"pred\.sql holds 3 outputs, none for sample 'x' at place 4"):
        target(at(3))
    with pytest.raises(LookupError, match="sample 'x' has no metadata position"):
        target(Sample("x", "q"))


def test_lines_for_another_database_are_not_taken(tmp_path):
    target = Replay(written(tmp_path, "pred.txt", "SELECT 1\tcar_1\n"))
    assert target(at(0, "car_1")).value == "SELECT 1"
    assert target(at(0)).value == "SELECT 1"
    with pytest.raises(LookupError, match="is for database 'car_1', sample 'x' is about 'world'"):
        target(at(0, "world"))


def test_birds_predictions_go_by_place_whatever_their_order(tmp_path):
    predictions = {"1": "SELECT 2\t----- bird -----\tb", "0": "SELECT 1\t----- bird -----\ta", "2": 0}
    target = Replay(written(tmp_path, "predict_dev.json", json.dumps(predictions, indent=1)))
    assert [target(at(number)).value for number in range(3)] == ["SELECT 1", "SELECT 2", ""]


def test_an_object_of_other_keys_goes_by_id(tmp_path):
    path = written(tmp_path, "o.json", json.dumps({"q1": "A", "q2": "B"}, indent=1))
    assert outputs(Replay(path), "q2", "q1") == ["B", "A"]
    one_line = written(tmp_path, "rows.json", json.dumps({"id": "q1", "output": {"a": 1}}))
    assert outputs(Replay(one_line), "q1") == [{"a": 1}]


def replayed(tmp_path, name, text, **options):
    target = Replay(written(tmp_path, name, text), **options)
    check_options(target)
    return target(Sample("q1", "q"))


def test_what_was_retrieved_is_replayed_with_the_output(tmp_path):
    sources = [{"document": "a.pdf", "page": 3}, "c7"]
    row = {"id": "q1", "output": "red", "contexts": ["The gate is red.", "Rain."], "sources": sources}
    output = replayed(tmp_path, "o.jsonl", json.dumps(row))
    assert (output.value, output.contexts) == ("red", ("The gate is red.", "Rain."))
    assert output.metadata == {"sources": [{"document": "a.pdf", "page": 3}, {"id": "c7"}]}
    run = evaluate(
        Replay(tmp_path / "o.jsonl"), [Sample("q1", "q", metadata={"sources": [{"id": "c7"}]})], [Retrieval()]
    )
    scores = {score.name: score.value for record in run.records() for score in record.scores}
    assert (scores["mrr"], scores["precision"]) == (0.5, 0.5)


def test_lists_stand_in_cells_as_json_under_any_name(tmp_path):
    text = 'id,output,docs,where\nq1,red,"[""one"", ""two""]","[""a"", 7]"\n'
    output = replayed(tmp_path, "o.csv", text, contexts="docs", sources="where")
    assert output.contexts == ("one", "two")
    assert output.metadata["sources"] == [{"id": "a"}, {"id": "7"}]


@pytest.mark.parametrize("cells", ["", "[]"])
def test_a_row_without_contexts_has_none(tmp_path, cells):
    output = replayed(tmp_path, "o.csv", f"id,output,contexts\nq1,red,{cells}\n")
    assert (output.value, output.contexts, output.metadata) == ("red", (), {})


@pytest.mark.parametrize(
    ("more", "said_so"),
    [
        ({"contexts": [1]}, "line 1: 'contexts' is not a list of texts"),
        ({"contexts": {"a": 1}}, "line 1: 'contexts' is not a list"),
        ({"contexts": "[broken"}, "line 1: 'contexts' is not a list: expected JSON"),
        ({"sources": [None]}, "line 1: 'sources' holds None, which is neither an id nor a mapping"),
        ({"contexts": ["a"], "sources": ["b", "c"]}, "line 1: 1 contexts and 2 sources: expected one for each"),
    ],
)
def test_contexts_and_sources_that_cannot_be_meant_are_told_with_their_line(tmp_path, more, said_so):
    with pytest.raises(DataError, match=said_so):
        replayed(tmp_path, "o.jsonl", json.dumps({"id": "q1", "output": "red", **more}))


def test_a_file_without_ids_is_searched_by_its_questions(tmp_path):
    path = written(tmp_path, "o.jsonl", '{"user_input": "How high?", "response": "1 m"}')
    target = Replay(path, id="user_input", output="response")
    assert target(Sample("line:2", "How high?")).value == "1 m"
    with pytest.raises(LookupError, match="holds no output for sample 'line:3'"):
        target(Sample("line:3", "How deep?"))


@pytest.mark.parametrize("name", ["cases.csv", "cases.jsonl"])
def test_passages_of_deepevals_test_cases_are_those_that_it_joined_by_bars(tmp_path, name):
    case = {"input": "Why?", "actual_output": "So.", "expected_output": "", "context": "", "retrieval_context": "a b|c"}
    text = json.dumps(case) if name.endswith("l") else f"{','.join(case)}\n{','.join(case.values())}\n"
    target = Replay(written(tmp_path, name, text), id="input", output="actual_output", contexts="retrieval_context")
    assert target(Sample("x", "Why?")) == Output("So.", ("a b", "c"))


def test_results_that_name_a_question_without_its_passage_are_found(tmp_path):
    target = Replay(written(tmp_path, "o.jsonl", '{"q": "How high?", "output": "1 m"}'), id="q")
    assert target(with_passage(Sample("line:2", "How high?"), "The tower.")).value == "1 m"


def test_a_list_of_texts_as_pandas_writes_it_is_read_from_a_cell(tmp_path):
    cell = repr(["It's red.", 'It is "red".']).replace('"', '""')
    output = replayed(tmp_path, "o.csv", f'id,output,contexts\nq1,red,"{cell}"\n')
    assert output.contexts == ("It's red.", 'It is "red".')


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.xlsx", "old.json"])
def test_what_export_writes_is_replayed_with_the_same_scores(tmp_path, name):
    samples = [Sample(f"s{n}", f"Question {n}?", "A", choices=("x", "y"), group="g") for n in range(4)]
    run = evaluate(lambda sample: "B" if sample.id == "s2" else "A", samples, [ExactMatch()], store=tmp_path / "s.db")
    if name == "old.json":
        (tmp_path / name).write_text(json.dumps(legacy_rows(run.records())), encoding="utf-8")
    elif name == "rows.xlsx":
        write_workbook([run], tmp_path / name)
    else:
        lines = records.jsonl(run) if name == "rows.jsonl" else records.csv(run)
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    again = evaluate(Replay(tmp_path / name), samples, [ExactMatch()], store=tmp_path / "s.db")
    assert [record.output.value for record in again.records()] == ["A", "A", "B", "A"]
    assert again.summary().scores[0].answered.value == run.summary().scores[0].answered.value == 0.75


def test_a_workbook_of_two_runs_or_with_a_cut_output_is_refused_with_its_row(tmp_path):
    samples = [Sample("a", "Question?", "A")]
    texts = ["A", "B", "x" * 40_000]
    first, second, long = (evaluate(lambda _, text=text: text, samples, [], store=tmp_path / "s.db") for text in texts)
    write_workbook([first, second], tmp_path / "two.xlsx")
    with pytest.raises(DataError, match=r"two\.xlsx .*\(2\) row 2: a second output for sample 'a'"):
        Replay(tmp_path / "two.xlsx").check()
    write_workbook([long], tmp_path / "long.xlsx")
    with pytest.raises(DataError, match=r"row 2: 'output' was cut at 32,767 characters; export it as \.jsonl or \.csv"):
        Replay(tmp_path / "long.xlsx").check()


def test_passages_of_a_run_are_replayed_from_the_older_format(tmp_path):
    samples = [Sample(f"s{n}", f"Question {n}?", "A") for n in range(3)]
    passages = Output("A", ("One.", "Two."), {"sources": [{"id": "a"}, {"id": "b"}]})
    run = evaluate(lambda sample: passages, samples, [ExactMatch()], store=tmp_path / "s.db")
    (tmp_path / "old.json").write_text(json.dumps(legacy_rows(run.records())), encoding="utf-8")
    again = evaluate(Replay(tmp_path / "old.json"), samples, [ExactMatch()], store=tmp_path / "s.db")
    assert [record.output for record in again.records()] == [passages] * 3


def logged(number, asked, text, **more):
    """A sample of a log of Inspect 0.3."""
    choices = [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}] if text is not None else []
    return {"id": number, "epoch": 1, "input": asked, "output": {"completion": text or "", "choices": choices}, **more}


def test_a_log_of_inspect_gives_each_sample_its_output_by_its_input_or_id(tmp_path):
    call = {"id": "c1", "function": "add", "arguments": {"a": 1}}
    steps = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    turns = [{"role": "user", "content": "Capital of Spain?"}]
    samples = [
        logged(1, "Capital of Italy?", "Rome"),
        logged(2, "Capital of France?", "Paris", messages=[*steps, {"role": "assistant", "content": "Paris"}]),
        logged(3, turns, "Madrid"),
        logged(4, "Capital of Peru?", None, error={"message": "boom"}),
    ]
    path = written(tmp_path, "log.json", json.dumps({"status": "success", "eval": {}, "plan": {}, "samples": samples}))
    target = Replay(path)
    assert [target(Sample("x", asked)).value for asked in ("Capital of France?", "Capital of Italy?")] == [
        "Paris",
        "Rome",
    ]
    assert target(Sample("3", turns)).value == "Madrid"
    assert target(Sample("x", "Capital of France?")).metadata["messages"][0]["tool_calls"][0]["name"] == "add"
    with pytest.raises(LookupError, match="no output for sample"):
        target(Sample("4", "Capital of Peru?"))


def test_an_agent_in_a_log_of_inspect_has_the_tokens_of_all_its_calls_and_its_failed_ones(tmp_path):
    call = {"id": "c1", "function": "add", "arguments": {"a": 1}}
    result = {"role": "tool", "content": "", "tool_call_id": "c1", "error": {"type": "unknown", "message": "no b"}}
    steps = [{"role": "assistant", "content": "", "tool_calls": [call]}, result, {"role": "assistant", "content": "2"}]
    usages = [
        {"input_tokens": 10, "output_tokens": 3, "input_tokens_cache_read": 40, "input_tokens_cache_write": 2},
        {"input_tokens": 60, "output_tokens": 1},
    ]
    asked = [{"event": "model", "output": {"usage": usage}} for usage in usages]
    kept = {"event": "model", "cache": "read", "output": {"usage": usages[0]}}
    judged = [{"event": "span_begin", "type": {}}, {"event": "span_begin", "type": "scorers"}, asked[0]]
    sample = logged(1, "1+1?", "2", messages=steps, events=[*asked, kept, *judged])
    broken = logged(2, "2+2?", "Let me see.", error={"message": "boom"})
    path = written(tmp_path, "log.json", json.dumps({"eval": {}, "plan": {}, "samples": [sample, broken]}))
    metadata = Replay(path)(Sample("x", "1+1?")).metadata
    assert metadata["usage"] == {"input_tokens": 112, "output_tokens": 4, "cached_input_tokens": 40, "calls": 2}
    assert metadata["messages"][1] == {"role": "tool", "content": "no b", "tool_call_id": "c1", "status": "error"}
    with pytest.raises(LookupError, match="no output for sample"):
        Replay(path)(Sample("2", "2+2?"))


@pytest.mark.parametrize(
    ("name", "samples", "message"),
    [
        ("log.eval", [], "inspect log dump log.eval > log.json"),
        ("log.json", None, "the log has no samples"),
        ("log.json", [logged(1, "a", "b"), {**logged(1, "a", "c"), "epoch": 2}], "2 epochs"),
        ("log.json", [logged(1, "a", "b"), {**logged(1, "a", "c"), "epoch": [1]}], "2 epochs"),
        ("log.json", [logged(1, "a", "b"), {**logged(2, "c", "d"), "output": "d"}], "sample 2: expected an object"),
        ("log.json", [logged(1, "a", "b", messages={"role": "user"})], "sample 1: expected an object .* a list"),
        ("log.json", [logged(1, "a", "b", messages=["?", {"tool_calls": [{}]}])], "not a list of chat messages"),
    ],
)
def test_a_log_of_inspect_that_is_not_read_says_what_to_do(tmp_path, name, samples, message):
    path = written(tmp_path, name, json.dumps({"eval": {}, "plan": {}, "samples": samples}))
    with pytest.raises(DataError, match=message):
        Replay(path).check()


def harness_rows(*replies, questions=("2+2?", "3*3?")):
    """Rows of `samples_TASK.jsonl` of lm-evaluation-harness 0.4.13: one for each filter of each question."""
    return [
        {
            "doc_id": number,
            "doc": {"question": question, "answer": "#### 4"},
            "target": "#### 4",
            "arguments": {"gen_args_0": {"arg_0": f"Question: {question}\nAnswer:", "arg_1": {"until": ["\n"]}}},
            "resps": reply,
            "filtered_resps": [filtered],
            "filter": name,
            "exact_match": 0.0,
        }
        for number, (question, reply) in enumerate(zip(questions, replies, strict=True))
        for name, filtered in (("strict-match", "[invalid]"), ("flexible-extract", "4"))
    ]


def jsonl(folder, rows):
    return written(folder, "samples_gsm8k.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def test_samples_of_the_harness_give_each_question_its_reply(tmp_path):
    rows = harness_rows([["It is 4."]], [["nine"]])
    path = jsonl(tmp_path, rows)
    assert [Replay(path)(Sample(name, asked)).value for name, asked in (("1", "2+2?"), ("0", "3*3?"))] == [
        "It is 4.",
        "nine",
    ]
    with pytest.raises(DataError, match="second output"):
        Replay(path, output="filtered_resps").check()
    assert Replay(jsonl(tmp_path, rows[1::2]), output="filtered_resps")(Sample("a", "2+2?")).value == "4"


def test_equal_questions_of_the_harness_are_found_by_id(tmp_path):
    path = jsonl(tmp_path, harness_rows([["a"]], [["b"]], questions=("same", "same")))
    assert [Replay(path)(Sample(str(number), "same")).value for number in (0, 1)] == ["a", "b"]


@pytest.mark.parametrize("reply", [[[["-0.2", "False"]], [["-1.5", "True"]]], [["-0.2", "False"]], [["a", "b"]], []])
def test_likelihoods_and_several_replies_of_the_harness_are_refused(tmp_path, reply):
    advice = "output: filtered_resps takes" if reply == [["a", "b"]] else "the target likelihood"
    with pytest.raises(DataError, match=rf"line 1: expected one reply in 'resps'.* {advice}"):
        Replay(jsonl(tmp_path, harness_rows(reply, [["b"]]))).check()


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ({"id": "1", "custom_id": "q", "result": "pass", "output": "A"}, {}),
        ({"custom_id": "1", "response": "A", "contexts": ["c"]}, {"id": "custom_id", "output": "response"}),
        ({"custom_id": "1", "response": "B", "answer": "A"}, {"id": "custom_id", "output": "answer"}),
    ],
)
def test_a_row_with_a_custom_id_that_is_no_result_of_a_batch_keeps_its_columns(tmp_path, row, names):
    (output,) = [Replay(jsonl(tmp_path, [row]), **names)(Sample("1", "q"))]
    assert (output.value, list(output.contexts)) == ("A", row.get("contexts", []))


def test_results_of_a_batch_are_read_by_their_custom_ids_without_the_calls_that_failed(tmp_path):
    body = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    refused = {"status_code": 400, "body": {"error": {"message": "bad", "type": "invalid_request_error"}}}
    expired = {"code": "batch_expired", "message": "This request could not be executed before the batch expired."}
    rows = [
        {"id": "batch_req_1", "custom_id": "q1", "response": {"status_code": 200, "body": body}, "error": None},
        {"id": "batch_req_2", "custom_id": "q2", "response": refused, "error": None},
        {"id": "batch_req_3", "custom_id": "q3", "response": None, "error": expired},
    ]
    path = written(tmp_path, "batch.jsonl", "\n".join(map(json.dumps, rows)))
    for target in (Replay(path), Replay(path, id="custom_id", output="response")):
        assert outputs(target, "q1") == ["Paris"]
        for failed in ("q2", "q3"):
            with pytest.raises(LookupError, match="no output for sample"):
                target(Sample(failed, "q"))
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Paris"}]}
    errored = {"type": "errored", "error": {"type": "error", "error": {"type": "api_error", "message": "down"}}}
    results = [("q1", {"type": "succeeded", "message": message}), ("q2", errored)]
    rows = [{"custom_id": ident, "result": result} for ident, result in results]
    anthropic = Replay(written(tmp_path, "results.jsonl", "\n".join(map(json.dumps, rows))))
    assert outputs(anthropic, "q1") == ["Paris"]
    with pytest.raises(LookupError, match="no output for sample"):
        anthropic(Sample("q2", "q"))
