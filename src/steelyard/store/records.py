"""Records to rows and back."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, Final, NamedTuple

from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert

from steelyard.errors import Attempt
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.tickets import Ticket
from steelyard.store.writer import Batch
from steelyard.text.plain_json import from_json, to_json
from steelyard.types import OUTCOMES, Failure, Output, Record, Reply, Sample, Score

_CODE: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_KEY_BYTES: Final = 11
_CACHED: Final = 0x80
MOST_STAGES: Final = _CACHED - 1
"""Scorers of a suite at most: with the target, their numbers fit into seven bits."""


def pack_sample(sample: Sample) -> tuple[int, bytes]:
    """A sample's content hash (64 bits, signed) and its body."""
    body = to_json(_without_tail([sample.input, sample.reference, sample.choices, sample.contexts, sample.metadata]))
    head = f"{sample.id}\0{sample.group}\0{sample.cluster}\0".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(head + body, digest_size=8).digest(), "big", signed=True), body


def unpack_sample(ident: str, group: str, cluster: str, body: bytes) -> Sample:
    """The sample behind a row."""
    held = from_json(body)
    value, reference, choices, contexts, metadata = held + [None, None, (), (), {}][len(held) :]
    return Sample(ident, value, reference, tuple(choices), tuple(contexts), group, cluster, metadata)


def _without_tail(values: list[Any]) -> list[Any]:
    """`values` without choices, contexts and metadata that are empty at its end: most samples have none."""
    while len(values) > 2 and not values[-1]:
        values.pop()
    return values


def pack_record(record: Record) -> bytes | None:
    """What the last reply of the target does not tell already: None where that is nothing."""
    body: dict[str, Any] = {}
    if record.output is not None and not _is_reply(record.output, record.replies.get("target", ())):
        body["o"] = [record.output.value, record.output.contexts, record.output.metadata]
    if record.failure is not None:
        tried = [
            [one.fault, round(one.seconds, 3), round(one.waited, 3), one.message] for one in record.failure.attempts
        ]
        body["f"] = [record.failure.stage, record.failure.kind, record.failure.message, tried]
        if record.output is None:
            body["n"] = 1
    return to_json(body) if body else None


def unpack_record(body: bytes | None, replies: Sequence[Reply]) -> tuple[Output | None, Failure | None]:
    """Output and failure of a record, given the replies that its target got."""
    held = from_json(body) if body is not None else {}
    failure = None
    if "f" in held:
        stage, kind, message, tried = held["f"]
        failure = Failure(stage, kind, message, tuple(Attempt(*one) for one in tried))
    if "o" in held:
        value, contexts, metadata = held["o"]
        return Output(value, tuple(contexts), metadata), failure
    if "n" in held or not replies:
        return None, failure
    return _of_reply(replies[-1]), failure


def _of_reply(reply: Reply) -> Output:
    return Output(reply.text, tuple(reply.metadata.get("contexts", ())), _finish(reply))


def _is_reply(output: Output, replies: Sequence[Reply]) -> bool:
    return bool(replies) and output == _of_reply(replies[-1])


def _finish(reply: Reply) -> dict[str, Any]:
    return {} if reply.finish == "stop" else {"finish": reply.finish}


def pack_keys(replies: Mapping[str, Iterable[Reply]], stages: Sequence[str]) -> bytes | None:
    """11 bytes a reply: its stage's number, with the highest bit where it came from the journal, and its key."""
    parts = [
        struct.pack("B10s", stages.index(stage) | (_CACHED if reply.cached else 0), bytes.fromhex(reply.key))
        for stage, several in replies.items()
        for reply in several
    ]
    return b"".join(parts) or None


class ReplyKey(NamedTuple):
    """Where a record's reply is: its stage, the journal's key, and whether the run got it from the journal."""

    stage: str
    key: bytes
    cached: bool


def unpack_keys(packed: bytes | None, stages: Sequence[str]) -> list[ReplyKey]:
    """The keys of a record's replies, in the order they were asked."""
    data = bytes(packed or b"")
    return [
        ReplyKey(stages[data[at] & ~_CACHED], data[at + 1 : at + _KEY_BYTES], bool(data[at] & _CACHED))
        for at in range(0, len(data), _KEY_BYTES)
    ]


def unpack_score(name: str, outcome: int, value: float | None, passed: int | None, body: bytes | None) -> Score:
    """The score behind a row."""
    reason, detail = from_json(body) if body is not None else ("", {})
    return Score(name, value, None if passed is None else bool(passed), OUTCOMES[outcome], reason, detail)


@dataclass(frozen=True, slots=True)
class Put:
    """Store a record with its sample and scores, and move the run's counters by it.

    Args:
        run: the run's number.
        no: the sample's place in the dataset.
        record: what to store.
        stages: names by number, the target first.
        layer: of the scores.
        replaces: None for a new record; else whether the one that it replaces had failed.
    """

    rank: ClassVar[int] = 2
    writes: ClassVar[bool] = True
    urgent: ClassVar[bool] = False
    run: int
    no: int
    record: Record
    stages: Sequence[str]
    layer: int = 0
    replaces: bool | None = None
    ticket: Ticket | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[Put]) -> Sequence[None]:
        """A statement per table for all."""
        replaced = [(one.run, _moved_by(batch, one)) for one in operations if one.replaces is not None]
        _put_records(batch, operations, _put_samples(batch, operations))
        _put_scores(batch, operations)
        for run in sorted({one.run for one in operations}):
            _count(batch, run, [one for one in operations if one.run == run], replaced)
        return [None] * len(operations)


_SAMPLES_KNOWN = select(schema.sample.c.hash, schema.sample.c.num).where(
    schema.sample.c.hash.in_(bindparam("hashes", expanding=True))
)
_LAST_SAMPLE = select(func.max(schema.sample.c.num))
_ADD_SAMPLE = insert(schema.sample)
_ADD_RECORD = insert(schema.record)
_SET_RECORD = _ADD_RECORD.on_conflict_do_update(
    index_elements=["run", "no", "repeat"],
    set_={name: _ADD_RECORD.excluded[name] for name in ("sample", "failed", "millis", "replies", "body")},
)
_ADD_SCORE = insert(schema.score)
_COUNTERS = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
_MOVE = (
    update(schema.run)
    .where(schema.run.c.num == bindparam("run"))
    .values({name: schema.run.c[name] + bindparam(f"by_{name}") for name in _COUNTERS})
)


def _put_samples(batch: Batch, operations: Sequence[Put]) -> list[int]:
    """Store the samples that are new; the number of each operation's sample."""
    packed = [pack_sample(one.record.sample) for one in operations]
    hashes = [key for key, _ in packed]
    known = {row.hash: row.num for row in batch.connection.execute(_SAMPLES_KNOWN, {"hashes": hashes})}
    fresh = set(hashes) - set(known)
    last = batch.connection.scalar(_LAST_SAMPLE) or 0 if fresh else 0
    rows: list[dict[str, Any]] = []
    for one, (key, body) in zip(operations, packed, strict=True):
        if key in fresh:
            fresh.remove(key)
            last += 1
            known[key] = last
            sample = one.record.sample
            rows.append(
                {
                    "num": last,
                    "hash": key,
                    "id": sample.id,
                    "grp": sample.group,
                    "cluster": sample.cluster,
                    "body": batch.packer.pack("sample", body),
                }
            )
    if rows:
        batch.connection.execute(_ADD_SAMPLE, rows)
    return [known[key] for key in hashes]


def _put_records(batch: Batch, operations: Sequence[Put], samples: Sequence[int]) -> None:
    rows = []
    for one, sample in zip(operations, samples, strict=True):
        body = pack_record(one.record)
        rows.append(
            {
                "run": one.run,
                "no": one.no,
                "repeat": one.record.repeat,
                "sample": sample,
                "failed": int(one.record.failure is not None),
                "millis": round(one.record.seconds * 1000),
                "replies": pack_keys(one.record.replies, one.stages),
                "body": None if body is None else batch.packer.pack("record", body),
            }
        )
    batch.connection.execute(_SET_RECORD, rows)
    for one in operations:
        if one.replaces is not None:
            table = schema.score
            batch.connection.execute(
                delete(table).where(table.c.run == one.run, table.c.no == one.no, table.c.repeat == one.record.repeat)
            )


def _put_scores(batch: Batch, operations: Sequence[Put]) -> None:
    names = sorted({score.name for one in operations for score in one.record.scores})
    numbers = word_numbers(batch, names)
    rows = [
        score_row(batch, (one.run, one.layer, one.no, one.record.repeat), numbers[score.name], score)
        for one in operations
        for score in one.record.scores
    ]
    if rows:
        batch.connection.execute(_ADD_SCORE, rows)


def score_row(batch: Batch, place: tuple[int, int, int, int], name: int, score: Score) -> dict[str, Any]:
    """A row of the table of scores; `place` is (run, layer, no, repeat)."""
    body = to_json([score.reason, score.detail]) if score.reason or score.detail else None
    return {
        "run": place[0],
        "layer": place[1],
        "no": place[2],
        "repeat": place[3],
        "name": name,
        "outcome": _CODE[score.outcome],
        "value": score.value,
        "passed": None if score.passed is None else int(score.passed),
        "body": None if body is None else batch.packer.pack("score", body),
    }


def word_numbers(batch: Batch, names: Sequence[str]) -> dict[str, int]:
    """The number of each name, given out where it has none yet."""
    if any(name not in batch.words for name in names):
        rows = [{"text": name} for name in names]
        batch.connection.execute(insert(schema.word).on_conflict_do_nothing(), rows)
        found = batch.connection.execute(_WORDS, {"texts": list(names)})
        batch.words.update({row.text: row.num for row in found})
    return batch.words


_WORDS = select(schema.word.c.text, schema.word.c.num).where(schema.word.c.text.in_(bindparam("texts", expanding=True)))


def _count(
    batch: Batch, run: int, operations: Sequence[Put], replaced: Sequence[tuple[int, Mapping[str, int]]]
) -> None:
    """Move the run's counters by what was just stored, and back by what was replaced."""
    replies = [reply for one in operations for several in one.record.replies.values() for reply in several]
    moved = {
        "done": len(operations),
        "errors": sum(one.record.failure is not None for one in operations),
        "replies": len(replies),
        "from_journal": sum(reply.cached for reply in replies),
        "input_tokens": sum(reply.usage.input_tokens for reply in replies),
        "output_tokens": sum(reply.usage.output_tokens for reply in replies),
    }
    for _, before in (one for one in replaced if one[0] == run):
        moved = {name: by - before.get(name, 0) for name, by in moved.items()}
    batch.connection.execute(_MOVE, {"run": run, **{f"by_{name}": by for name, by in moved.items()}})


def _moved_by(batch: Batch, operation: Put) -> dict[str, int]:
    """By how much the record that `operation` replaces had moved the run's counters."""
    table, journal = schema.record, schema.reply
    place = (table.c.run == operation.run) & (table.c.no == operation.no)
    row = batch.connection.execute(
        select(table.c.failed, table.c.replies).where(place & (table.c.repeat == operation.record.repeat))
    ).first()
    if row is None:
        return {}
    keys = unpack_keys(row.replies, operation.stages)
    moved = {"done": 1, "errors": row.failed, "replies": len(keys), "from_journal": sum(one.cached for one in keys)}
    moved |= {"input_tokens": 0, "output_tokens": 0}
    for one in keys:
        body = batch.connection.scalar(select(journal.c.body).where(journal.c.key == one.key))
        if body is not None:
            usage = unpack_reply("", batch.unpacker.unpack(bytes(body))).usage
            moved["input_tokens"] += usage.input_tokens
            moved["output_tokens"] += usage.output_tokens
    return moved
