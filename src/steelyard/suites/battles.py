"""Ranks targets by battles that were judged elsewhere: tuples, mappings, a data frame or a file -> standings.

The suite `pairwise` judges pairs and ranks what it judged. Here the verdicts exist already, by name: of people, of an
arena, of another tool. Words are read as in files of votes (`scorers.human_preference`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.preferences.standings import NamedBattle, Standings, standings_of_battles
from steelyard.data.headers import Role
from steelyard.data.rows import open_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError, did_you_mean
from steelyard.scorers.human_preference import preferred_side

_ROLES: Final = (
    Role("first", words="vote_first", by_position=False),
    Role("second", words="vote_second", by_position=False),
    Role("winner", words="vote_preferred", by_position=False),
    Role("sample", required=False, words="vote_sample", by_position=False),
)
_SCORES: Final[Mapping[str, float]] = {"A": 1.0, "tie": 0.5, "B": 0.0}


def rank(
    battles: Any,
    *,
    columns: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Standings:
    """Rank models, prompts or players by battles between two of them: Bradley-Terry ratings with intervals.

    A battle names the first, the second and the winner. The winner is one of both names, `tie` (or `draw`, `both bad`,
    平局 ...), a word for a place (`model_a`, `first`), or the first's score: 1, 0.5 or 0; another number is refused.
    Names win over words. A blank winner is a battle without a verdict: it is left out and counted. Battles with one
    `sample` (the question that both answered) are resampled together, as they are not independent.

    Args:
        battles: tuples (first, second, winner) or (first, second, winner, sample); mappings or a data frame with these
            columns; or a file of them (.csv, .tsv, .jsonl, .json, .parquet or a sheet).
        columns: role (`first`, `second`, `winner`, `sample`) -> column; what is left out is found by its header
            (`model_a`, `model_b`, `winner`, `question` ...). Not for tuples.
        level: confidence level in (0, 1) of intervals, ranks and sets.
        resamples: behind the intervals; None is 1,000, fewer where there are very many names.
        seed: of the resampling; equal seeds give equal standings.

    Raises:
        ConfigError: there is no such file or column, a level outside (0, 1), or no battle with a verdict.
        DataError: battles that cannot be counted, each with its location.

    >>> result = rank([("new", "old", "new")] * 14 + [("old", "new", "old")] * 4 + [("new", "old", "tie")] * 2)
    >>> [(place.target, place.wins, place.ties, place.win_rate) for place in result.standings]
    [('new', 14, 2, 0.75), ('old', 4, 2, 0.25)]
    >>> round(result.standings[0].elo - result.standings[1].elo)  # 400 log10(15 / 5)
    191
    """
    parsed, defects = _checked(_rows(battles, dict(columns or {})))
    if defects:
        count = f"{len(defects)} battle{'s' if len(defects) > 1 else ''}"
        raise DataError(f"{count} cannot be counted", defects)
    return standings_of_battles(parsed, level=level, resamples=resamples, seed=seed)


_Row = tuple[str, Sequence[Any]]
"""Location of a battle, and its first, second, winner and sample."""


def _rows(battles: Any, columns: Mapping[str, str]) -> Iterator[_Row]:
    if isinstance(battles, str | Path) or hasattr(battles, "columns"):
        return _of_table(battles, columns)
    listed = list(battles)
    return _of_table(listed, columns) if listed and isinstance(listed[0], Mapping) else _of_tuples(listed)


def _of_tuples(rows: Sequence[Any]) -> Iterator[_Row]:
    for number, row in enumerate(rows, start=1):
        yield f"battle {number}", row if isinstance(row, tuple | list) else (row,)


def _of_table(source: Any, columns: Mapping[str, str]) -> Iterator[_Row]:
    if isinstance(source, str | Path):
        files = SampleFiles(Path(source), columns=dict(columns))
    else:
        files = SampleFiles.of(source, name="battles", columns=dict(columns))
    tables, _ = open_tables(files, _ROLES)
    for table in tables:
        for row in table.rows():
            yield table.location(row, "winner"), [table.cell(row, role.name) for role in _ROLES]


def _checked(rows: Iterable[_Row]) -> tuple[list[NamedBattle], list[str]]:
    """The valid battles, and what is wrong with the others."""
    battles: list[NamedBattle] = []
    defects: list[str] = []
    for location, row in rows:
        battle = _battle(row)
        if isinstance(battle, NamedBattle):
            battles.append(battle)
        else:
            defects.append(f"{location}: {battle}")
    return battles, defects


def _battle(row: Sequence[Any]) -> NamedBattle | str:
    """A battle, or what is wrong with it."""
    if not 3 <= len(row) <= 4:
        return f"expected (first, second, winner) or (first, second, winner, sample), but got {tuple(row)!r:.60}"
    first, second, sample = _text(row[0]), _text(row[1]), _text(row[3]) if len(row) > 3 else ""
    if not first or not second:
        return "a battle has two names"
    if first == second:
        return f"{first!r} against itself does not affect its rank"
    if not _text(row[2]):
        return NamedBattle(first, second, None, sample)
    score = _score(row[2], (first, second))
    if score is None:
        suggestion = did_you_mean(_text(row[2]), (first, second))
        near = suggestion if suggestion.startswith(":") else ""
        winner = _text(row[2])[:40]
        return f"the winner {winner!r} is neither {first!r} nor {second!r} nor a tie, and not 1, 0.5 or 0{near}"
    return NamedBattle(first, second, score, sample)


def _score(winner: Any, names: tuple[str, str]) -> float | None:
    """The score of the first; None where the winner cannot be read."""
    text = _text(winner)
    if text not in names:
        try:
            number = float(winner)
        except (TypeError, ValueError):
            number = math.nan
        if number in _SCORES.values():
            return number
        if math.isfinite(number) and not isinstance(winner, str):
            return None
    return _SCORES.get(preferred_side(text, names))


def _text(cell: Any) -> str:
    """A cell as text; blank where there is none."""
    blank = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return "" if blank else str(cell).strip()
