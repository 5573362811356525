"""Results of ranking several targets by pairwise judgements: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from steelyard.stats.intervals import Interval
from steelyard.types import Json


@dataclass(frozen=True, slots=True)
class Standing:
    """One target's place.

    Args:
        target: its name in the judging runs.
        rating: in natural-log units; the ratings of targets linked by battles sum to 0.
        interval: of the rating; None where fewer than two samples are behind it.
        elo: the rating on the scale of Elo: 1000 + 400 / ln 10 * rating.
        elo_interval: likewise.
        rank_best: the best rank that is left open, 1 being the first; all ranges hold at once.
        rank_worst: the worst one.
        win_rate: share of its battles won, ties and disagreements as half; None without a battle. It depends on whom
            the target met, the rating does not.
        battles: verdicts on its answers.
        wins: of them; likewise `losses`.
        ties: neither was preferred.
        inconsistent: the two orders did not say the same.
        unanswered: pairs that were not judged because this target gave no answer.
    """

    target: str
    rating: float
    interval: Interval | None
    elo: float
    elo_interval: Interval | None
    rank_best: int
    rank_worst: int
    win_rate: float | None
    battles: int
    wins: int
    losses: int
    ties: int
    inconsistent: int
    unanswered: int

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        intervals = {name: _listed(getattr(self, name)) for name in ("interval", "elo_interval")}
        return plain | intervals


def _listed(interval: Interval | None) -> Json:
    return list(interval) if interval else None


@dataclass(frozen=True, slots=True)
class Standings:
    """Several targets in order.

    Args:
        standings: the best rating first; where not all are connected, one part after the other, the largest first.
        win_matrix: rows and columns in the order of `standings`; the share of their battles that the row's target won
            of the column's, ties as half; None where they never met.
        battle_matrix: how many battles that rests on.
        above: pairs (better, worse) that are told apart, all of them at once at the level.
        sets: neighbours of which no two are told apart, each set as long as can be; a target may be in several, and
            one that is alone in its set is told apart from both its neighbours.
        components: targets linked by battles; ratings of different components cannot be compared.
        converged: the fit did; likewise `connected`: there is one component.
        prior: virtual ties that were added per compared pair of `separable`; 0 where none were.
        separable: targets whose ratings would have no limit, as some of them never lost to the rest.
        battles: verdicts in all; `ties` and `inconsistent` are among them.
        left_out: rows without a verdict: `no_answer`, `unread`, `refused`, `not_applicable`, `errors`.
        clusters: independent samples.
        resamples: behind the intervals.
        level: of intervals, ranks and sets.
        runs: ids of the judging runs.
        repeated: pairs that more than one run judged.
        sentence: who leads and how sure that is.
        notes: what a reader must know, one sentence each.
    """

    standings: tuple[Standing, ...]
    win_matrix: tuple[tuple[float | None, ...], ...]
    battle_matrix: tuple[tuple[int, ...], ...]
    above: tuple[tuple[str, str], ...]
    sets: tuple[tuple[str, ...], ...]
    components: tuple[tuple[str, ...], ...]
    converged: bool
    connected: bool
    prior: float
    separable: tuple[str, ...]
    battles: int
    ties: int
    inconsistent: int
    left_out: Mapping[str, int]
    clusters: int
    resamples: int
    level: float
    runs: tuple[str, ...]
    repeated: tuple[tuple[str, str], ...] = ()
    sentence: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def targets(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(standing.target for standing in self.standings)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name; pairs, sets and matrices are lists of lists."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        nested = ("win_matrix", "battle_matrix", "above", "sets", "components", "repeated")
        lists = {name: [list(row) for row in plain[name]] for name in nested}
        flat = {name: list(plain[name]) for name in ("separable", "runs", "notes")}
        return {
            **plain,
            **lists,
            **flat,
            "standings": [standing.to_json() for standing in self.standings],
            "left_out": dict(self.left_out),
        }

    def __str__(self) -> str:
        return self.sentence
