"""Scores of a run, read row by row without opening what need not be opened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, Select, case, null, select

from steelyard.store import schema
from steelyard.store.details import AnsweredReader
from steelyard.store.reading import unpacker_of
from steelyard.summary import NOT_KEPT, Answered, JudgedRow, RowOutcome, ScoreRow
from steelyard.types import OUTCOMES, Outcome


class Scored(Protocol):
    """The run whose scores are read."""

    num: int
    layer: int

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Everything the run was made of."""


class PlacedValue(NamedTuple):
    """One score of one record, by the sample's place in its dataset."""

    no: int
    repeat: int
    outcome: RowOutcome
    value: float | None


def score_rows(connection: Connection, run: Scored, used: Container[int] | None) -> Iterator[ScoreRow]:
    """Every score in order of samples and repeats; an `error` row per score that a failed record lacks.

    Args:
        connection: to the store.
        run: whose scores.
        used: the places of samples that count; None is all.
    """
    return (row for row, _ in _all_rows(connection, run, used, null()))


def examined_rows(
    connection: Connection, run: Scored, used: Container[int] | None, exams: Sequence[str]
) -> Iterator[tuple[ScoreRow, Answered | None]]:
    """The same rows, each of an exam score with what its scorer kept of letters and key; None beside any other."""
    words = {row.text: row.num for row in connection.execute(select(schema.word.c.num, schema.word.c.text))}
    bodies = case((schema.score.c.name.in_([words[name] for name in exams if name in words]), schema.score.c.body))
    reader = AnsweredReader(unpacker_of(connection))
    for row, body in _all_rows(connection, run, used, bodies):
        if row.name and row.name not in exams:
            yield row, None
        else:
            yield row, NOT_KEPT if body is None else reader.read(body)


def _all_rows(
    connection: Connection, run: Scored, used: Container[int] | None, more: Any
) -> Iterator[tuple[ScoreRow, Any]]:
    """Every row of every score, with one more column."""
    expected = [name for name in run.manifest.get("scores", ()) if name]
    query = _query(run, schema.score.c.name, more)
    ordered = query.order_by(schema.record.c.no, schema.record.c.repeat, schema.score.c.name)
    names = {row.num: row.text for row in connection.execute(select(schema.word.c.num, schema.word.c.text))}
    stream: Any = connection.execution_options(yield_per=5000).execute(ordered)
    return _rows(stream if used is None else (row for row in stream if row.no in used), names, expected)


def judged_rows(connection: Connection, run: Scored, score: str, used: Container[int] | None) -> Iterator[JudgedRow]:
    """The rows of one score with their detail, in order of samples and repeats.

    A record that lacks it is an `error` where it failed, and is left out where it did not.
    """
    unpack = unpacker_of(connection).unpack
    for row in _of_score(connection, run, score, schema.score.c.body):
        if used is not None and row.no not in used:
            continue
        if row.outcome is None:
            if row.failed:
                yield JudgedRow(row.id, row.grp, row.cluster, row.repeat, "error", None, {})
            continue
        detail = json.loads(unpack(bytes(row.body)))[1] if row.body else {}
        yield JudgedRow(row.id, row.grp, row.cluster, row.repeat, OUTCOMES[row.outcome], row.value, detail)


def placed_values(connection: Connection, run: Scored, score: str) -> Iterator[PlacedValue]:
    """One score of every record by place, whatever a stopping rule made of it; `error` where a failed one lacks it."""
    for row in _of_score(connection, run, score, schema.score.c.name):
        if row.outcome is not None:
            yield PlacedValue(row.no, row.repeat, OUTCOMES[row.outcome], row.value)
        elif row.failed:
            yield PlacedValue(row.no, row.repeat, "error", None)


def done_places(connection: Connection, run: int) -> dict[tuple[int, int], bool]:
    """(no, repeat) of every stored record of a run -> whether it failed."""
    record = schema.record
    query = select(record.c.no, record.c.repeat, record.c.failed).where(record.c.run == run)
    return {(row.no, row.repeat): bool(row.failed) for row in connection.execute(query)}


def sample_places(connection: Connection, run: int) -> dict[str, int]:
    """Sample id -> its place in the dataset, of every stored record of a run."""
    record, sample = schema.record, schema.sample
    joined = record.join(sample, sample.c.num == record.c.sample)
    query = select(sample.c.id, record.c.no).select_from(joined).where(record.c.run == run)
    return {row.id: row.no for row in connection.execute(query)}


def counted_texts(
    connection: Connection,
    run: Scored,
    used: Container[int] | None,
    *,
    key: str,
    outcome: Outcome | None = None,
    name: str = "",
) -> dict[str, int]:
    """How many records have each text at `key` in the detail of such a score; most frequent first.

    A score without one counts under its outcome; scores of one record that say the same count once. Those that read
    the same reply by another tool's rule do not count.
    """
    score, word = schema.score, schema.word
    query = select(score.c.no, score.c.repeat, score.c.body, score.c.outcome).where(
        (score.c.run == run.num) & (score.c.layer == run.layer)
    )
    if outcome is not None:
        query = query.where(score.c.outcome == OUTCOMES.index(outcome))
    if name:
        query = query.join(word, word.c.num == score.c.name).where(word.c.text == name)
    elif beside := run.manifest.get("beside"):
        query = query.join(word, word.c.num == score.c.name).where(word.c.text.not_in(beside))
    unpack = unpacker_of(connection).unpack
    found = {
        (row.no, row.repeat, _text_at(key, unpack(row.body) if row.body else b"") or OUTCOMES[row.outcome])
        for row in connection.execute(query)
        if used is None or row.no in used
    }
    counts = Counter(text.replace("_", " ") if text in OUTCOMES else text for _, _, text in found)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _text_at(key: str, body: bytes) -> str:
    """The text at `key` in the detail of a packed score; "" where there is none."""
    found = json.loads(body)[1].get(key, "") if body else ""
    return found if isinstance(found, str) else ""


def _of_score(connection: Connection, run: Scored, score: str, more: Any) -> Any:
    word = schema.word
    name = connection.scalar(select(word.c.num).where(word.c.text == score))
    query = _query(run, more, name=-1 if name is None else name)
    return connection.execute(query.order_by(schema.record.c.no, schema.record.c.repeat))


def _query(run: Scored, more: Any, last: Any = None, *, name: int | None = None) -> Select[Any]:
    """Records of a run with their samples and scores, those of one name or all."""
    score, record, sample = schema.score, schema.record, schema.sample
    mine = (
        (score.c.run == record.c.run)
        & (score.c.layer == run.layer)
        & (score.c.no == record.c.no)
        & (score.c.repeat == record.c.repeat)
    )
    if name is not None:
        mine &= score.c.name == name
    joined = record.join(sample, sample.c.num == record.c.sample).outerjoin(score, mine)
    return (
        select(
            record.c.no, record.c.repeat, record.c.failed, sample.c.id, sample.c.grp, sample.c.cluster,
            more, score.c.outcome, score.c.value, *([] if last is None else [last]),
        )
        .select_from(joined)
        .where(record.c.run == run.num)
    )  # fmt: skip


def _rows(stream: Any, names: Mapping[int, str], expected: Sequence[str]) -> Iterator[tuple[ScoreRow, Any]]:
    """Score rows with the last column, and for each failed record an error row per score that it lacks."""
    place: tuple[int, int] | None = None
    missing: list[ScoreRow] = []
    for no, repeat, failed, ident, group, cluster, name, outcome, value, last in stream:
        if (no, repeat) != place:
            yield from ((one, None) for one in missing)
            place = (no, repeat)
            lacking = (expected or [""]) if failed else []
            missing = [ScoreRow(ident, group, cluster, repeat, one, "error", None) for one in lacking]
        if name is not None:
            missing = [one for one in missing if one.name not in {names[name], ""}]
            yield ScoreRow(ident, group, cluster, repeat, names[name], OUTCOMES[outcome], value), last
    yield from ((one, None) for one in missing)
