"""Lexical scorers: what they give, when they do not apply, and what their options do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Output, Sample
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers.lexical import ChrF, Contains, RougeL, TokenF1, stands_in
from steelyard.scorers.numbers import NumberMatch

WITH_REFERENCE = [TokenF1(), RougeL(), ChrF(), Contains(), NumberMatch()]
BY_NAME = {"ids": lambda scorer: scorer.score_infos[0].name, "argvalues": WITH_REFERENCE}
TEXTS = st.text(alphabet="ab cé,.'-?13 易经卦，。\n", max_size=30)


def score(scorer, reference, got, **metadata):
    return scorer(Sample("1", "q", reference), Output(got, metadata=metadata))


class TestAll:
    @pytest.mark.parametrize("scorer", **BY_NAME)
    @pytest.mark.parametrize("reference", [None, "", " \n", [], [""], [None, " "]])
    def test_without_a_reference_they_do_not_apply(self, scorer, reference):
        scored = score(scorer, reference, "7 things")
        assert (scored.name, scored.value, scored.outcome) == (scorer.score_infos[0].name, None, "not_applicable")
        assert scored.reason == "the sample has no reference"

    @pytest.mark.parametrize("scorer", **BY_NAME)
    @pytest.mark.parametrize("reference", [{"a": 1}, True, ["7", {"b": 2}]])
    def test_a_reference_that_is_no_text_does_not_apply(self, scorer, reference):
        scored = score(scorer, reference, "7 things")
        assert scored.outcome == "not_applicable"
        assert "neither text nor a list of texts" in scored.reason

    @pytest.mark.parametrize("scorer", **BY_NAME)
    def test_a_number_is_a_reference_too(self, scorer):
        assert score(scorer, 7, "7").value == pytest.approx(1.0)

    @pytest.mark.parametrize("scorer", **BY_NAME)
    def test_of_several_references_the_best_counts_and_is_named(self, scorer):
        scored = score(scorer, ["64 卦", "8 卦", ""], "8 卦")
        assert scored.value == pytest.approx(1.0)
        assert "reference 2 of 2" in scored.reason

    @pytest.mark.parametrize("scorer", **BY_NAME)
    @pytest.mark.parametrize("empty", ["", "  ", None])
    def test_an_empty_output_is_zero_unless_a_filter_stopped_it(self, scorer, empty):
        assert score(scorer, "7", empty).value == 0.0
        assert score(scorer, "7", empty, finish="content_filter").outcome == "refused"
        assert score(scorer, "7", "7", finish="content_filter").value == pytest.approx(1.0)

    @pytest.mark.parametrize("scorer", **BY_NAME)
    def test_reasoning_in_front_and_tokens_behind_are_no_part_of_the_output(self, scorer):
        assert score(scorer, "64 卦", "<think>\n8? 9?\n</think>\n\n64 卦").value == pytest.approx(1.0)
        assert score(scorer, "64 卦", "8? 9?\n</think>64 卦").value == pytest.approx(1.0)
        assert score(scorer, "Use </think> 64 卦", "Use </think> 64 卦").value == pytest.approx(1.0)
        assert score(scorer, "64 卦", "</think>\n\n64 卦").value == pytest.approx(1.0)
        assert score(scorer, "64 卦", "64 卦<|return|>").value == pytest.approx(1.0)
        assert score(scorer, "64 卦", "<think>8?</think>64 卦<end_of_turn>\n<pad><pad>").value == pytest.approx(1.0)
        assert score(scorer, "64 卦", "<think>\n64 卦").value == 0.0

    @pytest.mark.parametrize("scorer", **BY_NAME)
    def test_a_structure_is_read_as_its_json(self, scorer):
        assert score(scorer, '{"卦": 64}', {"卦": 64}).value == pytest.approx(1.0)

    @pytest.mark.parametrize("scorer", **BY_NAME)
    @given(reference=TEXTS, got=TEXTS)
    def test_a_score_is_a_share_or_does_not_apply(self, scorer, reference, got):
        scored = score(scorer, reference, got)
        assert scored.outcome in {"scored", "not_applicable"}
        assert scored.value is None or 0 <= scored.value <= 1 + 1e-12

    @pytest.mark.parametrize("scorer", **BY_NAME)
    def test_the_defaults_can_be_meant(self, scorer):
        assert check_options(scorer) is None
        assert scorer.score_infos[0].denominator == "all"


@pytest.mark.parametrize("cls", [TokenF1, RougeL, ChrF])
class TestOverlap:
    def test_a_threshold_decides_who_passes(self, cls):
        assert score(cls(), "a b", "a b").passed is None
        assert score(cls(threshold=0.5), "red fox", "red fox").passed is True
        assert score(cls(threshold=0.5), "red fox", "x").passed is False

    @pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
    def test_a_threshold_that_is_no_share_is_refused(self, cls, threshold):
        with pytest.raises(ConfigError, match="threshold"):
            check_options(cls(threshold=threshold))

    def test_a_chinese_answer_in_a_sentence_shares_its_characters(self, cls):
        near, far = score(cls(), "六十四卦", "共有六十四卦").value, score(cls(), "六十四卦", "共有八卦").value
        assert 0 < far < near < 1


class TestWords:
    def test_token_f1_tells_precision_and_recall(self):
        scored = score(TokenF1(), "黄河", "黄河流域")
        assert scored.value == pytest.approx(2 / 3)
        assert scored.reason == "precision 0.50, recall 1.00"
        assert scored.detail == {"precision": 0.5, "recall": 1.0, "reference": 0}

    def test_articles_count_on_demand(self):
        assert score(TokenF1(), "the cat", "cat").value == 1.0
        assert score(TokenF1(articles=True), "the cat", "cat").value == pytest.approx(2 / 3)

    @pytest.mark.parametrize("scorer", [TokenF1(), RougeL()])
    def test_a_reference_of_marks_alone_does_not_apply(self, scorer):
        scored = score(scorer, "？！", "？！")
        assert (scored.outcome, scored.reason) == ("not_applicable", "the reference has no word in it")

    def test_rouge_l_looks_at_the_order(self):
        assert score(RougeL(), "天地玄黄", "玄黄天地").value == 0.5
        assert score(TokenF1(), "天地玄黄", "玄黄天地").value == 1.0

    def test_beta_is_handed_on(self):
        assert score(RougeL(beta=9), "a b c d", "a").value < score(RougeL(), "a b c d", "a").value
        assert score(ChrF(beta=1), "abcd", "ab").value > score(ChrF(beta=3), "abcd", "ab").value

    @pytest.mark.parametrize("wrong", [RougeL(beta=0), ChrF(beta=-1), ChrF(n=0)])
    def test_orders_and_weights_that_mean_nothing_are_refused(self, wrong):
        with pytest.raises(ConfigError):
            check_options(wrong)


class TestContains:
    @pytest.mark.parametrize(
        ("wanted", "text", "whole", "anywhere"),
        [
            ("cat", "concatenate", False, True),
            ("cat", "concatenate a cat", True, True),
            ("cat", "cat's", True, True),
            ("cat", "这是cat吗", True, True),
            ("卦", "八卦图", True, True),
            ("3", "13", False, True),
            ("3", "3.5", False, True),
            ("3", "0.3", False, True),
            ("3", "1,3", False, True),
            ("3", "It is 3.", True, True),
            ("3", "第3章", True, True),
            ("foo", "foo_bar", False, True),
            ("-1", "x=-1", True, True),
            ("1", "x=-1", False, True),
            ("1", "5-1, A-1, (b)-1", True, True),
            ("C++", "C++17", True, True),
            ("dog", "cat", False, False),
            ("का", "यह काम है", False, True),
            ("काम", "यह काम है", True, True),
            ("ไทย", "ภาษาไทย", True, True),
            ("๓", "๑๓", False, True),
            ("كتاب", "هذا كتابُ زيد", True, True),
            ("كتاب", "كتابُها", False, True),
            ("1", "1\ufe0f\u20e3", True, True),
            ("7", "(-7)", False, True),
            ("7°", "5°-7°", True, True),
            ("7", "5个-7个", True, True),
        ],
    )
    def test_a_word_is_not_found_inside_another(self, wanted, text, whole, anywhere):
        assert stands_in(wanted, text) is whole
        assert stands_in(wanted, text, whole_words=False) is anywhere

    def test_case_width_and_line_ends_make_no_difference(self):
        assert score(Contains(), "Yellow River", "the ＹＥＬＬＯＷ\n river").value == 1.0
        assert score(Contains(ignore_case=False), "Yellow River", "the yellow river").value == 0.0

    @pytest.mark.parametrize(("wanted", "text"), [("O'Hara", "O’Hara"), ("4-in-1", "a 4‑in‑1"), ("7–9", "7-9 h")])
    def test_typographic_quotes_and_hyphens_are_plain_ones_in_words(self, wanted, text):
        assert score(Contains(), wanted, text).value == 1.0
        assert score(Contains(whole_words=False), wanted, text).value == 0.0
        assert score(Contains(), "’", "it's").value == 0.0

    @pytest.mark.parametrize(
        ("wanted", "text", "value"),
        [
            ("\n", "one line", 0.0),
            ("\n", "two\nlines", 1.0),
            ("- ", "-1", 0.0),
            ("a  b", "a b", 0.0),
            ("at", "CAT", 1.0),
        ],
    )
    def test_literal_compares_every_character(self, wanted, text, value):
        assert score(Contains(literal=True), wanted, text).value == value

    def test_of_several_references_any_all_or_a_share_is_needed(self):
        several, text = ["黄河", "长江", "珠江", "淮河"], "黄河和长江"
        assert score(Contains(), several, text).value == 1.0
        assert score(Contains(mode="all"), several, text).value == 0.0
        scored = score(Contains(mode="share", threshold=0.5), several, text)
        assert (scored.value, scored.passed, scored.reason) == (0.5, True, "missing: '珠江', '淮河'")
        assert scored.detail == {"missing": ["珠江", "淮河"]}
        assert score(Contains(mode="share"), several, text).passed is None

    def test_one_and_zero_have_labels_where_it_is_no_share(self):
        assert Contains().score_infos[0].labels == ("contained", "missing")
        assert Contains(mode="share").score_infos[0].labels is None

    @pytest.mark.parametrize("wrong", [{"mode": "some"}, {"threshold": 0.5}, {"mode": "share", "threshold": 2}])
    def test_options_that_mean_nothing_are_refused(self, wrong):
        with pytest.raises(ConfigError):
            check_options(Contains(**wrong))

    @given(TEXTS, TEXTS, TEXTS)
    def test_a_text_between_blanks_is_always_found(self, before, wanted, after):
        words = " ".join(wanted.split())
        if words:
            assert stands_in(words, f"{before} {words} {after}")
