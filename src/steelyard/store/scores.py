"""Scores of a run, read row by row, opening only the bodies that are needed; columns are in `columns`.

After the rows come the parts of a summary that are read from details of scores or from metadata.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES, SourceMatchCounts
from steelyard.analysis.score_columns import NOT_KEPT, Answered, JudgedRow, RowOutcome, ScoreColumns, ScoreRow
from steelyard.analysis.score_infos import names_where, score_infos
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import NO_GROUP, Consistency, ScoreSummary, TurnSummary
from steelyard.errors import StoreError
from steelyard.escaping import cell_text
from steelyard.plain_json import from_json
from steelyard.store.codec import Unpacker
from steelyard.store.connection import NO_VALUES, Connection, Rows, Values
from steelyard.store.records import ReadableRun, unpack_sample, unpacker_of
from steelyard.types import LACKS, OUTCOMES, Outcome

if TYPE_CHECKING:
    from steelyard.analysis.run_protocols import JudgingRun, PlacedVerdict

# A quotation mark inside a JSON text has a backslash before it, so `"letters":` can only be a key.
_KEYS: Final = re.compile(rb'"(letters|wanted|original|confidence|kind)":"([^"\\]*)"|"(options)":([0-9]+)', re.ASCII)
_ESCAPED: Final = re.compile(rb'"(?:letters|wanted|original|confidence|kind)":"[^"\\]*\\')
DAMAGED_DETAIL: Final = Answered(kind="damaged")
"""In place of what a scorer kept, where the body cannot be read; outcome and value are not in the body."""
_PLACE: Final = "CAST(no AS BIGINT) * 1048576 + repeat"
"""Orders records by place."""
_MOST_KEPT: Final = 20_000
"""Different bodies that are cached."""


class AnsweredReader:
    """Reads letters and key from score bodies, which summaries need for every reply.

    Equal packed bodies are parsed once, and the distinct results are numbered: there are few of them.
    """

    __slots__ = ("_answers", "_bodies", "_numbers", "_unpacker")

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpacker = unpacker
        self._bodies: dict[bytes | None, int] = {}
        self._numbers: dict[Answered, int] = {}
        self._answers: list[Answered] = []

    @property
    def details(self) -> tuple[Answered, ...]:
        """The distinct readings, by number."""
        return tuple(self._answers)

    def number(self, body: bytes | None) -> int:
        """The number of the letters and the key in the body of a score.

        It is that of `NOT_KEPT` where the body has none, and of `DAMAGED_DETAIL` where it cannot be read.
        """
        number = self._bodies.get(body)
        if number is None:
            answered = NOT_KEPT if body is None else self._answered_in(body)
            number = self._numbers.setdefault(answered, len(self._answers))
            if number == len(self._answers):
                self._answers.append(answered)
            if len(self._bodies) < _MOST_KEPT:
                self._bodies[body] = number
        return number

    def numbers(self, bodies: Sequence[bytes | None]) -> list[int]:
        """The same of several."""
        cached = list(map(self._bodies.get, bodies))
        return [self.number(body) if number is None else number for body, number in zip(bodies, cached, strict=True)]

    def read(self, body: bytes | memoryview) -> Answered:
        """The letters and the key in the body of a score; `DAMAGED_DETAIL` where it cannot be read."""
        return self._answers[self.number(bytes(body) if isinstance(body, memoryview) else body)]

    def _answered_in(self, body: bytes) -> Answered:
        try:
            return _answered(self._unpacker.unpack(body))
        except (StoreError, ValueError, LookupError, TypeError):
            return DAMAGED_DETAIL


def answered_of(detail: Mapping[str, Any]) -> Answered:
    """The same from a detail that was opened already.

    >>> answered_of({"letters": "B", "wanted": "B", "options": 4, "confidence": "inferred"})
    Answered(letters='B', wanted='B', options=4, original=None, inferred=True, kind='')
    """
    texts = {key: detail.get(key) for key in ("letters", "wanted", "original", "confidence", "kind")}
    options = detail.get("options")
    return Answered(
        letters=_text(texts["letters"]),
        wanted=_text(texts["wanted"]),
        options=options if isinstance(options, int) else 0,
        original=texts["original"] if isinstance(texts["original"], str) else None,
        inferred=texts["confidence"] == "inferred",
        kind=_text(texts["kind"]),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _answered(data: bytes) -> Answered:
    if b"\\u" in data or data.count(b"{") != 1 or _ESCAPED.search(data):
        # Something is nested or escaped, so a key may not be one of the detail's own.
        detail = from_json(data)[1]
        return answered_of(detail) if isinstance(detail, Mapping) else NOT_KEPT
    fields = {key or count: value or number for key, value, count, number in _KEYS.findall(data)}
    original = fields.get(b"original")
    return Answered(
        letters=fields.get(b"letters", b"").decode("utf-8", "replace"),
        wanted=fields.get(b"wanted", b"").decode("utf-8", "replace"),
        options=int(fields.get(b"options", b"0")),
        original=None if original is None else original.decode("utf-8", "replace"),
        inferred=fields.get(b"confidence") == b"inferred",
        kind=fields.get(b"kind", b"").decode("utf-8", "replace"),
    )


class PlacedValue(NamedTuple):
    """One score of one record, by the sample's place in its dataset."""

    no: int
    repeat: int
    outcome: RowOutcome
    value: float | None


def score_rows(connection: Connection, run: ReadableRun, used: Container[int] | None) -> Iterator[ScoreRow]:
    """Every score in order of samples and repeats; an `error` row per score that a failed record lacks.

    Args:
        connection: to the store.
        run: whose scores.
        used: the places of samples that count; None is all.
    """
    return (row for row, _ in _all_rows(connection, run, used, "NULL"))


def scored_names(connection: Connection, run: ReadableRun) -> list[str]:
    """Names of the scores that records of a run have, in order of first appearance."""
    query = f"""SELECT name, MIN({_PLACE}) AS first FROM score WHERE run = :run AND layer = :layer
        GROUP BY name ORDER BY first, name"""
    words = words_of(connection)
    rows = connection.execute(query, {"run": run.num, "layer": run.scoring_version}).tuples()
    return [words[name] for name, _ in rows if name in words]


def examined_rows(
    connection: Connection, run: ReadableRun, used: Container[int] | None, exams: Sequence[str]
) -> Iterator[tuple[ScoreRow, Answered | None]]:
    """The same rows, those of exam scores with the letters and key that their scorer kept, others with None."""
    numbers = [number for number, name in words_of(connection).items() if name in exams]
    bodies = "CASE WHEN score.name IN :exams THEN score.body END"
    reader = AnsweredReader(unpacker_of(connection))
    for row, body in _all_rows(connection, run, used, bodies, {"exams": numbers}):
        if row.name and row.name not in exams:
            yield row, None
        else:
            yield row, NOT_KEPT if body is None else reader.read(body)


def words_of(connection: Connection) -> dict[int, str]:
    """Number -> name of every score and stage."""
    return dict(connection.execute("SELECT num, text FROM word").tuples())


def _all_rows(
    connection: Connection, run: ReadableRun, used: Container[int] | None, more: str, values: Values = NO_VALUES
) -> Iterator[tuple[ScoreRow, Any]]:
    """Every row of every score, with one more column, given as SQL."""
    expected = [name for name in run.manifest.get("scores", ()) if name]
    names = words_of(connection)
    query = _SCORED.format(more=f"score.name AS name, score.outcome, score.value, {more} AS more", of_name="")
    values = {"run": run.num, "layer": run.scoring_version, **values}
    rows = connection.stream(f"{query}, score.name", values).tuples()
    return _rows(rows if used is None else (row for row in rows if row[0] in used), names, expected)


def judged_rows(
    connection: Connection, run: ReadableRun, score: str, used: Container[int] | None
) -> Iterator[JudgedRow]:
    """The rows of one score with their detail, in order of samples and repeats.

    A record that lacks it is an `error` where it failed, and is left out where it did not; one whose detail is damaged
    is an `error` too, as it is not known which answer was preferred.
    """
    unpack = unpacker_of(connection).unpack
    for row in _of_score(connection, run, score):
        if used is not None and row.no not in used:
            continue
        if row.outcome is None:
            if row.failed:
                yield JudgedRow(row.id, row.grp, row.cluster, row.repeat, "error", None, {})
            continue
        detail = _detail(unpack, row.body)
        head = JudgedRow(row.id, row.grp, row.cluster, row.repeat, "error", None, {})
        yield head if detail is None else head._replace(outcome=OUTCOMES[row.outcome], value=row.value, detail=detail)


def placed_verdicts(connection: Connection, run: ReadableRun, score: str) -> Iterator[PlacedVerdict]:
    """One score of every record by sample position, with its sample; a record without that score has no outcome."""
    from steelyard.analysis.run_protocols import PlacedVerdict

    rows = _of_score(connection, run, score, "score.outcome, score.passed")
    for no, _, failed, ident, group, _, outcome, passed in rows.tuples():
        outcome_name = None if outcome is None else OUTCOMES[outcome]
        yield PlacedVerdict(no, ident, group, failed != 0, outcome_name, None if passed is None else passed != 0)


def placed_values(connection: Connection, run: ReadableRun, score: str) -> Iterator[PlacedValue]:
    """One score of every record by sample position, ignoring stopping rules; `error` if a failed record lacks it."""
    for row in _of_score(connection, run, score):
        if row.outcome is not None:
            yield PlacedValue(row.no, row.repeat, OUTCOMES[row.outcome], row.value)
        elif row.failed:
            yield PlacedValue(row.no, row.repeat, "error", None)


def done_places(connection: Connection, run: int) -> dict[tuple[int, int], bool]:
    """(no, repeat) of every stored record of a run -> whether it failed."""
    rows = connection.execute("SELECT no, repeat, failed FROM record WHERE run = :run", {"run": run}).tuples()
    return {(no, repeat): bool(failed) for no, repeat, failed in rows}


def sample_places(connection: Connection, run: int) -> dict[str, int]:
    """Sample id -> its place in the dataset, of every stored record of a run."""
    query = """SELECT sample.id, record.no FROM record JOIN sample ON sample.num = record.sample
        WHERE record.run = :run"""
    return dict(connection.execute(query, {"run": run}).tuples())


def place_of_sample(connection: Connection, run: int, sample: str) -> int | None:
    """The place in the dataset of one sample of a run; None where no record of it is stored."""
    query = "SELECT no FROM record WHERE run = :run AND sample IN (SELECT num FROM sample WHERE id = :id) LIMIT 1"
    place = connection.execute(query, {"run": run, "id": sample}).scalar()
    return None if place is None else int(place)


def counted_texts(
    connection: Connection,
    run: ReadableRun,
    used: Container[int] | None,
    *,
    key: str,
    outcome: Outcome | None = None,
    name: str = "",
) -> dict[str, int]:
    """How many records have each text at `key` in the detail of such a score; most frequent first.

    A score without a text counts under its outcome, a damaged one as "damaged"; scores of one record with the same text
    count once. Scores that read the same reply by another tool's rule do not count.
    """
    query = "SELECT no, repeat, body, outcome FROM score WHERE run = :run AND layer = :layer"
    values: dict[str, Any] = {"run": run.num, "layer": run.scoring_version}
    if outcome is not None:
        query += " AND outcome = :outcome"
        values["outcome"] = OUTCOMES.index(outcome)
    if name:
        query += " AND name = (SELECT num FROM word WHERE text = :name)"
        values["name"] = name
    elif also_scored := names_where(score_infos(run.manifest), lambda info: info.also_scored):
        query += " AND name NOT IN (SELECT num FROM word WHERE text IN :also)"
        values["also"] = also_scored
    unpack = unpacker_of(connection).unpack
    records = {
        (no, repeat, _text_at(key, _detail(unpack, body)) or OUTCOMES[code])
        for no, repeat, body, code in connection.stream(query, values).tuples()
        if used is None or no in used
    }
    counts = Counter(text.replace("_", " ") if text in OUTCOMES else text for _, _, text in records)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _detail(unpack: Callable[[bytes], bytes], body: bytes | None) -> dict[str, Any] | None:
    """The detail of a packed score; empty without a body, None if it is damaged."""
    if not body:
        return {}
    try:
        detail = from_json(unpack(body))[1]
    except (StoreError, ValueError, TypeError, LookupError):
        return None
    return detail if isinstance(detail, dict) else None


def _text_at(key: str, detail: Mapping[str, Any] | None) -> str:
    """The text at `key` in the detail of a score; "" where there is none."""
    value = "damaged" if detail is None else detail.get(key, "")
    return value if isinstance(value, str) else ""


_SCORED: Final = """SELECT record.no, record.repeat, record.failed, sample.id, sample.grp, sample.cluster, {more}
    FROM record JOIN sample ON sample.num = record.sample
    LEFT JOIN score ON score.run = record.run AND score.layer = :layer AND score.no = record.no
    AND score.repeat = record.repeat{of_name}
    WHERE record.run = :run ORDER BY record.no, record.repeat"""
"""Records of a run with their samples and scores, those of one name or all."""


def _of_score(
    connection: Connection, run: ReadableRun, score: str, columns: str = "score.outcome, score.value, score.body"
) -> Rows:
    number = connection.execute("SELECT num FROM word WHERE text = :name", {"name": score}).scalar()
    query = _SCORED.format(more=columns, of_name=" AND score.name = :name")
    values = {"run": run.num, "layer": run.scoring_version, "name": -1 if number is None else number}
    return connection.stream(query, values)


def _rows(rows: Iterable[Any], names: Mapping[int, str], expected: Sequence[str]) -> Iterator[tuple[ScoreRow, Any]]:
    """Score rows with the last column, and for each failed record an error row per score that it lacks."""
    current: tuple[int, int] | None = None
    missing: list[ScoreRow] = []
    for no, repeat, failed, ident, group, cluster, name, outcome, value, extra in rows:
        if (no, repeat) != current:
            yield from ((lacked, None) for lacked in missing)
            current = (no, repeat)
            lacking = (expected or [""]) if failed else []
            missing = [ScoreRow(ident, group, cluster, repeat, lacked, "error", None) for lacked in lacking]
        if name is not None:
            missing = [row for row in missing if row.name not in {names[name], ""}]
            yield ScoreRow(ident, group, cluster, repeat, names[name], OUTCOMES[outcome], value), extra
    yield from ((lacked, None) for lacked in missing)


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
            SELECT name FROM score WHERE run = :run AND layer IN :versions GROUP BY name, no, repeat
            HAVING count(*) = 1 OR min(outcome) <> max(outcome) OR min(value) <> max(value)
        ) AS verdicts JOIN word ON word.num = verdicts.name GROUP BY word.text"""
    return dict(connection.execute(query, {"run": run, "versions": versions}).tuples())


def _asks_repeatedly(scorers: Any) -> bool:
    """Whether a judge among the described scorers has more than one repeat."""
    if isinstance(scorers, Mapping):
        repeats = scorers.get("repeats")
        return (type(repeats) is int and repeats > 1) or any(map(_asks_repeatedly, scorers.values()))
    return isinstance(scorers, list) and any(map(_asks_repeatedly, scorers))


def consistency(connection: Connection, run: int, version: int, *, scorers: Any) -> dict[str, Consistency]:
    """Score -> how consistently its judge repeated its verdicts; damaged scores are left out.

    Args:
        connection: of the store.
        run: the run's number.
        version: of the scores.
        scorers: as the manifest describes them; where none asks repeatedly, no score is read.
    """
    if not _asks_repeatedly(scorers):
        return {}
    query = """SELECT word.text, score.body FROM score JOIN word ON word.num = score.name
        WHERE run = :run AND layer = :layer AND score.body IS NOT NULL ORDER BY word.text, no, repeat"""
    unpack = unpacker_of(connection).unpack
    spreads: dict[str, list[tuple[float, float]]] = {}
    for row in connection.stream(query, {"run": run, "layer": version}):
        with suppress(StoreError):
            detail = from_json(unpack(bytes(row.body)))[1]
            if "sd" in detail and "flip_rate" in detail:
                spreads.setdefault(row.text, []).append((detail["sd"], detail["flip_rate"]))
    return {name: spread for name, pairs in spreads.items() if (spread := Consistency.of(pairs)) is not None}


def matched(
    connection: Connection, run: ReadableRun, used: Container[int] | None, scores: Sequence[ScoreSummary]
) -> SourceMatchCounts | None:
    """How retrieved passages were matched, counted from the first retrieval score; None if it was not scored.

    Args:
        connection: of the store.
        run: whose records are counted.
        used: places of the samples that count; None is all.
        scores: of the run.
    """
    name = RETRIEVAL_SCORES[0]
    if not any(score.name == name for score in scores):
        return None
    counts: Counter[str] = Counter()
    long = pairs = 0
    unpack = unpacker_of(connection).unpack
    for row in _of_score(connection, run, name, "score.body"):
        if row.body is not None and (used is None or row.no in used):
            detail = _detail(unpack, bytes(row.body)) or {}
            counts[_text_at("matched_by", detail)] += 1
            if type(detail.get("long_pairs")) is type(detail.get("pairs")) is int:
                long, pairs = long + detail["long_pairs"], pairs + detail["pairs"]
    return SourceMatchCounts.of(run.target, counts, long_share=long / pairs if pairs else 0.0)


def breakdowns(
    connection: Connection, run: int, columns: ScoreColumns, manifest: Mapping[str, Any]
) -> dict[str, dict[str, tuple[ScoreSummary, ...]]]:
    """Key -> score -> a summary per value of that key; no entry for a key that no sample has.

    Args:
        connection: of the store.
        run: the run's number.
        columns: the run's rows.
        manifest: the run's, for the scores' order and infos.
    """
    keys = manifest.get("breakdowns", ())
    if not keys:
        return {}
    order = {name: position for position, name in enumerate(manifest.get("scores", ()))}
    infos, intervals = score_infos(manifest), Intervals.of(manifest)
    by_key = {}
    for key, of_sample in _metadata(connection, run, keys).items():
        if not any(of_sample.values()):
            continue
        by_value = columns.in_groups([of_sample.get(sample, "") for sample in columns.samples])
        groups = summarize(by_value, infos=infos, intervals=intervals)[1]
        by_key[key] = {
            name: tuple(
                replace(group, group=f"(no {key})") if group.group == NO_GROUP else group for group in groups[name]
            )
            for name in sorted(groups, key=lambda name: order.get(name, len(order)))
        }
    return by_key


def _metadata(connection: Connection, run: int, keys: Sequence[str]) -> dict[str, dict[str, str]]:
    """Key of the metadata -> sample's id -> its value as text; "" where a sample has none."""
    query = """SELECT id, grp, cluster, body FROM sample
        WHERE num IN (SELECT sample FROM record WHERE run = :run)"""
    unpack = unpacker_of(connection).unpack
    by_key: dict[str, dict[str, str]] = {key: {} for key in keys}
    for row in connection.stream(query, {"run": run}):
        try:
            metadata = unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body))).metadata
        except StoreError:
            metadata = {}  # reported where its record is read; its scores still count
        for key, values in by_key.items():
            values[row.id] = cell_text(metadata.get(key))
    return by_key


def lacking(
    connection: Connection, run: ReadableRun, used: Container[int] | None, scores: Sequence[ScoreSummary]
) -> dict[str, dict[str, dict[str, int]]]:
    """Score -> what outputs lack, so that it does not apply to them -> group -> records; arguments as for `matched`."""
    if not any(score.not_applicable for score in scores):
        return {}
    query = """SELECT word.text AS score, sample.grp, score.no, score.body FROM score
        JOIN word ON word.num = score.name
        JOIN record ON record.run = score.run AND record.no = score.no AND record.repeat = score.repeat
        JOIN sample ON sample.num = record.sample
        WHERE score.run = :run AND score.layer = :layer AND score.outcome = :outcome AND score.body IS NOT NULL
        ORDER BY score.no, score.repeat"""
    values = {"run": run.num, "layer": run.scoring_version, "outcome": OUTCOMES.index("not_applicable")}
    unpack = cache(unpacker_of(connection).unpack)  # most bodies are equal
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for row in connection.stream(query, values):
        if used is not None and row.no not in used:
            continue
        if lacks := _text_at(LACKS, _detail(unpack, bytes(row.body))):
            groups = counts.setdefault(row.score, {}).setdefault(lacks, {})
            groups[row.grp] = groups.get(row.grp, 0) + 1
    return {score.name: counts[score.name] for score in scores if score.name in counts}


def turn_summaries(run: JudgingRun) -> tuple[TurnSummary, ...]:
    """Each score of single turns, over all turns of a run's conversations; empty where it has none."""
    infos = {name: info for name, info in score_infos(run.manifest).items() if info.per_turn}
    if not infos:
        return ()
    from steelyard.analysis.turns import turn_summary  # few runs are of conversations

    intervals = Intervals.of(run.manifest)
    summaries = (turn_summary(run.judged_rows(name), info, intervals) for name, info in infos.items())
    return tuple(summary for summary in summaries if summary is not None)
