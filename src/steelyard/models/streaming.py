"""A chat completion that comes as a stream: asked for, watched for its first token, and joined to a whole one.

The stream is read to its end before anything is made of it: the journal keeps whole replies alone. How a reply travels
is no part of what is asked, so `stream` stays out of the request's digest: a run that is streamed from now on pays
nothing again.

Source: OpenAI API reference, "Streaming"; server-sent events as in WHATWG HTML, section 9.2.6.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from steelyard.models.base import Answer, Fault, Request, Watch, Wire
from steelyard.models.faults import error_body, fault_in_body, quoted
from steelyard.models.framing import DONE, event_value, events_of, is_event_stream
from steelyard.text.prompt_files import content_text

_ASKED: Final = b',"stream":true}'
_ASKED_WITH_USAGE: Final = b',"stream":true,"stream_options":{"include_usage":true}}'
_SPOKEN: Final = ("content", "reasoning_content", "reasoning", "refusal")
_TAIL: Final = 200


async def send_streamed(request: Request, wire: Wire, *, idle_s: float) -> Answer:
    """Send `request` as one for a stream that counts its tokens; without the count where the endpoint takes no such.

    Args:
        request: its payload is a JSON object without any word of streaming.
        wire: learns whether the endpoint takes `stream_options`.
        idle_s: limit between two parts of the body, in seconds; 0 is none.
    """
    known = f"{request.url} stream_options"
    watched = replace(request, watch=lambda: first_of(_has_token), idle_s=idle_s)
    takes = wire.learned.get(known)
    if takes is not False:
        answer = await wire.exchange(replace(watched, payload=request.payload[:-1] + _ASKED_WITH_USAGE))
        if answer.status < 300:
            wire.learned[known] = True
        if answer.status not in {400, 422} or (takes and b"stream_options" not in answer.body):
            return answer
    answer = await wire.exchange(replace(watched, payload=request.payload[:-1] + _ASKED))
    if answer.status < 300:
        wire.learned[known] = False
    return answer


def first_of(has_token: Callable[[Any], bool]) -> Watch:
    """What watches a stream of JSON, in events or in lines, for the first value that holds a token.

    Args:
        has_token: whether a value does.
    """
    rest = bytearray()

    def watch(part: bytes) -> bool:
        start = max(0, len(rest) - 1)
        rest.extend(part)
        if rest.find(b"\n", start) < 0 and rest.find(b"\r", start) < 0:
            return False
        *lines, left = rest.replace(b"\r", b"\n").split(b"\n")
        rest[:] = left
        return any(has_token(value) for value in map(_value_of, lines) if value is not None)

    return watch


def _value_of(line: bytes | bytearray) -> Any:
    """The JSON in one line of a stream, or None: a look only, the whole body is read properly later."""
    data = line.removeprefix(b"data:").strip()
    if not data.startswith(b"{"):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _has_token(chunk: Any) -> bool:
    delta = _choice_of(chunk).get("delta")
    return isinstance(delta, Mapping) and any(delta.get(name) for name in (*_SPOKEN, "tool_calls"))


def _choice_of(chunk: Any) -> Mapping[str, Any]:
    """The first choice's part of a chunk; an endpoint that was asked for several sends each in chunks of its own."""
    choices = chunk.get("choices") if isinstance(chunk, Mapping) else None
    for one in choices if isinstance(choices, list) else ():
        if isinstance(one, Mapping) and not one.get("index"):
            return one
    return {}


def streamed_text(answer: Answer) -> str | None:
    """The body of `answer` where it is a stream of events; None where the endpoint answered with one JSON value.

    Raises:
        Fault: `malformed`, sent again: bytes that are no UTF-8.
    """
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Fault("malformed", f"the stream is no UTF-8: {quoted(answer.body)}", billed=True) from error
    return text if is_event_stream(text) else None


def completion_in(text: str, answer: Answer) -> Mapping[str, Any]:
    """The chat completion that the chunks in `text` are parts of, as one that had come whole.

    Args:
        text: the stream.
        answer: whose it is, for messages.

    Raises:
        Fault: an error in the stream, broken JSON, or a stream that ended before the reply did: it has neither a
            `finish_reason` nor `[DONE]`. A part of a reply is never taken for the whole.
    """
    joined = _Joined()
    for chunk in _chunks(text, joined, answer):
        if _is_error(chunk):
            fault = fault_in_body(error_body(chunk), answer)
            if fault is not None:
                raise fault
            joined.finish = "content_filter"
            break
        joined.add(chunk)
    if not joined.done and not joined.finish:
        what = quoted(text[-_TAIL:]) or "nothing came"
        raise Fault("malformed", f"the stream ended before the reply did: {what}", billed=True)
    return joined.completion()


def _chunks(text: str, joined: _Joined, answer: Answer) -> Iterator[Mapping[str, Any]]:
    for data in events_of(text):
        if data.strip() == DONE:
            joined.done = True
            return
        try:
            value = event_value(data)
        except (ValueError, RecursionError) as error:
            if joined.finish:
                return  # cut off amid the token counts: the reply itself is whole
            message = f"status {answer.status}, but a broken event in the stream: {quoted(data)}"
            raise Fault("malformed", message, billed=True) from error
        if isinstance(value, Mapping):
            yield value


def _is_error(chunk: Mapping[str, Any]) -> bool:
    """Whether a chunk is an error: `error` in it, or the bare body of one, which vLLM and gateways send."""
    return bool(chunk.get("error")) or ("choices" not in chunk and bool(chunk.get("message") or chunk.get("msg")))


@dataclass(slots=True)
class _Joined:
    """A completion that grows by its chunks."""

    head: dict[str, Any] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[Any, dict[str, Any]] = field(default_factory=dict)
    logprobs: list[Any] = field(default_factory=list)
    finish: Any = None
    done: bool = False

    def add(self, chunk: Mapping[str, Any]) -> None:
        for name in ("model", "system_fingerprint", "usage"):
            if chunk.get(name):
                self.head[name] = chunk[name]
        choice = _choice_of(chunk)
        self.finish = choice.get("finish_reason") or self.finish
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            for name in _SPOKEN:
                if delta.get(name) is not None:
                    self.said.setdefault(name, []).append(content_text(delta[name]))
            self._add_calls(delta.get("tool_calls"))
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, Mapping) and isinstance(logprobs.get("content"), list):
            self.logprobs += logprobs["content"]

    def _add_calls(self, parts: Any) -> None:
        """The name of a tool comes in one part, its arguments in many."""
        for no, part in enumerate(parts if isinstance(parts, list) else ()):
            if not isinstance(part, Mapping):
                continue
            place = part.get("index")
            call = self.calls.setdefault(place if isinstance(place, int) else no, {})
            call.update({name: part[name] for name in ("id", "type") if part.get(name)})
            given = part.get("function")
            if isinstance(given, Mapping):
                function = call.setdefault("function", {})
                for name in ("name", "arguments"):
                    if isinstance(given.get(name), str):
                        function[name] = function.get(name, "") + given[name]

    def completion(self) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(parts) for name, parts in self.said.items()}
        if self.calls:
            message["tool_calls"] = [self.calls[place] for place in sorted(self.calls)]
        choice = {"message": message, "finish_reason": self.finish, "logprobs": {"content": self.logprobs}}
        return {**self.head, "choices": [choice]}
