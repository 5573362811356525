"""Overlap of two texts in words and characters: token F1, ROUGE-L and chrF.

They are a few lines each, and the libraries that have them bring more than they do: rouge-score brings nltk and knows
letters a to z only (a Chinese text has no word for it); sacrebleu brings lxml and a family of tokenizers. So the
measures are here, and those libraries are what the tests compare them with. Chinese is cut into its characters, as
evaluations of Chinese reading comprehension do: no dictionary, and no two segmenters that disagree.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from steelyard.normal_form import UNSPACED, WIDE, marks, nfkc, spaced_word

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
UNIT: Final = re.compile(rf"[{WIDE}]|[^\s{WIDE}]+")
_ARTICLES: Final = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of an answer with a reference.

    Args:
        precision: share of the answer that is in the reference, 0 to 1.
        recall: share of the reference that is in the answer, 0 to 1.
        f1: their harmonic mean; where a measure takes a `beta`, the F-measure of that beta.
    """

    precision: float
    recall: float
    f1: float


def words_of(text: str) -> list[str]:
    """Split a text into words for comparison: lower case, width folded, punctuation between words dropped.

    Words of alphabets, with their vowel signs and accents, and numbers stay whole; Han characters, kana, hangul
    syllables and the letters of Thai, Lao, Burmese and Khmer are words of their own. On ASCII this is what the
    tokenizer of ROUGE gives (without its stemmer).

    >>> words_of("Don't PANIC, ２ times"), words_of("《易经》有64卦"), words_of("हिन्दी की किताब")
    (['don', 't', 'panic', '2', 'times'], ['易', '经', '有', '64', '卦'], ['हिन्दी', 'की', 'किताब'])
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())  # The same words in half of the time.
    return _word().findall(nfkc(text).lower())


@cache
def _word() -> re.Pattern[str]:
    # The first part leaves out what is no letter among the characters without blanks: the dot of カタ・カナ.
    return re.compile(rf"(?=[^\W_])[{UNSPACED}][{marks()}]*|{spaced_word()}")


def answer_words(text: str, *, articles: bool = False) -> list[str]:
    """Split a short answer into words without punctuation and without a, an and the.

    Source: the evaluation script of SQuAD (P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang, "SQuAD: 100,000+ questions for
    machine comprehension of text", EMNLP 2016): lower case, without ASCII punctuation, without articles. From MLQA (P.
    Lewis et al., ACL 2020): without the punctuation of any script, and with Han characters one by one.
    Deviations: width is folded first (NFKC); an answer of articles alone keeps them, so that the letter "A" stays an
    answer; kana and hangul are single characters too.

    Args:
        text: the answer.
        articles: whether a, an and the are kept.

    >>> answer_words("The U.S.A."), answer_words("北京，中国"), answer_words("A.")
    (['usa'], ['北', '京', '中', '国'], ['a'])
    """
    words = UNIT.findall(nfkc(text).lower().translate(_punctuation()))
    significant = words if articles else [word for word in words if word not in _ARTICLES]
    return significant or words


@cache
def _punctuation() -> Mapping[int, None]:
    """All punctuation characters, computed on first use (20 ms). Planes above the first two hold none."""
    punctuation = (code for code in range(0x20000) if unicodedata.category(chr(code)).startswith("P"))
    return dict.fromkeys([*map(ord, string.punctuation), *punctuation])


def token_f1(reference: str, answer: str, *, articles: bool = False) -> Overlap:
    """Token F1: overlap of two short answers as bags of words.

    With common = the sum over words of min(count in reference, count in answer): precision = common / words of the
    answer, recall = common / words of the reference, f1 = 2 P R / (P + R); two answers without a word are equal (1).
    Source: SQuAD's evaluation script, version 2; `answer_words` says what a word is and where it deviates.

    Args:
        reference: the expected answer.
        answer: what was answered.
        articles: whether a, an and the count.

    >>> token_f1("the yellow river", "The Yellow River basin")
    Overlap(precision=0.6666666666666666, recall=1.0, f1=0.8)
    >>> token_f1("长江", "长江流域").f1  # P = 2/4, R = 2/2
    0.6666666666666666
    """
    reference_words, words = answer_words(reference, articles=articles), answer_words(answer, articles=articles)
    if not reference_words and not words:
        return Overlap(1.0, 1.0, 1.0)
    return overlap_of((Counter(reference_words) & Counter(words)).total(), len(reference_words), len(words))


def rouge_l(reference: str, answer: str, *, beta: float = 1.0) -> Overlap:
    """ROUGE-L of one text against one reference: the longest common subsequence of their words.

    precision = LCS / words of the answer, recall = LCS / words of the reference,
    F = (1 + beta^2) P R / (R + beta^2 P).
    Source: C.-Y. Lin, "ROUGE: a package for automatic evaluation of summaries", 2004, section 3.1 (equations 2 to 4).
    Deviations: `beta` is 1, as in all later implementations (the original sets it very large, which is recall alone);
    no stemming; `words_of` instead of a to z and 0 to 9. A text without a word shares nothing: 0.

    Args:
        reference: the expected text.
        answer: the text that is scored.
        beta: weight of recall; 1 gives precision and recall the same weight.

    >>> rouge_l("police killed the gunman", "police kill the gunman").f1  # Lin 2004, section 3.1, S2
    0.75
    >>> rouge_l("警察击毙了枪手", "警察打死枪手")  # 警察枪手 of 7 and of 6
    Overlap(precision=0.6666666666666666, recall=0.5714285714285714, f1=0.6153846153846153)
    """
    reference_words, words = words_of(reference), words_of(answer)
    return overlap_of(common_subsequence(reference_words, words), len(reference_words), len(words), beta=beta)


def overlap_of(common: int, reference_size: int, answer_size: int, *, beta: float = 1.0) -> Overlap:
    """Precision, recall and F-measure of so many common parts."""
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = common / answer_size, common / reference_size
    return Overlap(precision, recall, _f_measure(precision, recall, beta))


def _f_measure(precision: float, recall: float, beta: float) -> float:
    denominator = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / denominator if denominator else 0.0


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two word lists.

    One row of the usual table is the bits of one integer, so a step costs as many machine words as the longer list has
    words divided by 30: 5,000 words against 5,000 take about 10 ms, where the table in Python takes seconds.
    Source: M. Crochemore, C. S. Iliopoulos, Y. J. Pinzon, J. F. Reid, "A fast and practical bit-vector algorithm for
    the longest common subsequence problem", Information Processing Letters 80 (2001).

    >>> common_subsequence("police killed the gunman".split(), "the gunman kill police".split())
    2
    """
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    positions = _positions(longer, frozenset(shorter))
    mask = (1 << len(longer)) - 1
    row = mask
    for word in shorter:
        if (occurrences := positions.get(word)) is not None:
            matched = row & occurrences
            row = ((row + matched) | (row - matched)) & mask
    return len(longer) - row.bit_count()


def _positions(words: Sequence[str], vocabulary: frozenset[str]) -> Mapping[str, int]:
    """For each word of the vocabulary that occurs, an integer with a bit set at each of its positions."""
    bitmaps: dict[str, bytearray] = {}
    for position, word in enumerate(words):
        if word in vocabulary:
            bits = bitmaps.setdefault(word, bytearray())
            if len(bits) <= position >> 3:
                bits.extend(bytes((position >> 3) + 1 - len(bits)))
            bits[position >> 3] |= 1 << (position & 7)
    return {word: int.from_bytes(bits, "little") for word, bits in bitmaps.items()}


def chrf(reference: str, answer: str, *, n: int = 6, beta: float = 2.0) -> float:
    """chrF: overlap of two texts in character n-grams, in [0, 1]; whitespace is ignored.

    P_k and R_k are the shares of the answer's and of the reference's n-grams of order k that are in the other, counted
    with repeats; P and R their means over the orders that both texts have; chrF = (1 + beta^2) P R / (beta^2 P + R).
    Case matters. It needs no tokenizer, so it works for any language.
    Source: M. Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015, section 2.
    Deviations, all as in sacrebleu: orders that one of the texts is too short for are left out of both means; the means
    come before the F-measure; the value is 1 where sacrebleu prints 100.

    Args:
        reference: the expected text.
        answer: the text that is scored.
        n: highest order of character n-grams, at least 1.
        beta: weight of recall; 2 gives recall twice the weight of precision.

    >>> round(chrf("cat", "cats", n=2), 4)  # P = (3/4 + 2/3) / 2, R = 1
    0.9239
    >>> round(chrf("天地玄黄", "天地黄", n=2), 4)  # P = (3/3 + 1/2) / 2, R = (3/4 + 1/3) / 2
    0.5735
    """
    expected, answered = "".join(reference.split()), "".join(answer.split())
    per_order = [
        _ngram_overlap(_character_ngrams(expected, order), _character_ngrams(answered, order))
        for order in range(1, n + 1)
    ]
    defined = [shares for shares in per_order if shares is not None]
    if not defined:
        return 0.0
    precision, recall = (sum(shares[side] for shares in defined) / len(defined) for side in (0, 1))
    return _f_measure(precision, recall, beta)


def _character_ngrams(text: str, order: int) -> Counter[str]:
    return Counter([text[at : at + order] for at in range(len(text) - order + 1)])


def _ngram_overlap(expected: Counter[Any], answered: Counter[Any]) -> tuple[float, float] | None:
    """(precision, recall) of one order; None where one of the texts has no n-gram of it."""
    if not expected or not answered:
        return None
    common = (expected & answered).total()
    return common / answered.total(), common / expected.total()
