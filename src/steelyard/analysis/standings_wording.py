"""The summary sentence of a ranking of targets, and the notes that qualify it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steelyard.analysis.standings_values import Standing, Standings

_FEW_SAMPLES: Final = 10
_LEFT_OUT: Final = {
    "no_answer": "a target gave no answer",
    "unread": "the verdict could not be read",
    "refused": "the judge refused",
    "not_applicable": "there was nothing to judge",
    "errors": "the record failed",
}


def standings_sentence(ranking: Standings) -> str:
    """Who leads and how sure that is, or who cannot be told apart."""
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
            f"at {_percent(ranking.level)} ({_basis(ranking)})."
        )
    below = _listed([standing.target for standing in ranking.standings if standing.rank_best > 1])
    return (
        f"Any of {names} can be the first of {len(ranking.standings)}: these data do not tell which at "
        f"{_percent(ranking.level)} ({_basis(ranking)}); {below} cannot."
    )


def _led(leader: Standing, ranking: Standings) -> str:
    second = ranking.standings[1]
    ahead = f"Elo {leader.elo:.0f}{_range(leader)} against {second.elo:.0f}{_range(second)} of {second.target}"
    others = "the other" if len(ranking.standings) == 2 else f"each of the other {len(ranking.standings) - 1}"
    return (
        f"{leader.target} leads: it is told apart from {others} at {_percent(ranking.level)} "
        f"({ahead}; {_basis(ranking)})."
    )


def _range(standing: Standing) -> str:
    return f" [{standing.elo_interval.low:.0f}, {standing.elo_interval.high:.0f}]" if standing.elo_interval else ""


def _basis(ranking: Standings) -> str:
    return f"{_many(ranking.battles, 'verdict')} on {_many(ranking.clusters, 'independent sample')}"


def standings_notes(ranking: Standings, stopped: int) -> tuple[str, ...]:
    """What must be known before believing the order, one sentence each.

    Args:
        ranking: without its notes.
        stopped: runs that a stopping rule ended early.
    """
    notes = [*_notes_on_the_fit(ranking), *_notes_on_the_data(ranking)]
    if stopped:
        notes.append(
            f"{_many(stopped, 'run')} stopped as soon as the pair was decided: a rate that was stopped on is drawn "
            "away from a half, so the ratings may be too far apart, and their intervals are not made for it."
        )
    return tuple(notes)


def _notes_on_the_fit(ranking: Standings) -> Iterator[str]:
    if not ranking.converged:
        yield "The fit of the ratings did not converge: do not use them."
    if ranking.separable:
        yield (
            f"Some of {_listed(ranking.separable)} never lost to the rest, so their ratings have no limit of their "
            f"own: {ranking.prior:g} virtual ties per compared pair keep them finite. Read their order, not their "
            "distance."
        )
    if len(ranking.standings) > 2 and ranking.connected and ranking.battles:
        n = len(ranking.standings)
        unmet = sum(count == 0 for row, counts in enumerate(ranking.battle_matrix) for count in counts[row + 1 :])
        if unmet:
            yield f"{unmet} of {n * (n - 1) // 2} pairs of targets were never judged: they are rated through others."
        yield (
            f"Ranks and sets hold at once for all pairs at {_percent(ranking.level)}; each rating's interval holds by "
            "itself."
        )


def _notes_on_the_data(ranking: Standings) -> Iterator[str]:
    if ranking.battles and ranking.clusters < _FEW_SAMPLES:
        yield f"There are only {ranking.clusters} independent samples: intervals and ranks are rough."
    if ranking.ties or ranking.inconsistent:
        yield (
            f"{_many(ranking.ties, 'tie')} and {_many(ranking.inconsistent, 'disagreement')} between the two orders "
            "count half a win for either side."
        )
    if left_out := {name: n for name, n in ranking.left_out.items() if n}:
        why = ", ".join(f"{_LEFT_OUT[name]} ({n})" for name, n in left_out.items())
        yield f"{_many(sum(left_out.values()), 'pair')} of answers without a verdict left out: {why}."
    for first, second in ranking.repeated:
        yield f"More than one run judged {first} and {second}; all their verdicts count."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _many(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _percent(level: float) -> str:
    return f"{100 * level:g} %"
