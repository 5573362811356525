"""Details of an exam score: chance-corrected rate, position bias, rotations and repeats; values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.analysis.intervals import Mean
from steelyard.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class LetterRecall:
    """How often one option letter, as shown to the model, was the key, was chosen, and was solved.

    Args:
        letter: from A.
        offered: replies to questions that have this option.
        key: of these, those whose right option it is.
        chosen: those that answer with it alone.
        recall: share of the `key` that was solved.
    """

    letter: str
    offered: int
    key: int
    chosen: int
    recall: Mean


@dataclass(frozen=True, slots=True)
class LetterBias:
    """Position bias: whether the solve rate depends on the letter of the right option.

    Args:
        letters: in order; at least two have been the key.
        spread: largest recall minus smallest.
        deviation: standard deviation of the recalls (RStd of Zheng et al., ICLR 2024; n in the denominator).
        test: of equal recall; likewise `statistic`, `df` and `p`, which is None where a rule ended the run.
        moved: questions whose key stood at more than one letter.
        questions: independent questions that have one key.
        caution: why the figures may have another cause; "" where there is none.
    """

    letters: tuple[LetterRecall, ...]
    spread: float
    deviation: float
    test: str
    statistic: float
    df: int
    p: float | None
    moved: int
    questions: int
    caution: str


@dataclass(frozen=True, slots=True)
class Rotations:
    """Questions that were asked with their options in several orders: how many are solved in every order.

    Args:
        questions: those with a reply in every order.
        orders: orders of a question, at most.
        incomplete: questions left out, as one of their orders failed.
        all_right: share that was solved in every order.
        majority: share whose most frequent answer is right; a tie counts as wrong.
        tied: questions without a most frequent answer.
    """

    questions: int
    orders: int
    incomplete: int
    all_right: Mean
    majority: Mean
    tied: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """Samples that were asked several times: how often the answers change.

    Args:
        samples: with two or more parsed answers.
        repeats: of a sample, at most.
        flipped: share of `samples` whose answers differ.
        off: mean share of a sample's answers that differ from its most frequent one, in [0, 1].
        majority: share of all samples whose most frequent answer is right; without one, a sample counts as wrong.
        tied: samples without a most frequent answer.
    """

    samples: int
    repeats: int
    flipped: Mean
    off: float | None
    majority: Mean
    tied: int


@dataclass(frozen=True, slots=True)
class ExamPoints:
    """Points over all replies that count, rotations and repeats of a question included.

    Args:
        score: name of the score that they are.
        gained: points, after deductions.
        possible: points of all these questions.
        deducted: points that wrong answers cost.
        wrong: answers that cost points.
        empty: replies that could not be read, and refusals: no points, and nothing deducted.
        share: gained / possible, with its interval.
    """

    score: str
    gained: float
    possible: float
    deducted: float
    wrong: int
    empty: int
    share: Mean


@dataclass(frozen=True, slots=True)
class Exam:
    """Details of one exam score, in addition to its mean.

    Args:
        score: its name.
        questions: independent ones: rotations, repeats and paraphrases of a question are one.
        chance: share that guessing solves, the mean over the replies that count: 1 / options, and
            1 / (2^options - 1) where several letters are right; None where the options were not stored.
        corrected: the chance-corrected headline, (rate - chance) / (1 - chance): 0 is guessing, 1 is all. None without
            `chance`.
        letters: position bias; None where fewer than two letters have been the key.
        rotations: None where no question was asked in several orders; likewise `repeats`.
        queue: why replies are in the review queue -> how many; `unparsed` are those unparsed for other reasons.
        points: None where its questions have neither points nor deductions.
    """

    score: str
    questions: int
    chance: float | None
    corrected: Mean | None
    letters: LetterBias | None = None
    rotations: Rotations | None = None
    repeats: Repeats | None = None
    queue: Mapping[str, int] = field(default_factory=dict)
    points: ExamPoints | None = None


def beyond_chance(mean: Mean, chance: float) -> Mean:
    """The chance-corrected rate, (rate - chance) / (1 - chance), with its interval: 0 is guessing, 1 is all solved.

    The chance is known, not estimated, so the interval is moved and stretched like the rate.

    >>> [round(100 * beyond_chance(Mean(right / 170, None, 170), 1 / 4).value, 1) for right in (80, 116, 121)]
    [29.4, 57.6, 61.6]
    """
    if mean.value is None or chance >= 1:
        return Mean(None, None, mean.n)
    low, high = ((end - chance) / (1 - chance) for end in mean.interval or (0.0, 0.0))
    interval = Interval(low, high) if mean.interval else None
    error = None if mean.standard_error is None else mean.standard_error / (1 - chance)
    return Mean((mean.value - chance) / (1 - chance), interval, mean.n, error)
