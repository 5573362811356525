"""What is wrong with a store, place by place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from steelyard.errors import StoreError

_MOST: Final = 1000
"""Places that are remembered; all are counted."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong.

    Args:
        what: says it.
        run: the run's id; "" where it is of none, or of several.
        sample: the sample's id; likewise.
        repeat: of the sample.
    """

    what: str
    run: str = ""
    sample: str = ""
    repeat: int = 0

    def __str__(self) -> str:
        """The place and what is wrong there, for a person."""
        place = [f"run {self.run}"] if self.run else []
        place += [f"sample {self.sample}"] if self.sample else []
        place += [f"repeat {self.repeat}"] if self.repeat else []
        return f"{', '.join(place)}: {self.what}" if place else self.what

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"run": self.run, "sample": self.sample, "repeat": self.repeat, "what": self.what}


@dataclass(slots=True)
class Verdict:
    """What was looked at, and what was found.

    Attributes:
        counts: what was looked at -> how many.
        damages: the first thousand things that are wrong.
        found: how many there are in all.
        notes: what could not be looked at, and why.
    """

    counts: Counter[str] = field(default_factory=Counter)
    damages: list[Damage] = field(default_factory=list)
    found: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.found

    def add(self, what: str, **place: Any) -> None:
        """Count something that is wrong."""
        self.found += 1
        if len(self.damages) < _MOST:
            self.damages.append(Damage(what, **place))

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Count it as damage where the database itself cannot read on."""
        try:
            yield
        except (SQLAlchemyError, StoreError, UnicodeDecodeError) as error:
            said = getattr(error, "orig", None) or error
            self.add(f"{what} cannot be read: {' '.join(str(said).split())}")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "sound": self.is_sound,
            "looked_at": dict(self.counts),
            "found": self.found,
            "damages": [one.to_json() for one in self.damages],
            "notes": self.notes,
        }
