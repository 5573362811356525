"""Writes the rows of a run: its start, records, end and later scoring versions.

A record is inserted with its sample and scores, the run's counters and its checksums, in one transaction. So counters
and checksums are right after a kill at any moment, and no page has to read the journal to say what a judge cost.

A run that is scored again gets a further scoring version; the newest is read, the earlier ones stay.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from steelyard.analysis.stopping import Stopped, Stopping, Used
from steelyard.errors import StoreError
from steelyard.models.base import READ_AGAIN
from steelyard.models.prices import billionths
from steelyard.plain_json import to_json
from steelyard.session.replies import unpack_reply
from steelyard.store.counters import (
    OF_RUN,
    OF_STAGE,
    REPORTED,
    move_scores,
    reported_counts,
    scores_at,
)
from steelyard.store.database import schema
from steelyard.store.database.backend import read_json
from steelyard.store.database.checksums import (
    HEAD,
    ROWS,
    checksums_at,
    combine,
    head_digest,
    insert_checksums,
    record_digest,
    score_digest,
    set_head_checksum,
    update_checksum,
)
from steelyard.store.database.connection import Connection, select_in
from steelyard.store.leases import Lease, still_held
from steelyard.store.records import (
    failure_kind,
    pack_keys,
    pack_record,
    pack_sample,
    score_row,
    unpack_keys,
    unpack_record,
    word_numbers,
)
from steelyard.store.stored_run import StoredRun
from steelyard.store.unreported_passages import settle_unreported, settled
from steelyard.store.writer import Batch, Operation
from steelyard.types import Record, Reply, Score


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a new run starts with.

    Args:
        suite: its title.
        kind: the suite's registered name.
        target: the target's name.
        planned: records that a complete run has.
        manifest: what is run, as plain JSON; holds `stages`, `scores`, `over`, `primary` and `tags` too.
    """

    suite: str
    kind: str
    target: str
    planned: int
    manifest: Mapping[str, Any]


def is_stored(connection: Connection, run: StoredRun) -> bool:
    """Whether a run still exists, for a transaction that is about to write rows about it.

    On a server it waits for a process that is deleting runs. By its id too, since SQLite gives the number of a deleted
    run to the next one.
    """
    if connection.dialect == "postgresql":
        connection.execute("LOCK TABLE run IN ROW EXCLUSIVE MODE")
    values = {"num": run.num, "id": run.id}
    return connection.execute("SELECT 1 FROM run WHERE num = :num AND id = :id", values).first() is not None


def begin_runs(batch: Batch, created: float, idents: Sequence[str], new: Sequence[NewRun]) -> int:
    """Start an evaluation and its runs.

    Args:
        batch: to write with.
        created: seconds since 1970.
        idents: ids of the runs.
        new: what each is begun with.

    Returns:
        The evaluation's number.
    """
    evaluation = batch.connection.insert(schema.evaluation, {"created": created})
    for ident, run in zip(idents, new, strict=True):
        row = {
            "id": ident,
            "evaluation": evaluation,
            "suite": run.suite,
            "kind": run.kind,
            "target": run.target,
            "state": "open",
            "created": created,
            "planned": run.planned,
            "manifest": to_json(run.manifest).decode("utf-8", "replace"),
        }
        number = batch.connection.insert(schema.run, row)
        insert_checksums(batch.connection, number, {HEAD: head_digest(row), ROWS: 0})
    return evaluation


GONE: Final = "there is no run {run} any more: it was deleted"
_REOPEN: Final = """UPDATE run SET state = 'open', reason = '', planned = :planned, scoring_version = 0,
    manifest = :manifest WHERE num = :num AND state <> 'finished'"""
_END: Final = "UPDATE run SET state = :state, reason = :reason, seconds = seconds + :seconds WHERE num = :num"


def reopen(batch: Batch, run: StoredRun, manifest: Mapping[str, Any], planned: int) -> bool:
    """Reopen an unfinished run with the manifest that it is resumed with; False if another process has finished it."""
    # New records are scored into version 0; what `rescore` made of the unfinished run stays as a version of its own.
    values = {"planned": planned, "manifest": to_json(manifest).decode("utf-8", "replace")}
    if not batch.connection.execute(_REOPEN, {"num": run.num, **values}).changed:
        return False
    names = {"id": run.id, "suite": run.suite, "kind": run.kind, "target": run.target}
    set_head_checksum(batch.connection, run.num, head_digest({**names, **values}))
    return True


def end_run(batch: Batch, run: int, state: str, reason: str, seconds: float, stopped: Stopped | None) -> None:
    """Store the state that a run ends in, and what a stopping rule decided; `seconds` of work are added."""
    text = reason.encode("utf-8", "replace").decode()  # it quotes errors, and those may hold anything
    batch.connection.execute(_END, {"num": run, "state": state, "reason": text, "seconds": seconds})
    if stopped is not None:
        stopping, used = stopped
        row = {"run": run, "body": to_json(stopping).decode(), "used": used.bits if used else None}
        batch.connection.execute("DELETE FROM stopping WHERE run = :run", {"run": run})
        batch.connection.execute(schema.insert_into(schema.stopping), row)
    if state == "finished":
        settle_unreported(batch, run)


def read_stopping(connection: Connection, run: int) -> Stopped | None:
    """The stopping decision and the sample positions it holds for (None: all); None if no rule ended the run."""
    row = connection.execute("SELECT body, used FROM stopping WHERE run = :run", {"run": run}).first()
    if row is None:
        return None
    decision = read_json(row.body, f"the stopping decision of run number {run}")
    return Stopping.of_json(decision), None if row.used is None else Used(bytes(row.used))


def add_scoring_version(
    batch: Batch, run: int, scoring: Any, scores: Sequence[tuple[int, int, Sequence[Score]]]
) -> None:
    """Add a scoring version, which is the one that is read from now on.

    Args:
        batch: to write with.
        run: the run's number.
        scoring: the keys of the manifest that differ for these scores.
        scores: (no, repeat, scores) of every record.
    """
    # Two processes that score one run at the same moment get a version each.
    if batch.shared:
        batch.connection.execute("SELECT num FROM run WHERE num = :run FOR UPDATE", {"run": run})
    newest = batch.connection.execute(
        "SELECT max(scoring_version) FROM scoring_version WHERE run = :run", {"run": run}
    ).scalar()
    number = (newest or 0) + 1
    row = {"run": run, "scoring_version": number, "created": time.time(), "scorers": to_json(scoring).decode()}
    batch.connection.execute(schema.insert_into(schema.scoring_version), row)
    names = word_numbers(batch, sorted({score.name for _, _, of_record in scores for score in of_record}))
    rows = [
        score_row(batch, (run, number, no, repeat), names[score.name], score)
        for no, repeat, of_record in settled(scores)
        for score in of_record
    ]
    batch.connection.insert_rows(schema.insert_into(schema.score), rows)
    insert_checksums(batch.connection, run, {number: combine(map(score_digest, rows))})
    batch.connection.execute(
        "UPDATE run SET scoring_version = :scoring_version WHERE num = :run", {"run": run, "scoring_version": number}
    )


def end_of_samples(connection: Connection, run: int) -> int:
    """The place after the last sample that has a record; 0 where none has."""
    last = connection.execute("SELECT max(no) FROM record WHERE run = :run", {"run": run}).scalar()
    return 0 if last is None else int(last) + 1


@dataclass(frozen=True, slots=True)
class InsertRecord(Operation):
    """Store a record with its sample and scores, and add it to the run's counters.

    Args:
        run: the run's number.
        no: the sample's place in the dataset.
        record: what to store.
        stages: names by number, the target first.
        replaces: whether the place holds a record already, which this one replaces.
        held: the lease that allows it, where several processes write the run; nothing is stored if another worker has
            the range by now.
    """

    rank: ClassVar[int] = 2
    urgent: ClassVar[bool] = False
    run: int
    no: int
    record: Record
    stages: Sequence[str]
    replaces: bool = False
    held: Lease | None = None

    @classmethod
    def apply(cls, batch: Batch, operations: Sequence[InsertRecord]) -> Sequence[bool]:
        """A statement per table for all; whether each was stored."""
        allowed = _allowed(batch, operations)
        if any(allowed):
            cls._store(batch, [insert for insert, is_allowed in zip(operations, allowed, strict=True) if is_allowed])
        return allowed

    @staticmethod
    def _store(batch: Batch, operations: Sequence[InsertRecord]) -> None:
        # What a replaced record counted and hashed to must be read before its rows are overwritten.
        replacing = [insert for insert in operations if insert.replaces]
        replaced = [(insert.run, _counted_before(batch, insert)) for insert in replacing]
        digests = [
            (insert.run, checksums_at(batch.connection, insert.run, insert.no, insert.record.repeat))
            for insert in replacing
        ]
        scored = [
            (insert.run, scores_at(batch.connection, insert.run, insert.no, insert.record.repeat))
            for insert in replacing
        ]
        records = _insert_records(batch, operations, _insert_samples(batch, operations))
        digests += [(row["run"], {ROWS: record_digest(row)}) for row in records]
        scores = _insert_scores(batch, operations)
        digests += [(row["run"], {row["scoring_version"]: score_digest(row)}) for row in scores]
        _move_checksums(batch, digests)
        move_scores(batch, scores, scored)
        for run in sorted({insert.run for insert in operations}):
            before = [moves for number, moves in replaced if number == run]
            _count(batch, run, [insert for insert in operations if insert.run == run], before)


def _allowed(batch: Batch, operations: Sequence[InsertRecord]) -> list[bool]:
    """Whether each record may be stored: it needs no lease, or its worker still has it."""
    leases = {insert.held for insert in operations if insert.held is not None}
    if not leases:
        return [True] * len(operations)
    held_leases = still_held(batch.connection, leases)
    return [insert.held is None or insert.held in held_leases for insert in operations]


_ADDING_RECORDS: Final = "LOCK TABLE record IN ROW EXCLUSIVE MODE"
"""Excludes the deletion of runs: a sample that is found now must still be there when its record is stored."""
_ADDING_SAMPLES: Final = "LOCK TABLE sample IN SHARE ROW EXCLUSIVE MODE"
_AT_PLACE: Final = "WHERE run = :run AND no = :no AND repeat = :repeat"
_RECORD_KEY = ("run", "no", "repeat")
_RECORD_REST = ("sample", "failed", "failure", "millis", "replies", "body")


def _insert_samples(batch: Batch, operations: Sequence[InsertRecord]) -> list[int]:
    """Store the samples that are new; the number of each operation's sample."""
    if batch.shared:
        batch.connection.execute(_ADDING_RECORDS)
    packed = [pack_sample(insert.record.sample) for insert in operations]
    hashes = [key for key, _ in packed]
    numbers = _known_samples(batch, hashes)
    new_rows: dict[int, dict[str, Any]] = {}
    for insert, (key, body) in zip(operations, packed, strict=True):
        if key not in numbers and key not in new_rows:
            sample = insert.record.sample
            row = {"hash": key, "id": sample.id, "group_name": sample.group, "cluster": sample.cluster}
            new_rows[key] = {**row, "body": batch.packer.pack("sample", body)}
    if new_rows:
        numbers |= _add_shared(batch, new_rows) if batch.shared else _add_samples(batch, new_rows)
    return [numbers[key] for key in hashes]


def _known_samples(batch: Batch, hashes: Sequence[int]) -> dict[int, int]:
    query = "SELECT hash, num FROM sample WHERE hash IN :hashes"
    return {row.hash: row.num for row in select_in(batch.connection, query, "hashes", hashes)}


def _add_samples(batch: Batch, new_rows: Mapping[int, dict[str, Any]]) -> dict[int, int]:
    """Insert samples with numbers of our own, which saves reading them back."""
    largest = batch.connection.execute("SELECT max(num) FROM sample").scalar() or 0
    numbers = {key: largest + offset for offset, key in enumerate(new_rows, start=1)}
    rows = [{**row, "num": numbers[key]} for key, row in new_rows.items()]
    batch.connection.insert_rows(schema.insert_into(schema.sample), rows)
    return numbers


def _add_shared(batch: Batch, new_rows: Mapping[int, dict[str, Any]]) -> dict[int, int]:
    """Insert samples numbered by the database, since other processes may insert the same ones concurrently.

    One process at a time adds samples: two that add the same ones in different orders would deadlock.
    """
    batch.connection.execute(_ADDING_SAMPLES)
    columns = tuple(name for name in schema.sample.names if name != "num")
    batch.connection.insert_rows(schema.insert_or_skip(schema.sample, columns), list(new_rows.values()))
    return _known_samples(batch, list(new_rows))


def _move_checksums(batch: Batch, digests: Sequence[tuple[int, Mapping[int, int]]]) -> None:
    moves: dict[tuple[int, int], int] = {}
    for run, parts in digests:
        for part, digest in parts.items():
            moves[run, part] = moves.get((run, part), 0) ^ digest
    for (run, part), by in sorted(moves.items()):
        update_checksum(batch.connection, run, part, by)


def _insert_records(
    batch: Batch, operations: Sequence[InsertRecord], samples: Sequence[int]
) -> Sequence[dict[str, Any]]:
    """Store the records; their rows."""
    rows = []
    for insert, sample in zip(operations, samples, strict=True):
        record = insert.record
        body = pack_record(record)
        rows.append(
            {
                "run": insert.run,
                "no": insert.no,
                "repeat": record.repeat,
                "sample": sample,
                "failed": int(record.failure is not None),
                "failure": failure_kind(record.failure),
                "millis": round(record.seconds * 1000),
                "replies": pack_keys(record.replies, insert.stages),
                "body": None if body is None else batch.packer.pack("record", body),
            }
        )
    batch.connection.insert_rows(schema.insert_or_update(schema.record, _RECORD_KEY, _RECORD_REST), rows)
    for insert in operations:
        if insert.replaces:
            # The new record may have fewer scores than the one before it, of any version.
            key = {"run": insert.run, "no": insert.no, "repeat": insert.record.repeat}
            batch.connection.execute(f"DELETE FROM score {_AT_PLACE}", key)
    return rows


def _insert_scores(batch: Batch, operations: Sequence[InsertRecord]) -> Sequence[dict[str, Any]]:
    """Store the scores, which are always of the run's first scoring version; their rows."""
    names = sorted({score.name for insert in operations for score in insert.record.scores})
    numbers = word_numbers(batch, names)
    rows = [
        score_row(batch, (insert.run, 0, insert.no, insert.record.repeat), numbers[score.name], score)
        for insert in operations
        for score in insert.record.scores
    ]
    batch.connection.insert_rows(schema.insert_into(schema.score), rows)
    return rows


_Moves = dict[str, Counter[str]]
"""Stage -> changes of its counters; "" has those of the run that no stage has."""
_COUNTERS: Final = (*OF_RUN, *REPORTED)
_MOVE_RUN: Final = f"UPDATE run SET {', '.join(f'{name} = {name} + :{name}' for name in _COUNTERS)} WHERE num = :run"


def _count(batch: Batch, run: int, operations: Sequence[InsertRecord], replaced: Iterable[_Moves]) -> None:
    """Add new records to the counters of a run and its stages, and subtract the records they replace."""
    failures = sum(insert.record.failure is not None for insert in operations)
    moves: _Moves = {"": Counter(done=len(operations), errors=failures)}
    for insert in operations:
        replies = insert.record.replies
        moves[""].update(reported_counts(insert.record.output, through_journal=bool(replies.get("target"))))
        for stage, of_stage in replies.items():
            for reply in of_stage:
                _count_reply(moves.setdefault(stage, Counter()), reply, cached=reply.cached)
    for before in replaced:
        for stage, counters in before.items():
            moves.setdefault(stage, Counter()).subtract(counters)
    of_run = moves.pop("")
    for counters in moves.values():
        of_run.update({name: counters[name] for name in OF_RUN})
        of_run["replies"] += counters["calls"]
    batch.connection.execute(_MOVE_RUN, {"run": run, **{name: of_run[name] for name in _COUNTERS}})
    stages = operations[0].stages
    rows = [
        {"run": run, "stage": stages.index(stage), **{name: counters[name] for name in OF_STAGE}}
        for stage, counters in moves.items()
    ]
    batch.connection.insert_rows(schema.insert_or_add(schema.stage, ("run", "stage"), OF_STAGE), rows)


def _count_reply(counters: Counter[str], reply: Reply, *, cached: bool) -> None:
    counters["calls"] += 1
    counters["from_journal"] += cached
    counters["input_tokens"] += reply.usage.input_tokens
    counters["output_tokens"] += reply.usage.output_tokens
    counters["estimated"] += reply.usage.estimated
    counters["read_again"] += READ_AGAIN in reply.metadata
    counters["cached_tokens"] += reply.usage.cache_read
    counters["cache_written"] += reply.usage.cache_write
    counters["reasoning_tokens"] += reply.usage.reasoning
    if isinstance(cost := reply.metadata.get("cost"), float):
        counters["priced"] += 1
        counters["money"] += billionths(cost)
    if isinstance(saved := reply.metadata.get("cache_saved"), float):
        counters["saved"] += billionths(saved)


def _counted_before(batch: Batch, operation: InsertRecord) -> _Moves:
    """What the record that `operation` replaces had added to the counters."""
    place_key = {"run": operation.run, "no": operation.no, "repeat": operation.record.repeat}
    row = batch.connection.execute(f"SELECT failed, replies, body FROM record {_AT_PLACE}", place_key).first()
    if row is None:
        return {}
    moves: _Moves = {"": Counter(done=1, errors=row.failed)}
    keys = unpack_keys(row.replies, operation.stages)
    if row.body is not None and not any(key.stage == "target" for key in keys):
        output, _ = unpack_record(batch.unpacker.unpack(bytes(row.body)), ())
        moves[""].update(reported_counts(output, through_journal=False))
    for key in keys:
        body = batch.connection.execute("SELECT body FROM reply WHERE key = :key", {"key": key.key}).scalar()
        try:
            reply = Reply("", "") if body is None else unpack_reply("", batch.unpacker.unpack(body))
        except (StoreError, ValueError, TypeError, LookupError):
            reply = Reply("", "")  # its tokens stay counted; `verify` says by how many the counters are too high
        _count_reply(moves.setdefault(key.stage, Counter()), reply, cached=key.cached)
    return moves
