"""YAML 1.2 text to nodes, from ruamel.yaml's events.

Events rather than ruamel's own composer: limits then hold while reading, and the core schema of YAML 1.2 (section
10.3.2 of its specification) is applied here whatever a `%YAML` line asks for, so `no` and `on` stay texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from steelyard.config.positions import MAX_DEPTH, Entry, Node, Source, Weight, finite, size, whole_text
from steelyard.errors import ConfigError, Place

MAX_ALIASES: Final = 100
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INT: Final = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_CORE_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")
)
# The scanner of ruamel.yaml is quadratic in the length of a tag or directive: 4 MB would take three minutes.
_LONG_TAG: Final = re.compile(r"(?:^|[\s,\[{])!\S{1000}|^%[^\n]{200}", re.MULTILINE)


def parse(text: str, source: Source) -> Node:
    """The tree of the one document in `text`.

    Raises:
        ConfigError: not YAML, or more than plain data: tags, duplicate keys, several documents, alias bombs.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    long_tag = _LONG_TAG.search(text)
    if long_tag:
        line = text.count("\n", 0, long_tag.start()) + 1
        raise ConfigError("a tag or directive stands here; a configuration is plain data", Place(source.file, line))
    try:
        return _Composer(source, YAML(typ="safe", pure=True).parse(text)).document()
    except YAMLError as error:
        raise ConfigError(_message(error), _place_of(error, text, source)) from error
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError) as error:
        # ruamel.yaml 0.19 leaks these for a few malformed escapes and directives.
        raise ConfigError(f"this is not YAML that can be read ({error})", Place(source.file)) from error


def _message(error: Any) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).partition("\n")[0]
    context = getattr(error, "context", None)
    hint = "; a text with ': ' in it needs quotes" if "mapping values" in problem else ""
    return f"not valid YAML: {problem}{f' ({context})' if context else ''}{hint}"


def _place_of(error: Any, text: str, source: Source) -> Place:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return source.place(mark.line + 1, mark.column + 1)
    position = getattr(error, "position", None)
    if isinstance(position, int):
        before = text[:position]
        return source.place(before.count("\n") + 1, len(before) - before.rfind("\n"))
    return Place(source.file)


@dataclass(slots=True)
class _Composer:
    """Builds nodes from one stream of events."""

    source: Source
    events: Iterator[Any]
    anchors: dict[str, Node] = field(default_factory=dict)
    aliases: int = 0
    depth: int = 0
    weight: Weight = field(default_factory=Weight)

    def document(self) -> Node:
        next(self.events)
        begin = next(self.events)
        if type(begin).__name__ != "DocumentStartEvent":
            raise ConfigError("the file is empty", Place(self.source.file))
        root = self.node(next(self.events))
        next(self.events)
        after = next(self.events)
        if type(after).__name__ == "DocumentStartEvent":
            raise ConfigError("a second document begins here; a configuration is one", self.place(after))
        return root

    def place(self, event: Any) -> Place:
        return self.source.place(event.start_mark.line + 1, event.start_mark.column + 1)

    def node(self, event: Any) -> Node:
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self.alias(event)
        self.weight.add(1, partial(self.place, event))
        if event.tag is not None and event.tag not in _CORE_TAGS:
            raise ConfigError(f"the tag {event.tag} is not allowed; a configuration is plain data", self.place(event))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ConfigError(f"nested more than {MAX_DEPTH} deep", self.place(event))
        value: Any
        raw = ""
        if kind == "ScalarEvent":
            value, raw = self.scalar(event)
        else:
            value = self.sequence() if kind == "SequenceStartEvent" else self.mapping()
        self.depth -= 1
        node = Node(value, self.source, event.start_mark.line + 1, event.start_mark.column + 1, raw)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def alias(self, event: Any) -> Node:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise ConfigError(f"more than {MAX_ALIASES} aliases", self.place(event))
        if event.anchor not in self.anchors:
            raise ConfigError(f"no anchor &{event.anchor} stands before this", self.place(event))
        node = self.anchors[event.anchor]
        self.weight.add(size(node), partial(self.place, event))
        return node

    def scalar(self, event: Any) -> tuple[Any, str]:
        place = partial(self.place, event)
        text = whole_text(event.value, place)
        if not event.implicit[0] and event.tag in {None, "tag:yaml.org,2002:str"}:
            return text, ""
        value, raw = resolved(text)
        return (finite(value, place) if isinstance(value, float) else value), raw

    def sequence(self) -> tuple[Node, ...]:
        nodes = []
        while type(event := next(self.events)).__name__ != "SequenceEndEvent":
            nodes.append(self.node(event))
        return tuple(nodes)

    def mapping(self) -> Mapping[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        while type(event := next(self.events)).__name__ != "MappingEndEvent":
            key = self.key(event)
            node = self.value_of(key)
            if key.value == "<<" and event.implicit[0]:
                merged = {**merged_entries(node, key), **merged}
                continue
            if key.value in entries:
                first = entries[key.value].key.line
                message = f"the key {key.value!r} stands here for the second time; first in line {first}"
                raise ConfigError(message, key.place)
            entries[key.value] = Entry(key, node)
        return {**merged, **entries}

    def value_of(self, key: Node) -> Node:
        """What follows `key`; nothing at all has the key's place, since its own is wherever the next thing begins."""
        event = next(self.events)
        node = self.node(event)
        missing = node.value is None and getattr(event, "value", None) == ""
        return key.with_value(None) if missing else node

    def key(self, event: Any) -> Node:
        place = partial(self.place, event)
        if type(event).__name__ != "ScalarEvent" or event.tag is not None:
            raise ConfigError("a key must be a plain text", place())
        self.weight.add(1, place)
        if not event.value:
            raise ConfigError("a key is missing before ':'", place())
        text = whole_text(event.value, place)
        return Node(text, self.source, event.start_mark.line + 1, event.start_mark.column + 1)


def merged_entries(node: Node, key: Node) -> Mapping[str, Entry]:
    """What `<<:` brings in; the first of several mappings wins."""
    nodes = node.value if isinstance(node.value, tuple) else (node,)
    if not all(isinstance(one.value, Mapping) for one in nodes):
        raise ConfigError("'<<' takes a mapping or a list of mappings", key.place)
    return {key: entry for one in reversed(nodes) for key, entry in one.value.items()}


def resolved(text: str) -> tuple[Any, str]:
    """A plain scalar as the core schema of YAML 1.2 reads it, and how it was written where it is no text.

    >>> resolved("no"), resolved("0x10"), resolved("~")
    (('no', ''), (16, '0x10'), (None, ''))
    """
    if text in _NULLS:
        return None, ""
    if text in _BOOLS:
        return _BOOLS[text], text
    if _INT.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10)), text
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan")), text
    return text, ""
