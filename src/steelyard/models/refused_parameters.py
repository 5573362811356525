"""Reads which parameters an endpoint's refusal names, and applies what is known of them to a call.

Endpoints refuse parameters that others require or ignore: reasoning models take no `temperature` and no `max_tokens`,
Claude not `temperature` with `top_p`, Grok and Gemini no penalties. Bodies differ as much as the names in them: a field
`param`, places of a schema (`loc`), or a sentence, which spells a name as it likes ("top_p", "topP", "Penalty").

A name that was misread does no harm: a change is kept only where the changed call is answered, see
`session.parameter_findings`. Sources of the wordings: `tests/models/refused_parameters.toml` lists them with their
servers.
"""

# Why it is so, and what was rejected: docs/decisions/models-refused-parameters.md

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from steelyard.models.base import ModelInfo, Refused
from steelyard.plain_json import parsed_or

DROPPED: Final = ""
"""The new name of a parameter that is left out."""
SAMPLING: Final = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
"""Parameters that may be left out; of several that exclude each other the later ones go first."""
LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens")
"""Names of the most tokens of a reply; the first two stand for each other where a refusal proposes no name."""
LIMIT_NAMES: Final = frozenset(LIMITS)
THINKING_TOKENS: Final = 4096
"""Added to a scorer's own limit that becomes one of thinking and answer together: 12 tokens for a rating would end the
thinking."""

_MOST_READ: Final = 20_000
_MOST_DEPTH: Final = 8
_SPELLED: Final[Mapping[str, re.Pattern[str]]] = {
    "temperature": re.compile(r"(?<![a-z])temperature(?![a-z])|温度", re.IGNORECASE),
    "top_p": re.compile(r"(?<![a-z])top[ _-]?p(?![a-z])", re.IGNORECASE),
    "frequency_penalty": re.compile(r"frequency[ _-]?penalty", re.IGNORECASE),
    "presence_penalty": re.compile(r"presence[ _-]?penalty", re.IGNORECASE),
}
_PENALTY: Final = re.compile(r"(?<![a-z])penalt(?:y|ies)(?![a-z])|惩罚", re.IGNORECASE)
_LIMIT: Final = re.compile(
    r"(?<![a-z])(?:max(?:imum)?[_-]?(?:[a-z]+[_-])?tokens?|max(?:Completion|Output|New)?Tokens|max_gen_len|num_predict)(?![a-z_])"
)
_EXCLUSIVE: Final = re.compile(
    r"\b(?:both|together|simultaneously|at the same time|only one|either|mutually exclusive|in combination)\b|同时",
    re.IGNORECASE,
)
_OF_SAMPLE: Final = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|too long|prompt (?:length|tokens)|上下文|过长|超长",
    re.IGNORECASE,
)
"""A limit of tokens that is named in such a text is one of the sample's length."""
_REFUSES: Final = re.compile(
    r"unsupported|(?:not|n['’]t) (?:\w+ )?(?:support|permit|allow|accept|enabled|valid|take)|unknown|unrecogni[sz]ed"
    r"|extra(?:neous)?[ _]|unexpected|only .{0,40}(?:allowed|supported)|deprecated|不支持|不允许",
    re.IGNORECASE,
)
_PLACES: Final = frozenset({"param", "parameter", "loc", "field"})
_TEXTS: Final = frozenset({"message", "msg", "detail", "error", "error_msg", "description", "cause", "raw", "reason"})
_ECHOED: Final = frozenset({"input", "callstack", "traceback", "ctx", "url", "messages", "prompt"})


def refused_parameters(body: bytes) -> Refused:
    """The parameters that an error's body names; without any where it is about something else.

    >>> refused_parameters(b'{"error": {"message": "Unsupported value", "param": "temperature"}}').names
    ('temperature',)
    >>> refused_parameters(b"Argument not supported on this model: presencePenalty").names
    ('presence_penalty',)
    >>> refused_parameters(b"this model's maximum context length is 4096, but max_tokens is 5000").names
    ()
    """
    text = body[:_MOST_READ].decode("utf-8", "replace")
    places: list[str] = []
    texts: list[str] = []
    for is_place, part in _parts(_parsed(text), 0):
        (places if is_place else texts).append(part)
    words = "\n".join(texts) or text
    # A place says exactly what is meant; a sentence may mention other parameters as well.
    if named := _named("\n".join(places)):
        limits = [name for name in named if name not in SAMPLING]
        proposed = [name for name in _named(words) if name not in SAMPLING] if limits else []
        names = [*named, *(name for name in proposed if name not in named)]
    elif any(place not in {"body", "None", "none", "null"} for place in places):
        names = []  # another parameter, such as `messages`
    else:
        names = _named(words)
    if _OF_SAMPLE.search(words):
        names = [name for name in names if name in SAMPLING]
    exclusive = len(names) > 1 and _EXCLUSIVE.search(words) is not None
    is_clear = _REFUSES.search(words) is not None
    text = "\n".join([*places, words]) if is_clear and not _OF_SAMPLE.search(words) else ""
    return Refused(tuple(names), exclusive, is_clear, text)


def refused_of(refused: Refused, sent: Collection[str], optional: Collection[str]) -> list[str]:
    """Those of the parameters of a call that a refusal names, also ones that are never changed (`seed`, `tools`).

    >>> refusal = refused_parameters(b'{"error": "This model does not support tools"}')
    >>> refused_of(refusal, {"seed": 7, "tools": []}, ())
    ['tools']
    """
    names = [name for name in refused.names if name in sent]
    # Scorers do without a schema or probabilities by themselves, see `session.reply_schemas`.
    others = [name for name in sent if name not in {*optional, *SAMPLING, *LIMITS, "response_format"}]
    return names or [name for name in others if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w'’-])", refused.text)]


def _parsed(text: str) -> Any:
    """A JSON value, also one that is quoted in a text; the text itself where it is none."""
    start = min((at for sign in "{[" if (at := text.find(sign)) >= 0), default=-1)
    return text if start < 0 else parsed_or(text[start:], text)


def _parts(value: Any, depth: int, key: str = "") -> Iterator[tuple[bool, str]]:
    """(whether it is a place, text) of an error's JSON; what it repeats of the request is left out."""
    if isinstance(value, str):
        inner = _parsed(value) if value.lstrip()[:1] in {"{", "["} else value
        if isinstance(inner, str) and (key in _PLACES or key in _TEXTS or not depth):
            yield key in _PLACES, inner
        value = inner
    members: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        members = ((str(name), member) for name, member in value.items() if name not in _ECHOED)
    elif isinstance(value, list):
        members = ((key or "error", member) for member in value)
    for name, member in members if depth < _MOST_DEPTH else ():
        yield from _parts(member, depth + 1, name)


def _named(text: str) -> list[str]:
    names = [name for name, pattern in _SPELLED.items() if pattern.search(text)]
    if _PENALTY.search(text) and not any(name.endswith("penalty") for name in names):
        names += ["frequency_penalty", "presence_penalty"]
    return [*names, *dict.fromkeys(_LIMIT.findall(text))]


def changes_for(
    refused: Refused, sent: Mapping[str, Any], optional: Collection[str], known: Mapping[str, str]
) -> dict[str, str]:
    """What to change in a call that was refused: parameter -> its new name, or `DROPPED`; empty where nothing can be.

    Args:
        refused: what the endpoint names.
        sent: the parameters of the call as they were meant, before `known` changed them.
        optional: names of those that nobody asked for, and that may be left out.
        known: the changes that this call was sent with.
    """
    droppable = [
        name for name in refused.names if name in SAMPLING and name in sent and name in optional and name not in known
    ]
    changes = dict.fromkeys(droppable[-1:] if refused.exclusive else droppable, DROPPED)
    if any(name not in SAMPLING for name in refused.names):
        for name in LIMITS:
            if name in sent and known.get(name) != DROPPED:
                changes |= _limit_change(name, refused, known, optional)
    return changes


def _limit_change(name: str, refused: Refused, known: Mapping[str, str], optional: Collection[str]) -> dict[str, str]:
    """Another name for a limit of tokens; one that nobody asked for is left out once its new name is refused too."""
    if name in known:
        return {name: DROPPED} if known[name] in refused.names and name in optional else {}
    partner = LIMITS[1] if name == LIMITS[0] else LIMITS[0]
    return {name: next((other for other in refused.names if other not in SAMPLING and other != name), partner)}


def without_second_limit(parameters: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    """Our parameters of a call, without `max_tokens` where the user's own limit has another name.

    OpenAI refuses two limits in one call, and a limit of thinking and answer together must leave room to think.

    >>> without_second_limit({"max_tokens": 12, "seed": 1}, ["max_completion_tokens"])
    {'seed': 1}
    """
    limited = not LIMIT_NAMES.isdisjoint({*own} - {LIMITS[0]})
    return {name: value for name, value in parameters.items() if not (limited and name == LIMITS[0])}


def adjusted(
    model: Any, parameters: Mapping[str, Any], changes: Mapping[str, str], optional: Collection[str]
) -> tuple[Any, dict[str, Any]]:
    """Model and parameters of a call with its changes; one that is dropped leaves what the model itself sets.

    >>> changes = {"temperature": DROPPED, "max_tokens": "max_new_tokens"}
    >>> adjusted(object(), {"temperature": 0, "max_tokens": 9}, changes, ())[1]
    {'max_new_tokens': 9}
    """
    thinks = bool(getattr(model, "limits_thinking", False))
    if not changes and not thinks:
        return model, dict(parameters)
    changed = {}
    for name, value in parameters.items():
        to = changes.get(name, name)
        if to != DROPPED:
            limits_thinking = to == "max_completion_tokens" != name or (thinks and name in LIMIT_NAMES)
            roomy = limits_thinking and name in optional and type(value) is int
            changed[to] = value + THINKING_TOKENS if roomy else value
    own = ModelInfo.of(model).parameters
    renamed = {to: name for name, to in changes.items() if name in own and to not in {DROPPED, name}}
    if (
        not renamed
        or not is_dataclass(model)
        or isinstance(model, type)
        or "parameters" not in {field.name for field in fields(model)}
    ):
        return model, changed
    kept = {changes[name] if name in renamed.values() else name: value for name, value in own.items()}
    return replace(model, parameters=kept), changed
