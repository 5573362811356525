"""What a configuration in a store would use is listed for whoever is asked to trust it."""

import json
from pathlib import Path

import pytest

from steelyard.building.build import Site, build
from steelyard.building.keys import element_of, is_class, keys_of, members, value_of
from steelyard.building.nodes import from_plain
from steelyard.cli.generate_command import _PROMPTS as QA_FILES
from steelyard.config.stored import is_shown_whole, stored_needs, stored_scorers
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import Options, Suite
from steelyard.models.prices import Price, PriceTable
from steelyard.registry import built_in_classes, describe, find
from steelyard.types import Scorer


def path_keys(cls, seen):
    """Every key below a class that takes a path."""
    if cls in seen:
        return
    seen.add(cls)
    for key in keys_of(cls).values():
        hints = [key.hint]
        while hints:
            hint = hints.pop()
            if hint is Path:
                yield key.name
            elif is_class(hint):
                yield from path_keys(hint, seen)
            elif len(members(hint)) > 1:
                hints += members(hint)
            else:
                hints += [inner for inner in (element_of(hint), value_of(hint)) if inner is not None]


def test_a_file_is_listed_under_every_key_that_takes_one_whatever_its_name():
    seen = set()
    names = {
        name
        for kind, classes in built_in_classes().items()
        for registered in classes
        for name in path_keys(find(kind, registered), seen)
    }
    assert {"file", "template", "knowledge", "ca_file"} <= names
    for name in sorted(names):
        assert stored_needs({"targets": {"a": {name: "id_rsa"}}}) == ["files: id_rsa"], name
        assert stored_needs({"a": [{name: ["../my keys/id rsa"]}]}) == ["files: ../my keys/id rsa"], name


@pytest.mark.parametrize("name", sorted({*QA_FILES, "documents", "model_config", "out"}))
def test_the_files_of_a_request_to_generate_are_listed_whatever_their_names_are(name):
    for text in ("id_rsa", "my key", "a\nb"):
        (line,) = stored_needs({"settings": {name: text}})
        assert line.startswith("files: ")


@pytest.mark.parametrize(
    ("stored", "listed"),
    [
        ({"template": "en/four_options"}, []),
        ({"template": "{{question}} a/b"}, []),
        ({"system": "Be brief."}, []),
        ({"prompts": {"a": "id_rsa", "b": "Answer: {{text}}"}, "samples": "id_dsa"}, ["files: id_rsa, id_dsa"]),
        ({"endpoint": {"api_key": "${B}"}}, ["endpoints: https://api.openai.com/v1", "keys: B"]),
        ({"endpoint": "http://h/v1"}, ["endpoints: http://h/v1"]),
        (
            {"targets": {"a": {"function": "mod:f"}, "b": {"langchain": {"runnable": "m:chain"}}}},
            ["modules: mod:f, m:chain"],
        ),
        ({"url": "http://u@h/${A}", "api_key": "${B}"}, ["endpoints: http://u@h/${A}", "keys: A, B"]),
        ({"options": {"budget": {"calls": 5, "money": None}}}, ["budgets: calls 5, money None"]),
        ({"budget_calls": 7, "out": "q.jsonl"}, ["files: q.jsonl", "budgets: calls 7"]),
        ({"model": {"openai_compatible": {"name": "m"}}}, ["endpoints: https://api.openai.com/v1"]),
        ({"model": {"openai_compatible": "m", "base_url": "http://h"}}, ["endpoints: http://h"]),
        ({"url": "http:/\n/h/v1"}, ["endpoints: http:/\\x0a/h/v1"]),
        ({"http": "ht\tt\rp://h/v1"}, ["endpoints: ht\\x09t\\x0dp://h/v1"]),
        ({"base_url": "http://h", "proxy": "p:3128"}, ["endpoints: http://h, p:3128"]),
        ({"scorers": [{"command": ["sh", "-c", "id"]}]}, ["commands: sh -c id"]),
        ({"model": {"litellm": {"name": "m"}}}, ["keys: those that LiteLLM finds in the environment"]),
        ({"file": "/tmp/r3Xk9Qp7/Zb81LmWv5Tq0Yc46Hd2s/a.md"}, ["files: /tmp/r3Xk9Qp7/Zb81LmWv5Tq0Yc46Hd2s/a.md"]),
        (None, []),
    ],
)
def test_endpoints_keys_modules_files_and_budgets_are_listed(stored, listed):
    assert stored_needs(stored) == listed


def test_what_comes_together_in_the_matrix_is_listed_as_it_is_used():
    model = {"name": "m", "base_url": "{{scheme}}//{{host}}/v1", "api_key": "${{{key}}}"}
    targets = {"a": {"prompt": {"model": {"openai_compatible": model}}}, "b": {"function": "{{module}}:f"}}
    matrix = {"scheme": ["http:"], "host": ["one", "two"], "key": ["SECRET"], "module": ["os"]}
    assert stored_needs({"matrix": matrix, "targets": targets}) == [
        "endpoints: http://one/v1, http://two/v1",
        "keys: SECRET",
        "modules: os:f",
    ]


def test_the_address_of_openai_is_that_of_the_models_that_need_not_name_one():
    for name in built_in_classes()["model"]:
        default = keys_of(find("model", name)).get("base_url")
        listed = stored_needs({"model": {name: {"name": "m"}}})
        assert (f"endpoints: {default and default.default}" in listed) == bool(default and default.default), name


def test_a_deep_value_and_a_long_list_are_listed_in_bounded_length():
    deep = "http://h"
    for _ in range(5_000):
        deep = [{"a": deep}]
    assert stored_needs(deep) == ["endpoints: http://h"]
    (line,) = stored_needs([f"http://h{n}/\x1b" for n in range(1_000)])
    assert line.endswith("http://h19/\\x1b, and 980 more")


def test_nothing_that_is_listed_is_cut_out_of_the_message_that_holds_it():
    addresses = [f"http://h{n}/{'p' * 100}" for n in range(20)]
    message = str(ConfigError("\n".join(stored_needs(addresses))))
    assert [address for address in addresses if address not in message] == []


def test_what_is_too_long_to_be_shown_whole_is_told_apart():
    assert is_shown_whole({"targets": {f"t{n}": {"http": {"url": f"http://h{n}/"}} for n in range(20)}})
    assert not is_shown_whole([f"http://h{n}/" for n in range(21)])
    assert not is_shown_whole({"url": "http://h/" + "p" * 200 + "@elsewhere"})


DESCRIBED = [
    {"agent_steps": {"model": "gpt"}},
    {"all_of": ["exact_match", {"contains": "a", "name": "has_a"}]},
    {"any_of": ["exact_match", {"regex": "{{pattern}}", "name": "fits"}]},
    {"choice": {"rule": "last_letter", "also_scored": ["strict_only_letter"]}},
    {"chrf": {}},
    {"contains": {"mode": "any", "ignore_case": True}},
    {"cost": 0.01},
    {"error_pattern": {"name": "sorry", "pattern": "I am sorry"}},
    {"exact_match": {"ignore_case": True}},
    {"finish": "stop"},
    {"forbidden_tools": {"tools": ["rm"]}},
    {"json_fields": {"compare": {"total": 0.01}}},
    {"json_schema": {"schema": {"type": "object", "required": ["a"]}}},
    {"label": ["yes", "no"]},
    {"latency": 2},
    {"length": {"max": 25}},
    {"levenshtein": {"most_share": 0.2}, "value": "x"},
    {"lexical_preference": {}},
    {"likelihood": {}},
    {"not": {"contains": ["as an AI"]}, "name": "no_ai_talk"},
    {"number_match": {}},
    {"number_match": "{{sum}}", "of": "total"},
    {"per_turn": {"scorer": {"rouge_l": {}}}},
    {"refusal": {"expected": True}},
    {"regex": {"pattern": "^[0-9]+$"}},
    {"retrieval": {}},
    {"rouge_l": {}},
    {"rouge_n": 1},
    {"starts_with": "Dear"},
    {"sql": {"published": True, "limits": {"timeout_s": 3.0}}},
    {"sql_attempts": {}},
    {"sql_credit": {}},
    {"sql_speed": {}},
    {"sql_attempts": {}},
    {"tables": {"metrics": ["cell_recall"], "rules": "qatch-docs"}},
    {"token_f1": {}},
    {"tool_calls": {}},
]
OPTIONS = Options(prices=PriceTable({"gpt": Price(1.0, 2.0)}, "USD"))
NEED_MORE = {"command", "function", "human_preference", "python_test", "similarity"}


@pytest.mark.parametrize("plain", DESCRIBED, ids=lambda plain: next(iter(plain)))
def test_a_scorer_is_built_from_its_description_as_it_was(plain, tmp_path):
    scorer = build(Scorer, from_plain(plain, "test"), Site(tmp_path))
    suite = Suite("S", "custom", [], {"t": lambda _: ""}, (scorer,), OPTIONS)
    (bound,) = suite.scorers_for("t")
    described = json.loads(json.dumps(describe(bound)))
    (again,) = stored_scorers({"stage": described})
    assert again == bound
    assert describe(again) == describe(bound)


def test_every_scorer_of_the_package_is_built_so_or_asks_a_model_or_opens_a_file():
    judges = {
        name
        for name in built_in_classes()["scorer"]
        if "judge" in getattr(find("scorer", name), "__dataclass_fields__", {})
    }
    known = {next(iter(plain)) for plain in DESCRIBED} | NEED_MORE | judges
    assert known == set(built_in_classes()["scorer"]), "a new scorer is named in DESCRIBED or NEED_MORE"


@pytest.mark.parametrize("name", sorted(name for name in built_in_classes()["scorer"]))
def test_a_judge_with_a_model_or_a_template_in_a_file_is_not_built(name):
    settings = getattr(find("scorer", name), "__dataclass_fields__", {})
    for key in settings:
        if key == "judge":
            described = {key: {"model": {"scripted": {"default": "5"}}}}
        elif "Path" in str(settings[key].type):
            described = {key: "/dev/stdin"}
        else:
            continue
        with pytest.raises(ConfigError, match=r"names a file|needs the model"):
            stored_scorers({"stage": {name: described}})
