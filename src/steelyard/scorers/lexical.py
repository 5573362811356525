"""Scorers that weigh an output against a reference text by the words and characters that they share.

They ask no model and cost nothing, so they stand beside a judge as its floor: a judge that does not rank systems better
than these is not worth its calls. The measures are in `steelyard.text.overlap`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal

from steelyard.errors import ConfigError
from steelyard.scorers.lexical_texts import check_share, reached, references_of, text_of, unscored, which
from steelyard.text.overlap import Overlap, answer_words, chrf, rouge_l, token_f1, words_of
from steelyard.types import Output, Sample, Score

_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class TokenF1:
    """Overlap of the output's words with the reference's, as SQuAD counts it.

    Of several references the best counts. Chinese is compared character by character.

    Args:
        threshold: share from which a sample passes; None: none is set.
        articles: whether a, an and the count as words.

    >>> TokenF1()(Sample("1", "Which river?", "the Yellow River"), Output("Yellow River basin")).value
    0.8
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "token_f1"
    over: ClassVar[str] = "all"

    threshold: float | None = None
    articles: bool = False

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: the threshold is no share.
        """
        check_share("threshold", self.threshold)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        texts, problem = _with_words(sample, answer_words)
        if (score := unscored(self.score_name, problem, output)) is not None:
            return score
        answer = text_of(output)
        found = [token_f1(text, answer, articles=self.articles) for text in texts]
        return _overlap_score(self.score_name, found, answer, self.threshold)


@dataclass(frozen=True, slots=True)
class RougeL:
    """Longest common subsequence of the output's words and the reference's, as their F-measure.

    Of several references the best counts. Chinese is compared character by character; nothing is stemmed.

    Args:
        threshold: share from which a sample passes; None: none is set.
        beta: weight of recall against precision; 1 weighs both alike.

    >>> RougeL()(Sample("1", "What happened?", "police killed the gunman"), Output("Police kill the gunman.")).value
    0.75
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "rouge_l"
    over: ClassVar[str] = "all"

    threshold: float | None = None
    beta: float = 1.0

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: the threshold is no share, or beta is not above 0.
        """
        check_share("threshold", self.threshold)
        _check_beta(self.beta)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        texts, problem = _with_words(sample, words_of)
        if (score := unscored(self.score_name, problem, output)) is not None:
            return score
        answer = text_of(output)
        found = [rouge_l(text, answer, beta=self.beta) for text in texts]
        return _overlap_score(self.score_name, found, answer, self.threshold)


@dataclass(frozen=True, slots=True)
class ChrF:
    """Overlap of the output's character n-grams with the reference's, from 0 to 1.

    Of several references the best counts. It needs no words, so it treats all languages alike; case counts.

    Args:
        threshold: share from which a sample passes; None: none is set.
        n: highest order of character n-grams.
        beta: weight of recall against precision.
        word_order: highest order of word n-grams; 2 is chrF++.

    >>> ChrF()(Sample("1", "Which city?", "北京"), Output("北京")).value
    1.0
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "chrf"
    over: ClassVar[str] = "all"

    threshold: float | None = None
    n: int = 6
    beta: float = 2.0
    word_order: int = 0

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: the threshold is no share, n is below 1, word_order below 0, or beta not above 0.
        """
        check_share("threshold", self.threshold)
        _check_beta(self.beta)
        if self.n < 1 or self.word_order < 0:
            raise ConfigError(f"n is at least 1 and word_order at least 0, but got {self.n} and {self.word_order}")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        texts, problem = references_of(sample)
        if (score := unscored(self.score_name, problem, output)) is not None:
            return score
        answer = text_of(output)
        measure = partial(chrf, answer=answer, n=self.n, beta=self.beta, word_order=self.word_order)
        found = [measure(text) for text in texts]
        place = found.index(max(found))
        reason = f"{'' if answer.strip() else 'the output is empty'}{which(place, len(texts))}".removeprefix("; ")
        passed = reached(found[place], self.threshold)
        return Score(self.score_name, found[place], passed=passed, reason=reason, detail={"reference": place})


@dataclass(frozen=True, slots=True)
class Contains:
    """Whether the reference stands in the output.

    Width and runs of blanks make no difference. Chinese has no borders between words, so whole words are asked for
    where the reference begins or ends with a letter of an alphabet or a digit: "cat" is not in "concatenate", and "3"
    is neither in "13" nor in "3.5".

    Args:
        need: of several references: `any` of them, `all` of them, or the `share` of them that is found.
        ignore_case: compare with case folded.
        whole_words: find the reference only between the borders of words.
        threshold: with `share`, the share from which a sample passes; None: none is set.

    >>> Contains()(Sample("1", "Capital of France?", "Paris"), Output("It is Paris.")).value
    1.0
    """

    inline: ClassVar[bool] = True
    score_name: ClassVar[str] = "contains"
    over: ClassVar[str] = "all"

    need: Literal["any", "all", "share"] = "any"
    ignore_case: bool = True
    whole_words: bool = True
    threshold: float | None = None

    @property
    def words(self) -> dict[str, tuple[str, str]]:
        """What 1 and 0 are called; a share is called by its number."""
        return {} if self.need == "share" else {"contains": ("contained", "missing")}

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown `need`, or a threshold that is no share or has no share to be set on.
        """
        if self.need not in {"any", "all", "share"}:
            raise ConfigError(f"need: expected any, all or share, but got {self.need!r}")
        check_share("threshold", self.threshold)
        if self.threshold is not None and self.need != "share":
            raise ConfigError(f"threshold: need {self.need!r} is met or not; a threshold goes with need 'share'")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the references in one output."""
        texts, problem = references_of(sample)
        if (score := unscored(self.score_name, problem, output)) is not None:
            return score
        answer = self._comparable(text_of(output))
        found = [stands_in(self._comparable(text), answer, whole_words=self.whole_words) for text in texts]
        missing = [text for text, there in zip(texts, found, strict=True) if not there]
        value = {"any": float(any(found)), "all": float(all(found)), "share": sum(found) / len(found)}[self.need]
        passed = reached(value, self.threshold) if self.need == "share" else value == 1
        reason = f"missing: {', '.join(repr(text[:40]) for text in missing[:5])}" if missing else ""
        if self.need == "any" and any(found):
            reason = f"found{which(found.index(True), len(texts))}".replace("; ", " ")
        return Score(self.score_name, value, passed=passed, reason=reason, detail={"missing": missing})

    def _comparable(self, text: str) -> str:
        plain = " ".join(unicodedata.normalize("NFKC", text).split())
        return plain.casefold() if self.ignore_case else plain


def stands_in(wanted: str, text: str, *, whole_words: bool = True) -> bool:
    """Whether `wanted` occurs in `text`, with `whole_words` not as a part of a longer word or number.

    >>> stands_in("cat", "concatenate"), stands_in("cat", "a cat!"), stands_in("卦", "八卦图"), stands_in("3", "3.5")
    (False, True, True, False)
    """
    at = text.find(wanted)
    while whole_words and at >= 0 and not (_starts_word(text, at) and _ends_word(text, at + len(wanted))):
        at = text.find(wanted, at + 1)
    return at >= 0


def _starts_word(text: str, at: int) -> bool:
    """Whether a word may start at `at`; a point or comma between digits is inside a number."""
    if at == 0 or not _joins(text[at]):
        return True
    marked = at > 1 and text[at - 1] in ".," and text[at].isdigit() and text[at - 2].isdigit()
    return not marked and not _joins(text[at - 1])


def _ends_word(text: str, at: int) -> bool:
    if at >= len(text) or not _joins(text[at - 1]):
        return True
    marked = at + 1 < len(text) and text[at] in ".," and text[at - 1].isdigit() and text[at + 1].isdigit()
    return not marked and not _joins(text[at])


def _joins(character: str) -> bool:
    """Whether it makes one word with its neighbour: letters, digits and the underscore do, Han characters do not."""
    return (character.isalnum() or character == "_") and _WIDE.match(character) is None


def _with_words(sample: Sample, words: Callable[[str], list[str]]) -> tuple[tuple[str, ...], str]:
    """The references that have a word; a text of marks alone has nothing that could be shared."""
    texts, problem = references_of(sample)
    kept = tuple(text for text in texts if words(text))
    return kept, problem or ("" if kept else "the reference has no word in it")


def _overlap_score(name: str, found: list[Overlap], answer: str, threshold: float | None) -> Score:
    values = [one.f1 for one in found]
    place = values.index(max(values))
    best = found[place]
    how = f"precision {best.precision:.2f}, recall {best.recall:.2f}" if answer.strip() else "the output is empty"
    detail = {"precision": best.precision, "recall": best.recall, "reference": place}
    reason = how + which(place, len(found))
    return Score(name, best.f1, passed=reached(best.f1, threshold), reason=reason, detail=detail)


def _check_beta(beta: float) -> None:
    if not 0 < beta < float("inf"):
        raise ConfigError(f"beta: expected a number above 0, but got {beta}")
