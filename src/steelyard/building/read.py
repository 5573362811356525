r"""Reads a configuration file to nodes: YAML 1.2 and JSON from ruamel.yaml's events, TOML in `toml_text`.

Events rather than ruamel's own composer: limits then hold while reading, and the core schema of YAML 1.2 (section
10.3.2 of its specification) is applied here whatever a `%YAML` line asks for, so `no` and `on` stay texts.

JSON is read twice: the standard library rejects invalid JSON, then the same events give the positions. Two things that
JSON allows are rejected because the YAML parser does not accept them: a line break between a key and its colon, and a
key of more than 1,024 characters.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from steelyard.building.nodes import MAX_DEPTH, MappingEntry, Node, SourceFile, Weight, finite, size, whole_text
from steelyard.building.toml_text import parse_toml
from steelyard.errors import ConfigError, Location
from steelyard.files import read_regular

MAX_BYTES: Final = 5_000_000
MAX_ALIASES: Final = 100
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INT: Final = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_LONG_INT: Final = re.compile(r"-?[0-9]{301,}")  # nobody writes such a number on purpose; YAML would make it a float
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_CORE_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")
)
# The scanner of ruamel.yaml is quadratic in the length of a tag or directive: 4 MB would take three minutes.
_LONG_TAG: Final = re.compile(r"(?:^|[\s,\[{])!\S{1000}|^%[^\n]{200}", re.MULTILINE)
_NOT_PLAIN_ASCII: Final = re.compile(r"[^\x20-\x7e\t\r\n]")


def read(path: Path) -> tuple[str, Node]:
    """Read a configuration file: its text and its tree.

    Raises:
        ConfigError: the file cannot be read, is not UTF-8, or is not one plain YAML, JSON or TOML document.
    """
    file = str(path)
    try:
        data = read_regular(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            message = f"larger than {MAX_BYTES // 1_000_000} MB; samples belong in a file of their own"
            raise ConfigError(message, Location(file)) from error
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot be read: {reason}", Location(file)) from error
    text = decoded(data, file)
    return text, parse(text, file)


def decoded(data: bytes, file: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Raises:
        ConfigError: another encoding, or a NUL byte.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError("this is UTF-16; save the file as UTF-8", Location(file, 1, 1))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise ConfigError(message, Location(file, line)) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ConfigError("a NUL byte; this is not a text file", Location(file, line))
    return text


def parse(text: str, file: str) -> Node:
    """Parse one document by its file extension: `.json`, `.toml`, anything else as YAML.

    Raises:
        ConfigError: with the position of the mistake.
    """
    source = SourceFile(file, tuple(_LINE_END.split(text)))
    if file.lower().endswith(".json"):
        return _parse_json(text, source)
    if file.lower().endswith(".toml"):
        return parse_toml(text, source)
    # Parse YAML; tags, duplicate keys, several documents and alias bombs are rejected.
    long_tag = _LONG_TAG.search(text)
    if long_tag:
        line = text.count("\n", 0, long_tag.start()) + 1
        raise ConfigError("a tag or directive; a configuration is plain data", Location(source.file, line))
    return _nodes_of_events(text, source)


def _parse_json(text: str, source: SourceFile) -> Node:
    """Parse JSON (RFC 8259); NaN, half surrogate pairs and, as in every format, duplicate keys are rejected."""
    if not text.strip():
        raise ConfigError("the file is empty", Location(source.file))
    try:
        # Numbers stay text here: one that is too long is rejected later, with its position.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        message = f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise ConfigError(message, _location_at(error.pos, text, source)) from error
    except RecursionError:
        pass  # too deep: the event reader stops at MAX_DEPTH and reports the position
    # In valid JSON, characters other than ASCII occur only in strings, which the standard library decodes from the
    # original text. They are replaced for the YAML parser, which forbids some of them and takes others for line ends;
    # tabs, which occur only outside of strings, become spaces.
    shape = _NOT_PLAIN_ASCII.sub("_", text).replace("\t", " ")
    return _nodes_of_events(shape, source, json_text=text)


def _nodes_of_events(text: str, source: SourceFile, json_text: str | None = None) -> Node:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return _Composer(source, YAML(typ="safe", pure=True).parse(text), json_text).document()
    except YAMLError as error:
        kind = "YAML" if json_text is None else "JSON"
        raise ConfigError(_message(error, kind), _location_of(error, text, source)) from error
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError) as error:
        # ruamel.yaml 0.19 leaks these for a few malformed escapes and directives.
        raise ConfigError(f"not valid YAML ({error})", Location(source.file)) from error


def _message(error: Any, kind: str) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).partition("\n")[0]
    if "'\\t'" in problem:
        return f"not valid {kind}: there is a tab here; {kind} is indented by spaces only, so replace it by spaces"
    context = getattr(error, "context", None)
    hint = "; a text with ': ' in it needs quotes" if "mapping values" in problem else ""
    return f"not valid {kind}: {problem}{f' ({context})' if context else ''}{hint}"


def _location_of(error: Any, text: str, source: SourceFile) -> Location:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return source.location(mark.line + 1, mark.column + 1)
    position = getattr(error, "position", None)
    return _location_at(position, text, source) if isinstance(position, int) else Location(source.file)


def _location_at(offset: int, text: str, source: SourceFile) -> Location:
    lines = _LINE_END.split(text[:offset])
    return source.location(len(lines), len(lines[-1]) + 1)


@dataclass(slots=True)
class _Composer:
    """Builds nodes from one stream of events; `json_text` is the original text if the file is JSON."""

    source: SourceFile
    events: Iterator[Any]
    json_text: str | None
    anchors: dict[str, Node] = field(default_factory=dict)
    aliases: int = 0
    depth: int = 0
    weight: Weight = field(default_factory=Weight)

    def document(self) -> Node:
        next(self.events)
        begin = next(self.events)
        if type(begin).__name__ != "DocumentStartEvent":
            raise ConfigError("the file is empty", Location(self.source.file))
        root = self.node(next(self.events))
        next(self.events)
        after = next(self.events)
        if type(after).__name__ == "DocumentStartEvent":
            raise ConfigError("a second document begins here; a configuration is one document", self.location(after))
        return root

    def location(self, event: Any) -> Location:
        return self.source.location(event.start_mark.line + 1, event.start_mark.column + 1)

    def node(self, event: Any) -> Node:
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self.alias(event)
        self.weight.add(1, partial(self.location, event))
        if event.tag is not None and event.tag not in _CORE_TAGS:
            raise ConfigError(
                f"the tag {event.tag} is not allowed; a configuration is plain data", self.location(event)
            )
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ConfigError(f"nested more than {MAX_DEPTH} deep", self.location(event))
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
            raise ConfigError(f"more than {MAX_ALIASES} aliases", self.location(event))
        if event.anchor not in self.anchors:
            raise ConfigError(f"there is no anchor &{event.anchor} before this", self.location(event))
        node = self.anchors[event.anchor]
        self.weight.add(size(node), partial(self.location, event))
        return node

    def text(self, event: Any) -> str:
        """The text of a scalar."""
        text = event.value
        if self.json_text is not None and not event.implicit[0]:
            text = json.loads(self.json_text[event.start_mark.index : event.end_mark.index])
        return whole_text(text, partial(self.location, event))

    def scalar(self, event: Any) -> tuple[Any, str]:
        text = self.text(event)
        if not event.implicit[0] and event.tag in {None, "tag:yaml.org,2002:str"}:
            return text, ""
        value, raw = resolved(text)
        if self.json_text is not None and (isinstance(value, str) or _LONG_INT.fullmatch(text)):
            raise ConfigError(f"not valid JSON: {text[:40]!r} is not a JSON value", self.location(event))
        return (finite(value, partial(self.location, event)) if isinstance(value, float) else value), raw

    def sequence(self) -> tuple[Node, ...]:
        nodes = []
        while type(event := next(self.events)).__name__ != "SequenceEndEvent":
            nodes.append(self.node(event))
        return tuple(nodes)

    def mapping(self) -> Mapping[str, MappingEntry]:
        entries: dict[str, MappingEntry] = {}
        merged: dict[str, MappingEntry] = {}
        while type(event := next(self.events)).__name__ != "MappingEndEvent":
            key = self.key(event)
            node = self.value_of(key)
            if key.value == "<<" and event.implicit[0]:
                merged = {**merged_entries(node, key), **merged}
                continue
            if key.value in entries:
                first = entries[key.value].key.line
                raise ConfigError(f"the key {key.value!r} is given twice; first in line {first}", key.location)
            entries[key.value] = MappingEntry(key, node)
        return {**merged, **entries}

    def value_of(self, key: Node) -> Node:
        """The value after `key`; a missing one gets the key's position, as YAML reports that of the next token."""
        event = next(self.events)
        node = self.node(event)
        missing = node.value is None and getattr(event, "value", None) == ""
        return key.with_value(None) if missing else node

    def key(self, event: Any) -> Node:
        locate = partial(self.location, event)
        if type(event).__name__ != "ScalarEvent" or event.tag is not None:
            raise ConfigError("a key must be a plain text", locate())
        self.weight.add(1, locate)
        text = self.text(event)
        if not text:
            raise ConfigError("a key is missing before ':'", locate())
        return Node(text, self.source, event.start_mark.line + 1, event.start_mark.column + 1)


def merged_entries(node: Node, key: Node) -> Mapping[str, MappingEntry]:
    """The entries merged by `<<:`; the first of several mappings wins."""
    nodes = node.value if isinstance(node.value, tuple) else (node,)
    if not all(isinstance(mapping.value, Mapping) for mapping in nodes):
        raise ConfigError("'<<' takes a mapping or a list of mappings", key.location)
    return {name: entry for mapping in reversed(nodes) for name, entry in mapping.value.items()}


def resolved(text: str) -> tuple[Any, str]:
    """The value of a plain scalar in the core schema of YAML 1.2, and its original text if it is not a text.

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
