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
from steelyard.compare.stopped import as_decided, decision_on
from steelyard.compare.wording import labels, sentence
from steelyard.summary import NO_GROUP, Over

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

    names = side.answers.clusters
    if not any(names):
        return None
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(name, len(numbers)) if name else -1 - place for place, name in enumerate(names)]
    return np.asarray(found)[alignment.first]


def _score_difference(
    baseline: Side, other: Side, alignment: Alignment, kind: ScoreKind, level: float
) -> ScoreDifference:
    difference = paired_difference(pairs_of(baseline, other, alignment, kind), level=level, scaled=kind.scaled)
    met = _met(baseline, other, alignment, kind)
    not_read = len(met.first) - difference.n - met.errors
    return ScoreDifference(kind.name, kind.over, met.errors, not_read, difference, verdict_of(difference, level))


def compare_pair(meeting: Meeting, kind: ScoreKind, *, level: float) -> PairComparison:
    """Everything that two runs say together, given what was found and corrected for the looks at other runs."""
    baseline, other, alignment = meeting.baseline, meeting.other, meeting.alignment
    names = labels(baseline.run, other.run)
    headline = meeting.headline
    verdict = verdict_of(headline, level)
    pairs = pairs_of(baseline, other, alignment, kind)
    answered = pairs_of(baseline, other, alignment, kind, "scored")
    overlap = _overlap(baseline, other, alignment, kind, headline.n)
    fixed, broken = _flipped(pairs, headline, baseline, alignment)
    ids = dict(zip(_ids(baseline, alignment.first), _ids(other, alignment.second), strict=True))
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
        fixed=fixed,
        broken=broken,
        warnings=(*alignment.notes, *cautions(baseline, other, overlap, kind.name, names, alignment.by)),
        verdict=verdict,
        sentence=sentence(headline, verdict, score=kind.name, names=names, level=level)
        + ("" if headline.n else _apart(baseline, other, kind, names)),
        level=level,
        aligned=alignment.by,
        differs=what_differs(baseline.run.manifest, other.run.manifest),
        scores=meeting.scores,
        costs=_costs(baseline, other, alignment, level),
        other_ids={one: ids[one] for one in (*fixed, *broken) if ids[one] != one},
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
    ids = list(zip(_ids(baseline, met.first), _ids(other, met.second), strict=True))
    return Overlap(
        n_paired=paired,
        only_in_baseline=rows[0] - len(met.first),
        only_in_other=rows[1] - len(met.first),
        left_out_errors=met.errors,
        left_out_not_applicable=len(met.first) - paired - met.errors,
        changed_content=_changed(baseline, other, ids, alignment.by),
        shared_replies=_shared_replies(baseline, other, ids),
    )


def _ids(side: Side, places: Array) -> list[str]:
    samples = side.answers.samples
    return [samples[place] for place in places.tolist()]


def _changed(baseline: Side, other: Side, ids: Sequence[tuple[str, str]], by: str) -> int:
    """Pairs that do not ask the same; the hash of a sample holds its id, so that other ids need another one."""
    if by == CONTENT:
        return 0
    before, after = (baseline.hashes, other.hashes) if by == ID else contents_of(baseline, other)
    hashes = ((before.get(first), after.get(second)) for first, second in ids)
    return sum(one is not None and two is not None and one != two for one, two in hashes)


def _shared_replies(baseline: Side, other: Side, ids: Sequence[tuple[str, str]]) -> int:
    """Pairs in which both sides hold the same reply of the journal."""
    one, two = baseline.asked, other.asked
    if one is not None and two is not None:
        first, second = baseline.repeats, other.repeats
        if one.all_keys(first).isdisjoint(two.all_keys(second)):
            return 0
        return sum(not one.last_keys(first[a]).isdisjoint(two.last_keys(second[b])) for a, b in ids)
    before, after = baseline.run.reply_keys(), other.run.reply_keys()
    return sum(not before.get(a, frozenset()).isdisjoint(after.get(b, frozenset())) for a, b in ids)


def _groups(
    pairs: PairedValues, baseline: Side, alignment: Alignment, kind: ScoreKind, level: float
) -> tuple[PairedDifference, ...]:
    """A difference per group, in order of first appearance; nothing where no sample names one."""
    import numpy as np

    names = baseline.answers.groups
    places = alignment.first[pairs.places].tolist()
    numbers: dict[str, int] = {}
    codes = np.asarray([numbers.setdefault(names[place], len(numbers)) for place in places], dtype=int)
    if not any(numbers):
        return ()
    return tuple(
        paired_difference(pairs.part(codes == number), level=level, group=name or NO_GROUP, scaled=kind.scaled)
        for name, number in numbers.items()
    )


def _flipped(
    pairs: PairedValues, headline: PairedDifference, baseline: Side, alignment: Alignment
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of the samples that were fixed and that were broken."""
    if not headline.unit:
        return (), ()
    fixed, broken = (_ids(baseline, alignment.first[pairs.places[one]]) for one in flips(pairs))
    return tuple(fixed), tuple(broken)


def _costs(baseline: Side, other: Side, alignment: Alignment, level: float) -> tuple[CostDifference, ...]:
    """Of the pairs that failed on neither side; of many, of some that are drawn by seed."""
    if baseline.asked is None or other.asked is None:
        return ()
    first, second = _ids(baseline, alignment.first), _ids(other, alignment.second)
    drawn = drawn_samples(first)
    before = baseline.asked.costs({first[at]: baseline.repeats[first[at]] for at in drawn})
    after = other.asked.costs({second[at]: other.repeats[second[at]] for at in drawn})
    clusters = _clusters(baseline, alignment)
    pairs = [
        CostPair(at if clusters is None else int(clusters[at]), before[first[at]], after[second[at]])
        for at in drawn
        if first[at] in before and second[at] in after
    ]
    return cost_differences(pairs, level=level)
