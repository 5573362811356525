"""Preference of people: their votes on pairs of answers, from a file, in a judge's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from steelyard.errors import ConfigError, did_you_mean
from steelyard.scorers.preference_sides import VALUES, Label, alike, sides_of
from steelyard.scorers.preference_votes import ROLES, Vote, read_rows, votes_on
from steelyard.types import Output, Sample, Score


@dataclass(frozen=True, slots=True)
class HumanPreference:
    """What people prefer, by a file of their votes: 1 for side A, 0 for side B, 0.5 for a tie.

    A row is one vote: the sample's id (or its question, word for word), who is preferred, and where the file says so
    who voted and on which pair. Preferred is the name of a target, `A` or `B` (the first and the second of the pair as
    the row names it, else as the suite does), or a word for a tie; a blank cell is no vote. Of several votes on a
    sample what more than half of them say holds; without such a majority it is a tie. A sample without a vote is not
    applicable, and so is a pair of which a side failed.

    Args:
        file: .csv, .tsv, .jsonl, .json or a sheet.
        columns: `id`, `preferred`, `annotator`, `first`, `second` -> column; what is left out is found by its header.
            With `first` and `second` one file serves several pairs.
        sides: the names of side A and side B; a suite fills them in. Empty: the votes say A and B.
        name: of the score.
    """

    inline: ClassVar[bool] = True
    over: ClassVar[str] = "scored"
    of_pairs: ClassVar[bool] = True

    file: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, ...] = ()
    name: str = "preference"

    @property
    def score_name(self) -> str:
        """The name given."""
        return self.name

    def check(self) -> None:
        """Read the file before anything is run; where the sides are known, every vote as well.

        Raises:
            ConfigError: no name, no such file, a role or column that there is not, or no vote on this pair.
            DataError: votes that cannot be counted, each with its file and line.
        """
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")
        for role in self.columns:
            if role not in ROLES:
                raise ConfigError(f"columns: a vote has no {role!r}{did_you_mean(role, ROLES)}")
        if self.sides and (len(self.sides) != 2 or self.sides[0] == self.sides[1]):
            raise ConfigError(f"sides: the names of two different sides, not {self.sides!r}")
        read_rows(Path(self.file), self.columns)
        if self.sides:
            self._votes()

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Count the votes on one pair."""
        sides = sides_of(self.name, output)
        if isinstance(sides, Score):
            return sides
        found = self._votes()
        keys = (sample.id, sample.input) if isinstance(sample.input, str) else (sample.id,)
        votes = next((found[key.strip()] for key in keys if key.strip() in found), ())
        if not votes:
            reason = f"{Path(self.file).name} holds no vote on this sample"
            return Score(self.name, None, outcome="not_applicable", reason=reason, detail={"by": "people"})
        label, reason = majority(votes)
        detail: dict[str, Any] = {"label": label, "by": "people", "votes": _counts(votes)}
        if any(vote.annotator for vote in votes):
            detail["voters"] = [{"annotator": vote.annotator, "verdict": vote.label} for vote in votes]
        if alike(sides):
            detail["alike"] = True
        detail["columns"] = {f"{self.name}_label": label, f"{self.name}_votes": reason}
        return Score(self.name, VALUES[label], reason=reason, detail=detail)

    def _votes(self) -> Mapping[str, Sequence[Vote]]:
        first, second = self.sides or ("A", "B")
        return votes_on(Path(self.file), self.columns, (first, second))


def _counts(votes: Sequence[Vote]) -> dict[str, int]:
    counted = Counter(vote.label for vote in votes)
    return {label: counted[label] for label in ("A", "B", "tie")}


def majority(votes: Sequence[Vote]) -> tuple[Label, str]:
    """What more than half of the votes say, else a tie; and the votes in words.

    >>> majority([Vote("A", "", ""), Vote("A", "", ""), Vote("tie", "", "")])
    ('A', 'A: 2 of 3 votes')
    >>> majority([Vote("A", "", ""), Vote("B", "", "")])
    ('tie', 'no majority: A 1, B 1, tie 0')
    """
    label, count = Counter(vote.label for vote in votes).most_common(1)[0]
    if 2 * count > len(votes):
        return cast("Label", label), f"{label}: {count} of {len(votes)} vote{'s' if len(votes) > 1 else ''}"
    return "tie", f"no majority: {', '.join(f'{name} {n}' for name, n in _counts(votes).items())}"
