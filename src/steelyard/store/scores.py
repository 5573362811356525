"""Scores of a run by their rows, and the details of scores that figures need; all columns are in `columns`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from steelyard.analysis.judging_manifest import JUDGES, OF_ANSWERS, has_structured_judge, is_judging
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.scores.score_columns import DAMAGED_DETAIL, NO_DETAIL, DistinctDetails, ScoreRow
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.errors import StoreError
from steelyard.plain_json import from_json
from steelyard.prompts.trajectory import TURNS
from steelyard.store.codec import Unpacker
from steelyard.store.database.connection import Connection, Rows
from steelyard.store.records import unpacker_of
from steelyard.store.stored_run import StoredRun
from steelyard.types import LACKS, OUTCOMES, Outcome

_PLACE: Final = "CAST(no AS BIGINT) * 1048576 + repeat"
"""Orders records by place."""
_MOST_CACHED: Final = 20_000
"""Different bodies whose number is cached."""
_KEPT: Final = (
    "letters", "wanted", "options", "original", "confidence", "kind", "label", "reference", "matched_by", "long_pairs",
    "pairs", LACKS, "sd", "flip_rate", "asked_for", *OF_ANSWERS, "by", "side", "why", "weight", "lowest", "credit",
    "probability",
)  # fmt: skip
"""Keys of details that figures are computed from; all others are texts for a reader of one record."""
_KEPT_OF_PARTS: Final[Mapping[str, Sequence[str]]] = {
    "orders": ("shown", "verdict", "slot", "outcome", "repeats"),
    TURNS: ("outcome", "value"),
}
"""The same of lists in a detail: of each part."""


def opened_scores(run: StoredRun, names: Iterable[str]) -> set[str]:
    """The scores whose details figures need on every record; of the others only those without a value are read.

    Args:
        run: whose scores.
        names: of all scores.
    """
    manifest = run.manifest
    of_pairs = run.kind == JUDGES or is_judging(manifest) or _judges_pairs(manifest.get("scorers"))
    if of_pairs or has_structured_judge(manifest) or _asks_repeatedly(manifest.get("scorers")):
        return {*names}
    detailed = {
        info.name
        for info in score_infos(manifest).values()
        if info.exam or info.named_verdicts or info.per_turn or info.weighted or info.confidence
    }
    return detailed | {RETRIEVAL_SCORES[0]}


def _asks_repeatedly(scorers: Any) -> bool:
    """Whether a judge among the described scorers has more than one repeat."""
    if isinstance(scorers, Mapping):
        repeats = scorers.get("repeats")
        return (type(repeats) is int and repeats > 1) or any(map(_asks_repeatedly, scorers.values()))
    return isinstance(scorers, list) and any(map(_asks_repeatedly, scorers))


def _judges_pairs(scorers: Any) -> bool:
    """Whether one of the described scorers says which of two answers is preferred."""
    described = scorers.values() if isinstance(scorers, Mapping) else ()
    return any(
        str(kind).endswith("preference") for scorer in described if isinstance(scorer, Mapping) for kind in scorer
    )


def kept_detail(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """What figures need of the detail of a score."""
    kept = {key: detail[key] for key in _KEPT if key in detail}
    for name, keys in _KEPT_OF_PARTS.items():
        if isinstance(parts := detail.get(name), list):
            mappings = (part if isinstance(part, Mapping) else {} for part in parts)
            kept[name] = [{key: part[key] for key in keys if key in part} for part in mappings]
    return kept or NO_DETAIL


class DetailReader:
    """Reads what figures need of the bodies of scores; equal bodies are parsed once, and equal results are one.

    Args:
        unpacker: of the bodies.
    """

    __slots__ = ("_bodies", "_details", "_unpack")

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpack = unpacker.unpack
        self._bodies: dict[bytes | None, int] = {None: 0}
        self._details = DistinctDetails((NO_DETAIL, DAMAGED_DETAIL))

    @property
    def details(self) -> tuple[Mapping[str, Any], ...]:
        """The different details, by number."""
        return self._details.all

    def numbers(self, bodies: Sequence[bytes | None]) -> list[int]:
        """The numbers of the details in the bodies of scores."""
        cached = list(map(self._bodies.get, bodies))
        return [self._number(body) if number is None else number for body, number in zip(bodies, cached, strict=True)]

    def _number(self, body: bytes | None) -> int:
        number = self._bodies.get(body)
        if number is None:
            detail = _detail(self._unpack, body)
            number = self._details.number(DAMAGED_DETAIL if detail is None else kept_detail(detail))
            if len(self._bodies) < _MOST_CACHED:
                self._bodies[body] = number
        return number


def _detail(unpack: Callable[[bytes], bytes], body: bytes | None) -> Mapping[str, Any] | None:
    """The detail of a packed score; empty without a body, None if it is damaged."""
    if not body:
        return {}
    try:
        detail = from_json(unpack(body))[1]
    except (StoreError, ValueError, TypeError, LookupError):
        return None
    return detail if isinstance(detail, dict) else None


class PlacedScore(NamedTuple):
    """One score of one record, with the record's place.

    Args:
        no: index of its sample in the dataset, 0-based.
        repeat: of the sample.
        sample: the sample's id.
        group: the sample's.
        failed: whether the record holds a failure.
        outcome: of the score; None where the record has no such score.
        value: of the score; None where it has none.
        passed: the verdict of the scorer; None where it gave none.
    """

    no: int
    repeat: int
    sample: str
    group: str
    failed: bool
    outcome: Outcome | None
    value: float | None
    passed: bool | None


def scored_names(connection: Connection, run: StoredRun) -> list[str]:
    """Names of the scores that records of a run have, in order of first appearance."""
    query = f"""SELECT (SELECT text FROM word WHERE num = name), MIN({_PLACE}) AS first FROM score
        WHERE run = :run AND scoring_version = :scoring_version GROUP BY name ORDER BY first, name"""
    rows = connection.execute(query, {"run": run.num, "scoring_version": run.scoring_version}).tuples()
    return [name for name, _ in rows if name is not None]


def words_of(connection: Connection) -> dict[int, str]:
    """Number -> name of every score and stage."""
    return dict(connection.execute("SELECT num, text FROM word").tuples())


def detailed_rows(connection: Connection, run: StoredRun, score: str) -> Iterator[ScoreRow]:
    """The rows of one score with everything that its scorer kept, in order of samples and repeats.

    A record without the score is left out, and so is one whose detail is damaged.
    """
    unpack = unpacker_of(connection).unpack
    for row in _of_score(connection, run, score):
        if row.outcome is not None and (detail := _detail(unpack, row.body)) is not None:
            yield ScoreRow(
                row.id, row.group_name, row.cluster, row.repeat, score, OUTCOMES[row.outcome], row.value, detail
            )


def placed_scores(connection: Connection, run: StoredRun, score: str) -> Iterator[PlacedScore]:
    """One score of every record by sample position; a record without that score has no outcome."""
    rows = _of_score(connection, run, score, "score.outcome, score.value, score.passed")
    for no, repeat, failed, ident, group, _, outcome, value, passed in rows.tuples():
        outcome_name = None if outcome is None else OUTCOMES[outcome]
        is_passed = None if passed is None else passed != 0
        yield PlacedScore(no, repeat, ident, group, failed != 0, outcome_name, value, is_passed)


_SCORED: Final = """SELECT record.no, record.repeat, record.failed, sample.id, sample.group_name, sample.cluster, {more}
    FROM record JOIN sample ON sample.num = record.sample
    LEFT JOIN score ON score.run = record.run AND score.scoring_version = :scoring_version AND score.no = record.no
    AND score.repeat = record.repeat{of_name}
    WHERE record.run = :run ORDER BY record.no, record.repeat"""
"""Records of a run with their samples and scores, those of one name or all."""


def _of_score(
    connection: Connection, run: StoredRun, score: str, columns: str = "score.outcome, score.value, score.body"
) -> Rows:
    number = connection.execute("SELECT num FROM word WHERE text = :name", {"name": score}).scalar()
    query = _SCORED.format(more=columns, of_name=" AND score.name = :name")
    values = {"run": run.num, "scoring_version": run.scoring_version, "name": -1 if number is None else number}
    return connection.stream(query, values)


def changed_verdicts(connection: Connection, run: int, versions: tuple[int, int]) -> dict[str, int]:
    """Score -> number of records whose result differs between two scoring versions.

    A mean can stay the same while verdicts change in both directions, so records are counted. A score that one of the
    versions does not have is changed wherever the other has it.

    Args:
        connection: to the store.
        run: the run's number.
        versions: of its scores.
    """
    query = """SELECT word.text, count(*) AS records FROM (
            SELECT name FROM score WHERE run = :run AND scoring_version IN :versions GROUP BY name, no, repeat
            HAVING count(*) = 1 OR min(outcome) <> max(outcome) OR min(value) <> max(value)
        ) AS verdicts JOIN word ON word.num = verdicts.name GROUP BY word.text"""
    return dict(connection.execute(query, {"run": run, "versions": versions}).tuples())
