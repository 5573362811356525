"""Records to rows of the database and back, a chunk at a time.

A damaged part becomes a failure of its record, and hides no other record.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from steelyard.errors import Attempt, SteelyardError, StoreError
from steelyard.plain_json import check_types, from_json, grouped, stored_json, to_json
from steelyard.session.replies import unpack_reply
from steelyard.store.codec import Unpacker, load_dictionary
from steelyard.store.database import schema
from steelyard.store.database.checksums import sample_hash
from steelyard.store.database.connection import MOST_IN_QUERY, Connection, portions, select_in
from steelyard.store.stored_run import StoredRun
from steelyard.store.writer import Batch
from steelyard.types import OUTCOMES, Failure, Output, Record, Reply, Sample, Score

KEY_BYTES: Final = 11
"""A reply of a record takes so many bytes: its stage's number, then the journal's key."""
CACHED: Final = 0x80
"""Bit of the stage's number: the run got the reply from the journal."""
DAMAGED: Final = "damaged"
"""Kind of the failure of a record that cannot be read whole."""

_CODE: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_CHUNK: Final = 500
"""Records that are read together: memory stays flat whatever the size of the run."""
_DENSE: Final = 2
"""Places that span less than this many times their number are read as one range, with what lies between them."""
UNREADABLE: Final = (ValueError, TypeError, LookupError, AttributeError)
"""Exceptions of reading a body whose checksum is right, but whose content is not what was written."""
_REPLIES: Final = "SELECT key, body FROM reply WHERE key IN :keys"
_WORDS: Final = "SELECT text, num FROM word WHERE text IN :texts"
_SCORES: Final = """SELECT score.*, word.text FROM score JOIN word ON word.num = score.name
    WHERE run = :run AND scoring_version = :scoring_version AND {these} ORDER BY no, repeat, name"""
_SCORES_BETWEEN: Final = _SCORES.format(these="no BETWEEN :first AND :last")
_SCORES_AT: Final = _SCORES.format(these="no IN :places")
RECORDS: Final = """SELECT record.no, record.repeat, record.failed, record.failure, record.millis, record.replies,
    record.body, sample.id, sample.group_name, sample.cluster, sample.body AS sample_body
    FROM record JOIN sample ON sample.num = record.sample WHERE record.run = :run"""
"""The rows that `read_records` takes, to which a condition may be added; they are read `IN_ORDER`."""
IN_ORDER: Final = "ORDER BY record.no, record.repeat"


def pack_sample(sample: Sample) -> tuple[int, bytes]:
    """A sample's content hash (64 bits, signed) and its body."""
    body = stored_json(
        _without_tail([sample.input, sample.reference, sample.choices, sample.contexts, sample.metadata])
    )
    return sample_hash(sample.id, sample.group, sample.cluster, body), body


def unpack_sample(ident: str, group: str, cluster: str, body: bytes) -> Sample:
    """The sample behind a row."""
    fields = from_json(body)
    value, reference, choices, contexts, metadata = fields + [None, None, (), (), {}][len(fields) :]
    check_types((choices, list | tuple), (contexts, list | tuple), (metadata, dict))
    check_types(*((text, str) for text in (*choices, *contexts)))
    return Sample(ident, value, reference, tuple(choices), tuple(contexts), group, cluster, metadata)


def _without_tail(values: list[Any]) -> list[Any]:
    """`values` without choices, contexts and metadata that are empty at its end: most samples have none."""
    while len(values) > 2 and not values[-1]:
        values.pop()
    return values


def pack_record(record: Record) -> bytes | None:
    """The body of a record: only what its replies do not hold already; None if nothing is left."""
    body: dict[str, Any] = {}
    replies = record.replies.get("target", ())
    if record.output is not None and not (replies and record.output == _of_reply(replies[-1])):
        body["o"] = [record.output.value, record.output.contexts, record.output.metadata]
    if record.failure is not None:
        tried = [
            [attempt.fault, round(attempt.seconds, 3), round(attempt.waited, 3), attempt.message]
            for attempt in record.failure.attempts
        ]
        body["f"] = [record.failure.stage, record.failure.kind, record.failure.message, tried]
        if record.output is None:
            # Without this mark, the target's last reply would be read as the output of a record that has none.
            body["n"] = 1
    return to_json(body) if body else None


def failure_kind(failure: Failure | None) -> str | None:
    """The kind of a failure as its column has it; the name of a user's exception may hold anything."""
    return None if failure is None else failure.kind.encode("utf-8", "replace").decode()


def unpack_record(body: bytes | None, replies: Sequence[Reply]) -> tuple[Output | None, Failure | None]:
    """Output and failure of a record, given the replies that its target got."""
    stored = from_json(body) if body is not None else {}
    failure = None
    if "f" in stored:
        stage, kind, message, tried = stored["f"]
        check_types((stage, str), (kind, str), (message, str))
        failure = Failure(stage, kind, message, tuple(Attempt(*fields) for fields in tried))
    if "o" in stored:
        value, contexts, metadata = stored["o"]
        check_types((contexts, list), (metadata, dict), *((passage, str) for passage in contexts))
        return Output(value, tuple(contexts), metadata), failure
    if "n" in stored or not replies:
        return None, failure
    return _of_reply(replies[-1]), failure


def _of_reply(reply: Reply) -> Output:
    return Output(reply.text, tuple(reply.metadata.get("contexts", ())), _finish(reply))


def _finish(reply: Reply) -> dict[str, Any]:
    return {} if reply.finish == "stop" else {"finish": reply.finish}


def pack_keys(replies: Mapping[str, Iterable[Reply]], stages: Sequence[str]) -> bytes | None:
    """Pack reply keys, 11 bytes each: the stage number (highest bit set if cached) and the journal key."""
    parts = [
        struct.pack("B10s", stages.index(stage) | (CACHED if reply.cached else 0), bytes.fromhex(reply.key))
        for stage, of_stage in replies.items()
        for reply in of_stage
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
    check_types((reason, str), (detail, dict))
    return Score(name, value, None if passed is None else bool(passed), OUTCOMES[outcome], reason, detail)


def score_row(batch: Batch, key: tuple[int, int, int, int], name: int, score: Score) -> dict[str, Any]:
    """A row of the table of scores; `key` is (run, scoring_version, no, repeat)."""
    body = to_json([score.reason, score.detail]) if score.reason or score.detail else None
    return {
        "run": key[0],
        "scoring_version": key[1],
        "no": key[2],
        "repeat": key[3],
        "name": name,
        "outcome": _CODE[score.outcome],
        "value": score.value,
        "passed": None if score.passed is None else int(score.passed),
        "body": None if body is None else batch.packer.pack("score", body),
    }


def word_numbers(batch: Batch, names: Sequence[str]) -> dict[str, int]:
    """The number of each name; new names get the next free number."""
    if any(name not in batch.words for name in names):
        # Sorted, so that two processes that add the same names do not deadlock.
        rows = [{"text": name} for name in sorted(names)]
        batch.connection.insert_rows(schema.insert_or_skip(schema.word, ("text",)), rows)
        batch.words.update(batch.connection.execute(_WORDS, {"texts": names}).tuples())
    return batch.words


def unpacker_of(connection: Connection) -> Unpacker:
    """An unpacker that loads dictionaries over this connection."""
    return Unpacker(lambda number: load_dictionary(connection, number))


def all_rows(connection: Connection, run: int) -> Iterator[list[Any]]:
    """The rows that `read_records` takes, of every record in order: some hundred at a time, so that memory is flat."""
    # By the last place that was read, not by OFFSET, which would go through all earlier rows again.
    query = f"{RECORDS} AND (record.no, record.repeat) > (:no, :repeat) {IN_ORDER} LIMIT {_CHUNK}"
    place = {"no": -1, "repeat": 0}
    while rows := connection.execute(query, {"run": run, **place}).all():
        place = {"no": rows[-1].no, "repeat": rows[-1].repeat}
        yield rows


def rows_of_samples(connection: Connection, run: int, samples: Collection[str]) -> list[Any]:
    """The rows that `read_records` takes, of the samples with these ids only."""
    # Ids have no index: a subquery goes through the samples once, a join would do so for each record.
    query = f"{RECORDS} AND record.sample IN (SELECT num FROM sample WHERE id IN :ids) {IN_ORDER}"
    rows = [row for ids in portions(samples) for row in connection.execute(query, {"run": run, "ids": ids})]
    return sorted(rows, key=lambda row: (row.no, row.repeat))


def rows_at(connection: Connection, run: int, places: Collection[tuple[int, int]]) -> list[Any]:
    """The same rows, of the records at these places (position of the sample, repeat)."""
    place_set = set(places)
    # By the position alone: for pairs of position and repeat SQLite goes through all records of the run.
    query = f"{RECORDS} AND record.no IN :numbers {IN_ORDER}"
    numbers = portions(sorted({no for no, _ in places}))
    rows = (row for portion in numbers for row in connection.execute(query, {"run": run, "numbers": portion}))
    return [row for row in rows if (row.no, row.repeat) in place_set]


def read_records(
    connection: Connection,
    unpacker: Unpacker,
    run: StoredRun,
    rows: Sequence[Any],
    shared: dict[Any, Any] | None = None,
) -> Iterator[tuple[int, Record]]:
    """(no, record) of each row.

    Two runs of one dataset have the same samples, and thousands of records have scores that are equal to the letter:
    with `shared`, which is empty at first, each is unpacked once and the same object is given wherever it occurs.

    A body that cannot be read, or a reply that is gone from the journal, spoils its record alone: the record has the
    failure `damaged`, which names the run, the sample and the part. What can be read of it stays: a damaged score
    keeps its value without its reason and detail. The output is None where it, its reply or its sample is damaged, so
    that nobody scores it again.
    """
    keys = [keys_of(row, run) for row in rows]
    bodies = reply_bodies(connection, {reply.key for of_record in keys for reply in of_record or ()})
    scores = scores_at(connection, run, rows)
    for row, of_record in zip(rows, keys, strict=True):
        reader = _RowReader(unpacker, bodies, run.id, shared)
        yield row.no, reader.read(row, of_record, scores.get((row.no, row.repeat), ()))


def keys_of(row: Any, run: StoredRun) -> list[ReplyKey] | None:
    """Journal keys of a record's replies; None if the list is damaged."""
    try:
        if len(row.replies or b"") % KEY_BYTES:
            return None
        return unpack_keys(row.replies, run.stages)
    except (IndexError, TypeError):
        return None


def reply_bodies(connection: Connection, keys: Collection[bytes]) -> dict[bytes, Any]:
    """Journal bodies by key, still compressed."""
    return {bytes(key): body for key, body in select_in(connection, _REPLIES, "keys", keys)}


def scores_at(connection: Connection, run: StoredRun, rows: Sequence[Any]) -> Mapping[tuple[int, int], list[Any]]:
    """Place -> rows of the scores of some records, in the order of the scorers."""
    # The scores of all rows of a chunk in one query; most chunks are places that follow each other.
    of_run = {"run": run.num, "scoring_version": run.scoring_version}
    places = sorted({row.no for row in rows})
    if places[-1] - places[0] < _DENSE * len(places) or len(places) > MOST_IN_QUERY:
        score_rows = connection.execute(_SCORES_BETWEEN, {**of_run, "first": places[0], "last": places[-1]})
    else:
        score_rows = connection.execute(_SCORES_AT, {**of_run, "places": places})
    by_place = grouped(((row.no, row.repeat), row) for row in score_rows)
    order = run.score_order
    for of_record in by_place.values():
        of_record.sort(key=lambda row: order.get(row.text, len(order)))
    return by_place


class _RowReader:
    """Reads the parts of one record; `damages` says what could not be read."""

    __slots__ = ("_bodies", "_run", "_shared", "_unpacker", "damages")

    def __init__(
        self, unpacker: Unpacker, bodies: Mapping[bytes, Any], run: str, shared: dict[Any, Any] | None = None
    ) -> None:
        self._shared = shared
        self._unpacker = unpacker
        self._bodies = bodies
        self._run = run
        self.damages: list[str] = []

    def read(self, row: Any, keys: Sequence[ReplyKey] | None, scores: Sequence[Any]) -> Record:
        """The record, with a failure where a part is damaged."""
        if keys is None:
            self.damages.append("its list of replies cannot be read")
        sample = self._part("its sample", self._sample, row)
        by_stage: dict[str, list[Reply]] = {}
        for reply_key in keys or ():
            reply = self._part(f"its reply {reply_key.key.hex()} ({reply_key.stage})", self._reply, reply_key)
            by_stage.setdefault(reply_key.stage, []).extend([] if reply is None else [reply])
        outcome = self._part("its output", self._outcome, row, keys, by_stage.get("target", ()))
        output, failure = outcome or (None, None)
        intact = [score for scored in scores if (score := self._score(scored)) is not None]
        if self.damages:
            location = f"run {self._run}, sample {row.id}" + (f", repeat {row.repeat}" if row.repeat else "")
            failure = Failure("store", DAMAGED, f"{location}: {'; '.join(self.damages)}")
        return Record(
            sample=sample or Sample(row.id, None, group=row.group_name, cluster=row.cluster),
            output=None if sample is None else output,
            scores=tuple(intact),
            replies={stage: tuple(replies) for stage, replies in by_stage.items()},
            failure=failure,
            seconds=row.millis / 1000,
            repeat=row.repeat,
        )

    def _part(self, what: str, read: Callable[..., Any], *values: Any) -> Any:
        """The result of `read`; if the part is damaged, None and a line in `damages`."""
        try:
            return read(*values)
        except (SteelyardError, *UNREADABLE) as error:
            self.damages.append(f"{what}: {_why(error)}")
            return None

    def _sample(self, row: Any) -> Sample:
        key = (row.id, row.group_name, row.cluster, row.sample_body)
        sample = None if self._shared is None else self._shared.get(key)
        if sample is None:
            sample = unpack_sample(row.id, row.group_name, row.cluster, self._unpacker.unpack(row.sample_body))
            if self._shared is not None:
                self._shared[key] = sample
        return cast("Sample", sample)

    def _reply(self, key: ReplyKey) -> Reply:
        if key.key not in self._bodies:
            raise StoreError("it is missing from the journal")
        return unpack_reply(key.key.hex(), self._unpacker.unpack(self._bodies[key.key]), cached=key.cached)

    def _outcome(
        self, row: Any, keys: Sequence[ReplyKey] | None, replies: Sequence[Reply]
    ) -> tuple[Output | None, Failure | None]:
        body = None if row.body is None else self._unpacker.unpack(row.body)
        output, failure = unpack_record(body, replies)
        # Where the target's last reply is damaged, the one before it is not what it answered.
        complete = keys is not None and sum(key.stage == "target" for key in keys) == len(replies)
        return output if complete else None, failure

    def _score(self, row: Any) -> Score | None:
        score = self._part(f"score {row.text}", self._whole_score, row)
        if score is not None:
            return cast("Score", score)
        try:
            return unpack_score(row.text, row.outcome, row.value, row.passed, None)
        except (SteelyardError, *UNREADABLE):
            return None

    def _whole_score(self, row: Any) -> Score:
        key = (row.text, row.outcome, row.value, row.passed, row.body)
        score = None if self._shared is None else self._shared.get(key)
        if score is None:
            body = None if row.body is None else self._unpacker.unpack(row.body)
            score = unpack_score(row.text, row.outcome, row.value, row.passed, body)
            if self._shared is not None:
                self._shared[key] = score
        return cast("Score", score)


def _why(error: BaseException) -> str:
    return str(error) if isinstance(error, SteelyardError) else f"{type(error).__name__}: {error}"


def damage_lines(run: str, done: int, records: Iterable[Record]) -> tuple[str, ...]:
    """Damage in the records of a run: a line per damaged record, and one for records that are missing of `done`."""
    lines, n = [], 0
    for record in records:
        n += 1
        if record.failure is not None and record.failure.kind == DAMAGED:
            lines.append(record.failure.message)
    if n < done:
        lines.append(f"run {run}: {done - n} of {done} records cannot be found, as their rows or samples are gone")
    return tuple(lines)
