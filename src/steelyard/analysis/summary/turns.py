"""Scores of the single turns of conversations: their rates in a run, by conversation.

The turns of a conversation depend on each other, so a conversation is a cluster, and so are a sample's own cluster and
all repeats of a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.analysis.intervals import USUAL, Intervals
from steelyard.analysis.scores.score_columns import RowOutcome, ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import NO_GROUP, TurnSummary
from steelyard.prompts.trajectory import TURNS
from steelyard.types import OUTCOMES, ScoreInfo


def turn_rows(rows: Iterable[ScoreRow], score: str) -> Iterator[ScoreRow]:
    """A row for each turn: its group is the turn's number, its cluster the conversation."""
    for row in rows:
        cluster = f"cluster {row.cluster}" if row.cluster else f"conversation {row.sample}"
        turns = list(_turns_in(row.detail))
        for no, (outcome, value) in enumerate(turns, start=1):
            yield ScoreRow(row.sample, f"turn {no}", cluster, row.repeat, score, outcome, value)
        if not turns:
            known = row.outcome in {"not_applicable", "refused", "unparsed"}
            yield ScoreRow(row.sample, "", cluster, row.repeat, score, row.outcome if known else "error", None)


def _turns_in(detail: Mapping[str, Any]) -> Iterator[tuple[RowOutcome, float | None]]:
    """Outcome and value of each turn, as `PerTurn` writes them; nothing where the detail holds no such list."""
    turns = detail.get(TURNS)
    for turn in turns if isinstance(turns, list) else ():
        outcome, value = (turn.get("outcome"), turn.get("value")) if isinstance(turn, Mapping) else (None, None)
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        known: RowOutcome = (
            outcome if outcome in OUTCOMES and (outcome == "scored") == (number is not None) else "error"
        )
        yield known, number if known == "scored" else None


def turn_summary(rows: Iterable[ScoreRow], info: ScoreInfo, intervals: Intervals = USUAL) -> TurnSummary | None:
    """One score over all turns of a run; None where no record has a turn.

    >>> turns = [{"outcome": "scored", "value": 1.0}, {"outcome": "scored", "value": 0.0}]
    >>> rows = [ScoreRow(name, "", "", 0, "right", "scored", 0.5, {"turns": turns}) for name in "ab"]
    >>> turn_summary(rows, ScoreInfo("right_per_turn", (0, 1))).score.answered.n
    4
    """
    rows_of_turns = list(turn_rows(rows, info.name))
    if not any(row.group for row in rows_of_turns):
        return None
    scores, groups = summarize(rows_of_turns, infos={info.name: info}, intervals=intervals)
    by_turn = [group for group in groups.get(info.name, ()) if group.group != NO_GROUP]
    conversations = len({(row.sample, row.repeat) for row in rows_of_turns if row.group})
    return TurnSummary(scores[0], conversations, tuple(sorted(by_turn, key=lambda group: int(group.group[5:]))))
