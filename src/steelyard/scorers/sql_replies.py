"""The SQL of a target's reply, read once in the same way by every scorer of a record.

`format` reads it; `result`, `relevance`, `tables` and the judges of the suite `text2sql` use what it read. A reply
whose format is incorrect has no SQL for any of them, and is shown to no judge.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from steelyard.errors import ConfigError
from steelyard.replies.sql import KEYS, SqlReading, Wanted, read_sql
from steelyard.types import STOPPED, Output


@dataclass(frozen=True, slots=True)
class SqlReply:
    """What was read of a reply.

    Args:
        reading: the SQL, or why there is none.
        problem: why the format is incorrect; "" where it is correct.
        refused: whether the model or a content filter refused, so that there is no reply.
    """

    reading: SqlReading
    problem: str
    refused: bool

    @property
    def sql(self) -> str:
        """The statements that were read, its CREATE first; "" where the format is incorrect."""
        if self.problem:
            return ""
        create = self.reading.create.rstrip("; ")
        return f"{create};\n{self.reading.query}" if create else self.reading.query


def sql_reply(output: Output, form: Wanted = "auto", key: str = "") -> SqlReply:
    """Read the SQL of an output; an object that a target returns is read as its JSON.

    Args:
        output: of the target.
        form: see `read_sql`.
        key: see `read_sql`.

    >>> sql_reply(Output({"query": "SELECT 1"})).sql, sql_reply(Output("none")).refused
    ('SELECT 1', False)
    """
    value = output.value
    if not isinstance(value, str):
        value = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    reading, finish = read_sql(value, form=form, key=key), str(output.metadata.get("finish", ""))
    if reading.status != "read":
        truncation = "the reply was cut off; " if finish == "length" else ""
        return SqlReply(reading, f"{truncation}{reading.message}", finish in STOPPED)
    cut_off = finish == "length" and reading.broken_off
    return SqlReply(reading, "the reply was cut off inside its SQL" if cut_off else "", refused=False)


def mock_sql(form: Wanted, key: str) -> str:
    """A reply of the wanted form, which stands for a target's in a dry run.

    >>> mock_sql("sql_json", ""), mock_sql("auto", "query")
    ('{"sql": "SELECT 1"}', '{"query": "SELECT 1"}')
    """
    keys = (key,) if key else KEYS.get(form.removesuffix("_strict"), ())
    if keys:
        return json.dumps(dict.fromkeys(keys, "SELECT 1"))
    return "```sql\nSELECT 1\n```" if form == "block" else "SELECT 1"


def check_form(form: str, key: str) -> None:
    """Check the options of `sql_reply`.

    Raises:
        ConfigError: a key beside a form that has keys of its own.
    """
    if not isinstance(key, str):
        raise ConfigError(f"key: expected the name of a key, not {key!r}")
    if key and form != "auto":
        raise ConfigError(f"key: {key!r} names the key of a JSON object; leave out form: {form}")
