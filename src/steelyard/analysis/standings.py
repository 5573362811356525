"""Several judging runs -> Standings: ratings with intervals, ranks as ranges, and targets that cannot be told apart.

standings(runs)
  standings_values    the values that come out
  standings_wording   the sentence and the notes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from steelyard.analysis.preferences import WITHOUT_VERDICT, score_of, sides_of, unit_of
from steelyard.analysis.run_protocols import PairRun
from steelyard.analysis.score_columns import JudgedRow
from steelyard.analysis.standings_values import Standing, Standings
from steelyard.analysis.standings_wording import standings_notes, standings_sentence
from steelyard.errors import ConfigError
from steelyard.stats.intervals import Interval
from steelyard.stats.ranking import coded, elo
from steelyard.stats.ranking_order import Ranking, rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def standings(
    runs: Sequence[PairRun], *, score: str = "", level: float = 0.95, resamples: int | None = None, seed: int = 0
) -> Standings:
    """Order the targets of several judging runs, each of which judged one pair of them.

    A target is known by the name that the runs give it. Ties and disagreements between the two orders count half a
    win for either side; a verdict that could not be read, a refusal and a side without an answer are left out and
    counted. Rows of one sample id, whatever their runs and repeats, are resampled together, as are those of one
    cluster: all targets answered the same prompt.

    Args:
        runs: one or more.
        score: the preference's name; "" is `preference`, or a run's headline where it has no such score.
        level: confidence level in (0, 1) of intervals, ranks and sets.
        resamples: behind the intervals; None is 1,000, fewer where there are very many targets.
        seed: of the resampling; equal seeds give equal standings.

    Raises:
        ConfigError: no runs, the same one twice, or a run that judges no pairs.
    """
    if not runs:
        raise ConfigError("standings need one judging run or more")
    if twice := [run for run, n in Counter(run.id for run in runs).items() if n > 1]:
        raise ConfigError(f"run {twice[0]} is named twice; its verdicts would count twice")
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")
    read = _Battles()
    for run in runs:
        read.add(run, score)
    battles = coded(read.first, read.second, read.score, models=len(read.targets), cluster=read.cluster)
    ranking = rank(battles, level=level, resamples=resamples, seed=seed)
    result = _standings(read, ranking, tuple(run.id for run in runs), level)
    result = replace(result, sentence=standings_sentence(result))
    return replace(result, notes=standings_notes(result, _stopped(runs)))


@dataclass(slots=True)
class _Battles:
    """The verdicts of all runs as columns, and what each target's battles came to."""

    targets: dict[str, int] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    cluster: list[int] = field(default_factory=list)
    fates: Counter[tuple[int, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    draws: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, run: PairRun, score: str) -> None:
        """Read one run."""
        names = sides_of(run.manifest)
        if names[0] == names[1]:
            raise ConfigError(f"run {run.id} judges {names[0]} against itself, which says nothing of its rank")
        self.pairs[min(names), max(names)] += 1
        first, second = (self.targets.setdefault(name, len(self.targets)) for name in names)
        for row in run.judged_rows(score or score_of(run.manifest)):
            if row.outcome == "scored" and row.value is not None:
                self.battle(first, second, row, row.value)
            else:
                self.leave_out(first, second, row)

    def battle(self, first: int, second: int, row: JudgedRow, value: float) -> None:
        """A verdict that counts."""
        self.first.append(first)
        self.second.append(second)
        self.score.append(value)
        self.cluster.append(self.units.setdefault(unit_of(row), len(self.units)))
        if value != 0.5:
            better, worse = (first, second) if value > 0.5 else (second, first)
            self.fates[better, "wins"] += 1
            self.fates[worse, "losses"] += 1
            return
        fate = "inconsistent" if row.detail.get("label") == "inconsistent" else "ties"
        self.draws[fate] += 1
        self.fates[first, fate] += 1
        self.fates[second, fate] += 1

    def leave_out(self, first: int, second: int, row: JudgedRow) -> None:
        """A row without a verdict."""
        side = row.detail.get("side")
        self.left_out["no_answer" if row.outcome == "not_applicable" and side else WITHOUT_VERDICT[row.outcome]] += 1
        if row.outcome == "not_applicable":
            for target, sides in ((first, ("A", "both")), (second, ("B", "both"))):
                self.fates[target, "unanswered"] += side in sides


def _standings(read: _Battles, ranking: Ranking, runs: tuple[str, ...], level: float) -> Standings:
    import numpy as np

    names, fit = tuple(read.targets), ranking.fit
    # Parts that cannot be compared stand one below the other, the largest first.
    parts = sorted(fit.components, key=lambda part: (-len(part), part))
    # Equal ratings differ by rounding; their names decide.
    rounded = fit.strengths.round(9)
    order = [target for part in parts for target in sorted(part, key=lambda target: (-rounded[target], names[target]))]
    fought = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(fought, (read.first, read.second), 1)
    fought += fought.T
    listed = np.array(order, dtype=int)
    square = np.ix_(listed, listed)
    return Standings(
        standings=tuple(_standing(read, ranking, target, names[target], int(fought[target].sum())) for target in order),
        win_matrix=_shares(ranking.wins[square]),
        battle_matrix=tuple(tuple(int(n) for n in row) for row in fought[square]),
        above=tuple((names[a], names[b]) for a in order for b in order if ranking.above[a, b]),
        sets=_sets(ranking, order, names),
        components=tuple(tuple(names[target] for target in order if target in part) for part in parts),
        converged=fit.converged,
        connected=fit.connected,
        prior=fit.prior,
        separable=tuple(names[target] for target in order if target in fit.separable),
        battles=len(read.score),
        ties=read.draws["ties"],
        inconsistent=read.draws["inconsistent"],
        left_out={name: read.left_out[name] for name in ("no_answer", *WITHOUT_VERDICT.values())},
        clusters=ranking.clusters,
        resamples=ranking.resamples,
        level=level,
        runs=runs,
        repeated=tuple(pair for pair, n in read.pairs.items() if n > 1),
    )


def _standing(read: _Battles, ranking: Ranking, target: int, name: str, battles: int) -> Standing:
    rating = float(ranking.fit.strengths[target])
    interval = ranking.intervals[target]
    best, worst = ranking.ranks[target]
    won = float(ranking.wins[target].sum())
    return Standing(
        target=name,
        rating=rating,
        interval=interval,
        elo=elo(rating),
        elo_interval=Interval(elo(interval.low), elo(interval.high)) if interval else None,
        rank_best=best,
        rank_worst=worst,
        win_rate=won / battles if battles else None,
        battles=battles,
        wins=read.fates[target, "wins"],
        losses=read.fates[target, "losses"],
        ties=read.fates[target, "ties"],
        inconsistent=read.fates[target, "inconsistent"],
        unanswered=read.fates[target, "unanswered"],
    )


def _shares(wins: Array) -> tuple[tuple[float | None, ...], ...]:
    fought = wins + wins.T
    return tuple(
        tuple(float(won / n) if n > 0 else None for won, n in zip(row, total, strict=True))
        for row, total in zip(wins, fought, strict=True)
    )


def _sets(ranking: Ranking, order: Sequence[int], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """In the order of the standings; see `Ranking` for what they are."""
    place = {target: at for at, target in enumerate(order)}
    sets = sorted(sorted(place[target] for target in targets) for targets in ranking.sets)
    return tuple(tuple(names[order[at]] for at in places) for places in sets)


def _stopped(runs: Sequence[PairRun]) -> int:
    return sum(run.stopping is not None and run.stopping.used < run.stopping.planned for run in runs)
