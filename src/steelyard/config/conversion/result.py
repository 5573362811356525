"""What a conversion gives: a configuration as commented YAML, its dataset, and what could not be taken over.

Values stand on one line as JSON, long texts as blocks, mappings and lists of mappings by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from steelyard.building.nodes import Node
from steelyard.escaping import printable
from steelyard.prompts.template import placeholders

SECRET: Final = re.compile(r"key|token|secret|password", re.IGNORECASE)
"""Keys whose values are never copied or shown."""
_SHORT: Final = 60
_WORD: Final = re.compile(r"[A-Za-z_][\w-]*")
_NO_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def block(value: Any, indent: str = "") -> Iterator[str]:
    r"""Lines of YAML for a mapping: long texts as blocks, lists of mappings one a line, anything else as JSON.

    >>> print("\n".join(block({"prompts": "Name the label:\n\n{{text}}", "scorers": [{"length": 25}]})))
    prompts: |-
      Name the label:
    <BLANKLINE>
      {{text}}
    scorers:
      - {"length": 25}
    """
    for name, member in value.items():
        head = f"{indent}{key_text(str(name))}:"
        if isinstance(member, Mapping) and member and (len(flow(member)) > _SHORT or "\\n" in flow(member)):
            yield head
            yield from block(member, f"{indent}  ")
        elif isinstance(member, list) and any(isinstance(part, Mapping) for part in member):
            yield head
            yield from (f"{indent}  - {flow(part)}" for part in member)
        elif isinstance(member, str) and _is_block(member):
            yield f"{head} |-"
            yield from (f"{indent}  {line}" if line else "" for line in member.split("\n"))
        else:
            yield f"{head} {flow(member)}"


def _is_block(text: str) -> bool:
    lines = text.split("\n")
    return len(lines) > 1 and bool(lines[0] and lines[-1]) and all(map(fits_block, lines))


def quoted(text: str) -> str:
    """A text in quotation marks, for a comment."""
    return flow(str(text))


def comment(text: str, indent: str = "") -> str:
    """A comment of one line."""
    return f"{indent}# {printable(text)}"


def fits_block(line: str) -> bool:
    """Whether a YAML block can hold a line unchanged; U+3000, which indents Chinese text, is not a space in YAML."""
    return not line.startswith(" ") and line.replace("\u3000", "").isprintable()


def escaped(text: str) -> str:
    """Escape plain text that looks like one of our placeholders, so that it stays text."""
    for _, start in reversed(placeholders(text)):
        end = text.index("}}", start) + 2
        text = f"{text[:start]}{{{{{text[start:end]}}}}}{text[end:]}"
    return text


def flow(value: Any) -> str:
    """`value` as JSON, which is valid YAML, with unprintable characters escaped.

    >>> flow({"a": ["乾", None, 0.5]})
    '{"a": ["乾", null, 0.5]}'
    """
    return printable(json.dumps(value, ensure_ascii=False))


def key_text(name: str) -> str:
    """`name` as a key: without quotes if every YAML parser reads it as a text.

    >>> key_text("top_k"), key_text("no"), key_text("a b")
    ('top_k', '"no"', '"a b"')
    """
    return name if _WORD.fullmatch(name) and name.isascii() and name.lower() not in _NO_WORDS else flow(name)


def shown(name: str, value: Any) -> str:
    """The value of the key `name` for a comment, on one line; the value of a secret is never shown.

    >>> shown("note", {"api_key": "sk-1", "n": 1})
    '{"api_key": (a secret, not copied), "n": 1}'
    """
    if SECRET.search(name):
        return "(a secret, not copied)"
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{flow(str(inner))}: {shown(str(inner), member)}" for inner, member in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(shown("", element) for element in value) + "]"
    return flow(value)


MOST_ROWS: Final = 100_000
_SHOWN: Final = 200


@dataclass(slots=True)
class Notes:
    """What was not taken over, each with its place; equal ones are counted."""

    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, text: str, at: Node) -> None:
        """Note something at a place of the foreign file."""
        location = at.location
        self.places.setdefault(text, []).append(f"{location.file}:{location.line}" if location.line else location.file)

    def rename(self, pattern: str, name: str) -> None:
        """Replace what a pattern finds in all places, where a file was read in the shape of another tool's."""
        for text, places in self.places.items():
            self.places[text] = [re.sub(pattern, name, at) for at in places]

    def lines(self) -> Iterator[str]:
        """One line for each, with its first place and how many more there are."""
        for text, places in [*self.places.items()][:_SHOWN]:
            distinct = [*dict.fromkeys(places)]
            more = f" and {len(distinct) - 1} more" if len(distinct) > 1 else ""
            yield f"{distinct[0]}{more}: {text}"
        if len(self.places) > _SHOWN:
            yield f"and {len(self.places) - _SHOWN} more"


@dataclass(frozen=True, slots=True)
class Converted:
    """A configuration in the making.

    Args:
        configuration: its keys, without `samples` where `rows` are written.
        rows: the dataset, one object a line; empty: `configuration` names a file.
        columns: role -> column of the rows.
        notes: what was not taken over.
    """

    configuration: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    def text(self, source: str, dataset: str) -> str:
        """The configuration as commented YAML.

        Args:
            source: the name of the foreign file.
            dataset: the name of the file with the rows.
        """
        lines = [comment(f"Converted from {quoted(source)}. Review it, then: steelyard check THIS_FILE")]
        lines += [comment(f"Not taken over: {note}") for note in self.notes.lines()]
        samples = {"samples": {"file": dataset, **({"columns": dict(self.columns)} if self.columns else {})}}
        return "\n".join([*lines, "", *block({**(samples if self.rows else {}), **self.configuration})]) + "\n"

    def dataset(self) -> str:
        """The rows as JSON lines."""
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows)
