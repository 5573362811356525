"""Relevance of generated SQL, of other answers, and of the references themselves."""

import pytest
from tests.scorers.judges.judge_server import judged, said, sample, token

from steelyard import ConfigError, Output, Sample
from steelyard.constraints import check_options
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.relevance import Relevance

SCHEMA = "CREATE TABLE staff (name TEXT, age INTEGER)"
REFERENCE = "SELECT name FROM staff ORDER BY age"


def request(answer="SELECT name FROM staff", **metadata):
    metadata = {"schema": SCHEMA, "db_id": "", "evidence": "", "dialect": "SQLite"} | metadata
    return sample(answer, "Who works here, by age?", REFERENCE, **metadata)


def relevance(given, reply="4", **fields):
    return judged(lambda judge: Relevance(judge, **{"schema": "shown"} | fields), given, lambda asked: reply)


def shown(prompt, name):
    """What stands in a fence."""
    opened = prompt.rindex(f"<{name} ")
    return prompt[opened:].partition(">\n")[2].partition(f"\n</{name} ")[0]


def test_the_judge_sees_request_schema_and_the_query_alone():
    judgement = relevance(request("Here it is:\n```sql\nSELECT name FROM staff\n```\nI hope [[5]] helps."))
    prompt = judgement.prompts[0]
    assert shown(prompt, "question") == "Who works here, by age?"
    assert shown(prompt, "schema") == SCHEMA
    assert shown(prompt, "answer") == "SELECT name FROM staff"
    assert REFERENCE not in prompt
    assert prompt.rstrip().endswith("relevance (1 to 5):")
    assert (judgement.only.name, judgement.only.value) == ("relevance", 4)


def test_points_left_out_and_excess_are_both_named_as_faults():
    prompt = relevance(request()).prompts[0]
    assert "left out cost marks" in prompt
    assert "redundancy and excess" in prompt
    chinese = judged(
        Relevance,
        Sample("zh", "按年龄列出所有员工", metadata=request().metadata),
        lambda asked: "4",
    )
    assert "漏掉请求中的要点要扣分；冗余和多余同样要扣分" in chinese.prompts[0]
    assert chinese.only.value == 4


def test_a_reply_of_create_and_select_shows_both():
    reply = '{"create": "CREATE TABLE t (a INT);", "select": "SELECT a FROM t"}'
    assert shown(relevance(request(reply)).prompts[0], "answer") == "CREATE TABLE t (a INT);\nSELECT a FROM t"


def test_a_target_that_returns_an_object_is_read_like_its_json():
    judgement = judged(
        Relevance,
        request(),
        lambda asked: "4",
        target=lambda given: {"sql": "SELECT age FROM staff"},
    )
    assert shown(judgement.prompts[0], "answer") == "SELECT age FROM staff"


def test_a_reply_without_sql_is_not_applicable_and_costs_no_call():
    judgement = relevance(request("I would look at the staff table."))
    assert (judgement.only.outcome, judgement.only.value) == ("not_applicable", None)
    assert judgement.only.reason.startswith("no SQL could be read: ")
    assert judgement.asked == []


@pytest.mark.parametrize("text", ["", "I cannot help with that."])
def test_a_target_that_refused_is_refused_and_costs_no_call(text):
    judgement = judged(
        Relevance,
        request(),
        lambda asked: "4",
        target=lambda given: Output(text, metadata={"finish": "refusal"}),
    )
    assert judgement.only.outcome == "refused"
    assert judgement.asked == []


def test_any_other_answer_is_judged_as_its_text():
    judgement = relevance(sample("It is Paris. SELECT 1;", "Capital of France?"))
    assert shown(judgement.prompts[0], "answer") == "It is Paris. SELECT 1;"
    assert shown(judgement.prompts[0], "schema") == ""
    assert judgement.only.value == 4


def test_what_the_candidate_is_can_be_said():
    assert shown(relevance(request("in words"), candidate="text").prompts[0], "answer") == "in words"
    given = sample("Sure: ```sql\nSELECT 1\n```", "One?")
    assert shown(relevance(given, candidate="sql").prompts[0], "answer") == "SELECT 1"


def test_references_alone_are_judged_whatever_the_target_says():
    judgement = relevance(request("no SQL here"), judged="reference")
    assert shown(judgement.prompts[0], "answer") == REFERENCE
    assert (judgement.only.name, judgement.only.value) == ("relevance_of_reference", 4)


def test_a_sample_without_a_reference_has_none_to_judge():
    judgement = relevance(sample("x", reference=None), judged="reference")
    assert (judgement.only.outcome, judgement.asked) == ("not_applicable", [])


def test_output_and_reference_are_judged_side_by_side():
    judgement = judged(
        lambda judge: [Relevance(judge), Relevance(judge, judged="reference")],
        request(),
        lambda asked: "5" if "ORDER BY age" in asked.prompt else "2",
    )
    assert {name: score.value for name, score in judgement.scores["fr"].items()} == {
        "relevance": 2,
        "relevance_of_reference": 5,
    }


def test_it_is_weighed_like_any_g_eval_and_passes_at_a_threshold():
    reply = said("4", logprobs=[token("4", {"4": 0.5, "5": 0.5})])
    score = relevance(request(), reply, threshold=4.5).only
    assert (score.value, score.passed) == (4.5, True)
    assert score.detail["how"] == "probability-weighted"
    samples = relevance(request(), "3", weighting="samples", samples=3)
    assert (len(samples.asked), samples.only.detail["how"]) == (3, "mean of 3 samples")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"judged": "references"}, "did you mean 'reference'"),
        ({"candidate": "query"}, "candidate"),
        ({"threshold": 0}, "threshold must be a number from 1 to 5, not 0"),
        ({"weighting": "x"}, "weighting"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        check_options(Relevance(Judge(), **fields))
