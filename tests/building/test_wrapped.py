"""Keys that every scorer takes: a name, a value in place of the expected output, a part of the output."""

from __future__ import annotations

import asyncio

import pytest

from steelyard import ConfigError, Sample, Scripted, Suite, evaluate
from steelyard.building.build import build_row_scorer, build_scorer
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.rescore import rescore
from steelyard.registry import describe
from steelyard.scorers import ExactMatch, Guideline, Judge, ToolCalls
from steelyard.scorers.judges.judge import with_judge
from steelyard.store import Store


def scorers(*given):
    return tuple(build_scorer(each, f"scorers[{no}]") for no, each in enumerate(given))


def scores(*given, output, sample=None):
    run = evaluate(lambda _: output, [sample or Sample("1", "?", "Paris")], scorers(*given))
    (record,) = run.records()
    assert record.failure is None, record.failure
    return {score.name: score for score in record.scores}


def test_two_scorers_of_one_kind_stand_side_by_side_under_two_names():
    found = scores({"regex": "a", "name": "has_a"}, {"regex": {"pattern": "b", "name": "has_b"}}, output="cab abc")
    assert {name: score.value for name, score in found.items()} == {"has_a": 1.0, "has_b": 1.0}


def test_keys_that_every_scorer_takes_may_stand_in_a_negated_one():
    found = scores(
        {"not": {"contains": "Paris", "of": "city"}},
        {"not": {"exact_match": {"ignore_case": True}, "value": "lyon", "of": "city"}},
        output='{"city": "Lyon", "capital": "Paris"}',
    )
    assert {name: score.value for name, score in found.items()} == {"not_contains": 1.0, "not_exact_match": 0.0}
    with pytest.raises(ConfigError, match=r"there is no scorer .contain.|unknown key .contain."):
        build_scorer({"not": {"contain": "x", "of": "city"}}, "a")


def test_a_name_is_that_of_the_first_score_and_begins_the_others():
    scorer = build_scorer({"tool_calls": {"expected": ["add"]}, "name": "adds"}, "a")
    assert [info.name for info in scorer.score_infos] == ["adds", "adds_tool_recall", "adds_tool_precision"]
    found = scores({"tool_calls": {"expected": ["add"]}, "name": "adds"}, output="no steps")
    assert list(found) == ["adds", "adds_tool_recall", "adds_tool_precision"]
    assert found["adds"].outcome == "not_applicable"


def test_a_scorer_with_a_name_of_its_own_keeps_it():
    assert build_scorer({"guideline": "Be brief.", "name": "brief"}, "a") == Guideline(
        guidelines=("Be brief.",), name="brief"
    )


@pytest.mark.parametrize(
    ("given", "output", "value"),
    [
        ({"exact_match": "Rome"}, "Rome", 1.0),
        ({"exact_match": ["Lyon", "rome"], "ignore_case": True}, "Rome", 1.0),
        ({"contains": ["Rome"], "mode": "all"}, "It is Rome.", 1.0),
        ({"contains": {"value": "Rome"}}, "It is Paris.", 0.0),
        ({"number_match": "12"}, "It is twelve: 12.", 1.0),
        ({"rouge_l": 0.5, "value": "It is Rome"}, "It is Rome", 1.0),
    ],
)
def test_a_value_stands_in_place_of_the_expected_output(given, output, value):
    (score,) = scores(given, output=output).values()
    assert score.value == value


def test_a_part_of_a_json_output_is_scored():
    found = scores({"exact_match": None, "of": "city.name"}, output='Here: {"city": {"name": "Paris"}}')
    assert found["exact_match"].value == 1.0
    (score,) = scores({"exact_match": None, "of": "town"}, output='{"city": 1}').values()
    assert (score.outcome, score.reason) == ("unparsed", "the output's JSON has no town")
    (score,) = scores({"exact_match": None, "of": "city"}, output="{city: 1}").values()
    assert score.outcome == "unparsed"
    assert score.reason.startswith("no JSON: ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"contains": "any"}, "contains: write mode: any for the option, or value: for this text"),
        ({"regex": {"pattern": "a", "name": "x"}, "name": "y"}, "'name' is given twice"),
        ({"regex": {"pattern": "a"}, "flags": ["verbose"]}, "'flags' is next to 'regex'"),
        ({"regex": "a", "off": "x"}, "unknown key 'off'"),
        ({"regex": "a", "of": "a["}, "of: 'a[' is not a JMESPath expression"),
        ({"regex": "a", "name": "a\nb"}, "name: a score has a printable name"),
        ({"regexp": "a"}, "there is no scorer 'regexp': did you mean"),
    ],
)
def test_a_mistake_is_refused_with_its_place(given, message):
    with pytest.raises(ConfigError, match="scorers\\[0\\]") as caught:
        build_scorer(given, "scorers[0]")
    assert message in str(caught.value)


def test_the_manifest_has_the_keys_among_the_scorer_s_own():
    described = describe(build_scorer({"exact_match": "Rome", "name": "rome", "of": "a"}, "a"))
    assert described == {
        "exact_match": {
            "ignore_case": False,
            "normalise": False,
            "literal": False,
            "name": "rome",
            "value": "Rome",
            "of": "a",
        }
    }


def test_a_judge_inside_is_that_of_the_suite_and_is_scored_again_from_the_journal(tmp_path):
    model = Scripted(default="1. YES: kept.")
    given = scorers({"guideline": "Be brief.", "of": "text", "value": "x"}, {"not": {"guideline": "Be rude."}})
    judged = with_judge(given, Judge(model))
    run = evaluate(lambda _: '{"text": "Yes."}', [Sample("1", "?")], judged, store=str(tmp_path / "s.db"))
    (record,) = run.records()
    assert [(score.name, score.value) for score in record.scores] == [("guideline", 1.0), ("not_guideline", 0.0)]
    with Store(tmp_path / "s.db") as store:
        again, damaged = rescore(store, store.run(run.id), judged)
        assert damaged == 0
        assert [scored.scores for scored in again.records()] == [record.scores]


def test_a_dry_run_counts_the_calls_of_a_judge_inside():
    given = scorers({"any_of": ["exact_match", {"guideline": {"guidelines": ["A.", "B."]}, "of": "@"}]})
    judged = with_judge(given, Judge(Scripted()))
    suite = Suite("S", "custom", [Sample("1", "?", "a")], {"t": lambda _: "b"}, judged)
    (estimated,) = asyncio.run(estimate(suite))
    assert estimated.calls == 1


def test_objects_and_functions_are_scorers_already():
    def short(output):
        return len(output) < 9

    assert build_scorer(short, "a") is short
    assert build_scorer(ExactMatch(), "a") == ExactMatch()
    assert build_scorer("tool_calls", "a") == ToolCalls()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"json_schema": "schema.json"}, "names a file"),
        ({"regex": {"pattern": "a", "timeout_s": 9}}, "a store may set"),
        ({"any_of": [{"regex": {"pattern": "a", "timeout_s": 9}}]}, "a store may set"),
        (
            {"guideline": {"guidelines": ["A."], "judge": {"model": {"scripted": {"replies": ["x"]}}}}},
            "needs the model",
        ),
    ],
)
def test_a_row_holds_neither_files_nor_models_nor_higher_limits(given, message):
    with pytest.raises(ConfigError) as caught:
        build_row_scorer(given, "rows.jsonl, row 3")
    assert message in str(caught.value)
