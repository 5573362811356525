"""ExactMatch: equal after stripping, and never a guess about what else might be meant."""

import pytest

from steelyard import ExactMatch, Output, Sample


def value(reference, got, **options):
    return ExactMatch(**options)(Sample("1", "q", reference), Output(got)).value


@pytest.mark.parametrize(
    ("reference", "got", "solved"),
    [
        ("Paris", "Paris", 1.0),
        ("Paris", " Paris\n", 1.0),
        ("one\r\ntwo", "one\ntwo", 1.0),
        ("Café", "Cafe\u0301", 1.0),
        ("Paris", "paris", 0.0),
        ("Paris", "Paris.", 0.0),
        ("", "  ", 1.0),
        (3, 3, 1.0),
        (3, "3", 1.0),
        ("3", 3, 1.0),
        (3.0, "3", 1.0),
        (3.5, " 3.5 ", 1.0),
        (True, "true", 1.0),
        (3, "three", 0.0),
        (3, "3.1", 0.0),
        (True, "1", 0.0),
        ("None", None, 0.0),
        ('["a"]', ["a"], 0.0),
        ([3, 4], "4", 1.0),
        (["three", 3], "3", 1.0),
        ([3, 4], [3, 4], 1.0),
        ([{"a": 1}], "a", 0.0),
        (["a", {"b": 1}], ["a", {"b": 1}], 1.0),
        ("x", None, 0.0),
        (0, False, 1.0),
    ],
)
def test_outputs_are_compared_with_the_reference(reference, got, solved):
    assert value(reference, got) == solved


@pytest.mark.parametrize(("reference", "got"), [("Paris", "PARIS"), ("Straße", "STRASSE"), ("ΣΊΣΥΦΟΣ", "σίσυφος")])
def test_case_is_folded_on_demand(reference, got):
    assert value(reference, got, ignore_case=True) == 1.0
    assert value(reference, got) == 0.0


def test_without_a_reference_the_question_does_not_apply():
    score = ExactMatch()(Sample("1", "q"), Output("A"))
    assert (score.value, score.passed, score.outcome) == (None, None, "not_applicable")
    assert score.reason == "the sample has no reference"


def test_an_output_that_is_a_list_is_named():
    assert ExactMatch()(Sample("1", "q", "4"), Output(["4"])).reason == "the output is no text but a list"


def test_a_verdict_says_whether_it_passed():
    assert ExactMatch()(Sample("1", "q", "A"), Output("A")).passed is True
    assert ExactMatch()(Sample("1", "q", "A"), Output("B")).passed is False


@pytest.mark.parametrize(
    ("reference", "got", "solved"),
    [
        ("The Beatles", "beatles!", 1.0),
        ("北京", "北京。", 1.0),
        ("北京，中国", "北京 中国", 1.0),
        ("A", "A.", 1.0),
        ("A", "B", 0.0),
        ("A", "the", 0.0),
        ("Beatles", "The Beatles band", 0.0),
    ],
)
def test_words_alone_are_compared_on_demand(reference, got, solved):
    assert value(reference, got, normalise=True) == solved


def test_any_of_several_references_will_do_and_is_named():
    sample = Sample("1", "q", ["Paris", "City of Light"])
    found = ExactMatch()(sample, Output("City of Light"))
    assert (found.value, found.passed, found.reason) == (1.0, True, "reference 2 of 2")
    assert ExactMatch()(sample, Output("Rome")).reason == "none of 2 references"


@pytest.mark.parametrize(
    ("reference", "got", "solved"), [([], [], 1.0), ([], "A", 0.0), (["A"], ["A"], 1.0), (["A", "B"], ["A"], 0.0)]
)
def test_a_list_is_compared_with_a_list_as_it_is(reference, got, solved):
    assert value(reference, got) == solved


def test_a_reply_that_a_filter_emptied_is_refused_and_reasoning_in_front_is_not_compared():
    sample = Sample("1", "q", "yes")
    assert ExactMatch()(sample, Output("", metadata={"finish": "content_filter"})).outcome == "refused"
    assert ExactMatch()(sample, Output("<think>no</think>\n\nyes")).value == 1
    assert ExactMatch(literal=True)(sample, Output("<think>no</think>\n\nyes")).value == 0


def test_literal_compares_blanks_also_where_case_makes_no_difference():
    literal = ExactMatch(literal=True, ignore_case=True)
    assert [literal(Sample("1", "q", "Yes"), Output(text)).value for text in ("yes", "yes\n")] == [1, 0]
