"""The evaluation of a multiple-choice exam from counts: chance, letters, and what has to be reviewed.

The counterpart of `exam` for runs whose rows need not be read, see `tallied_summary`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from steelyard.analysis.exam import CAUTION, UNPARSED, chance_of, letter_index
from steelyard.analysis.exam_values import Exam, LetterBias, LetterRecall, beyond_chance
from steelyard.analysis.intervals import Mean, rate_standard_error
from steelyard.analysis.score_columns import CODES, NOT_KEPT, QUEUE_KINDS, Answered, queue_kind
from steelyard.analysis.summary import ANSWERED, OVERALL
from steelyard.analysis.summary_values import ScoreSummary
from steelyard.analysis.tallied_summary import NeedsRowsError, ScoreTally
from steelyard.stats.homogeneity import between_places_of_counts
from steelyard.stats.intervals import wilson
from steelyard.types import ScoreInfo


def tallied_exams(
    tallies: Mapping[str, Sequence[ScoreTally]], scores: Sequence[ScoreSummary], infos: Mapping[str, ScoreInfo]
) -> tuple[Exam, ...]:
    """What `exams` returns, from counts.

    Raises:
        NeedsRowsError: options were shown in several orders, or the test of the letters draws permutations.
    """
    return tuple(
        _examined(tallies[score.name], score)
        for score in scores
        if score.name in infos and infos[score.name].exam and score.headline.n
    )


def _examined(tallies: Sequence[ScoreTally], score: ScoreSummary) -> Exam:
    among = ANSWERED if score.over == "scored" else OVERALL
    counted = [(tally, tally.answered or NOT_KEPT) for tally in tallies if CODES[tally.outcome] in among]
    if not score.binary or any(answered.original is not None for _, answered in counted):
        raise NeedsRowsError
    n = sum(tally.n for tally, _ in counted)
    chances = [(chance_of(answered), tally.n) for tally, answered in counted]
    chance = math.fsum(share * times for share, times in chances) / n
    known = not math.isnan(chance)
    return Exam(
        score=score.name,
        questions=n,
        chance=chance if known else None,
        corrected=beyond_chance(score.headline, chance) if known else None,
        letters=_letter_bias(counted),
        queue=_queue(tallies),
    )


def _queue(tallies: Sequence[ScoreTally]) -> dict[str, int]:
    """Why replies are in the review queue -> how many."""
    queue: dict[str, int] = {}
    for tally in tallies:
        kind = queue_kind(tally.outcome, tally.answered or NOT_KEPT) if CODES[tally.outcome] in OVERALL else None
        if kind:
            queue[kind] = queue.get(kind, 0) + tally.n
    return {kind: queue[kind] for kind in QUEUE_KINDS if kind in queue}


def _letter_bias(counted: Sequence[tuple[ScoreTally, Answered]]) -> LetterBias | None:
    """What `letter_bias` returns where no question was asked twice."""
    single_keyed = [pair for pair in counted if letter_index(pair[1].wanted) != UNPARSED and pair[1].options > 0]
    keys = [letter_index(answered.wanted) for _, answered in single_keyed]
    if len(set(keys)) < 2:
        return None
    size = max(answered.options for _, answered in single_keyed)
    trials, wins, chosen, offered = ([0] * max(size, 26) for _ in range(4))
    for (tally, answered), key in zip(single_keyed, keys, strict=True):
        trials[key] += tally.n
        wins[key] += tally.n * (tally.value == 1)
        shown = letter_index(answered.letters) if tally.outcome == "scored" else UNPARSED
        chosen[shown] += tally.n * (shown != UNPARSED)
        for letter in range(answered.options):
            offered[letter] += tally.n
    letters = tuple(
        LetterRecall(chr(ord("A") + at), offered[at], trials[at], chosen[at], _recall(wins[at], trials[at]))
        for at in range(size)
    )
    key_letters = [at for at, n in enumerate(trials) if n]
    test = between_places_of_counts([wins[at] for at in key_letters], [trials[at] for at in key_letters])
    if test is None or any(at >= size for at in key_letters):
        raise NeedsRowsError
    recalls = [wins[at] / trials[at] for at in key_letters]
    centre = math.fsum(recalls) / len(recalls)
    return LetterBias(
        letters=letters,
        spread=max(recalls) - min(recalls),
        deviation=math.sqrt(math.fsum((recall - centre) ** 2 for recall in recalls) / len(recalls)),
        test=test.name,
        statistic=test.statistic,
        df=test.df,
        p=test.p,
        moved=0,
        questions=sum(trials),
        caution=CAUTION,
    )


def _recall(wins: int, n: int) -> Mean:
    if not n:
        return Mean(None, None, 0)
    return Mean(wins / n, wilson(wins, n), n, rate_standard_error(wins, n))
