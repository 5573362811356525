"""Reads JSON as models write it: fenced, with single quotes or trailing commas, or broken off in the middle.

One scanner keeps the open brackets, so that values before a break are read, and each value knows its position. It
accepts every valid JSON value; what is not JSON at all gives nothing and never an error. `read_json` is the strict
reading: the whole text, a fenced block, or the one value with words around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from steelyard.replies.clean import unfenced, without_reasoning

_OPENING: Final = re.compile(r"\{\s{0,40}(?:[\"'][^\"'\n]{1,80}[\"']|[A-Za-z_]\w{0,40})\s{0,40}:")
_BEGUN: Final = re.compile(rf"(?:\[\s{{0,40}})?{_OPENING.pattern}")
_TOKEN: Final = re.compile(
    r"\s*+(?:(?P<open>[{\[])|(?P<close>[}\]])|(?P<colon>:)|(?P<comma>,)"
    r"|\"(?P<double>(?:[^\"\\]++|\\.|\"(?!\s{0,9}[,:}\]]|\s{0,99}+\Z))*+)(?:\"|\Z)"
    r"|(?<!\w)'(?P<single>(?:[^'\\]++|\\.|'(?!\s{0,9}[,:}\]]|\s{0,99}+\Z))*+)(?:'|\Z)"
    r"|(?P<bare>[^\s{}\[\],:\"']++)|\Z)",
    re.DOTALL,
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "none": None}
_NUMBER: Final = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?\Z")
_BRACKETS: Final = {"{": "object", "[": "list"}
_MOST_DEPTH: Final = 30
_MOST_OBJECTS: Final = 20
_MOST_TOKENS: Final = 10_000
_MOST_CHARACTERS: Final = 100_000
"""Of all values together; a quotation mark within a text costs as much as a token."""
_MOST_TOKENS_OF_OBJECTS: Final = 2_000
"""Of one object in prose, which a longer list or table is not."""


@dataclass(slots=True)
class JsonValue:
    """A value and its position in the text.

    Args:
        value: a text, a number, True, False or None; None for an object or a list, whose values are `items`.
        start: where it begins in the text, without its quotes.
        end: where it ends.
        kind: `object`, `list`, `text` or `plain`.
        closed: whether its closing bracket or quote is present.
        items: the values of an object by their keys, as they are written, or those of a list by "".
    """

    value: Any
    start: int
    end: int
    kind: str
    closed: bool = True
    items: list[tuple[str, JsonValue]] = field(default_factory=list)

    def entries(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
        """Every text and plain value below this one, each with the keys that lead to it, in order."""
        for key, item in self.items:
            below = (*path, key) if key else path
            if item.kind in {"object", "list"}:
                yield from item.entries(below)
            else:
                yield below, item

    def keyed(self) -> dict[str, Any]:
        """The values of an object by their plain keys."""
        return {plain_key(key): item.python() for key, item in self.items}

    def item(self, key: str) -> JsonValue:
        """The value under a plain key, in this object or one within it; the object itself where there is none."""
        for name, item in self.items:
            if plain_key(name) == key:
                return item
        inner = [item.item(key) for _, item in self.items if item.kind == "object"]
        return next((item for item in inner if item.kind != "object"), self)

    def python(self) -> Any:
        """Convert to dicts, lists and plain values."""
        if self.kind == "object":
            return {key: item.python() for key, item in self.items}
        return [item.python() for _, item in self.items] if self.kind == "list" else self.value


def json_objects(text: str) -> tuple[JsonValue, ...]:
    r"""The objects in `text`, in order; of one that breaks off, what stands before the break.

    >>> [value.python() for value in json_objects("so: {'answer': 'B', 'why': {'a': 1}}. {\"reason\": \"it br")]
    [{'answer': 'B', 'why': {'a': 1}}, {'reason': 'it br'}]
    """
    objects: list[JsonValue] = []
    position, budget = 0, _MOST_CHARACTERS
    while len(objects) < _MOST_OBJECTS and budget > 0 and (match := _OPENING.search(text, position)) is not None:
        value = json_at(text, match.start(), most=_MOST_TOKENS_OF_OBJECTS, within=budget)
        objects.append(value)
        position = max(value.end, match.end())
        budget -= position - match.start()
    return tuple(objects)


def json_at(text: str, start: int, *, most: int = _MOST_TOKENS, within: int = _MOST_CHARACTERS) -> JsonValue:
    """The object or list whose bracket is at `start`, from its first `most` tokens and `within` characters."""
    scan = _OpenBrackets(JsonValue(None, start, len(text), _BRACKETS[text[start]], closed=False), len(text))
    for match in islice(_TOKEN.finditer(text, start + 1, start + within), most):
        kind = match.lastgroup
        if kind is None:  # blanks, and then the end
            break
        if kind == "open":
            scan.open(match)
        elif kind == "close":
            scan.close(match)
        elif kind == "colon":
            scan.key, scan.waiting = scan.waiting, ""
        elif kind == "comma":
            scan.key, scan.waiting = "", ""
        else:
            scan.value(_plain(match, kind), match[kind])
        if not scan.stack:
            break
    return scan.root


class _OpenBrackets:
    """The open brackets of one value, and the key that waits for its value."""

    def __init__(self, root: JsonValue, length: int) -> None:
        self.root = root
        self.stack = [root]
        self.length = length
        self.key = ""
        self.waiting = ""  # a text that is a key if a colon follows

    def open(self, match: re.Match[str]) -> None:
        """An inner object or list; one nested too deeply is read as if its brackets were not there."""
        if len(self.stack) < _MOST_DEPTH:
            inner = JsonValue(None, match.start("open"), self.length, _BRACKETS[match["open"]], closed=False)
            self.stack[-1].items.append((self.key, inner))
            self.stack.append(inner)
        self.key = self.waiting = ""

    def close(self, match: re.Match[str]) -> None:
        """The end of the innermost value, whichever bracket closes it."""
        innermost = self.stack.pop()
        innermost.end, innermost.closed = match.end(), True
        self.key = self.waiting = ""

    def value(self, value: JsonValue, written: str) -> None:
        """A text, number or word: a value where a key or a list waits for one, else perhaps a key."""
        top = self.stack[-1]
        if top.kind == "list" or self.key:
            top.items.append((self.key, value))
            self.key = ""
        else:
            self.waiting = str(value.value) if value.kind == "text" else written


def _plain(match: re.Match[str], kind: str) -> JsonValue:
    written = match[kind]
    if kind == "bare":
        lowered = written.lower()
        if lowered in _CONSTANTS:
            return JsonValue(_CONSTANTS[lowered], *match.span(kind), "plain")
        value: Any = written
        if _NUMBER.match(written):
            value = float(written) if set(written) & set(".eE") else int(written)
        return JsonValue(value, *match.span(kind), "plain")
    closed = match.end() > match.end(kind)
    return JsonValue(_unescaped(written), *match.span(kind), "text", closed)


def _unescaped(written: str) -> str:
    if "\\" not in written:
        return written
    try:
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return written.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")


def said_in(
    values: Mapping[str, Any], tiers: Sequence[Iterable[str]], read: Callable[[str, Any], str]
) -> tuple[str, str] | None:
    """The key and the label of the verdict in an object; the label "" where several contradict each other.

    Args:
        values: the object, by plain keys.
        tiers: keys that outweigh all others, the strongest first.
        read: the label of a value under a key, "" where it is none.
    """
    labels = {key: label for key, value in values.items() if (label := read(key, value))}
    for tier in tiers:
        tier_labels = {key: labels[key] for key in tier if key in labels}
        if tier_labels:
            return _agreed(tier_labels)
    if labels:
        return _agreed(labels)
    inner = {
        plain_key(str(key)): inner_value
        for value in values.values()
        if isinstance(value, Mapping)
        for key, inner_value in value.items()
    }
    labels = {key: label for key, value in inner.items() if (label := read(key, value))}
    return _agreed(labels) if labels else None


def _agreed(labels: Mapping[str, str]) -> tuple[str, str]:
    key = next(iter(labels))
    return key, labels[key] if len(set(labels.values())) == 1 else ""


def plain_key(key: str) -> str:
    """A key as it is compared: in lower case, without blanks, hyphens and underscores.

    >>> plain_key("Final_Verdict ")
    'finalverdict'
    """
    return re.sub(r"[\s_\-*]", "", key.lower())


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
    value, problem = read_plain_json(unfenced(text).strip())
    if not problem:
        return value, ""
    values = values_in(text) if around else []
    if any(value != values[0] for value in values):
        return None, "several JSON values that differ"
    return (values[0], "") if values else (None, problem)


def read_plain_json(text: str) -> tuple[Any, str]:
    """The value of a text that is JSON and nothing else, and the problem where it is not."""
    if not text:
        return None, "the output is empty"
    try:
        return _decoder.decode(text), ""
    except (ValueError, RecursionError) as error:
        return None, f"no JSON: {'nested too deep' if isinstance(error, RecursionError) else error}"


def values_in(text: str) -> list[Any]:
    """The objects and lists that stand in a text, in order; what is inside of another one, also a broken one, is not.

    >>> values_in('{"person": {"name": "Ann"},} and {"name": "Bo"}')
    [{'name': 'Bo'}]
    """
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
            at = json_at(text, at).end if _BEGUN.match(text, at) else at + 1
            continue
        # A list without an object in it is more often a citation or an aside than an answer: `[1]`.
        if isinstance(value, dict) or any(isinstance(entry, dict) for entry in value):
            values.append(value)
    return values


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is not a value of JSON")


_decoder: Final = json.JSONDecoder(parse_constant=_no_json)
