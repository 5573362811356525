"""Which of several numbers is the verdict: corrections, alternatives, lists, tables and counts."""

from __future__ import annotations

import pytest

from steelyard.replies.rating import read_rating
from steelyard.replies.verdict import Scale

FIVE = Scale(1, 5)
TABLE = "| # | Criterion | Rating |\n|---|---|---|\n| 1 | Relevance | 2/5 |\n| 2 | Faithfulness | 4/5 |"
CLAIMS = "| # | Claim | Supported |\n|---|---|---|\n| 1 | It opened | yes |\n| 2 | It closed | no |\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Rating: 4\n\nWait, I missed that the last sentence is unrelated. Let me correct this.\n\nRating: 3", 3),
        ("Rating: 4\n\nOn second thought, one claim is wrong.\n\nRating: 2", 2),
        ("评分：4分\n\n我看错了第二句。更正如下。\n\n评分：3分", 3),
    ],
)
def test_a_rating_that_is_taken_back_gives_way_to_the_next_one(text, value):
    assert read_rating(text, FIVE).value == value


@pytest.mark.parametrize(
    "text",
    [
        "Rating: [[3]] or [[4]]",
        "I'd give it between 3 and 4 out of 5.",
        "1. The pronoun in sentence 2 is unclear. I would rate it between 1 and 2.",
        "Rating: 4\nRating: 2",
    ],
)
def test_a_judge_that_names_two_ratings_leaves_it_open(text):
    verdict = read_rating(text, FIVE)
    assert (verdict.outcome, verdict.kind) == ("unparsed", "ambiguous")


@pytest.mark.parametrize(
    "text",
    [
        "Rating: \nRationale: 1. The flow is somewhat choppy.",
        "I have read both texts. 1. The article reports 150 deaths.",
        "Score: (1|2|3|4|5)",
        "Coherence: 1, 2, 3, 4, 5",
        "Sure, here's my evaluation:\n\n1. It would take two more sentences to explain the background.",
        "Relevance: It covers 4 of 5 points.",
        "The judge in the article sentenced him to between 3 and 5 years.",
        CLAIMS,
        "The final score was 3-2, and at half time it was 2-2.",
        "It describes a 4-3-3 formation.",
        "The code sets the flag wrongly:\n  verbose = 1;\n  return;",
        "The loop ends too early, as the text says that count must be >= 3",
        "Number of retries (default: 3)",
        "This follows the definition of the measure\n[1]_.",
        "Evaluation of faithfulness:\n\nTwo of the sentences are nearly identical.",
        "Evaluation:\n\n2 of the 4 facts are wrong.",
        "Evaluation of faithfulness:\n\nAt 5 pm, three of the hostages were freed.",
    ],
)
def test_numbers_of_lists_forms_and_counts_are_no_ratings(text):
    verdict = read_rating(text, FIVE, name="Faithfulness")
    assert (verdict.outcome, verdict.kind) == ("unparsed", "none")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (TABLE, 4),
        (f"{CLAIMS}\n**Faithfulness: 3**", 3),
        ("2/3 of the claims are supported, so I would assign a 3.", 3),
        ("1 point is given for each criterion. Thus, the faithfulness score is 2/5.", 2),
        ("I'd rate it 4 out of 5:\n1. Main points (1 point): covered.\n2. Names (1 point): right.", 4),
        ("4/5\n\nOne exception: the founding year (1871).", 4),
        ("It earns 4 of 5 possible points.", 4),
        ("Let's say 4.", 4),
        ("A 4 would be my rating.", 4),
        ("I feel that 4 is a fair score.", 4),
        ("4 out of 5 seems right to me.", 4),
        ("A 4 out of 5 is what I would give it.", 4),
        ("My choice is 4.", 4),
        ("On the 1-5 scale, 4.", 4),
        ("This corresponds to level 4 of the rubric.", 4),
        ("1) It is short.\n2) It is right.\n3) It is clear.\nRating: 4. 2 errors were found.", 4),
        ("4\n\nPoints 1 and 3 overlap.", 4),
        ("My evaluation is as follows:\n\nThe timeline (2011, 2013) is kept. I'd give it a 4 in depth.", 4),
        ("On the given scale, this corresponds to a 4.", 4),
        ("I would therefore consider its faithfulness to be a 4 out of 5.", 4),
        ("The final score was 3-2. I award it 4 out of 5 points.", 4),
        ("The club played a 4-3-3. Rated 4.", 4),
        ("Score: 4 - 1. One in 10 pupils was absent.", 4),
        ("Relevance: I'd give the summary a 3 out of 5.\nFaithfulness: I'd give the summary a 4 out of 5.", 4),
        ("Sentence 2 and paragraph 3 are unclear. I'd say 4.", 4),
        ("$4$", 4),
        ("Score: $4/5$", 4),
        ("> Rating: 4", 4),
    ],
)
def test_the_rating_is_found_beside_counts_and_inside_marks(text, value):
    assert read_rating(text, FIVE, name="Faithfulness").value == value


def test_what_a_judge_quotes_in_a_block_is_not_its_rating():
    assert read_rating("> Rating: 4\n\nThe answer ends with this line, which is odd.", FIVE).outcome == "unparsed"


def test_a_list_that_was_cut_off_behind_a_number_holds_no_rating():
    text = "Response:\n\n1. The summary misses the fourth point.\n2. It is clear.\n3"
    assert read_rating(text, FIVE, finish="length").kind == "truncated"


def test_a_rating_behind_its_label_is_read_where_the_reply_was_cut_off():
    assert read_rating("Coherence: 4", FIVE, name="Coherence", finish="length").value == 4


@pytest.mark.parametrize(
    "text", ["Rating: 2\nFinal rating: 4", "Rating: 2\n...\nFinal rating: 4", "评分：2\n最终评分：4"]
)
def test_a_rating_that_is_called_final_holds_right_below_another(text):
    assert read_rating(text, Scale(1, 5)).value == 4
