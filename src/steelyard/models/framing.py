"""A body -> the JSON values in it, however they were framed.

    json           one value; a JSON string that holds JSON is opened
    sse            server-sent events (WHATWG HTML, section 9.2.6), each with JSON in its data
    jsonl          one value per line
    concatenated   values one after the other, with or without blanks between
    auto           sse where the first line is a field or a comment of it, else concatenated, which covers the others

What is announced in Content-Type does not count: services send JSON as text/event-stream and the reverse. The whole
body is here at once, so a character that was split between two network chunks is whole again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.models.base import Answer, Fault
from steelyard.models.faults import quoted
from steelyard.types import Json

Framing = Literal["auto", "json", "sse", "jsonl", "concatenated"]

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_FIRST_FIELD: Final = re.compile(r"[\r\n]*(?:data|event|id|retry)?:")
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
DONE: Final = "[DONE]"
"""What the last event of many streams says; it is no JSON."""
_JSON_STARTS: Final = ("{", "[", '"')
_MOST_LAYERS: Final = 3


def values_in(answer: Answer, framing: Framing = "auto") -> tuple[Json, ...]:
    """Every JSON value in the body of `answer`, in order; none for an empty body or a stream without events.

    Raises:
        Fault: `malformed`, sent again: HTML, broken or truncated JSON, bytes that are no UTF-8.
    """
    try:
        text = answer.body.decode("utf-8-sig")
        return tuple(opened(value) for value in _READERS[framing](text))
    except (ValueError, RecursionError) as error:
        what = quoted(answer.body) or "an empty body"
        message = f"status {answer.status}, but the body is no complete {_WORDS[framing]}: {what}"
        raise Fault("malformed", message, billed=True) from error


def opened(value: Json) -> Json:
    r"""The value inside, where JSON was sent as a JSON string or an event was sent as JSON with JSON in its `data`.

    >>> opened('{"a": 1}'), opened({"data": '{"error": "x"}'}), opened("plain"), opened({"data": "plain"})
    ({'a': 1}, {'error': 'x'}, 'plain', {'data': 'plain'})
    """
    for _ in range(_MOST_LAYERS):
        inner = value["data"] if isinstance(value, Mapping) and set(value) == {"data"} else value
        if not isinstance(inner, str) or not inner.lstrip().startswith(_JSON_STARTS):
            return value
        try:
            value = json.loads(inner)
        except ValueError:
            return value
    return value


def events_of(text: str) -> Iterator[str]:
    r"""The data of each server-sent event in `text`, a last one without its blank line included.

    Lines end in CRLF, LF or CR; several data lines are joined by LF; comments and other fields are left out.

    >>> list(events_of(": ping\r\n\r\ndata: a\rdata:b\r\rid: 1\n\ndata: c"))
    ['a\nb', 'c']
    """
    lines: list[str] = []
    for line in (*_LINE_END.split(text), ""):
        if not line and lines:
            yield "\n".join(lines)
            lines = []
        name, _, value = line.partition(":")
        if name == "data":
            lines.append(value.removeprefix(" "))


def _sse(text: str) -> Iterator[Any]:
    for data in events_of(text):
        if data.strip() == DONE:
            return
        yield event_value(data)


def event_value(data: str) -> Any:
    """The JSON in an event; bare words and numbers are a text as they stand, so that "1.50" stays what it is."""
    return json.loads(data) if data.lstrip().startswith(_JSON_STARTS) else data


def _jsonl(text: str) -> Iterator[Any]:
    return (json.loads(line) for line in _LINE_END.split(text) if line.strip())


def _concatenated(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    place = _after_blanks(text, 0)
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        yield value
        place = _after_blanks(text, place)


def _after_blanks(text: str, place: int) -> int:
    match = _BLANKS.match(text, place)
    return match.end() if match else place


def is_event_stream(text: str) -> bool:
    r"""Whether the first line is a field or a comment of server-sent events.

    >>> is_event_stream(": ping\n"), is_event_stream('{"data": 1}')
    (True, False)
    """
    return _FIRST_FIELD.match(text) is not None


def _auto(text: str) -> Iterator[Any]:
    return _sse(text) if is_event_stream(text) else _concatenated(text)


def _json(text: str) -> Iterator[Any]:
    yield json.loads(text)


_READERS: Final[Mapping[Framing, Callable[[str], Iterator[Any]]]] = MappingProxyType(
    {"auto": _auto, "json": _json, "sse": _sse, "jsonl": _jsonl, "concatenated": _concatenated}
)
_WORDS: Final[Mapping[Framing, str]] = MappingProxyType(
    {
        "auto": "JSON, event stream or sequence of JSON values",
        "json": "JSON",
        "sse": "event stream of JSON",
        "jsonl": "sequence of lines of JSON",
        "concatenated": "sequence of JSON values",
    }
)
