"""Two runs -> one PairComparison: the values of their pairs, score by score and group by group, and what they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.compare.alignment import CONTENT, ID, Alignment, Side, contents_of
from steelyard.compare.cautions import Overlap, cautions, what_differs
from steelyard.compare.comparison import PairComparison, PairedDifference, ScoreDifference
from steelyard.compare.costs import CostDifference, CostPair, cost_differences, drawn_samples
from steelyard.compare.differences import PairedValues, flips, paired_difference, verdict_of, with_needed
from steelyard.compare.looks import over_groups
from steelyard.compare.separate import separate_sentence
from steelyard.compare.shared import LastReplies, shared_replies
from steelyard.compare.stopped import as_decided, decision_on
from steelyard.compare.wording import labels, sentence
from steelyard.summary import NO_GROUP, Over, by_appearance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


class ScoreKind(NamedTuple):
    """A score as a comparison must know it.

    Args:
        name: the score's name.
        over: what its headline is over.
        scaled: it names a scale other than [0, 1], so that a rating of 1 is no rate of 100 %.
    """

    name: str
    over: Over
    scaled: bool


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two runs whose samples are aligned, with the differences that were found."""

    baseline: Side
    other: Side
    alignment: Alignment
    headline: PairedDifference
    scores: tuple[ScoreDifference, ...]


def meet(baseline: Side, other: Side, alignment: Alignment, kinds: Sequence[ScoreKind], level: float) -> Meeting:
    """The differences of two runs on every score; the first of `kinds` is the headline."""
    first, *rest = kinds
    pairs = pairs_of(baseline, other, alignment, first)
    headline = with_needed(paired_difference(pairs, level=level, scaled=first.scaled), pairs, level)
    if (decision := decision_on(baseline, other, first.name)) is not None:
        headline = as_decided(headline, decision)
    scores = tuple(_score_difference(baseline, other, alignment, kind, level) for kind in rest)
    return Meeting(baseline, other, alignment, headline, scores)


def pairs_of(
    baseline: Side, other: Side, alignment: Alignment, kind: ScoreKind, over: Over | None = None
) -> PairedValues:
    """The samples with a value on both sides; cluster and group are the baseline's."""
    import numpy as np

    before = baseline.answers.tally(kind.name).means(over or kind.over)[alignment.first]
    after = other.answers.tally(kind.name).means(over or kind.over)[alignment.second]
    places = np.flatnonzero(~(np.isnan(before) | np.isnan(after)))
    clusters = _clusters(baseline, alignment)
    return PairedValues(places, before[places], after[places], None if clusters is None else clusters[places])


def _clusters(side: Side, alignment: Alignment) -> Array | None:
    """A number per aligned sample, equal within a cluster; None where no sample names one."""
    import numpy as np

    clusters = side.answers.clusters
    alone = clusters.are("")
    if alone.all():
        return None
    return np.where(alone, -1 - np.arange(len(alone)), clusters.codes)[alignment.first]


def _score_difference(
    baseline: Side, other: Side, alignment: Alignment, kind: ScoreKind, level: float
) -> ScoreDifference:
    difference = paired_difference(pairs_of(baseline, other, alignment, kind), level=level, scaled=kind.scaled)
    met = _met(baseline, other, alignment, kind)
    not_read = len(met.first) - difference.n - met.errors
    return ScoreDifference(kind.name, kind.over, met.errors, not_read, difference, verdict_of(difference, level))


def compare_pair(meeting: Meeting, kind: ScoreKind, *, level: float) -> PairComparison:
    """Everything that two runs say together, given what was found and corrected for the looks at other runs."""
    import numpy as np

    baseline, other, alignment = meeting.baseline, meeting.other, meeting.alignment
    names = labels(baseline.run, other.run)
    headline = meeting.headline
    verdict = verdict_of(headline, level)
    pairs = pairs_of(baseline, other, alignment, kind)
    answered = pairs_of(baseline, other, alignment, kind, "scored")
    overlap = _overlap(baseline, other, alignment, kind, headline.n)
    fixed, broken = _flipped(pairs, headline)
    return PairComparison(
        baseline=baseline.run.id,
        baseline_target=baseline.run.target,
        other=other.run.id,
        other_target=other.run.target,
        score=kind.name,
        over=kind.over,
        **overlap._asdict(),
        headline=headline,
        answered_both=paired_difference(answered, level=level, scaled=kind.scaled),
        groups=over_groups(_groups(pairs, baseline, alignment, kind, level)),
        fixed=tuple(_ids(baseline, alignment.first[fixed])),
        broken=tuple(_ids(baseline, alignment.first[broken])),
        warnings=(*alignment.notes, *cautions(baseline, other, overlap, kind.name, names, alignment.by)),
        verdict=verdict,
        sentence=sentence(headline, verdict, score=kind.name, names=names, level=level)
        + ("" if headline.n else _apart(baseline, other, kind, names)),
        level=level,
        aligned=alignment.by,
        differs=what_differs(baseline.run.manifest, other.run.manifest),
        scores=meeting.scores,
        costs=_costs(baseline, other, alignment, level),
        other_ids=_other_ids(baseline, other, alignment, np.concatenate([fixed, broken])),
    )


def _apart(baseline: Side, other: Side, kind: ScoreKind, names: tuple[str, str]) -> str:
    """What the two say as separate sets, where they share no sample."""
    first, second = baseline.summary.score(kind.name), other.summary.score(kind.name)
    return separate_sentence(first, second, names) if first and second else ""


class _Met(NamedTuple):
    """Aligned samples for which both runs have rows of a score, and how many of them failed on a side."""

    first: Array
    second: Array
    errors: int


def _met(baseline: Side, other: Side, alignment: Alignment, kind: ScoreKind) -> _Met:
    before, after = baseline.answers.tally(kind.name), other.answers.tally(kind.name)
    both = (before.rows[alignment.first] > 0) & (after.rows[alignment.second] > 0)
    first, second = alignment.first[both], alignment.second[both]
    failed = ((before.errors > 0) & (before.read == 0))[first] | ((after.errors > 0) & (after.read == 0))[second]
    return _Met(first, second, int(failed.sum()))


def _overlap(baseline: Side, other: Side, alignment: Alignment, kind: ScoreKind, paired: int) -> Overlap:
    """How the samples of two runs meet on the headline; `paired` of them have a value on both sides."""
    met = _met(baseline, other, alignment, kind)
    rows = [int((side.answers.tally(kind.name).rows > 0).sum()) for side in (baseline, other)]
    return Overlap(
        n_paired=paired,
        only_in_baseline=rows[0] - len(met.first),
        only_in_other=rows[1] - len(met.first),
        left_out_errors=met.errors,
        left_out_not_applicable=len(met.first) - paired - met.errors,
        changed_content=_changed(baseline, other, met, alignment.by),
        shared_replies=_shared_replies(baseline, other, met),
    )


def _ids(side: Side, places: Array) -> list[str]:
    samples = side.answers.samples
    return [samples[place] for place in places.tolist()]


def _other_ids(baseline: Side, other: Side, alignment: Alignment, places: Array) -> dict[str, str]:
    """Baseline's id -> the other run's, at these places of the alignment, where the two are not equal."""
    pairs = zip(_ids(baseline, alignment.first[places]), _ids(other, alignment.second[places]), strict=True)
    return {one: two for one, two in pairs if one != two}


def _changed(baseline: Side, other: Side, met: _Met, by: str) -> int:
    """Pairs that do not ask the same; the hash of a sample holds its id, so that other ids need another one."""
    if by == CONTENT:
        return 0
    if by == ID and baseline.asked is not None and other.asked is not None:
        first, second = baseline.answers.numbers[met.first], other.answers.numbers[met.second]
        return int((baseline.asked.numbered_hashes[first] != other.asked.numbered_hashes[second]).sum())
    before, after = (baseline.hashes(), other.hashes()) if by == ID else contents_of(baseline, other)
    ids = zip(_ids(baseline, met.first), _ids(other, met.second), strict=True)
    hashes = ((before.get(first), after.get(second)) for first, second in ids)
    return sum(one is not None and two is not None and one != two for one, two in hashes)


def _shared_replies(baseline: Side, other: Side, met: _Met) -> int:
    """Pairs in which both sides hold the same reply of the journal."""
    if baseline.asked is not None and other.asked is not None:
        numbers = baseline.answers.numbers[met.first], other.answers.numbers[met.second]
        one, two = (LastReplies(*side.last_keys()) for side in (baseline.asked, other.asked))
        return shared_replies(one, two, numbers)
    before, after = baseline.run.reply_keys(), other.run.reply_keys()
    ids = zip(_ids(baseline, met.first), _ids(other, met.second), strict=True)
    return sum(not before.get(a, frozenset()).isdisjoint(after.get(b, frozenset())) for a, b in ids)


def _groups(
    pairs: PairedValues, baseline: Side, alignment: Alignment, kind: ScoreKind, level: float
) -> tuple[PairedDifference, ...]:
    """A difference per group, in order of first appearance; nothing where no sample names one."""
    groups = baseline.answers.groups.at(alignment.first[pairs.places])
    codes, order = by_appearance(groups.codes, len(groups.names))
    names = [groups.names[code] for code in order.tolist()]
    if not any(names):
        return ()
    return tuple(
        paired_difference(pairs.part(codes == number), level=level, group=name or NO_GROUP, scaled=kind.scaled)
        for number, name in enumerate(names)
    )


def _flipped(pairs: PairedValues, headline: PairedDifference) -> tuple[Array, Array]:
    """Places in the alignment of the samples that were fixed and that were broken."""
    fixed, broken = (pairs.places[one] for one in flips(pairs))
    return (fixed, broken) if headline.unit else (fixed[:0], broken[:0])


def _costs(baseline: Side, other: Side, alignment: Alignment, level: float) -> tuple[CostDifference, ...]:
    """Of the pairs that failed on neither side; of many, of some that are drawn by seed."""
    if baseline.asked is None or other.asked is None:
        return ()
    drawn = drawn_samples(alignment.first)
    first = baseline.answers.numbers[alignment.first[drawn]].tolist()
    second = other.answers.numbers[alignment.second[drawn]].tolist()
    before, after = baseline.asked.costs(first), other.asked.costs(second)
    clusters = _clusters(baseline, alignment)
    pairs = [
        CostPair(at if clusters is None else int(clusters[at]), before[one], after[two])
        for at, one, two in zip(drawn, first, second, strict=True)
        if one in before and two in after
    ]
    return cost_differences(pairs, level=level)
