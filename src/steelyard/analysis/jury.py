"""What several judges say of each record together: the majority, the mean, or Dawid and Skene's consensus.

A jury's verdict is computed from the stored verdicts of its members when it is read. The consensus needs all records,
so that it can only be made then, and changes with every record that is added.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from steelyard.analysis.judge_agreement_values import RecordPlace
from steelyard.analysis.numbers import count_text

if TYPE_CHECKING:
    from steelyard.stats.consensus import Consensus

JuryVote = Literal["majority", "mean", "dawid_skene"]
Verdicts = Mapping[RecordPlace, float | None]
"""Record -> verdict; None where a judge was asked and gave none."""

FEWEST_JUDGES: Final = 3
"""Of two judges who differ nothing tells who is right."""
FEWEST_RECORDS: Final = 100
"""Records with a verdict of every judge: below, error rates by category are learned from a handful each."""
_MOST_CATEGORIES: Final = 11


class JuryVerdicts(NamedTuple):
    """The verdicts of a jury.

    Args:
        verdicts: of every record that a member was asked about; None where fewer than half of the members gave one, or
            votes are even: one of three is not a jury.
        vote: how they were made.
        why: why they were not made as asked for, as a clause; "" where they were.
        consensus: with the errors of each member; None for other votes.
    """

    verdicts: dict[RecordPlace, float | None]
    vote: JuryVote
    why: str = ""
    consensus: Consensus | None = None


def jury_verdicts(members: Mapping[str, Verdicts], vote: JuryVote) -> JuryVerdicts:
    """The verdicts of a jury, from those of its members.

    A member without a verdict on a record does not vote on it, and where fewer than half of them vote there is none.
    The mean of passes and fails would be a share and not a verdict, so that these are voted on.

    Args:
        members: judge -> its verdicts, two judges or more.
        vote: how they become one. `dawid_skene` is the majority where there are too few judges or records for it.

    >>> jury_verdicts({"a": {("1", 0): 1.0}, "b": {("1", 0): 0.0}, "c": {("1", 0): 1.0}}, "dawid_skene")[1:3]
    ('majority', '1 record with a verdict of every judge, fewer than 100')
    """
    found = _voted(members, vote)
    votes = few_votes(list(members.values()))
    thin = {place for place, count in votes.items() if 2 * count < len(members)}
    return found._replace(verdicts={place: None if place in thin else said for place, said in found.verdicts.items()})


def _voted(members: Mapping[str, Verdicts], vote: JuryVote) -> JuryVerdicts:
    """The verdicts, however few members voted."""
    places = dict.fromkeys(place for verdicts in members.values() for place in verdicts)
    given = {place: _given(members, place) for place in places}
    binary = all(value in {0.0, 1.0} for values in given.values() for value in values)
    if vote == "mean":
        if binary:
            why = "the verdicts are pass or fail, so their mean would be a share"
            return JuryVerdicts({place: _majority(values) for place, values in given.items()}, "majority", why)
        means = {place: math.fsum(values) / len(values) if values else None for place, values in given.items()}
        return JuryVerdicts(means, "mean")
    majority = {place: _majority(values) for place, values in given.items()}
    if vote == "majority":
        return JuryVerdicts(majority, "majority")
    if why := _too_few(members, given):
        return JuryVerdicts(majority, "majority", why)
    from steelyard.stats.consensus import dawid_skene

    found = dawid_skene([[verdicts.get(place) for place in places] for verdicts in members.values()])
    if not found.converged:
        return JuryVerdicts(majority, "majority", "the estimate of the judges' errors did not settle")
    consensus = dict(zip(places, (_number(value) for value in found.verdicts()), strict=True))
    return JuryVerdicts(consensus, "dawid_skene", "", found)


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
    places = dict.fromkeys(place for verdicts in members for place in verdicts)
    votes = {place: sum(verdicts.get(place) is not None for verdicts in members) for place in places}
    return {place: count for place, count in votes.items() if count < 2 or 2 * count < len(members)}


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _given(members: Mapping[str, Verdicts], place: RecordPlace) -> list[float]:
    said = (verdicts.get(place) for verdicts in members.values())
    return [float(value) for value in said if value is not None]


def _majority(values: Sequence[float]) -> float | None:
    """What most members say; None where two verdicts have as many votes."""
    counts = Counter(values).most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]


def _too_few(members: Mapping[str, Verdicts], given: Mapping[RecordPlace, Sequence[float]]) -> str:
    """Why there is no consensus, as a clause; "" where there is one."""
    if len(members) < FEWEST_JUDGES:
        return f"{len(members)} judges, fewer than {FEWEST_JUDGES}"
    jointly = [values for values in given.values() if len(values) == len(members)]
    if len(jointly) < FEWEST_RECORDS:
        return f"{count_text(len(jointly), 'record')} with a verdict of every judge, fewer than {FEWEST_RECORDS}"
    categories = {value for values in given.values() for value in values}
    if len(categories) > _MOST_CATEGORIES:
        return f"{len(categories)} different verdicts, more than {_MOST_CATEGORIES}"
    if len(categories) < 2:
        return "all verdicts are alike"
    return ""
