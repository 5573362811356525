"""What is known of a judge compared with people's labels: agreement, error rates, the corrected mean. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judges.rater_agreement_values import Agreement
from steelyard.analysis.run_data import RecordPlace
from steelyard.plain_json import field_values

if TYPE_CHECKING:
    from steelyard.stats.corrected import CorrectedMean
    from steelyard.stats.judged import JudgedLabels, VerdictRates
    from steelyard.stats.labels_needed import LabelsNeeded
    from steelyard.stats.rating_bootstrap import Coefficient


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
class JudgeAgreement:
    """A score of a judge compared with people's labels.

    Args:
        score: the judge's.
        against: name of the labels.
        records: that the judge was asked about.
        verdicts: of these, records that it gave a verdict on.
        labelled: of these, records with a label that counts.
        both: of these, records with a verdict.
        raters: who labelled.
        several: records that two or more people labelled.
        tied: records on which as many people say one thing as another; left out.
        elsewhere: labels on records without this score.
        examples: records whose label is not counted, as a prompt of the run contains them.
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
        places: the records of `data`, in its order.
    """

    score: str
    against: str
    records: int
    verdicts: int
    labelled: int
    both: int
    raters: tuple[str, ...]
    several: int
    tied: int
    elsewhere: int
    examples: tuple[RecordPlace, ...]
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
    places: tuple[RecordPlace, ...] = ()

    def json_fields(self) -> dict[str, Any]:
        """Without the labels themselves."""
        return field_values(self, data="", places="")
