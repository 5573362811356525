"""The effective configuration: every key with its value and origin."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from steelyard.building.build import own_entries
from steelyard.building.keys import keys_of, keys_of_kind
from steelyard.building.nodes import Node
from steelyard.errors import Location
from steelyard.plain_json import json_value
from steelyard.registry import Kind, find, name_of


@dataclass(frozen=True, slots=True)
class Setting:
    """One key in effect.

    Args:
        key: its dotted path.
        value: plain JSON; a secret stays the reference that was written.
        location: where it was written; None if it is a default.
    """

    key: str
    value: Any
    location: Location | None

    @property
    def origin(self) -> str:
        """`exam.yaml:7`, or `default`."""
        if self.location is None:
            return "default"
        line = f":{self.location.line}" if self.location.line else ""
        return f"{Path(self.location.file).name}{line}"


def settings(value: Any, node: Node | None, key: str = "") -> Iterator[Setting]:
    """List every key of a built value, including keys left to their defaults.

    Args:
        value: what was built.
        node: the node it was built from; None if nothing was written.
        key: the path so far.
    """
    if hasattr(value, "described"):
        yield from _of_wrapped(value.described(), node, key)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _of_fields(value, node, key)
    elif isinstance(value, Mapping) and value:
        for name, member in value.items():
            entry = node.entries.get(str(name)) if node else None
            yield from settings(member, entry.node if entry else None, _joined(key, str(name)))
    elif isinstance(value, tuple | list) and any(dataclasses.is_dataclass(element) for element in value):
        nodes: Sequence[Any] = node.value if node is not None and isinstance(node.value, tuple) else [None] * len(value)
        for index, (element, element_node) in enumerate(zip(value, nodes, strict=False)):
            yield from settings(element, element_node, f"{key}[{index}]")
    else:
        yield Setting(key, json_value(value), node.location if node is not None else None)


def _of_fields(value: Any, node: Node | None, key: str) -> Iterator[Setting]:
    cls: type = type(value)
    registered: Iterator[tuple[Kind, str]] = ((kind, name) for kind in get_args(Kind) if (name := name_of(kind, cls)))
    kind, name = next(registered, (None, "")) if key else (None, "")
    path = _joined(key, name)
    entries = node.entries if node is not None else {}
    if node is not None and kind is not None and name in entries:
        entries = own_entries(name, node, keys_of_kind(kind, cls), cls)
    names = keys_of(cls)
    if not names:
        yield Setting(path, None, node.location if node is not None else None)
    for field in names:
        entry = entries.get(field)
        yield from settings(getattr(value, field), entry.node if entry else None, _joined(path, field))


def _of_wrapped(described: Any, node: Node | None, key: str) -> Iterator[Setting]:
    """Every key of a scorer with keys that all scorers take, as it is written."""
    ((name, fields),) = described.items()
    cls = find("scorer", name)
    entries = own_entries(name, node, keys_of_kind("scorer", cls), cls) if node and name in node.entries else {}
    for field, written in fields.items():
        entry = entries.get(field)
        yield Setting(_joined(_joined(key, name), field), written, entry.node.location if entry else None)


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key and name else key or name
