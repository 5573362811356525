"""Scorers that compare an output with a reference text: equality, its label, shared words, shared characters.

They call no model and cost nothing, so they are the baseline for every judge: a judge that does not rank systems
better than these is not worth its calls. The measures are in `steelyard.scorers.overlap`.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-labels-of-a-closed-set.md

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal

from steelyard.constraints import Positive, Share, Within
from steelyard.errors import ConfigError, did_you_mean
from steelyard.normal_form import UNSPACED, is_mark, nfc, nfkc
from steelyard.replies.answer_text import text_of
from steelyard.replies.label import closed_set, plain_label, read_one
from steelyard.scorers.overlap import Overlap, answer_words, chrf, rouge_l, token_f1, words_of
from steelyard.types import INLINE, STOPPED, Outcome, Output, Sample, Score, ScoreInfo, StageInfo

_UNSPACED: Final = re.compile(f"[{UNSPACED}]")

_PLAIN: Final = str.maketrans("‘’‚‛ʼ“”„‟‐‑‒–−", "'''''\"\"\"\"-----")
"""Quotes and hyphens that models write where people type others; an em dash is none of them."""

_BEFORE_SIGN: Final = frozenset(" ([{=:<>≈~*$£¥\"'`,;+是为")
"""What stands before a minus: behind anything else, as in 5°-7° and 3个-5个, the hyphen joins two numbers."""

_SENTENCE: Final = re.compile(r"[.!?;\n。！？；]+")
_DENIED: Final = re.compile(
    r"(?:\b(?:not|never|rather than|instead of)|n't|不是|而非|并非)\s?(?:an?\s|the\s)?[\"']?\w+", re.IGNORECASE
)
"""A label that a reply denies in the same breath: `yes, not no`."""


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

    threshold: Share | None = None
    articles: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info("token_f1", self.threshold),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        measure = partial(token_f1, articles=self.articles)
        return best_overlap("token_f1", sample, output, answer_words, measure, self.threshold)


@dataclass(frozen=True, slots=True)
class RougeL:
    """Longest common subsequence of the output's words and the reference's, as their F-measure.

    Of several references the best counts. Chinese is compared character by character; nothing is stemmed.

    Args:
        threshold: share from which a sample passes; None: none is set.
        beta: weight of recall against precision; 1 gives both the same weight.

    >>> RougeL()(Sample("1", "What happened?", "police killed the gunman"), Output("Police kill the gunman.")).value
    0.75
    """

    stage_info: ClassVar[StageInfo] = INLINE

    threshold: Share | None = None
    beta: Positive = 1.0

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info("rouge_l", self.threshold),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        measure = partial(rouge_l, beta=self.beta)
        return best_overlap("rouge_l", sample, output, words_of, measure, self.threshold)


@dataclass(frozen=True, slots=True)
class ChrF:
    """Overlap of the output's character n-grams with the reference's, from 0 to 1.

    Of several references the best counts. It needs no words, so it treats all languages alike; case counts.

    Args:
        threshold: share from which a sample passes; None: none is set.
        n: highest order of character n-grams.
        beta: weight of recall against precision.

    >>> ChrF()(Sample("1", "Which city?", "北京"), Output("北京")).value
    1.0
    """

    stage_info: ClassVar[StageInfo] = INLINE

    threshold: Share | None = None
    n: Annotated[int, Within(1)] = 6
    beta: Positive = 2.0

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share that passes from the threshold on."""
        return (share_info("chrf", self.threshold),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its references."""
        texts, problem = references_of(sample)
        if (score := unscored("chrf", problem, output)) is not None:
            return score
        answer = text_of(output)
        measure = partial(chrf, answer=answer, n=self.n, beta=self.beta)
        values = [measure(text) for text in texts]
        best = values.index(max(values))
        reason = f"{'' if answer.strip() else 'the output is empty'}{which_reference(best, len(texts))}".removeprefix(
            "; "
        )
        passed = reached(values[best], self.threshold)
        return Score("chrf", values[best], passed=passed, reason=reason, detail={"reference": best})


@dataclass(frozen=True, slots=True)
class Contains:
    """Whether the output contains the reference.

    Character width and runs of blanks make no difference, nor does, with `whole_words`, whether quotes and hyphens are
    typographic. Chinese does not separate words, so whole words are required
    only where the reference begins or ends with a letter of an alphabet or a digit: "cat" is not in "concatenate", and
    "3" is neither in "13" nor in "3.5".

    Args:
        mode: of several references: `any` of them, `all` of them, or the `share` of them that is found.
        ignore_case: compare with case folded.
        whole_words: find the reference only between the borders of words.
        literal: find every character as it is, also within words, line ends and blanks too, as other tools do.
        threshold: with `share`, the share from which a sample passes; None: none is set.
        closed: the answers among which the dataset chooses. An output that names another of them too is not counted
            unless it is read as the expected one: "Yes and no." is not "yes". Empty, with `any`: the expected outputs
            of the dataset where they are 2 to 20 short texts, each expected three times or more.

    >>> Contains()(Sample("1", "Capital of France?", "Paris"), Output("It is Paris.")).value
    1.0
    """

    short_key: ClassVar[str] = "value"
    stage_info: ClassVar[StageInfo] = INLINE

    mode: Literal["any", "all", "share"] = "any"
    ignore_case: bool = True
    whole_words: bool = True
    literal: bool = False
    threshold: Share | None = None
    closed: tuple[str, ...] = ()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 or 0 with labels; with `share` the share, which has no labels."""
        if self.mode == "share":
            return (share_info("contains", self.threshold),)
        return (share_info("contains", 1.0, labels=("contained", "missing")),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a threshold without `mode="share"`.
        """
        if self.threshold is not None and self.mode != "share":
            raise ConfigError(f"threshold: only mode 'share' takes one, not mode {self.mode!r}")

    def with_references(self, references: Sequence[tuple[str, Any]]) -> Contains:
        """Return a copy that knows the answers among which a dataset chooses, as far as they are words."""
        if self.closed or self.literal or self.mode != "any":
            return self
        closed = closed_set(reference for _, reference in references)
        are_words = closed and all(any(map(str.isalpha, label)) for label in closed)
        return replace(self, closed=closed) if are_words else self

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the references in one output."""
        texts, problem = references_of(sample, literal=self.literal)
        if (score := unscored("contains", problem, output)) is not None:
            return score
        forms = self._forms(text_of(output))
        contained = [self._finds(text, forms) for text in texts]
        missing = [text for text, is_contained in zip(texts, contained, strict=True) if not is_contained]
        value = {"any": float(any(contained)), "all": float(all(contained)), "share": sum(contained) / len(contained)}[
            self.mode
        ]
        if value and (other := self._hedge(texts, text_of(output))):
            return Score("contains", 0.0, passed=False, reason=f"it names {other!r} too", detail={"missing": []})
        passed = reached(value, self.threshold) if self.mode == "share" else value == 1
        reason = f"missing: {', '.join(repr(text[:40]) for text in missing[:5])}" if missing else ""
        if self.mode == "any" and any(contained):
            reason = f"found{which_reference(contained.index(True), len(texts))}".replace("; ", " ")
        return Score("contains", value, passed=passed, reason=reason, detail={"missing": missing})

    def _hedge(self, texts: Sequence[str], answer: str) -> str:
        """Another answer of the closed set that the output names, unless it is read as the expected one."""
        expected = {self._comparable(text) for text in texts}
        others = [other for other in self.closed if self._comparable(other) not in expected]
        named = [other for other in others if self._names(other, answer)]
        if not named:
            return ""
        read = self._comparable(read_one(answer, self.closed)[0]) in expected
        own = (sentence for sentence in _SENTENCE.split(answer) if any(self._names(text, sentence) for text in texts))
        said = (other for sentence in own for other in named if self._names(other, _DENIED.sub("", sentence)))
        return next(said, "" if read else named[0])

    def _names(self, phrase: str, text: str) -> bool:
        return self._finds(phrase, self._forms(text))

    def _finds(self, phrase: str, forms: tuple[str, str]) -> bool:
        """Whether a phrase is in a text, of which the forms are given; signs alone are looked for as they are."""
        whole_words = self.whole_words and not self.literal
        are_plain = whole_words and any(map(str.isalnum, phrase))
        return stands_in(self._forms(phrase)[are_plain], forms[are_plain], whole_words=whole_words)

    def _forms(self, text: str) -> tuple[str, str]:
        """A text for comparison: with its quotes and hyphens, and with plain ones."""
        return self._comparable(text), self._comparable(text.translate(_PLAIN))

    def _comparable(self, text: str) -> str:
        plain = text if self.literal else " ".join(nfkc(text).split())
        return plain.casefold() if self.ignore_case else plain


def stands_in(phrase: str, text: str, *, whole_words: bool = True) -> bool:
    """Whether `phrase` occurs in `text`, with `whole_words` not as a part of a longer word or number.

    >>> stands_in("cat", "concatenate"), stands_in("cat", "a cat!"), stands_in("卦", "八卦图"), stands_in("3", "3.5")
    (False, True, True, False)
    """
    position = text.find(phrase)
    while (
        whole_words
        and position >= 0
        and not (_starts_word(text, position) and _ends_word(text, position + len(phrase)))
    ):
        position = text.find(phrase, position + 1)
    return position >= 0


def _starts_word(text: str, at: int) -> bool:
    """Whether a word may start at `at`; a point or comma between digits is inside a number."""
    if at == 0 or not _joins(text[at]):
        return True
    has_sign = text[at].isdigit() and text[at - 1] in "-−" and (at == 1 or text[at - 2] in _BEFORE_SIGN)
    if has_sign:
        return False
    in_number = at > 1 and text[at - 1] in ".," and text[at].isdigit() and text[at - 2].isdigit()
    return not in_number and not _joins(text[at - 1])


def _ends_word(text: str, at: int) -> bool:
    # Points of Hebrew and Arabic, which most texts leave out: a case ending makes no other word.
    while at < len(text) and 10 <= unicodedata.combining(text[at]) <= 35:
        at += 1
    if at >= len(text) or not _joins(text[at - 1]):
        return True
    in_number = at + 1 < len(text) and text[at] in ".," and text[at - 1].isdigit() and text[at + 1].isdigit()
    return not in_number and not _joins(text[at])


def _joins(character: str) -> bool:
    """Whether a character can be part of a longer word.

    Letters with their vowel signs, digits and underscores can; what has no blanks between words (Chinese, Thai) cannot.
    """
    return (character.isalnum() or character == "_" or is_mark(character)) and _UNSPACED.match(character) is None


def best_overlap(
    name: str,
    sample: Sample,
    output: Output,
    words: Callable[[str], list[str]],
    measure: Callable[[str, str], Overlap],
    threshold: float | None,
) -> Score:
    """The score of an output by the reference that it has most in common with.

    Args:
        name: of the score.
        sample: with its references; a text of punctuation alone has no overlap to measure.
        output: of a target.
        words: of a text, as `measure` counts them.
        measure: the overlap of a reference and an answer.
        threshold: share from which a sample passes; None: none is set.
    """
    texts, problem = references_of(sample)
    texts = tuple(text for text in texts if words(text))
    problem = problem or ("" if texts else "the reference has no word in it")
    if (score := unscored(name, problem, output)) is not None:
        return score
    answer = text_of(output)
    overlaps = [measure(text, answer) for text in texts]
    position = max(range(len(overlaps)), key=lambda at: overlaps[at].f1)
    best = overlaps[position]
    how = f"precision {best.precision:.2f}, recall {best.recall:.2f}" if answer.strip() else "the output is empty"
    detail = {"precision": best.precision, "recall": best.recall, "reference": position}
    reason = how + which_reference(position, len(overlaps))
    return Score(name, best.f1, passed=reached(best.f1, threshold), reason=reason, detail=detail)


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """1 if the output equals the reference, else 0; texts are compared without blanks around them.

    The ends of lines, and the ways to write an accented letter in Unicode (NFC), make no difference. A text is compared
    with a number or a truth value as JSON writes it: "3" equals 3, and "true" equals true.

    Where the reference is a list of texts or numbers and the output is a text, any of them may match.

    Args:
        ignore_case: compare with case folded (str.casefold).
        normalise: compare only the words of both, as SQuAD does: without case, punctuation, a, an and the.
        literal: compare every character, also blanks and line ends, as other tools do.

    >>> ExactMatch(ignore_case=True)(Sample("fr", "Capital of France?", "Paris"), Output(" paris")).value
    1.0
    >>> ExactMatch(normalise=True)(Sample("who", "Which band?", "The Beatles"), Output("Beatles.")).value
    1.0
    """

    short_key: ClassVar[str] = "value"
    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("exact_match", (0.0, 1.0), threshold=1.0, denominator="all"),
    )
    stage_info: ClassVar[StageInfo] = INLINE

    ignore_case: bool = False
    normalise: bool = False
    literal: bool = False

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: `literal` with `normalise`, which compares words.
        """
        if self.literal and self.normalise:
            raise ConfigError("literal: every character is compared, so do not write normalise")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare one output with its reference."""
        reference, value = sample.reference, output.value
        problem = "the sample has no reference" if reference is None else ""
        if (score := unscored("exact_match", problem, output)) is not None:
            return score
        if isinstance(value, str) and not self.literal:
            value = text_of(output)
        several = isinstance(reference, list | tuple) and reference
        if several and isinstance(value, str) and all(isinstance(part, str | int | float) for part in reference):
            return self._match_any(reference, value)
        equal = self._is_equal(reference, value)
        is_other = isinstance(reference, str) and isinstance(value, list | tuple | Mapping)
        reason = f"the output is no text but a {type(value).__name__}" if is_other else ""
        return Score("exact_match", float(equal), passed=equal, reason=reason)

    def _is_equal(self, reference: Any, value: Any) -> bool:
        """Whether both are equal; a text equals a number or a truth value that JSON writes so."""
        if isinstance(reference, str) is not isinstance(value, str):
            text, other = (reference, value) if isinstance(reference, str) else (value, reference)
            compared = self._comparable(text)
            return any(self._comparable(form) == compared for form in _json_forms(other))
        return bool(self._comparable(reference) == self._comparable(value))

    def _match_any(self, references: Sequence[Any], text: str) -> Score:
        equal = (number for number, reference in enumerate(references) if self._is_equal(reference, text))
        position = next(equal, None)
        count = len(references)
        reason = f"none of {count} references" if position is None else f"reference {position + 1} of {count}"
        return Score("exact_match", float(position is not None), passed=position is not None, reason=reason)

    def _comparable(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if self.normalise:
            return answer_words(value)
        text = value if self.literal else nfc(value).replace("\r\n", "\n").strip()
        return text.casefold() if self.ignore_case else text


def _json_forms(value: Any) -> tuple[str, ...]:
    """How JSON writes a number or a truth value, a whole number with and without a decimal; nothing for other values.

    >>> _json_forms(3.0), _json_forms(True), _json_forms(["a"])
    (('3.0', '3'), ('true',), ())
    """
    if not isinstance(value, bool | int | float):
        return ()
    whole = (str(int(value)),) if isinstance(value, float) and value.is_integer() else ()
    return (json.dumps(value), *whole)


def references_of(sample: Sample, *, literal: bool = False) -> tuple[tuple[str, ...], str]:
    """The reference texts of a sample, or the reason why there are none: one text or number, or a list of them.

    Args:
        sample: with its reference.
        literal: whether blanks alone are a text.

    >>> references_of(Sample("1", "Capital of France?", ["Paris", " "])), references_of(Sample("2", "?"))[1]
    ((('Paris',), ''), 'the sample has no reference')
    """
    reference = sample.reference
    texts_or_numbers = list(reference) if isinstance(reference, list | tuple) else [reference]
    texts_or_numbers = [value for value in texts_or_numbers if value is not None]
    unsupported = next(
        (value for value in texts_or_numbers if isinstance(value, bool) or not isinstance(value, str | int | float)),
        None,
    )
    if unsupported is not None:
        return (), f"the reference is neither text nor a list of texts: it holds a {type(unsupported).__name__}"
    texts = tuple(text for value in texts_or_numbers if (text := str(value)) and (literal or text.strip()))
    return texts, "" if texts else "the sample has no reference"


def unscored(name: str, problem: str, output: Output) -> Score | None:
    """The score of an output that cannot be compared (no reference, or stopped by a content filter); else None."""
    if problem:
        return Score(name, None, outcome="not_applicable", reason=problem)
    if str(output.metadata.get("finish", "")) in STOPPED and not text_of(output).strip():
        return Score(name, None, outcome="refused", reason="a content filter stopped the reply")
    return None


def share_info(
    name: str, threshold: float | None = None, *, labels: tuple[str, str] | None = None, named_verdicts: bool = False
) -> ScoreInfo:
    """Build the `ScoreInfo` of a lexical scorer: range 0 to 1, unparsed and refused replies counted as 0.

    Args:
        name: of the score.
        threshold: from which on a sample passes.
        labels: names of the values 1 and 0, for scores that have no others.
        named_verdicts: whether its verdicts have names.
    """
    return ScoreInfo(
        name, (0.0, 1.0), threshold=threshold, labels=labels, denominator="all", named_verdicts=named_verdicts
    )


def which_reference(position: int, count: int) -> str:
    """Name the matching reference in a score's reason; empty where there is only one.

    >>> which_reference(1, 3), which_reference(0, 1)
    ('; reference 2 of 3', '')
    """
    return f"; reference {position + 1} of {count}" if count > 1 else ""


def reached(value: float, threshold: float | None) -> bool | None:
    """Whether a share passes; None where no threshold is set."""
    return None if threshold is None else value >= threshold


_LABEL: Final = "accuracy"
_MOST_LABELS: Final = 200
_MARKDOWN: Final = frozenset("*#`")


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """Whether the output gives the expected label of a closed set: `accuracy`, with the figures of a classification.

    A label is read in the ways that models give one: alone, in a sentence ("The label is: Feature Request."), as JSON
    (`{"label": ...}`), in bold; case, underscores, hyphens and quotes make no difference. A reply with several labels,
    with a hedge, or without a label is unparsed and counts as wrong. Reports show the confusion matrix, precision,
    recall and F1 of each label, macro F1, balanced accuracy, kappa, and the rate of the most frequent label.

    Args:
        labels: the closed set. Empty: the expected outputs of the dataset.

    >>> LabelMatch(("bug", "feature_request"))(Sample("1", "?", "bug"), Output("Label: **bug**")).value
    1.0
    """

    stage_info: ClassVar[StageInfo] = INLINE

    labels: tuple[str, ...] = ()

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Right or wrong; an unread reply is wrong."""
        info = share_info(_LABEL, 1.0, labels=("right", "wrong"), named_verdicts=True)
        return (replace(info, headline=True, classes=self.labels),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: one label, a blank one, two that differ in case or signs alone, or too many.
        """
        labels: Any = self.labels
        if isinstance(labels, str) or not all(isinstance(label, str) and label.strip() for label in labels):
            raise ConfigError(f"labels: a list of texts that are not blank, not {labels!r:.80}")
        if len(labels) == 1 or len(labels) > _MOST_LABELS:
            raise ConfigError(f"labels: name 2 to {_MOST_LABELS} of them, not {len(labels)}")
        twice = [label for label, count in Counter(map(plain_label, labels)).items() if count > 1]
        if twice:
            raise ConfigError(f"labels: two are written {twice[0]!r} but for case and signs: name one of them")

    def with_references(self, references: Sequence[tuple[str, Any]]) -> LabelMatch:
        """Return a copy with the expected outputs of a dataset as its labels, where it names none.

        Args:
            references: (sample's id, expected output) of every sample.

        Raises:
            ConfigError: an expected output is not among the labels, or two differ in signs alone that are Markdown.
        """
        expected: dict[str, str] = {}
        for name, reference in references:
            for label in reversed(_labels_in(reference)):
                expected.setdefault(label, name)
        if not self.labels:
            first = {plain_label(label): label for label in reversed(expected)}
            _refuse_signs(expected, first)
            return replace(self, labels=tuple(label for label in expected if first[plain_label(label)] == label))
        known = {plain_label(label) for label in self.labels}
        for label, name in expected.items():
            if plain_label(label) not in known:
                near = did_you_mean(label, self.labels)
                raise ConfigError(f"label: sample {name!r} expects {label!r}, which is not among labels{near}")
        return self

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Read the label of one output.

        Raises:
            ConfigError: there are no labels to choose from.
        """
        expected = _labels_in(sample.reference)
        score = unscored(_LABEL, "" if expected else "the sample has no reference", output)
        if score is not None and not expected:
            return score
        if len(self.labels) < 2:
            raise ConfigError("label: name labels: the dataset expects fewer than two different ones")
        by_plain = {plain_label(label): label for label in self.labels}
        wanted = [by_plain.get(plain_label(label), label) for label in expected]
        if score is not None:
            return replace(score, detail={"kind": score.outcome, "wanted": wanted[0]})
        label, kind, reason = read_one(text_of(output), self.labels, str(output.metadata.get("finish", "")))
        if not label:
            outcome: Outcome = "refused" if kind == "refused" else "unparsed"
            return Score(_LABEL, None, outcome=outcome, reason=reason, detail={"kind": kind, "wanted": wanted[0]})
        right = label in wanted
        detail = {"label": label, "wanted": label if right else wanted[0]}
        return Score(_LABEL, float(right), passed=right, reason=f"read {label!r}", detail=detail)


def _refuse_signs(labels: Iterable[str], first: Mapping[str, str]) -> None:
    """Refuse `C` beside `C#`: replies are read without the signs of Markdown, so the two would count as one label."""
    for label in labels:
        other = first[plain_label(label)]
        if not plain_label(label) or _MARKDOWN & (set(label) ^ set(other)):
            raise ConfigError(
                f"label: the expected outputs {other!r} and {label!r} are read as the same, as *, # and ` are "
                "Markdown: write them in words, or name another scorer, such as exact_match"
            )


def _labels_in(reference: Any) -> list[str]:
    several = reference if isinstance(reference, list | tuple) else [reference]
    return [str(label).strip() for label in several if label is not None and str(label).strip()]
