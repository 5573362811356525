"""Votes of people: how a row is read, whose vote counts for which side, and what a file must not hold."""

from __future__ import annotations

import json

import pytest

from steelyard import ConfigError, Output, Sample
from steelyard.constraints import check_options
from steelyard.errors import DataError
from steelyard.scorers.preference import HumanPreference

SIDES = ("glm-4", "qwen")


def csv_file(tmp_path, text, name="votes.csv"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def lines(tmp_path, rows):
    return csv_file(tmp_path, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "votes.jsonl")


def vote(file, no="q1", question="How long?", *, sides=SIDES, a="Nine.", b="Ten.", **fields):
    scorer = HumanPreference(file, sides=sides, **fields)
    check_options(scorer)
    return scorer(Sample(no, question), Output({"A": a, "B": b}))


@pytest.mark.parametrize(
    ("preferred", "label"),
    [
        ("glm-4", "A"),
        ("qwen", "B"),
        ("QWEN", "B"),
        ("A", "A"),
        ("b", "B"),
        ("[[B]]", "B"),
        ("model_a", "A"),
        ("second", "B"),
        ("1", "A"),
        ("甲", "A"),
        ("后者", "B"),
        ("回答Ｂ", "B"),
        ("tie", "tie"),
        ("Tie (bothbad)", "tie"),
        ("no preference", "tie"),
        ("neither.", "tie"),
        ("平局", "tie"),
        ("一样好", "tie"),
        ("都不好", "tie"),
    ],
)
def test_a_vote_names_a_target_a_place_or_a_tie(tmp_path, preferred, label):
    score = vote(lines(tmp_path, [{"id": "q1", "preferred": preferred}]))
    assert (score.value, score.detail["label"]) == ({"A": 1.0, "B": 0.0, "tie": 0.5}[label], label)
    assert score.detail["by"] == "people"


def test_the_name_of_a_target_goes_before_the_letter_of_a_place(tmp_path):
    file = lines(tmp_path, [{"id": "q1", "preferred": "A"}])
    assert vote(file, sides=("B", "A")).detail["label"] == "B"


def test_one_file_serves_several_pairs_named_in_either_order(tmp_path):
    file = csv_file(
        tmp_path,
        "id,first,second,preferred\nq1,glm-4,qwen,A\nq2,qwen,glm-4,A\nq3,qwen,glm-4,glm-4\nq1,glm-4,other,B\n",
    )
    assert [vote(file, no).detail["label"] for no in ("q1", "q2", "q3")] == ["A", "B", "A"]
    assert vote(file, sides=("other", "glm-4")).detail["label"] == "A"


def test_the_columns_of_public_battles_are_found(tmp_path):
    row = {"question_id": "q1", "model_a": "qwen", "model_b": "glm-4", "winner": "model_b", "judge": "arena_user_7"}
    score = vote(lines(tmp_path, [row]))
    assert score.detail["label"] == "A"
    assert score.detail["voters"] == [{"annotator": "arena_user_7", "verdict": "A"}]


def test_columns_may_be_named_and_are_found_in_chinese(tmp_path):
    file = csv_file(tmp_path, "样本编号,更好,标注者\nq1,乙,甲老师\n")
    assert vote(file).detail["label"] == "B"
    odd = csv_file(tmp_path, "no,who\nq1,qwen\n", "odd.csv")
    assert vote(odd, columns={"id": "no", "preferred": "who"}).detail["label"] == "B"


@pytest.mark.parametrize(
    ("votes", "label", "reason"),
    [
        ("A A B", "A", "A: 2 of 3 votes"),
        ("tie tie A", "tie", "tie: 2 of 3 votes"),
        ("A B", "tie", "no majority: A 1, B 1, tie 0"),
        ("A A B tie", "tie", "no majority: A 2, B 1, tie 1"),
        ("B", "B", "B: 1 of 1 vote"),
    ],
)
def test_of_several_votes_the_majority_holds(tmp_path, votes, label, reason):
    score = vote(lines(tmp_path, [{"id": "q1", "preferred": one} for one in votes.split()]))
    assert (score.detail["label"], score.reason) == (label, reason)
    assert score.detail["votes"] == {one: votes.split().count(one) for one in ("A", "B", "tie")}


def test_who_voted_is_kept(tmp_path):
    rows = [{"id": "q1", "preferred": one, "annotator": who} for one, who in (("A", "Ann"), ("B", "Bo"), ("A", "Cy"))]
    assert vote(lines(tmp_path, rows)).detail["voters"] == [
        {"annotator": "Ann", "verdict": "A"},
        {"annotator": "Bo", "verdict": "B"},
        {"annotator": "Cy", "verdict": "A"},
    ]


def test_a_sample_without_a_vote_is_not_applicable_and_says_so(tmp_path):
    file = csv_file(tmp_path, "id,preferred\nq1,A\nq2,\n")
    for no in ("q2", "q3"):
        score = vote(file, no)
        assert (score.outcome, score.reason) == ("not_applicable", "votes.csv holds no vote on this sample")
        assert "side" not in score.detail


def test_the_question_serves_where_the_file_has_no_ids(tmp_path):
    file = csv_file(tmp_path, "question,preferred\nHow long?,A\n")
    assert vote(file, "line:7").detail["label"] == "A"


def test_a_side_without_an_answer_is_not_put_to_people(tmp_path):
    score = vote(csv_file(tmp_path, "id,preferred\nq1,A\n"), a=None)
    assert (score.outcome, score.detail["side"], score.detail["why"]) == ("not_applicable", "A", "missing")


def test_a_file_that_was_changed_is_read_again(tmp_path):
    file = csv_file(tmp_path, "id,preferred\nq1,A\n")
    assert vote(file).detail["label"] == "A"
    csv_file(tmp_path, "id,preferred\nq1,qwen\n")
    assert vote(file).detail["label"] == "B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,preferred\nq1,A\nq2,gwen\n", "votes.csv line 3 column B: 'gwen' is neither 'glm-4' nor 'qwen' nor a tie"),
        ("id,preferred\nq2,claude\n", "its columns first and second name them"),
        ("id,preferred,annotator\nq1,A,Ann\nq1,B,Ann\n", "votes.csv line 3 column B: 'Ann' voted on 'q1' already"),
        ("id,preferred\n,A\n", "votes.csv line 2 column A: the vote names no sample"),
        ("id,preferred,first,second\nq1,A,glm-4,\n", "votes.csv line 2: only one side of a pair"),
    ],
)
def test_votes_that_cannot_be_counted_are_named_with_file_and_line(tmp_path, text, message):
    with pytest.raises(DataError) as refused:
        vote(csv_file(tmp_path, text))
    assert message in str(refused.value)


def test_a_long_list_of_mistakes_is_cut(tmp_path):
    with pytest.raises(DataError, match="30 votes cannot be counted") as refused:
        vote(csv_file(tmp_path, "id,preferred\n" + "q1,x\n" * 30))
    assert "and 10 more" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ("id,first,second,preferred\nq1,glm-4,qwem,A\n", {}, "did you mean 'glm-4 and qwem'"),
        ("id,who\nq1,A\n", {}, "no column for id and preferred"),
        ("id,preferred\nq1,A\n", {"columns": {"prefered": "B"}}, "a vote has no 'prefered': did you mean 'preferred'"),
        ("id,preferred\nq1,A\n", {"sides": ("x", "x")}, "two different sides"),
        ("id,preferred\nq1,A\n", {"name": " "}, "printable name"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, text, fields, message):
    with pytest.raises(ConfigError, match=message):
        vote(csv_file(tmp_path, text), **fields)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*nowhere\.csv"):
        check_options(HumanPreference(tmp_path / "nowhere.csv"))


def test_before_the_sides_are_known_only_the_shape_of_the_file_is_checked(tmp_path):
    file = csv_file(tmp_path, "id,preferred\nq1,anybody\n")
    check_options(HumanPreference(file))
    with pytest.raises(DataError, match="1 vote cannot be counted"):
        check_options(HumanPreference(file, sides=SIDES))
