"""Joint verdicts of several judges on each record: the majority or the mean.

A jury's verdict is computed from the stored verdicts of its members when it is read, so that it cannot differ from
them after a record is added or scored again.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-judges.md

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.run_data import RecordPlace
from steelyard.analysis.scores.score_infos import jury_score
from steelyard.plain_json import field_values

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


def jury_of(thing: str, members: Mapping[str, JudgedScore], vote: JuryVote) -> JuryVotes:
    """The verdicts of a jury, from those of its members; without any where they are no jury.

    A member without a verdict on a record does not vote on it, and where fewer than half of them vote there is none.
    The mean of passes and fails would be a share and not a verdict, so that these are voted on.

    Args:
        thing: what they judge.
        members: judge -> its verdicts.
        vote: how they become one.
    """
    if len(members) < 2:
        return JuryVotes(why="a jury has two judges or more")
    if len({member.limits for member in members.values()}) > 1:
        return JuryVotes(why="the judges of a jury rate on one scale, and these have different ones")
    votes: dict[RecordPlace, list[float]] = {}
    for member in members.values():
        for record, verdict in member.verdicts.items():
            votes.setdefault(record, []).extend(() if verdict is None else (float(verdict),))
    why = ""
    if vote == "mean" and all(value in {0.0, 1.0} for values in votes.values() for value in values):
        vote, why = "majority", "the verdicts are pass or fail, so their mean would be a share"
    joined = {
        record: None if 2 * len(values) < len(members) else _majority(values) if vote == "majority" else _mean(values)
        for record, values in votes.items()
    }
    few = {record for record, values in votes.items() if len(values) < 2 or 2 * len(values) < len(members)}
    divided = sum(verdict is None and record not in few for record, verdict in joined.items())
    return JuryVotes(jury_score(thing), vote, why, joined, len(members), len(few), divided)


def jury_as_judge(votes: JuryVotes, members: Mapping[str, JudgedScore]) -> JudgedScore:
    """The verdicts of a jury as those of one judge, on the scale of its members.

    Args:
        votes: of the jury.
        members: judge -> its verdicts.
    """
    # A member knows the groups of the records alone that it was asked about, and the jury's are those of all members.
    groups = {record: group for member in members.values() for record, group in member.groups.items()}
    return next(iter(members.values()))._replace(score=votes.score, verdicts=votes.verdicts, groups=groups)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _majority(values: Sequence[float]) -> float | None:
    """The most frequent verdict; None where two are equally frequent."""
    counts = Counter(values).most_common(2)
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]
