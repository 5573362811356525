"""Ratings that a judge mentions and does not give: those of others, and those that are only supposed."""

from __future__ import annotations

import pytest

from steelyard.text.rating import Scale, read_rating

FIVE = Scale(1, 5)


@pytest.mark.parametrize(
    "text",
    [
        "The product has a rating of 4.5 on Amazon, which the summary does not mention.",
        "The movie that it speaks about got 4 out of 5 stars from one critic.",
        "The writer gave the hotel 2 stars.",
        "该电影在豆瓣的评分为4.5分。",
        "The response awards 4 points for grammar and 3 for style, as the user wanted.",
        'The user said "rate my essay from 1 to 5", and the response gives it a 4.',
        "Their score of 4 under par was the best.",
        "It leaves out that the album was rated 4 out of 5 by critics.",
        "The club has a score of 3 after two rounds, the article says.",
    ],
)
def test_what_others_rate_is_no_rating_of_the_judge(text):
    verdict = read_rating(text, FIVE, name="Coherence")
    assert (verdict.outcome, verdict.value) == ("unparsed", None)
    assert read_rating(f"{text} I would rate its coherence 3 out of 5.", FIVE, name="Coherence").value == 3


@pytest.mark.parametrize(
    "text",
    [
        "It is choppy. It misses a 4 because of the last sentence. Rated 3.",
        "I would give it a 3. With more detail it would get a 5.",
        "I would give it a 3. It could be rated a 4 if it named the victims.",
        "I would give it a 3. To reach a 5, it would have to name all four victims.",
    ],
)
def test_a_rating_that_would_need_a_better_text_is_not_given(text):
    assert read_rating(text, FIVE, name="Coherence").value == 3


@pytest.mark.parametrize(
    "text",
    [
        "The response would get a 3 in terms of coherence, as it continues the talk about the 1963 movie.",
        "The coherence of this summary can be considered average and could be rated as a 3 on a 1-5 scale.",
        "Where one is the worst and five is the best, I would rate the summary three.",
        "The summary of the film would get a 3.",
    ],
)
def test_a_cautious_judge_still_gives_a_rating(text):
    assert read_rating(text, FIVE, name="Coherence").value == 3
