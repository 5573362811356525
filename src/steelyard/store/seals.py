"""A check sum over the rows of a run: a flipped bit in a number would be read as another number.

Bodies carry a check sum of their own (see `codec`); a score's value, its outcome or a record's place do not. So a run
has a seal for each of its parts: the exclusive or of 64 bits of a BLAKE2b hash of every row. The order of rows does not
matter, a row is taken out as it was put in, and the seal moves in the transaction of its rows, so it is right after a
kill at any moment. Rows differ by their keys, so none cancels another.

    part -1     what the run was begun or resumed with
    part  0     its records, and the scores of layer 0
    part  n     the scores of layer n
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, bindparam, inspect, select, update

from steelyard.store import schema
from steelyard.store.writer import Batch

HEAD: Final = -1
ROWS: Final = 0

_RECORD: Final = struct.Struct("<c7q")
_SCORE: Final = struct.Struct("<c5qdqq?")
_NONE: Final = -1
_BY: Final = bindparam("by", type_=BigInteger)
_MIX: Final = (
    update(schema.seal)
    .where((schema.seal.c.run == bindparam("of_run")) & (schema.seal.c.part == bindparam("of_part")))
    # Exclusive or, which SQLite has no sign for; neither step leaves 64 bits.
    .values(digest=schema.seal.c.digest.bitwise_or(_BY) - schema.seal.c.digest.bitwise_and(_BY))
)


def of_record(row: Mapping[str, Any]) -> int:
    """The digest of a record's row."""
    replies, body = row["replies"], row["body"]
    head = _RECORD.pack(
        b"r", row["no"], row["repeat"], row["sample"], row["failed"], row["millis"], _length(replies), _length(body)
    )
    return _digest(head + (replies or b"") + (body or b""))


def of_score(row: Mapping[str, Any]) -> int:
    """The digest of a score's row."""
    value, passed, body = row["value"], row["passed"], row["body"]
    head = _SCORE.pack(
        b"s", row["layer"], row["no"], row["repeat"], row["name"], row["outcome"],
        0.0 if value is None else value + 0.0,  # SQLite keeps no sign of a zero
        _NONE if passed is None else passed, _length(body), value is None,
    )  # fmt: skip
    return _digest(head + (body or b""))


def of_head(row: Mapping[str, Any]) -> int:
    """The digest of what a run was begun or resumed with."""
    texts = (row["id"], row["suite"], row["kind"], row["target"], row["manifest"])
    parts = [str(row["planned"]).encode(), *(one.encode("utf-8", "surrogatepass") for one in texts)]
    return _digest(b"".join(len(one).to_bytes(8, "little") + one for one in parts))


def sum_of(digests: Iterable[int]) -> int:
    """The seal of several rows, or the change of a seal by them."""
    found = 0
    for one in digests:
        found ^= one
    return found


def begin_seals(batch: Batch, run: int, parts: Mapping[int, int]) -> None:
    """Give a run, or a new layer of it, seals."""
    rows = [{"run": run, "part": part, "digest": digest} for part, digest in parts.items()]
    batch.connection.execute(schema.seal.insert(), rows)


def mix(batch: Batch, run: int, part: int, by: int) -> None:
    """Move a seal; a run of an earlier version has none, and gets none: it would be that of some of its rows."""
    batch.connection.execute(_MIX, {"of_run": run, "of_part": part, "by": by})


def set_head(batch: Batch, run: int, digest: int) -> None:
    """Seal what a run goes on with."""
    table = schema.seal
    batch.connection.execute(update(table).where(table.c.run == run, table.c.part == HEAD).values(digest=digest))


def rows_at(batch: Batch, run: int, no: int, repeat: int) -> dict[int, int]:
    """Part -> by how much the record at that place, with its scores, moves it."""
    record, score = schema.record, schema.score
    found: dict[int, int] = {}
    query = select(record).where(record.c.run == run, record.c.no == no, record.c.repeat == repeat)
    for row in batch.connection.execute(query).mappings():
        found[ROWS] = of_record(dict(row))
    query = select(score).where(score.c.run == run, score.c.no == no, score.c.repeat == repeat)
    for row in batch.connection.execute(query).mappings():
        found[row["layer"]] = found.get(row["layer"], 0) ^ of_score(dict(row))
    return found


def read_seals(connection: Connection, run: int) -> dict[int, int]:
    """Part -> its seal; nothing of a run that an earlier version began."""
    table = schema.seal
    if not inspect(connection).has_table(table.name):
        return {}
    rows = connection.execute(select(table.c.part, table.c.digest).where(table.c.run == run))
    return {row.part: row.digest for row in rows}


def _length(data: bytes | None) -> int:
    return _NONE if data is None else len(data)


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)
