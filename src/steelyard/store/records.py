"""Records to rows and back."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, select

from steelyard.errors import Attempt
from steelyard.store import schema
from steelyard.store.conflicts import add_or_leave
from steelyard.store.writer import Batch
from steelyard.text.plain_json import from_json, to_json
from steelyard.types import OUTCOMES, Failure, Output, Record, Reply, Sample, Score

_CODE: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
KEY_BYTES: Final = 11
CACHED: Final = 0x80
MOST_STAGES: Final = CACHED - 1
"""Scorers of a suite at most: with the target, their numbers fit into seven bits."""


def pack_sample(sample: Sample) -> tuple[int, bytes]:
    """A sample's content hash (64 bits, signed) and its body."""
    body = to_json(_without_tail([sample.input, sample.reference, sample.choices, sample.contexts, sample.metadata]))
    return sample_hash(sample.id, sample.group, sample.cluster, body), body


def sample_hash(ident: str, group: str, cluster: str, body: bytes) -> int:
    """64 bits, signed, of what a sample is: its id, its category, its cluster and its body."""
    head = f"{ident}\0{group}\0{cluster}\0".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(head + body, digest_size=8).digest(), "big", signed=True)


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
        struct.pack("B10s", stages.index(stage) | (CACHED if reply.cached else 0), bytes.fromhex(reply.key))
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
        ReplyKey(stages[data[at] & ~CACHED], data[at + 1 : at + KEY_BYTES], bool(data[at] & CACHED))
        for at in range(0, len(data), KEY_BYTES)
    ]


def unpack_score(name: str, outcome: int, value: float | None, passed: int | None, body: bytes | None) -> Score:
    """The score behind a row."""
    reason, detail = from_json(body) if body is not None else ("", {})
    return Score(name, value, None if passed is None else bool(passed), OUTCOMES[outcome], reason, detail)


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
        # In order, so that two processes that add the same ones wait for each other and not both.
        rows = [{"text": name} for name in sorted(names)]
        batch.connection.execute(add_or_leave(batch.connection.dialect.name, schema.word), rows)
        found = batch.connection.execute(_WORDS, {"texts": list(names)})
        batch.words.update({row.text: row.num for row in found})
    return batch.words


_WORDS = select(schema.word.c.text, schema.word.c.num).where(schema.word.c.text.in_(bindparam("texts", expanding=True)))
