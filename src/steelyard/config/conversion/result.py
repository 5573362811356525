"""What a conversion gives: a configuration, its dataset, and what could not be taken over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from steelyard.building.nodes import Node
from steelyard.config.conversion.yaml_text import block, comment, quoted

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
        lines = [*comment(f"Converted from {quoted(source)}. Review it, then: steelyard check THIS_FILE")]
        for note in self.notes.lines():
            lines += comment(f"Not taken over: {note}")
        samples = {"samples": {"file": dataset, **({"columns": dict(self.columns)} if self.columns else {})}}
        return "\n".join([*lines, "", *block({**(samples if self.rows else {}), **self.configuration})]) + "\n"

    def dataset(self) -> str:
        """The rows as JSON lines."""
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows)
