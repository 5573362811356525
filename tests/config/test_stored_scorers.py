"""Scorers as a manifest describes them are built again as they were, without a file, a model or code."""

import json

import pytest

from steelyard.building.build import Site, build
from steelyard.building.nodes import from_plain
from steelyard.config.stored import stored_scorers
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import Options, Suite
from steelyard.models.prices import Price, PriceTable
from steelyard.registry import BUILT_IN, describe, find
from steelyard.types import Scorer

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
        name for name in BUILT_IN["scorer"] if "judge" in getattr(find("scorer", name), "__dataclass_fields__", {})
    }
    assert {next(iter(plain)) for plain in DESCRIBED} | NEED_MORE | judges == set(BUILT_IN["scorer"])


@pytest.mark.parametrize("name", sorted(name for name in BUILT_IN["scorer"]))
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
