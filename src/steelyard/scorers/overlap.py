"""How much two texts have in common, counted in words and characters: token F1, ROUGE-L and chrF.

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

_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[{_WIDE}]|[^\W_{_WIDE}]+")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_UNIT: Final = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_CHRF_MARKS: Final = frozenset(string.punctuation)


@dataclass(frozen=True, slots=True)
class Overlap:
    """What an answer shares with a reference.

    Args:
        precision: share of the answer that is in the reference, 0 to 1.
        recall: share of the reference that is in the answer, 0 to 1.
        f1: their harmonic mean; where a measure takes a `beta`, the F-measure of that beta.
    """

    precision: float
    recall: float
    f1: float


def words_of(text: str) -> list[str]:
    """The words of `text` in order, for measuring: lower case, width folded, every mark between words dropped.

    Words of alphabets and numbers stay whole; Han characters, kana and hangul syllables are words of their own. On
    ASCII this is what the tokenizer of ROUGE gives (without its stemmer).

    Deviation: words of scripts whose vowel signs are combining marks (Devanagari, Thai) are cut at these marks.

    >>> words_of("Don't PANIC, ２ times"), words_of("《易经》有64卦")
    (['don', 't', 'panic', '2', 'times'], ['易', '经', '有', '64', '卦'])
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())  # The same words in half of the time.
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def answer_words(text: str, *, articles: bool = False) -> list[str]:
    """The words of a short answer: punctuation is taken out of words, and a, an and the are left out.

    Source: the evaluation script of SQuAD (P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang, "SQuAD: 100,000+ questions for
    machine comprehension of text", EMNLP 2016): lower case, without ASCII punctuation, without articles. From MLQA (P.
    Lewis et al., ACL 2020): without the punctuation of any script, and with Han characters one by one.
    Deviations: width is folded first (NFKC); an answer of articles alone keeps them, so that the letter "A" stays an
    answer; kana and hangul are single characters too.

    Args:
        text: the answer.
        articles: whether a, an and the stay.

    >>> answer_words("The U.S.A."), answer_words("北京，中国"), answer_words("A.")
    (['usa'], ['北', '京', '中', '国'], ['a'])
    """
    words = _UNIT.findall(unicodedata.normalize("NFKC", text).lower().translate(_punctuation()))
    kept = words if articles else [word for word in words if word not in _ARTICLES]
    return kept or words


@cache
def _punctuation() -> Mapping[int, None]:
    """Every mark that is deleted; found on first use, in 20 ms. The planes behind the first two have no marks."""
    marks = (code for code in range(0x20000) if unicodedata.category(chr(code)).startswith("P"))
    return dict.fromkeys([*map(ord, string.punctuation), *marks])


def token_f1(reference: str, answer: str, *, articles: bool = False) -> Overlap:
    """Overlap of two short answers as bags of words.

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
    wanted, got = answer_words(reference, articles=articles), answer_words(answer, articles=articles)
    if not wanted and not got:
        return Overlap(1.0, 1.0, 1.0)
    return _overlap((Counter(wanted) & Counter(got)).total(), len(wanted), len(got))


def rouge_l(reference: str, answer: str, *, beta: float = 1.0) -> Overlap:
    """ROUGE-L of one text against one reference: the longest common subsequence of their words.

    precision = LCS / words of the answer, recall = LCS / words of the reference,
    F = (1 + beta^2) P R / (R + beta^2 P).
    Source: C.-Y. Lin, "ROUGE: a package for automatic evaluation of summaries", 2004, section 3.1 (equations 2 to 4).
    Deviations: `beta` is 1, as in all later implementations (the original sets it very large, which is recall alone);
    no stemming; `words_of` instead of a to z and 0 to 9. A text without a word shares nothing: 0.

    Args:
        reference: the expected text.
        answer: the text that is measured.
        beta: weight of recall; 1 weighs both alike.

    >>> rouge_l("police killed the gunman", "police kill the gunman").f1  # Lin 2004, section 3.1, S2
    0.75
    >>> rouge_l("警察击毙了枪手", "警察打死枪手")  # 警察枪手 of 7 and of 6
    Overlap(precision=0.6666666666666666, recall=0.5714285714285714, f1=0.6153846153846153)
    """
    wanted, got = words_of(reference), words_of(answer)
    return _overlap(common_subsequence(wanted, got), len(wanted), len(got), beta=beta)


def _overlap(common: int, wanted: int, got: int, *, beta: float = 1.0) -> Overlap:
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = common / got, common / wanted
    return Overlap(precision, recall, _f_measure(precision, recall, beta))


def _f_measure(precision: float, recall: float, beta: float) -> float:
    weighed = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / weighed if weighed else 0.0


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence of two lists of words.

    One row of the usual table is the bits of one integer, so a step costs as many machine words as the longer list has
    words divided by 30: 5,000 words against 5,000 take about 10 ms, where the table in Python takes seconds.
    Source: M. Crochemore, C. S. Iliopoulos, Y. J. Pinzon, J. F. Reid, "A fast and practical bit-vector algorithm for
    the longest common subsequence problem", Information Processing Letters 80 (2001).

    >>> common_subsequence("police killed the gunman".split(), "the gunman kill police".split())
    2
    """
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    places = _places(longer, frozenset(shorter))
    whole = (1 << len(longer)) - 1
    row = whole
    for word in shorter:
        if (here := places.get(word)) is not None:
            met = row & here
            row = ((row + met) | (row - met)) & whole
    return len(longer) - row.bit_count()


def _places(words: Sequence[str], wanted: frozenset[str]) -> Mapping[str, int]:
    """For each wanted word that occurs, an integer whose bits are the places where it does."""
    found: dict[str, bytearray] = {}
    for at, word in enumerate(words):
        if word in wanted:
            bits = found.setdefault(word, bytearray())
            if len(bits) <= at >> 3:
                bits.extend(bytes((at >> 3) + 1 - len(bits)))
            bits[at >> 3] |= 1 << (at & 7)
    return {word: int.from_bytes(bits, "little") for word, bits in found.items()}


def chrf(reference: str, answer: str, *, n: int = 6, beta: float = 2.0, word_order: int = 0) -> float:
    """Overlap of two texts in character n-grams, the measure chrF, in [0, 1]; blanks are left out.

    P_k and R_k are the shares of the answer's and of the reference's n-grams of order k that are in the other, counted
    with repeats; P and R their means over the orders that both texts have; chrF = (1 + beta^2) P R / (beta^2 P + R).
    Case counts. Nothing is cut into words, so it needs no tokenizer for any language.
    Source: M. Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015, section 2; with words
    "chrF++: words helping character n-grams", WMT 2017.
    Deviations, all as in sacrebleu: orders that one of the texts is too short for are left out of both means; the means
    come before the F-measure; the value is 1 where sacrebleu prints 100.

    Args:
        reference: the expected text.
        answer: the text that is measured.
        n: highest order of character n-grams, at least 1.
        beta: weight of recall; 2 weighs it twice.
        word_order: highest order of word n-grams; 2 is chrF++.

    >>> round(chrf("cat", "cats", n=2), 4)  # P = (3/4 + 2/3) / 2, R = 1
    0.9239
    >>> round(chrf("天地玄黄", "天地黄", n=2), 4)  # P = (3/3 + 1/2) / 2, R = (3/4 + 1/3) / 2
    0.5735
    """
    wanted, got = "".join(reference.split()), "".join(answer.split())
    shared = [_shared(_cut(wanted, order), _cut(got, order)) for order in range(1, n + 1)]
    if word_order:
        wanted_words, got_words = _split_marks(reference), _split_marks(answer)
        shared += [
            _shared(_cut_words(wanted_words, order), _cut_words(got_words, order)) for order in range(1, word_order + 1)
        ]
    both = [one for one in shared if one is not None]
    if not both:
        return 0.0
    precision, recall = (sum(one[side] for one in both) / len(both) for side in (0, 1))
    return _f_measure(precision, recall, beta)


def _cut(text: str, order: int) -> Counter[str]:
    return Counter([text[at : at + order] for at in range(len(text) - order + 1)])


def _cut_words(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter([tuple(words[at : at + order]) for at in range(len(words) - order + 1)])


def _shared(wanted: Counter[Any], got: Counter[Any]) -> tuple[float, float] | None:
    """(precision, recall) of one order; None where one of the texts has no n-gram of it."""
    if not wanted or not got:
        return None
    common = (wanted & got).total()
    return common / got.total(), common / wanted.total()


def _split_marks(text: str) -> list[str]:
    """Words between blanks, with one mark of punctuation at the end, or else at the beginning, as a word of its own."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _CHRF_MARKS:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _CHRF_MARKS:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words
