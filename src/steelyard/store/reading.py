"""Rows of a run back to records, a chunk at a time; what is damaged is a failure of its record and hides no other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Select, bindparam, select

from steelyard.errors import StoreError
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.codec import Unpacker
from steelyard.store.dictionaries import load_dictionary
from steelyard.store.records import unpack_keys, unpack_record, unpack_sample, unpack_score
from steelyard.types import Failure, Record, Reply, Sample, Score

_REPLIES: Final = select(schema.reply.c.key, schema.reply.c.body).where(
    schema.reply.c.key.in_(bindparam("keys", expanding=True))
)
_SCORES: Final = (
    select(schema.score, schema.word.c.text)
    .join(schema.word, schema.word.c.num == schema.score.c.name)
    .where(
        (schema.score.c.run == bindparam("run"))
        & (schema.score.c.layer == bindparam("layer"))
        & schema.score.c.no.between(bindparam("first"), bindparam("last"))
    )
    .order_by(schema.score.c.no, schema.score.c.repeat, schema.score.c.name)
)


class Layer(Protocol):
    """The run whose rows are read, as far as reading them needs it."""

    num: int
    layer: int

    @property
    def stages(self) -> Sequence[str]:
        """Names of the stages that ask, by number."""

    @property
    def score_order(self) -> Mapping[str, int]:
        """Score -> its place among those that the scorers announced."""


def unpacker_of(connection: Connection) -> Unpacker:
    """Reads bodies with the dictionaries that are stored beside them."""
    return Unpacker(lambda number: load_dictionary(connection, number))


def record_query(run: int, samples: Collection[str] | None = None) -> Select[Any]:
    """The rows that `read_records` takes, of one run, in order of samples and repeats.

    Args:
        run: its number.
        samples: ids of those that are wanted, at most some hundreds; None is all.
    """
    record, sample = schema.record, schema.sample
    query = (
        select(
            record.c.no, record.c.repeat, record.c.millis, record.c.replies, record.c.body,
            sample.c.id, sample.c.grp, sample.c.cluster, sample.c.body.label("sample_body"),
        )
        .select_from(record.join(sample, sample.c.num == record.c.sample))
        .where(record.c.run == run)
        .order_by(record.c.no, record.c.repeat)
    )  # fmt: skip
    if samples is None:
        return query
    # Ids have no index: the samples are gone through once, not once a record.
    return query.where(record.c.sample.in_(select(sample.c.num).where(sample.c.id.in_(samples))))


def read_records(
    connection: Connection, unpacker: Unpacker, run: Layer, rows: Sequence[Any]
) -> Iterator[tuple[int, Record]]:
    """(no, record) of each row.

    A body that cannot be read, or a reply that is gone from the journal, makes the record one without output whose
    failure is `damaged`: it names the sample, and whoever scores again counts it.
    """
    keys = [unpack_keys(row.replies, run.stages) for row in rows]
    bodies = _bodies(connection, {one.key for several in keys for one in several})
    scores = _scores(connection, run, rows)
    for row, several in zip(rows, keys, strict=True):
        try:
            asked: dict[str, list[Reply]] = {}
            for held in several:
                reply = _reply(held.key, bodies, unpacker)
                asked.setdefault(held.stage, []).append(replace(reply, cached=held.cached))
            found = [_score(one, unpacker) for one in scores.get((row.no, row.repeat), ())]
            yield row.no, _record(row, unpacker, asked, found)
        except StoreError as error:
            yield row.no, _damaged(row, str(error))


def _bodies(connection: Connection, keys: set[bytes]) -> dict[bytes, bytes]:
    if not keys:
        return {}
    return {bytes(key): bytes(body) for key, body in connection.execute(_REPLIES, {"keys": list(keys)})}


def _reply(key: bytes, bodies: Mapping[bytes, bytes], unpacker: Unpacker) -> Reply:
    if key not in bodies:
        raise StoreError(f"reply {key.hex()} is missing from the journal")
    return unpack_reply(key.hex(), unpacker.unpack(bodies[key]))


def _scores(connection: Connection, run: Layer, rows: Sequence[Any]) -> Mapping[tuple[int, int], list[Any]]:
    span = {"run": run.num, "layer": run.layer, "first": rows[0].no, "last": rows[-1].no}
    found: dict[tuple[int, int], list[Any]] = {}
    for one in connection.execute(_SCORES, span):
        found.setdefault((one.no, one.repeat), []).append(one)
    order = run.score_order
    for several in found.values():
        several.sort(key=lambda one: order.get(one.text, len(order)))
    return found


def _score(row: Any, unpacker: Unpacker) -> Score:
    body = None if row.body is None else unpacker.unpack(bytes(row.body))
    return unpack_score(row.text, row.outcome, row.value, row.passed, body)


def _record(row: Any, unpacker: Unpacker, asked: Mapping[str, list[Reply]], scores: Sequence[Score]) -> Record:
    body = None if row.body is None else unpacker.unpack(bytes(row.body))
    output, failure = unpack_record(body, asked.get("target", ()))
    return Record(
        sample=unpack_sample(row.id, row.grp, row.cluster, unpacker.unpack(bytes(row.sample_body))),
        output=output,
        scores=tuple(scores),
        replies={stage: tuple(replies) for stage, replies in asked.items()},
        failure=failure,
        seconds=row.millis / 1000,
        repeat=row.repeat,
    )


def _damaged(row: Any, why: str) -> Record:
    sample = Sample(row.id, None, group=row.grp, cluster=row.cluster)
    failure = Failure("store", "damaged", f"sample {row.id}: {why}")
    return Record(sample, None, failure=failure, seconds=row.millis / 1000, repeat=row.repeat)
