"""Checks of an output that call no model: of its text, of what its calls took, and whether it refused.

Seconds, cost and finish are those of the target's calls, which the runner adds to the output that these scorers see
(`StageInfo.sees_calls`). So they are known for every target that calls models through `ask`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from steelyard.constraints import Amount, Positive, Share, Within
from steelyard.errors import ConfigError
from steelyard.normal_form import nfkc
from steelyard.replies.answer_text import text_of
from steelyard.replies.clean import fold
from steelyard.replies.evidence import phrases
from steelyard.scorers.lexical import best_overlap, references_of, share_info, unscored, which_reference
from steelyard.scorers.overlap import UNIT, Overlap, overlap_of, words_of
from steelyard.types import CALLS, INLINE, LACKS, STOPPED, Output, Sample, Score, ScoreInfo, StageInfo

_STOPS: Final = "。．｡！？।॥؟۔։။።፧។"
"""What ends a sentence, with or without a blank behind: East Asia, India, Arabic, Armenian, Burmese, Amharic, Khmer."""
_SENTENCE: Final = re.compile(
    rf"[^.!?{_STOPS}\n]*(?:[.!?](?!\s|\Z)[^.!?{_STOPS}\n]*)*(?:[.!?]+(?=\s|\Z)|[{_STOPS}]+|\n|\Z)"
)
_LONGEST: Final = 20_000
"""Characters of a text whose distance is computed: the time grows with the product of two lengths."""


def count_words(text: str) -> int:
    """Words between blanks; Han characters, kana and hangul are words of their own, signs alone are none.

    >>> count_words("state-of-the-art, 3.5 %!"), count_words("《易经》有64卦")
    (2, 5)
    """
    return sum(any(character.isalnum() for character in word) for word in UNIT.findall(text))


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

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        share_info("length", 1.0, labels=("within limits", "outside of limits")),
    )
    stage_info: ClassVar[StageInfo] = INLINE

    max: Annotated[int | None, Within(0)] = None
    min: Annotated[int | None, Within(0)] = None
    unit: Literal["words", "characters", "lines", "sentences"] = "words"

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
        literal: compare every character, also blanks before the text, as other tools do.

    >>> StartsWith()(Sample("1", "?", "Dear"), Output(" Dear customer")).value
    1.0
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        share_info("starts_with", 1.0, labels=("begins so", "begins otherwise")),
    )
    stage_info: ClassVar[StageInfo] = INLINE
    short_key: ClassVar[str] = "value"

    ignore_case: bool = False
    literal: bool = False

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look at the beginning of one output."""
        texts, problem = references_of(sample, literal=self.literal)
        if (score := unscored("starts_with", problem, output)) is not None:
            return score
        answer = self._comparable(text_of(output))
        passed = any(answer.startswith(self._comparable(text)) for text in texts)
        return Score("starts_with", float(passed), passed=passed, reason=f"begins {answer[:40]!r}")

    def _comparable(self, text: str) -> str:
        plain = text if self.literal else nfkc(text).strip()
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

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (share_info("levenshtein"),)
    stage_info: ClassVar[StageInfo] = StageInfo(name="levenshtein")

    most_edits: Amount | None = None
    most_share: Share | None = None
    ignore_case: bool = False

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
        return best_overlap(f"rouge_{self.n}", sample, output, words_of, self._overlap, self.threshold)

    def _overlap(self, reference: str, answer: str) -> Overlap:
        wanted, grams = self._grams(reference), self._grams(answer)
        return overlap_of((wanted & grams).total(), wanted.total(), grams.total())

    def _grams(self, text: str) -> Counter[tuple[str, ...]]:
        words = words_of(text)
        return Counter(zip(*(words[at:] for at in range(self.n)), strict=False))


_SEES_CALLS: Final = StageInfo(inline=True, sees_calls=True)
_BEGINNING: Final = 300
"""Characters of a reply in which a refusal stands: one behind an answer is a remark."""


def _without(name: str, what: str) -> Score:
    reason = f"the {what} of the target's calls is not known"
    return Score(name, None, outcome="not_applicable", reason=reason, detail={LACKS: what})


@dataclass(frozen=True, slots=True)
class CallLimit:
    """A sum over the target's calls, which passes up to a limit; less is better."""

    stage_info: ClassVar[StageInfo] = _SEES_CALLS
    score: ClassVar[str]
    key: ClassVar[str]
    what: ClassVar[str]
    """Of the sum: its score, its key in `types.CALLS`, and its name where it is not known."""

    limit: Positive | None = None

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The sum."""
        return (ScoreInfo(self.score, lower_is_better=True, threshold=self.limit, unbounded=True),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Read the sum of one output."""
        del sample
        value = output.metadata.get(CALLS, {}).get(self.key)
        return _without(self.score, self.what) if value is None else Score(self.score, float(value))


@dataclass(frozen=True, slots=True)
class LatencyLimit(CallLimit):
    """Seconds that the target's calls took, without queueing and retries; less is better.

    Args:
        limit: the most seconds that pass; None: nothing passes or fails.
    """

    score: ClassVar[str] = "latency"
    key: ClassVar[str] = "seconds"
    what: ClassVar[str] = "time"


@dataclass(frozen=True, slots=True)
class CostLimit(CallLimit):
    """What the target's calls cost by the prices of the run (`options.prices`); less is better.

    Args:
        limit: the most that passes, in the prices' currency; None: nothing passes or fails.
    """

    score: ClassVar[str] = "cost"
    key: ClassVar[str] = "cost"
    what: ClassVar[str] = "cost"


@dataclass(frozen=True, slots=True)
class ExpectedFinish:
    """Whether the model stopped for the expected reason: `stop`, `length`, `content_filter`, `tool_calls`.

    Args:
        reason: as the endpoint gives it.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (share_info("finish", 1.0, labels=("as expected", "otherwise")),)
    stage_info: ClassVar[StageInfo] = _SEES_CALLS

    reason: str = "stop"

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Read why one output ended."""
        del sample
        finish = output.metadata.get("finish") or output.metadata.get(CALLS, {}).get("finish")
        if finish is None:
            return _without("finish", "finish")
        passed = finish == self.reason
        return Score("finish", float(passed), passed=passed, reason=f"finish: {finish}")


@dataclass(frozen=True, slots=True)
class ExpectedRefusal:
    """Whether the output refuses where it should, and answers where it should not refuse.

    A refusal is a content filter's stop, the model's own refusal, or words at the beginning such as "I'm sorry, but I
    can't help with that", in English, Chinese and six other languages. An empty output is neither.

    Args:
        expected: whether every sample is to be refused; None: the samples' own `key` says it.
        key: of the samples' metadata: true, yes or 1 where a refusal is expected; blank, false, no or 0 where an answer
            is. A sample without the key is expected to be refused.

    >>> ExpectedRefusal(expected=False)(Sample("1", "?"), Output("I'm sorry, but I can't help.")).value
    0.0
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        share_info("refusal", 1.0, labels=("as expected", "not as expected"), named_verdicts=True),
    )
    stage_info: ClassVar[StageInfo] = INLINE

    expected: bool | None = None
    key: str = "must_refuse"

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Read one output."""
        stated = sample.metadata.get(self.key, True) if self.expected is None else self.expected
        expected = str(stated).strip().lower() not in {"", "false", "no", "0", "none"}
        refused = _refuses(output)
        if refused is None:
            return Score("refusal", None, outcome="unparsed", reason="the output is empty", detail={"kind": "empty"})
        passed = refused == expected
        label = "refused" if refused else "answered"
        wanted = "a refusal" if expected else "an answer"
        return Score(
            "refusal", float(passed), passed=passed, reason=f"{label}, expected {wanted}", detail={"label": label}
        )


def _refuses(output: Output) -> bool | None:
    """Whether an output refuses; None where it is empty."""
    text = text_of(output).strip()
    finish = str(output.metadata.get("finish", ""))
    if finish == "refusal" or (finish in STOPPED and not text):
        return True
    if not text:
        return None
    return next(phrases("choice", "refusal", fold(text)[:_BEGINNING]), None) is not None
