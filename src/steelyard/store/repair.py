"""Verifies a store by the database's own check, our hashes and checksums, and by reading every body.

Each run is read in one snapshot, so that a store that is being written can be checked too. What is found, and what
cannot be found, is documented in docs/how-to/store.md.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from steelyard.errors import StoreError, bounded
from steelyard.plain_json import from_json
from steelyard.store.counters import OF_RUN
from steelyard.store.database import schema
from steelyard.store.database.backend import REPAIR_HINT
from steelyard.store.database.checksums import HEAD, ROWS, compute_checksums, read_checksums, sample_hash
from steelyard.store.database.connection import Connection, DatabaseError
from steelyard.store.records import DAMAGED, all_rows, failure_kind, read_records, unpacker_of
from steelyard.store.row_recovery import RecoveredRows, recover_rows
from steelyard.store.run import Run
from steelyard.store.store import Store
from steelyard.types import Failure, Record

_MOST_REMEMBERED: Final = 1000
_OTHER_TYPES: Final = (ValueError, TypeError, LookupError, struct.error)
"""Exceptions of reading a column with a value of another type than was written: SQLite columns may hold any type."""
_STATES: Final = frozenset({"open", "finished", "interrupted", "broken"})
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
            # The rest of a StoreError tells the user to run this very command.
            reason = str(error).partition(chr(10))[0].partition(f". {REPAIR_HINT}")[0].replace(f" ({REPAIR_HINT})", "")
            self.add(f"{what} cannot be read: {reason}")

    def json_fields(self) -> dict[str, Any]:
        """With whether all was sound."""
        counts = {"sound": self.is_sound, "looked_at": self.counts, "found": self.found}
        return {**counts, "damages": self.damages, "notes": self.notes}


def verify(store: Store, run: Run | None = None) -> Verification:
    """Check a whole store, or one run with its samples and replies.

    Args:
        store: is read only.
        run: check this run alone.

    Returns:
        The result of a verification: counts of checked rows, and problems.
    """
    result = Verification()
    with result.reading("the file"), store.reading() as connection:
        for line in store.check_pages(connection, notes=result.notes):
            result.add(line)
    with result.reading("the tables"), store.reading() as connection:
        present = store.tables(connection)
        for table in schema.tables_of(connection.dialect):
            if table.name not in present:
                result.add(f"table {table.name} is missing")
    with result.reading("samples"), store.reading() as connection:
        _check_samples(connection, run, result)
    if run is None:
        with result.reading("replies"), store.reading() as connection:
            _check_replies(connection, result)
        for table in schema.RUN_TABLES:
            with result.reading(f"table {table.name}"), store.reading() as connection:
                _check_owner(connection, table, result)
    with result.reading("the table of runs"):
        for checked in [run] if run is not None else store.runs():
            with result.reading(f"run {checked.id}"), store.reading() as connection:
                _RunCheck(connection, checked, result).check()
    return result


def _check_samples(connection: Connection, run: Run | None, result: Verification) -> None:
    """Check that each sample, of a run or of all, matches its hash."""
    unpack = unpacker_of(connection).unpack
    of_run = "" if run is None else "WHERE num IN (SELECT sample FROM record WHERE run = :run)"
    values = {} if run is None else {"run": run.num}
    for row in connection.stream(f"SELECT * FROM sample {of_run} ORDER BY num", values):
        result.counts["samples"] += 1
        try:
            is_sound = sample_hash(row.id, row.group_name, row.cluster, unpack(bytes(row.body))) == row.hash
        except StoreError as error:
            result.add(str(error), sample=row.id)
            continue
        if not is_sound:
            result.add("the sample does not match its hash", sample=row.id)


def _check_replies(connection: Connection, result: Verification) -> None:
    """Check that each reply unpacks to a JSON list."""
    unpack = unpacker_of(connection).unpack
    for row in connection.stream("SELECT * FROM reply ORDER BY num"):
        result.counts["replies"] += 1
        try:
            is_list = isinstance(from_json(unpack(bytes(row.body))), list)
        except (StoreError, ValueError) as error:
            result.add(f"reply {bytes(row.key).hex()}: {error}")
            continue
        if not is_list:
            result.add(f"reply {bytes(row.key).hex()} is not a list")


def _check_owner(connection: Connection, table: schema.StoredTable, result: Verification) -> None:
    """Check that every row belongs to a run that exists."""
    rows = f"""SELECT run, count(*) FROM {table.name} WHERE run IS NOT NULL AND run NOT IN (SELECT num FROM run)
        GROUP BY run ORDER BY run"""
    for number, count in connection.execute(rows).tuples():
        result.add(f"table {table.name} has {count} rows of run number {number}, which is not there")


class _RunCheck:
    """Checks one run, on a connection that reads one snapshot."""

    def __init__(self, connection: Connection, run: Run, result: Verification) -> None:
        self._connection = connection
        self._run = run
        self._result = result

    def check(self) -> None:
        """Check all of it."""
        (row,) = self._of_run("SELECT * FROM run WHERE num = :run")
        self._result.counts["runs"] += 1
        self._check_head(row)
        self._check_checksums()
        self._check_records(row)
        self._check_references()
        self._check_labels()

    def _add(self, what: str, sample: str = "", repeat: int = 0) -> None:
        self._result.add(what, run=self._run.id, sample=sample, repeat=repeat)

    def _of_run(self, query: str, **values: Any) -> Iterator[dict[str, Any]]:
        """The rows of a query about this run."""
        return self._connection.execute(query, {"run": self._run.num, **values}).mappings()

    def _check_head(self, row: Mapping[str, Any]) -> None:
        if row["state"] not in _STATES:
            self._add(f"unknown state {row['state']!r}")
        if not list(self._of_run("SELECT num FROM evaluation WHERE num = :num", num=row["evaluation"])):
            self._add(f"evaluation {row['evaluation']}, which holds what was spent, is missing")
        versions = {
            version["scoring_version"]
            for version in self._of_run("SELECT scoring_version FROM scoring_version WHERE run = :run")
        }
        if row["scoring_version"] not in {0, *versions}:
            self._add(f"scoring version {row['scoring_version']} is missing")

    def _check_checksums(self) -> None:
        stored = read_checksums(self._connection, self._run.num)
        if not {HEAD, ROWS} <= stored.keys():
            self._add("its checksum is missing")
        try:
            computed = compute_checksums(self._connection, self._run.num)
        except (struct.error, TypeError, AttributeError):
            self._add("a row holds something else than the numbers that belong there")
            return
        parts = {HEAD: "the manifest, a name or the planned number", ROWS: "its records or scores"}
        for part, digest in stored.items():
            if digest != computed.get(part, 0):
                rows = parts.get(part, f"the scores of scoring version {part}")
                self._add(f"its checksum is wrong: {rows} are not those that were stored")

    def _check_labels(self) -> None:
        samples = "SELECT id FROM sample JOIN record ON record.sample = sample.num WHERE record.run = :run"
        for row in self._of_run(
            f"SELECT event.*, sample IN ({samples}) AS is_known FROM event WHERE topic = 'label' AND run = :run"
        ):
            self._result.counts["labels"] += 1
            if not row["is_known"]:
                self._add(f"label {row['name']!r} is of a sample that the run does not have", row["sample"])
            try:
                from_json(row["body"].encode("utf-8", "surrogatepass"))
            except ValueError as error:
                self._add(f"label {row['name']!r} cannot be read: {error}", row["sample"])

    def _check_references(self) -> None:
        """Check that the samples of its records and the names of its scores are there: a join leaves out the others."""
        self._result.counts["scores"] += next(self._of_run("SELECT count(*) AS n FROM score WHERE run = :run"))["n"]
        samples = "SELECT sample, no FROM record WHERE run = :run AND sample NOT IN (SELECT num FROM sample)"
        for row in self._of_run(samples):
            self._add(f"sample number {row['sample']} is missing (place {row['no']} of the dataset)")
        places = """SELECT min(no) AS first, max(no) AS last, sample.id FROM record JOIN sample ON num = sample
            WHERE run = :run GROUP BY num, sample.id HAVING min(no) <> max(no)"""
        for row in self._of_run(places):
            self._add(f"it is at the places {row['first']} and {row['last']} of the dataset", row["id"])
        names = "SELECT DISTINCT name FROM score WHERE run = :run AND name NOT IN (SELECT num FROM word)"
        for row in self._of_run(names):
            self._add(f"a score's name, number {row['name']}, is missing")

    def _check_records(self, row: Mapping[str, Any]) -> None:
        """Check that every part of each record can be read, and that the counters are those of the records."""
        counted: dict[str, Counter[str]] = {"": Counter()}
        is_complete = True
        for stored, record in self._records():
            self._result.counts["records"] += 1
            _count(record, counted)
            failure = record.failure
            if failure is not None and failure.kind == DAMAGED:
                is_complete = False
                self._add(failure.message.partition(": ")[2], record.sample.id, record.repeat)
            elif (bool(stored.failed), stored.failure) != (failure is not None, failure_kind(failure)):
                what = "it is counted as failed but holds no failure, another one, or the reverse"
                self._add(what, record.sample.id, record.repeat)
        # Errors, replies and tokens of a damaged record are not known; that it is damaged is reported already.
        for name in OF_RUN if is_complete else ("done",):
            if row[name] != counted[""][name]:
                self._add(f"it counts {row[name]} {name.replace('_', ' ')}, its records hold {counted[''][name]}")
        if is_complete:
            self._check_stages(counted)

    def _check_stages(self, counted: Mapping[str, Counter[str]]) -> None:
        rows = {stored["stage"]: stored for stored in self._of_run("SELECT * FROM stage WHERE run = :run")}
        for number, stage in enumerate(self._run.stages):
            of_stage, stored = counted.get(stage, Counter()), rows.get(number, {})
            wrong = [name for name in _STAGE_COUNTERS if stored.get(name, 0) != of_stage[name]]
            wrong += [name for name, value in stored.items() if name not in wrong and not isinstance(value, int)]
            if wrong:
                self._add(f"stage {number} counts other {', '.join(wrong).replace('_', ' ')} than its records hold")

    def _records(self) -> Iterator[tuple[Any, Record]]:
        """(row, record) of each record."""
        unpacker = unpacker_of(self._connection)
        for rows in all_rows(self._connection, self._run.num):
            for row, (_, record) in zip(rows, read_records(self._connection, unpacker, self._run, rows), strict=True):
                yield row, record


def _count(record: Record, counted: dict[str, Counter[str]]) -> None:
    """Add a record to the counters of its run, under "", and of its stages."""
    counted[""].update(done=1, errors=record.failure is not None)
    for stage, replies in record.replies.items():
        of_stage = counted.setdefault(stage, Counter())
        for reply in replies:
            of_stage.update(calls=1, estimated=reply.usage.estimated)
            counted[""]["replies"] += 1
            for counter in (counted[""], of_stage):
                counter["from_journal"] += reply.cached
                counter["input_tokens"] += reply.usage.input_tokens
                counter["output_tokens"] += reply.usage.output_tokens


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The new store, with what was recovered and what was lost.

    Attributes:
        store: the new store.
        rows: what was recovered and what was lost.
    """

    store: Store
    rows: RecoveredRows

    def records(self, run: Run) -> Iterator[Record]:
        """The records of a run that could be read, complete or with the failure `damaged` that names the damage."""
        gaps = self.rows.gaps.get("score", ())
        lost_names = {f"score {number}" for number in self.rows.lost_names}
        for no, record in run.numbered_records():
            missing = []
            if any(gap.may_hold((run.num, run.scoring_version, no, record.repeat)) for gap in gaps):
                missing.append("some of its scores may be missing")
            if lost_names & {score.name for score in record.scores}:
                missing.append("a score's name cannot be read")
            if run.num in self.rows.lost_runs:
                missing.append("the row of its run cannot be read")
            elif run.num in self.rows.placeholders and set(record.replies) - {"target"}:
                missing.append("the names of its stages cannot be read")
            yield _with_damage(record, missing, run.id) if missing else record

    def is_unchanged(self, run: Run) -> bool | None:
        """Whether the rows of a run are those that were stored; None where its checksum cannot be read."""
        with self.store.reading() as connection:
            stored = read_checksums(connection, run.num)
            if HEAD not in stored or ROWS not in stored:
                return None
            computed = compute_checksums(connection, run.num)
        return all(computed.get(part) == digest for part, digest in stored.items())


def salvage(where: Path, folder: Path) -> Salvaged:
    """Recover all readable rows of a store into a new one.

    Args:
        where: the file of the damaged store; it is only read.
        folder: an empty one, for a copy of the file and for the new store.

    Raises:
        ConfigError: there is no such file, or nothing is in it.
        StoreError: nothing of it can be read, or it is of another version.
    """
    new_path = folder / "salvaged.db"
    store = Store(new_path, create_missing=True)
    return Salvaged(store, recover_rows(where, folder, new_path))


def _with_damage(record: Record, missing: list[str], run: str) -> Record:
    damage = record.failure.message if record.failure and record.failure.kind == DAMAGED else ""
    repeat = f", repeat {record.repeat}" if record.repeat else ""
    head = f"{damage};" if damage else f"run {run}, sample {record.sample.id}{repeat}:"
    return replace(record, failure=Failure("store", DAMAGED, f"{head} {'; '.join(missing)}"))
