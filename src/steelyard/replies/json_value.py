"""Reads the JSON value of a reply: the whole text, a fenced block, or the one value with words around it."""

from __future__ import annotations

import json
from typing import Any, Final

from steelyard.replies.clean import unfenced, without_reasoning

_MOST_TRIES: Final = 200
"""Places of a text at which a value may begin: each may cost a pass over the rest of it."""


def read_json(text: str, *, around: bool = True) -> tuple[Any, str]:
    r"""The JSON value of a reply, and the problem where there is none; "" where there is one.

    Args:
        text: of the reply.
        around: also read the one object or list that stands in other words or in a fenced block among them; two
            different ones are no reading.

    >>> read_json('Here it is:\n```json\n{"a": 1}\n```\nDone.'), read_json('{"a": 1} or {"a": 2}')[1]
    (({'a': 1}, ''), 'several JSON values that differ')
    """
    text = without_reasoning(text)[0].strip()
    if not text:
        return None, "the output is empty"
    try:
        return _decoder.decode(unfenced(text).strip()), ""
    except (ValueError, RecursionError) as error:
        problem = f"no JSON: {'nested too deep' if isinstance(error, RecursionError) else error}"
    values = values_in(text) if around else []
    if any(value != values[0] for value in values):
        return None, "several JSON values that differ"
    return (values[0], "") if values else (None, problem)


def values_in(text: str) -> list[Any]:
    """The objects and lists that stand in a text, in order; what is inside of another one is not listed."""
    values: list[Any] = []
    at, tries = 0, 0
    while tries < _MOST_TRIES:
        starts = [place for mark in "{[" if (place := text.find(mark, at)) >= 0]
        if not starts:
            break
        at, tries = min(starts), tries + 1
        try:
            value, at = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        # A list without an object in it is more often a citation or an aside than an answer: `[1]`.
        if isinstance(value, dict) or any(isinstance(entry, dict) for entry in value):
            values.append(value)
    return values


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is not a value of JSON")


_decoder: Final = json.JSONDecoder(parse_constant=_no_json)
