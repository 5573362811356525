"""Parses a JSON response into a Reply by JMESPath expressions for text, passages, error and usage.

The expressions come from a configuration and the data from a server: `[@,@]|[@,@]|...` 22 times makes four million
values of one, and `sort_by` runs over all of them. So every step and every value that an expression builds is counted;
an expression that only looks things up takes a few steps.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal

from jmespath import compile as compiled
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from steelyard.errors import ConfigError
from steelyard.models.base import WITHOUT_TEXT, Answer, Fault, Watch, finish_named, usage_of
from steelyard.models.faults import ErrorBody, check_finish, error_body, fault_in_body, names_error, quoted
from steelyard.models.mismatches import keys_named, mismatch, said_nothing
from steelyard.models.refusals import MISMATCH
from steelyard.models.streaming import DONE, Framing, first_of, opened, values_in
from steelyard.types import Json, Reply, Usage

MAX_EXPRESSION: Final = 2_000
"""Characters of an expression."""
MAX_WORK: Final = 5_000_000
"""Work on all values of a reply, about a second: of a million steps, or of values with 80 million characters."""

_STEP: Final = 4
_CHARACTERS: Final = 16
_BUILDS: Final = frozenset(
    {
        *("filter_projection", "flatten", "function_expression", "multi_select_dict", "multi_select_list"),
        *("projection", "slice", "value_projection"),
    }
)


class TooMuchWork(ValueError):
    """An expression takes more work on a value than is allowed."""


class PathSearch:
    """Searches values with one expression; what it may do is counted over all of them.

    Args:
        expression: the expression.

    Raises:
        ConfigError: it is too long, or not a JMESPath expression.
    """

    __slots__ = ("_interpreter", "_parsed", "expression")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._parsed = _parsed(expression)
        self._interpreter = _CountingInterpreter()

    def __call__(self, value: Any) -> Any:
        """What the expression finds in a value; None where it finds nothing.

        Raises:
            ValueError: the expression does not suit the value (as all errors of jmespath are), or takes too much work.
        """
        try:
            return self._interpreter.visit(self._parsed, value)
        except RecursionError as error:
            raise ValueError("the reply or the expression is nested too deep") from error


def _check_path(name: str, expression: str) -> None:
    try:
        _parsed(expression or "@")
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}") from error


JmesPath = Annotated[str, _check_path]
"""An expression that finds a value in JSON, or ""."""


def _parsed(expression: str) -> Any:
    if len(expression) > MAX_EXPRESSION:
        length = f"{len(expression):,} characters; at most {MAX_EXPRESSION:,} are read"
        raise ConfigError(f"{expression[:80]!r} is not a JMESPath expression: it has {length}")
    try:
        return compiled(expression).parsed
    except (JMESPathError, RecursionError) as error:
        cause = " ".join(str(error).split())[:300]
        raise ConfigError(f"{expression!r} is not a JMESPath expression: {cause}") from error


class _CountingInterpreter(TreeInterpreter):  # type: ignore[misc]
    """The interpreter of jmespath with a count of its work."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MAX_WORK

    def visit(self, node: Any, value: Any) -> Any:
        result = super().visit(node, value)
        self._take(_STEP + (_extent(result, self._left) if node["type"] in _BUILDS else 0))
        return result

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        arguments = [self.visit(child, value) for child in node["children"]]
        self._take(sum(_extent(argument, self._left) for argument in arguments))
        return self._functions.call_function(node["value"], arguments)

    def visit_comparator(self, node: Any, value: Any) -> Any:
        sides = [self.visit(child, value) for child in node["children"]]
        self._take(min(_extent(side, self._left) for side in sides))
        literals = [{"type": "literal", "value": side, "children": []} for side in sides]
        return super().visit_comparator({**node, "children": literals}, value)

    def _take(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise TooMuchWork("it takes too much work on this reply")


def _extent(value: Any, most: int) -> int:
    """How many values a value holds, each as often as it occurs, and a share of their characters; any above `most`."""
    extent, waiting = 0, [value]
    while waiting and extent <= most:
        member = waiting.pop()
        if isinstance(member, str):
            extent += 1 + len(member) // _CHARACTERS
        elif isinstance(member, list):
            extent += 1 + len(member)
            waiting += member
        elif isinstance(member, dict):
            extent += 1 + len(member) + sum(map(len, member)) // _CHARACTERS
            waiting += member.values()
    return extent


_SOURCE_LINE: Final = re.compile(r"\A\s*出处\s*\[\d+\][^\n]*(?:\n\s*|$)")
_END: Final = 64
"""Bytes at the end of a body that contain the last event of a stream."""
_NOTHING_FOUND: Final = re.compile(r"\s*<span[^>]*>\s*未找到相关文档")


@dataclass(frozen=True, slots=True)
class ResponseMap:
    """Where the parts of a response are. An empty key takes the preset's value, or the default named here.

    Args:
        framing: how JSON values are separated in the body; auto detects it.
        text: JMESPath of the reply's text, applied to every value; null if a value holds none. Use `not_null(a, b)` for
            alternatives: `a || b` counts an empty text as missing.
        join: `concat` joins the texts of a stream, `last` takes the last; by default concat.
        contexts: JMESPath of the retrieved passages: a list of texts. The first value that is not null counts.
        sources: JMESPath of the source of each passage, in the same order: a list of ids, or of mappings with any of
            `id`, `document`, `start`, `end` and `page`, as in `docs[*].{id: chunk, document: file}`.
        context_clean: `chatchat` removes the line that names the source and drops its "nothing found" passage.
        error: JMESPath of an error inside a successful answer; by default `error`, or the whole of a value whose `type`
            or `object` is "error".
        usage: JMESPath of the token counts; by default `usage`. The last that is not null counts.
        complete: JMESPath that is true in one of the values of a complete stream, as `choices[0].finish_reason` or
            ``done == `true` ``; a stream of several values without it, and without `[DONE]`, was cut off and is
            requested again. Empty: every stream counts as complete.
        messages: JMESPath of an agent's steps before the text: a list of chat messages with `tool_calls`, or one
            message. The last that is not null counts.
    """

    framing: Framing = "auto"
    text: JmesPath = ""
    join: Literal["", "concat", "last"] = ""
    contexts: JmesPath = ""
    sources: JmesPath = ""
    context_clean: Literal["", "chatchat"] = ""
    error: JmesPath = ""
    usage: JmesPath = ""
    complete: JmesPath = ""
    messages: JmesPath = ""

    def digest(self, accept_status: tuple[int, ...] = ()) -> str:
        """12 hexadecimal digits that are equal for equal mappings, by which kept bodies are read again.

        Args:
            accept_status: statuses besides 2xx whose body is read.
        """
        # Without empty keys, so that a key of a later version changes the digest of those mappings only that use it.
        keys = {mapped.name: value for mapped in fields(self) if (value := getattr(self, mapped.name))}
        return blake2b(json.dumps([keys, *accept_status], sort_keys=True).encode(), digest_size=6).hexdigest()


def reply_in(answer: Answer, wanted: ResponseMap) -> Reply:
    """Parse the reply from a successful answer.

    Raises:
        Fault: no JSON, an error inside it, or no match for the text's path.
    """
    values = values_in(answer, wanted.framing)
    filtered = _stopped_by_error(values, wanted.error, answer)
    if filtered:
        return Reply("", "", "content_filter", metadata={"message": filtered})
    _check_complete(values, wanted.complete, answer)
    texts = [_text(value) for value in _search_all(values, wanted.text or "text") if value is not None]
    reason = next((finish for finish in map(_finish_of, reversed(values)) if finish), "stop")
    check_finish(reason, answer)
    finish = finish_named(reason)
    contexts, missed = _contexts(values, wanted)
    messages = _messages(values, wanted.messages)
    if not texts and not contexts and not messages and finish not in WITHOUT_TEXT:
        raise _nothing_at(wanted.text or "text", values, answer)
    text = (texts[-1] if texts else "") if wanted.join == "last" else "".join(texts)
    metadata: dict[str, Any] = {
        "model": _last(values, "model"),
        "reasoning": _reasoning(values),
        "messages": messages,
    }
    metadata = {name: value for name, value in metadata.items() if value or value == []}
    if answer.first_s is not None:
        metadata["ttft"] = round(answer.first_s, 4)
    if contexts is not None:
        metadata["contexts"] = contexts
    if missed:
        metadata["kb_miss"] = True
    elif sources := _sources(values, wanted):
        metadata["sources"] = sources
    return Reply("", text, finish, _usage(values, wanted.usage or "usage", text), metadata=metadata)


def _nothing_at(expression: str, values: Sequence[Json], answer: Answer) -> Fault:
    """The fault of a reply without a text: a mismatch, or nothing said where the place holds null or an empty list."""
    content = quoted(answer.body) or "an empty body"
    keys = f"; {keys_named(values)}" if values else ""
    message = (
        f"response.text: there is nothing at {expression!r} in the reply (status {answer.status}){keys}: {content}"
    )
    fault = Fault("empty", message, billed=True)
    is_there = not values or _could_hold(values, expression)
    return said_nothing(fault) if is_there else mismatch(fault, answer)


class _Anything:
    """In place of null or an empty list: has every key, so that an expression finds something if the place is there."""

    def get(self, _name: str) -> _Anything:
        return self


def _could_hold(values: Sequence[Json], expression: str) -> bool:
    """Whether the place of an expression exists in a value, so that another reply may have something there."""
    search = PathSearch(expression)
    for value in values:
        if not isinstance(value, Mapping | list):
            continue
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            if search(_filled(value, at_top=True)) is not None:
                return True
    return False


def _filled(value: Json, *, at_top: bool = False) -> Any:
    """A value with something in place of each null, empty list and empty mapping inside it."""
    if isinstance(value, Mapping):
        return {key: _filled(inner) for key, inner in value.items()} if value or at_top else _Anything()
    if isinstance(value, list):
        return [_filled(inner) for inner in value] if value or at_top else [_Anything()]
    return _Anything() if value is None else value


def watch_for(expression: str) -> Watch:
    """Detects the first value of a body in which a JMESPath expression finds something.

    Args:
        expression: a valid one, of the text.
    """
    search = PathSearch(expression)

    def has_token(value: Any) -> bool:
        with contextlib.suppress(Fault):
            return bool(_searched(search, opened(value)))
        return False

    return first_of(has_token)


def _check_complete(values: Sequence[Json], expression: str, answer: Answer) -> None:
    """Refuse a stream that the service closed between two values, before its last."""
    if not expression or len(values) < 2 or any(_search_all(values, expression)):
        return
    if DONE.encode() in answer.body[-_END:]:
        return
    raise Fault("malformed", f"the stream ended before {expression!r} was true in it", billed=True)


def _search_all(values: Sequence[Json], expression: str) -> list[Any]:
    search = PathSearch(expression)
    return [_searched(search, value) for value in values]


def _searched(search: PathSearch, value: Json) -> Any:
    try:
        return search(value)
    except ValueError as error:
        cause = " ".join(str(error).split())[:300]
        message = f"{search.expression!r} cannot be read from the reply: {cause}"
        fault = Fault("malformed", message, retry=False, billed=True)
        if not isinstance(error, TooMuchWork):
            fault.refusal, fault.likeness = MISMATCH, search.expression  # a function that does not suit what is there
        raise fault from error


def _stopped_by_error(values: Sequence[Json], expression: str, answer: Answer) -> str:
    """The message of a content filter, or "" where there is no error.

    Raises:
        Fault: another error.
    """
    for value, at_path in zip(values, _search_all(values, expression or "error"), strict=True):
        names_itself = not expression and isinstance(value, Mapping) and names_error(value)
        if not (stopped := at_path or (value if names_itself else None)):
            continue
        error = error_body(stopped)
        if not error.codes:
            error = ErrorBody(error.message or _text(stopped), error_body(value).codes)
        fault = fault_in_body(error, answer)
        if fault is not None:
            raise fault
        return error.message or "content filter"
    return ""


def _contexts(values: Sequence[Json], wanted: ResponseMap) -> tuple[tuple[str, ...] | None, bool]:
    """The passages (None where the answer has no key for them), and whether the service reports that it found none."""
    if not wanted.contexts:
        return None, False
    passages = next((passage for passage in _search_all(values, wanted.contexts) if passage is not None), None)
    if passages is None:
        return None, False
    texts = [_text(passage) for passage in (passages if isinstance(passages, list) else [passages])]
    if wanted.context_clean != "chatchat":
        return tuple(texts), False
    remaining = [text for text in texts if not _NOTHING_FOUND.match(text)]
    return tuple(_SOURCE_LINE.sub("", text, count=1).strip() for text in remaining), len(remaining) < len(texts)


def _sources(values: Sequence[Json], wanted: ResponseMap) -> list[Any]:
    """The sources of the passages as mappings; an id becomes `{"id": ...}`, and null an empty mapping."""
    matches = _search_all(values, wanted.sources) if wanted.sources else []
    listed: Any = next((source for source in matches if source is not None), [])
    return [
        source if isinstance(source, Mapping) else {} if source is None else {"id": _text(source)}
        for source in (listed if isinstance(listed, list) else [listed])
    ]


def _messages(values: Sequence[Json], expression: str) -> Any:
    """The messages of an agent; None where the answer has none."""
    matches = reversed(_search_all(values, expression)) if expression else ()
    return next((match for match in matches if match is not None), None)


def _usage(values: Sequence[Json], expression: str, text: str) -> Usage:
    for usage_part in reversed(_search_all(values, expression)):
        if isinstance(usage_part, Mapping):
            input_tokens = usage_part.get("prompt_tokens", usage_part.get("input_tokens"))
            output_tokens = usage_part.get("completion_tokens", usage_part.get("output_tokens"))
            usage = usage_of(input_tokens, output_tokens, text)
            if not usage.estimated:
                return usage
    return usage_of(None, None, text)


def _finish_of(value: Json) -> str:
    reason = _choice(value).get("finish_reason")
    if not reason and isinstance(value, Mapping):
        reason = next((value[name] for name in ("finish_reason", "stop_reason", "done_reason") if value.get(name)), "")
    return reason if isinstance(reason, str) else ""


def _reasoning(values: Sequence[Json]) -> str:
    deltas = [_choice(value).get("delta") or _choice(value).get("message") for value in values]
    return "".join(
        thought
        for delta in deltas
        if isinstance(delta, Mapping)
        and isinstance(thought := delta.get("reasoning_content") or delta.get("reasoning"), str)
    )


def _choice(value: Json) -> Mapping[str, Any]:
    choices = value.get("choices") if isinstance(value, Mapping) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}


def _last(values: Sequence[Json], name: str) -> str:
    candidates = (value.get(name) for value in reversed(values) if isinstance(value, Mapping))
    return next((text for text in candidates if isinstance(text, str) and text), "")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "".join(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
