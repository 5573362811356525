"""Conditions on records: what was typed is read whole or refused, and nothing of it is run."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ConfigError, Label, Output, Record, Sample, Score
from steelyard.analysis.conditions import label_condition, parse_condition, quoted_name, quoted_value
from steelyard.types import Failure

MANIFEST = {
    "scores": ["solve_rate", "f1"],
    "score_infos": {"solve_rate": {"denominator": "all"}, "f1": {"denominator": "answered"}},
}
AT = datetime(2026, 3, 1, tzinfo=UTC)


def record(*scores, group="Book one", ident="q1", failure=""):
    failed = Failure("target", failure, "no") if failure else None
    return Record(Sample(ident, "?", group=group), Output("A"), scores, failure=failed)


RIGHT = record(Score("solve_rate", 1.0, passed=True), Score("f1", 0.75))
WRONG = record(Score("solve_rate", 0.0, passed=False), Score("f1", 0.25), group="rock and roll")
UNREAD = record(Score("solve_rate", None, outcome="unparsed"), Score("f1", None, outcome="not_applicable"), ident="q2")
UNJUDGED = record(Score("solve_rate", 1.0, passed=True), Score("f1", None, outcome="refused"))
FAILED = record(group="", failure="timeout")
EVERY = {"RIGHT": RIGHT, "WRONG": WRONG, "UNREAD": UNREAD, "UNJUDGED": UNJUDGED, "FAILED": FAILED}


def fitting(text):
    where = parse_condition(text, MANIFEST)
    return [name for name, record_of_name in EVERY.items() if where.holds(record_of_name)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("all", list(EVERY)),
        ("wrong", ["WRONG"]),
        ("errors", ["FAILED"]),
        ("unparsed", ["UNREAD"]),
        ("refused", ["UNJUDGED"]),
        ("not-applicable", ["UNREAD"]),
        ("failed", ["WRONG", "UNREAD", "FAILED"]),
        ("solve_rate<1", ["WRONG"]),
        ("solve_rate = 1", ["RIGHT", "UNJUDGED"]),
        ("f1>=0.25 and f1<=0.75", ["RIGHT", "WRONG"]),
        ("f1 > .25", ["RIGHT"]),
        ("f1!=0.75", ["WRONG"]),
        ("f1=refused", ["UNJUDGED"]),
        ("f1!=scored", ["UNREAD", "UNJUDGED"]),
        ('group="rock and roll"', ["WRONG"]),
        ("group=Book one and solve_rate=1 AND f1=0.75", ["RIGHT"]),
        ("group!=Book one", ["WRONG", "FAILED"]),
        ("id=q2", ["UNREAD"]),
        ("error=timeout", ["FAILED"]),
        ('group=""', ["FAILED"]),
        ("group = 'rock and roll' and wrong", ["WRONG"]),
        ("wrong and group='rock and roll'", ["WRONG"]),
        ("group=''", ["FAILED"]),
        ("group != 'Book one' and group != \"rock and roll\"", ["FAILED"]),
        ("wrong and errors", []),
    ],
)
def test_a_condition_means_these_records(text, names):
    assert fitting(text) == names


NAME = st.one_of(
    st.text(min_size=1, max_size=20),
    st.lists(
        st.sampled_from(
            ["a", " ", '"', "'", "=", "<", ">", "!", " and ", "and", "or", "\\", "%", "label:", "group", "wrong", "\n"]
        ),
        min_size=1,
        max_size=8,
    ).map("".join),
)


@given(st.lists(st.tuples(NAME, NAME), min_size=1, max_size=4))
def test_any_name_and_any_value_is_read_as_it_was_written(pairs):
    scores = [f"{quoted_name(name)} >= {no}" for no, (name, _) in enumerate(pairs)]
    labels = [label_condition(*pair) for pair in pairs]
    groups = [f"group = {quoted_value(value)}" for _, value in pairs]
    manifest = {"scores": [name for name, _ in pairs]}
    parts = parse_condition(" and ".join(["wrong", *scores, *labels, *groups, "errors"]), manifest).parts
    assert [(part.kind, part.name, part.sign, part.value) for part in parts] == [
        ("word", "wrong", "", ""),
        *(("score", name, ">=", str(no)) for no, (name, _) in enumerate(pairs)),
        *(("label", f"label:{name}", "=", value) for name, value in pairs),
        *(("field", "group", "=", value) for _, value in pairs),
        ("word", "errors", "", ""),
    ]


def test_a_name_in_quotation_marks_is_that_of_a_score():
    manifest = {"scores": ["group", "wrong", "regression"]}
    parts = parse_condition(
        '"group" = unparsed and "wrong" < 1 and "regression" > 0 and regression > 0', manifest
    ).parts
    assert {part.kind for part in parts} == {"score"}
    for text in ('"id" = 1', '"wrong"', '"regression"'):
        with pytest.raises(ConfigError):
            parse_condition(text, manifest)


@pytest.mark.parametrize(
    "group", ["don't and won't", "both \" and '", 'the "new" and "old"', "'quoted' and", "a=b and c<d", "x' and y='z"]
)
def test_a_text_with_marks_of_one_kind_can_be_written(group):
    value = quoted_value(group)
    for text in (f"group = {value}", f"wrong and group={value} and id=q1"):
        assert [part.value for part in parse_condition(text, MANIFEST).parts if part.name == "group"] == [group]


def test_a_value_without_quotation_marks_may_hold_an_apostrophe():
    assert [part.value for part in parse_condition("group = don't know and id=q'1", MANIFEST).parts] == [
        "don't know",
        "q'1",
    ]


def test_a_label_is_asked_for_by_name_and_value():
    labels = [Label("q1", "cause", "wrong unit", "model:m", AT), Label("q1", "cause", "typo", "ann", AT)]

    def holds(text, given=labels):
        return parse_condition(text, MANIFEST).holds(WRONG, given)

    assert holds('label:cause="wrong unit"')
    assert holds("label:cause=typo and wrong")
    assert holds("label:cause")
    assert holds("label:cause!=no source")
    assert not holds("label:cause!=typo")
    assert not holds("label:reason")
    assert holds("labelled and wrong")
    assert not holds("labelled", [])
    assert not holds("label:cause!=typo", []), "a record without the label is not another cause"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a condition"),
        ("wrong and", "there is no condition 'wrong and'"),
        ("wrnog", "did you mean 'wrong'"),
        ("wrong or errors", "for or, use two conditions"),
        ("group!=a or group!=b", "for or, use two conditions. A value with that word stands in quotation marks"),
        ("solve_rat<1", "no score 'solve_rat': did you mean 'solve_rate'"),
        ("f1<high", "'high' is not a number or one of scored"),
        ("f1=", "'' is not a number"),
        ("f1!=nan", "'nan' is not a number"),
        ("group<B", "texts are equal or not"),
        ("label:cause>1", "labels are equal or not"),
        ("f1<refused", "outcomes are equal or not"),
        ('group="a" b', "is not a condition"),
        ("group == (", "the signs are =, !=, <, <=, >, >=; a value that begins with one stands in quotation marks"),
        ('group="a', "is not a condition"),
        ("__import__('os').system('x')", "there is no condition"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_nearest_word(text, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        parse_condition(text, MANIFEST)
