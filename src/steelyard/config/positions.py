"""A configuration as a tree whose every key and value knows its line and column.

YAML 1.2 (`no` is a text), JSON and TOML give the same tree. A file is data: no tags, no second meaning for a key, and
nothing in it can make reading slow or large (source of the list: the alias and tag attacks that YAML is known for).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, Place
from steelyard.text.secret_signs import masked

MAX_BYTES: Final = 5_000_000
MAX_NODES: Final = 50_000  # counted after aliases are followed; 20 µs each
MAX_DEPTH: Final = 40
_SHOWN_COLUMNS: Final = 200


@dataclass(frozen=True, slots=True)
class Source:
    """One file's name and lines; `lines` is empty where there is no text to show."""

    file: str
    lines: tuple[str, ...] = ()

    def place(self, line: int, column: int) -> Place:
        """The place to report, with its line made fit for a terminal; what looks like a written-out key is masked."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if column > _SHOWN_COLUMNS:
            return Place(self.file, line, column)
        visible = "".join(
            one if one.isprintable() else " " if one == "\t" else "�" for one in text[: _SHOWN_COLUMNS + 40]
        )
        return Place(self.file, line, column, masked(visible).rstrip())


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its place.

    Args:
        value: a scalar; a tuple of nodes; or a mapping of key to `Entry`.
        source: the file it came from.
        line: 1-based; 0 where there is no text.
        column: 1-based; 0 where there is no text.
        raw: a number or truth value as it was written (`1.10`), else empty.
    """

    value: Any
    source: Source
    line: int = 0
    column: int = 0
    raw: str = ""

    @property
    def place(self) -> Place:
        """Where it stands, as an error shows it."""
        return self.source.place(self.line, self.column)

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The entries of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, Mapping) else {}

    def with_value(self, value: Any) -> Node:
        """Another value at the same place."""
        return Node(value, self.source, self.line, self.column)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping, as a node of its own, and what it stands for."""

    key: Node
    node: Node


@dataclass(slots=True)
class Weight:
    """Counts nodes while a tree is built, so that a small file cannot become a large tree."""

    nodes: int = 0

    def add(self, count: int, place: Callable[[], Place]) -> None:
        """Count `count` more nodes; `place` is asked only when that is too many.

        Raises:
            ConfigError: the tree is too large.
        """
        self.nodes += count
        if self.nodes > MAX_NODES:
            raise ConfigError(f"too large: more than {MAX_NODES:,} values, counting what aliases repeat", place())


def size(node: Node) -> int:
    """How many nodes hang here, itself and what aliases repeat included."""
    if isinstance(node.value, Mapping):
        return 1 + sum(1 + size(entry.node) for entry in node.value.values())
    if isinstance(node.value, tuple):
        return 1 + sum(size(one) for one in node.value)
    return 1


def plain(node: Node) -> Any:
    """The value without its places, as JSON knows it.

    >>> plain(from_plain({"a": [1, {"b": None}]}, "memory"))
    {'a': [1, {'b': None}]}
    """
    if isinstance(node.value, Mapping):
        return {key: plain(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, tuple):
        return [plain(one) for one in node.value]
    return node.value


def from_plain(value: Any, file: str, path: str = "") -> Node:
    """A tree of values that come from no text; the place of each names its dotted path instead of a line."""
    source = Source(f"{file}, {path}" if path else file)
    if isinstance(value, Mapping):
        inner = {str(key): f"{path}.{key}" if path else str(key) for key in value}
        entries = {
            str(key): Entry(
                Node(str(key), Source(f"{file}, {inner[str(key)]}")), from_plain(one, file, inner[str(key)])
            )
            for key, one in value.items()
        }
        return Node(entries, source)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Node(tuple(from_plain(one, file, f"{path}[{number}]") for number, one in enumerate(value)), source)
    raw = "" if value is None or isinstance(value, str) else json.dumps(value)
    return Node(value, source, raw=raw)


def texts(node: Node) -> Iterator[Node]:
    """Every text that hangs here, keys left out, in the order of the file."""
    if isinstance(node.value, str):
        yield node
    elif isinstance(node.value, Mapping):
        for entry in node.value.values():
            yield from texts(entry.node)
    elif isinstance(node.value, tuple):
        for one in node.value:
            yield from texts(one)


def read(path: Path) -> tuple[str, Node]:
    """The text of a configuration file and its tree.

    Raises:
        ConfigError: the file cannot be read, is not UTF-8, or is not one plain YAML, JSON or TOML document.
    """
    file = str(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(
                f"larger than {MAX_BYTES // 1_000_000} MB; samples belong in a file of their own", Place(file)
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot be read: {reason}", Place(file)) from error
    text = decoded(data, file)
    return text, parse(text, file)


def decoded(data: bytes, file: str) -> str:
    """UTF-8, with or without a byte order mark.

    Raises:
        ConfigError: another encoding, or a NUL byte.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError("this is UTF-16; save the file as UTF-8", Place(file, 1, 1))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise ConfigError(message, Place(file, line)) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ConfigError("a NUL byte stands here; this is not a text file", Place(file, line))
    return text


def parse(text: str, file: str) -> Node:
    """The tree of one document; a file named `.json` is JSON, one named `.toml` TOML, any other YAML.

    Raises:
        ConfigError: with the place of what is wrong.
    """
    from steelyard.config import json_text, toml_text, yaml_text

    source = Source(file, tuple(re.split(r"\r\n|\r|\n", text)))
    if file.lower().endswith(".json"):
        return json_text.parse(text, source)
    if file.lower().endswith(".toml"):
        return toml_text.parse(text, source)
    return yaml_text.parse(text, source)


def whole_text(text: str, place: Callable[[], Place]) -> str:
    r"""`text` with the halves of surrogate pairs joined: JSON writes 😀 as `\ud83d\ude00`.

    Raises:
        ConfigError: half a pair stands alone.
    """
    if not any("\ud800" <= one <= "\udfff" for one in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise ConfigError("half a character: one \\uD800-\\uDFFF escape without its partner", place()) from error


def finite(number: float, place: Callable[[], Place]) -> float:
    """`number`, unless it is infinite or no number: neither is ever meant, and JSON cannot store them.

    Raises:
        ConfigError: it is.
    """
    if not math.isfinite(number):
        raise ConfigError("this is not a finite number", place())
    return number
