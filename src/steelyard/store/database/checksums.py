"""Checksums over the rows of a run, which detect damage that still parses, such as a flipped bit in a number.

Bodies carry a checksum of their own (see `codec`); a score's value, its outcome or a record's place do not. So a run
has a checksum for each of its parts: the exclusive or of 64 bits of a BLAKE2b hash of every row. The order of the rows
does not matter, a row is taken out the way it was added, and the checksum changes in the transaction of its rows, so it
is right after a kill at any moment. Rows differ by their keys, so no two cancel each other.

    part -1     what the run was begun or resumed with
    part  0     its records, and the scores of scoring version 0
    part  n     the scores of scoring version n
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from steelyard.store.database import schema
from steelyard.store.database.connection import Connection

HEAD: Final = -1
ROWS: Final = 0

_RECORD: Final = struct.Struct("<c7q")
_SCORE: Final = struct.Struct("<c5qdqq?")
_NONE: Final = -1
"""Stands for NULL: no length, and neither 0 nor 1. An empty body and none at all have different digests."""
_UPDATE: Final = "UPDATE seal SET digest = (digest | :by) - (digest & :by) WHERE run = :run AND part = :part"
"""Exclusive or, for which SQLite has no operator; neither step leaves 64 bits."""


def record_digest(row: Mapping[str, Any]) -> int:
    """The digest of a record's row."""
    replies, body = row["replies"], row["body"]
    head = _RECORD.pack(
        b"r", row["no"], row["repeat"], row["sample"], row["failed"], row["millis"], _length(replies), _length(body)
    )
    return _digest(b"".join([head, replies or b"", body or b"", (row["failure"] or "").encode()]))


def score_digest(row: Mapping[str, Any]) -> int:
    """The digest of a score's row."""
    value, passed, body = row["value"], row["passed"], row["body"]
    head = _SCORE.pack(
        b"s", row["layer"], row["no"], row["repeat"], row["name"], row["outcome"],
        0.0 if value is None else value + 0.0,  # SQLite keeps no sign of a zero
        _NONE if passed is None else passed, _length(body), value is None,
    )  # fmt: skip
    return _digest(head + (body or b""))


def sample_hash(ident: str, group: str, cluster: str, body: bytes) -> int:
    """64 bits, signed, of what a sample is: its id, its category, its cluster and its body."""
    head = f"{ident}\0{group}\0{cluster}\0".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(head + body, digest_size=8).digest(), "big", signed=True)


def head_digest(row: Mapping[str, Any]) -> int:
    """The digest of what a run was begun or resumed with."""
    texts = (row["id"], row["suite"], row["kind"], row["target"], row["manifest"])
    parts = [str(row["planned"]).encode(), *(text.encode("utf-8", "surrogatepass") for text in texts)]
    return _digest(b"".join(len(part).to_bytes(8, "little") + part for part in parts))


def combine(digests: Iterable[int]) -> int:
    """The checksum of several rows, or the change of a checksum by them."""
    combined = 0
    for digest in digests:
        combined ^= digest
    return combined


def insert_checksums(connection: Connection, run: int, parts: Mapping[int, int]) -> None:
    """Store the first checksums of a run, or of a new scoring version of it.

    Args:
        connection: in a transaction.
        run: the run's number.
        parts: part -> its digest.
    """
    rows = [{"run": run, "part": part, "digest": digest} for part, digest in parts.items()]
    connection.insert_rows(schema.insert_into(schema.checksum), rows)


def update_checksum(connection: Connection, run: int, part: int, by: int) -> None:
    """Add rows to a checksum, or remove them from it."""
    connection.execute(_UPDATE, {"run": run, "part": part, "by": by})


def set_head_checksum(connection: Connection, run: int, digest: int) -> None:
    """Replace the checksum of what a run was begun with, where it is resumed with something else."""
    values = {"run": run, "part": HEAD, "digest": digest}
    connection.execute("UPDATE seal SET digest = :digest WHERE run = :run AND part = :part", values)


def checksums_at(connection: Connection, run: int, no: int, repeat: int) -> dict[int, int]:
    """Part -> the share of its checksum that one record with its scores contributes."""
    parts: dict[int, int] = {}
    key, where = {"run": run, "no": no, "repeat": repeat}, "WHERE run = :run AND no = :no AND repeat = :repeat"
    for row in connection.execute(f"SELECT * FROM record {where}", key).mappings():
        parts[ROWS] = record_digest(row)
    for row in connection.execute(f"SELECT * FROM score {where}", key).mappings():
        parts[row["layer"]] = parts.get(row["layer"], 0) ^ score_digest(row)
    return parts


def read_checksums(connection: Connection, run: int) -> dict[int, int]:
    """Part -> its checksum."""
    return dict(connection.execute("SELECT part, digest FROM seal WHERE run = :run", {"run": run}).tuples())


def compute_checksums(connection: Connection, run: int) -> dict[int, int]:
    """Part -> its checksum, computed over the rows that a run has now.

    Raises:
        struct.error, TypeError, AttributeError: a row of a damaged file holds another type than was written.
    """
    of_run = {"run": run}
    (head,) = connection.execute("SELECT * FROM run WHERE num = :run", of_run).mappings()
    parts = {HEAD: head_digest(head), ROWS: 0}
    for row in connection.stream("SELECT * FROM record WHERE run = :run", of_run).mappings():
        parts[ROWS] ^= record_digest(row)
    for row in connection.stream("SELECT * FROM score WHERE run = :run", of_run).mappings():
        parts[row["layer"]] = parts.get(row["layer"], 0) ^ score_digest(row)
    return parts


def _length(data: bytes | None) -> int:
    return _NONE if data is None else len(data)


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)
