"""Several judges compared with the same labels: which is closest to people, and the cheapest not worse.

All judges are compared on the same labelled records. The intervals of all pairs hold together (Bonferroni), so that a
judge may be picked by them: the best of several is partly the luckiest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from steelyard.analysis.intervals import Mean
from steelyard.analysis.joint_values import JointDifference, JointValues, is_not_worse
from steelyard.analysis.judges.judge_agreement import JudgedScore, agreement_with_people
from steelyard.analysis.judges.judge_agreement_values import JudgeAgreement
from steelyard.analysis.judges.judge_panel_values import JudgePanel, PanelJudge
from steelyard.analysis.judges.jury import JuryVote, few_votes, jury_verdicts, no_jury
from steelyard.analysis.judges.rater_agreement_values import FEWEST
from steelyard.analysis.numbers import count_text, points_text
from steelyard.analysis.run_data import LabelDraw, RecordPlace
from steelyard.analysis.scores.score_infos import JURY, jury_score
from steelyard.types import Label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

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
    members = [
        _panel_judge(name, score, agreement_with_people(score, labels, draw), costs.get(name, JudgeCost()))
        for name, score in judged.items()
    ]
    panel = JudgePanel(thing, labels[0].name if labels else "", tuple(members), (), margin, "", "", level=level)
    if vote:
        panel = _with_jury(panel, judged, vote, agreed=lambda score: agreement_with_people(score, labels, draw))
    problem = next(
        (f"{judge.name}: {judge.agreement.problem}" for judge in panel.judges if judge.agreement.problem), ""
    )
    if problem:
        return replace(panel, reason=problem)
    paired = _paired([judge.agreement for judge in panel.judges])
    if paired is not None:
        return _compared(panel, paired)
    labelled = min((judge.agreement.labelled for judge in panel.judges), default=0)
    return replace(panel, reason=f"{count_text(labelled, 'labelled record')}; a comparison of judges needs {FEWEST}")


def _panel_judge(name: str, score: JudgedScore, agreement: JudgeAgreement, cost: JudgeCost) -> PanelJudge:
    verdicts = [verdict for verdict in score.verdicts.values() if verdict is not None]
    mean = math.fsum(verdicts) / len(verdicts) if verdicts else None
    return PanelJudge(name, score.score, agreement, mean, None, None, *cost)


def _with_jury(
    panel: JudgePanel,
    judged: Mapping[str, JudgedScore],
    vote: JuryVote,
    agreed: Callable[[JudgedScore], JudgeAgreement],
) -> JudgePanel:
    """The panel with its jury, which costs what all members cost."""
    if reason := no_jury([score.info.range if score.info else None for score in judged.values()]):
        return replace(panel, vote_reason=reason)
    votes = jury_verdicts({name: score.verdicts for name, score in judged.items()}, vote)
    few = few_votes([score.verdicts for score in judged.values()])
    jury = jury_as_judge(JURY, judged, votes.verdicts)
    members = [replace(judge, with_jury=_with_verdicts(judged[judge.name].verdicts, jury)) for judge in panel.judges]
    money = [judge.money for judge in members if judge.money is not None]
    cost = JudgeCost(
        sum(judge.calls for judge in members),
        sum(judge.tokens for judge in members),
        math.fsum(money) if len(money) == len(members) else None,
        members[0].currency,
    )
    chair = replace(_panel_judge(JURY, jury, agreed(jury), cost), score="", is_jury=True)
    return replace(
        panel,
        judges=(*members, chair),
        vote=votes.vote,
        vote_reason=votes.why,
        jury_score=jury_score(panel.thing),
        verdicts=votes.verdicts,
        few_votes=len(few),
        divided=sum(verdict is None and record not in few for record, verdict in votes.verdicts.items()),
    )


def jury_as_judge(
    score: str, judged: Mapping[str, JudgedScore], verdicts: Mapping[RecordPlace, float | None]
) -> JudgedScore:
    """The verdicts of a jury as those of one judge, on the scale of its members.

    Args:
        score: the name of the jury's score.
        judged: judge -> the score that is its verdict.
        verdicts: of the jury.
    """
    # A member knows the groups of the records alone that it was asked about, and the jury's are those of all members.
    groups = {record: group for member in judged.values() for record, group in member.groups.items()}
    return next(iter(judged.values()))._replace(score=score, verdicts=verdicts, groups=groups)


def _with_verdicts(verdicts: Mapping[RecordPlace, float | None], jury: JudgedScore) -> Mean | None:
    """The share of records on which a judge agrees with the jury."""
    from steelyard.stats.intervals import wilson_clustered

    records = [
        record for record, verdict in jury.verdicts.items() if verdict is not None and verdicts.get(record) is not None
    ]
    if not records:
        return None
    same = [float(verdicts[record] == jury.verdicts[record]) for record in records]
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(jury.clusters.get(record, record[0]), len(numbers)) for record in records]
    return Mean(math.fsum(same) / len(same), wilson_clustered(same, clusters=units), len(same))


def _paired(agreements: Sequence[JudgeAgreement]) -> JointValues | None:
    """How close each judge comes to people on the records that all were asked about; None below 30 labelled ones."""
    import numpy as np

    from steelyard.stats.judged import labelled_part

    sides = [agreement.data for agreement in agreements if agreement.data is not None]
    if len(sides) < len(agreements) or len(agreements) < 1:
        return None
    labelled = [_labelled(agreement) for agreement in agreements]
    records = [record for record in labelled[0] if all(record in other for other in labelled[1:])]
    if len(records) < FEWEST:
        return None
    pairs = np.array([[side[record] for record in records] for side in labelled])
    labels, verdicts = pairs[:, :, 0], pairs[:, :, 1]
    binary = bool(np.isin(pairs[~np.isnan(pairs)], (0.0, 1.0)).all())
    right = (labels == verdicts).astype(float) if binary else _closeness(labels, verdicts, agreements[0].scale)
    numbers = labelled_part(sides[0])
    row_of = dict(zip(labelled[0], range(len(labelled[0])), strict=True))
    rows = [row_of[record] for record in records]
    clusters = None if numbers[3] is None else np.unique(numbers[3][rows], return_inverse=True)[1]
    clusters = None if clusters is not None and len(np.unique(clusters)) == len(rows) else clusters
    weights = numbers[2][rows]
    return JointValues(right, binary, clusters, weights if float(np.ptp(weights)) > 0 else None)


def _labelled(agreement: JudgeAgreement) -> dict[RecordPlace, tuple[float, float]]:
    """Labelled record -> people's label and the judge's verdict, NaN where it gave none."""
    import numpy as np

    if agreement.data is None:
        return {}
    labels, verdicts = (np.asarray(side).tolist() for side in (agreement.data.labels, agreement.data.verdicts))
    rows = zip(agreement.places, labels, verdicts, strict=True)
    return {record: (label, verdict) for record, label, verdict in rows if not math.isnan(label)}


def _closeness(labels: Array, verdicts: Array, scale: tuple[float, float] | None) -> Array:
    """1 minus the distance as a share of the range; 0 where there is no verdict."""
    import numpy as np

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
