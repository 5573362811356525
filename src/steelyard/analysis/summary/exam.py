"""Details of an exam score: guessing, position bias, and answers that change between orders or repeats.

One pass over the rows of a score gives columns of numbers (`ExamColumns`); everything else is computed from these:
`letter_bias` (recall by letter of the key), `rotations_of` (one question in several orders of its options) and
`repeats_of` (one sample asked several times). `examined` puts them together.

An answer is the letters parsed from a reply; unparsed replies have none. Answers of samples whose options
were shuffled are compared by the dataset's own letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from steelyard.analysis.intervals import Mean, share_interval, standard_error
from steelyard.analysis.scores.score_columns import (
    CODES,
    QUEUE_KINDS,
    ROW_OUTCOMES,
    Answered,
    QueueKind,
    ScoreColumns,
    by_appearance,
    queue_kind,
)
from steelyard.analysis.scores.score_infos import names_where
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.exam_values import (
    Exam,
    ExamPoints,
    LetterBias,
    LetterRecall,
    Repeats,
    Rotations,
    beyond_chance,
)
from steelyard.replies.answer_key import chance_to_solve
from steelyard.stats.arrays import Array
from steelyard.stats.homogeneity import HomogeneityTest, between_places, within_samples
from steelyard.types import ScoreInfo

_COUNTED: Final = [CODES["scored"], CODES["unparsed"], CODES["refused"]]
"""Outcomes that count in an exam: not errors, and not samples to which the score does not apply."""
UNPARSED: Final = -1
"""Stands for the answer of an unparsed reply, and for the key of a sample that has none."""


class ExamColumns(NamedTuple):
    """The rows of an exam score that count, as columns.

    Args:
        unit: independent questions by number.
        question: questions by number, with one number for all rotations of a question.
        sample: ids by number; likewise `repeat`, from 0.
        value: 0 or 1; 0 for an unparsed or refused reply.
        answer: the parsed letters by number, in the dataset's own order of options; UNPARSED where there are none.
        shown: index of a single parsed letter, as shown to the model; UNPARSED where none or several were parsed.
        key: index of the single right letter, likewise.
        options: number of options.
        shuffled: whether the options were put into an order of their own.
        chance: how often guessing solves the question; NaN where key or options were not stored.
        failed: whether a record of the question failed.
    """

    unit: Array
    question: Array
    sample: Array
    repeat: Array
    value: Array
    answer: Array
    shown: Array
    key: Array
    options: Array
    shuffled: Array
    chance: Array
    failed: Array


def _exam_columns(rows: ScoreColumns, question: Array, failed: Array) -> ExamColumns:
    """The columns of some rows, given the number of the question of each, and whether a record of it failed."""
    known = _known([Answered.of(detail) for detail in rows.details])
    codes, sample, parsed = rows.detail, rows.sample.astype(np.int64), rows.outcome == CODES["scored"]
    shuffled = known["shuffled"][codes]
    units = np.where(shuffled, question, sample)
    alone, most = rows.clusters.are(""), int(max(question.max(initial=0), sample.max(initial=0))) + 1
    units = np.where(alone, units, most + rows.clusters.codes)
    return ExamColumns(
        unit=_numbered(units),
        question=_numbered(question),
        sample=_numbered(sample),
        repeat=rows.repeat,
        value=np.nan_to_num(rows.value),
        answer=np.where(parsed, known["answer"][codes], UNPARSED),
        shown=np.where(parsed, known["shown"][codes], UNPARSED),
        key=known["key"][codes],
        options=known["options"][codes],
        shuffled=shuffled,
        chance=known["chance"][codes],
        failed=failed,
    )


def _queue(rows: ScoreColumns) -> dict[str, int]:
    """Why replies are in the review queue -> how many."""
    width = len(ROW_OUTCOMES)
    queue: dict[QueueKind, int] = {}
    counts = np.bincount(rows.detail * width + rows.outcome, minlength=width * len(rows.details))
    for at in np.flatnonzero(counts).tolist():
        kind = queue_kind(ROW_OUTCOMES[at % width], Answered.of(rows.details[at // width]))
        if kind:
            queue[kind] = queue.get(kind, 0) + int(counts[at])
    return {kind: queue[kind] for kind in QUEUE_KINDS if kind in queue}


def _known(details: Sequence[Answered]) -> dict[str, Array]:
    """Columns with one entry per stored detail: answer, shown letter, key, options, whether shuffled, chance."""
    answers: dict[str, int] = {}
    rows = [
        (
            answers.setdefault(detail.letters if detail.original is None else detail.original, len(answers)),
            letter_index(detail.letters),
            letter_index(detail.wanted),
            detail.options,
            detail.original is not None,
            chance_of(detail),
        )
        for detail in details
    ]
    names = ("answer", "shown", "key", "options", "shuffled", "chance")
    types = (int, int, int, int, bool, float)
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {name: np.asarray(column, dtype=kind) for name, column, kind in zip(names, columns, types, strict=True)}


def _questions(samples: Sequence[str]) -> Array:
    """Per sample the number of its question: its own, or the next ones where it is a rotation of another id."""
    numbers = np.arange(len(samples))
    if "@" in "".join(samples):
        rotated = [at for at, sample in enumerate(samples) if "@" in sample]
        known = {sample: at for at, sample in enumerate(samples)}
        numbers[rotated] = [known.setdefault(_question_of(samples[at]), len(known)) for at in rotated]
    return numbers


def _question_of(sample: str) -> str:
    """The id of a question, given that of one of its rotations.

    >>> _question_of("q7@2"), _question_of("q7"), _question_of("me@home")
    ('q7', 'q7', 'me@home')
    """
    name, mark, number = sample.rpartition("@")
    return name if mark and number.isdecimal() else sample


def letter_index(letters: str) -> int:
    """Index of a single letter, from 0; UNPARSED for anything else."""
    return ord(letters) - ord("A") if len(letters) == 1 and "A" <= letters <= "Z" else UNPARSED


def chance_of(answered: Answered) -> float:
    """How often guessing solves a question, see `chance_to_solve`; NaN where key or options were not stored."""
    if not answered.options or not answered.wanted:
        return float("nan")
    return chance_to_solve(answered.wanted, answered.options)


def _numbered(codes: Array) -> Array:
    """Numbers by first appearance, so that sums do not depend on which other rows there are."""
    return by_appearance(codes, int(codes.max(initial=-1)) + 1)[0]


CAUTION: Final = (
    "Each question has its correct option at one letter only, so the questions of a letter may just be harder. To "
    "separate letter preference from hard questions, run with rotated options."
)


def letter_bias(columns: ExamColumns) -> LetterBias | None:
    """Position bias over questions with one right option; None where fewer than two letters have been the key.

    Where most questions had their key at several letters (rotations), recall is compared within questions, by
    Cochran's Q; else between questions, by Pearson's chi-squared test, each question as the mean of its repeats.

    Source: recall by letter and its standard deviation, C. Zheng et al., "Large language models are not robust
    multiple choice selectors", ICLR 2024, section 2.
    """
    single = (columns.key != UNPARSED) & (columns.options > 0)
    part = ExamColumns(*(column[single] for column in columns))
    if len(part.key) == 0 or part.key.min() == part.key.max():
        return None
    letters = tuple(_recall(part, letter) for letter in range(int(part.options.max())))
    recalls = [letter.recall.value for letter in letters if letter.recall.value is not None]
    units = _numbered(part.unit)
    letters_per_unit = _distinct_per(units, part.key)
    moved, questions = int((letters_per_unit > 1).sum()), len(letters_per_unit)
    within = 2 * moved >= questions
    test = within_samples(part.value, part.key, part.unit) if within else _between(part, units, letters_per_unit == 1)
    shuffled = 2 * int(part.shuffled.sum()) >= len(part.key)
    return LetterBias(
        letters=letters,
        spread=max(recalls) - min(recalls),
        deviation=float(np.std(recalls)),
        test=test.name,
        statistic=test.statistic,
        df=test.df,
        p=test.p,
        moved=moved,
        questions=questions,
        caution="" if within or shuffled else CAUTION,
    )


def _recall(part: ExamColumns, letter: int) -> LetterRecall:
    at = part.key == letter
    recall = _rate(part.value[at], part.unit[at])
    offered, chosen = int((part.options > letter).sum()), int((part.shown == letter).sum())
    return LetterRecall(chr(ord("A") + letter), offered, recall.n, chosen, recall)


def _between(part: ExamColumns, units: Array, at_one_letter: Array) -> HomogeneityTest:
    """Test whether questions whose right option stood at different letters are solved at different rates."""
    means = np.bincount(units, weights=part.value) / np.bincount(units)
    keys = np.zeros(len(means), dtype=int)
    keys[units] = part.key
    return between_places(means[at_one_letter], keys[at_one_letter])


def rotations_of(columns: ExamColumns) -> Rotations | None:
    """How answers change with the order of the options; None where no question was asked in more than one.

    Of questions with a failed record it is not known whether all orders are solved, so they are left out.
    """
    if not columns.shuffled.any():
        return None
    orders = _distinct_per(columns.question, columns.sample)
    several = (orders > 1)[columns.question]
    if not several.any():
        return None
    complete = several & ~columns.failed
    incomplete = len(np.unique(columns.question[several & ~complete]))
    part = ExamColumns(*(column[complete] for column in columns))
    votes = _votes(part, _paired(part.question, part.repeat))
    units = votes.units
    return Rotations(
        questions=len(np.unique(part.question)),
        orders=int(orders.max()),
        incomplete=incomplete,
        all_right=_rate(votes.least, units),
        majority=_rate(votes.right, units),
        tied=int(votes.tied.sum()),
    )


def repeats_of(columns: ExamColumns) -> Repeats | None:
    """How answers change over the repeats of a sample; None where no sample was repeated."""
    if not len(columns.repeat) or int(columns.repeat.max()) == 0:
        return None
    votes = _votes(columns, columns.sample)
    twice = votes.read > 1
    off = 1 - votes.most[twice] / votes.read[twice]
    return Repeats(
        samples=int(twice.sum()),
        repeats=int(columns.repeat.max()) + 1,
        flipped=_rate((votes.most < votes.read)[twice].astype(float), votes.units[twice]),
        off=float(off.mean()) if len(off) else None,
        majority=_rate(votes.right, votes.units),
        tied=int(votes.tied.sum()),
    )


class _Votes(NamedTuple):
    """Answers counted per block: the replies to all orders of a question, or to all repeats of a sample.

    Args:
        read: answers that were parsed.
        most: how often the most frequent one was given.
        tied: whether several were given that often.
        right: 1 where there is a most frequent answer and it is right.
        least: the lowest value; 1 where all are right.
        units: the independent question it belongs to.
    """

    read: Array
    most: Array
    tied: Array
    right: Array
    least: Array
    units: Array


def _votes(columns: ExamColumns, blocks: Array) -> _Votes:
    names, first, index = np.unique(blocks, return_index=True, return_inverse=True)
    size = len(names)
    parsed = columns.answer != UNPARSED
    width = int(columns.answer.max(initial=0)) + 1
    answers, at, counts = np.unique(
        index[parsed] * width + columns.answer[parsed], return_inverse=True, return_counts=True
    )
    block = answers // width
    values = np.bincount(at, weights=columns.value[parsed], minlength=len(answers)) / np.maximum(counts, 1)
    most = np.zeros(size, dtype=int)
    np.maximum.at(most, block, counts)
    top = counts == most[block]
    tops = np.bincount(block[top], minlength=size)
    right = np.zeros(size)
    np.maximum.at(right, block[top], values[top])
    least = np.ones(size)
    np.minimum.at(least, index, columns.value)
    n_parsed = np.bincount(index[parsed], minlength=size)
    return _Votes(n_parsed, most, tops > 1, np.where(tops == 1, right >= 0.5, 0.0), least, columns.unit[first])


def _distinct_per(owners: Array, things: Array) -> Array:
    """How many different things each owner (numbered from 0) has."""
    return np.bincount(np.unique(_paired(owners, things)) // (int(things.max()) + 1), minlength=int(owners.max()) + 1)


def _paired(first: Array, second: Array) -> Array:
    """A number per pair of two numbers."""
    paired: Array = first * (int(second.max(initial=0)) + 1) + second
    return paired


def _rate(values: Array, units: Array) -> Mean:
    """A share with Wilson's interval, by cluster where several values belong to one question."""
    n = len(values)
    if not n:
        return Mean(None, None, 0)
    dependent = None if len(np.unique(units)) == n else units
    return Mean(float(values.mean()), share_interval(values, units), n, standard_error(values, dependent))


def examined(rows: ScoreColumns, score: ScoreSummary) -> Exam:
    """The details of one exam score, over the replies that its headline counts.

    Args:
        rows: of the run, with the stored letters.
        score: its mean over the whole run.
    """
    at = rows.rows_of(score.name)
    outcome, question = rows.outcome[at], _questions(rows.samples)[rows.sample[at]]
    failed = np.isin(question, question[outcome == CODES["error"]])
    replied = np.isin(outcome, _COUNTED)
    counted = outcome == CODES["scored"] if score.over == "scored" else replied
    columns = _exam_columns(rows.only(at[counted]), question[counted], failed[counted])
    is_known = len(columns.chance) > 0 and not np.isnan(columns.chance).any()
    chance = float(columns.chance.mean()) if is_known else None
    return Exam(
        score=score.name,
        questions=int(columns.unit.max(initial=-1)) + 1,
        chance=chance,
        corrected=None if chance is None else beyond_chance(score.headline, chance),
        letters=letter_bias(columns),
        rotations=rotations_of(columns),
        repeats=repeats_of(columns),
        queue=_queue(rows.only(at[replied])),
    )


def exams(rows: ScoreColumns, scores: Iterable[ScoreSummary], infos: Mapping[str, ScoreInfo]) -> tuple[Exam, ...]:
    """The details of exam scores; scores without a mean are left out."""
    known = {score.name: score for score in scores if score.headline.n}
    weighted = next(iter(names_where(infos, lambda info: info.weighted)), "")
    points = _points(rows, known[weighted]) if weighted in known else None
    names = names_where(infos, lambda info: info.exam)
    return tuple(replace(examined(rows, score), points=points) for score in known.values() if score.name in names)


def _points(rows: ScoreColumns, score: ScoreSummary) -> ExamPoints:
    """The points of a run, in points and as a share."""
    at = rows.rows_of(score.name)
    gained = np.nan_to_num(rows.value[at]) * np.nan_to_num(rows.numbers("weight")[at])
    costs = gained[gained < 0]
    empty = score.unparsed + score.refused
    possible, deducted = score.weight or 0.0, float(-costs.sum())
    return ExamPoints(score.name, float(gained.sum()), possible, deducted, len(costs), empty, score.headline)
