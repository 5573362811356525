"""Several judging runs -> Standings: ratings with intervals, ranks as ranges, and sets of indistinguishable targets.

In this order: the result classes, `standings(runs)` and its computations, the sentence and the notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

from steelyard.analysis.judges.jury import with_jury
from steelyard.analysis.judging_manifest import score_of, sides_of
from steelyard.analysis.notebook import notebook_html
from steelyard.analysis.numbers import count_text, level_text
from steelyard.analysis.preferences.win_rates import WITHOUT_VERDICT, unit_of
from steelyard.analysis.run_data import HoldsRunData, RunData, data_of
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_infos import JURY, rated_thing, score_infos, scores_rating
from steelyard.errors import ConfigError
from steelyard.plain_json import field_values
from steelyard.stats.arrays import Array
from steelyard.stats.intervals import Interval
from steelyard.stats.ranking import coded, elo
from steelyard.stats.ranking_order import Ranking, rank


@dataclass(frozen=True, slots=True)
class Standing:
    """The rating, rank and battles of one target.

    Args:
        target: its name in the judging runs.
        rating: in natural-log units; the ratings of targets linked by battles sum to 0.
        interval: of the rating; None where fewer than two samples are behind it.
        elo: the rating on the scale of Elo: 1000 + 400 / ln 10 * rating.
        elo_interval: likewise.
        rank_best: the best rank that the data allow, 1 being the first; all ranges hold at once.
        rank_worst: the worst one.
        win_rate: share of its battles won, ties and disagreements as half; None without a battle. It depends on which
            targets it was compared with, the rating does not.
        battles: verdicts on its answers.
        wins: of them; likewise `losses`.
        ties: neither was preferred.
        inconsistent: the verdicts on the two orders differ.
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


@dataclass(frozen=True, slots=True)
class Standings:
    """A ranking of several targets from pairwise judgements.

    Args:
        standings: the best rating first; where not all are connected, one part after the other, the largest first.
        win_matrix: rows and columns in the order of `standings`; the share of their battles that the row's target won
            of the column's, ties as half; None where they never met.
        battle_matrix: number of battles behind each share.
        above: pairs (better, worse) that differ significantly, all of them at once at the level.
        sets: maximal sets of neighbours of which no two differ significantly; a target may be in several, and one that
            is alone in its set differs from both its neighbours.
        components: targets linked by battles; ratings of different components cannot be compared.
        converged: the fit did.
        prior: virtual ties that were added per compared pair of `separable`; 0 where none were.
        separable: targets whose ratings would be infinite, as some of them never lost to the others.
        battles: verdicts in all; `ties` and `inconsistent` are among them.
        left_out: rows without a verdict: `no_answer`, `unparsed`, `refused`, `not_applicable`, `errors`.
        clusters: independent samples.
        resamples: number of resamples for the intervals.
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
        """The targets' names, best rating first."""
        return tuple(standing.target for standing in self.standings)

    @property
    def connected(self) -> bool:
        """Whether all targets are linked by battles."""
        return len(self.components) < 2

    def json_fields(self) -> dict[str, Any]:
        """With whether they are connected."""
        return field_values(self) | {"connected": self.connected}

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self)


def standings(
    runs: Sequence[RunData | HoldsRunData],
    *,
    score: str = "",
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Standings:
    """Rank the targets of several judging runs, each of which judged one pair of them.

    A target is known by the name that the runs give it. Ties and disagreements between the two orders count half a
    win for either side; an unparsed verdict, a refusal and a side without an answer are left out and
    counted. Rows of one sample id, whatever their runs and repeats, are resampled together, as are those of one
    cluster: all targets answered the same prompt.

    Args:
        runs: one or more, or handles on them.
        score: the preference's name; "" is `preference`, or where a run has no such score that of its jury, or else
            its headline.
        level: confidence level in (0, 1) of intervals, ranks and sets.
        resamples: number of resamples for the intervals; None is 1,000, fewer where there are very many targets.
        seed: of the resampling; equal seeds give equal standings.

    Raises:
        ConfigError: no runs, the same one twice, or a run that judges no pairs.
    """
    if not runs:
        raise ConfigError("standings need one judging run or more")
    judging = [with_jury(data_of(run)) for run in runs]
    if twice := [run for run, n in Counter(run.id for run in judging).items() if n > 1]:
        raise ConfigError(f"run {twice[0]} is named twice; its verdicts would count twice")
    verdicts = _Battles()
    for run in judging:
        verdicts.add(run, score)
    result = _ranked(verdicts, tuple(run.id for run in judging), level=level, resamples=resamples, seed=seed)
    stopped = sum(run.stopped_early for run in judging)
    return replace(result, notes=(*_whose(judging, score), *standings_notes(result, stopped)))


class NamedBattle(NamedTuple):
    """A battle of two targets, by their names.

    Args:
        first: a target's name.
        second: another's.
        score: of the first target, in [0, 1]: 1 won, 0 lost, 0.5 neither; None: there is no verdict.
        sample: what both answered; battles with the same one are not independent. "" is a sample of its own.
    """

    first: str
    second: str
    score: float | None
    sample: str = ""


def standings_of_battles(
    battles: Iterable[NamedBattle], *, level: float = 0.95, resamples: int | None = None, seed: int = 0
) -> Standings:
    """Rank targets by battles that were judged elsewhere; the rest is as in `standings`.

    Args:
        battles: at least one with a verdict; those without are left out and counted.
        level: confidence level in (0, 1) of intervals, ranks and sets.
        resamples: number of resamples for the intervals; None is 1,000, fewer where there are very many targets.
        seed: of the resampling; equal seeds give equal standings.

    Raises:
        ConfigError: a level outside (0, 1), or no battle with a verdict.
    """
    verdicts = _Battles()
    for number, battle in enumerate(battles):
        first, second = (verdicts.targets.setdefault(name, len(verdicts.targets)) for name in battle[:2])
        if battle.score is None:
            verdicts.left_out["not_applicable"] += 1
        else:
            verdicts.battle(first, second, battle.score, battle.sample or f"battle {number}")
    if not verdicts.score:
        raise ConfigError("a ranking needs one battle with a verdict or more")
    result = _ranked(verdicts, (), level=level, resamples=resamples, seed=seed)
    return replace(result, notes=standings_notes(result, 0))


def _ranked(verdicts: _Battles, runs: tuple[str, ...], *, level: float, resamples: int | None, seed: int) -> Standings:
    """The standings with their sentence, without notes."""
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1 (0.95 for 95 %), not {level}")
    battles = coded(
        verdicts.first, verdicts.second, verdicts.score, models=len(verdicts.targets), cluster=verdicts.cluster
    )
    ranking = rank(battles, level=level, resamples=resamples, seed=seed)
    result = _standings(verdicts, ranking, runs, level)
    return replace(result, sentence=standings_sentence(result))


@dataclass(slots=True)
class _Battles:
    """The verdicts of all runs as columns, with counts of wins, losses and ties per target."""

    targets: dict[str, int] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    cluster: list[int] = field(default_factory=list)
    outcomes: Counter[tuple[int, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    draws: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, run: RunData, score: str) -> None:
        """Add the verdicts of one run."""
        names = sides_of(run.manifest)
        if names[0] == names[1]:
            raise ConfigError(f"run {run.id} judges {names[0]} against itself, which cannot be ranked")
        self.pairs[min(names), max(names)] += 1
        first, second = (self.targets.setdefault(name, len(self.targets)) for name in names)
        for row in run.scores.judged_rows(score or score_of(run.manifest)):
            if row.outcome == "scored" and row.value is not None:
                label = "inconsistent" if row.detail.get("label") == "inconsistent" else "ties"
                self.battle(first, second, row.value, unit_of(row), even=label)
            else:
                self.leave_out(first, second, row)

    def battle(self, first: int, second: int, value: float, unit: str, *, even: str = "ties") -> None:
        """Add a verdict; `even` is the count for a verdict of 0.5."""
        self.first.append(first)
        self.second.append(second)
        self.score.append(value)
        self.cluster.append(self.units.setdefault(unit, len(self.units)))
        if value != 0.5:
            better, worse = (first, second) if value > 0.5 else (second, first)
            self.outcomes[better, "wins"] += 1
            self.outcomes[worse, "losses"] += 1
            return
        self.draws[even] += 1
        self.outcomes[first, even] += 1
        self.outcomes[second, even] += 1

    def leave_out(self, first: int, second: int, row: ScoreRow) -> None:
        """Count a row without a verdict."""
        side = row.detail.get("side")
        self.left_out["no_answer" if row.outcome == "not_applicable" and side else WITHOUT_VERDICT[row.outcome]] += 1
        if row.outcome == "not_applicable":
            for target, sides in ((first, ("A", "both")), (second, ("B", "both"))):
                self.outcomes[target, "unanswered"] += side in sides


def _standings(verdicts: _Battles, ranking: Ranking, runs: tuple[str, ...], level: float) -> Standings:
    names, fit = tuple(verdicts.targets), ranking.fit
    # Components that cannot be compared are listed one after the other, the largest first.
    parts = sorted(fit.components, key=lambda part: (-len(part), part))
    # Equal ratings differ by rounding; their names decide.
    rounded = fit.strengths.round(9)
    order = [target for part in parts for target in sorted(part, key=lambda target: (-rounded[target], names[target]))]
    fought = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(fought, (verdicts.first, verdicts.second), 1)
    fought += fought.T
    listed = np.array(order, dtype=int)
    square = np.ix_(listed, listed)
    return Standings(
        standings=tuple(
            _standing(verdicts, ranking, target, names[target], int(fought[target].sum())) for target in order
        ),
        win_matrix=_shares(ranking.wins[square]),
        battle_matrix=tuple(tuple(int(n) for n in row) for row in fought[square]),
        above=tuple((names[a], names[b]) for a in order for b in order if ranking.above[a, b]),
        sets=_sets(ranking, order, names),
        components=tuple(tuple(names[target] for target in order if target in part) for part in parts),
        converged=fit.converged,
        prior=fit.prior,
        separable=tuple(names[target] for target in order if target in fit.separable),
        battles=len(verdicts.score),
        ties=verdicts.draws["ties"],
        inconsistent=verdicts.draws["inconsistent"],
        left_out={name: verdicts.left_out[name] for name in ("no_answer", *WITHOUT_VERDICT.values())},
        clusters=ranking.clusters,
        resamples=ranking.resamples,
        level=level,
        runs=runs,
        repeated=tuple(pair for pair, n in verdicts.pairs.items() if n > 1),
    )


def _standing(verdicts: _Battles, ranking: Ranking, target: int, name: str, battles: int) -> Standing:
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
        wins=verdicts.outcomes[target, "wins"],
        losses=verdicts.outcomes[target, "losses"],
        ties=verdicts.outcomes[target, "ties"],
        inconsistent=verdicts.outcomes[target, "inconsistent"],
        unanswered=verdicts.outcomes[target, "unanswered"],
    )


def _shares(wins: Array) -> tuple[tuple[float | None, ...], ...]:
    fought = wins + wins.T
    return tuple(
        tuple(float(won / n) if n > 0 else None for won, n in zip(row, total, strict=True))
        for row, total in zip(wins, fought, strict=True)
    )


def _sets(ranking: Ranking, order: Sequence[int], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The sets of `Ranking` in the order of the standings."""
    position = {target: at for at, target in enumerate(order)}
    sets = sorted(sorted(position[target] for target in targets) for targets in ranking.sets)
    return tuple(tuple(names[order[at]] for at in positions) for positions in sets)


def _whose(runs: Sequence[RunData], score: str) -> Iterator[str]:
    """A note on whose verdicts are ranked, where several judges rated the pairs."""
    ranked_scores: dict[str, None] = {}
    for run in runs:
        infos, ranked_score = score_infos(run.manifest), score or score_of(run.manifest)
        if len(scores_rating(rated_thing(infos.get(ranked_score), ranked_score), infos)) > 1:
            ranked_scores[ranked_score] = None
    for ranked_score in ranked_scores:
        yield (
            "Ranked by the jury of all judges."
            if ranked_score.endswith(f"_{JURY}")
            else f"Ranked by one of several judges: {ranked_score}."
        )


_FEW_SAMPLES: Final = 10
_LEFT_OUT: Final = {
    "no_answer": "a target gave no answer",
    "unparsed": "the verdict is unreadable",
    "refused": "the judge refused",
    "not_applicable": "there was nothing to judge",
    "errors": "the record failed",
}


def standings_sentence(ranking: Standings) -> str:
    """The conclusion of a ranking: the leader, or the targets among which the data do not decide."""
    if not ranking.battles:
        return "No pair of answers has a verdict, so nothing can be ranked."
    if not ranking.connected:
        parts = "; ".join(_listed(part) for part in ranking.components)
        return (
            f"There is no common ranking: no battles link {len(ranking.components)} groups of targets ({parts}), "
            "so ratings say nothing across them."
        )
    open_first = [standing for standing in ranking.standings if standing.rank_best == 1]
    if len(open_first) == 1:
        return _led(open_first[0], ranking)
    names = _listed([standing.target for standing in open_first])
    if len(open_first) == len(ranking.standings):
        return (
            f"{names} cannot be told apart: no difference between any two of these {len(open_first)} targets holds "
            f"at {level_text(ranking.level)} ({_basis(ranking)})."
        )
    below = _listed([standing.target for standing in ranking.standings if standing.rank_best > 1])
    return (
        f"Any of {names} can be the first of {len(ranking.standings)}: these data do not tell which at "
        f"{level_text(ranking.level)} ({_basis(ranking)}); {below} cannot."
    )


def _led(leader: Standing, ranking: Standings) -> str:
    second = ranking.standings[1]
    ahead = f"Elo {leader.elo:.0f}{_range(leader)} against {second.elo:.0f}{_range(second)} of {second.target}"
    others = "the other" if len(ranking.standings) == 2 else f"each of the other {len(ranking.standings) - 1}"
    return (
        f"{leader.target} leads: it is told apart from {others} at {level_text(ranking.level)} "
        f"({ahead}; {_basis(ranking)})."
    )


def _range(standing: Standing) -> str:
    return f" [{standing.elo_interval.low:.0f}, {standing.elo_interval.high:.0f}]" if standing.elo_interval else ""


def _basis(ranking: Standings) -> str:
    return f"{count_text(ranking.battles, 'verdict')} on {count_text(ranking.clusters, 'independent sample')}"


def standings_notes(ranking: Standings, stopped: int) -> tuple[str, ...]:
    """Notes that qualify the ranking, one sentence each.

    Args:
        ranking: without its notes.
        stopped: runs that a stopping rule ended early.
    """
    notes = [*_notes_on_the_fit(ranking), *_notes_on_the_data(ranking)]
    if stopped:
        notes.append(
            f"{count_text(stopped, 'run')} stopped as soon as the pair was decided: stopping at a rate biases it "
            "away from a half, so the ratings may be too far apart, and their intervals do not account for it."
        )
    return tuple(notes)


def _notes_on_the_fit(ranking: Standings) -> Iterator[str]:
    if not ranking.converged:
        yield "The fit of the ratings did not converge: do not use them."
    if ranking.separable:
        yield (
            f"Some of {_listed(ranking.separable)} never lost to the others, so their ratings would be "
            f"infinite: {ranking.prior:g} virtual ties per compared pair keep them finite. Use their order, not their "
            "distances."
        )
    if len(ranking.standings) > 2 and ranking.connected and ranking.battles:
        n = len(ranking.standings)
        unmet = sum(count == 0 for row, counts in enumerate(ranking.battle_matrix) for count in counts[row + 1 :])
        if unmet:
            yield f"{unmet} of {n * (n - 1) // 2} pairs of targets were never judged: they are rated through others."
        yield (
            f"Ranks and sets hold at once for all pairs at {level_text(ranking.level)}; each rating's interval holds "
            "by itself."
        )


def _notes_on_the_data(ranking: Standings) -> Iterator[str]:
    if ranking.battles and ranking.clusters < _FEW_SAMPLES:
        yield f"There are only {ranking.clusters} independent samples: intervals and ranks are rough."
    if ranking.ties or ranking.inconsistent:
        yield (
            f"{count_text(ranking.ties, 'tie')} and {count_text(ranking.inconsistent, 'disagreement')} between the two "
            "orders count half a win for either side."
        )
    if left_out := {name: n for name, n in ranking.left_out.items() if n}:
        why = ", ".join(f"{_LEFT_OUT[name]} ({n})" for name, n in left_out.items())
        yield f"{count_text(sum(left_out.values()), 'pair')} of answers without a verdict left out: {why}."
    for first, second in ranking.repeated:
        yield f"More than one run judged {first} and {second}; all their verdicts count."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
