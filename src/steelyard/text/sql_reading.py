"""What reading SQL from a reply gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Form = Literal["create_select", "sql_json", "block", "statement"]
Wanted = Literal["auto", "create_select", "sql_json", "block"]


@dataclass(frozen=True, slots=True)
class SqlReading:
    """What was read.

    Args:
        status: `read`; `incorrect`: there is no SQL of the form, or several; `empty`: there is no text.
        create: the statement that makes the tables; "" where the form has none.
        query: the statement that is to be run; "" unless `read`.
        form: the form it came in; "" unless `read`.
        message: why it was not read, one line; of JSON the validator's own words.
        span: where in the reply it stands, start and end; None where nothing does.
        broken_off: whether the reply ends inside it (a block that is not closed, a statement without `;`), so that it
            cannot be told whether there was more.
    """

    status: Literal["read", "incorrect", "empty"]
    create: str = ""
    query: str = ""
    form: Form | Literal[""] = ""
    message: str = ""
    span: tuple[int, int] | None = None
    broken_off: bool = False


class SqlCandidate(NamedTuple):
    """SQL found in a reply."""

    create: str
    query: str
    form: Form
    span: tuple[int, int]
    broken_off: bool = False


class Problem(NamedTuple):
    """What was meant to hold SQL, and why it does not; `parsed` where it is a JSON value from end to end."""

    message: str
    span: tuple[int, int]
    parsed: bool = False
