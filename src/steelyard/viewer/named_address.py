"""Addresses that end with a name which somebody else chose, as those of samples and suites do: `/run/RUN/s/NAME`.

A browser removes `.` and `..` from a path and goes up, also where they are written `%2E`. Proxies decode `%2F`, `%5C`
and `%25` and then do the same, or refuse them. A name that holds such signs is given in the query instead, which all of
them pass on as it is: `/run/RUN/s/?id=..`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

from starlette.requests import Request

from steelyard.errors import shortened
from steelyard.escaping import visible

_NAME: Final = "id"
"""The part of a query that holds a name which the path cannot."""
_OF_PATH: Final = re.compile(
    r"(?!\.{1,2}\Z)[^/\\%;\x00-\x20\x7f-\xa0\u2028\u2029](?:[^/\\%;\x00-\x1f\x7f-\x9f\u2028\u2029]*\S)?"
)
"""Names that are safe as the last part of a path: without space at their ends, which people lose when they copy."""
_MOST_IN_PATH: Final = 500
"""Characters: servers allow shorter paths than queries."""


def named_address(address: Callable[..., str], path: str, name: str, **query: str | int | Sequence[str] | None) -> str:
    """The address of the page of a name.

    Args:
        address: makes an address of a path and a query.
        path: without the name and the slash before it.
        name: any text.
        query: further parts of the query.

    >>> named_address(lambda path, **query: f"{path} {query}", "/history", "Exam 2?")
    '/history/Exam%202%3F {}'
    >>> named_address(lambda path, **query: f"{path} {query}", "/history", "..")
    "/history/ {'id': '..'}"
    """
    if len(name) <= _MOST_IN_PATH and _OF_PATH.fullmatch(name):
        return address(f"{path}/{quote(name, safe='')}", **query)
    return address(f"{path}/", **{_NAME: name}, **query)


def sample_address(
    address: Callable[..., str], run: str, sample: str, **query: str | int | Sequence[str] | None
) -> str:
    """The address of a sample's page: every link to one is made here.

    Args:
        address: makes an address of a path and a query.
        run: id of the run.
        sample: id of the sample.
        query: the list that the sample is opened from, and its place there.
    """
    return named_address(address, f"/run/{run}/s", sample, **query)


def given_name(request: Request, part: str) -> str:
    """The name that an address ends with, in its path or in its query.

    Args:
        request: whose address it is.
        part: the route's name of the last part of its path.
    """
    return request.path_params[part] or request.query_params.get(_NAME, "")


def short_name(name: str, most: int = 80) -> str:
    r"""A name as the text of a link: on one line, cut at its end, and in quotation marks where nothing could be seen.

    >>> short_name("a\nb"), short_name("  "), short_name("abcdef", 4)
    ('a\\x0ab', '“  ”', 'abc…')
    """
    text = visible(name, keep="")
    if not text.strip():
        return f"“{text}”"
    return shortened(text, most)
