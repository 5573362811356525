"""Verifies a store: reads and unpacks every row, recounts, and compares checksums.

Each run is read in one snapshot, so that a store that is being written can be checked too. What is found, and what
cannot be found, is documented in docs/how-to/store.md.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import StoreError, bounded
from steelyard.plain_json import from_json
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.checksums import HEAD, ROWS, head_digest, read_checksums, record_digest, score_digest
from steelyard.store.connection import Connection, DatabaseError
from steelyard.store.records import (
    KEY_BYTES,
    ReplyKey,
    failure_kind,
    reply_bodies,
    sample_hash,
    unpack_keys,
    unpack_record,
    unpack_score,
    unpacker_of,
)
from steelyard.store.scores import words_of
from steelyard.store.usage import REPORTED, reported_counts
from steelyard.types import Reply

if TYPE_CHECKING:
    from steelyard.store.run import Run
    from steelyard.store.store import Store

_MOST_REMEMBERED: Final = 1000
_OTHER_TYPES: Final = (ValueError, TypeError, LookupError, struct.error)
"""Exceptions of reading a column with a value of another type than was written: SQLite columns may hold any type."""
_HASH_BYTES: Final = 10
"""Length of a reply's key; see `session.journal_key`."""
_MOST_TWICE: Final = 10
"""Keys that are listed where several replies have the same one."""
_CHUNK: Final = 500
"""Records that are read together."""
_RECORDS: Final = f"""SELECT record.*, sample.num AS sample_num, sample.hash AS sample_hash, sample.id, sample.grp,
    sample.cluster, sample.body AS sample_body
    FROM record LEFT JOIN sample ON sample.num = record.sample
    WHERE run = :run AND (no, repeat) > (:no, :after) ORDER BY no, repeat LIMIT {_CHUNK}"""
_STATES: Final = frozenset({"open", "finished", "interrupted", "broken"})
_RUN_COUNTERS: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
_STAGE_COUNTERS: Final = ("calls", "from_journal", "input_tokens", "output_tokens", "estimated")


@dataclass(frozen=True, slots=True)
class Damage:
    """One problem in a store.

    Args:
        what: the problem, as a sentence.
        run: the run's id; "" where it concerns none, or several.
        sample: the sample's id; likewise.
        repeat: of the sample.
    """

    what: str
    run: str = ""
    sample: str = ""
    repeat: int = 0

    def __str__(self) -> str:
        """Location and problem on one line, cut where an id or a text in the store is very long."""
        location = [f"run {self.run}"] if self.run else []
        location += [f"sample {self.sample}"] if self.sample else []
        location += [f"repeat {self.repeat}"] if self.repeat else []
        return bounded(f"{', '.join(location)}: {self.what}" if location else self.what)


@dataclass(slots=True)
class Verification:
    """The result of a verification: counts of checked rows, and problems.

    Attributes:
        counts: what was checked -> how many.
        damages: the first thousand problems.
        found: the number of all problems.
        notes: what could not be checked, and why.
    """

    counts: Counter[str] = field(default_factory=Counter)
    damages: list[Damage] = field(default_factory=list)
    found: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.found

    def add(self, what: str, **location: Any) -> None:
        """Add a problem."""
        self.found += 1
        if len(self.damages) < _MOST_REMEMBERED:
            self.damages.append(Damage(what, **location))

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Add a problem where the database itself cannot read on."""
        try:
            yield
        except (DatabaseError, StoreError, *_OTHER_TYPES) as error:
            # The other lines of a StoreError tell the user to run this very command.
            self.add(f"{what} cannot be read: {str(error).partition(chr(10))[0]}")

    def json_fields(self) -> dict[str, Any]:
        """With whether all was sound."""
        counts = {"sound": self.is_sound, "looked_at": self.counts, "found": self.found}
        return {**counts, "damages": self.damages, "notes": self.notes}


def verify(store: Store, run: Run | None = None, *, deep: bool = False) -> Verification:
    """Check a whole store, or one run with its samples and replies.

    Args:
        store: is read only.
        run: check this run alone.
        deep: let the database compare its indexes with its tables too, which takes longer.

    Returns:
        The result of a verification: counts of checked rows, and problems.
    """
    result = Verification()
    with result.reading("the file"), store.reading() as connection:
        for line in store.check_pages(connection, deep=deep, notes=result.notes):
            result.add(line)
    with result.reading("the tables"), store.reading() as connection:
        present = store.tables(connection)
        for table in schema.tables_of(connection.dialect):
            if table.name not in present:
                result.add(f"table {table.name} is missing")
    if run is None:
        for name, check in (("samples", _check_samples), ("replies", _check_replies), ("words", _check_words)):
            with result.reading(name), store.reading() as connection:
                check(connection, result)
        for table in schema.RUN_TABLES:
            with result.reading(f"table {table.name}"), store.reading() as connection:
                _check_owner(connection, table, result)
    with result.reading("the table of runs"):
        for checked in [run] if run is not None else store.runs():
            with result.reading(f"run {checked.id}"), store.reading() as connection:
                RunCheck(connection, checked.num, checked.id, result).check()
    return result


def _check_samples(connection: Connection, result: Verification) -> None:
    """Check that each sample matches its hash."""
    unpack = unpacker_of(connection).unpack
    for row in connection.stream("SELECT * FROM sample ORDER BY num"):
        result.counts["samples"] += 1
        try:
            body = unpack(bytes(row.body))
        except StoreError as error:
            result.add(str(error), sample=row.id)
            continue
        if sample_hash(row.id, row.grp, row.cluster, body) != row.hash:
            result.add("the sample does not match its hash", sample=row.id)


def _check_replies(connection: Connection, result: Verification) -> None:
    """Check that each reply unpacks to a JSON list, and has a unique key of ten bytes."""
    unpack = unpacker_of(connection).unpack
    for row in connection.stream("SELECT * FROM reply ORDER BY num"):
        result.counts["replies"] += 1
        key = bytes(row.key)
        if len(key) != _HASH_BYTES:
            result.add(f"reply {key.hex()} has a key of {len(key)} bytes, not {_HASH_BYTES}")
        try:
            if not isinstance(from_json(unpack(bytes(row.body))), list):
                result.add(f"reply {key.hex()} is not a list")
        except (StoreError, ValueError) as error:
            result.add(f"reply {key.hex()}: {error}")
    # An index that lost a row would not notice a second one, so the table itself is grouped: by an expression, which
    # keeps the database from using the index. It gives the whole key, as keys have half that length.
    grouped = f"substr(key, 1, {2 * _HASH_BYTES})"
    twice = f"SELECT {grouped} FROM reply GROUP BY {grouped} HAVING count(*) > 1 LIMIT {_MOST_TWICE}"
    for key in connection.execute(twice).scalars():
        result.add(f"reply {bytes(key).hex()} is stored more than once")


def _check_words(connection: Connection, result: Verification) -> None:
    """Check that no name has two numbers, and no dictionary is empty."""
    numbers: dict[str, int] = {}
    for row in connection.execute("SELECT * FROM word ORDER BY num"):
        result.counts["names"] += 1
        if row.text in numbers:
            result.add(f"the name {row.text!r} has two numbers, {numbers[row.text]} and {row.num}")
        numbers[row.text] = row.num
    for row in connection.execute("SELECT * FROM dictionary"):
        result.counts["dictionaries"] += 1
        if not row.data:
            result.add(f"dictionary {row.num} is empty")


def _check_owner(connection: Connection, table: schema.StoredTable, result: Verification) -> None:
    """Check that every row belongs to a run that exists."""
    rows = f"""SELECT run, count(*) FROM {table.name} WHERE run NOT IN (SELECT num FROM run)
        GROUP BY run ORDER BY run"""
    for number, count in connection.execute(rows).tuples():
        result.add(f"table {table.name} has {count} rows of run number {number}, which is not there")


class RunCheck:
    """Checks one run, on a connection that reads one snapshot.

    Args:
        connection: to the store.
        run: the run's number.
        ident: its id.
        result: receives what is wrong.
    """

    def __init__(self, connection: Connection, run: int, ident: str, result: Verification) -> None:
        self._connection = connection
        self._run = run
        self._id = ident
        self._result = result
        self._unpack = unpacker_of(connection).unpack
        self._stages: Sequence[str] = ()
        self._counted: Counter[str] = Counter()
        self._by_stage: dict[int, Counter[str]] = {}
        self._checksums: dict[int, int] = {ROWS: 0}
        self._samples: set[tuple[str, int]] = set()
        self._names: Mapping[int, str] = {}
        self._scoring_versions: set[int] = {0}
        self._lost_replies = False
        self._lost_outputs = False
        self._reported: Counter[str] = Counter()

    def check(self) -> None:
        """Check all of it."""
        (row,) = self._of_run("SELECT * FROM run WHERE num = :run")
        self._result.counts["runs"] += 1
        self._check_head(row)
        self._names = words_of(self._connection)
        self._scoring_versions |= {row["layer"] for row in self._of_run("SELECT layer FROM layer WHERE run = :run")}
        self._check_scoring_versions(row["layer"])
        last_place = (-1, 0)
        while rows := self._chunk(last_place):
            self._check_chunk(rows)
            last_place = (rows[-1]["no"], rows[-1]["repeat"])
        self._check_counters(row)
        self._check_stages()
        self._check_reported(row)
        self._check_checksums()
        self._check_remarks()

    def _add(self, what: str, sample: str = "", repeat: int = 0) -> None:
        self._result.add(what, run=self._id, sample=sample, repeat=repeat)

    def _of_run(self, query: str, **values: Any) -> Iterator[dict[str, Any]]:
        """The rows of a query about this run."""
        return self._connection.execute(query, {"run": self._run, **values}).mappings()

    def _check_head(self, row: Mapping[str, Any]) -> None:
        try:
            manifest = from_json(row["manifest"])
            self._stages = [str(stage) for stage in manifest["stages"]]
        except (ValueError, KeyError, TypeError) as error:
            self._add(f"the manifest cannot be read: {error}")
        if row["state"] not in _STATES:
            self._add(f"unknown state {row['state']!r}")
        if not list(self._of_run("SELECT num FROM evaluation WHERE num = :num", num=row["evaluation"])):
            self._add(f"evaluation {row['evaluation']}, which holds what was spent, is missing")
        stored = read_checksums(self._connection, self._run)
        if not {HEAD, ROWS} <= stored.keys():
            self._add("its checksum is missing")
        elif stored[HEAD] != head_digest(row):
            self._add("its checksum is wrong: the manifest, a name or the planned number is not what it was begun with")

    def _check_scoring_versions(self, newest: int) -> None:
        if newest not in self._scoring_versions:
            self._add(f"scoring version {newest} is missing")
        for row in self._of_run("SELECT * FROM layer WHERE run = :run"):
            try:
                from_json(row["scorers"])
            except ValueError as error:
                self._add(f"scoring version {row['layer']} cannot be read: {error}")

    def _chunk(self, after: tuple[int, int]) -> Sequence[dict[str, Any]]:
        return list(self._of_run(_RECORDS, no=after[0], after=after[1]))

    def _check_chunk(self, rows: Sequence[dict[str, Any]]) -> None:
        keys = [self._keys_of(row) for row in rows]
        bodies = reply_bodies(self._connection, {key.key for listed in keys for key in listed})
        scores = self._scores(rows)
        for row, listed in zip(rows, keys, strict=True):
            sample_key = (row["id"] or "", row["repeat"])
            self._result.counts["records"] += 1
            self._add_digest(ROWS, record_digest, row, sample_key)
            self._samples.add(sample_key)
            self._check_sample(row, sample_key)
            replies = [self._reply(key, bodies, sample_key) for key in listed]
            self._count(row, listed, replies)
            through_journal = any(key.stage == "target" for key in listed)
            self._check_record(
                row, sample_key, [reply for reply in replies if reply is not None], through_journal=through_journal
            )
            for score in scores.pop((row["no"], row["repeat"]), ()):
                self._check_score(score, sample_key)
        for (no, repeat), orphans in scores.items():
            self._add(f"place {no}, repeat {repeat} has {len(orphans)} scores and no record")

    def _keys_of(self, row: Mapping[str, Any]) -> list[ReplyKey]:
        packed = bytes(row["replies"] or b"")
        with suppress(IndexError):  # a stage that the run has not
            if not len(packed) % KEY_BYTES:
                return unpack_keys(packed, self._stages)
        self._add("its list of replies cannot be read", row["id"] or "", row["repeat"])
        return []

    def _add_digest(
        self, part: int, digest: Callable[[Mapping[str, Any]], int], row: Any, sample_key: tuple[str, int]
    ) -> None:
        try:
            self._checksums[part] = self._checksums.get(part, 0) ^ digest(row)
        except (struct.error, TypeError):
            self._add("a row holds something else than the numbers that belong there", *sample_key)

    def _check_sample(self, row: Mapping[str, Any], sample_key: tuple[str, int]) -> None:
        if row["sample_num"] is None:
            self._add(f"sample number {row['sample']} is missing (place {row['no']} of the dataset)", *sample_key)
            return
        try:
            body = self._unpack(bytes(row["sample_body"]))
        except StoreError as error:
            self._add(f"its sample: {error}", *sample_key)
            return
        if sample_hash(row["id"], row["grp"], row["cluster"], body) != row["sample_hash"]:
            self._add("the sample does not match its hash", *sample_key)

    def _reply(self, stored: ReplyKey, bodies: Mapping[bytes, Any], sample_key: tuple[str, int]) -> Reply | None:
        if stored.key not in bodies:
            self._lost_replies = True
            self._add(f"reply {stored.key.hex()} is missing from the journal", *sample_key)
            return None
        try:
            return unpack_reply(stored.key.hex(), self._unpack(bytes(bodies[stored.key])))
        except (StoreError, ValueError, TypeError) as error:
            self._lost_replies = True
            self._add(f"reply {stored.key.hex()}: {error}", *sample_key)
            return None

    def _count(self, row: Mapping[str, Any], keys: Sequence[ReplyKey], replies: Sequence[Reply | None]) -> None:
        self._counted.update(done=1, errors=row["failed"], replies=len(keys))
        for stored, reply in zip(keys, replies, strict=True):
            stage = self._by_stage.setdefault(self._stages.index(stored.stage), Counter())
            for counter in (self._counted, stage):
                counter["from_journal"] += stored.cached
                if reply is not None:
                    counter["input_tokens"] += reply.usage.input_tokens
                    counter["output_tokens"] += reply.usage.output_tokens
            stage["calls"] += 1
            stage["estimated"] += reply is not None and reply.usage.estimated

    def _check_record(
        self, row: Mapping[str, Any], sample_key: tuple[str, int], replies: Sequence[Reply], *, through_journal: bool
    ) -> None:
        try:
            body = None if row["body"] is None else self._unpack(bytes(row["body"]))
            output, failure = unpack_record(body, replies)
        except (StoreError, ValueError, TypeError, KeyError) as error:
            self._lost_outputs = True
            self._add(f"its output: {error}", *sample_key)
            return
        self._reported.update(reported_counts(output, through_journal=through_journal))
        if (bool(row["failed"]), row["failure"]) != (failure is not None, failure_kind(failure)):
            self._add("it is counted as failed but holds no failure, another one, or the reverse", *sample_key)

    def _scores(self, rows: Sequence[Any]) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
        """The scores of these records, and of places between them."""
        query = "SELECT * FROM score WHERE run = :run AND no BETWEEN :first AND :last"
        first, last = ((rows[at]["no"], rows[at]["repeat"]) for at in (0, -1))
        scores: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for row in self._of_run(query, first=first[0], last=last[0]):
            # A chunk may end between two repeats of a sample.
            if first <= (row["no"], row["repeat"]) <= last:
                scores.setdefault((row["no"], row["repeat"]), []).append(row)
        return scores

    def _check_score(self, row: Mapping[str, Any], sample_key: tuple[str, int]) -> None:
        self._result.counts["scores"] += 1
        self._add_digest(row["layer"], score_digest, row, sample_key)
        name = self._names.get(row["name"])
        if name is None:
            self._add(f"a score's name, number {row['name']}, is missing", *sample_key)
        if row["layer"] not in self._scoring_versions:
            self._add(f"a score is of scoring version {row['layer']}, which is not there", *sample_key)
        try:
            body = None if row["body"] is None else self._unpack(bytes(row["body"]))
            unpack_score(name or "", row["outcome"], row["value"], row["passed"], body)
        except (StoreError, ValueError, TypeError, IndexError) as error:
            self._add(f"score {name or row['name']}: {error}", *sample_key)

    def _check_counters(self, row: Mapping[str, Any]) -> None:
        for name in _RUN_COUNTERS:
            # The tokens of a lost reply are not known; that it is lost is reported already.
            if row[name] != self._counted[name] and not (self._lost_replies and name.endswith("tokens")):
                self._add(f"it counts {row[name]} {name.replace('_', ' ')}, its records hold {self._counted[name]}")
        if row["state"] == "finished" and row["done"] != row["planned"] and not self._may_end_early(row):
            self._add(f"it is finished with {row['done']} of {row['planned']} records")

    def _may_end_early(self, row: Mapping[str, Any]) -> bool:
        """Whether a stopping rule decided on the run, or may have on another run of its evaluation."""
        if list(self._of_run("SELECT run FROM stopping WHERE run = :run")):
            return True
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # a manifest that is damaged
            return bool(from_json(row["manifest"])["options"]["stop_when_decided"]["question"])
        return False

    def _check_stages(self) -> None:
        rows = {row["stage"]: row for row in self._of_run("SELECT * FROM stage WHERE run = :run")}
        for stage in sorted(rows.keys() | self._by_stage.keys()):
            stored, counted = rows.get(stage, {}), self._by_stage.get(stage, Counter())
            wrong = [name for name in _STAGE_COUNTERS if stored.get(name, 0) != counted[name]]
            if self._lost_replies:
                wrong = [name for name in wrong if name in {"calls", "from_journal"}]
            if wrong:
                self._add(f"stage {stage} counts other {', '.join(wrong).replace('_', ' ')} than its records hold")

    def _check_reported(self, row: Mapping[str, Any]) -> None:
        if self._lost_outputs:
            return
        wrong = [name for name in REPORTED if row[name] != self._reported[name]]
        if wrong:
            self._add(f"the tokens its outputs report are counted with other {', '.join(wrong).replace('_', ' ')}")

    def _check_checksums(self) -> None:
        stored = read_checksums(self._connection, self._run)
        for part, digest in stored.items():
            if part != HEAD and digest != self._checksums.get(part, 0):
                rows = "its records or scores" if part == ROWS else f"the scores of scoring version {part}"
                self._add(f"its checksum is wrong: {rows} are not those that were stored")

    def _check_remarks(self) -> None:
        """Check what was written about the run later: labels are of its samples, and the stopping decision is JSON."""
        sample_ids = {ident for ident, _ in self._samples}
        for row in self._of_run("SELECT * FROM label WHERE run = :run"):
            self._result.counts["labels"] += 1
            if row["sample"] not in sample_ids:
                self._add(
                    f"label {row['name']!r} is of a sample that the run does not have", row["sample"], row["repeat"]
                )
            self._parse(row["value"].encode("utf-8", "surrogatepass"), f"label {row['name']!r}", row["sample"])
        for row in self._of_run("SELECT body FROM stopping WHERE run = :run"):
            self._parse(row["body"].encode(), "what its stopping rule decided")

    def _parse(self, body: bytes, what: str, sample: str = "") -> None:
        try:
            from_json(body)
        except ValueError as error:
            self._add(f"{what} cannot be read: {error}", sample)
