"""Error analysis: notes on the first thing that is wrong with records, and the codes that they are grouped under.

A coding is a draw of records and an append-only list of events. A note says what is wrong with a record in a person's
own words (open coding); a code groups notes under a name and a definition (axial coding). The current state is the
result of applying the events in order; every earlier state can be computed from them too.

Source of the procedure: A. Strauss and J. Corbin, "Basics of qualitative research", 2nd edition, 1998 (open and axial
coding).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

import numpy as np

from steelyard.errors import ConfigError
from steelyard.people.events import Event
from steelyard.types import Json

EventKind = Literal["note", "withdraw", "code", "assign", "merge", "drop", "adopt", "scorer", "trial", "install"]
CodeState = Literal["adopted", "proposed", "merged", "dropped"]
MOST_CODES: Final = 500
LONGEST_NOTE: Final = 2_000
LONGEST_NAME: Final = 100
LONGEST_DEFINITION: Final = 2_000


@dataclass(frozen=True, slots=True)
class ErrorNote:
    """What a person wrote of a record; `text` is "" where nothing is wrong with it.

    Args:
        item: number of the record in the coding.
        text: the first thing that is wrong.
        author: who wrote it.
        at: when.
        num: of the event.
        code: id of the code that it is under; "" while it is under none.
    """

    item: int
    text: str
    author: str
    at: datetime
    num: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class CodeScorer:
    """A scorer made from a code: its configuration, and whether it was tried and installed.

    Args:
        config: as a list of `scorers` has it: `error_code` or `error_pattern` -> its keys.
        examples: items whose notes or answers it contains; they never count in its trial.
        author: who made it.
        at: when.
        run: id of the run that tried it; "" where there is none yet.
        installed: who installed it; "" if it is not installed.
    """

    config: Mapping[str, Json]
    examples: tuple[int, ...]
    author: str
    at: datetime
    run: str = ""
    installed: str = ""


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A kind of error: its name, its definition and its author.

    Args:
        id: unique in its coding.
        name: of a few words.
        definition: what belongs to it and what does not; "" without a definition.
        state: `adopted` codes count; `proposed` ones come from a model, and count once a person adopts them.
        author: who made it; a model's name begins with `model:`.
        at: when.
        merged_into: id of the code that took its notes; "" for others.
        split_from: id of the code that some of its notes were taken from; likewise.
        proposed_items: items that its author proposes to put under it.
        scorer: made from it; None where there is none.
    """

    id: str
    name: str
    definition: str
    state: CodeState
    author: str
    at: datetime
    merged_into: str = ""
    split_from: str = ""
    proposed_items: tuple[int, ...] = ()
    scorer: CodeScorer | None = None


@dataclass(frozen=True, slots=True)
class CodingState:
    """The state of a coding: the result of its events.

    Args:
        notes: item -> its note, in the order in which the current notes were written.
        codes: id -> every code that ever was, in the order in which they were made.
        earlier: item -> notes that were replaced or withdrawn, oldest first.
        last: number of the last event; 0 where there is none.
    """

    notes: Mapping[int, ErrorNote] = field(default_factory=dict)
    codes: Mapping[str, ErrorCode] = field(default_factory=dict)
    earlier: Mapping[int, tuple[ErrorNote, ...]] = field(default_factory=dict)
    last: int = 0

    @property
    def adopted(self) -> tuple[ErrorCode, ...]:
        """The codes that count, the one with most notes first."""
        counts = self.counts
        adopted = [code for code in self.codes.values() if code.state == "adopted"]
        return tuple(sorted(adopted, key=lambda code: -counts[code.id]))

    @property
    def proposed(self) -> tuple[ErrorCode, ...]:
        """Codes proposed by a model that are neither adopted nor dropped."""
        return tuple(code for code in self.codes.values() if code.state == "proposed")

    @property
    def counts(self) -> Counter[str]:
        """Id of a code -> notes under it; "" counts those under none."""
        return Counter(note.code for note in self.notes.values() if note.text)

    @property
    def uncoded(self) -> tuple[ErrorNote, ...]:
        """Notes of an error that are under no code, oldest first."""
        return tuple(note for note in self.notes.values() if note.text and not note.code)

    def code(self, ident: str) -> ErrorCode:
        """The code of an id, as long as it is adopted or proposed.

        Raises:
            ConfigError: there is none.
        """
        code = self.codes.get(ident)
        if code is None or code.state in {"merged", "dropped"}:
            state = "" if code is None else f": it was {code.state}"
            raise ConfigError(f"there is no code {ident!r} in this error analysis{state}")
        return code

    def named(self, name: str) -> ErrorCode | None:
        """The adopted code of a name or an id, whatever the case of its letters; None where there is none."""
        folded = " ".join(name.split()).casefold()
        return next((code for code in self.adopted if folded in {code.name.casefold(), code.id.casefold()}), None)


def folded(events: Iterable[Event], items: Iterable[int]) -> CodingState:
    """The state of an error analysis after some events.

    References to records or codes that no longer exist are ignored.

    Args:
        events: oldest first. Keys of their bodies: `item` and `text` of a note; `code`, `name`, `definition`,
            `proposed`, `items` and `split_from` of a code; `items` and `code` of an assignment; `code` and `into` of a
            merge; `code` and `config` of a scorer and its trial.
        items: numbers of the records that still exist; notes on others no longer count.
    """
    fold = _CodingFold(frozenset(items))
    apply = {
        "note": fold.note,
        "withdraw": fold.withdraw,
        "code": fold.describe,
        "assign": fold.assign,
        "merge": fold.end,
        "drop": fold.end,
        "adopt": fold.adopt,
        "scorer": fold.score,
        "trial": fold.score,
        "install": fold.score,
    }
    last = 0
    for event in events:
        if event.kind != "drawn":  # with which an analysis begins
            apply[event.kind](event)
        last = event.num
    return CodingState(fold.notes, fold.codes, fold.earlier, last)


class _CodingFold:
    """The state while events are applied to it."""

    def __init__(self, items: frozenset[int]) -> None:
        self._items = items
        self.notes: dict[int, ErrorNote] = {}
        self.codes: dict[str, ErrorCode] = {}
        self.earlier: dict[int, tuple[ErrorNote, ...]] = {}

    def note(self, event: Event) -> None:
        item, text = event.body["item"], event.body["text"]
        if item in self._items:
            before = self._set_aside(item)
            code = before.code if before and text else ""
            self.notes[item] = ErrorNote(item, text, event.author, event.at, event.num, code)

    def withdraw(self, event: Event) -> None:
        self._set_aside(event.body["item"])

    def describe(self, event: Event) -> None:
        """Create a code, or rename and redefine it."""
        body = event.body
        ident, items, proposed = body["code"], body.get("items", ()), bool(body.get("proposed"))
        if ident in self.codes:
            self.codes[ident] = replace(self.codes[ident], name=body["name"], definition=body["definition"])
            return
        self.codes[ident] = ErrorCode(
            id=ident,
            name=body["name"],
            definition=body["definition"],
            state="proposed" if proposed else "adopted",
            author=event.author,
            at=event.at,
            split_from=body.get("split_from", ""),
            proposed_items=tuple(items) if proposed else (),
        )
        if not proposed:
            self._put(items, ident)

    def assign(self, event: Event) -> None:
        self._put(event.body["items"], event.body["code"])

    def end(self, event: Event) -> None:
        """Merge a code into another, or drop it; its notes go to the other one, or to none."""
        ident, into = event.body["code"], event.body.get("into", "")
        if ident in self.codes and (not into or into in self.codes):
            self.codes[ident] = replace(self.codes[ident], state="merged" if into else "dropped", merged_into=into)
            self._put([note.item for note in self.notes.values() if note.code == ident], into)

    def adopt(self, event: Event) -> None:
        code = self.codes.get(event.body["code"])
        if code is not None and code.state == "proposed":
            self.codes[code.id] = replace(code, state="adopted")
            free = [item for item in code.proposed_items if item in self.notes and not self.notes[item].code]
            self._put(free, code.id)

    def score(self, event: Event) -> None:
        """Give a code a scorer, or note that its scorer was tried with this configuration, or installed."""
        body = event.body
        code = self.codes.get(body["code"])
        if code is None:
            return
        scorer = code.scorer
        if event.kind == "scorer":
            scorer = CodeScorer(body["config"], tuple(body["examples"]), event.author, event.at)
        elif scorer is not None and event.kind == "install":
            scorer = replace(scorer, installed=event.author)
        elif scorer is not None and scorer.config == body["config"]:
            scorer = replace(scorer, run=body["run"])
        self.codes[code.id] = replace(code, scorer=scorer)

    def _set_aside(self, item: int) -> ErrorNote | None:
        before = self.notes.pop(item, None)
        if before is not None:
            self.earlier[item] = (*self.earlier.get(item, ()), before)
        return before

    def _put(self, items: Iterable[int], code: str) -> None:
        """Put notes under a code, or under none; an ended or proposed one takes none."""
        if code and (code not in self.codes or self.codes[code].state != "adopted"):
            return
        for item in items:
            if item in self.notes and self.notes[item].text:
                self.notes[item] = replace(self.notes[item], code=code)


@dataclass(frozen=True, slots=True)
class Saturation:
    """Whether further notes still bring new codes.

    Args:
        seen: distinct codes after the 1st, 2nd ... note of an error that is under a code, in the order of writing.
        expected: the same if the notes came in any order.
        next_is_new: estimated probability that the next note needs a code of its own.
    """

    seen: tuple[int, ...]
    expected: tuple[float, ...]
    next_is_new: float


def saturation(codes: Sequence[str]) -> Saturation | None:
    r"""How the number of distinct codes grows with the notes; None where no note is under a code.

        E[S_m] = sum_i (1 - C(n - n_i, m) / C(n, m))        P(new) = n_1 / n

    n_i is the number of notes under code i, n_1 that of codes with a single note.

    Args:
        codes: of each note, in the order of writing.

    Source: S. H. Hurlbert, "The nonconcept of species diversity", Ecology 52, 1971 (expected number in a sample of m);
    I. J. Good, "The population frequencies of species", Biometrika 40, 1953 (probability of a new one).

    >>> curve = saturation(["a", "a", "b", "c"])
    >>> curve.seen, [round(value, 2) for value in curve.expected], curve.next_is_new
    ((1, 1, 2, 3), [1.0, 1.83, 2.5, 3.0], 0.5)
    """
    if not codes:
        return None
    seen: list[int] = []
    distinct: set[str] = set()
    for code in codes:
        distinct.add(code)
        seen.append(len(distinct))
    n = len(codes)
    counts = Counter(Counter(codes).values())  # notes of a code -> codes with as many
    left = np.arange(n, 0, -1.0)  # notes that are not among the first m - 1
    expected = np.zeros(n)
    for size, times in counts.items():
        # The product is the probability that none of m notes is of such a code.
        expected += times * (1 - np.cumprod(np.maximum(0, left - size) / left))
    return Saturation(tuple(seen), tuple(expected.tolist()), counts[1] / n)


def checked_text(text: str, *, name: str, longest: int) -> str:
    """A text that a person typed, without blanks around it.

    Raises:
        ConfigError: it is blank or too long.
    """
    clean = text.encode("utf-8", "replace").decode().strip()
    if not clean:
        raise ConfigError(f"{name} is blank")
    if len(clean) > longest:
        raise ConfigError(f"{name} has {len(clean):,} characters; at most {longest:,} are allowed")
    return clean
