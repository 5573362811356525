"""The columns of a large finished run in one row, so that a comparison need not step through a row per score.

They are written in the transaction that ends the run. Every figure of them is in the tables as well: where there is no
such row, or one that does not fit, the tables are read. It fits while the run's checksums are those that it was written
with: whatever adds, replaces or removes a row moves them (see `checksums`). Scores of a later scoring version are read
from the tables.

A row holds the CRC-32 of the rest, a JSON object, a line end, and one zlib stream per column: numbers as arrays, whole
ones as differences to the number before, and ids as lines of JSON lists. Hashes of samples and keys of replies are not
in it, as they do not deflate: they are read from the tables.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from operator import sub
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from steelyard.analysis.score_columns import Answered
from steelyard.analysis.score_infos import names_where, score_infos
from steelyard.errors import StoreError
from steelyard.store import schema
from steelyard.store.backend import read_json
from steelyard.store.checksums import HEAD, ROWS, read_checksums
from steelyard.store.connection import Connection
from steelyard.store.records import unpacker_of
from steelyard.store.scores import AnsweredReader
from steelyard.types import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

FROM_RECORDS: Final = 20_000
"""Runs of more records are packed: a smaller one is read in a tenth of a second."""
_CHUNK: Final = 5_000
_CRC_BYTES: Final = 4
_FORMAT: Final = 1
_LEVEL: Final = 6
_MOST_OF_FILE: Final = 4
"""Times the size of the file that all columns of a run may unpack to: half of that where every cell is as short as can
be. A stranger's 3 MB would take all memory otherwise."""
_TYPES: Final = {"i": "i4", "q": "i8", "d": "f8"}
_RECORD: Final = (("no", "i"), ("repeat", "i"), ("sample", "q"), ("failed", "i"), ("millis", "i"), ("sizes", "i"))
_SAMPLE: Final = (("num", "q"), ("grp", "i"), ("cluster", "i"))
_SCORE: Final = (("no", "i"), ("repeat", "i"), ("name", "i"), ("outcome", "i"), ("value", "d"), ("answered", "i"))
_RECORDS: Final = """SELECT no, repeat, sample, failed, millis, coalesce(length(replies), 0) FROM record
    WHERE run = :run ORDER BY no, repeat"""
_SAMPLES: Final = """SELECT num, id, grp, cluster FROM sample
    WHERE num IN (SELECT sample FROM record WHERE run = :run) ORDER BY num"""
_SCORES: Final = """SELECT no, repeat, name, outcome, value, CASE WHEN name IN :exams THEN body END, name IN :exams
    FROM score WHERE run = :run AND layer = 0 ORDER BY no, repeat, name"""
_NAN: Final = float("nan")


class PackedRun(NamedTuple):
    """The columns of a run; arrays of numpy.

    Args:
        records: field -> values, in order of samples and repeats; `sizes` are bytes of reply keys.
        samples: likewise of samples in the order of their numbers; `grp` and `cluster` index the names below.
        scores: likewise of scores, in order of records and names.
        groups: names of groups, in order of first appearance.
        clusters: likewise.
        distinct: whether no two samples have the same id.
        details: what scorers of exams kept of letters, each different value once.
        body: the row, where the ids begin in it, and how many bytes they may unpack to.
    """

    records: dict[str, Array]
    samples: dict[str, Array]
    scores: dict[str, Array]
    groups: tuple[str, ...]
    clusters: tuple[str, ...]
    distinct: bool
    details: tuple[Answered, ...]
    body: tuple[bytes, int, int]

    def ids(self) -> list[str]:
        """The ids of the samples, in the order of their numbers.

        Raises:
            StoreError: they unpack to more than a file of this size holds.
        """
        body, begin, most = self.body
        lines = _inflated(body[begin:], most).splitlines()
        return [ident for line in lines for ident in orjson.loads(line)]


def write_packed_run(connection: Connection, run: int) -> None:
    """Store the columns of a run that has just finished, in the open transaction; nothing where it is not large.

    Args:
        connection: that writes, to SQLite.
        run: the run's number.
    """
    of_run = {"run": run}
    row = connection.execute("SELECT done, layer, manifest FROM run WHERE num = :run", of_run).first()
    if row is None or row.done <= FROM_RECORDS or row.layer or (counters := _counted(connection, run)) is None:
        return
    try:
        manifest = read_json(row.manifest, "a manifest")
        exams = names_where(score_infos(manifest), lambda info: info.exam)
        body = _packed(connection, run, exams, counters)
    except (TypeError, ValueError, OverflowError, StoreError):
        return  # a number that does not fit, or a damaged row: the tables are read, and say what is wrong
    if not connection.has_table(schema.PACKED_RUN):
        # Made with the first large run: an empty table takes a page of each store.
        connection.execute(schema.PACKED_RUN_TABLE)
    connection.execute(f"INSERT OR REPLACE INTO {schema.PACKED_RUN} VALUES (:run, :body)", {**of_run, "body": body})


def read_packed_run(connection: Connection, run: int, layer: int) -> PackedRun | None:
    """The columns of a finished run; None where it has none that fit.

    Args:
        connection: to the store.
        run: the run's number.
        layer: the scoring version that is read.
    """
    if connection.dialect != "sqlite" or layer or not connection.has_table(schema.PACKED_RUN):
        return None
    query = f"SELECT body FROM {schema.PACKED_RUN} WHERE run = :run"
    body = connection.execute(query, {"run": run}).scalar()
    if not isinstance(body, bytes):
        return None
    line, _, streams = body[_CRC_BYTES:].partition(b"\n")
    if _crc(body[_CRC_BYTES:]) != body[:_CRC_BYTES]:
        return None  # damaged; the tables have the same figures
    head = json.loads(line)
    if head["same"] != json.loads(json.dumps(_sameness(_counted(connection, run)))):
        return None
    size = connection.execute("PRAGMA page_count").scalar() * connection.execute("PRAGMA page_size").scalar()
    try:
        return _unpacked(head, streams, _MOST_OF_FILE * size)
    except StoreError:
        return None


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(_CRC_BYTES, "big")


def _counted(connection: Connection, run: int) -> list[int] | None:
    """The checksums and counters that move with every row; None where a checksum is lost."""
    parts = read_checksums(connection, run)
    if HEAD not in parts or ROWS not in parts:
        return None
    query = "SELECT done, errors, replies FROM run WHERE num = :run"
    return [parts[HEAD], parts[ROWS], *next(connection.execute(query, {"run": run}).tuples())]


def _sameness(counters: list[int] | None) -> dict[str, Any]:
    """What must be equal when the row is read: the counters of the run, and what this version's numbers mean."""
    return {
        "format": _FORMAT,
        "counted": counters,
        "order": sys.byteorder,
        "outcomes": OUTCOMES,
        "answered": Answered._fields,
    }


def _packed(connection: Connection, run: int, exams: Sequence[str], counters: list[int]) -> bytes:
    words = dict(connection.execute("SELECT text, num FROM word").tuples())
    reader = AnsweredReader(unpacker_of(connection))
    groups: dict[str, int] = {}
    clusters: dict[str, int] = {}
    ids, packed_ids = zlib.compressobj(_LEVEL), list[bytes]()
    hashes: set[int] = set()
    n = 0

    def of_samples() -> Iterator[Sequence[Sequence[Any]]]:
        nonlocal n
        for num, ident, group, cluster in _chunks(connection, _SAMPLES, {"run": run}):
            packed_ids.append(ids.compress(json.dumps(ident).encode() + b"\n"))
            hashes.update(map(hash, ident))
            n += len(ident)
            yield (
                num,
                [groups.setdefault(text, len(groups)) for text in group],
                [clusters.setdefault(text, len(clusters)) for text in cluster],
            )

    def of_scores() -> Iterator[Sequence[Sequence[Any]]]:
        values = {"run": run, "exams": [words[name] for name in exams if name in words]}
        for no, repeat, name, outcome, value, body, of_exam in _chunks(connection, _SCORES, values):
            answered = [reader.number(cell) if exam else -1 for cell, exam in zip(body, of_exam, strict=True)]
            yield no, repeat, name, outcome, [_NAN if cell is None else cell for cell in value], answered

    streams = [
        *_streams(_RECORD, _chunks(connection, _RECORDS, {"run": run})),
        *_streams(_SAMPLE, of_samples()),
        *_streams(_SCORE, of_scores()),
        b"".join([*packed_ids, ids.flush()]),
    ]
    head = {
        "same": _sameness(counters),
        "sizes": [len(stream) for stream in streams],
        "groups": list(groups),
        "clusters": list(clusters),
        "distinct": len(hashes) == n,
        "details": reader.details,
    }
    data = b"".join([json.dumps(head).encode(), b"\n", *streams])
    return _crc(data) + data


def _chunks(connection: Connection, query: str, values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The columns of the query's rows, some thousand rows at a time."""
    rows = connection.stream(query, values).tuples()
    while chunk := list(islice(rows, _CHUNK)):
        yield tuple(zip(*chunk, strict=True))


def _streams(columns: Sequence[tuple[str, str]], chunks: Iterator[Sequence[Sequence[Any]]]) -> list[bytes]:
    """Each column, deflated: whole numbers as differences to the number before, fractions as they are."""
    deflating = [zlib.compressobj(_LEVEL) for _ in columns]
    parts: list[list[bytes]] = [[] for _ in columns]
    previous = [0] * len(columns)
    for chunk in chunks:
        for at, ((_, kind), numbers) in enumerate(zip(columns, chunk, strict=True)):
            if kind == "d":
                data = array(kind, numbers)
            else:
                data = array(kind, map(sub, numbers, (previous[at], *numbers)))
                previous[at] = numbers[-1]
            parts[at].append(deflating[at].compress(data.tobytes()))
    return [b"".join([*part, stream.flush()]) for part, stream in zip(parts, deflating, strict=True)]


def _inflated(packed: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    data = stream.decompress(packed, max(most, 1))
    if not stream.eof:
        raise StoreError(f"packed columns are damaged: they unpack to more than {most} bytes")
    return data


def _unpacked(head: Mapping[str, Any], data: bytes, most: int) -> PackedRun:
    import numpy as np

    ends = list(accumulate(head["sizes"]))
    begins = [0, *ends]
    tables: list[dict[str, Array]] = []
    at = 0
    for columns in (_RECORD, _SAMPLE, _SCORE):
        table = {}
        for name, kind in columns:
            column = _inflated(data[begins[at] : ends[at]], most)
            most -= len(column)
            numbers = np.frombuffer(column, dtype=_TYPES[kind])
            table[name] = numbers if kind == "d" else np.cumsum(numbers, dtype=_TYPES[kind])
            at += 1
        tables.append(table)
    records, samples, scores = tables
    groups, clusters = tuple(head["groups"]), tuple(head["clusters"])
    details = tuple(Answered(*detail) for detail in head["details"])
    ids = data, begins[at], most
    return PackedRun(records, samples, scores, groups, clusters, bool(head["distinct"]), details, ids)
