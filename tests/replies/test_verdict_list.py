"""The verdicts of one reply on several numbered claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import stored

from steelyard.replies.verdict_list import read_verdict_list

ROWS = stored("verdict_lists")
RAGAS = '[{"statement": "a", "reason": "b", "verdict": 1}, {"statement": "c", "reason": "d", "verdict": 0}]'
PUBLISHED = [
    ("Ragas", f'{{"statements": {RAGAS}}}'),
    ("Ragas", RAGAS),
    ("DeepEval", '{"verdicts": [{"verdict": "yes"}, {"reason": "It differs.", "verdict": "no"}]}'),
    ("G-Eval like", "1. It is there. Verdict: YES\n2. It is not. Verdict: NO"),
]


def labels(text, n):
    return [verdict.label if verdict and verdict.outcome == "scored" else "" for verdict in read_verdict_list(text, n)]


def test_lists_are_read_as_meant():
    missed = [row["text"] for row in ROWS if labels(row["text"], len(row["expected"])) != row["expected"]]
    assert 1 - len(missed) / len(ROWS) >= 0.95, missed


@pytest.mark.parametrize(("form", "reply"), PUBLISHED)
def test_a_published_form_is_read(form, reply):
    assert labels(reply, 2) == ["yes", "no"]


def test_verdicts_without_numbers_are_only_taken_where_there_is_one_for_each_claim():
    assert labels("YES\nNO", 2) == ["yes", "no"]
    assert read_verdict_list("YES\nNO\nYES", 2) == (None, None)
    assert read_verdict_list('["yes"]', 2) == (None, None)


TWICE = '[{"number": 1, "verdict": "yes"}, {"number": 2, "verdict": "yes"}, {"number": 2, "verdict": "no"}]'


@pytest.mark.parametrize("reply", [TWICE, "1. YES\n2. YES\n2. NO", "1. YES\n2. NO\n\nOn reflection:\n2. YES"])
def test_a_number_with_two_verdicts_that_differ_is_ambiguous(reply):
    _, second = read_verdict_list(reply, 2)
    assert labels(reply, 2) == ["yes", ""]
    assert (second.outcome, second.kind, second.label) == ("unparsed", "ambiguous", "")


@pytest.mark.parametrize(
    "reply",
    [
        "First thoughts:\n1. YES\n2. YES\n\nFinal:\n1. YES\n2. NO",
        '["yes", "yes"]\nCorrected:\n["yes", "no"]',
        '```json\n{"1": "yes", "2": "yes"}\n```\nCorrected:\n```json\n{"1": "yes", "2": "no"}\n```',
    ],
)
def test_a_list_that_is_given_anew_counts(reply):
    assert labels(reply, 2) == ["yes", "no"]


@pytest.mark.parametrize(
    "reply",
    [
        '[{"index": 0, "verdict": "no"}, {"index": 1, "verdict": "yes"}]',
        "0. NO\n1. YES",
        "1. YES\n2. NO\n3. NO",
        '[{"number": 1, "verdict": "yes"}, {"number": 2, "verdict": "no"}, {"number": 3, "verdict": "no"}]',
    ],
)
def test_verdicts_on_other_numbers_than_were_asked_about_belong_to_no_claim(reply):
    assert read_verdict_list(reply, 2) == (None, None)


def test_a_verdict_between_yes_and_no_is_there_but_unparsed():
    (verdict,) = read_verdict_list("1. Partially supported.", 1)
    assert (verdict.outcome, verdict.kind, verdict.label) == ("unparsed", "ambiguous", "partial")


def test_numbers_in_the_reasons_are_no_entries():
    assert labels("1. It names 2 of 3 lanes. Verdict: NO\n2. The year is there.\n1914 fits. Verdict: YES", 2) == [
        "no",
        "yes",
    ]


def test_json_that_breaks_off_gives_the_verdicts_before_the_break():
    assert labels('{"verdicts": [{"verdict": "yes"}, {"verdict": "no"}, {"verd', 2) == ["yes", "no"]


def test_a_reply_of_megabytes_is_read_as_far_as_a_list_may_go():
    assert labels("1. YES\n2. NO\n\n" + "| a | b |\n" * 300_000, 2) == ["yes", "no"]


def test_the_verdicts_of_many_claims_are_all_read():
    text = "\n".join(f"{number}. {'It follows from the passage. ' * 8}Verdict: YES" for number in range(1, 201))
    assert labels(text, 200) == ["yes"] * 200


@given(st.text(), st.integers(0, 5))
def test_no_text_raises_and_each_claim_has_its_place(text, n):
    assert len(read_verdict_list(text, n)) == n


@pytest.mark.parametrize("piece", ["1. ", "1", "- ", "[", '["', '{"a":', "{", "\n", "\n> ", "| a ", "```\n", "Q1: "])
def test_text_that_repeats_a_mark_without_end_holds_no_verdict(piece):
    assert labels(piece * (200_000 // len(piece)), 2) == ["", ""]


@pytest.mark.parametrize(
    "reply",
    [
        "1. Supported. 2. Not supported. 3. Supported.",
        "1. **Supported** 2. **Not supported** 3. **Supported**",
        "Verdicts: 1: yes, 2: no, 3: yes",
        "Claim 1 is supported by the text. Claim 2 is not supported. Claim 3 is supported.",
        "1. Supported (see para. 2); 2. Not supported; 3. Supported\n\nOverall, two of three are supported.",
        "1、支持。2、不支持。3、支持。",
        "第一条：支持；第二条：不支持；第三条：支持",
        "[1] supported [2] not supported [3] supported",
        "[1] supported\n[2] not supported\n[3] supported",
        "1=yes, 2=no, 3=yes",
        "Claim 1 yes, claim 2 no, claim 3 yes",
        "{1: yes, 2: no, 3: yes}",
        "1. Yes 3. Yes 2. No",
        "1. Yes 2. No\n3. Yes",
        "1. Supported [2]. 2. Not supported [3]. 3. Supported [1].",
        "【1】支持【2】不支持【3】支持",
        "①是 ②否 ③是",
        "1. Yes\n2. No\n3. Yes\n4. Overall: No",
        "1. Yes\n2. No\n3. Yes\n4. Summary: mostly supported, so yes.",
    ],
)
def test_entries_on_one_line_and_a_last_one_that_sums_up(reply):
    assert labels(reply, 3) == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    ("reply", "n"),
    [
        ("1. Yes 3. No", 3),
        ("1: YES, 3: NO", 3),
        ("[1] supported [2] not supported", 3),
        ("1=yes, 2=no, 3=yes", 2),
        ("1. Yes 2. No", 1),
        ("0=yes, 1=no", 2),
    ],
)
def test_entries_on_one_line_are_not_read_where_some_are_missing_or_too_many(reply, n):
    assert read_verdict_list(reply, n) == (None,) * n


def test_a_number_of_a_section_is_no_entry():
    assert labels("1. Yes - see chapter 3. Yes.\n2. No", 3) == ["yes", "no", ""]
    assert labels("1. Yes, as section 2. No doubt.", 1) == ["yes"]


def test_a_sentence_that_speaks_of_something_is_no_verdict_of_a_list():
    assert labels("I would answer yes to both.\nThe context supports it.", 2) == ["", ""]
    assert labels("The tower is tall: yes\nIt is not supported that it opened in 1890: no.", 2) == ["yes", "no"]
