"""The result of a comparison of runs: differences, verdicts and sentences, and of a grid of them; values only."""

# Why it is so, and what was rejected: docs/decisions/analysis-rates.md

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from steelyard.analysis.comparison.alignment import SampleOverlap
from steelyard.analysis.comparison.costs import CostDifference
from steelyard.analysis.comparison.settings import SettingDifference, phrases_of
from steelyard.analysis.intervals import Mean
from steelyard.analysis.notebook import notebook_html
from steelyard.analysis.scores.score_summary_values import Over
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.plain_json import field_values
from steelyard.stats.intervals import Interval

Verdict = Literal["better", "worse", "no_evidence", "inconclusive", "none"]
"""`no_evidence`: enough was parsed, and the data do not show a difference. `inconclusive`: missing verdicts leave open
which run is better. `none`: no sample could be compared."""

CLAIMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "better": "better",
        "worse": "worse",
        "no_evidence": "not decided",
        "inconclusive": "not decided",
        "none": "not comparable",
    }
)
"""What every page calls a verdict."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What may be concluded of two runs.

    Args:
        verdict: `better` or `worse` in the score's direction, `no_evidence`, `inconclusive` where missing verdicts
            leave the sign open, or `none` when nothing could be compared.
        sentence: the same with its numbers and the reason, in full sentences that need no heading.
    """

    verdict: Verdict
    sentence: str

    @property
    def claim(self) -> str:
        """The verdict in two words at most."""
        return CLAIMS[self.verdict]

    def json_fields(self) -> dict[str, Any]:
        """The fields, and the claim."""
        return field_values(self) | {"claim": self.claim}


_ROUNDING: Final = 1e-12
"""Tolerance for bounds at zero, as they are sums of floating-point numbers."""


class OutcomeTable(NamedTuple):
    """Pairs of a 0/1 score by the outcome on each side; `improved` is wrong in the baseline and right in the other.

    Right is a value of 1, or of 0 where lower is better.
    """

    both_right: int
    improved: int
    regressed: int
    both_wrong: int

    def json_fields(self) -> dict[str, Any]:
        """The counts by name."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class MissingVerdicts:
    """Replies of two runs whose value is not known, and how far the difference depends on them.

    Args:
        baseline: replies of the baseline without a known value (unparsed, and refused where the score leaves refusals
            out), over the samples for which both runs have replies; likewise `other`.
        replies: all replies of both runs to these samples.
        bounds: limits of other - baseline whatever the missing verdicts would have been: all of them at the lowest or
            at the highest value of the score. None where the score's range is not known.
    """

    baseline: int
    other: int
    replies: int
    bounds: Interval | None

    @property
    def n(self) -> int:
        """Missing verdicts of both runs."""
        return self.baseline + self.other

    @property
    def leaves_sign_open(self) -> bool:
        """Whether the missing verdicts alone leave open which run has the higher mean.

        Where the bounds are not known, this holds as soon as half of the replies have no verdict: the comparison would
        then describe what could be parsed more than what was answered.
        """
        if not self.n:
            return False
        if self.bounds is None:
            return 2 * self.n >= self.replies
        return self.bounds.low <= _ROUNDING and self.bounds.high >= -_ROUNDING


class Methods(NamedTuple):
    """How a difference was computed; "" where it was not.

    Args:
        interval: such as `Newcombe 1998, method 10`.
        test: such as `exact McNemar`.
        adjustment: how its p-value was corrected, and for how many tests made together.
    """

    interval: str = ""
    test: str = ""
    adjustment: str = ""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The difference of one score, other run minus baseline, over the same samples.

    Args:
        group: the group it covers; "" is all pairs.
        n: pairs.
        baseline: the baseline's mean over these pairs; None when n is 0, like the next two.
        other: the other run's mean.
        difference: other - baseline, in units of the score (0.05 is five points of a rate).
        interval: of the difference; None when the pairs do not show its spread.
        p: two-sided; None when n is 0.
        table: for 0/1 scores, else None.
        unit: every value lies in [0, 1], so that the difference may be shown in points.
        methods: how interval and p were computed.
        improved: pairs that are better in the other run, in the score's direction: those that newly meet its
            threshold (0/1 scores: wrong to right), or of a score without a threshold those whose value is better.
            `regressed` the reverse; both None when n is 0.
        p_adjusted: `p` corrected for the tests that were made together with it; None where it was made alone.
        detectable: the smallest true difference that a set like this detects in 80 % of cases; None where the spread
            of the pairs is not known.
        needed: pairs that would detect a difference as large as this one in 80 % of cases; given for a headline only,
            None where nothing differs.
        stopped: the decision of a stopping rule on this difference; `interval` is then its confidence sequence, and
            there is no p-value.
        lower_is_better: the score's direction: a negative difference is then an improvement.
        missing: replies without a known value, and how far the difference depends on them; None where there are none.
        standard_error: of the difference over these pairs, by cluster; None for fewer than two independent pairs, and
            where a rule stopped the run.
    """

    group: str
    n: int
    baseline: float | None = None
    other: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    p: float | None = None
    table: OutcomeTable | None = None
    unit: bool = False
    methods: Methods = Methods()
    improved: int | None = None
    regressed: int | None = None
    p_adjusted: float | None = None
    detectable: float | None = None
    needed: int | None = None
    stopped: Stopping | None = None
    lower_is_better: bool = False
    missing: MissingVerdicts | None = None
    standard_error: float | None = None

    @property
    def decisive_p(self) -> float | None:
        """The p-value that decides the verdict: the corrected one where there is one."""
        return self.p if self.p_adjusted is None else self.p_adjusted

    @property
    def relative(self) -> float | None:
        """Difference / baseline, to be labelled as relative change; None when the baseline is 0."""
        return self.difference / self.baseline if self.baseline and self.difference is not None else None

    def json_fields(self) -> dict[str, Any]:
        """With the relative change, and the methods as fields of their own."""
        interval, test, adjustment = self.methods
        methods = {"interval_method": interval, "test": test, "adjustment": adjustment}
        return field_values(self, methods="") | methods | {"relative": self.relative}


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """The difference between two runs on a further score.

    Args:
        score: its name.
        over: as in PairComparison.
        alone: samples of both runs (of turns: conversations) with a value in the baseline alone, and in the other.
        difference: over all pairs; its p-value is adjusted for all such scores of all runs.
        verdict: of that difference.
    """

    score: str
    over: Over
    alone: tuple[int, int]
    difference: PairedDifference
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ChangedIds:
    """The samples that the difference of a headline counts as changed.

    Args:
        improvements: their ids in the baseline; `regressions` the reverse.
        regressions: likewise.
        other_ids: baseline's id -> the other run's id, where the two are not equal.
    """

    improvements: tuple[str, ...]
    regressions: tuple[str, ...]
    other_ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FurtherDifferences:
    """What differs between two runs next to the headline.

    Args:
        answered_both: the headline over the pairs that both sides answered.
        groups: the headline per group, in order of first appearance; empty when there are none.
        scores: the other scores that both runs have, in the baseline's order.
        costs: time, calls and tokens per sample; empty where the runs do not hold them.
        turns: scores of single turns, over the turns of the conversations that both runs have; `n` counts these.
        by_conversation: the difference of the means over conversations where the headline is over all turns; else None.
    """

    answered_both: PairedDifference
    groups: tuple[PairedDifference, ...] = ()
    scores: tuple[ScoreDifference, ...] = ()
    costs: tuple[CostDifference, ...] = ()
    turns: tuple[ScoreDifference, ...] = ()
    by_conversation: PairedDifference | None = None


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two runs compared on one score.

    Args:
        baseline: id of the run that was named first, `baseline_target` its target; likewise `other`, `other_target`.
        score: what is compared.
        headline: the difference other - baseline that the conclusion is about; where several pairs were compared, its
            p-value is corrected for them.
        conclusion: what may be concluded.
    """

    baseline: str
    baseline_target: str
    other: str
    other_target: str
    score: str
    headline: PairedDifference
    conclusion: Conclusion

    @property
    def verdict(self) -> Verdict:
        """The conclusion's verdict."""
        return self.conclusion.verdict

    @property
    def sentence(self) -> str:
        """What may be concluded, in full sentences."""
        return self.conclusion.sentence

    def json_fields(self) -> dict[str, Any]:
        """The fields of the conclusion as its own."""
        return field_values(self, conclusion="") | self.conclusion.json_fields()


@dataclass(frozen=True, slots=True)
class PairComparison(RunPair):
    """One run compared with the baseline: its headline, and all else that differs.

    Args:
        over: `all` counts an unparsed or refused reply as 0; `scored` compares what both sides answered.
        overlap: which samples make a pair.
        changed: ids of the samples behind it.
        further: groups, further scores, turns and costs.
        settings: in which the manifests of the runs differ, with both values and with the changed words of prompts.
        warnings: what a reader must know before believing the difference, one sentence each.
        level: of the intervals; the verdict uses p < 1 - level.
    """

    over: Over
    overlap: SampleOverlap
    changed: ChangedIds
    further: FurtherDifferences
    settings: tuple[SettingDifference, ...]
    warnings: tuple[str, ...]
    level: float

    @property
    def differs(self) -> tuple[str, ...]:
        """A phrase for each setting that differs ("model: glm-4 → qwen")."""
        return phrases_of(self.settings)

    @property
    def unanswered(self) -> OutcomeTable:
        """Of the samples in `headline.table`, those with an unparsed or refused reply in a run, which counts as 0."""
        all_samples, answered = self.headline.table, self.further.answered_both.table
        empty = OutcomeTable(0, 0, 0, 0)
        return OutcomeTable(
            *(total - part for total, part in zip(all_samples or empty, answered or empty, strict=True))
        )

    def json_fields(self) -> dict[str, Any]:
        """The fields of its parts as its own."""
        unpaired = [part._asdict() for part in self.overlap.unpaired]
        parts = self.overlap._asdict() | {"unpaired": unpaired}
        parts |= field_values(self.changed) | field_values(self.further) | self.conclusion.json_fields()
        own = field_values(self, overlap="", changed="", further="", conclusion="")
        return own | parts | {"differs": self.differs}


CellState = Literal["within", "worse", "open"]


@dataclass(frozen=True, slots=True)
class GridCell:
    """One prompt with one model.

    Args:
        run: id of its run; `target` its name.
        target: its target's name.
        prompt: the target's tag; likewise `model`.
        mean: the score's headline.
        share: whether the score is a share.
        unparsed: replies in which the score found no verdict.
        refused: replies that a model or a content filter refused.
        errors: records that failed.
        cost: of 1,000 records, judges not included; None where prices are not known.
        currency: of the cost.
        tokens: of 1,000 records, in and out.
        time: `latency`, without queueing and retries, or `seconds`, wall time of a target that asks no model.
        p50: seconds that half of the samples do not exceed; None where no record is stored; likewise `p95`.
        state: `within` the margin, shown to be `worse` than another cell by more than that, or `open`.
    """

    run: str
    target: str
    prompt: str
    model: str
    mean: Mean
    share: bool
    unparsed: int
    refused: int
    errors: int
    cost: float | None
    currency: str
    tokens: float
    time: str
    p50: float | None
    p95: float | None
    state: CellState = "open"


@dataclass(frozen=True, slots=True)
class PromptDifference:
    """One prompt against the baseline prompt.

    Args:
        prompt: which.
        model: on which; "" is over all models: each sample's differences are averaged over them.
        difference: prompt - baseline prompt, over samples.
        verdict: with p-values corrected: over all models after Holm, of single models after Benjamini and Hochberg.
        run: id of the prompt's run, and of the baseline prompt's; "" over all models.
        against: the same of the baseline prompt.
    """

    prompt: str
    model: str
    difference: PairedDifference
    verdict: Verdict
    run: str = ""
    against: str = ""


@dataclass(frozen=True, slots=True)
class GridComparison:
    """The runs of prompts x models, compared.

    Args:
        score: what is compared.
        cells: in the order of the runs.
        prompts: prompt against baseline prompt; empty with a single prompt.
        baseline: the baseline prompt: the first.
        margin: as a share of the score's scale; 0.03 is three points of a rate.
        n: samples with a value in every cell.
        best: target with the highest mean over these samples, the lowest where lower is better; "" where there is none.
        chosen: the cheapest cell within the margin; "" where no cell is shown to be within it.
        needed: about how many samples would show the best cell to be within the margin, or a cheaper one that may be
            within it; None where none are needed, or that cannot be known.
        sentence: which to ship, or why that cannot be told.
        level: of the intervals.
    """

    score: str
    cells: tuple[GridCell, ...]
    prompts: tuple[PromptDifference, ...]
    baseline: str
    margin: float
    n: int
    best: str
    chosen: str
    needed: int | None
    sentence: str
    level: float

    @property
    def prompt_names(self) -> list[str]:
        """The prompts, the baseline first."""
        return list(dict.fromkeys(cell.prompt for cell in self.cells))

    @property
    def model_names(self) -> list[str]:
        """The models in order."""
        return list(dict.fromkeys(cell.model for cell in self.cells))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs compared with the first.

    Args:
        baseline: summary of the first run.
        others: summaries of the other runs, in order.
        score: what is compared.
        pairs: one per other run, in the same order.
        notes: how p-values are corrected over the pairs, and which groups are compared.
        group_notes: what a reader must know about the pairs' groups.
        score_notes: the same for the further scores.
        only_groups: the groups that the comparison was restricted to; empty where it covers all.
        all_pairs: every two of the runs, in order, where all were compared with each other; else empty.
        grid: which to ship, where the runs are prompts x models; else None.
    """

    baseline: RunSummary
    others: tuple[RunSummary, ...]
    score: str
    pairs: tuple[PairComparison, ...]
    notes: tuple[str, ...] = ()
    group_notes: tuple[str, ...] = ()
    score_notes: tuple[str, ...] = ()
    only_groups: tuple[str, ...] = ()
    all_pairs: tuple[RunPair, ...] = ()
    grid: GridComparison | None = None

    @property
    def shown_grid(self) -> GridComparison | None:
        """The grid where it is shown in place of the pairs; two cells are one difference."""
        return self.grid if len(self.pairs) > 1 else None

    def json_fields(self) -> dict[str, Any]:
        """Runs by their ids: their summaries are values of their own."""
        return field_values(self) | {"baseline": self.baseline.run, "others": [other.run for other in self.others]}

    def __str__(self) -> str:
        grid = self.shown_grid
        return grid.sentence if grid else "\n".join([pair.conclusion.sentence for pair in self.pairs])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self)
