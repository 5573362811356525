"""Whether a reply gives the expected label of a closed set, as classification is scored."""

# Why it is so, and what was rejected: docs/decisions/scorers-labels-of-a-closed-set.md
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.replies.label import plain_label, read_one
from steelyard.scorers.lexical import share_info, text_of, unscored
from steelyard.types import INLINE, Outcome, Output, Sample, Score, ScoreInfo, StageInfo

_NAME: Final = "accuracy"
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
        info = share_info(_NAME, 1.0, labels=("right", "wrong"), named_verdicts=True)
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
        if (score := unscored(_NAME, "" if expected else "the sample has no reference", output)) is not None:
            return score
        if len(self.labels) < 2:
            raise ConfigError("label: name labels: the dataset expects fewer than two different ones")
        by_plain = {plain_label(label): label for label in self.labels}
        wanted = [by_plain.get(plain_label(label), label) for label in expected]
        label, kind, reason = read_one(text_of(output), self.labels, str(output.metadata.get("finish", "")))
        if not label:
            outcome: Outcome = "refused" if kind == "refused" else "unparsed"
            return Score(_NAME, None, outcome=outcome, reason=reason, detail={"kind": kind, "wanted": wanted[0]})
        right = label in wanted
        detail = {"label": label, "wanted": label if right else wanted[0]}
        return Score(_NAME, float(right), passed=right, reason=f"read {label!r}", detail=detail)


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
