"""Token F1, ROUGE-L and chrF: published numbers, the libraries that have them, and what must hold for every text."""

import re
import string
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import CHRF

from steelyard.scorers.overlap import Overlap, answer_words, chrf, common_subsequence, rouge_l, token_f1, words_of

TEXTS = st.text(alphabet="ab cé,.'-?1 易经卦，。かな한\n\t", max_size=40) | st.text(max_size=30)
PLAIN = st.text(alphabet="abcdAB the,.'-?!12 \n", max_size=60)
WORDS = st.lists(st.sampled_from("abcdefg"), max_size=90)


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("Ｈｅｌｌｏ，世界", ["hello", "世", "界"]),
            ("第3章GPT-4", ["第", "3", "章", "gpt", "4"]),
            ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
            ("서울 2024년", ["서", "울", "2024", "년"]),
            ("naïve Straße snake_case", ["naïve", "straße", "snake", "case"]),
            ("１，２３４.５", ["1", "234", "5"]),
            ("—!?。…", []),
            ("مُحَمَّد كَتَبَ", ["مُحَمَّد", "كَتَبَ"]),
            ("हिन्दी की किताब।", ["हिन्दी", "की", "किताब"]),
            ("שָׁלוֹם p\u0302q", ["שָׁלוֹם", "p\u0302q"]),
            ("น้ำ ๑๒", ["น\u0e49\u0e4d", "า", "๑๒"]),
            ("カタ・カナ", ["カ", "タ", "カ", "ナ"]),
            ("1\ufe0f\u20e3", ["1"]),
        ],
    )
    def test_alphabets_stay_whole_and_wide_characters_stand_alone(self, text, words):
        assert words_of(text) == words

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("The cat's 1,234.5!", ["cats", "12345"]),
            ("a state-of-the-art result", ["stateoftheart", "result"]),
            ("《易经》，共六十四卦。", list("易经共六十四卦")),
            ("The Who", ["who"]),
            ("the", ["the"]),
            ("“quoted”", ["quoted"]),
        ],
    )
    def test_the_words_of_an_answer_lose_marks_and_articles(self, text, words):
        assert answer_words(text) == words

    def test_articles_stay_on_demand(self):
        assert answer_words("The Who", articles=True) == ["the", "who"]


def squad_f1(gold, answer):
    """After the evaluation script of SQuAD 2.0."""

    def words(text):
        plain = "".join(character for character in text.lower() if character not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", plain).split()

    wanted, got = words(gold), words(answer)
    common = sum((Counter(wanted) & Counter(got)).values())
    if not wanted or not got:
        return float(wanted == got)
    if not common:
        return 0.0
    precision, recall = common / len(got), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


class TestTokenF1:
    @pytest.mark.parametrize(
        ("reference", "answer", "precision", "recall", "f1"),
        [
            ("Yellow River", "the Yellow River basin", 2 / 3, 1.0, 0.8),
            ("to be or not to be", "to be to be to be", 4 / 6, 4 / 6, 2 / 3),
            ("黄河", "黄河流域", 0.5, 1.0, 2 / 3),
            ("六十四卦", "共有64卦", 1 / 4, 1 / 4, 1 / 4),
            ("北京", "上海", 0.0, 0.0, 0.0),
            ("北京", "", 0.0, 0.0, 0.0),
            ("", "", 1.0, 1.0, 1.0),
            ("B", "A.", 0.0, 0.0, 0.0),
            ("A", "A.", 1.0, 1.0, 1.0),
        ],
    )
    def test_worked_numbers(self, reference, answer, precision, recall, f1):
        measured = token_f1(reference, answer)
        assert (measured.precision, measured.recall, measured.f1) == pytest.approx((precision, recall, f1), abs=1e-12)

    @given(PLAIN, PLAIN)
    def test_equals_the_script_of_squad_on_ascii(self, reference, answer):
        articles = {"a", "an", "the"}  # a text of nothing else keeps them here
        assume(not {*answer_words(reference), *answer_words(answer)} & articles)
        assert token_f1(reference, answer).f1 == pytest.approx(squad_f1(reference, answer), abs=1e-12)

    @given(TEXTS, TEXTS)
    def test_is_symmetric_and_a_share(self, one, other):
        found, turned = token_f1(one, other), token_f1(other, one)
        assert found.f1 == turned.f1
        assert (found.precision, found.recall) == (turned.recall, turned.precision)
        assert 0 <= found.f1 <= 1

    @given(TEXTS)
    def test_a_text_is_like_itself(self, text):
        assert token_f1(text, text) == Overlap(1.0, 1.0, 1.0)


class TestRougeL:
    """Examples S1 to S4 of section 3.1 in Lin 2004."""

    REFERENCE = "police killed the gunman"

    @pytest.mark.parametrize(
        ("answer", "f"),
        [
            ("police kill the gunman", 3 / 4),
            ("the gunman kill police", 2 / 4),
            ("the gunman police killed", 2 / 4),
        ],
    )
    def test_the_examples_of_the_paper(self, answer, f):
        assert rouge_l(self.REFERENCE, answer).f1 == f

    def test_beta_weighs_recall(self):
        # 地黄 of 天地玄黄 (4) and of 大地黄 (3): R = 1/2, P = 2/3
        assert rouge_l("天地玄黄", "大地黄").f1 == pytest.approx(4 / 7)
        assert rouge_l("天地玄黄", "大地黄", beta=2).f1 == pytest.approx(5 * (1 / 3) / (1 / 2 + 4 * 2 / 3))
        assert rouge_l("天地玄黄", "大地黄", beta=1000).f1 == pytest.approx(1 / 2, abs=1e-6)

    @given(PLAIN, PLAIN)
    def test_equals_rouge_score_on_ascii(self, reference, answer):
        wanted = RougeScorer(["rougeL"]).score(reference, answer)["rougeL"]
        measured = rouge_l(reference, answer)
        assert (measured.precision, measured.recall, measured.f1) == pytest.approx(tuple(wanted), abs=1e-12)

    @given(TEXTS, TEXTS)
    def test_is_a_share_and_never_above_the_bag_of_words(self, one, other):
        measured = rouge_l(one, other)
        assert 0 <= measured.f1 <= 1
        common = (Counter(words_of(one)) & Counter(words_of(other))).total()
        assert measured.precision * len(words_of(other)) <= common + 1e-9

    @given(TEXTS)
    def test_a_text_with_words_is_like_itself(self, text):
        assert rouge_l(text, text).f1 == (1.0 if words_of(text) else 0.0)

    @given(WORDS, WORDS)
    def test_the_bits_of_an_integer_give_what_the_table_gives(self, one, other):
        row = [0] * (len(other) + 1)
        for word in one:
            above = row[:]
            for at, met in enumerate(other):
                row[at + 1] = above[at] + 1 if word == met else max(above[at + 1], row[at])
        assert common_subsequence(one, other) == row[-1]


class TestChrF:
    @pytest.mark.parametrize("beta", [1, 2, 3])
    @given(TEXTS, TEXTS)
    def test_equals_sacrebleu(self, beta, reference, answer):
        wanted = CHRF(beta=beta).sentence_score(answer, [reference]).score / 100
        assert chrf(reference, answer, beta=beta) == pytest.approx(wanted, abs=1e-9)

    @given(TEXTS, TEXTS)
    def test_is_a_share(self, reference, answer):
        assert 0 <= chrf(reference, answer) <= 1 + 1e-12

    @given(TEXTS)
    def test_a_text_is_like_itself(self, text):
        assert chrf(text, text) == pytest.approx(1.0 if text.split() else 0.0)

    def test_blanks_do_not_count_and_case_does(self):
        assert chrf("ab cd", " abc\nd") == pytest.approx(1.0)
        assert chrf("ab", "AB") == 0.0

    def test_a_worked_number_in_chinese(self):
        # 1-grams: 4 of 6 and of 4; 2-grams: 3 of 5 and of 3; beta 2: 5 P R / (4 P + R) with R = 1
        precision = (4 / 6 + 3 / 5) / 2
        assert chrf("六十四卦", "共六十四卦象", n=2) == pytest.approx(5 * precision / (4 * precision + 1))
