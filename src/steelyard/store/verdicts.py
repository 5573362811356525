"""What people say of replies to an exam: labels named `answer`, and which of them count.

A verdict is the letters that a person reads in the reply, as they were shown to the model; "" where it gives no
option. It counts where all people who said something of the reply say the same; models' labels never count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from steelyard.errors import ConfigError
from steelyard.store.labels import MODEL
from steelyard.summary import CODES, ROW_OUTCOMES, Answered, ScoreColumns, ScoreRow
from steelyard.text.normal import fold
from steelyard.types import Label, Record, Score

ANSWER: Final = "answer"
"""The name of such a label."""
NO_OPTION: Final = "none"
"""How a reply that gives no option is typed."""
Place = tuple[str, int]
"""(sample's id, repeat)."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """People's verdicts on the replies of one run.

    Args:
        letters: (sample, repeat) -> letters that all who spoke of it agree on.
        authors: likewise who they are, by name, joined by " and ".
        conflicting: places on which people disagree.
        orders: sample's id -> the dataset's own letters in the order shown, for samples with an order of their own.
    """

    letters: Mapping[Place, str]
    authors: Mapping[Place, str]
    conflicting: frozenset[Place]
    orders: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: Iterable[Label]) -> Verdicts:
        """From the labels that count of a run; `orders` are left to whoever reads its samples."""
        said: dict[Place, dict[str, str]] = {}
        for one in labels:
            if one.name == ANSWER and not one.author.startswith(MODEL) and isinstance(one.value, str):
                said.setdefault((one.sample, one.repeat), {})[one.author] = "".join(sorted(set(one.value)))
        agreed = {place: set(by.values()) for place, by in said.items()}
        letters = {place: next(iter(values)) for place, values in agreed.items() if len(values) == 1}
        authors = {place: " and ".join(sorted(said[place])) for place in letters}
        return cls(letters, authors, frozenset(place for place, values in agreed.items() if len(values) > 1))

    def __contains__(self, place: Place) -> bool:
        return place in self.letters or place in self.conflicting

    def row(self, row: ScoreRow, answered: Answered) -> tuple[ScoreRow, Answered]:
        """A row of an exam score as the verdict has it; unchanged where there is none, or no reply to speak of."""
        letters = self.letters.get((row.sample, row.repeat))
        if letters is None or not answered.wanted or row.outcome in {"error", "not_applicable"}:
            return row, answered
        original = None if answered.original is None else self.own_letters(row.sample, letters)
        kept = answered._replace(letters=letters, original=original, inferred=False, kind="")
        return row._replace(outcome="scored", value=float(letters == answered.wanted)), kept

    def columns(self, columns: ScoreColumns, exams: Sequence[str]) -> ScoreColumns:
        """The rows of exam scores likewise, column by column."""
        import numpy as np

        codes = [code for code, name in enumerate(columns.names) if name in exams]
        spoken_of = {sample for sample, _ in self.letters}
        numbers = [number for number, sample in enumerate(columns.samples) if sample in spoken_of]
        outcome, value, answered = columns.outcome.copy(), columns.value.copy(), columns.answered.copy()
        kept = {one: number for number, one in enumerate(columns.kept)}
        said = np.isin(columns.name, codes) & np.isin(columns.sample, numbers) & (answered >= 0)
        for at in np.flatnonzero(said).tolist():
            row = ScoreRow(
                columns.samples[columns.sample[at]], "", "", int(columns.repeat[at]), "",
                ROW_OUTCOMES[outcome[at]], None,
            )  # fmt: skip
            told, letters = self.row(row, columns.kept[answered[at]])
            if told is not row:
                outcome[at], value[at] = CODES[told.outcome], told.value
                answered[at] = kept.setdefault(letters, len(kept))
        return replace(columns, outcome=outcome, value=value, answered=answered, kept=tuple(kept))

    def own_letters(self, sample: str, letters: str) -> str:
        """Letters as shown to the model -> as the dataset has them."""
        order = self.orders.get(sample, "")
        return "".join(sorted(order[at] if (at := ord(one) - ord("A")) < len(order) else one for one in letters))

    def score(self, record: Record, score: Score) -> Score:
        """A score of a record likewise, with the verdict in its reason and detail."""
        letters = self.letters.get((record.sample.id, record.repeat))
        wanted = score.detail.get("wanted")
        if letters is None or not wanted or score.outcome == "not_applicable":
            return score
        solved = letters == wanted
        who = self.authors[record.sample.id, record.repeat]
        told = {"letters": letters, "status": "answered" if letters else "none_of_these", "rule": "label"}
        detail = {**score.detail, **told, "confidence": "explicit", "span": None}
        detail.pop("kind", None)
        if "original" in detail:
            detail["original"] = self.own_letters(record.sample.id, letters)
        reason = f"{letters or 'no option'}, says {who}; {wanted} is right"
        return Score(score.name, float(solved), passed=solved, reason=reason, detail=detail)


def verdict_letters(text: str, options: int) -> str:
    """What a person typed as a verdict: letters in any form, sorted, or "" for `none`.

    Args:
        text: as typed.
        options: of the sample.

    Raises:
        ConfigError: it is neither.

    >>> verdict_letters("c, A", 4), verdict_letters("None", 4)
    ('AC', '')
    """
    typed = fold(text).strip()
    if typed.casefold() == NO_OPTION:
        return ""
    letters = {one for one in typed.upper() if one not in " ,;、/&+."}
    last = chr(ord("A") + options - 1)
    if not letters or not all("A" <= one <= last for one in letters):
        raise ConfigError(
            f"{text[:40]!r} is no verdict: type letters from A to {last} as they were shown (B, or AC), or "
            f"{NO_OPTION} for a reply that gives no option"
        )
    return "".join(sorted(letters))
