"""Streamed bodies: server-sent events and JSON lines, and assembling a streamed chat completion.

    json           one value; JSON inside a JSON string is parsed
    sse            server-sent events (WHATWG HTML, section 9.2.6), each with JSON in its data
    jsonl          one value per line
    concatenated   values one after the other, with or without blanks between
    auto           sse where the first line is an event's field or comment, else concatenated, which covers the others

Content-Type is ignored: services send JSON as text/event-stream and the reverse. The stream is read to its end before
it is parsed: the journal keeps whole replies only, and a character that was split between two network chunks is whole
again. Streaming does not change what is asked, so `stream` is not part of the request's digest: a run that switches to
streaming pays for no call again.

Source: OpenAI API reference, "Streaming".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.models.base import Answer, Fault, Request, Watch, Wire
from steelyard.models.faults import error_of, fault_of_error, is_error, quoted
from steelyard.models.mismatches import complete_values, is_page, keys_named, mismatch, without_mapped_form
from steelyard.models.refusals import kind_of, refusal_kind
from steelyard.plain_json import mapping_or_empty, parsed_or, text_or_json
from steelyard.prompts.conversation import content_text
from steelyard.types import Json

Framing = Literal["auto", "json", "sse", "jsonl", "concatenated"]
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_FIRST_FIELD: Final = re.compile(r"[\r\n]*(?:data|event|id|retry|error)?:")
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_ERROR: Final = "error"
"""The name of an event that reports an error, and the key of one in JSON."""
DONE: Final = "[DONE]"
"""The data of the last event in many streams; it is not JSON."""
_JSON_STARTS: Final = ("{", "[", '"')
_MOST_LAYERS: Final = 3
"""The most layers of JSON inside JSON strings that are parsed; a deeper one stays a text."""
_WORDS: Final[Mapping[Framing, str]] = MappingProxyType(
    {
        "auto": "JSON, event stream or sequence of JSON values",
        "json": "JSON",
        "sse": "event stream of JSON",
        "jsonl": "sequence of lines of JSON",
        "concatenated": "sequence of JSON values",
    }
)
# Each replaces the closing brace of a payload, an object with at least `model` and `messages`. The request for the
# journal keeps its payload: its digest, and so the journal's key, is that of the call without a stream.
_ASKED: Final = b',"stream":true}'
_ASKED_WITH_USAGE: Final = b',"stream":true,"stream_options":{"include_usage":true}}'
_SPOKEN: Final = ("content", "reasoning_content", "reasoning", "refusal")
_TAIL: Final = 200


def values_in(answer: Answer, framing: Framing = "auto") -> tuple[Json, ...]:
    """Every JSON value in the body of `answer`, in order; none for an empty body or a stream without events.

    Raises:
        Fault: `malformed`, sent again: HTML, broken or truncated JSON, bytes that are not UTF-8.
    """
    try:
        text = answer.body.decode("utf-8-sig")
        values = tuple(opened(value) for value in _READERS[framing](text))
        if values or framing != "sse" or not text.strip() or is_event_stream(text):
            return values
        error: Exception | None = None
    except (ValueError, RecursionError) as cause:
        error = cause
    if place := broken_event(answer.body):
        raise Fault("malformed", f"status {answer.status}, but {place}", billed=True) from error
    content = quoted(answer.body) or "an empty body"
    form = "is an HTML page, not" if is_page(answer) else "is not a complete"
    advice = "" if framing == "auto" or is_page(answer) else " (response.framing: auto detects the form)"
    message = f"status {answer.status}, but the body {form} {_WORDS[framing]}{advice}: {content}"
    raise without_mapped_form(Fault("malformed", message, billed=True), answer) from error


def opened(value: Json) -> Json:
    r"""Parse JSON that was sent inside a JSON string, or in the `data` of an event that was sent as JSON.

    >>> opened('{"a": 1}'), opened({"data": '{"error": "x"}'}), opened("plain"), opened({"data": "plain"})
    ({'a': 1}, {'error': 'x'}, 'plain', {'data': 'plain'})
    """
    for _ in range(_MOST_LAYERS):
        inner = value["data"] if isinstance(value, Mapping) and set(value) == {"data"} else value
        if not isinstance(inner, str) or not inner.lstrip().startswith(_JSON_STARTS):
            return value
        if (parsed := parsed_or(inner)) is None:
            return value
        value = parsed
    return value


def events_of(text: str) -> Iterator[tuple[str, str]]:
    r"""Name and data of each server-sent event in `text`, including a last one without its blank line.

    Lines end in CRLF, LF or CR; several data lines are joined by LF; comments and other fields are left out.

    >>> list(events_of(": ping\r\n\r\ndata: a\rdata:b\r\rid: 1\n\ndata: c"))
    [('', 'a\nb'), ('', 'c')]
    """
    event = ""
    lines: list[str] = []
    for line in (*_LINE_END.split(text), ""):
        if not line:
            if lines:
                yield event, "\n".join(lines)
            event, lines = "", []
        name, _, value = line.partition(":")
        if name == "data":
            lines.append(value.removeprefix(" "))
        elif name == "event":
            event = value.strip()
        elif name == _ERROR and value.strip():  # llama.cpp's own field, with the error as its value
            yield _ERROR, value.strip()


def broken_event(body: bytes) -> str:
    r"""The first event of a stream whose data is broken JSON, and its place; "" where there is none, or no stream.

    >>> broken_event(b'data: {"a": 1}\n\ndata: {"b\n\n')
    'event 2 of the stream, at byte 22, is broken: {"b'
    """
    text = body.decode("utf-8-sig", "replace")
    position = 0
    for number, (event, data) in enumerate(events_of(text) if is_event_stream(text) else (), 1):
        position = text.find(data.partition("\n")[0], position)
        try:
            if event != _ERROR and data.strip() != DONE:
                event_value(data)
        except (ValueError, RecursionError):
            at = len(text[:position].encode("utf-8", "surrogatepass"))
            return f"event {number} of the stream, at byte {at:,}, is broken: {quoted(data)}"
        position += len(data)
    return ""


def _sse(text: str) -> Iterator[Any]:
    for event, data in events_of(text):
        if event == _ERROR:
            yield _error_value(data)
            continue
        if data.strip() == DONE:
            return
        yield event_value(data)


def event_value(data: str) -> Any:
    """The JSON in an event; bare words and numbers stay texts, so that "1.50" is not changed."""
    return json.loads(data) if data.lstrip().startswith(_JSON_STARTS) else data


def _error_value(data: str) -> Mapping[str, Any]:
    """The value of an event named `error`, under the key `error`; its data may have any form, or be plain text."""
    try:
        value = event_value(data)
    except (ValueError, RecursionError):
        value = data
    if not isinstance(value, Mapping):
        return {_ERROR: value or _ERROR}
    return value if value.get(_ERROR) else {**value, _ERROR: value or _ERROR}


def _concatenated(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    position = _after_blanks(text, 0)
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        position = _after_blanks(text, position)


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def is_event_stream(text: str) -> bool:
    r"""Whether the first line is a field or a comment of server-sent events.

    >>> is_event_stream(": ping\n"), is_event_stream('{"data": 1}')
    (True, False)
    """
    return _FIRST_FIELD.match(text) is not None


async def send_streamed(request: Request, wire: Wire, *, idle_s: float) -> Answer:
    """Request a stream with token counts, or without them where the endpoint does not take `stream_options`.

    Args:
        request: its payload is a JSON object without keys about streaming.
        wire: remembers whether the endpoint takes `stream_options`.
        idle_s: limit between two chunks of the body, in seconds; 0 is none.
    """
    feature = f"{request.url} stream_options"
    watched = replace(request, watch=lambda: first_of(_has_token), idle_s=idle_s)
    takes_options = wire.learned.get(feature)
    if takes_options is not False:
        answer = await wire.exchange(replace(watched, payload=request.payload[:-1] + _ASKED_WITH_USAGE))
        if answer.status < 300:
            wire.learned[feature] = True
        if answer.status not in {400, 422} or (takes_options and b"stream_options" not in answer.body):
            return answer
        error = error_of(answer)
        if kind_of(error.codes) or refusal_kind(error.text):
            return answer  # about the key or the model: without `stream_options` it would be refused as well
    answer = await wire.exchange(replace(watched, payload=request.payload[:-1] + _ASKED))
    if answer.status < 300:
        wire.learned[feature] = False
    return answer


def first_of(has_token: Callable[[Any], bool]) -> Watch:
    """Make a `Watch` for the first value with a token in a stream of JSON, in events or in lines.

    Args:
        has_token: whether a value has a token.
    """
    unfinished = bytearray()

    def watch(chunk: bytes) -> bool:
        start = max(0, len(unfinished) - 1)
        unfinished.extend(chunk)
        if unfinished.find(b"\n", start) < 0 and unfinished.find(b"\r", start) < 0:
            return False
        *lines, last_line = unfinished.replace(b"\r", b"\n").split(b"\n")
        unfinished[:] = last_line
        return any(has_token(value) for value in map(_value_of, lines) if value is not None)

    return watch


def _value_of(line: bytes | bytearray) -> Any:
    """The JSON in one line of a stream, or None; errors are ignored, as the whole body is parsed later."""
    data = line.removeprefix(b"data:").strip()
    if not data.startswith(b"{"):
        return None
    return parsed_or(data)


def _has_token(chunk: Any) -> bool:
    delta = _choice_of(chunk).get("delta")
    return isinstance(delta, Mapping) and any(delta.get(name) for name in (*_SPOKEN, "tool_calls", "function_call"))


def _choice_of(chunk: Any) -> Mapping[str, Any]:
    """The first choice in a chunk; where several choices were requested, each is sent in chunks of its own."""
    choices = chunk.get("choices") if isinstance(chunk, Mapping) else None
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and not choice.get("index"):
            return choice
    return {}


def streamed_text(answer: Answer) -> str | None:
    """The body of `answer` where it is a stream of events; None where the endpoint answered with one JSON value.

    Raises:
        Fault: `malformed`, sent again: bytes that are not UTF-8.
    """
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Fault("malformed", f"the stream is not UTF-8: {quoted(answer.body)}", billed=True) from error
    return text if is_event_stream(text) else None


def completion_in(text: str, answer: Answer) -> Mapping[str, Any]:
    """Assemble the chat completion from the chunks of a stream, in the form of one that was not streamed.

    Args:
        text: the stream.
        answer: the answer that held it, for messages.

    Raises:
        Fault: an error in the stream, broken JSON, or a stream that ended before the reply did: it has neither a
            `finish_reason` nor `[DONE]`. A part of a reply is never taken for the whole.
    """
    joined = _Joined()
    for chunk in _chunks(text, joined, answer):
        if is_error(chunk):
            if (fault := fault_of_error(chunk, answer)) is not None:
                raise fault
            joined.finish = "content_filter"
            break
        joined.add(chunk)
    if joined.chunks and not joined.has_choices:
        keys = keys_named(complete_values(answer))
        raise mismatch(Fault("empty", f"the stream has no choices; {keys}: {quoted(text)}", billed=True), answer)
    if not joined.finished and not joined.finish:
        tail = quoted(text[-_TAIL:]) or "nothing came"
        raise Fault("malformed", f"the stream ended before the reply did: {tail}", billed=True)
    return joined.completion()


def _chunks(text: str, joined: _Joined, answer: Answer) -> Iterator[Mapping[str, Any]]:
    for event, data in events_of(text):
        if event == _ERROR:
            yield _error_value(data)
            continue
        if data.strip() == DONE:
            joined.finished = True
            return
        try:
            value = event_value(data)
        except (ValueError, RecursionError) as error:
            if joined.finish:
                return  # cut off within the token counts: the reply itself is whole
            message = f"status {answer.status}, but {broken_event(answer.body)}"
            raise Fault("malformed", message, billed=True) from error
        if isinstance(value, Mapping):
            yield value


@dataclass(slots=True)
class _Joined:
    """Assembles a completion from its chunks."""

    head: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    latest: dict[int, dict[str, Any]] = field(default_factory=dict)
    logprobs: list[Any] = field(default_factory=list)
    finish: Any = None
    error: Any = None
    finished: bool = False
    chunks: int = 0
    has_choices: bool = False
    in_parts: bool = False

    def add(self, chunk: Mapping[str, Any]) -> None:
        self.chunks += 1
        self.has_choices = self.has_choices or "choices" in chunk
        for name in ("model", "system_fingerprint", "usage", "service_tier", "provider"):
            if chunk.get(name):
                self.head[name] = chunk[name]
        choice = _choice_of(chunk)
        self.finish = choice.get("finish_reason") or self.finish
        self.error = choice.get(_ERROR) or mapping_or_empty(chunk.get("x_groq")).get(_ERROR) or self.error
        self._add_spoken(choice.get("delta"), choice.get("message"))
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, Mapping) and isinstance(logprobs.get("content"), list):
            self.logprobs += logprobs["content"]

    def _add_spoken(self, delta: Any, message: Any) -> None:
        """Add a part; a message after parts is the whole of them again, with which MiniMax ends a stream."""
        part = mapping_or_empty(delta or message)
        is_whole = not delta and self.in_parts
        self.in_parts = self.in_parts or bool(delta)
        for name in _SPOKEN:
            if (said := part.get(name)) is not None:
                texts = self.texts.setdefault(name, [])
                if is_whole and said:
                    texts.clear()
                texts.append(content_text(said))
        calls = calls_in(part)
        if is_whole and calls:
            self.calls, self.latest = [], {}
        self._add_calls(calls)

    def _add_calls(self, fragments: Any) -> None:
        """The name of a tool comes in one part, its arguments in many.

        Gemini and old Ollama give every call the same index: a name with a new id begins another call there. Old vLLM
        gives each part of a forced call a new id and its name: it is another call only after whole arguments.
        """
        for no, fragment in enumerate(fragments if isinstance(fragments, list) else ()):
            if not isinstance(fragment, Mapping):
                continue
            index = fragment.get("index")
            index = index if isinstance(index, int) else no
            function_part = mapping_or_empty(fragment.get("function"))
            call = self.latest.get(index)
            is_new = call and call.get("id") and fragment.get("id") and fragment["id"] != call["id"]
            if call is None or (is_new and _is_followed_by(call, function_part.get("name"))):
                call = self.latest[index] = {}
                self.calls.append((index, call))
            elif is_new:
                function_part = {"arguments": function_part.get("arguments")}
            call.update({name: fragment[name] for name in ("id", "type") if fragment.get(name)})
            for name in ("name", "arguments"):
                parts = call.get("function", {}).get(name, [])
                part = function_part.get(name)
                if (part or part == "") and not (name == "name" and parts and part == "".join(parts)):
                    call.setdefault("function", {}).setdefault(name, []).append(text_or_json(part))

    def completion(self) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(parts) for name, parts in self.texts.items()}
        if self.calls:
            message["tool_calls"] = [_whole_call(call) for _, call in sorted(self.calls, key=itemgetter(0))]
        choice = {"message": message, "finish_reason": self.finish, "logprobs": {"content": self.logprobs}}
        return {**self.head, "choices": [choice], _ERROR: self.error}


def calls_in(message: Mapping[str, Any]) -> Any:
    """The tool calls of a message or of a part of one; a deprecated `function_call` is one call."""
    function = message.get("function_call")
    is_call = isinstance(function, Mapping) and function
    return message.get("tool_calls") or ([{"type": "function", "function": function}] if is_call else None)


def _is_followed_by(call: Mapping[str, Any], name: Any) -> bool:
    """Whether a part with a new id and this name is of another call, as it has another name or `call` is whole."""
    function = call.get("function", {})
    if not name or "".join(function.get("name", ())) != name:
        return bool(name)
    parts = function.get("arguments", ())
    last = next((part for part in reversed(parts) if part.strip()), "")
    try:  # Joined only where it may be whole, or a call of n parts would take n * n steps.
        return last.rstrip().endswith("}") and isinstance(json.loads("".join(parts)), Mapping)
    except (ValueError, RecursionError):
        return False


def _whole_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call of a tool with the parts of its name and its arguments joined."""
    function = {name: "".join(parts) for name, parts in call.get("function", {}).items()}
    return {**call, "function": function} if "function" in call else {**call}


_READERS: Final[Mapping[Framing, Callable[[str], Iterable[Any]]]] = MappingProxyType(
    {
        "auto": lambda text: _sse(text) if is_event_stream(text) else _concatenated(text),
        "json": lambda text: [json.loads(text)],
        "jsonl": lambda text: [json.loads(line) for line in _LINE_END.split(text) if line.strip()],
        "sse": _sse,
        "concatenated": _concatenated,
    }
)
