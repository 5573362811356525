"""Token probabilities: what is covered, what is not, and that no number comes of what cannot be read."""

import math
import random

import pytest
from tests.scorers.judges.judge_server import token

from steelyard.scorers.judges.rating import Expected, expected_rating

FIVE = range(1, 6)
TEN = range(1, 11)


def expected(text, tokens, values=FIVE, span=None):
    start = text.index(next(one for one in text if one.isdigit()))
    return expected_rating(text, span or (start, start + 1), tokens, values)


def shares(rating):
    assert isinstance(rating, Expected), rating
    return {value: round(p, 6) for value, p in rating.distribution.items()}


def test_the_mean_is_over_the_scale_and_the_mass_over_everything():
    rating = expected("4", [token("4", {"4": 0.5, "5": 0.25, "3": 0.05, "Sure": 0.1})])
    assert shares(rating) == {3: 0.05, 4: 0.5, 5: 0.25}
    assert rating.mass == pytest.approx(0.8)
    assert rating.value == pytest.approx((0.05 * 3 + 0.5 * 4 + 0.25 * 5) / 0.8)


def test_one_value_in_several_spellings_counts_together():
    rating = expected(" 4", [token(" 4", {" 4": 0.3, "4": 0.2, "４": 0.1, "**4": 0.05, "\n4": 0.05, "(5": 0.1})])
    assert shares(rating) == {4: 0.7, 5: 0.1}


def test_words_decimals_and_values_off_the_scale_are_not_covered():
    rating = expected("4", [token("4", {"4": 0.4, "four": 0.2, "4.5": 0.1, "4.": 0.05, "0": 0.1, "9": 0.05})])
    assert shares(rating) == {4: 0.4}


def test_the_token_taken_is_covered_though_a_full_stop_hangs_on_it():
    assert shares(expected("4.\n", [token("4.", {"4.": 0.6, "5.": 0.2}), token("\n")])) == {4: 0.6}


def test_a_number_is_found_behind_the_words_before_it():
    tokens = [token("Score"), token(":"), token(" 4", {" 4": 0.9, " 5": 0.1}), token("\n"), token("4 of 5 points")]
    assert shares(expected("Score: 4\n4 of 5 points", tokens)) == {4: 0.9, 5: 0.1}


def test_a_number_in_the_reasons_does_not_count_for_the_score():
    text = "4\nIt covers 4 of 5."
    tokens = [
        token("4", {"4": 0.7, "3": 0.3}),
        token("\nIt covers "),
        token("4", {"4": 0.5, "2": 0.5}),
        token(" of 5."),
    ]
    assert shares(expected(text, tokens)) == {3: 0.3, 4: 0.7}


def test_a_token_that_holds_words_as_well_is_compared_behind_them():
    rating = expected("Score:4", [token("Score:4", {"Score:4": 0.6, "Score:2": 0.4})])
    assert shares(rating) == {2: 0.4, 4: 0.6}


def test_a_slash_behind_the_number_ends_it():
    assert shares(expected("4/5", [token("4/", {"4/": 0.8, "5/": 0.2}), token("5")])) == {4: 0.8, 5: 0.2}


class TestNumbersOfSeveralTokens:
    def test_ten_is_the_product_of_its_digits_and_one_is_the_rest(self):
        tokens = [token("1", {"1": 0.6, "9": 0.3}), token("0", {"0": 0.7, "\n": 0.2, "1": 0.05})]
        rating = expected("10", tokens, TEN, (0, 2))
        assert shares(rating) == {1: 0.12, 9: 0.3, 10: 0.42}
        assert rating.value == pytest.approx((0.12 + 2.7 + 4.2) / 0.84)

    def test_what_follows_a_one_decides_whether_it_is_ten(self):
        tokens = [token("1", {"1": 0.8, "2": 0.1}), token("\n", {"\n": 0.9, "0": 0.1})]
        assert shares(expected("1\n", tokens, TEN)) == {1: 0.72, 2: 0.1, 10: 0.08}

    def test_a_one_at_the_end_of_a_reply_is_not_covered_since_ten_may_have_been_meant(self):
        assert shares(expected("1", [token("1", {"1": 0.5, "7": 0.4})], TEN)) == {7: 0.4}

    def test_a_one_that_was_not_taken_is_not_covered_either(self):
        assert shares(expected("7", [token("7", {"1": 0.3, "7": 0.4})], TEN)) == {7: 0.4}

    def test_a_one_counts_where_ten_is_a_token_of_its_own(self):
        for text in ("1", "7"):
            rating = expected(text, [token(text, {"1": 0.3, "7": 0.4, "10": 0.2})], TEN)
            assert shares(rating) == {1: 0.3, 7: 0.4, 10: 0.2}

    def test_the_end_of_the_reply_is_an_end_where_it_is_listed(self):
        for end in ("", "<|im_end|>"):
            tokens = [token("1", {"1": 1.0}), token(end, {end: 0.6, "0": 0.4})]
            assert shares(expected("1" + end, tokens, TEN)) == {1: 0.6, 10: 0.4}

    def test_three_digits_are_followed_to_the_end(self):
        tokens = [token("1", {"1": 0.5}), token("0", {"0": 0.5, " ": 0.1}), token("0", {"0": 0.5, ".": 0.1, "\n": 0.2})]
        assert shares(expected("100", tokens, range(101), (0, 3))) == {1: 0.05, 10: 0.05, 100: 0.125}

    def test_a_negative_value_is_followed_from_its_sign(self):
        tokens = [token("-", {"-": 0.5, "1": 0.25}), token("2", {"2": 0.6, "1": 0.4})]
        rating = expected_rating("-2", (0, 2), tokens, range(-2, 3))
        assert shares(rating) == {-2: 0.3, -1: 0.2, 1: 0.25}


def test_a_chinese_reply_whose_tokens_are_parts_of_characters_is_placed_by_bytes():
    raw = "评分：４分".encode()
    parts = [raw[:4], raw[4:9], raw[9:]]
    tokens = [{"token": part.decode("utf-8", "replace"), "bytes": list(part), "logprob": -0.1} for part in parts[:2]]
    four = "４分"
    tokens.append({"token": four, "bytes": list(parts[2]), "logprob": math.log(0.5), "top_logprobs": [
        {"token": "４分", "logprob": math.log(0.5)}, {"token": "5分", "logprob": math.log(0.3)}]})  # fmt: skip
    rating = expected_rating("评分：４分", (3, 4), tokens, FIVE)
    assert shares(rating) == {4: 0.5, 5: 0.3}


def test_a_reply_whose_blanks_were_cut_off_is_found_in_its_tokens():
    assert shares(expected("4", [token("\n\n"), token("4", {"4": 0.9}), token("\n")])) == {4: 0.9}


@pytest.mark.parametrize(
    ("text", "span", "tokens", "reason"),
    [
        ("four", (0, 4), [token("four")], "not written as a whole number"),
        ("4.5", (0, 3), [token("4"), token("."), token("5")], "not written as a whole number"),
        ("9", (0, 1), [token("9")], "not written as a whole number"),
        ("4", (0, 1), [], "do not make up the reply"),
        ("4", (0, 1), [token("5")], "do not make up the reply"),
        ("4", (0, 1), [{"token": "4"}], "cannot be read"),
        (
            "4",
            (0, 1),
            [{"token": "4", "logprob": None, "top_logprobs": [1, {"token": 4, "logprob": "x"}]}],
            "cannot be read",
        ),
        ("4", (0, 1), [{"token": "4", "logprob": -(10**400)}], "cannot be read"),
        ("4", (0, 1), [{"token": "4", "logprob": 10**400}], "cannot be read"),
        ("4", (0, 1), [token("4", {"4": 0.9, "5": 0.9})], "cannot be read"),
    ],
)
def test_what_cannot_be_read_gives_a_reason_and_no_number(text, span, tokens, reason):
    assert reason in expected_rating(text, span, tokens, FIVE)


def test_whatever_is_listed_it_is_a_reason_or_a_mean_within_the_scale():
    draw = random.Random(5)
    pieces = ["1", "0", "10", "4", "٤", "-", ".", "", " ", "Score", "/5", "四", "\ud800", "99999999999"]
    odd = [None, "x", -1.0, 0.0, 10**400, float("nan"), float("inf"), -9999.0, True]
    weighed = 0
    for _ in range(4000):
        parts = draw.choices(pieces, k=draw.randint(1, 5))
        text = "".join(parts)
        tokens = [
            {"token": part, "logprob": draw.choice(odd), "bytes": draw.choice([None, [300], "x"]), "top_logprobs": [
                {"token": draw.choice(pieces), "logprob": draw.choice(odd)} for _ in range(draw.randint(0, 4))]}
            for part in parts
        ]  # fmt: skip
        start = draw.randrange(len(text) + 1)
        rating = expected_rating(text, (start, draw.randint(start, len(text))), tokens, TEN)
        if isinstance(rating, Expected):
            weighed += 1
            assert 1 <= rating.value <= 10
            assert 0 < rating.mass <= 1
        else:
            assert rating
    assert weighed > 100
