"""What people send to the viewer: numbers and names in addresses, forms with their texts, and who sent them."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from steelyard.escaping import visible

Form = ImmutableMultiDict[str, str]
"""The fields of a form: of a field that was sent twice the last, or all by `getlist`."""

_MOST_FIELDS: Final = 200
_AUTHOR: Final = "steelyard_author"
"""The cookie with the name that was typed last: it says who writes, and proves nothing."""
_YEAR_S: Final = 31_536_000
_DIGITS: Final = 18
"""Python refuses to read a number of more than 4,300 digits, and a database one of more than 18."""
_NO_NUMBER: Final = -1
"""Counts of rows begin with 1, so this is not a row's."""


class AnyText(Convertor[str]):
    """The rest of a path whatever it holds: Starlette's own ends at a line end, which ids of samples may have."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """The text as it is."""
        return value

    def to_string(self, value: str) -> str:
        """The text as it is."""
        return value


class PathNumber(Convertor[int]):
    """A part of an address that is a row's number, as in `/i/{item:number}`; a longer one is not a page."""

    regex = f"[0-9]{{1,{_DIGITS}}}"

    def convert(self, value: str) -> int:
        """The number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """The number as an address has it."""
        return str(value)


register_url_convertor("any", AnyText())
register_url_convertor("number", PathNumber())


def number_of(text: str) -> int:
    """The number that a form has sent; -1, which no row has, where it is none or too long.

    >>> number_of("12"), number_of("9" * 5000), number_of("x")
    (12, -1, -1)
    """
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else _NO_NUMBER


async def form_of(request: Request) -> Form:
    """The form that was sent.

    Raises:
        HTTPException: 400, what was sent is not a form.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(400, "a form is expected")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return ImmutableMultiDict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise HTTPException(400, f"a form has at most {_MOST_FIELDS} fields") from error


def typed_text(sent: str, stored: str = "") -> str:
    r"""What a person typed into a field that showed a stored text; the stored text where they did not change it.

    Browsers send each line end as two characters. A page shows hidden characters as escapes, which must not replace
    them unseen.

    >>> typed_text("a\\u200bb\r\n", "a\u200bb") == "a\u200bb", typed_text("c\r\nd", "a")
    (True, 'c\nd')
    """
    clean = sent.replace("\r\n", "\n").strip()
    return stored if clean == visible(stored).strip() else clean


def author_of(request: Request) -> str:
    """The name that was typed with the last note or label; "" where none was."""
    return unquote(request.cookies.get(_AUTHOR, ""))[:200]


def remember_author(answer: Response, request: Request, author: str, *, path: str) -> None:
    """Let the browser keep a name for the next time."""
    answer.set_cookie(
        _AUTHOR,
        quote(author),
        max_age=_YEAR_S,
        path=path,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
