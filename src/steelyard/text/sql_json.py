"""SQL that stands in a reply as a JSON object: parsed strictly, then validated by its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from steelyard.replies.fences import JSON_WORDS, blocks_of, unfenced
from steelyard.text.sql_reading import Form, Problem, SqlCandidate, Wanted

KEYS: Final[Mapping[str, tuple[str, ...]]] = {"create_select": ("create", "select"), "sql_json": ("sql",)}
"""The keys of each form, all of them required."""

_WHOLE: Final = re.compile(r'\s*+(?P<json>\{|\[\s*+[\[{"])')
_EMBEDDED: Final = re.compile(r'\{\s*+"(?:sql|create|select)"\s*+:')
_MOST_OBJECTS: Final = 20
_MOST_ERRORS: Final = 3
_SHOWN: Final = 60


def objects_in(text: str, start: int, end: int, form: Wanted) -> Iterator[SqlCandidate | Problem]:
    """The JSON objects of a reply that hold SQL: the reply itself, in fences, or in prose."""
    if whole := _WHOLE.match(text, start, end):
        one, place = _object_at(text, whole.start("json"), end, form)
        yield one
        yield from _in_prose(text, place, end, form)
        return
    fenced = 0
    for block in blocks_of(text, start, end):
        inside = text[block.start : block.end].lstrip()
        if block.word in JSON_WORDS or inside.startswith("{"):
            fenced += 1
            one, _ = _object_at(text, block.end - len(inside), block.end, form)
            if not (form == "auto" and isinstance(one, Problem) and one.message.startswith(_NEITHER)):
                yield one
    if not fenced:
        yield from _in_prose(text, start, end, form)


def _in_prose(text: str, start: int, end: int, form: Wanted) -> Iterator[SqlCandidate | Problem]:
    place = start
    for _ in range(_MOST_OBJECTS):
        match = _EMBEDDED.search(text, place, end)
        if match is None:
            return
        one, place = _object_at(text, match.start(), end, form)
        yield one


def _object_at(text: str, at: int, end: int, form: Wanted) -> tuple[SqlCandidate | Problem, int]:
    """The object that begins at `at`, and where the text goes on behind it."""
    try:
        value, length = _DECODER.raw_decode(text[at:end])
    except json.JSONDecodeError as error:
        here = f" at line {error.lineno} column {error.colno}" if error.pos else ""
        return Problem(f"no valid JSON: {error.msg.removesuffix(' at')}{here}", (at, end)), end
    except RecursionError:
        return Problem("no valid JSON: nested too deeply", (at, end)), end
    except ValueError as error:
        return Problem(f"no valid JSON: {str(error)[:_SHOWN]}", (at, end)), end
    found = _validated(value, form, (at, at + length))
    return found._replace(parsed=True) if isinstance(found, Problem) else found, at + length


_NEITHER: Final = "neither sql nor create and select"


def _validated(value: Any, form: Wanted, span: tuple[int, int]) -> SqlCandidate | Problem:
    if not isinstance(value, dict):
        return Problem(f"expected a JSON object, not {'a list' if isinstance(value, list) else 'a plain value'}", span)
    read: Form = "create_select"
    if form == "auto":
        has_sql, has_select = "sql" in value, "select" in value or "create" in value
        if has_sql and has_select:
            return Problem("it holds sql as well as create or select; which is meant is not said", span)
        if not has_sql and not has_select:
            return Problem(f"{_NEITHER} in the JSON object; its keys: {_shown(', '.join(value)) or 'none'}", span)
        read = "sql_json" if has_sql else "create_select"
        value = {key: value[key] for key in KEYS[read] if key in value}
    elif form == "sql_json":
        read = "sql_json"
    problem = _problem_of(value, read)
    if problem:
        return Problem(problem, span)
    create, query = (unfenced(value.get(key, "")).strip() for key in ("create", KEYS[read][-1]))
    return SqlCandidate(create, query, read, span)


def _problem_of(value: Mapping[str, Any], form: Form) -> str:
    """What the validator says against `value`; "" where it is in order."""
    from pydantic import ValidationError

    try:
        _validator(form).model_validate(value)
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        lines = [f"{_shown('.'.join(map(str, one['loc'])))}: {one['msg']}" for one in told[:_MOST_ERRORS]]
        more = len(told) - _MOST_ERRORS
        return "; ".join([*lines, *([f"and {more} more"] if more > 0 else [])])
    return ""


@cache
def _validator(form: Form) -> Any:
    """The pydantic model of a form: texts that are not blank, and no further keys."""
    from typing import Annotated

    from pydantic import ConfigDict, StringConstraints, create_model

    text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
    fields: dict[str, Any] = dict.fromkeys(KEYS[form], (text, ...))
    return create_model("Reply", __config__=ConfigDict(extra="forbid"), **fields)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {duplicate[:40]!r} occurs twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)
