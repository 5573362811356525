"""The rows of a run as numpy columns, read once; summaries and comparisons compute with them.

They come from the driver's own cursor into arrays, some thousand rows at a time: a named object per row takes several
times as long, which is seconds for a run of 100,000 samples; a list of all rows takes memory that an array does not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steelyard.analysis.score_columns import CODES, Answered, ScoreColumns, Texts, by_appearance
from steelyard.analysis.score_infos import names_where, score_infos
from steelyard.analysis.stopping import Used
from steelyard.errors import StoreError
from steelyard.store.backend import REPAIR_HINT
from steelyard.store.connection import NO_VALUES, Connection, Values
from steelyard.store.packed_run import PackedRun, read_packed_run
from steelyard.store.records import CACHED, KEY_BYTES, ReadableRun, unpacker_of
from steelyard.store.scores import AnsweredReader, words_of
from steelyard.types import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_CHUNK: Final = 20_000
"""Rows in one array: of so many rows ids, bodies and keys of replies are Python objects at the same time."""
_SAMPLE: Final = (("num", "i8"), ("hash", "i8"), ("id", "O"), ("grp", "O"), ("cluster", "O"))
_SAMPLE_NUMBERS: Final = (("num", "i8"), ("hash", "i8"), ("grp", "i4"), ("cluster", "i4"))
_RECORD: Final = (("no", "i4"), ("repeat", "i4"), ("sample", "i8"), ("failed", "i1"), ("millis", "i4"))
_SCORE: Final = (("no", "i4"), ("repeat", "i4"), ("name", "i4"), ("outcome", "i1"), ("value", "f8"))
_ANSWERED: Final = ("answered", "i4")
_DENSE: Final = 2
"""Samples are read as one range of numbers, and those of other runs dropped here, if the range is less than this many
times as long as the run has samples. Else they are looked up one by one, by the numbers that the records hold."""
_MOST_ROWS: Final = 1_000_000
"""Rows that are cached, some 60 MB with their samples; the run read last is cached however many it has."""


def tables(
    connection: Connection, query: str, columns: Sequence[tuple[str, str]], values: Values = NO_VALUES
) -> Iterator[Array]:
    """The rows of a query in arrays with a field per column.

    Args:
        connection: to the store.
        query: gives numbers, texts and bytes.
        columns: name of the field and numpy's type, in the order of the query's columns; a NULL is NaN in a float.
        values: of the query.

    Raises:
        StoreError: a value is of another type than its column: the store is damaged.
    """
    import numpy as np

    rows = connection.stream(query, values).tuples()
    try:
        while len(table := np.fromiter(islice(rows, _CHUNK), dtype=list(columns))):
            yield table
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"a row of the store is damaged: {error}. {REPAIR_HINT}") from error


def column_arrays(
    chunks: Iterable[Array | Mapping[str, Array]], columns: Sequence[tuple[str, str]]
) -> dict[str, Array]:
    """Field -> all its values in one array, for the given numeric fields; other fields are dropped."""
    import numpy as np

    parts = {name: [np.zeros(0, dtype=kind)] for name, kind in columns}
    for chunk in chunks:
        for (name, kind), arrays in zip(columns, parts.values(), strict=True):
            arrays.append(chunk[name].astype(kind))  # a copy, so that the whole chunk can go
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


@dataclass(frozen=True, slots=True, eq=False)
class SampleColumns:
    """Samples in the order of their numbers in the store.

    Args:
        nums: these numbers, ascending.
        hashes: of their content, the id included; 64 bits, signed. None where they were not read yet.
        ids: of each; likewise `groups` and `clusters`.
        distinct: whether no two have the same id.
    """

    nums: Array
    hashes: Array | None
    ids: Sequence[str]
    groups: Texts
    clusters: Texts
    distinct: bool

    def are(self, nums: Array) -> bool:
        """Whether these are exactly the samples with `nums`, which ascend."""
        import numpy as np

        return np.array_equal(self.nums, nums)

    def places(self, nums: Array) -> Array:
        """Index of each number; -1 where there is no such sample."""
        import numpy as np

        if not len(self.nums):
            return np.full(len(nums), -1)
        at = np.minimum(np.searchsorted(self.nums, nums), len(self.nums) - 1)
        return np.where(self.nums[at] == nums, at, -1)


def read_samples(connection: Connection, run: int, nums: Array) -> SampleColumns:
    """Read the samples of a run; deleted or lost ones are left out.

    Args:
        connection: to the store.
        run: the run's number.
        nums: numbers of its samples, ascending.

    Raises:
        StoreError: one of them is damaged.
    """
    import numpy as np

    if len(nums) and nums[-1] - nums[0] < _DENSE * len(nums):
        condition, values = "num BETWEEN :first AND :last", {"first": int(nums[0]), "last": int(nums[-1])}
    else:
        condition, values = "num IN (SELECT sample FROM record WHERE run = :run)", {"run": run}
    query = f"SELECT num, hash, id, grp, cluster FROM sample WHERE {condition} ORDER BY num"
    ids: list[str] = []
    groups, clusters = _TextCodes(), _TextCodes()

    def chunks() -> Iterator[Mapping[str, Array]]:
        for table in tables(connection, query, _SAMPLE, values):
            present = table[np.isin(table["num"], nums)]
            ids.extend(present["id"].tolist())
            grp, cluster = (texts.codes(present[name].tolist()) for name, texts in names)
            yield {"num": present["num"], "hash": present["hash"], "grp": grp, "cluster": cluster}

    names = (("grp", groups), ("cluster", clusters))
    arrays = column_arrays(chunks(), _SAMPLE_NUMBERS)
    # Sorted hashes in place of a set, which takes more memory than all other data of the samples.
    hashes = np.sort(np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids)))
    distinct = not (hashes[1:] == hashes[:-1]).any()
    texts = groups.texts(arrays["grp"]), clusters.texts(arrays["cluster"])
    return SampleColumns(arrays["num"], arrays["hash"], ids, *texts, distinct)


class _TextCodes:
    """Numbers distinct texts in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def codes(self, texts: Sequence[str]) -> Array:
        """The number of each."""
        import numpy as np

        for text in dict.fromkeys(texts):
            self._numbers.setdefault(text, len(self._numbers))
        return np.fromiter(map(self._numbers.__getitem__, texts), dtype=np.int32, count=len(texts))

    def texts(self, codes: Array) -> Texts:
        """The column of these numbers."""
        return Texts(tuple(self._numbers), codes)


class ReplyColumns(NamedTuple):
    """The replies of records; arrays with one entry per reply, in the order of the calls.

    Args:
        records: how many there are.
        owner: place of the reply's record.
        stage: number of the stage that asked.
        key: its key in the journal, a row of bytes.
    """

    records: int
    owner: Array
    stage: Array
    key: Array

    @classmethod
    def of(cls, packed: Sequence[bytes | None]) -> ReplyColumns:
        """Parse the reply keys of records; a record whose keys have a wrong length is damaged and gets none."""
        import numpy as np

        parts = [keys if isinstance(keys, bytes) and not len(keys) % KEY_BYTES else b"" for keys in packed]
        return cls.of_joined(b"".join(parts), np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)))

    @classmethod
    def of_joined(cls, keys: bytes, sizes: Array) -> ReplyColumns:
        """Parse the reply keys of all records, given how many bytes each has."""
        import numpy as np

        table = np.frombuffer(keys, dtype=np.uint8).reshape(-1, KEY_BYTES)
        owner = np.repeat(np.arange(len(sizes)), sizes // KEY_BYTES)
        return cls(len(sizes), owner, table[:, 0] & ~np.uint8(CACHED), table[:, 1:].copy())

    @classmethod
    def joined(cls, chunks: Sequence[ReplyColumns]) -> ReplyColumns:
        """Concatenate the replies of consecutive records."""
        import numpy as np

        if not chunks:
            return cls.of([])
        begins = np.cumsum([0, *(chunk.records for chunk in chunks)])
        owner = np.concatenate([chunk.owner + begin for chunk, begin in zip(chunks, begins.tolist(), strict=False)])
        stage, key = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("stage", "key"))
        return cls(int(begins[-1]), owner, stage, key)

    def only(self, wanted: Array) -> ReplyColumns:
        """The replies of the records for which `wanted` is true."""
        import numpy as np

        chosen = wanted[self.owner]
        owner = (np.cumsum(wanted) - 1)[self.owner[chosen]]
        return ReplyColumns(int(wanted.sum()), owner, self.stage[chosen], self.key[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """Records in order of samples and repeats; arrays with an entry per record.

    Args:
        sample: number of the record's sample.
        failed: whether it holds a failure.
        millis: wall time, queueing, retries and scorers included.
        replies: that they hold.
        nums: per sample, its number in the store.
        hashes: per sample, of its content, the id included; 64 bits, signed. None where they were not read yet.
    """

    sample: Array
    failed: Array
    millis: Array
    replies: ReplyColumns
    nums: Array
    hashes: Array | None


class RunColumns(NamedTuple):
    """Everything that summaries and comparisons need of a run.

    Args:
        scores: its rows; where a stopping rule decided, only those that the decision is based on.
        records: all its records; samples have the same numbers as in `scores`.
        samples: as they are stored, reused for the next run of the same samples.
    """

    scores: ScoreColumns
    records: RecordColumns
    samples: SampleColumns


def read_columns(
    connection: Connection, run: ReadableRun, used: Used | None, known: Iterable[SampleColumns] = ()
) -> RunColumns:
    """Read every row of a run into columns.

    Args:
        connection: to the store.
        run: whose rows.
        used: the places of samples that count; None is all.
        known: samples that were read before and are still there.

    Raises:
        StoreError: something is damaged.
    """
    packed = read_packed_run(connection, run.num, run.scoring_version) if run.state == "finished" else None
    records, replies = (packed and _packed_records(connection, run.num, packed)) or _records(connection, run.num)
    nums = _ascending(records["sample"])
    samples = next((columns for columns in known if columns.are(nums)), None) or (
        read_samples(connection, run.num, nums) if packed is None else _packed_samples(packed)
    )
    at = samples.places(records["sample"])
    if (at < 0).any():
        # A sample that is gone takes its records with it; `verify` reports it.
        stored = at >= 0
        replies = replies.only(stored)
        records, at = {name: column[stored] for name, column in records.items()}, at[stored]
    number, order, ids = _numbered(samples, at)
    scores, details = _scores(connection, run) if packed is None else (packed.scores, packed.details)
    rows = _Rows.of(connection, records, scores, details)
    rows = rows.with_failures(records["failed"], run.manifest.get("scores", ()))
    columns = ScoreColumns(
        samples=ids,
        names=rows.names,
        sample=number[rows.record],
        repeat=records["repeat"][rows.record],
        name=rows.name,
        groups=samples.groups.at(at[rows.record]),
        clusters=samples.clusters.at(at[rows.record]),
        outcome=rows.outcome,
        value=rows.value,
        details=rows.details,
        answered=rows.answered,
    )
    if used is not None:
        columns = columns.only(used.among(records["no"][rows.record]))
    failed = records["failed"].astype(bool)
    hashes = None if samples.hashes is None else samples.hashes[order]
    of_records = RecordColumns(number, failed, records["millis"], replies, samples.nums[order], hashes)
    return RunColumns(columns, of_records, samples)


def _packed_records(
    connection: Connection, run: int, packed: PackedRun
) -> tuple[dict[str, Array], ReplyColumns] | None:
    """The records of a packed run, with keys of replies from their table; None where these do not fit."""
    query = """SELECT CAST(group_concat(replies, '') AS BLOB)
        FROM (SELECT replies FROM record WHERE run = :run ORDER BY no, repeat)"""
    keys, sizes = connection.execute(query, {"run": run}).scalar() or b"", packed.records["sizes"]
    if len(keys) != sizes.sum() or (sizes % KEY_BYTES).any():
        return None
    return packed.records, ReplyColumns.of_joined(keys, sizes)


def _packed_samples(packed: PackedRun) -> SampleColumns:
    of_all = packed.samples
    groups, clusters = Texts(packed.groups, of_all["grp"]), Texts(packed.clusters, of_all["cluster"])
    return SampleColumns(of_all["num"], None, packed.ids(), groups, clusters, packed.distinct)


def read_hashes(connection: Connection, nums: Array) -> Array:
    """Hashes of samples, by their numbers in the store, in any order.

    Raises:
        StoreError: one of them is gone.
    """
    import numpy as np

    values = {"first": int(nums.min(initial=0)), "last": int(nums.max(initial=0))}
    query = "SELECT num, hash FROM sample WHERE num BETWEEN :first AND :last ORDER BY num"
    arrays = column_arrays(tables(connection, query, _SAMPLE[:2], values), _SAMPLE[:2])
    at = np.searchsorted(arrays["num"], nums)
    if not _all_below(len(arrays["num"]), at) or (arrays["num"][at] != nums).any():
        raise StoreError(f"samples of a run are gone from the store: it was deleted, or is damaged. {REPAIR_HINT}")
    hashes: Array = arrays["hash"][at]
    return hashes


def _records(connection: Connection, run: int) -> tuple[dict[str, Array], ReplyColumns]:
    """Columns of all records in order of samples and repeats, and the replies that they hold."""
    names = ", ".join(name for name, _ in _RECORD)
    query = f"SELECT {names}, replies FROM record WHERE run = :run ORDER BY no, repeat"
    replies: list[ReplyColumns] = []

    def chunks() -> Iterator[Array]:
        for table in tables(connection, query, (*_RECORD, ("replies", "O")), {"run": run}):
            replies.append(ReplyColumns.of(table["replies"].tolist()))
            yield table

    columns = column_arrays(chunks(), _RECORD)
    return columns, ReplyColumns.joined(replies)


def _ascending(nums: Array) -> Array:
    """Distinct numbers, ascending; most runs have them so already, which saves the sort."""
    import numpy as np

    return nums if (np.diff(nums) > 0).all() else np.unique(nums)


def _numbered(samples: SampleColumns, at: Array) -> tuple[Array, Array, Sequence[str]]:
    """Number the samples in order of first appearance: per record its number; per number the sample's index and id."""
    import numpy as np

    number, order = by_appearance(at, len(samples.ids))
    number = number.astype(np.int32)
    if np.array_equal(order, np.arange(len(samples.ids))):
        ids: Sequence[str] = samples.ids
    else:
        ids = [samples.ids[position] for position in order.tolist()]
    if not samples.distinct:
        # A resume may have changed the content of an id: both count as one sample, that of its first repeat.
        coded = Texts.of(ids)
        return coded.codes[number], order[np.unique(coded.codes, return_index=True)[1]], coded.names
    return number, order, ids


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of scores: the record of each by its place, and the rest as in `ScoreColumns`."""

    record: Array
    names: tuple[str, ...]
    name: Array
    outcome: Array
    value: Array
    details: tuple[Answered, ...]
    answered: Array

    @classmethod
    def of(
        cls,
        connection: Connection,
        records: Mapping[str, Array],
        scores: Mapping[str, Array],
        details: tuple[Answered, ...],
    ) -> _Rows:
        """The score rows of a run, given the columns of its tables; those without a record are dropped."""
        import numpy as np

        words = words_of(connection)
        record = _record_of(records, scores)
        if (record < 0).any():
            scores, record = {name: column[record >= 0] for name, column in scores.items()}, record[record >= 0]
        codes = np.asarray([CODES[outcome] for outcome in OUTCOMES], dtype=np.int8)
        if not _all_below(len(codes), scores["outcome"]):
            raise StoreError(f"the store is damaged: a score has an unknown outcome. {REPAIR_HINT}")
        nums = np.asarray(sorted(words), dtype=np.int64)
        name = np.searchsorted(nums, scores["name"])
        if not _all_below(len(nums), name) or (nums[name] != scores["name"]).any():
            raise StoreError(f"the store is damaged: a score has no name. {REPAIR_HINT}")
        names = tuple(words[num] for num in nums.tolist())
        return cls(record, names, name, codes[scores["outcome"]], scores["value"], details, scores["answered"])

    def with_failures(self, failed: Array, announced: Sequence[str]) -> _Rows:
        """The same rows, with an `error` row added for every score that a failed record lacks."""
        import numpy as np

        expected = [name for name in announced if name]
        names = {name: code for code, name in enumerate(self.names)}
        scored_names: dict[int, set[int]] = {at: set() for at in np.flatnonzero(failed).tolist()}
        if not scored_names:
            return self
        of_failed = np.isin(self.record, list(scored_names))
        for record, name in zip(self.record[of_failed].tolist(), self.name[of_failed].tolist(), strict=True):
            scored_names[record].add(name)
        missing = [
            (record, names.setdefault(name, len(names)))
            for record, present in scored_names.items()
            for name in (expected or ([] if present else [""]))
            if names.get(name) not in present
        ]
        added = np.asarray(missing, dtype=np.int64).reshape(-1, 2)
        record = np.concatenate([self.record, added[:, 0]])
        order = np.argsort(record, kind="stable")
        errors = np.full(len(added), CODES["error"], dtype=np.int8)
        return _Rows(
            record[order],
            tuple(names),
            np.concatenate([self.name, added[:, 1]])[order],
            np.concatenate([self.outcome, errors])[order],
            np.concatenate([self.value, np.full(len(added), np.nan)])[order],
            self.details,
            np.concatenate([self.answered, np.full(len(added), -1)])[order],
        )


def _scores(connection: Connection, run: ReadableRun) -> tuple[dict[str, Array], tuple[Answered, ...]]:
    """Columns of all scores, in order of samples and repeats; those of exams with the letters that were answered."""
    import numpy as np

    of_exams = names_where(score_infos(run.manifest), lambda info: info.exam)
    exams = [num for num, text in words_of(connection).items() if text in of_exams]
    names = ", ".join(name for name, _ in _SCORE)
    query = f"""SELECT {names}, CASE WHEN name IN :exams THEN body END FROM score
        WHERE run = :run AND layer = :layer ORDER BY no, repeat, name"""
    values = {"run": run.num, "layer": run.scoring_version, "exams": exams}
    reader = AnsweredReader(unpacker_of(connection))

    def chunks() -> Iterator[Mapping[str, Array]]:
        for table in tables(connection, query, (*_SCORE, ("body", "O")), values):
            answered = np.full(len(table), -1)
            rows = np.flatnonzero(np.isin(table["name"], exams))
            answered[rows] = reader.numbers(table["body"][rows].tolist())
            yield {"answered": answered, **{name: table[name] for name, _ in _SCORE}}

    columns = column_arrays(chunks(), (*_SCORE, _ANSWERED))
    return columns, reader.details


def _record_of(records: Mapping[str, Array], scores: Mapping[str, Array]) -> Array:
    """Index of the record that each score belongs to; -1 where there is none."""
    import numpy as np

    repeats = 1 + int(max(records["repeat"].max(initial=0), scores["repeat"].max(initial=0)))
    record_keys, score_keys = (
        columns["no"].astype(np.int64) * repeats + columns["repeat"] for columns in (records, scores)
    )
    if not len(record_keys):
        return np.full(len(score_keys), -1)
    at = np.minimum(np.searchsorted(record_keys, score_keys), len(record_keys) - 1)
    return np.where(record_keys[at] == score_keys, at, -1)


def _all_below(size: int, numbers: Array) -> bool:
    """Whether all are from 0 on, and below `size`."""
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < size)


class ColumnCache:
    """Columns of the runs that were read last: a command reads a run once, however often it computes with it.

    Only finished runs are cached: they do not change any more.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], RunColumns] = {}
        self._reading = threading.Lock()

    def read(self, connection: Connection, run: ReadableRun, used: Used | None) -> RunColumns:
        """The columns of a run, cached where it is finished.

        Raises:
            StoreError: something is damaged.
        """
        # By id, not by number: SQLite gives the number of a deleted run to the next one.
        name = (run.id, run.scoring_version)
        with self._reading:  # threads of the viewer: two that read one run at once would take twice the memory
            columns = self._runs.pop(name, None)
            if columns is None:
                columns = read_columns(connection, run, used, self._samples(connection))
            if run.state == "finished":
                self._runs[name] = columns
                while len(self._runs) > 1 and sum(len(cached.scores) for cached in self._runs.values()) > _MOST_ROWS:
                    del self._runs[next(iter(self._runs))]
        return columns

    def clear(self) -> None:
        """Forget all columns."""
        with self._reading:
            self._runs.clear()

    def has(self, run: ReadableRun) -> bool:
        """Whether the columns of a run are cached."""
        return (run.id, run.scoring_version) in self._runs

    def _samples(self, connection: Connection) -> list[SampleColumns]:
        """Samples of runs that are still there: SQLite gives the numbers of deleted ones to others."""
        if not self._runs:
            return []
        names = sorted({name for name, _ in self._runs})
        stored = set(connection.execute("SELECT id FROM run WHERE id IN :names", {"names": names}).scalars())
        return [columns.samples for (name, _), columns in self._runs.items() if name in stored]
