"""Counts of equal score rows of a run, made by the database: all that a summary of independent rows needs.

A run of 100,000 samples comes as a few hundred counts, in a fraction of the time and memory of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from steelyard.analysis.score_columns import NOT_KEPT
from steelyard.analysis.score_infos import names_where, score_infos
from steelyard.analysis.tallied_summary import ScoreTally
from steelyard.store.connection import Connection
from steelyard.store.records import ReadableRun, unpacker_of
from steelyard.store.scores import AnsweredReader
from steelyard.types import OUTCOMES

MOST_KINDS: Final = 20_000
"""Up to so many different rows are counted: with more, columns are faster."""
_PLACE: Final = "CAST(r.no AS BIGINT) * 1048576 + r.repeat"
_DEPENDENT: Final = """SELECT COUNT(*), MAX(r.repeat), MAX(CASE WHEN s.cluster <> '' THEN 1 ELSE 0 END),
    MAX(CASE WHEN s.id LIKE '%@%' THEN 1 ELSE 0 END) FROM record r JOIN sample s ON s.num = r.sample
    WHERE r.run = :run"""
_COUNTS: Final = f"""SELECT s.grp, v.name, v.outcome, v.value, CASE WHEN v.name IN :exams THEN v.body END, r.failed,
    COUNT(*), MIN({_PLACE}) FROM record r JOIN sample s ON s.num = r.sample
    JOIN score v ON v.run = :run AND v.layer = :layer AND v.no = r.no AND v.repeat = r.repeat
    WHERE r.run = :run GROUP BY 1, 2, 3, 4, 5, 6 LIMIT {MOST_KINDS + 1}"""
_FIRST_ROWS: Final = 4000
_VARIED: Final = f"""SELECT COUNT(*) FROM (SELECT DISTINCT name, value FROM
    (SELECT name, value FROM score WHERE run = :run AND layer = :layer LIMIT {_FIRST_ROWS}) AS first_rows) AS kinds"""
_FAILED: Final = f"""SELECT s.grp, COUNT(*), MIN({_PLACE}) FROM record r JOIN sample s ON s.num = r.sample
    WHERE r.run = :run AND r.failed = 1 GROUP BY s.grp"""


def read_tallies(connection: Connection, run: ReadableRun) -> dict[str, list[ScoreTally]] | None:
    """The counts of a run's scores, in order of first appearance of scores and groups.

    Args:
        connection: to the store.
        run: whose scores.

    Returns:
        None where counts are not enough: there are repeats, clusters or rotations, hardly any two rows are equal, or it
        is not known which scores a failed record lacks.
    """
    announced = [name for name in run.manifest.get("scores", ()) if name]
    values = {"run": run.num, "layer": run.scoring_version}
    ((records, *dependent),) = connection.execute(_DEPENDENT, values).tuples()
    if any(dependent):
        return None
    if records > 2 * MOST_KINDS and connection.execute(_VARIED, values).scalar() > _FIRST_ROWS // 4:
        return None  # a score of any number: sorting its rows, to find that few are alike, takes half a second
    failed = list(connection.execute(_FAILED, values).tuples())
    if failed and not announced:
        return None
    words = dict(connection.execute("SELECT num, text FROM word").tuples())
    of_exams = names_where(score_infos(run.manifest), lambda info: info.exam)
    exams = [num for num, text in words.items() if text in of_exams]
    rows = list(connection.execute(_COUNTS, {**values, "exams": exams}).tuples())
    if len(rows) > MOST_KINDS or any(row[1] not in words or not 0 <= row[2] < len(OUTCOMES) for row in rows):
        return None  # a damaged row is reported where columns are read
    reader = AnsweredReader(unpacker_of(connection))
    tallies = _Counted()
    for group, name, outcome, value, body, of_failed, n, first in rows:
        answered = None
        if name in exams:
            answered = NOT_KEPT if body is None else reader.read(body)
        tallies.add(words[name], ScoreTally(group, OUTCOMES[outcome], value, n, answered), first, of_failed * n)
    for name in announced if failed else ():
        tallies.add_failures(name, failed)
    # Errors of a failed record are in the order of the scorers, scores in that of their numbers.
    first_failed = min((first for _, _, first in failed), default=-1)
    numbers = {text: num for num, text in words.items()}
    return tallies.in_order(lambda name, first: announced.index(name) if first == first_failed else numbers[name])


class _Counted:
    """Tallies by score, with the place where each group of a score appears first."""

    def __init__(self) -> None:
        self._tallies: dict[str, list[ScoreTally]] = {}
        self._first: dict[tuple[str, str], int] = {}
        self._of_failed: dict[tuple[str, str], int] = {}

    def add(self, name: str, tally: ScoreTally, first: int, of_failed: int) -> None:
        """Add equal rows; `of_failed` of their records failed."""
        key = name, tally.group
        self._tallies.setdefault(name, []).append(tally)
        self._first[key] = min(first, self._first.get(key, first))
        self._of_failed[key] = self._of_failed.get(key, 0) + of_failed

    def add_failures(self, name: str, failed: Sequence[tuple[str, int, int]]) -> None:
        """Add an `error` for each failed record that lacks a score; `failed` has group, number and first place."""
        for group, n, first in failed:
            missing = n - self._of_failed.get((name, group), 0)
            if missing > 0:
                self.add(name, ScoreTally(group, "error", None, missing, None), first, 0)

    def in_order(self, rank: Callable[[str, int], int]) -> dict[str, list[ScoreTally]]:
        """Score -> its tallies, both by first appearance; scores that begin at one place by `rank`."""
        begins: Mapping[str, int] = {
            name: min(self._first[name, tally.group] for tally in tallies) for name, tallies in self._tallies.items()
        }
        return {
            name: sorted(self._tallies[name], key=lambda tally: self._first[name, tally.group])  # at once
            for name in sorted(self._tallies, key=lambda name: (begins[name], rank(name, begins[name])))
        }
