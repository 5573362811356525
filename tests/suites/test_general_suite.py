"""The general suite: prompts x models, what is scored, the rows' own checks, and what is refused before any call."""

import asyncio
import json
import os
import re

import pytest

from steelyard import evaluate_suite
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.config.load import load
from steelyard.errors import ConfigError, DataError
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.survey import check_suite
from steelyard.scorers import ExactMatch
from steelyard.scorers.judges.judge import Judge

ENDPOINT = "endpoint: http://127.0.0.1:9/v1\n"
EXACT = "scorers: [exact_match]\n"
TICKETS = "ticket_id,text,label,channel\n" + "".join(
    f"T{no},Ticket {no}.,{('bug', 'billing')[no % 2]},web\n" for no in range(6)
)


@pytest.fixture
def configured(tmp_path):
    def configure(text, rows=TICKETS, name="rows.csv", **files):
        content = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
        (tmp_path / name).write_text(content, encoding="utf-8")
        for file, words in files.items():
            (tmp_path / f"{file}.txt").write_text(words, encoding="utf-8")
        config = tmp_path / "general.yaml"
        config.write_text(f"samples: {name}\n{text}", encoding="utf-8")
        return load(config, environ=os.environ).suite

    return configure


def sent(suite, target, no=0):
    return suite.targets[target].messages(list(suite.samples)[no])[-1]["content"]


def test_every_prompt_is_asked_of_every_model_and_the_names_say_what_varies(configured):
    suite = configured(
        f"prompts: {{terse: terse.txt, chatty: 'Think. {{{{channel}}}}: {{{{text}}}}'}}\nmodels: [small, qwen/large]\n"
        f"{ENDPOINT}scorers: [exact_match]\n",
        terse="Label: {{text}}\n",
    )
    assert list(suite.targets) == ["terse@small", "terse@qwen-large", "chatty@small", "chatty@qwen-large"]
    assert suite.tags["chatty@qwen-large"] == {"prompt": "chatty", "model": "qwen/large"}
    assert sent(suite, "terse@small") == "Label: Ticket 0."
    assert sent(suite, "chatty@small", 1) == "Think. web: Ticket 1."
    assert suite.targets["terse@qwen-large"].model.base_url == "http://127.0.0.1:9/v1"


_MODEL = "{openai_compatible: {name: m, base_url: 'http://127.0.0.1:9/v1'}}"
_NAMED_TARGETS = """targets:
  a: {prompt: {template: '{{channel}}: {{text}}', system: 'On {{channel}}', model: MODEL}}
  b:
    http:
      url: http://127.0.0.1:9/
      body: {q: '{{text}}', c: '{{channel}}', k: '{{k}}'}
      parameters: {k: 3}
      response: {text: answer}
  c:
    simulated_user:
      goal: Get {{channel}}
      model: MODEL
      target: {prompt: {template: 'Q {{text}}', model: MODEL}}
""".replace("MODEL", _MODEL)


@pytest.mark.parametrize("kind", ["", "suite: general\n"])
def test_prompts_and_texts_of_targets_name_columns_too(configured, kind):
    suite = configured(kind + _NAMED_TARGETS + EXACT)
    assert suite.targets["a"].messages(next(iter(suite.samples))) == [
        {"role": "system", "content": "On web"},
        {"role": "user", "content": "web: Ticket 0."},
    ]
    assert suite.targets["b"].body == {"q": "{{question}}", "c": "{{metadata.channel}}", "k": "{{k}}"}
    assert suite.targets["c"].goal == "Get {{metadata.channel}}"
    assert suite.targets["c"].target.template == "Q {{question}}"


@pytest.mark.parametrize(
    ("target", "option"),
    [
        (
            "prompt: {template: '{{text}}', model: {openai_compatible: {name: 'COLUMN', base_url: 'http://h/v1'}}}",
            "name",
        ),
        (
            "prompt: {template: '{{text}}', model: {openai_compatible: {name: m, base_url: 'http://COLUMN'}}}",
            "base_url",
        ),
        ("http: {url: 'http://h/COLUMN', body: {q: '{{text}}'}, response: {text: a}}", "url"),
        ("http: {url: 'http://h/', headers: {X: 'COLUMN'}, body: {q: '{{text}}'}, response: {text: a}}", "headers"),
        ("function: 'module:COLUMN'", "function"),
        ("retrieval: {documents: 'COLUMN.md', model: m}", "documents"),
    ],
)
def test_no_column_reaches_a_name_an_address_code_or_a_file_of_a_target(configured, target, option):
    message = f"{option}: {{{{channel}}}} cannot stand here: values of a dataset reach prompts"
    with pytest.raises(ConfigError, match=message):
        configured("targets: {a: {" + target.replace("COLUMN", "{{channel}}") + "}}\n" + EXACT)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("models: [a, b]", ["a", "b"]),
        ("prompts: 'Sort: {{text}}'\nmodels: [a, b]", ["a", "b"]),
        ("prompts: {x: '{{text}}', y: 'Y {{text}}'}\nmodels: a", ["x", "y"]),
        ("prompts: ['{{text}}', 'Y {{text}}']\nmodels: a", ["1", "2"]),
        (
            "models: {fast: a, slow: {openai_compatible: {name: b, base_url: 'http://127.0.0.1:9/v2'}}}",
            ["fast", "slow"],
        ),
        ("models: {openai_compatible: {name: c, base_url: 'http://127.0.0.1:9/v2'}}", ["c"]),
        ("models: a\ntargets: {said: {replay: said.jsonl}}", ["a", "said"]),
    ],
)
def test_the_part_of_a_name_that_does_not_vary_is_left_out(configured, tmp_path, keys, names):
    (tmp_path / "said.jsonl").write_text('{"id": "T0", "output": "bug"}\n', encoding="utf-8")
    assert list(configured(f"{keys}\n{ENDPOINT}scorers: [exact_match]\n").targets) == names


def test_the_settings_of_an_endpoint_reach_its_models_and_the_judge_named_there(configured):
    suite = configured(
        "models: a\njudge: strict\nendpoint: {base_url: 'http://127.0.0.1:9/v1', parameters: {seed: 7}}\n"
        "scorers: [{g_eval: Is it right?}]\n"
    )
    assert (suite.targets["a"].model.name, suite.targets["a"].model.parameters) == ("a", {"seed": 7})
    judge = suite.scorers[0].judge.model
    assert (judge.name, judge.base_url, judge.parameters) == ("strict", "http://127.0.0.1:9/v1", {"seed": 7})


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("models: small\nscorers: [exact_match]\n", ":2:", "'small' is only a name, and there is no endpoint"),
        (
            "judge: j\ntargets: {a: {http: {url: 'http://h:9', body: {q: '{{question}}'}, response: {text: a}}}}\n",
            ":2:",
            "write endpoint: ",
        ),
        (f"prompts: 'x {{{{text}}}}'\n{ENDPOINT}", ":2:", "name the models that answer them"),
        (ENDPOINT, ":1:", "there is no target: name models and their endpoint"),
        (
            f"prompts: Sort this.\nmodels: a\n{ENDPOINT}{EXACT}",
            ":2:",
            "one written directly shows a value, such as {{question}}; steelyard prompts lists",
        ),
        (f"prompts: 'x {{{{txet}}}}'\nmodels: a\n{ENDPOINT}", ":2:", "did you mean 'text'?"),
        (f"prompts: {{p: '{{{{label}}}} {{{{text}}}}'}}\nmodels: a\n{ENDPOINT}", ":2:", "is the expected output of"),
        (
            f"prompts: Sort this ticket.{{{{group}}}}\nmodels: a\n{ENDPOINT}{EXACT}",
            ":2:",
            "{{text}} where the input belongs",
        ),
        (f"models: [a, a]\n{ENDPOINT}", ":2:", "two are called 'a'"),
        ("models: a\nendpoint: localhost:8000\n", ":3:", "is not an http(s) address"),
        (f"models: a\ndatabases: dbs\n{ENDPOINT}", ":3:", "suites that have it: tables, text2sql"),
        (f"models: a\n{ENDPOINT}scorers: [{{contains: '{{{{wrod}}}}'}}]\n", "", "columns that are values: channel"),
    ],
)
def test_a_mistake_is_told_at_its_place_with_what_to_write(configured, text, place, words):
    with pytest.raises(ConfigError) as caught:
        configured(text)
    assert words in str(caught.value)
    assert f"general.yaml{place}" in str(caught.value)


def test_a_placeholder_of_a_blank_column_is_told_as_such(tmp_path):
    (tmp_path / "blank.csv").write_text("text,extra,label\nHello,,a\nBye,,b\n")
    file = tmp_path / "suite.yaml"
    file.write_text(
        f"samples: {{file: blank.csv}}\nprompts: '{{{{text}}}} {{{{extra}}}}'\nmodels: a\n{ENDPOINT}{EXACT}"
    )
    with pytest.raises(ConfigError, match=r"\{\{extra\}\}: blank\.csv has no filled column of that name"):
        load(file, environ={})


def test_a_mistake_in_a_prompt_file_is_told_at_its_place_in_that_file(configured, tmp_path):
    path = tmp_path / "sort.txt"
    path.write_text("Sort this:\n\nText: {{txet}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape("sort.txt:3:7: prompts: {{txet}}")):
        configured(f"prompts: {path}\nmodels: a\n{ENDPOINT}")


def test_the_prompt_may_name_the_input_by_the_words_of_other_suites(configured):
    suite = configured(
        f"prompts: '{{{{question}}}} ({{{{metadata.channel}}}}, {{{{id}}}})'\nmodels: a\n{ENDPOINT}{EXACT}"
    )
    assert sent(suite, "a") == "Ticket 0. (web, T0)"


@pytest.mark.parametrize(
    ("rows", "scorer", "note"),
    [
        ([{"text": "a", "expected": "Rome"}], "ExactMatch", "exact_match, since rows have an expected output"),
        (
            [{"text": "a", "expected": "2 + 3 = 5\n#### 5"}, {"text": "b", "expected": "9,000\n#### 9,000"}],
            "NumberMatch",
            "number_match, since the expected outputs end with #### and a number; the last number of a reply counts",
        ),
        (
            [{"text": "a", "expected": [{"add": {"x": 1}}]}, {"text": "b", "expected": "Rome"}],
            "ExactMatch",
            "exact_match, since rows have an expected output, in 1 of 2 an object or several, which no text equals",
        ),
        ([{"text": "a", "checks": [{"contains": ["x"]}]}], "Checks", "checks, since rows have checks of their own"),
    ],
)
def test_without_scorers_the_rows_decide_and_a_note_says_so(configured, rows, scorer, note):
    suite = configured(f"models: a\n{ENDPOINT}", rows, "rows.jsonl")
    assert [type(each).__name__ for each in suite.scorers] == [scorer]
    assert f"no scorer is named: {note}" in suite.notes


@pytest.mark.parametrize("scorers", ["", "scorers: [exact_match, token_f1]\n"])
def test_a_table_in_which_nothing_can_be_scored_is_refused(configured, scorers):
    with pytest.raises(ConfigError, match="there is nothing to score"):
        configured(f"models: a\n{ENDPOINT}{scorers}", [{"text": "a", "expected": " "}, {"text": "b"}], "rows.jsonl")


def test_a_scorer_of_what_an_agent_does_stands_alone(configured):
    """No row says whether a target keeps its messages, so that the scorer applies to none before the first answer."""
    suite = configured(f"models: a\n{ENDPOINT}scorers: [{{forbidden_tools: {{tools: [rm]}}}}]\n")
    assert [type(scorer).__name__ for scorer in suite.scorers] == ["ForbiddenTools"]


def test_options_of_scorers_take_the_values_of_each_row(configured, tmp_path):
    rows = [{"source": "a", "must": "x", "expected": "e"}, {"source": "b", "must": "y", "expected": "f"}]
    suite = configured(
        """
prompts: "{{source}}"
models: {scripted: {replies: {a: b, b: b}}}
scorers: [{contains: ["{{must}}", "{{source}}"]}]
""",
        rows,
        "rows.jsonl",
    )
    (run,) = evaluate_suite(suite, store=tmp_path / "s.db")
    assert [record.scores[0].value for record in run.records()] == [0.0, 1.0]


CHECKED = [
    {"id": "r1", "question": "2 + 2?", "word": "four", "checks": [{"number_match": "4"}, {"contains": ["{{word}}"]}]},
    {"id": "r2", "question": "Who?", "word": "", "checks": "exact_match: Ann"},
    {"id": "r3", "question": "Polite?", "word": "w", "checks": {"guideline": "It is polite to {{question}}"}},
]


def test_checks_of_rows_are_scored_together_and_by_kind_with_the_judge_of_the_configuration(configured):
    suite = configured(f"models: a\njudge: strict\n{ENDPOINT}", CHECKED, "rows.jsonl")
    (checks,) = suite.scorers
    names = [info.name for info in checks.score_infos]
    assert names == ["checks", "number_match", "contains", "exact_match", "guideline"]
    assert checks.judge.model.name == "strict"
    assert list(suite.samples)[1].metadata["checks"] == {"exact_match": "Ann"}


def test_checks_of_every_row_join_those_of_single_rows_and_take_values_of_columns(configured):
    rows = [
        {"question": "2 + 2?", "word": "four", "checks": {"number_match": "4"}},
        {"question": "Who?", "word": "Ann"},
    ]
    every = "scorers: [{checks: {every: [{contains: ['{{word}}']}, {guideline: 'Answers {{question}}'}]}}]\n"
    suite = configured(f"models: a\njudge: strict\n{ENDPOINT}{every}", rows, "rows.jsonl")
    (checks,) = suite.scorers
    assert [info.name for info in checks.score_infos] == ["checks", "contains", "guideline", "number_match"]
    assert checks.judge.model.name == "strict"
    with pytest.raises(ConfigError, match="wrd"):
        configured(f"models: a\n{ENDPOINT}{every.replace('{{word}}', '{{wrd}}')}", rows, "rows.jsonl")


def test_checks_of_every_row_cannot_be_the_checks_of_the_row(configured):
    with pytest.raises(ConfigError, match="a check cannot be `checks` itself"):
        configured(f"models: a\n{ENDPOINT}scorers: [{{checks: {{every: [checks]}}}}]\n", CHECKED[:1], "rows.jsonl")


def test_checks_of_every_row_decide_with_those_of_the_row(configured, tmp_path):
    rows = [{"question": "ab", "checks": {"contains": "a", "whole_words": False}}, {"question": "b", "checks": []}]
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text('{"id": "1", "output": "b"}\n{"id": "2", "output": "b"}\n', encoding="utf-8")
    rows = [{"id": str(no), **row} for no, row in enumerate(rows, start=1)]
    given = "targets: {same: {replay: outputs.jsonl}}\nscorers: [{checks: {every: [{contains: b}]}}]\n"
    (run,) = evaluate_suite(configured(given, rows, "rows.jsonl"), store=tmp_path / "s.db")
    assert [[score.value for score in record.scores] for record in run.records()] == [[0.0, 0.0], [1.0, 1.0]]


def test_a_gate_on_a_kind_of_checks_is_decided_on_the_rows_that_have_it(configured, tmp_path):
    rows = [
        {"id": f"{no}", "question": f"{no}?", "checks": {"length": 3} if no else {"contains": "ok"}} for no in range(4)
    ]
    rows += [{"id": "4", "question": "4?"}]
    (tmp_path / "outputs.jsonl").write_text(
        "".join(json.dumps({"id": f"{no}", "output": "ok"}) + "\n" for no in range(5))
    )
    suite = configured("targets: {same: {replay: outputs.jsonl}}\n", rows, "rows.jsonl")
    (run,) = evaluate_suite(suite, how=RunConfig(tmp_path / "s.db"))
    results = judge_gate({"contains": ">= 0.9", "checks": ">= 0.9"}, [run.summary()]).results
    assert [result.state for result in results] == ["holds", "holds"]


def test_checks_of_every_row_have_the_judge_the_labels_and_the_calls_that_they_need(configured):
    rows = [{"question": f"{label} {no}", "label": label} for label in ("on", "off") for no in range(3)]
    parts = "[label, {guideline: 'It is kind.'}, {guideline: 'It is short.', judge: {model: {scripted: {default: x}}}}]"
    given = f"models: a\njudge: strict\n{ENDPOINT}scorers: [{{checks: {{every: {parts}}}}}]\n"
    suite = configured(given, rows, "rows.jsonl")
    check_suite(suite)
    check_suite(suite)
    ((label, kind, short),) = [checks.every for checks in suite.scorers]
    assert label.labels == ("on", "off")
    assert (kind.judge.model.name, type(short.judge.model).__name__) == ("strict", "Scripted")


def test_checks_of_rows_and_of_every_row_know_the_calls_of_the_target(configured, tmp_path):
    model = "models: {m: {scripted: {default: a}}}\n"
    late = {"latency": 60}
    rows = [
        {"question": "b?", "checks": [{"finish": "stop"}, late, {"any_of": [{"contains": "b"}, late]}, {"not": late}]}
    ]
    given = f"{model}scorers: [{{checks: {{every: [{{latency: 1e-9}}]}}}}]\n"
    (run,) = evaluate_suite(configured(given, rows, "rows.jsonl"), store=tmp_path / "s.db")
    (record,) = run.records()
    scores = {score.name: score.value for score in record.scores}
    assert scores == {"checks": 0.0, "latency": 0.0, "finish": 1.0, "any_of": 1.0, "not_latency": 0.0}


def test_a_dry_run_counts_the_calls_of_checks_behind_others_that_call_nothing(configured):
    rows = [{"text": "a", "checks": [{"contains": ["x"]}, {"not": {"contains": "y"}}, {"guideline": "It is kind."}]}]
    suite = configured(f"models: a\njudge: strict\n{ENDPOINT}", rows * 3, "rows.jsonl")
    (target,) = asyncio.run(estimate(suite))
    assert {stage.stage: stage.calls for stage in target.stages} == {"target": 3, "checks": 3}


def test_checks_without_a_judge_need_none(configured):
    suite = configured(f"models: a\n{ENDPOINT}", CHECKED[:2], "rows.jsonl")
    assert suite.scorers[0].judge is None
    with pytest.raises(ConfigError, match="it has no model to ask"):
        configured(f"models: a\n{ENDPOINT}", CHECKED, "rows.jsonl")


def test_checks_that_no_scorer_reads_are_named(configured):
    suite = configured(f"models: a\n{ENDPOINT}scorers: [{{contains: [x]}}]\n", CHECKED[:2], "rows.jsonl")
    assert "rows have checks, which are not scored: no scorer is named checks" in suite.notes


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("[contains", "not valid YAML"),
        ("contans: [x]", "there is no scorer 'contans': did you mean 'contains'?"),
        ("contains: [x]\nignore_cas: true", "unknown key 'ignore_cas'"),
        ("regex: '('", "'(' is not a regular expression"),
        ("contains: ['{{nowhere}}']", "unknown placeholder {{nowhere}}"),
        ("json_schema: invoice.schema.json", "names a file"),
        ("human_preference: votes.csv", "names a file"),
        ("guideline: Be kind.\njudge: {model: {openai_compatible: {name: m}}}", "needs the model"),
        ("g_eval: Good?", "needs a threshold"),
        ("regex: a\ntimeout_s: 3600", "may set"),
        ("checks: {}\nname: mine", "a check cannot be `checks` itself"),
        ("any_of: [checks]", "a check cannot be `checks` itself"),
    ],
)
def test_a_broken_cell_of_checks_is_told_with_file_line_and_column(configured, cell, words):
    rows = f'question,checks\nWhy?,"contains: [x]"\nWho?,"{cell}"\n'
    with pytest.raises(DataError) as caught:
        configured(f"models: a\njudge: j\n{ENDPOINT}", rows)
    assert words in str(caught.value)
    assert "rows.csv line 3 column B" in str(caught.value)


def test_a_value_that_an_option_refuses_is_told_with_its_row(configured):
    rows = "text,expected,most\na,1,0.5\nb,2,many\n"
    with pytest.raises(DataError, match=r"rows.csv line 3.*number_match: relative_tolerance"):
        configured(f"models: a\n{ENDPOINT}scorers: [{{number_match: {{relative_tolerance: '{{{{most}}}}'}}}}]\n", rows)


def test_a_label_outside_of_the_set_is_told_with_its_row_before_anything_is_sent(configured):
    with pytest.raises(ConfigError) as caught:
        configured(f"models: a\n{ENDPOINT}scorers: [{{label: {{labels: [bug, other]}}}}]\n")
    assert "'rows.csv line 3' expects 'billing', which is not among labels" in str(caught.value)


def test_few_short_expected_outputs_are_labels(configured):
    suite = configured(f"models: a\n{ENDPOINT}")
    assert suite.scorers[0].labels == ("bug", "billing")
    assert any(note.startswith("no scorer is named: label, since") for note in suite.notes)


def test_expected_objects_are_fields_of_json(configured):
    rows = [{"text": "a", "expected": {"total": 1}}, {"text": "b", "expected": {"total": 2}}]
    suite = configured(f"models: a\n{ENDPOINT}", rows, "rows.jsonl")
    assert [type(scorer).__name__ for scorer in suite.scorers] == ["JsonFields"]


def test_a_suite_is_the_same_object_from_python(tmp_path):
    from steelyard.data.sample_files import SampleFiles
    from steelyard.models import OpenAICompatible
    from steelyard.suites import GeneralSuite

    (tmp_path / "t.csv").write_text(TICKETS, encoding="utf-8")
    models = {"fast": OpenAICompatible("a", base_url="http://127.0.0.1:9/v1")}
    suite = GeneralSuite(
        SampleFiles(tmp_path / "t.csv"), prompts={"t": "{{text}}"}, models=models, scorers=(ExactMatch(),)
    ).build()
    assert list(suite.targets) == ["fast"]
    assert suite.tags == {"fast": {"prompt": "t", "model": "fast"}}
    assert suite.kind == "general"


def test_a_judge_may_be_given_whole(configured):
    suite = configured(
        f"models: a\n{ENDPOINT}judge: {{model: {{openai_compatible: {{name: j, base_url: 'http://127.0.0.1:9/v1'}}}}, "
        "repeats: 3}\nscorers: [{g_eval: Good?}]\n"
    )
    assert isinstance(suite.scorers[0].judge, Judge)
    assert suite.scorers[0].judge.repeats == 3
