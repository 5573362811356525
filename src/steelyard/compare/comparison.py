"""What a comparison says: values only, for the terminal, pages and `--json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Protocol

from steelyard.compare.costs import CostDifference
from steelyard.stats.intervals import Interval
from steelyard.summary import Over, RunSummary, ScoreRow, Stopping
from steelyard.types import Json

Verdict = Literal["better", "worse", "no_evidence", "none"]


class ComparableRun(Protocol):
    """A reading handle on a stored run, as far as a comparison needs it."""

    @property
    def id(self) -> str:
        """The run's id."""

    @property
    def target(self) -> str:
        """The target's name."""

    @property
    def suite(self) -> str:
        """The suite's title."""

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Everything the run was made of."""

    def summary(self) -> RunSummary:
        """Means, intervals and counts."""

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score of every record."""

    def sample_hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content."""

    def reply_keys(self) -> Mapping[str, AbstractSet[str]]:
        """Sample id -> journal keys of the target's replies."""


class Table(NamedTuple):
    """Pairs of a 0/1 score by what each side did; `fixed` is wrong in the baseline and right in the other."""

    both_right: int
    fixed: int
    broken: int
    both_wrong: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The other run minus the baseline over the same samples.

    Args:
        group: the group it covers; "" is all pairs.
        n: pairs.
        baseline: the baseline's mean over these pairs; None when n is 0, like the next two.
        other: the other run's mean.
        difference: other - baseline, in units of the score (0.05 is five points of a rate).
        interval: of the difference; None when the pairs say nothing about its spread.
        p: two-sided; None when n is 0.
        relative: difference / baseline, to be labelled as relative change; None when the baseline is 0.
        table: for 0/1 scores, else None.
        unit: every value lies in [0, 1], so that the difference may be shown in points.
        interval_method: `Newcombe 1998, method 10` or how else it was made; likewise `test`.
        fixed: pairs that went from below 0.5 to at least 0.5 (0/1 scores: wrong to right); `broken` the reverse. None
            for scores that are not on [0, 1].
        p_adjusted: `p` corrected for the tests that were made beside this one; None where it is one of its own.
        adjustment: how, and for how many tests; "" where `p_adjusted` is None.
        detectable: the smallest true difference that a set like this shows in four cases of five; None where the
            pairs do not say how much they vary.
        needed: pairs that would show a difference as large as this one in four cases of five; told of a headline only,
            None where nothing differs.
        stopped: what a rule decided on this very difference; its confidence sequence is the interval then, and there
            is no p-value.
    """

    group: str
    n: int
    baseline: float | None
    other: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    relative: float | None
    table: Table | None
    unit: bool
    interval_method: str
    test: str
    fixed: int | None = None
    broken: int | None = None
    p_adjusted: float | None = None
    adjustment: str = ""
    detectable: float | None = None
    needed: int | None = None
    stopped: Stopping | None = None

    @property
    def decisive_p(self) -> float | None:
        """The p-value that a verdict rests on: the corrected one where there is one."""
        return self.p if self.p_adjusted is None else self.p_adjusted

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name; `table` is an object."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {
            "interval": list(self.interval) if self.interval else None,
            "table": self.table._asdict() if self.table else None,
            "stopped": self.stopped.to_json() if self.stopped else None,
        }


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """What a pair of runs shows on a score beside the headline.

    Args:
        score: its name.
        over: as in PairComparison; likewise the two counts.
        left_out_errors: samples that are no pair because a side failed.
        left_out_not_applicable: samples that are no pair for another reason.
        difference: over all pairs; its p-value is adjusted for all such scores of all runs.
        verdict: of that difference.
    """

    score: str
    over: Over
    left_out_errors: int
    left_out_not_applicable: int
    difference: PairedDifference
    verdict: Verdict

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {"difference": self.difference.to_json()}


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One run against the baseline.

    Args:
        baseline: id of the baseline run, `baseline_target` its target; likewise `other`, `other_target`.
        score: what is compared.
        over: `all` counts an unread or refused reply as 0; `scored` compares what both sides answered.
        n_paired: samples behind `headline`.
        only_in_baseline: samples the other run lacks; likewise `only_in_other`.
        left_out_errors: samples in both runs that are no pair because all repeats of a side failed.
        left_out_not_applicable: the same because the score does not apply, or (`over` = scored) was not read.
        changed_content: samples with the same id but other content.
        shared_replies: samples for which both runs used the same stored reply.
        headline: the difference that `sentence` and `verdict` are about.
        answered_both: the same over the pairs that both sides answered.
        groups: per group, in order of first appearance; empty when there are none.
        fixed: ids of samples that went from below 0.5 to at least 0.5 (0/1 scores: wrong to right); `broken` the
            reverse. Empty for scores that are not on [0, 1].
        warnings: what a reader must know before believing the difference, one sentence each.
        verdict: `better`, `worse`, `no_evidence`, or `none` when nothing could be compared.
        sentence: what may be concluded.
        level: of the intervals; the verdict uses p < 1 - level.
        aligned: what made two samples a pair: `id`, `content`, or a key of their metadata.
        differs: in what the runs differ by their manifests, one phrase each ("model: glm-4 → qwen").
        scores: the other scores that both runs have, in the baseline's order.
        costs: time, calls and tokens per sample; empty where the runs cannot say.
        other_ids: baseline's id -> the other run's id, for samples in `fixed` and `broken` where the two are not equal.
    """

    baseline: str
    baseline_target: str
    other: str
    other_target: str
    score: str
    over: Over
    n_paired: int
    only_in_baseline: int
    only_in_other: int
    left_out_errors: int
    left_out_not_applicable: int
    changed_content: int
    shared_replies: int
    headline: PairedDifference
    answered_both: PairedDifference
    groups: tuple[PairedDifference, ...]
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    warnings: tuple[str, ...]
    verdict: Verdict
    sentence: str
    level: float
    aligned: str = "id"
    differs: tuple[str, ...] = ()
    scores: tuple[ScoreDifference, ...] = ()
    costs: tuple[CostDifference, ...] = ()
    other_ids: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        lists = {name: list(plain[name]) for name in ("fixed", "broken", "warnings", "differs")}
        differences = {name: plain[name].to_json() for name in ("headline", "answered_both")}
        several = {name: [one.to_json() for one in plain[name]] for name in ("groups", "scores", "costs")}
        return plain | lists | differences | several | {"other_ids": dict(self.other_ids)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs against the first.

    Args:
        baseline: summary of the first run.
        others: summaries of the rest, in order.
        score: what is compared.
        pairs: one per other run, in the same order.
        notes: what holds for all pairs together.
        group_notes: what belongs beside the pairs' groups, and nowhere else.
        score_notes: the same beside the further scores.
        only_groups: the groups that the comparison was restricted to; empty where it covers all.
    """

    baseline: RunSummary
    others: tuple[RunSummary, ...]
    score: str
    pairs: tuple[PairComparison, ...]
    notes: tuple[str, ...] = ()
    group_notes: tuple[str, ...] = ()
    score_notes: tuple[str, ...] = ()
    only_groups: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        return {
            "baseline": self.baseline.to_json(),
            "others": [other.to_json() for other in self.others],
            "score": self.score,
            "pairs": [pair.to_json() for pair in self.pairs],
            "notes": list(self.notes),
            "group_notes": list(self.group_notes),
            "score_notes": list(self.score_notes),
            "only_groups": list(self.only_groups),
        }

    def __str__(self) -> str:
        return "\n".join([pair.sentence for pair in self.pairs])
