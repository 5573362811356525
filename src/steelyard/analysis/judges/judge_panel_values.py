"""Several judges compared with the same labels: each one's agreement and cost, and how they differ. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from steelyard.analysis.intervals import Mean
from steelyard.plain_json import field_values

if TYPE_CHECKING:
    from steelyard.analysis.joint_values import JointDifference
    from steelyard.analysis.judges.judge_agreement_values import JudgeAgreement
    from steelyard.analysis.judges.jury import JuryVote
    from steelyard.analysis.run_data import RecordPlace
    from steelyard.stats.intervals import Interval

CheckName = Literal["length", "self-preference", "repeat consistency", "scale use", "position", "injection canary"]


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
        value: the figure; None where there is none, with the reason in `reason`.
        interval: of the figure.
        n: number of records.
        meaning: what the figure is, as a clause.
        reason: why there is no figure; "" where there is one.
        share: whether it is a share, which is shown in percent.
        about: what else to know of the figure, as a phrase.
        thing: what the judge rates; "" where it is not given.
    """

    judge: str
    name: CheckName
    value: float | None
    interval: Interval | None
    n: int
    meaning: str
    reason: str = ""
    share: bool = True
    about: str = ""
    thing: str = ""


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """Several judges of the same answers, compared with the same labels.

    Args:
        thing: what they judge.
        against: name of the labels; "" where there are none.
        judges: in order, a jury last.
        differences: of every pair of them, by how much closer the first comes to people (`PanelJudge.right`); empty
            below 30 labelled records.
        margin: by how much a judge may be worse and still count as not worse.
        chosen: the cheapest judge that is not worse than any other by more than the margin; "" where none is shown to
            be, and `reason` says so.
        reason: why there is none; "" where there is one.
        vote: how the jury's verdicts were made; "" without a jury.
        vote_reason: why the configured vote was not used, or why there is no jury; "" where neither applies.
        level: at which all intervals of `differences` hold together.
        jury_score: name of the jury's score in gates and summaries; "" without a jury.
        verdicts: record -> the jury's verdict, see `jury.JuryVerdicts`; empty without a jury. None where more than
            half of the members gave no verdict: one of three is not a jury.
        few_votes: records on which fewer than two members, or fewer than half of them, gave a verdict.
        divided: records on which enough members gave a verdict and no one had the most votes.
    """

    thing: str
    against: str
    judges: tuple[PanelJudge, ...]
    differences: tuple[JointDifference, ...]
    margin: float
    chosen: str
    reason: str
    vote: JuryVote | Literal[""] = ""
    vote_reason: str = ""
    level: float = 0.95
    jury_score: str = ""
    verdicts: Mapping[RecordPlace, float | None] = field(default_factory=dict)
    few_votes: int = 0
    divided: int = 0

    def json_fields(self) -> dict[str, Any]:
        """Without the verdict on each record."""
        return field_values(self, verdicts="")

    @property
    def few_votes_note(self) -> str:
        """On how many records members gave too few verdicts, as a clause; "" where they gave enough."""
        if not self.few_votes:
            return ""
        return (
            f"on {self.few_votes:,} of {len(self.verdicts):,} records fewer than two of the jury's "
            f"{len(self.judges) - 1} members, or fewer than half of them, gave a verdict"
        )

    @property
    def divided_note(self) -> str:
        """On how many records votes were even, as a clause; "" where none were."""
        if not self.divided:
            return ""
        count = f"{self.divided:,} of {len(self.verdicts):,} records"
        return f"on {count} no verdict had the most votes, so that the jury has none"

    @property
    def vote_notes(self) -> tuple[str, ...]:
        """What to know of the jury's verdicts: how they were made where not by the configured vote; records without."""
        made = (
            f"the jury's verdicts are made by {self.vote}, because of: {self.vote_reason}" if self.vote_reason else ""
        )
        notes = (made, self.few_votes_note, self.divided_note) if self.vote else ()
        return tuple(f"{self.jury_score}: {note}" for note in notes if note)

    @property
    def jury(self) -> PanelJudge | None:
        """The jury of all judges; None where there is none."""
        return next((judge for judge in self.judges if judge.is_jury), None)
