"""Checks of an output's text that call no model: its length, how it begins, how far it is from the expected one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from steelyard.constraints import Amount, Share, Within
from steelyard.errors import ConfigError
from steelyard.normal_form import nfkc
from steelyard.scorers.lexical import (
    overlap_score,
    references_of,
    share_info,
    text_of,
    unscored,
    which_reference,
    with_words,
)
from steelyard.scorers.overlap import overlap_of, words_of
from steelyard.types import INLINE, Output, Sample, Score, ScoreInfo, StageInfo

_WIDE: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]*(?:[.!?](?!\s|\Z)[^.!?。！？\n]*)*(?:[.!?]+(?=\s|\Z)|[。！？]+|\n|\Z)")
_LONGEST: Final = 20_000
"""Characters of a text whose distance is computed: the time grows with the product of two lengths."""


def count_words(text: str) -> int:
    """Words between blanks; Han characters, kana and hangul are words of their own, signs alone are none.

    >>> count_words("state-of-the-art, 3.5 %!"), count_words("《易经》有64卦")
    (2, 5)
    """
    return sum(any(character.isalnum() for character in word) for word in _WORD.findall(text))


def count_sentences(text: str) -> int:
    r"""Sentences: parts up to a full stop, question mark or exclamation mark before a blank, or a line's end.

    An abbreviation ("Dr. Smith") ends one too.

    >>> count_sentences("It costs 3.5 EUR. Really?\nYes"), count_sentences("好。是吗？")
    (3, 2)
    """
    return sum(any(character.isalnum() for character in match[0]) for match in _SENTENCE.finditer(text))


_COUNTS: Final[Mapping[str, Callable[[str], int]]] = {
    "words": count_words,
    "characters": lambda text: len(text.strip()),
    "lines": lambda text: sum(bool(line.strip()) for line in text.splitlines()),
    "sentences": count_sentences,
}


@dataclass(frozen=True, slots=True)
class Length:
    """Whether the output is long enough and not too long.

    Args:
        max: the most that passes; None: no limit.
        min: the least that passes; None: no limit.
        unit: `words` (Chinese characters are words of their own), `characters` without blanks around the text, `lines`
            that are not blank, or `sentences`.

    >>> Length(3)(Sample("1", "?"), Output("one two three four")).reason
    '4 words, at most 3'
    """

    stage_info: ClassVar[StageInfo] = INLINE

    max: Annotated[int | None, Within(0)] = None
    min: Annotated[int | None, Within(0)] = None
    unit: Literal["words", "characters", "lines", "sentences"] = "words"

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Within the limits or not."""
        return (share_info("length", 1.0, labels=("within limits", "outside of limits")),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: no limit, or a minimum above the maximum.
        """
        if self.max is None and self.min is None:
            raise ConfigError("max: name the most words that pass, or min: the least")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise ConfigError(f"min: {self.min} is above max: {self.max}")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Count one output."""
        del sample
        if (score := unscored("length", "", output)) is not None:
            return score
        count = _COUNTS[self.unit](text_of(output))
        above, below = self.max is not None and count > self.max, self.min is not None and count < self.min
        limit = f", at most {self.max}" if above else f", at least {self.min}" if below else ""
        passed = not (above or below)
        return Score("length", float(passed), passed=passed, reason=f"{count} {self.unit}{limit}", detail={"n": count})


@dataclass(frozen=True, slots=True)
class StartsWith:
    """Whether the output begins with the expected text; of several any may begin it.

    Args:
        ignore_case: compare with case folded.

    >>> StartsWith()(Sample("1", "?", "Dear"), Output(" Dear customer")).value
    1.0
    """

    stage_info: ClassVar[StageInfo] = INLINE
    short_key: ClassVar[str] = "value"

    ignore_case: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """It does or not."""
        return (share_info("starts_with", 1.0, labels=("begins so", "begins otherwise")),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look at the beginning of one output."""
        texts, problem = references_of(sample)
        if (score := unscored("starts_with", problem, output)) is not None:
            return score
        answer = self._comparable(text_of(output))
        passed = any(answer.startswith(self._comparable(text)) for text in texts)
        return Score("starts_with", float(passed), passed=passed, reason=f"begins {answer[:40]!r}")

    def _comparable(self, text: str) -> str:
        plain = nfkc(text).strip()
        return plain.casefold() if self.ignore_case else plain


@dataclass(frozen=True, slots=True)
class Levenshtein:
    """Similarity of the output and the expected text by edits: 1 - edits / length of the longer one.

    Edits are insertions, deletions and replacements of a character (V. I. Levenshtein, "Binary codes capable of
    correcting deletions, insertions, and reversals", 1966). Of several references the nearest counts. Blanks around
    both are left out.

    Args:
        most_edits: the most edits that pass; None: no limit.
        most_share: the most edits that pass, as a share of the longer text's length; None: no limit.
        ignore_case: compare with case folded.

    >>> Levenshtein(most_edits=3)(Sample("1", "?", "sitting"), Output("kitten")).reason
    '3 edits'
    """

    stage_info: ClassVar[StageInfo] = StageInfo(name="levenshtein")

    most_edits: Amount | None = None
    most_share: Share | None = None
    ignore_case: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share; passed by the limits."""
        return (share_info("levenshtein"),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output."""
        texts, problem = references_of(sample)
        if (score := unscored("levenshtein", problem, output)) is not None:
            return score
        answer = self._comparable(text_of(output))
        wanted = [self._comparable(text) for text in texts]
        if max(map(len, (answer, *wanted))) > _LONGEST:
            reason = f"a text of more than {_LONGEST:,} characters is not compared"
            return Score("levenshtein", None, outcome="unparsed", reason=reason, detail={"kind": "too_long"})
        measured = [(edits(text, answer), max(len(text), len(answer))) for text in wanted]
        best = min(range(len(measured)), key=lambda at: measured[at][0] / (measured[at][1] or 1))
        count, longest = measured[best]
        share = count / longest if longest else 0.0
        limits = [(self.most_edits, count), (self.most_share, share)]
        passed = all(value <= limit for limit, value in limits if limit is not None)
        has_limit = self.most_edits is not None or self.most_share is not None
        reason = f"{count} edit{'s' * (count != 1)}{which_reference(best, len(texts))}"
        return Score(
            "levenshtein", 1 - share, passed=passed if has_limit else None, reason=reason, detail={"edits": count}
        )

    def _comparable(self, text: str) -> str:
        return text.strip().casefold() if self.ignore_case else text.strip()


def edits(first: str, second: str) -> int:
    """The fewest insertions, deletions and replacements of a character that make one text of the other.

    A column of the usual table is two integers, of a bit a character (G. Myers, "A fast bit-vector algorithm for
    approximate string matching based on dynamic programming", Journal of the ACM 46, 1999; H. Hyyrö 2003).

    >>> edits("kitten", "sitting"), edits("易经八卦", "易八卦图"), edits("", "abc")
    (3, 2, 3)
    """
    if not first or not second:
        return len(first) or len(second)
    places: dict[str, int] = {}
    for at, character in enumerate(first):
        places[character] = places.get(character, 0) | 1 << at
    full, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    more, less, distance = full, 0, len(first)
    for character in second:
        match = places.get(character, 0)
        diagonal = (((match & more) + more) ^ more) | match | less
        up = less | ~(diagonal | more) & full
        down = more & diagonal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1 | 1) & full, (down << 1) & full
        more, less = down | ~(diagonal | up) & full, up & diagonal
    return distance


@dataclass(frozen=True, slots=True)
class RougeN:
    """Overlap of the n-grams of the output's words with the reference's, as their F-measure.

    Source: C.-Y. Lin, "ROUGE: a package for automatic evaluation of summaries", 2004. Of several references the best
    counts. Chinese is compared character by character; nothing is stemmed.

    Args:
        n: words of an n-gram.
        threshold: share from which a sample passes; None: none is set.

    >>> RougeN(1)(Sample("1", "?", "police killed the gunman"), Output("police kill the gunman")).value
    0.75
    """

    stage_info: ClassVar[StageInfo] = INLINE

    n: Annotated[int, Within(1, 9)] = 2
    threshold: Share | None = None

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info(f"rouge_{self.n}", self.threshold),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        name = f"rouge_{self.n}"
        texts, problem = with_words(sample, words_of)
        if (score := unscored(name, problem, output)) is not None:
            return score
        answer = text_of(output)
        grams = self._grams(answer)
        overlaps = []
        for text in texts:
            wanted = self._grams(text)
            overlaps.append(overlap_of((wanted & grams).total(), wanted.total(), grams.total()))
        return overlap_score(name, overlaps, answer, self.threshold)

    def _grams(self, text: str) -> Counter[tuple[str, ...]]:
        words = words_of(text)
        return Counter(zip(*(words[at:] for at in range(self.n)), strict=False))
