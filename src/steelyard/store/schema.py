"""The tables of a store, as the newest version creates them; `migrations` says how they came about.

Numbers that summaries need are columns apart from the bodies, so that a list of runs or a table of rates unpacks no
body. Bodies are JSON, compressed against a shared dictionary where that helps (see `codec`).
"""

from __future__ import annotations

import re
from typing import Any, Final

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
from sqlalchemy.types import TypeDecorator

_MARK: Final = "\x1a"
_ODD: Final = re.compile("[\0\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a(\x1a|0|D[89A-F][0-9A-F]{2})")


def escape(text: str) -> str:
    r"""`text` without anything that PostgreSQL refuses.

    >>> escape("a\0b\udc80")
    'a\x1a0b\x1aDC80'
    """
    return _ODD.sub(_escaped, text)


def unescape(text: str) -> str:
    r"""The text that `escape` was given.

    >>> unescape(escape("a\0b\x1a0\udc80")) == "a\0b\x1a0\udc80"
    True
    """
    return _ESCAPED.sub(_unescaped, text) if _MARK in text else text


def _escaped(match: re.Match[str]) -> str:
    mark = match[0]
    return _MARK + ("0" if mark == "\0" else mark if mark == _MARK else f"{ord(mark):04X}")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return "\0" if code == "0" else code if code == _MARK else chr(int(code, 16))


class EscapedText(TypeDecorator[str]):
    """A text column of PostgreSQL that takes any Python text, compared and sorted by code points as SQLite does.

    PostgreSQL knows neither the character of code 0 nor half a surrogate pair, but an id or a group may hold what a
    spreadsheet or a program put there. These characters are escaped, all others are stored as they are, so that a
    person who looks into the database reads them:

        code 0                  SUB 0
        half a surrogate pair   SUB and its four hexadecimal digits in capitals
        SUB (U+001A) itself     SUB SUB
    """

    impl = Text
    cache_ok = True

    def __init__(self) -> None:
        super().__init__(collation="C")

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002  # the base's
        """Escape on the way in."""
        return None if value is None else escape(value)

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:  # noqa: ARG002  # the base's
        """And back on the way out."""
        return None if value is None else unescape(value)


metadata: Final = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")
_Text = Text().with_variant(EscapedText(), "postgresql")
"""Any text; SQLite alone refuses half a surrogate pair."""

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
"""The usage of each stage of a run, by the stage's number; updated like the run's counters. It came after the first
tables (see `migrations`): a store that lacks it is read as if it were empty."""

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

label_form = Table(
    "label_form",
    metadata,
    Column("label", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("low", Float, nullable=True),
    Column("high", Float, nullable=True),
    Index("label_form_run", "run"),
)
"""The kind of a label, by its number, and the ends of its scale. A table of its own, not columns of `label`: an older
store, which lacks it, is read and salvaged as if it were empty, and older versions go on writing labels."""

checksum = Table(
    "seal",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("digest", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""A checksum over the rows of a part of a run, see `checksums`. It came later, like `stage`."""

framework_usage = Table(
    "framework_usage",
    metadata,
    Column("run", Integer, primary_key=True),
    Column("records", Integer, nullable=False),
    Column("in_part", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Tokens that outputs of a run report of models which did not go through the journal: in how many records, and in how
many of these only for some of the calls. It came later, like `stage`."""

RUN_TABLES: Final = tuple(table for table in metadata.sorted_tables if "run" in table.c)
"""Tables whose rows belong to a run each, by its number."""
