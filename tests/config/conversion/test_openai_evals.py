"""Evals of OpenAI, hosted and of the registry, and datasets of pydantic-evals become configurations of ours."""

import json
import re
from pathlib import Path

import pytest

from steelyard import ConfigError, Sample, evaluate, evaluate_suite
from steelyard.building.build import build_scorer
from steelyard.config.conversion import converted
from steelyard.config.load import load
from steelyard.evaluation.evaluate import RunConfig

EVAL = {
    "object": "eval",
    "name": "Ticket routing",
    "data_source_config": {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True},
    "testing_criteria": [
        {
            "type": "string_check",
            "name": "same label",
            "input": "{{ sample.output_text }}",
            "operation": "eq",
            "reference": "{{ item.correct_label }}",
        },
        {
            "type": "string_check",
            "name": "mentions",
            "input": "{{sample.output_json.reason}}",
            "operation": "ilike",
            "reference": "refund",
        },
        {
            "type": "text_similarity",
            "name": "near",
            "input": "{{sample.output_text}}",
            "reference": "{{item.correct_label}}",
            "evaluation_metric": "rouge_2",
            "pass_threshold": 0.6,
        },
        {
            "type": "label_model",
            "name": "tone",
            "model": "gpt-4.1",
            "input": [{"role": "developer", "content": "Is {{sample.output_text}} kind to {{item.ticket_text}}?"}],
            "labels": ["kind", "rude"],
            "passing_labels": ["kind"],
        },
        {
            "type": "score_model",
            "name": "quality",
            "model": "gpt-4.1",
            "input": [{"role": "user", "content": {"type": "input_text", "text": "Rate it."}}],
            "range": [0, 10],
            "pass_threshold": 5,
        },
        {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1"},
        {
            "type": "text_similarity",
            "name": "bleu",
            "input": "{{sample.output_text}}",
            "reference": "x",
            "evaluation_metric": "bleu",
        },
        {
            "type": "text_similarity",
            "name": "fuzzy",
            "input": "{{sample.output_text}}",
            "reference": "x",
            "evaluation_metric": "fuzzy_match",
        },
    ],
}
RUN = {
    "object": "eval.run",
    "data_source": {
        "type": "completions",
        "model": "gpt-4.1-mini",
        "sampling_params": {"temperature": 0, "max_completions_tokens": 64},
        "input_messages": {
            "type": "template",
            "template": [
                {"role": "developer", "content": "You sort tickets."},
                {"role": "user", "content": {"type": "input_text", "text": "{{item.ticket_text}}"}},
            ],
        },
        "source": {"type": "file_id", "id": "file-1"},
    },
}
ITEMS = [{"item": {"ticket_text": f"Ticket {no}", "correct_label": "bug"}} for no in range(3)]


@pytest.fixture
def convert(tmp_path):
    """Writes files of JSON or text, converts the first with the others, and gives what comes out."""

    def write_and_convert(**files):
        paths = []
        for name, content in files.items():
            path = tmp_path / name.replace("__", ".")
            lines = content if isinstance(content, list) else [content]
            text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
            path.write_text(text, encoding="utf-8")
            paths.append(path)
        result = converted(paths[0], paths[1:])
        return result.configuration, list(result.rows), "\n".join(result.notes.lines())

    return write_and_convert


def test_a_hosted_eval_with_its_run_and_items_becomes_a_configuration(convert):
    new, rows, notes = convert(eval__json=EVAL, items__jsonl=ITEMS, run__json=RUN)
    (target,) = new["targets"].values()
    assert target["prompt"] == {
        "system": "You sort tickets.",
        "template": "{{question}}",
        "model": {
            "openai_compatible": {
                "name": "gpt-4.1-mini",
                "base_url": "https://api.openai.com/v1",
                "api_key": "${OPENAI_API_KEY}",
                "parameters": {"temperature": 0, "max_completion_tokens": 64},
            }
        },
    }
    assert rows[0] == {"ticket_text": "Ticket 0", "correct_label": "bug"}
    kind = "By these instructions the answer gets a label of: kind.\nIs (the answer) kind to {{ticket_text}}?"
    assert new["scorers"] == [
        {
            "checks": {
                "every": [
                    {"exact_match": "{{correct_label}}", "literal": True, "name": "same label"},
                    {"contains": "refund", "literal": True, "of": '"reason"', "name": "mentions"},
                    {"rouge_n": {"n": 2, "threshold": 0.6}, "value": "{{correct_label}}", "name": "near"},
                    {"guideline": kind, "name": "tone"},
                    {"g_eval": "Rate it.", "threshold": 5.0, "low": 0, "high": 10, "name": "quality"},
                ]
            }
        }
    ]
    assert new["judge"]["model"]["openai_compatible"]["name"] == "gpt-4.1"
    assert "python: code within a configuration is not run" in notes
    assert "bleu: no scorer stands for it. Instead: BLEU" in notes
    assert "testing_criteria[7]: fuzzy_match: no scorer stands for it. Instead: levenshtein" in notes


def test_without_a_run_the_prompt_and_the_model_are_named_as_missing(convert):
    new, rows, notes = convert(eval__json=EVAL, items__jsonl=ITEMS)
    assert (new["prompts"], new["models"]) == ("{{ticket_text}}", ["gpt-5"])
    assert "convert EVAL RUN ITEMS" in notes
    assert len(rows) == 3


def test_items_of_a_run_are_read_where_they_stand_in_it(convert):
    source = {"type": "file_content", "content": ITEMS[:2]}
    run = {**RUN, "data_source": {**RUN["data_source"], "source": source}}
    _, rows, _ = convert(eval__json=EVAL, run__json=run)
    assert len(rows) == 2


def test_values_of_items_are_what_they_are(convert):
    items = [
        {"q": "file:///etc/passwd", "tags": ["a", "b"], "n": 3.0},
        {"q": "say {{q}} and {{ tags }}", "tags": [], "n": 3},
        {"q": "{% if x %}\n", "tags": ["c"], "n": True},
    ]
    template = [{"role": "user", "content": "{{item.q}}"}]
    run = {"data_source": {"model": "m", "input_messages": {"type": "template", "template": template}}}
    criterion = {**EVAL["testing_criteria"][0], "reference": "{{item.n}}"}
    _, rows, notes = convert(eval__json={"testing_criteria": [criterion]}, run__json=run, items__jsonl=items)
    assert (list(rows), notes) == (items, "")


def test_a_run_without_a_prompt_names_the_outputs_that_exist(convert):
    content = [{**item, "sample": {"output_text": "bug"}} for item in ITEMS]
    run = {"data_source": {"type": "jsonl", "source": {"type": "file_content", "content": content}}}
    _, rows, notes = convert(eval__json=EVAL, run__json=run)
    assert len(rows) == 3
    assert "the prompt, which the run has not" in notes
    assert "the items' outputs" in notes


def test_an_image_in_a_message_is_named(convert):
    image = {"type": "input_image", "image_url": "{{item.url}}"}
    parts = [{"type": "input_text", "text": "{{item.ticket_text}}"}, image]
    template = [{"role": "user", "content": parts}]
    run = {"data_source": {"model": "m", "input_messages": {"type": "template", "template": template}}}
    _, _, notes = convert(eval__json=EVAL, run__json=run, items__jsonl=ITEMS)
    assert "input_image in the messages of the run" in notes


def test_messages_of_an_item_are_the_input(convert):
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    reference = {"type": "item_reference", "item_reference": "item.chat"}
    run = {"data_source": {"model": "m", "input_messages": reference}}
    items = [{"item": {"chat": turns, "correct_label": "x"}}]
    new, rows, _ = convert(eval__json=EVAL, run__json=run, items__jsonl=items)
    assert new["prompts"] == "{{chat}}"
    assert json.loads(rows[0]["chat"]) == turns


def test_several_turns_take_the_place_of_no_value_that_a_criterion_names(convert):
    roles = ("user", "assistant", "user")
    turns = [{"role": role, "content": "{{item.correct_label}}"} for role in roles]
    run = {"data_source": {"model": "m", "input_messages": {"type": "template", "template": turns}}}
    new, rows, _ = convert(eval__json={"testing_criteria": EVAL["testing_criteria"][:1]}, run__json=run, i__jsonl=ITEMS)
    assert new["scorers"] == [{"exact_match": "{{correct_label}}", "literal": True, "name": "same label"}]
    assert rows[0]["correct_label_value" if "correct_label_value" in rows[0] else "correct_label"] == "bug"
    assert [turn["content"] for turn in rows[0]["messages"]] == ["bug"] * 3


JUDGED = {"model": "m", "labels": ["a", "b"], "passing_labels": ["a"]}


@pytest.mark.parametrize(
    ("criterion", "becomes"),
    [
        (
            {"type": "label_model", "input": "Is {{sample.output_text}} a?", **JUDGED},
            {"guideline": "By these instructions the answer gets a label of: a.\nIs (the answer) a?"},
        ),
        (
            {"type": "score_model", "input": "Rate {{sample.output_json.why[0]}}.", "pass_threshold": 0, **JUDGED},
            {"g_eval": "Rate (why[0] of the answer).", "threshold": 1.0},
        ),
        (
            {"type": "score_model", "input": "Rate {{sample.output_text}}.", "pass_threshold": 5, "range": [1, 7]},
            {"g_eval": "Rate (the answer).", "threshold": 5.0, "low": 1, "high": 7},
        ),
        (
            {
                "type": "score_model",
                "input": "Rate {{sample.output_text}}.",
                "pass_threshold": 1025,
                "range": [1e3, 1050],
            },
            {"g_eval": "Rate (the answer).", "threshold": 3.0},
        ),
        (
            {"type": "text_similarity", "evaluation_metric": "rouge_l", "pass_threshold": 0.4, "reference": "x"},
            {"rouge_l": {"threshold": 0.4}, "value": "x"},
        ),
        (
            {
                "type": "string_check",
                "operation": "eq",
                "input": "{{sample.output_json.a[0]['b c']}}",
                "reference": "x",
            },
            {"exact_match": "x", "literal": True, "of": '"a"[0]."b c"'},
        ),
    ],
)
def test_a_criterion_is_read_whole(convert, criterion, becomes):
    given = {"input": "{{sample.output_text}}", **criterion}
    new, _, _ = convert(eval__json={"testing_criteria": [given]}, items__jsonl=ITEMS)
    assert new["scorers"] == [becomes]


@pytest.mark.parametrize(
    ("criterion", "note"),
    [
        (
            {"type": "label_model", "input": "{{sample.output_tools}}", **JUDGED},
            "label_model with {{sample.output_tools}}",
        ),
        (
            {"type": "multi", "graders": {}, "calculate_output": "a"},
            "multi: no scorer .* its graders, each as a scorer",
        ),
        (
            {"type": "string_check", "input": "{{sample.output_tools[0].function.name}}", "reference": "x"},
            "Instead: tool_calls",
        ),
        ({"type": "string_check", "input": "Is {{sample.output_text}}", "reference": "x"}, "string_check of Is {{"),
        ({"type": "string_check", "input": "{{item.answer}}", "reference": "x"}, "Instead: the target replay"),
        ({"type": "label_model", "input": "Is {{item.answer}} a?", **JUDGED}, "of items alone: .* target replay"),
        ({"type": "label_model", "input": "Is {{sample.output_text}} a?"}, "it has no passing_labels"),
        ({"type": "label_model", "input": [{"content": {"type": "input_image"}}], **JUDGED}, "with input_image"),
        ({"type": "score_model", "input": "Rate it.", "name": "q", "range": [0, 1]}, "a pass_threshold of q"),
        *(
            ({"type": "score_model", "input": "Rate it.", "range": ends, "pass_threshold": least}, "two numbers, and")
            for ends, least in (([0, 5, 10], 5), (["0", "10"], 5), ([5, 5], 5), ([10, 0], 5), ([0, 10], 70), (3, 2))
        ),
    ],
)
def test_a_criterion_that_is_not_read_is_named(convert, criterion, note):
    _, _, notes = convert(eval__json={"testing_criteria": [criterion]}, items__jsonl=ITEMS)
    assert re.search(note.replace("{{", r"\{\{"), notes)


def test_another_grader_is_named_and_the_first_is_sent_its_own_parameters(convert):
    """A judge's temperature of 0 is over what its model sets, but not over the parameters of the judge."""
    graders = [
        {"type": "label_model", "input": "Is {{sample.output_text}} a?", **JUDGED, "sampling_params": sampling}
        for sampling in ({"temperature": 0.7, "max_completions_tokens": 500}, {"seed": 1})
    ]
    new, _, notes = convert(eval__json={"testing_criteria": graders}, items__jsonl=ITEMS)
    assert new["judge"]["parameters"] == {"temperature": 0.7, "max_completion_tokens": 500}
    assert "parameters" not in new["judge"]["model"]["openai_compatible"]
    assert "another grader" in notes


def test_lists_of_the_api_are_read_and_further_runs_named(convert):
    items = {"object": "list", "data": [{"datasource_item": one["item"]} for one in ITEMS]}
    runs = {"object": "list", "data": [RUN, RUN | {"model": "other"}]}
    new, rows, notes = convert(eval__json=EVAL, runs__json=runs, items__json=items)
    assert ([*new["targets"]], rows) == (["gpt-4.1-mini"], [one["item"] for one in ITEMS])
    assert "all runs but the first of 2" in notes
    page = items | {"has_more": True}
    assert "further pages" in convert(eval__json=EVAL, runs__json=runs, items__json=page)[2]
    assert "further pages" not in convert(eval__json=EVAL, runs__json=runs, page__json=page, items__json=items)[2]


def test_outputs_among_items_are_told_apart(convert):
    items = [{"datasource_item": one["item"], "sample": {"output": [{"content": "bug"}]}} for one in ITEMS]
    _, rows, notes = convert(eval__json=EVAL, items__jsonl=items)
    assert rows[0] == ITEMS[0]["item"]
    assert "the target replay" in notes


def test_an_eval_without_items_says_how_to_get_them(convert):
    with pytest.raises(ConfigError, match="export them as JSON lines"):
        convert(eval__json=EVAL)


@pytest.mark.parametrize(
    ("kind", "scorer"),
    [
        ("basic.match:Match", {"starts_with": {"literal": True}}),
        ("basic.includes:Includes", {"contains": {"ignore_case": False, "literal": True}}),
        (
            "basic.fuzzy_match:FuzzyMatch",
            {"any_of": [{"exact_match": {"normalise": True}}, "contains"], "name": "fuzzy_match"},
        ),
        ("basic.json_match:JsonMatch", {"json_fields": {"extra": "fail"}}),
    ],
)
def test_a_class_of_the_registry_becomes_a_scorer_over_its_own_samples(convert, kind, scorer):
    text = f"x:\n  id: x.dev.v0\nx.dev.v0:\n  class: evals.elsuite.{kind}\n  args: {{samples_jsonl: x/samples.jsonl}}\n"
    new, rows, notes = convert(x__yaml=text)
    assert new["scorers"] == [scorer]
    assert new["samples"] == {"file": "x/samples.jsonl", "columns": {"input": "input", "expected": "ideal"}}
    assert rows == []
    assert "a model" in notes


REGISTRY = {
    "Match": "match:Match\n  args: {}",
    "Includes": "includes:Includes\n  args: {}",
    "Includes without case": "includes:Includes\n  args: {ignore_case: true}",
    "FuzzyMatch": "fuzzy_match:FuzzyMatch\n  args: {}",
    "JsonMatch": "json_match:JsonMatch\n  args: {}",
}


@pytest.mark.parametrize("kind", REGISTRY)
def test_a_class_of_the_registry_gives_the_verdicts_of_evals(convert, kind, tmp_path):
    """`matches` is what the code of the package evals 3.0.1 says; `ours` stands where we differ, as the page tells."""
    lines = Path(__file__).with_name("openai_registry.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["class"] == kind]
    new, _, notes = convert(x__yaml=f"x:\n  class: evals.elsuite.basic.{REGISTRY[kind]}\n")
    assert "args" not in notes
    samples = [Sample(str(no), f"Question {no}", case["ideal"]) for no, case in enumerate(cases)]
    (scorer,) = [build_scorer(given, "scorers") for given in new["scorers"]]
    run = evaluate(lambda sample: cases[int(sample.id)]["output"], samples, [scorer], store=tmp_path / "store.db")
    found = {int(record.sample.id): record.scores[0].value == 1 for record in run.records()}
    wrong = [case for no, case in enumerate(cases) if found[no] is not case.get("ours", case["matches"])]
    assert (wrong, len(found)) == ([], len(cases))


def test_a_graded_class_of_the_registry_is_converted_by_its_specification_or_named(convert):
    text = "x:\n  class: evals.elsuite.modelgraded.classify:ModelBasedClassify\n  args: {modelgraded_spec: %s}\n"
    assert convert(x__yaml=text % "closedqa")[0]["scorers"] == [{"guideline": "{{criteria}}"}]
    new, _, notes = convert(x__yaml=text % "closedqa, modelgraded_spec_args: {criteria: Is it short?}")
    assert new["scorers"] == [{"guideline": "Is it short?"}]
    assert "modelgraded_spec_args" not in notes
    assert new["samples"]["columns"] == {"input": "input"}  # such a file has no `ideal`
    several = "closedqa, modelgraded_spec_args: {criteria: {short: Is it short?, polite: Is it polite?}}"
    guidelines = [{"guideline": "Is it short?", "name": "short"}, {"guideline": "Is it polite?", "name": "polite"}]
    assert convert(x__yaml=text % several)[0]["scorers"] == guidelines
    with pytest.raises(ConfigError, match=r"ModelBasedClassify battle: no scorer .*guideline") as raised:
        convert(x__yaml=text % "battle")
    assert raised.value.location.line == 2


def test_a_dataset_of_pydantic_evals_becomes_rows_with_checks(convert):
    text = """
name: capitals
cases:
- name: france
  inputs: {country: France, style: short}
  expected_output: Paris
  metadata: {level: easy}
  evaluators:
  - Contains: {value: par, case_sensitive: false}
  - name: Equals
    arguments: [Paris]
- name: spain
  inputs: {country: Spain, style: long}
evaluators:
- EqualsExpected
- MaxDuration: 2
- LLMJudge: {rubric: is polite}
- IsInstance: str
report_evaluators: []
"""
    new, rows, notes = convert(capitals__yaml=text)
    assert new["prompts"] == "country: {{country}}\nstyle: {{style}}"
    assert new["scorers"] == [{"checks": {"every": [{"latency": 2.0}, {"guideline": "is polite"}]}}]
    assert rows[0] == {
        "level": "easy",
        "description": "france",
        "country": "France",
        "style": "short",
        "expected_output": "Paris",
        "checks": [{"exact_match": "Paris", "literal": True}, {"contains": "par", "literal": True}],
    }
    assert "checks" not in rows[1]
    for part in ("the task, a function", "evaluators: evaluator IsInstance"):
        assert part in notes
    for part in ("report_evaluators", "promptfoo", "defaultTest"):
        assert part not in notes


def test_an_evaluator_without_its_argument_is_named(convert):
    text = "cases: [{inputs: hi}]\nevaluators: [MaxDuration: {limit: 1}, LLMJudge: {rubric: is polite}]\n"
    new, _, notes = convert(cases__yaml=text)
    assert new["scorers"] == [{"guideline": "is polite"}]
    assert "evaluator MaxDuration without seconds: no scorer stands for it" in notes


def test_evaluators_of_tools_become_tool_calls_or_say_what_to_write(convert):
    text = """
cases:
- inputs: hi
  evaluators:
  - ToolCorrectness: [search, fetch]
  - ToolCorrectness: {expected_tools: [search], allow_extra: true}
  - TrajectoryMatch: {expected_trajectory: [search], order: exact}
  - MaxToolCalls: 3
"""
    _, rows, notes = convert(cases__yaml=text)
    assert rows[0]["checks"] == [
        {"tool_calls": {"expected": ["search", "fetch"], "match": "same"}},
        {"tool_calls": {"expected": ["search"]}},
    ]
    assert "TrajectoryMatch: no scorer stands for it. Instead: tool_calls" in notes
    assert "MaxToolCalls: no scorer stands for it. Instead: agent_steps" in notes


def test_inputs_of_pydantic_evals_of_which_some_have_names_stay_whole(convert):
    new, rows, _ = convert(cases__yaml="cases: [{inputs: hi}, {inputs: {q: x}}]\nevaluators: [MaxDuration: 2]\n")
    assert new["prompts"] == "{{input}}"
    assert [row["input"] for row in rows] == ["hi", '{"q": "x"}']


def test_values_of_pydantic_evals_that_are_no_texts_are_compared_as_json(convert):
    text = """
cases:
- name: object
  inputs: [{role: user, content: hi}]
  expected_output: {a: 1, b: [1, 2]}
  evaluators:
  - Contains: {value: {a: 1}}
  - Contains: [x, y]
- name: truth
  inputs: ["1", "2"]
  expected_output: true
evaluators:
- EqualsExpected: same
- LLMJudge: {rubric: polite, model: "anthropic:claude-x", assertion: {evaluation_name: manners}}
"""
    new, rows, notes = convert(cases__yaml=text)
    assert [row["input"] for row in rows] == ['[{"role": "user", "content": "hi"}]', '["1", "2"]']
    same = {"json_schema": {"schema": {"const": {"a": 1, "b": [1, 2]}}, "embedded": True}, "name": "same"}
    part = {"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}  # no list and no number has it
    assert rows[0]["checks"] == [same, {"json_schema": {"schema": part, "embedded": True}}]
    assert rows[1]["checks"] == [{"json_schema": {"schema": {"const": True}, "embedded": True}, "name": "same"}]
    assert new["scorers"] == [{"checks": {"every": [{"guideline": "polite", "name": "manners"}]}}]
    assert "claude-x" in str(new["judge"])
    assert "cases[0]: evaluator Contains of a list" in notes


def test_values_of_pydantic_evals_in_yaml_are_those_of_version_1_1(convert):
    written = ("1e3", "1.5e3", "-12e-2", "0o17", "1.5e+3", "0x1e", "12")
    _, rows, _ = convert(cases__yaml="cases:\n" + "\n".join(f"- {{inputs: q, metadata: {{v: {n}}}}}" for n in written))
    assert [row["v"] for row in rows] == ["1e3", "1.5e3", "-12e-2", "0o17", 1500, 30, 12]
    _, rows, _ = convert(cases__json='{"cases": [{"inputs": "q", "metadata": {"v": 1e3}}]}')
    assert rows[0]["v"] == 1000


def test_texts_of_pydantic_evals_are_no_templates_and_no_files(convert, tmp_path):
    """As pydantic-evals 2.62 judges them: every one of these outputs is as expected."""
    expected = ["Hello {{name}}", "file://x", "{% if x %}", "a {{b.c}} {# d #}\n", "{{expected}}", {"x": "{{y}}"}]
    cases = [{"inputs": f"{text} in", "expected_output": text, "evaluators": [{"Contains": text}]} for text in expected]
    dataset = {"cases": cases, "evaluators": ["EqualsExpected"]}
    new, rows, notes = convert(cases__json=json.dumps(dataset))
    assert [row["input"] for row in rows] == [f"{text} in" for text in expected]
    assert "not read" not in notes
    checked = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(checked, encoding="utf-8")
    outputs = [{"id": row["input"], "output": text} for row, text in zip(rows, expected, strict=True)]
    (tmp_path / "out.json").write_text(json.dumps(outputs), encoding="utf-8")
    configuration = {
        "samples": {"file": "rows.jsonl", "columns": {"input": "input"}},
        "targets": {"stored": {"replay": {"file": "out.json"}}},
        "scorers": new["scorers"],
    }
    (tmp_path / "new.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    suite = load(tmp_path / "new.yaml", environ={}).suite
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "store.db"))
    assert [record.scores[0].value for record in run.records()] == [1.0] * len(expected)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("goldens__json", json.dumps([{"input": "a", "expected_output": "b"}]), r"write samples: goldens.json\n"),
        ("cases__json", json.dumps([{"input": "a", "actual_output": "b"}]), "'actual_output' .* target replay"),
        ("samples__jsonl", [{"input": "a", "target": "b"}], "write samples: samples.jsonl; outputs"),
        ("other__yaml", "a: 1\n", "no configuration of promptfoo"),
        ("cases__yaml", "cases: [1]\n", "each with inputs"),
        ("report__json", json.dumps({"name": "t", "cases": [{"inputs": "a"}], "failures": []}), "is a report of pyd"),
    ],
)
def test_data_goes_under_samples_and_outputs_to_replay(convert, name, content, message):
    with pytest.raises(ConfigError, match=message):
        convert(**{name: content})
