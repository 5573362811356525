import pytest

from steelyard.registry import find
from steelyard.scorers.choice import Choice
from steelyard.types import Output, Sample

OPTIONS = ("Osmosis", "Diffusion", "Active transport", "Endocytosis")


def score(reply, reference="B", *, choices=OPTIONS, question="Which process needs no energy?", **metadata):
    return Choice()(Sample("q", question, reference, choices), Output(reply, metadata=metadata))


def test_the_registered_name_finds_the_class():
    assert find("scorer", "choice") is Choice


def test_a_right_letter_solves_the_question():
    got = score("The answer is B.")
    assert (got.name, got.value, got.passed, got.outcome) == ("solve_rate", 1.0, True, "scored")
    assert got.detail == {
        "letters": "B",
        "status": "answered",
        "rule": "declared",
        "span": [14, 15],
        "confidence": "explicit",
    }


def test_another_letter_does_not_and_the_reason_names_both():
    got = score("C")
    assert (got.value, got.passed, got.reason) == (0.0, False, "C, B is right")


def test_the_text_of_the_right_option_solves_it_and_is_marked_as_inferred():
    got = score("It must be diffusion.")
    assert (got.value, got.detail["confidence"], got.reason) == (1.0, "inferred", "B (inferred) is right")


def test_none_of_the_options_is_a_verdict_that_does_not_solve():
    got = score("None of the options is correct.")
    assert (got.outcome, got.value, got.detail["status"]) == ("scored", 0.0, "none_of_these")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [("B and C.", "several"), ("", "empty"), ("Cells are fascinating.", "unparsed"), (None, "empty")],
)
def test_what_cannot_be_read_is_unparsed_with_its_kind(reply, kind):
    got = score(reply)
    assert (got.outcome, got.value, got.detail["kind"]) == ("unparsed", None, kind)
    assert got.reason


@pytest.mark.parametrize("reply", ["We first consider that", "", "<think>Is it B or"])
def test_a_truncated_reply_without_an_answer_says_so(reply):
    assert score(reply, finish="length").detail["kind"] == "truncated"


def test_a_truncated_reply_that_gave_its_answer_is_scored():
    assert score("The answer is B. This is bec", finish="length").value == 1.0


def test_a_refusal_is_neither_wrong_nor_unparsed():
    assert score("I'm sorry, but I cannot answer this question.").outcome == "refused"


@pytest.mark.parametrize("finish", ["content_filter", "refusal"])
def test_an_empty_reply_of_a_content_filter_is_refused(finish):
    assert score("", finish=finish).outcome == "refused"


def test_several_letters_are_compared_as_a_set():
    assert score("答案：C、A", reference="AC").value == 1.0
    assert score("A", reference="AC").value == 0.0
    assert score("ABC", reference="AC").value == 0.0


@pytest.mark.parametrize("reference", ["b", " B ", "Ｂ", "(B)"])
def test_the_reference_may_be_written_in_any_form(reference):
    assert score("B", reference=reference).value == 1.0


@pytest.mark.parametrize(
    ("reference", "choices"),
    [(None, OPTIONS), ("", OPTIONS), ("E", OPTIONS), ("B", ()), ("A", ("only",)), ("Diffusion", OPTIONS)],
)
def test_without_options_or_a_usable_reference_the_question_does_not_apply(reference, choices):
    got = score("B", reference=reference, choices=choices)
    assert (got.outcome, got.value) == ("not_applicable", None)
    assert got.reason


def test_a_reply_that_is_json_already_is_read_as_its_text():
    assert score({"answer": "B"}).value == 1.0


def test_messages_as_input_are_no_question_text():
    assert score("B", question=[{"role": "user", "content": "Which?"}]).value == 1.0


def test_the_question_decides_whether_the_wrong_statement_is_wanted():
    reply = "选项A正确，选项B是错误的。"
    assert score(reply, question="下列说法错误的是").value == 1.0
    assert score(reply, question="下列说法正确的是").value == 0.0


def test_the_rate_is_over_all_replies_and_needs_no_thread():
    assert (Choice.over, Choice.inline) == ("all", True)
