"""Retrieval scores in rank order; `passages` decides which retrieved passage matches which expected source.

The measures take one argument, `answers`: for each retrieved passage in rank order the indices of the expected sources
that it matches ("answers"). With ids as sources that is none or one index per passage, and every measure is that of the
textbooks. In general a passage may match several sources, and a source be matched by several passages, because the
systems that are compared cut documents differently; each docstring says what the measure is then. A source is newly
answered at the first rank that matches it; only that counts where a measure adds up over ranks, so that ten
overlapping passages of one source are not ten successes. Every measure is in [0, 1].

Sources: C. D. Manning, P. Raghavan, H. Schütze, "Introduction to information retrieval", 2008, chapter 8;
K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, Final, Literal

from steelyard.analysis.retrieval_matches import NOTHING_RETRIEVED, RETRIEVAL_SCORES, WAYS
from steelyard.constraints import Within
from steelyard.plain_json import parsed_or
from steelyard.scorers.passages import Match, SourcePassage, is_long, match
from steelyard.types import INLINE, LACKS, Output, Sample, Score, ScoreInfo, StageInfo

_SHOWN_RANKS: Final = 5


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Retrieval quality: six scores per sample from the retrieved passages and the expected sources.

    - `hit_rate`: whether any expected source is among the passages.
    - `mrr`: 1 / the rank of the first passage that is expected, 0 where none is.
    - `precision`: the share of the passages that are expected.
    - `recall`: the share of the expected sources that are among the passages.
    - `average_precision`: the precision up to each expected passage, averaged over the expected sources.
    - `ndcg`: how near the top the expected passages are, 1 where all of them come first.

    Expected is `sample.metadata["sources"]`; retrieved, in rank order, `output.metadata["sources"]`, or the texts in
    `output.contexts` where there is no such list. Without expected sources it does not apply, nor where a source and
    the passages have nothing in common that can be compared. Each score's detail says `matched_by` (`id`, `words`,
    `range`, `page`, `nothing`, or `nothing retrieved`), and for each of the `passages` likewise. The measures, also for
    passages that answer to several sources, are in `steelyard.scorers.retrieval`.

    Args:
        k: only the first k passages count; None: all that were retrieved.
        overlap: share of the source's character range (of the passage's, for a source over three times as long) that
            two ranges of a document must have in common to match.
        ndcg_gain: gain of a rank that newly answers n sources: `binary` 1, `linear` n, `exponential` 2^n - 1.

    >>> sample = Sample("1", "?", metadata={"sources": [{"id": "a"}, {"id": "b"}]})
    >>> scores = Retrieval()(sample, Output("", metadata={"sources": [{"id": "x"}, {"id": "a"}]}))
    >>> {score.name: round(score.value, 3) for score in scores}
    {'hit_rate': 1.0, 'mrr': 0.5, 'precision': 0.5, 'recall': 0.5, 'average_precision': 0.25, 'ndcg': 0.387}
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("hit_rate", (0.0, 1.0), threshold=1.0, labels=("hit", "miss"), denominator="all"),
        *(ScoreInfo(name, (0.0, 1.0), denominator="all", headline=name == "recall") for name in RETRIEVAL_SCORES[1:]),
    )
    stage_info: ClassVar[StageInfo] = INLINE

    k: Annotated[int | None, Within(1)] = None
    overlap: Annotated[float, Within(0, 1, above=True)] = 0.5
    ndcg_gain: Gain = "binary"

    def __call__(self, sample: Sample, output: Output) -> Sequence[Score]:
        """Compare the passages of one output with its sample's sources."""
        sources, document = _listed(sample.metadata.get("sources")), sample.metadata.get("document")
        expected = list(dict.fromkeys(SourcePassage.of(source, document=document) for source in sources))
        if not expected:
            return _not_applicable("the sample names no sources")
        if unusable := [number for number, source in enumerate(expected, start=1) if not source.is_comparable]:
            return _not_applicable(
                f"source {unusable[0]} of the sample has no id, no text, and no range or page of a document"
            )
        passages = retrieved(output, self.k)
        matches = [[match(passage, source, overlap=self.overlap) for source in expected] for passage in passages]
        if uncomparable := _never_compared(matches, len(expected)):
            return _not_applicable(
                _uncomparable_reason(uncomparable, expected[uncomparable - 1], passages),
                matched_by="not compared",
                **{LACKS: "comparable passages"},
            )
        long = sum(is_long(passage, source) for passage in passages for source in expected)
        return self._scores(matches, len(expected), long)

    def _scores(self, matches: Sequence[Sequence[Match]], expected: int, long: int) -> Sequence[Score]:
        answers = [{index for index, way in enumerate(ways_of_passage) if way in WAYS} for ways_of_passage in matches]
        values = (
            hit_rate(answers),
            reciprocal_rank(answers),
            precision(answers),
            recall(answers, expected),
            average_precision(answers, expected),
            ndcg(answers, expected, gain=self.ndcg_gain, k=self.k),
        )
        ranks = [
            next((rank for rank, answered in enumerate(answers, start=1) if index in answered), None)
            for index in range(expected)
        ]
        ways = [_strongest(ways_of_passage) for ways_of_passage in matches]
        matched_by = _strongest(ways) if ways else NOTHING_RETRIEVED
        detail = {
            "matched_by": matched_by,
            "passages": ways,
            "ranks": ranks,
            "retrieved": len(answers),
            "k": self.k,
            # Pairs in which the source is so long that any part of it is a hit, of all pairs.
            "long_pairs": long,
            "pairs": len(matches) * expected,
        }
        reason = _reason(ranks, len(answers), matched_by)
        return [
            Score(name, value, passed=value == 1 if name == "hit_rate" else None, reason=reason, detail=detail)
            for name, value in zip(RETRIEVAL_SCORES, values, strict=True)
        ]


def _not_applicable(reason: str, **detail: Any) -> Sequence[Score]:
    return [Score(name, None, outcome="not_applicable", reason=reason, detail=detail) for name in RETRIEVAL_SCORES]


def _strongest(ways: Sequence[str]) -> str:
    return next((way for way in WAYS if way in ways), "nothing")


def _never_compared(matches: Sequence[Sequence[Match]], expected: int) -> int:
    """The number (from 1) of a source that could be compared with no passage of its document; 0 if there is none."""
    uncomparable = {frozenset({"not compared"}), frozenset({"not compared", "other document"})}
    return next(
        (
            index + 1
            for index in range(expected)
            if {ways_of_passage[index] for ways_of_passage in matches} in uncomparable
        ),
        0,
    )


def _uncomparable_reason(no: int, source: SourcePassage, passages: Sequence[SourcePassage]) -> str:
    """Say which fields a source and the passages have, why they cannot be compared, and what to do about it."""
    theirs = list(dict.fromkeys(part for passage in passages for part in _parts_of(passage)))
    if source.span and not source.text.words:
        remedy = "give the sources their texts, or name the suite's `documents`, which they are read from then"
    else:
        remedy = "give both a text"
    return (
        f"source {no} of the sample has {_joined_names(_parts_of(source))} and the passages have "
        f"{_joined_names(theirs)}, which cannot be compared: {remedy}"
    )


def _parts_of(source: SourcePassage) -> list[str]:
    parts = {
        "an id": bool(source.id),
        "a text": bool(source.text.words),
        "a range": source.span is not None,
        "a page": source.page is not None,
    }
    return [name for name, is_known in parts.items() if is_known]


def _joined_names(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]])) or "nothing"


def retrieved(output: Output, k: int | None = None) -> list[SourcePassage]:
    """The passages of an output in rank order, each with its text where it is known.

    There are as many as the longer of both lists has: a passage that no source names was retrieved all the same.

    Args:
        output: with `metadata["sources"]`, contexts, or both.
        k: only the first k; None is all.
    """
    listed = _listed(output.metadata.get("sources"))[:k]
    return [
        SourcePassage.of(source, text=text) for source, text in zip_longest(listed, output.contexts[:k], fillvalue="")
    ]


def _listed(value: Any) -> list[Any]:
    """Sources as a list: a single one is wrapped, and JSON text (as in a CSV file) is parsed."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        value = parsed_or(value, value)
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or value == "" else [value]


def _reason(ranks: Sequence[int | None], retrieved_count: int, matched_by: str) -> str:
    if not retrieved_count:
        return "nothing was retrieved"
    first = [str(rank) for rank in ranks if rank is not None]
    where = f", at rank {', '.join(first[:_SHOWN_RANKS])} (same {matched_by})" if first else ""
    return f"{len(first)} of {len(ranks)} expected passages found among {retrieved_count}{where}"


Answers = Sequence[AbstractSet[int]]
Gain = Literal["binary", "linear", "exponential"]


def newly_answered(answers: Answers) -> list[int]:
    """For each rank, the number of sources that it matches and no earlier rank does.

    >>> newly_answered([{0}, {0}, set(), {0, 1, 2}])
    [1, 0, 0, 2]
    """
    answered: set[int] = set()
    counts = []
    for answer in answers:
        counts.append(len(answer - answered))
        answered |= answer
    return counts


def hit_rate(answers: Answers) -> float:
    """1 where any retrieved passage matches any expected source, else 0.

    >>> hit_rate([set(), {1}]), hit_rate([])
    (1.0, 0.0)
    """
    return float(any(answers))


def reciprocal_rank(answers: Answers) -> float:
    """1 / rank of the first passage that matches an expected source; 0 where none does. Its mean is the MRR.

    >>> reciprocal_rank([set(), {1}, {0}])
    0.5
    """
    return next((1 / rank for rank, answer in enumerate(answers, start=1) if answer), 0.0)


def precision(answers: Answers) -> float:
    """Share of the retrieved passages that match any expected source; 0 where nothing was retrieved.

    Manning et al., equation 8.1. A passage that matches a source again counts: it is not noise.

    >>> precision([{0}, set(), {0}, set()])
    0.5
    """
    return sum(1 for answer in answers if answer) / len(answers) if answers else 0.0


def recall(answers: Answers, expected: int) -> float:
    """Share of the expected sources that any passage matches.

    Manning et al., equation 8.2.

    Args:
        answers: of each passage in rank order.
        expected: number of expected sources, at least 1.

    >>> recall([{0}, {0}, {2}], 4)
    0.5
    """
    return sum(newly_answered(answers)) / expected


def average_precision(answers: Answers, expected: int) -> float:
    """Precision at the ranks that newly answer sources, averaged over the expected sources.

    AP = (1 / expected) * sum over ranks i of new_i * useful_i / i, where new_i sources are newly answered at rank i and
    useful_i ranks up to i newly answered any. Sources that are never answered add 0. Its mean over questions is the
    MAP; Manning et al., equation 8.8. One to one, new_i is 0 or 1 and this is their formula.

    Args:
        answers: of each passage in rank order.
        expected: number of expected sources, at least 1.

    >>> average_precision([{0}, set(), {1}, set()], 2)  # (1/1 + 2/3) / 2
    0.8333333333333333
    >>> average_precision([{0, 1}], 2), average_precision([{0}, {0}, {1}], 2)  # (2 * 1/1) / 2, (1/1 + 2/3) / 2
    (1.0, 0.8333333333333333)
    """
    total, useful = 0.0, 0
    for rank, new in enumerate(newly_answered(answers), start=1):
        if new:
            useful += 1
            total += new * useful / rank
    return total / expected


def ndcg(answers: Answers, expected: int, *, gain: Gain = "binary", k: int | None = None) -> float:
    """Discounted gain of the ranks that newly answer sources, as a share of the best possible value.

    DCG = sum over ranks i of g(new_i) / log2(i + 1); nDCG = DCG / ideal DCG. The ideal has the same gains in the best
    order, and behind them a passage of its own for each source that is not answered. One to one that is a gain of 1 at
    each of the ranks 1 to `expected`, whichever `gain` is chosen.
    Järvelin and Kekäläinen 2002, section 2.2, with the discount log2(i + 1) that has become the usual one.

    Args:
        answers: of each passage in rank order, cut off already.
        expected: number of expected sources, at least 1.
        gain: g(n) of n newly answered sources: `binary` 1 where n > 0, `linear` n, `exponential` 2^n - 1.
        k: the ideal has at most this many ranks; None: as many as it needs, also where fewer were retrieved.

    >>> round(ndcg([set(), {0}, {1}], 3), 4)  # (1/log2(3) + 1/log2(4)) / (1 + 1/log2(3) + 1/log2(4))
    0.5307
    >>> ndcg([{0, 1, 2}], 3), ndcg([{0, 1, 2}], 3, gain="linear")
    (1.0, 1.0)
    """
    new_counts = newly_answered(answers)
    gains = [_gain(count, gain) for count in new_counts]
    unanswered = [1.0] * (expected - sum(new_counts))
    ideal = sorted((count for count in gains if count), reverse=True) + unanswered
    return _discounted(gains) / _discounted(ideal[:k])


def _gain(count: int, gain: Gain) -> float:
    if gain == "binary":
        return float(count > 0)
    return float(count) if gain == "linear" else 2.0**count - 1


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
