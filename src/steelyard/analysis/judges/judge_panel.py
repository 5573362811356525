"""Several judges compared with the same labels: which is closest to people, and the cheapest not worse.

All judges are compared on the same labelled records. The intervals of all pairs hold together (Bonferroni), so that a
judge may be picked by them: the best of several is partly the luckiest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

import numpy as np

from steelyard.analysis.intervals import Mean
from steelyard.analysis.joint_values import JointDifference, JointValues, is_not_worse
from steelyard.analysis.judges.judge_agreement import agreement_with_people
from steelyard.analysis.judges.judged_score import JudgedScore, units_of
from steelyard.analysis.judges.jury import jury_as_judge, jury_of
from steelyard.analysis.judges.rater_findings_values import (
    FEWEST,
    JudgeAgreement,
    JudgePanel,
    JuryVote,
    JuryVotes,
    PanelJudge,
)
from steelyard.analysis.numbers import count_text, points_text
from steelyard.analysis.run_data import LabelDraw
from steelyard.analysis.scores.score_infos import JURY
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import wilson_clustered
from steelyard.stats.judged import labelled_part
from steelyard.types import Label

MARGIN: Final = 0.05


class JudgeCost(NamedTuple):
    """Calls, tokens and money of a judge's verdicts; see `PanelJudge`."""

    calls: int = 0
    tokens: int = 0
    money: float | None = None
    currency: str = ""


def judge_panel(  # noqa: PLR0913  # verdicts, labels and how they were drawn, and what to compute
    judged: Mapping[str, JudgedScore],
    thing: str,
    labels: Sequence[Label],
    *,
    draw: LabelDraw | None = None,
    costs: Mapping[str, JudgeCost] | None = None,
    vote: JuryVote | Literal[""] = "",
    margin: float = MARGIN,
    level: float = 0.95,
) -> JudgePanel:
    """Compare several judges with the same labels, and with each other.

    Args:
        judged: judge -> the score that is its verdict.
        thing: what they judge.
        labels: of people, of one name; without any there are only the judges and their jury.
        draw: how the labelled records were drawn.
        costs: judge -> what it cost; without it nothing is known of costs.
        vote: of the jury of all judges; "" is not a jury.
        margin: by how much a judge may be worse and still count as not worse, as a share.
        level: at which the intervals of all pairs hold together.

    What cannot be compared, or voted on, is not an error: the panel says why.
    """
    draw, costs = draw or LabelDraw(), costs or {}
    judges = [
        _panel_judge(name, score, agreement_with_people(score, labels, draw), costs.get(name, JudgeCost()))
        for name, score in judged.items()
    ]
    votes = jury_of(thing, judged, vote) if vote else JuryVotes()
    if votes.vote:
        jury = jury_as_judge(votes, judged)
        judges = _with_jury(judges, judged, jury, agreement_with_people(jury, labels, draw))
    against = labels[0].name if labels else ""
    panel = JudgePanel(thing, against, tuple(judges), (), margin, "", "", votes, level)
    problems = [f"{judge.name}: {judge.agreement.problem}" for judge in judges if judge.agreement.problem]
    if problems:
        return replace(panel, reason=problems[0])
    paired = _paired([judge.agreement for judge in judges])
    if paired is not None:
        return _compared(panel, paired)
    labelled = min((judge.agreement.counts.labelled for judge in judges), default=0)
    return replace(panel, reason=f"{count_text(labelled, 'labelled record')}; a comparison of judges needs {FEWEST}")


def _panel_judge(name: str, score: JudgedScore, agreement: JudgeAgreement, cost: JudgeCost) -> PanelJudge:
    verdicts = score.known.values()
    mean = math.fsum(verdicts) / len(verdicts) if verdicts else None
    return PanelJudge(name, score.score, agreement, mean, None, None, *cost)


def _with_jury(
    judges: Sequence[PanelJudge], judged: Mapping[str, JudgedScore], jury: JudgedScore, agreement: JudgeAgreement
) -> list[PanelJudge]:
    """The judges and their jury, which costs what all members cost."""
    members = [replace(judge, with_jury=_with_verdicts(judged[judge.name], jury)) for judge in judges]
    money = [judge.money for judge in members if judge.money is not None]
    cost = JudgeCost(
        sum(judge.calls for judge in members),
        sum(judge.tokens for judge in members),
        math.fsum(money) if len(money) == len(members) else None,
        members[0].currency,
    )
    return [*members, replace(_panel_judge(JURY, jury, agreement, cost), score="", is_jury=True)]


def _with_verdicts(judge: JudgedScore, jury: JudgedScore) -> Mean | None:
    """The share of records on which a judge agrees with the jury."""
    verdicts = judge.known
    same = {record: float(verdicts[record] == of_jury) for record, of_jury in jury.known.items() if record in verdicts}
    if not same:
        return None
    equal = list(same.values())
    return Mean(
        math.fsum(equal) / len(equal), wilson_clustered(equal, clusters=units_of(same, jury.clusters)), len(equal)
    )


def _paired(agreements: Sequence[JudgeAgreement]) -> JointValues | None:
    """How close each judge comes to people on the records that all were asked about; None below 30 labelled ones."""
    compared = [agreement.compared for agreement in agreements]
    records = [record for record in compared[0] if all(record in other for other in compared)] if compared else []
    data = agreements[0].data if agreements else None
    if data is None or len(records) < FEWEST:
        return None
    pairs = np.array([[side[record] for record in records] for side in compared])
    labels, verdicts = pairs[:, :, 0], pairs[:, :, 1]
    binary = bool(np.isin(pairs[~np.isnan(pairs)], (0.0, 1.0)).all())
    right = (labels == verdicts).astype(float) if binary else _closeness(labels, verdicts, agreements[0].scale)
    _, _, all_weights, units = labelled_part(data)
    row_of = {record: row for row, record in enumerate(compared[0])}
    rows = [row_of[record] for record in records]
    clusters = None if units is None else np.unique(units[rows], return_inverse=True)[1]
    clusters = None if clusters is not None and len(np.unique(clusters)) == len(rows) else clusters
    weights = all_weights[rows]
    return JointValues(right, binary, clusters, weights if float(np.ptp(weights)) > 0 else None)


def _closeness(labels: Array, verdicts: Array, scale: tuple[float, float] | None) -> Array:
    """1 minus the distance as a share of the range; 0 where there is no verdict."""
    low, high = scale or (float(np.nanmin([labels, verdicts])), float(np.nanmax([labels, verdicts])))
    distance = np.abs(labels - verdicts) / ((high - low) or 1.0)
    return np.where(np.isnan(distance), 0.0, 1 - np.minimum(1.0, distance))


def _compared(panel: JudgePanel, paired: JointValues) -> JudgePanel:
    """The panel with the figures of its judges and the choice among them."""
    judges = []
    n = paired.values.shape[1]
    for judge, right in zip(panel.judges, paired.values, strict=True):
        value, interval = paired.mean(right, panel.level)
        judges.append(replace(judge, right=Mean(value, interval, n)))
    differences = paired.differences([judge.name for judge in judges], panel.level)
    chosen, reason = _cheapest_not_worse(judges, differences, panel.margin)
    return replace(panel, judges=tuple(judges), differences=differences, chosen=chosen, reason=reason)


def _cheapest_not_worse(
    judges: Sequence[PanelJudge], differences: Sequence[JointDifference], margin: float
) -> tuple[str, str]:
    """The cheapest judge whose every difference to another lies above -margin, or why there is none."""
    if len(judges) < 2:
        return "", "there is only one judge"
    priced = all(judge.money is not None for judge in judges)
    for judge in sorted(judges, key=lambda judge: (judge.money or 0.0) if priced else judge.tokens):
        if is_not_worse(judge.name, differences, margin):
            return judge.name, ""
    n = count_text(differences[0].n, "labelled record")
    return "", (
        f"{n} do not show of any judge that it is at most {points_text(margin)} worse than every other: label more, "
        "or choose a wider margin"
    )
