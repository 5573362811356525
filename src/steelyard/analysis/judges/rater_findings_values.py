"""What judges and people say of a run: agreement of raters, judges against people, panels of judges, and checks.

Values only. `RaterFindings` holds them all; each figure has its interval and n, or a reason why there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from steelyard.analysis.intervals import Mean
from steelyard.analysis.joint_values import JointDifference
from steelyard.analysis.run_data import RecordPlace
from steelyard.analysis.scores.score_summary_values import LabelEffect, ScoreSummary
from steelyard.plain_json import field_values
from steelyard.stats.agreement import RatingScale
from steelyard.stats.corrected import CorrectedMean
from steelyard.stats.correlation import Coefficient
from steelyard.stats.intervals import Interval
from steelyard.stats.judged import JudgedLabels, VerdictRates
from steelyard.stats.labels_needed import LabelsNeeded

RaterKind = Literal["score", "label"]
CheckName = Literal["length", "self-preference", "repeat consistency", "scale use", "position", "injection canary"]

FEWEST: Final = 30
"""Fewest records with two labels for a coefficient: with fewer, its interval would span nearly everything."""


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater of something.

    Args:
        name: the score's name, or the author of the labels.
        kind: `score` or `label`.
        mean: of the ratings, with its interval and standard error; None where they are not numbers.
        n: ratings.
    """

    name: str
    kind: RaterKind
    mean: Mean | None
    n: int


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters of the same thing.

    Args:
        first: a rater's name; likewise `second`.
        n: records that both rated.
        one_only: records that one of them rated and the other did not.
        equal: share of these `n` with equal ratings; None where there are none.
        coefficients: by scale. Nominal: kappa. Ordinal: kappa with quadratic weights, Spearman, Pearson. Of
            any other numbers: Pearson, Spearman.
    """

    first: str
    second: str
    n: int
    one_only: int
    equal: float | None
    coefficients: tuple[Coefficient, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of all raters of one score.

    Args:
        rated: what they rate: the name of a score.
        scale: `nominal` (0 or 1, or texts), `ordinal` (few whole or half numbers), `interval` (any other numbers).
        raters: the scores first, then people.
        pairs: each with each, in this order.
        alpha: Krippendorff's, over all raters and every record with two ratings or more.
        share: every rating is a number in [0, 1], so that means are shown in percent.
    """

    rated: str
    scale: RatingScale
    raters: tuple[Rater, ...]
    pairs: tuple[RaterPair, ...]
    alpha: Coefficient
    share: bool

    @property
    def kappa(self) -> Coefficient | None:
        """Cohen's kappa of the first two raters; None of ratings that are no categories."""
        return next((found for found in self.pairs[0].coefficients if found.name == "cohen_kappa"), None)

    def __str__(self) -> str:
        pairs = (f"  {pair.first}, {pair.second}: {'; '.join(map(str, pair.coefficients))}" for pair in self.pairs)
        return "\n".join([f"{self.rated} ({self.scale}): {self.alpha}", *pairs])


@dataclass(frozen=True, slots=True)
class ConfusionCount:
    """Records with one label of people's and one verdict of the judge's: how many, and which.

    Args:
        label: people's; likewise `verdict`, None where the judge's reply gave none.
        n: records.
        records: the first of them, where label and verdict differ.
    """

    label: float
    verdict: float | None
    n: int
    records: tuple[RecordPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """The agreement within one group; figures are None below 30 records that both rated."""

    group: str
    n: int
    equal: Mean | None
    kappa: Coefficient | None


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The records of a judge's score and people's labels on them.

    Args:
        records: that the judge was asked about.
        verdicts: of these, records that it gave a verdict on.
        labelled: of these, records with a label that counts.
        both: of these, records with a verdict.
        raters: who labelled.
        several: records that two or more people labelled.
        tied: records on which as many people say one thing as another; left out.
        elsewhere: labels on records without this score.
        examples: records whose label is not counted, as a prompt of the run contains them.
    """

    records: int
    verdicts: int
    labelled: int
    both: int
    raters: tuple[str, ...]
    several: int
    tied: int
    elsewhere: int
    examples: tuple[RecordPlace, ...]


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A score of a judge compared with people's labels.

    Args:
        score: the judge's.
        against: name of the labels.
        counts: of records and labels.
        share: every value is in [0, 1], so that means are shown in percent.
        scale: lowest and highest possible value; None where the score declares none.
        problem: why labels and score cannot be compared; "" where they can. All below is empty then.
        judged: agreement of the judge with the people together; None below 30 records.
        equal: the share of records on which both say the same, by cluster; likewise.
        people: agreement of people among themselves, which a judge can hardly exceed; None below 30 records.
        rates: TPR, TNR and predictive values of binary verdicts; None below 30 records, or of other verdicts.
        table: label by verdict; empty for more than 11 different values.
        groups: where the run has groups.
        corrected: what people would say on average of all records.
        half_width: target of `needed`.
        needed: further labels until the corrected mean is known to `half_width`.
        warnings: whole sentences.
        data: what all figures are computed from, for a difference between two runs.
        compared: labelled record -> people's label and the judge's verdict, NaN where it gave none.
    """

    score: str
    against: str
    counts: LabelCounts
    share: bool
    scale: tuple[float, float] | None = None
    problem: str = ""
    judged: Agreement | None = None
    equal: Mean | None = None
    people: Agreement | None = None
    rates: VerdictRates | None = None
    table: tuple[ConfusionCount, ...] = ()
    groups: tuple[GroupAgreement, ...] = ()
    corrected: CorrectedMean | None = None
    half_width: float | None = None
    needed: LabelsNeeded | None = None
    warnings: tuple[str, ...] = ()
    data: JudgedLabels | None = None
    compared: Mapping[RecordPlace, tuple[float, float]] = field(default_factory=dict)

    def json_fields(self) -> dict[str, Any]:
        """With the counts as fields of its own, and without the labels themselves."""
        return field_values(self, counts="", data="", compared="") | field_values(self.counts)


@dataclass(frozen=True, slots=True)
class PanelJudge:
    """One judge of a panel, or its jury.

    Args:
        name: of the judge.
        score: that holds its verdicts; "" of a jury.
        agreement: that score compared with people's labels; counts alone where there are none.
        mean: of its verdicts.
        with_jury: the share of records on which it agrees with the jury; None without a jury, and for the jury.
        right: how close it comes to people on the labelled records; 1 is equal. For pass and fail it is the share of
            equal verdicts, for ratings 1 minus the mean distance as a share of the range. A record without a verdict
            counts 0. None below 30 records.
        calls: replies that its verdicts took, those from the journal included; of a jury, those of its members.
        tokens: of all these, in and out.
        money: what they cost; None where a price is not known.
        currency: of the money.
        is_jury: whether it is the jury of the others.
    """

    name: str
    score: str
    agreement: JudgeAgreement
    mean: float | None
    with_jury: Mean | None
    right: Mean | None
    calls: int
    tokens: int
    money: float | None
    currency: str = ""
    is_jury: bool = False


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """One check of a judge on the records of a run.

    Args:
        judge: its name.
        name: of the check.
        meaning: what the figure is, as a clause.
        share: whether it is a share, which is shown in percent.
        value: the figure; None where there is none, with the reason in `reason`.
        interval: of the figure.
        n: number of records.
        reason: why there is no figure; "" where there is one.
        about: what else to know of the figure, as a phrase.
        thing: what the judge rates; "" where it is not given.
    """

    judge: str
    name: CheckName
    meaning: str
    share: bool = True
    value: float | None = None
    interval: Interval | None = None
    n: int = 0
    reason: str = ""
    about: str = ""
    thing: str = ""


JuryVote = Literal["majority", "mean"]


@dataclass(frozen=True, slots=True)
class JuryVotes:
    """The joint verdicts of several judges.

    Args:
        score: name of the jury's score in gates and summaries; "" without a jury.
        vote: how the verdicts were made; "" without a jury.
        why: why the configured vote was not used, or why there is no jury, as a clause; "" where neither applies.
        verdicts: of every record that a member was asked about; None where fewer than half of the members gave one, or
            votes are even: one of three is not a jury.
        members: how many there are.
        few_votes: records on which fewer than two members, or fewer than half of them, gave a verdict.
        divided: records on which enough members gave a verdict and no one had the most votes.
    """

    score: str = ""
    vote: JuryVote | Literal[""] = ""
    why: str = ""
    verdicts: Mapping[RecordPlace, float | None] = field(default_factory=dict)
    members: int = 0
    few_votes: int = 0
    divided: int = 0

    def json_fields(self) -> dict[str, Any]:
        """Without the verdict on each record."""
        return field_values(self, verdicts="")

    @property
    def missing(self) -> tuple[str, ...]:
        """On how many records the jury has no full verdict, and why, as clauses."""
        few = (
            f"on {self.few_votes:,} of {len(self.verdicts):,} records fewer than two of the jury's {self.members} "
            "members, or fewer than half of them, gave a verdict"
        )
        divided = (
            f"on {self.divided:,} of {len(self.verdicts):,} records no verdict had the most votes, so that the jury "
            "has none"
        )
        return (*((few,) if self.few_votes else ()), *((divided,) if self.divided else ()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the verdicts: how they were made where not by the configured vote; records without."""
        if not self.vote:
            return ()
        made = (f"the jury's verdicts are made by {self.vote}, because of: {self.why}",) if self.why else ()
        return tuple(f"{self.score}: {note}" for note in (*made, *self.missing))


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """Several judges of the same answers, compared with the same labels.

    Args:
        thing: what they judge.
        against: name of the labels; "" where there are none.
        judges: in order, a jury last.
        differences: of every pair of them; empty below 30 labelled records.
        margin: by how much a judge may be worse and still count as not worse.
        chosen: the cheapest judge that is not worse than any other by more than the margin; "" where none is shown to
            be, and `reason` says so.
        reason: why there is none; "" where there is one.
        votes: of their jury.
        level: at which all intervals of `differences` hold together.
    """

    thing: str
    against: str
    judges: tuple[PanelJudge, ...]
    differences: tuple[JointDifference, ...]
    margin: float
    chosen: str
    reason: str
    votes: JuryVotes = JuryVotes()
    level: float = 0.95

    @property
    def jury(self) -> PanelJudge | None:
        """The jury of all judges; None where there is none."""
        return next((judge for judge in self.judges if judge.is_jury), None)


@dataclass(frozen=True, slots=True)
class RaterFindings:
    """What judges and people say of a run; of these, all but `agreement` are empty where a rule ended the run.

    Args:
        agreement: of judges and people, for each thing that two or more of them rated.
        held_to_people: each score that people labelled, compared with their labels.
        panels: several judges of one thing, compared with the same labels.
        checks: whether something else than the answer influences the verdicts of judges.
        jury_scores: of each panel with a jury, the mean of its verdicts, then that of each group.
        labelled: where people's verdicts on replies are counted, what they changed; None where only the scores are.
    """

    agreement: tuple[Agreement, ...] = ()
    held_to_people: tuple[JudgeAgreement, ...] = ()
    panels: tuple[JudgePanel, ...] = ()
    checks: tuple[JudgeCheck, ...] = ()
    jury_scores: tuple[ScoreSummary, ...] = ()
    labelled: LabelEffect | None = None

    def agreement_with_people(self, name: str) -> JudgeAgreement | None:
        """A score or a jury compared with people's labels; None where nobody labelled it."""
        juries = {panel.votes.score: panel.jury.agreement for panel in self.panels if panel.jury is not None}
        by_score = {agreement.score: agreement for agreement in self.held_to_people} | juries
        return by_score.get(name)
