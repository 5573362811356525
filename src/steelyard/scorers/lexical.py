"""Scorers that compare an output with a reference text: equality, shared words, shared characters.

They call no model and cost nothing, so they are the floor of every judge: a judge that does not rank systems better
than these is not worth its calls. The measures are in `steelyard.scorers.overlap`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError
from steelyard.registry import accepts_former_keys
from steelyard.scorers.overlap import Overlap, answer_words, chrf, rouge_l, token_f1, words_of
from steelyard.types import INLINE, Output, Sample, Score, ScoreInfo, StageInfo

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

    stage_info: ClassVar[StageInfo] = INLINE

    threshold: float | None = None
    articles: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info("token_f1", self.threshold),)

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: the threshold is no share.
        """
        check_share("threshold", self.threshold)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        texts, problem = _with_words(sample, answer_words)
        if (score := unscored("token_f1", problem, output)) is not None:
            return score
        answer = text_of(output)
        found = [token_f1(text, answer, articles=self.articles) for text in texts]
        return _overlap_score("token_f1", found, answer, self.threshold)


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

    stage_info: ClassVar[StageInfo] = INLINE

    threshold: float | None = None
    beta: float = 1.0

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info("rouge_l", self.threshold),)

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
        if (score := unscored("rouge_l", problem, output)) is not None:
            return score
        answer = text_of(output)
        found = [rouge_l(text, answer, beta=self.beta) for text in texts]
        return _overlap_score("rouge_l", found, answer, self.threshold)


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

    stage_info: ClassVar[StageInfo] = INLINE

    threshold: float | None = None
    n: int = 6
    beta: float = 2.0
    word_order: int = 0

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info("chrf", self.threshold),)

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
        if (score := unscored("chrf", problem, output)) is not None:
            return score
        answer = text_of(output)
        measure = partial(chrf, answer=answer, n=self.n, beta=self.beta, word_order=self.word_order)
        found = [measure(text) for text in texts]
        place = found.index(max(found))
        reason = f"{'' if answer.strip() else 'the output is empty'}{which(place, len(texts))}".removeprefix("; ")
        passed = reached(found[place], self.threshold)
        return Score("chrf", found[place], passed=passed, reason=reason, detail={"reference": place})


@accepts_former_keys
@dataclass(frozen=True, slots=True)
class Contains:
    """Whether the reference stands in the output.

    Width and runs of blanks make no difference. Chinese has no borders between words, so whole words are asked for
    where the reference begins or ends with a letter of an alphabet or a digit: "cat" is not in "concatenate", and "3"
    is neither in "13" nor in "3.5".

    Args:
        mode: of several references: `any` of them, `all` of them, or the `share` of them that is found.
        ignore_case: compare with case folded.
        whole_words: find the reference only between the borders of words.
        threshold: with `share`, the share from which a sample passes; None: none is set.

    >>> Contains()(Sample("1", "Capital of France?", "Paris"), Output("It is Paris.")).value
    1.0
    """

    stage_info: ClassVar[StageInfo] = INLINE

    mode: Literal["any", "all", "share"] = "any"
    ignore_case: bool = True
    whole_words: bool = True
    threshold: float | None = None

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Met or not; with `share` the share, which has no names for 1 and 0."""
        if self.mode == "share":
            return (share_info("contains", self.threshold),)
        return (share_info("contains", 1.0, labels=("contained", "missing")),)

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown `mode`, or a threshold that is no share or has no share to be set on.
        """
        if self.mode not in {"any", "all", "share"}:
            raise ConfigError(f"mode: expected any, all or share, but got {self.mode!r}")
        check_share("threshold", self.threshold)
        if self.threshold is not None and self.mode != "share":
            raise ConfigError(f"threshold: mode {self.mode!r} passes or not; a threshold goes with mode 'share'")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the references in one output."""
        texts, problem = references_of(sample)
        if (score := unscored("contains", problem, output)) is not None:
            return score
        answer = self._comparable(text_of(output))
        found = [stands_in(self._comparable(text), answer, whole_words=self.whole_words) for text in texts]
        missing = [text for text, there in zip(texts, found, strict=True) if not there]
        value = {"any": float(any(found)), "all": float(all(found)), "share": sum(found) / len(found)}[self.mode]
        passed = reached(value, self.threshold) if self.mode == "share" else value == 1
        reason = f"missing: {', '.join(repr(text[:40]) for text in missing[:5])}" if missing else ""
        if self.mode == "any" and any(found):
            reason = f"found{which(found.index(True), len(texts))}".replace("; ", " ")
        return Score("contains", value, passed=passed, reason=reason, detail={"missing": missing})

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


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """1 where the output is the reference, else 0; texts are compared without blanks around them.

    Of several references, a list of texts, any will do where the output is a text.

    Args:
        ignore_case: compare with case folded (str.casefold).
        normalise: compare the words of both alone, as SQuAD does: without case, punctuation, a, an and the.

    >>> ExactMatch(ignore_case=True)(Sample("fr", "Capital of France?", "Paris"), Output(" paris")).value
    1.0
    >>> ExactMatch(normalise=True)(Sample("who", "Which band?", "The Beatles"), Output("Beatles.")).value
    1.0
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (ScoreInfo("exact_match", (0.0, 1.0), threshold=1.0),)
    stage_info: ClassVar[StageInfo] = INLINE

    ignore_case: bool = False
    normalise: bool = False

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its reference."""
        wanted, got = sample.reference, output.value
        if wanted is None:
            return Score("exact_match", None, outcome="not_applicable", reason="the sample has no reference")
        several = isinstance(wanted, list | tuple) and wanted and all(isinstance(one, str) for one in wanted)
        if several and isinstance(got, str):
            return self._any_of(wanted, got)
        equal = bool(self._comparable(wanted) == self._comparable(got))
        return Score("exact_match", float(equal), passed=equal)

    def _any_of(self, wanted: Sequence[str], got: str) -> Score:
        found = self._comparable(got)
        place = next((at for at, one in enumerate(wanted) if self._comparable(one) == found), None)
        count = len(wanted)
        reason = f"none of {count} references" if place is None else f"reference {place + 1} of {count}"
        return Score("exact_match", float(place is not None), passed=place is not None, reason=reason)

    def _comparable(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if self.normalise:
            return answer_words(value)
        return value.strip().casefold() if self.ignore_case else value.strip()


_STOPPED: Final = frozenset({"content_filter", "refusal"})


def references_of(sample: Sample) -> tuple[tuple[str, ...], str]:
    """The texts that are expected, or why there is none: one text or number, or several in a list.

    >>> references_of(Sample("1", "Capital of France?", ["Paris", " "])), references_of(Sample("2", "?"))[1]
    ((('Paris',), ''), 'the sample has no reference')
    """
    given = sample.reference
    several = list(given) if isinstance(given, list | tuple) else [given]
    several = [one for one in several if one is not None]
    odd = next((one for one in several if isinstance(one, bool) or not isinstance(one, str | int | float)), None)
    if odd is not None:
        return (), f"the reference is no text and no list of texts: it holds a {type(odd).__name__}"
    texts = tuple(text for one in several if (text := str(one)).strip())
    return texts, "" if texts else "the sample has no reference"


def text_of(output: Output) -> str:
    """The output as text; a structure as its JSON, nothing as an empty text."""
    value = output.value
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def unscored(name: str, problem: str, output: Output) -> Score | None:
    """The score where nothing is compared: there is no reference, or a filter left nothing of the reply; else None."""
    if problem:
        return Score(name, None, outcome="not_applicable", reason=problem)
    if str(output.metadata.get("finish", "")) in _STOPPED and not text_of(output).strip():
        return Score(name, None, outcome="refused", reason="a content filter stopped the reply")
    return None


def share_info(
    name: str, threshold: float | None = None, *, labels: tuple[str, str] | None = None, named_verdicts: bool = False
) -> ScoreInfo:
    """What lexical scorers declare: a share, or 1 or 0, with unreadable and refused replies counted as 0.

    Args:
        name: of the score.
        threshold: from which on a sample passes.
        labels: what 1 and 0 are called, where there is nothing between them.
        named_verdicts: whether its verdicts have names.
    """
    return ScoreInfo(
        name, (0.0, 1.0), threshold=threshold, labels=labels, denominator="all", named_verdicts=named_verdicts
    )


def which(place: int, count: int) -> str:
    """Which of several references it was, for a reason; nothing where there is only one.

    >>> which(1, 3), which(0, 1)
    ('; reference 2 of 3', '')
    """
    return f"; reference {place + 1} of {count}" if count > 1 else ""


def check_share(what: str, value: float | None) -> None:
    """Find a share that is none.

    Raises:
        ConfigError: it is not in [0, 1].
    """
    if value is not None and not 0 <= value <= 1:
        raise ConfigError(f"{what}: expected a share from 0 to 1, but got {value}")


def reached(value: float, threshold: float | None) -> bool | None:
    """Whether a share passes; None where no threshold is set."""
    return None if threshold is None else value >= threshold
