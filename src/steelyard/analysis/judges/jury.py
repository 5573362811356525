"""Joint verdicts of several judges on each record: the majority or the mean.

A jury's verdict is computed from the stored verdicts of its members when it is read, so that it cannot differ from
them after a record is added or scored again.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-judges.md

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from steelyard.analysis.run_data import RecordPlace

JuryVote = Literal["majority", "mean"]
Verdicts = Mapping[RecordPlace, float | None]
"""Record -> verdict; None where a judge was asked and gave none."""


class JuryVerdicts(NamedTuple):
    """The verdicts of a jury.

    Args:
        verdicts: of every record that a member was asked about; None where fewer than half of the members gave one, or
            votes are even: one of three is not a jury.
        vote: how they were made.
        why: why another vote was used than the configured one, as a clause; "" where it was not.
    """

    verdicts: dict[RecordPlace, float | None]
    vote: JuryVote
    why: str = ""


def jury_verdicts(members: Mapping[str, Verdicts], vote: JuryVote) -> JuryVerdicts:
    """The verdicts of a jury, from those of its members.

    A member without a verdict on a record does not vote on it, and where fewer than half of them vote there is none.
    The mean of passes and fails would be a share and not a verdict, so that these are voted on.

    Args:
        members: judge -> its verdicts, two judges or more.
        vote: how they become one.

    >>> jury_verdicts({"a": {("1", 0): 1.0}, "b": {("1", 0): 0.0}, "c": {("1", 0): 1.0}}, "majority")[0]
    {('1', 0): 1.0}
    """
    jury = _voted(members, vote)
    votes = few_votes(list(members.values()))
    undervoted = {record for record, count in votes.items() if 2 * count < len(members)}
    return jury._replace(
        verdicts={record: None if record in undervoted else verdict for record, verdict in jury.verdicts.items()}
    )


def _voted(members: Mapping[str, Verdicts], vote: JuryVote) -> JuryVerdicts:
    """The verdicts by the chosen vote, however few members voted."""
    records = dict.fromkeys(record for verdicts in members.values() for record in verdicts)
    votes = {record: _votes_on(members, record) for record in records}
    binary = all(value in {0.0, 1.0} for values in votes.values() for value in values)
    if vote == "mean" and not binary:
        means = {record: math.fsum(values) / len(values) if values else None for record, values in votes.items()}
        return JuryVerdicts(means, "mean")
    why = "the verdicts are pass or fail, so their mean would be a share" if vote == "mean" else ""
    return JuryVerdicts({record: _majority(values) for record, values in votes.items()}, "majority", why)


def no_jury(ranges: Collection[tuple[float, float] | None]) -> str:
    """Why judges are not a jury, as a clause; "" where they are one.

    Args:
        ranges: of the score of each judge; None where it is not known.
    """
    if len(ranges) < 2:
        return "a jury has two judges or more"
    if len(set(ranges)) > 1:
        return "the judges of a jury rate on one scale, and these have different ones"
    return ""


def few_votes(members: Sequence[Verdicts]) -> dict[RecordPlace, int]:
    """Record -> how many members gave a verdict, where fewer than two did or fewer than half of them.

    >>> few_votes([{("1", 0): 1.0}, {("1", 0): None}, {("1", 0): None}])
    {('1', 0): 1}
    """
    records = dict.fromkeys(record for verdicts in members for record in verdicts)
    votes = {record: sum(verdicts.get(record) is not None for verdicts in members) for record in records}
    return {record: count for record, count in votes.items() if count < 2 or 2 * count < len(members)}


def _votes_on(members: Mapping[str, Verdicts], record: RecordPlace) -> list[float]:
    verdict_values = (verdicts.get(record) for verdicts in members.values())
    return [float(value) for value in verdict_values if value is not None]


def _majority(values: Sequence[float]) -> float | None:
    """The most frequent verdict; None where two are equally frequent."""
    counts = Counter(values).most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]
