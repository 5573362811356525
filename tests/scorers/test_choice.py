import pytest

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
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
        "wanted": "B",
        "options": 4,
    }


def test_another_letter_does_not_and_the_reason_names_both():
    got = score("C")
    assert (got.value, got.passed, got.reason) == (0.0, False, "answered C · correct B")


def test_the_text_of_the_right_option_solves_it_and_is_marked_as_inferred():
    got = score("It must be diffusion.")
    assert (got.value, got.detail["confidence"], got.reason) == (1.0, "inferred", "answered B (inferred) · correct B")


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
    assert (Choice().score_infos[0].denominator, Choice.stage_info.inline) == ("all", True)


def scores(scorer, reply, reference="B", **metadata):
    found = scorer(Sample("q", "Which?", reference, OPTIONS, metadata=metadata), Output(reply))
    return {one.name: one for one in found} if isinstance(found, list) else {found.name: found}


def test_rules_of_other_tools_stand_beside_ours_as_scores_of_their_names():
    scorer = Choice(also_scored=("strict_only_letter", "last_letter", "first_option"))
    assert tuple(info.name for info in scorer.score_infos) == (
        "solve_rate",
        "strict_only_letter",
        "last_letter",
        "first_option",
    )
    by_name = scores(scorer, "Answer: B. As Diffusion needs none")
    assert {name: one.value for name, one in by_name.items()} == {
        "solve_rate": 1.0, "strict_only_letter": None, "last_letter": 0.0, "first_option": 1.0,
    }  # fmt: skip
    assert by_name["strict_only_letter"].outcome == "unparsed"
    assert by_name["last_letter"].detail["letters"] == "D"


def test_another_rule_may_make_the_solve_rate_itself():
    found = scores(Choice(rule="last_letter"), "The answer is B. As Diffusion needs none")["solve_rate"]
    assert (found.value, found.detail["letters"], found.detail["rule"]) == (0.0, "D", "last_letter")
    assert scores(Choice(rule="strict_only_letter"), "B.")["solve_rate"].detail["kind"] == "unparsed"


@pytest.mark.parametrize(
    ("credit", "reply", "value"),
    [
        ("jaccard", "A, C", 1.0),
        ("jaccard", "A", 0.5),
        ("jaccard", "A, B and C", 2 / 3),
        ("jaccard", "B, D", 0.0),
        ("subset", "A", 0.5),
        ("subset", "A, B and C", 0.0),
        ("subset", "A, C", 1.0),
        ("jaccard", "None of the options is correct.", 0.0),
        ("subset", "None of the options is correct.", 0.0),
    ],
)
def test_partial_credit_counts_shares_beside_all_or_nothing(credit, reply, value):
    by_name = scores(Choice(credit=credit), reply, "AC")
    assert by_name["partial_credit"].value == pytest.approx(value)
    assert by_name["solve_rate"].value == float(value == 1.0)


def test_partial_credit_of_what_cannot_be_read_is_no_credit():
    by_name = scores(Choice(credit="jaccard"), "Cells are fascinating.", "AC")
    assert [one.outcome for one in by_name.values()] == ["unparsed", "unparsed"]


def test_without_a_reference_every_score_does_not_apply():
    by_name = scores(Choice(also_scored=("last_letter",), credit="subset"), "B", None)
    assert {one.outcome for one in by_name.values()} == {"not_applicable"}
    assert list(by_name) == ["solve_rate", "partial_credit", "last_letter"]


def test_the_letters_of_shuffled_options_are_traced_back_to_the_datasets():
    found = scores(Choice(), "The answer is A.", "A", order="CDAB")["solve_rate"]
    assert (found.detail["letters"], found.detail["original"], found.detail["wanted"]) == ("A", "C", "A")
    assert scores(Choice(), "A and D", "AD", order="CDAB")["solve_rate"].detail["original"] == "BC"
    assert "original" not in scores(Choice(), "A", "A")["solve_rate"].detail


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (Choice(rule="last_leter"), "rule: expected .*, but got 'last_leter': did you mean 'last_letter'"),
        (Choice(also_scored=("steelyard",)), "also_scored: expected .*, but got 'steelyard'"),
        (Choice(credit="half"), "credit: expected .*, but got 'half'"),
        (Choice(also_scored=("last_letter", "last_letter")), "named twice"),
        (Choice(pattern="[A-D]"), "no group named answer"),
    ],
)
def test_unknown_rules_are_refused_before_anything_is_asked(scorer, message):
    with pytest.raises(ConfigError, match=message):
        check_options(scorer)


PATTERN = Choice(pattern=r"respuesta:\s*(?P<answer>\w+)")


def test_a_pattern_decides_where_it_matches_and_the_rule_alone_is_scored_next_to_it():
    by_name = scores(PATTERN, "The answer is A. respuesta: B", "B")
    assert {name: one.value for name, one in by_name.items()} == {"solve_rate": 1.0, "built_in_rule": 0.0}
    assert (by_name["solve_rate"].detail["rule"], by_name["solve_rate"].detail["kind"]) == ("pattern", "rules_differ")
    assert "kind" not in by_name["built_in_rule"].detail


def test_the_built_in_rule_decides_where_the_pattern_matches_nowhere():
    by_name = scores(PATTERN, "The answer is B.", "B")
    assert {name: one.value for name, one in by_name.items()} == {"solve_rate": 1.0, "built_in_rule": 1.0}
    assert (by_name["solve_rate"].detail["rule"], "kind" in by_name["solve_rate"].detail) == ("declared", False)


def test_a_match_that_names_no_option_is_unparsed_whatever_the_rule_reads():
    by_name = scores(PATTERN, "The answer is B. respuesta: nada", "B")
    assert (by_name["solve_rate"].outcome, by_name["built_in_rule"].value) == ("unparsed", 1.0)


def test_the_score_of_the_rule_alone_is_declared_like_those_of_other_rules():
    infos = {info.name: (info.also_scored, info.exam) for info in PATTERN.score_infos}
    assert infos == {"solve_rate": (False, True), "built_in_rule": (True, False)}
    assert [info.name for info in Choice().score_infos] == ["solve_rate"]
