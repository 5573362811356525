"""The tables of a store, all of which are created with it, and the number of their version.

Numbers that summaries need are columns apart from the bodies, so that a list of runs or a table of rates unpacks no
body. Bodies are JSON, compressed against a shared dictionary where that helps (see `codec`).

A table is described once, for both databases; what they write differently is in `_TYPES`. Statements that insert rows
are made from the same description, once each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

Dialect = Literal["sqlite", "postgresql"]
Kind = Literal["number", "big number", "big", "integer", "bigint", "smallint", "float", "text", "name", "word", "bytes"]
"""`number` and `big number` are keys that the database numbers rows by; `big` refers to a `big number`. `name` holds up
to 32 characters and `word` up to 16, of ours; `text` anything."""

_TYPES: Final[dict[Dialect, dict[Kind, str]]] = {
    "sqlite": {
        "number": "INTEGER",  # an INTEGER PRIMARY KEY is the number of the row itself
        "big number": "INTEGER",
        "big": "INTEGER",
        "text": "TEXT",
        "bytes": "BLOB",
    },
    "postgresql": {
        "number": "SERIAL",
        "big number": "BIGSERIAL",
        "big": "BIGINT",
        "text": 'TEXT COLLATE "C"',  # compared and sorted by code points, as SQLite does
        "bytes": "BYTEA",
    },
}
_SAME: Final[dict[Kind, str]] = {
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "smallint": "SMALLINT",
    "float": "FLOAT",
    "name": "VARCHAR(32)",
    "word": "VARCHAR(16)",
}


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a table.

    Args:
        name: in small letters.
        kind: of its values.
        key: whether it is a part of the primary key.
        nullable: whether it may be NULL.
        unique: whether no two rows have the same value.
        default: value of rows that are inserted without one.
    """

    name: str
    kind: Kind
    key: bool = False
    nullable: bool = False
    unique: bool = False
    default: str | None = None

    def definition(self, dialect: Dialect) -> str:
        """As CREATE TABLE has it."""
        default = "" if self.default is None else f" DEFAULT '{self.default}'"
        null = "" if self.nullable else " NOT NULL"
        return f"{_quoted(self.name)} {(_TYPES[dialect] | _SAME)[self.kind]}{default}{null}"


def _quoted(name: str) -> str:
    return f'"{name}"' if name == "key" else name  # a word of SQL


@dataclass(frozen=True, slots=True)
class Index:
    """An index on columns of a table."""

    name: str
    columns: tuple[str, ...]
    unique: bool = False


class StoredTable:
    """A table of the store.

    Args:
        name: in the database.
        columns: in order.
        index: in addition to that of the key.
        without_rowid: SQLite keeps the rows in the order of the key.
    """

    __slots__ = ("columns", "index", "name", "without_rowid")

    def __init__(
        self, name: str, *columns: StoredColumn, index: Index | None = None, without_rowid: bool = False
    ) -> None:
        self.name = name
        self.columns = columns
        self.index = index
        self.without_rowid = without_rowid

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.name for column in self.columns)

    def definition(self, dialect: Dialect) -> list[str]:
        """The statements that create it."""
        keys = ", ".join(column.name for column in self.columns if column.key)
        unique = [f"UNIQUE ({column.name})" for column in self.columns if column.unique]
        parts = [*(column.definition(dialect) for column in self.columns), f"PRIMARY KEY ({keys})", *unique]
        # SQLite stores this text, and a store with another one is refused: it is part of the version of the tables.
        listed = ", \n\t".join(parts)
        rowid = "\n WITHOUT ROWID\n\n" if self.without_rowid and dialect == "sqlite" else ""
        statements = [f"CREATE TABLE {self.name} (\n\t{listed}\n){rowid}"]
        if self.index is not None:
            kind = "UNIQUE INDEX" if self.index.unique else "INDEX"
            columns = ", ".join(map(_quoted, self.index.columns))
            statements.append(f"CREATE {kind} {self.index.name} ON {self.name} ({columns})")
        return statements


about = StoredTable(
    "about",
    StoredColumn("name", "name", key=True),
    StoredColumn("value", "text"),
    without_rowid=True,
)

evaluation = StoredTable(
    "evaluation",
    StoredColumn("num", "number", key=True),
    StoredColumn("created", "float"),
    StoredColumn("calls", "integer", default="0"),
    StoredColumn("tokens", "bigint", default="0"),
    StoredColumn("currency", "text", default=""),
    StoredColumn("money", "bigint", default="0"),
    StoredColumn("millis", "bigint", default="0"),
)
"""One call of `evaluate`: the runs that were started together and share a budget. `calls`, `tokens` and `money`
(billionths of its currency's unit) count what was reserved before it was sent, so that a killed process cannot have
sent more; `millis` are those of all its executions."""

run = StoredTable(
    "run",
    StoredColumn("num", "number", key=True),
    StoredColumn("id", "name", unique=True),
    StoredColumn("evaluation", "integer"),
    StoredColumn("suite", "text"),
    StoredColumn("kind", "text"),
    StoredColumn("target", "text"),
    StoredColumn("state", "word"),
    StoredColumn("reason", "text", default=""),
    StoredColumn("created", "float"),
    StoredColumn("seconds", "float", default="0"),
    StoredColumn("planned", "integer"),
    StoredColumn("done", "integer", default="0"),
    StoredColumn("errors", "integer", default="0"),
    StoredColumn("replies", "integer", default="0"),
    StoredColumn("from_journal", "integer", default="0"),
    StoredColumn("input_tokens", "bigint", default="0"),
    StoredColumn("output_tokens", "bigint", default="0"),
    StoredColumn("reporting", "integer", default="0"),
    StoredColumn("reporting_in_part", "integer", default="0"),
    StoredColumn("reported_input_tokens", "bigint", default="0"),
    StoredColumn("reported_output_tokens", "bigint", default="0"),
    StoredColumn("scoring_version", "integer", default="0"),
    StoredColumn("manifest", "text"),
)
"""One target over one dataset. The counters are moved in the transaction that stores the records they count.

`reporting` records have an output that reports tokens of models which did not go through the journal, and
`reporting_in_part` of these only for some of the calls."""

stage = StoredTable(
    "stage",
    StoredColumn("run", "integer", key=True),
    StoredColumn("stage", "integer", key=True),
    StoredColumn("calls", "integer"),
    StoredColumn("from_journal", "integer"),
    StoredColumn("input_tokens", "bigint"),
    StoredColumn("output_tokens", "bigint"),
    StoredColumn("estimated", "integer"),
    StoredColumn("priced", "integer"),
    StoredColumn("money", "bigint"),
    StoredColumn("cached_tokens", "bigint"),
    StoredColumn("read_again", "integer"),
    StoredColumn("cache_written", "bigint"),
    StoredColumn("reasoning_tokens", "bigint"),
    StoredColumn("saved", "bigint"),
    without_rowid=True,
)
"""The usage of each stage of a run, by the stage's number; updated like the run's counters. `priced` replies have a
cost, and `money` is billionths of all of them; `cached_tokens` are those of the input that endpoints had in their
caches, `cache_written` those that they wrote to them, and `saved` the billionths that this saved (less than 0 where
writing cost more); `read_again` replies were read from kept bodies under another response mapping than at first."""

stopping = StoredTable(
    "stopping",
    StoredColumn("run", "integer", key=True),
    StoredColumn("body", "text"),
    StoredColumn("used", "bytes", nullable=True),
    without_rowid=True,
)
"""What a stopping rule decided for a run, as JSON, and a bit for each place of the dataset that the decision rests on
(place 0 is the lowest bit of the first byte); NULL where it rests on all."""

scoring_version = StoredTable(
    "scoring_version",
    StoredColumn("run", "integer", key=True),
    StoredColumn("scoring_version", "integer", key=True),
    StoredColumn("created", "float"),
    StoredColumn("scorers", "text"),
    without_rowid=True,
)
"""A scoring of a run: 0 came with the run, `rescore` adds the next."""

sample = StoredTable(
    "sample",
    StoredColumn("num", "big number", key=True),
    StoredColumn("hash", "bigint", unique=True),
    StoredColumn("id", "text"),
    StoredColumn("group_name", "text"),
    StoredColumn("cluster", "text"),
    StoredColumn("body", "bytes"),
)
"""Each distinct sample once, whatever number of runs asked it."""

MOST_STAGES: Final = 127
"""Scorers of a suite at most: with the target, their numbers fit into seven bits of a record's list of replies."""

record = StoredTable(
    "record",
    StoredColumn("run", "integer", key=True),
    StoredColumn("no", "integer", key=True),
    StoredColumn("repeat", "integer", key=True),
    StoredColumn("sample", "big"),
    StoredColumn("failed", "smallint"),
    StoredColumn("failure", "text", nullable=True),
    StoredColumn("millis", "integer"),
    StoredColumn("replies", "bytes", nullable=True),
    StoredColumn("body", "bytes", nullable=True),
    without_rowid=True,
)
"""`no` is the sample's place in its dataset, `failure` the kind of its failure. `replies` holds 11 bytes a reply: the
stage's number, then the journal's key. `body` is NULL where the output is the text of the last reply and nothing
else."""

score = StoredTable(
    "score",
    StoredColumn("run", "integer", key=True),
    StoredColumn("scoring_version", "integer", key=True),
    StoredColumn("no", "integer", key=True),
    StoredColumn("repeat", "integer", key=True),
    StoredColumn("name", "integer", key=True),
    StoredColumn("outcome", "smallint"),
    StoredColumn("value", "float", nullable=True),
    StoredColumn("passed", "smallint", nullable=True),
    StoredColumn("body", "bytes", nullable=True),
    without_rowid=True,
)

word = StoredTable("word", StoredColumn("num", "number", key=True), StoredColumn("text", "text", unique=True))
"""Names of scores and stages, so that a row holds a number."""

reply = StoredTable(
    "reply",
    StoredColumn("num", "big number", key=True),
    StoredColumn("key", "bytes"),
    StoredColumn("body", "bytes"),
    index=Index("reply_key", ("key",), unique=True),
)
"""The journal: what came back for a key, committed before anything used it."""

dictionary = StoredTable(
    "dictionary",
    StoredColumn("num", "number", key=True),
    StoredColumn("kind", "word"),
    StoredColumn("data", "bytes"),
)
"""Compression dictionaries; each is stored in the transaction of the first body that needs it."""

event = StoredTable(
    "event",
    StoredColumn("num", "big number", key=True),
    StoredColumn("topic", "word"),
    StoredColumn("subject", "text"),
    StoredColumn("run", "integer", nullable=True),
    StoredColumn("sample", "text", default=""),
    StoredColumn("repeat", "integer", default="0"),
    StoredColumn("kind", "text"),
    StoredColumn("name", "text", default=""),
    StoredColumn("author", "text"),
    StoredColumn("created", "float"),
    StoredColumn("seen", "big", default="0"),
    StoredColumn("body", "text"),
    index=Index("event_subject", ("topic", "subject", "sample")),
)
"""What people do, and models where they give opinions: who, when, what, on which record, and the last event of it that
they saw. Rows are added and never changed; they go with their run. `topic` is `label`, `note`, `mark`, `queue`,
`analysis` or `draft`, and `subject` the id of the run, queue, error analysis or draft. A sample is named by its id: its
place may be another's after a resume that allowed changed inputs. `body` is JSON; that of a label its value, and its
`kind` holds the ends of its scale."""

drawn = StoredTable(
    "drawn",
    StoredColumn("num", "big number", key=True),
    StoredColumn("event", "big"),
    StoredColumn("run", "integer"),
    StoredColumn("no", "integer"),
    StoredColumn("sample", "text"),
    StoredColumn("repeat", "integer"),
    StoredColumn("needed", "smallint"),
    StoredColumn("weight", "float"),
    StoredColumn("stratum", "text"),
    index=Index("drawn_event", ("event",)),
)
"""The records of a queue or an error analysis, by the event that drew them: by how many people each is to be labelled,
how many records it stands for, and of which stratum it is."""

checksum = StoredTable(
    "checksum",
    StoredColumn("run", "integer", key=True),
    StoredColumn("part", "integer", key=True),
    StoredColumn("digest", "bigint"),
    without_rowid=True,
)
"""A checksum over the rows of a part of a run, see `checksums`."""

running_score = StoredTable(
    "running_score",
    StoredColumn("run", "integer", key=True),
    StoredColumn("name", "integer", key=True),
    StoredColumn("scored", "integer"),
    StoredColumn("not_applicable", "integer"),
    StoredColumn("unparsed", "integer"),
    StoredColumn("refused", "integer"),
    StoredColumn("off_unit", "integer"),
    StoredColumn("total", "float"),
    without_rowid=True,
)
"""What a page shows of a run while it runs, without reading its scores: counts of each score of version 0, its values
that are not in [0, 1], and their sum. Moved with the run's counters."""

retry = StoredTable(
    "retry",
    StoredColumn("evaluation", "integer", key=True),
    StoredColumn("model", "text", key=True),
    StoredColumn("fault", "word", key=True),
    StoredColumn("n", "integer"),
    without_rowid=True,
)
"""How many attempts of calls failed and were sent again, by model and kind of fault."""

reservation = StoredTable(
    "reservation",
    StoredColumn("item", "bigint", key=True),
    StoredColumn("rater", "text", key=True),
    StoredColumn("run", "integer"),
    StoredColumn("until", "float"),
    StoredColumn("skipped", "smallint"),
    without_rowid=True,
)
"""Which rater has a record of a queue on the screen, until when by the database's clock, and whether it was passed
over. It is no event: it lapses."""

computed = StoredTable(
    "computed",
    StoredColumn("run", "integer", key=True),
    StoredColumn("about", "name", key=True),
    StoredColumn("body", "bytes"),
    without_rowid=True,
)
"""What was computed of a run, and of which state of its rows: may be deleted at any time, see the module of this
name."""

lease = StoredTable(
    "lease",
    StoredColumn("run", "integer", key=True),
    StoredColumn("lo", "integer", key=True),
    StoredColumn("hi", "integer"),
    StoredColumn("plan", "name"),
    StoredColumn("owner", "name", default=""),
    StoredColumn("generation", "integer", default="0"),
    StoredColumn("until", "float", default="0"),
    StoredColumn("reason", "text", default=""),
)
"""A range of samples that is not done: from `lo` to before `hi`. `plan` identifies the execution of the run (a start or
a resume) that cut the ranges; `until` is in seconds since 1970 by the database's clock. A finished range has no row.
A run that was stopped has one row in place of its ranges, with the kind of error as `owner` and the `reason`."""

planned_sample = StoredTable(
    "planned_sample",
    StoredColumn("evaluation", "integer", key=True),
    StoredColumn("no", "integer", key=True),
    StoredColumn("sample", "big"),
)
"""The dataset of an evaluation with workers: the sample at each place. The rows exist while it runs."""

worker = StoredTable(
    "worker",
    StoredColumn("evaluation", "integer", key=True),
    StoredColumn("slot", "integer", key=True),
    StoredColumn("owner", "name"),
    StoredColumn("place", "text"),
    StoredColumn("started", "float"),
    StoredColumn("seen", "float"),
    StoredColumn("part", "integer"),
    StoredColumn("records", "integer", default="0"),
    StoredColumn("taken_over", "integer", default="0"),
    StoredColumn("starts", "integer", default="1"),
)
"""The worker processes of an evaluation, one row for each slot: when it was last seen, what it may have in flight, the
records it has stored, the leases it has taken over from another, and how often a process was started for the slot."""

claim = StoredTable(
    "claim",
    StoredColumn("key", "bytes", key=True),
    StoredColumn("evaluation", "integer"),
    StoredColumn("owner", "name"),
    StoredColumn("until", "float"),
)
"""A call that is sent once for all samples, by the journal's key of its reply, and which worker sends it."""

endpoint = StoredTable(
    "endpoint",
    StoredColumn("evaluation", "integer", key=True),
    StoredColumn("endpoint", "bytes", key=True),
    StoredColumn("closed_until", "float", default="0"),
    StoredColumn("put_off_sent", "float", default="0"),
    StoredColumn("by_requests", "float", default="0"),
    StoredColumn("by_tokens", "float", default="0"),
    StoredColumn("tokens", "text", default="[]"),
)
"""An endpoint as all workers of an evaluation keep its limits, in seconds since 1970: until when nothing may be sent to
it, when the last call was sent that it put off, and the earliest moment of the next call by requests and by tokens.
`tokens` are those of the calls of each half second of the last minute, as JSON; only where tokens are limited. Whoever
plans calls holds the row."""

TABLES: Final = (
    about, evaluation, run, stage, stopping, scoring_version, sample, record, score, word, reply, dictionary, event,
    drawn, reservation, checksum, running_score, retry, computed,
)  # fmt: skip
"""In the order in which they are created."""
WORKER_TABLES: Final = (lease, planned_sample, worker, claim, endpoint)
"""What runs with several workers need beside them, on PostgreSQL alone: leases need `SKIP LOCKED`."""
RUN_TABLES: Final = tuple(table for table in TABLES if "run" in table.names)
"""Tables whose rows belong to a run each, by its number."""


def tables_of(dialect: Dialect) -> tuple[StoredTable, ...]:
    """The tables of a store in a database of this kind."""
    return (*TABLES, *WORKER_TABLES) if dialect == "postgresql" else TABLES


@cache
def insert_into(table: StoredTable, columns: tuple[str, ...] = ()) -> str:
    """The statement that inserts rows; without `columns` it sets all of the table's."""
    names = columns or table.names
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values})"


def insert_or_skip(table: StoredTable, columns: tuple[str, ...] = ()) -> str:
    """The statement that inserts rows, skipping those whose key exists."""
    return f"{insert_into(table, columns)} ON CONFLICT DO NOTHING"


@cache
def insert_or_update(table: StoredTable, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The statement that inserts rows and, where a key exists, sets `columns` to the new values."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return f"{insert_into(table, (*keys, *columns))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


@cache
def insert_or_add(table: StoredTable, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The statement that inserts rows and, where a key exists, adds the new values to `columns`."""
    changes = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in columns)
    return f"{insert_into(table, (*keys, *columns))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


SEARCH_WORDS: Final = "search_words"
"""A table that the end of the first large run makes in a PostgreSQL store, see `reading.search`; no store needs it."""
