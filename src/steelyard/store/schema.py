"""The tables. Summaries stand apart from bodies: a list of runs or a table of rates opens no body.

Bodies are JSON, compressed against a shared dictionary where that helps (see `codec`).
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

from steelyard.store.escaped import EscapedText

VERSION: Final = 1
"""Raised when a table changes; a store of another version is refused with both numbers."""

metadata: Final = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")
_Text = Text().with_variant(EscapedText(), "postgresql")
"""Any text, half a surrogate pair excepted where SQLite keeps it."""

about = Table(
    "about",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", _Text, nullable=False),
    sqlite_with_rowid=False,
)

evaluation = Table(
    "evaluation",
    metadata,
    Column("num", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("calls", Integer, nullable=False, server_default="0"),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
)
"""One call of `evaluate`: the runs that were started together and share a budget. `calls` and `tokens` count what
was reserved before it was sent, so that a killed process cannot have sent more."""

run = Table(
    "run",
    metadata,
    Column("num", Integer, primary_key=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("evaluation", Integer, nullable=False),
    Column("suite", _Text, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("target", _Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", _Text, nullable=False, server_default=""),
    Column("created", Float, nullable=False),
    Column("seconds", Float, nullable=False, server_default="0"),
    Column("planned", Integer, nullable=False),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("errors", Integer, nullable=False, server_default="0"),
    Column("replies", Integer, nullable=False, server_default="0"),
    Column("from_journal", Integer, nullable=False, server_default="0"),
    Column("input_tokens", BigInteger, nullable=False, server_default="0"),
    Column("output_tokens", BigInteger, nullable=False, server_default="0"),
    Column("layer", Integer, nullable=False, server_default="0"),
    Column("manifest", _Text, nullable=False),
)
"""One target over one dataset. The counters are moved in the transaction that stores the records they count."""

stage = Table(
    "stage",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("stage", Integer, primary_key=True),
    Column("calls", Integer, nullable=False),
    Column("from_journal", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("estimated", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""What each stage of a run asked, by its number; moved like the run's counters. A store that was made before there was
this table gets it when it is next written, and is read as if it were empty until then."""

stage_money = Table(
    "stage_money",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("stage", Integer, primary_key=True),
    Column("priced", Integer, nullable=False),
    Column("money", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""How many replies of a stage have a cost, and billionths of all of them; moved like `stage`, and came after it."""

spending = Table(
    "spending",
    metadata,
    Column("evaluation", Integer, primary_key=True),
    Column("currency", Text, nullable=False),
    Column("money", BigInteger, nullable=False),
    Column("millis", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""What an evaluation has spent beside the calls and tokens in its own row: billionths of its currency's unit, booked
before sending, and milliseconds of all its sittings. It came later, like `stage`."""

stopping = Table(
    "stopping",
    metadata,
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("body", _Text, nullable=False),
    Column("used", LargeBinary, nullable=True),
    sqlite_with_rowid=False,
)
"""What a stopping rule decided for a run, as JSON, and a bit for each place of the dataset that the decision rests on
(place 0 is the lowest bit of the first byte); NULL where it rests on all. It came later, like `stage`."""

layer = Table(
    "layer",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("layer", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("scorers", _Text, nullable=False),
    sqlite_with_rowid=False,
)
"""A scoring of a run: 0 came with the run, `rescore` adds the next."""

sample = Table(
    "sample",
    metadata,
    Column("num", _Id, primary_key=True),
    Column("hash", BigInteger, nullable=False, unique=True),
    Column("id", _Text, nullable=False),
    Column("grp", _Text, nullable=False),
    Column("cluster", _Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Each distinct sample once, whatever number of runs asked it."""

record = Table(
    "record",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("no", Integer, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("sample", _Id, nullable=False),
    Column("failed", SmallInteger, nullable=False),
    Column("millis", Integer, nullable=False),
    Column("replies", LargeBinary, nullable=True),
    Column("body", LargeBinary, nullable=True),
    sqlite_with_rowid=False,
)
"""`no` is the sample's place in its dataset. `replies` holds 11 bytes a reply: the stage's number, then the journal's
key. `body` is NULL where the output is the text of the last reply and nothing else."""

score = Table(
    "score",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("layer", Integer, primary_key=True),
    Column("no", Integer, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("name", Integer, primary_key=True),
    Column("outcome", SmallInteger, nullable=False),
    Column("value", Float, nullable=True),
    Column("passed", SmallInteger, nullable=True),
    Column("body", LargeBinary, nullable=True),
    sqlite_with_rowid=False,
)

word = Table(
    "word", metadata, Column("num", Integer, primary_key=True), Column("text", _Text, nullable=False, unique=True)
)
"""Names of scores and stages, so that a row holds a number."""

reply = Table(
    "reply",
    metadata,
    Column("num", _Id, primary_key=True),
    Column("key", LargeBinary(10), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("reply_key", "key", unique=True),
)
"""The journal: what came back for a key, committed before anything used it."""

dictionary = Table(
    "dictionary",
    metadata,
    Column("num", Integer, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("data", LargeBinary, nullable=False),
)
"""Compression dictionaries; each is stored in the transaction of the first body that needs it."""

note = Table(
    "note",
    metadata,
    Column("num", Integer, primary_key=True),
    Column("run", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("author", _Text, nullable=False),
    Column("text", _Text, nullable=False),
    Index("note_run", "run"),
)
"""What a person says of a run; never changed, never removed. It came later, like `stage`."""

label = Table(
    "label",
    metadata,
    Column("num", _Id, primary_key=True),
    Column("run", Integer, nullable=False),
    Column("sample", _Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("name", _Text, nullable=False),
    Column("author", _Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("value", _Text, nullable=False),
    Index("label_run", "run"),
)
"""A person's or model's verdict on a record, its value as JSON. The newest row of a run, sample, repeat, name and
author counts; older ones stay. The sample is named by its id: its place may be another's after a resume that allowed
changed inputs. It came later, like `stage`."""

seal = Table(
    "seal",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("digest", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""A check sum over the rows of a part of a run, see `seals`. It came later, like `stage`; a run that was begun without
one never gets one."""

LATER: Final = (stage, stage_money, spending, stopping, note, label, seal)
"""Tables that a store of an earlier version lacks until it is next written."""
