"""Error analyses of a store: which records were drawn, and what people did with them, as events."""

# Why it is so, and what was rejected: docs/decisions/people-added-never-changed.md

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from steelyard.analysis.label_forms import MODEL
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.draw import DrawnItem, DrawnRecord, draw_records, drawn_items, seeded_rank, store_draw
from steelyard.people.error_codes import (
    LONGEST_DEFINITION,
    LONGEST_NAME,
    LONGEST_NOTE,
    MOST_CODES,
    CodingState,
    ErrorCode,
    EventKind,
    checked_text,
    folded,
)
from steelyard.people.events import Event, append, encodable, event_of, read_events
from steelyard.people.queues import checked_rater
from steelyard.store.database.connection import Connection
from steelyard.store.run import Run
from steelyard.store.store import Store
from steelyard.types import Json

MOST_DRAWN: Final = 10_000


@dataclass(frozen=True, slots=True)
class Coding:
    """An error analysis.

    Args:
        num: of the event that drew it.
        id: of it.
        author: who drew it.
        created: when.
        drawn: run's id -> how its records were drawn, with the size of each stratum.
        items: the records, in the order in which they are read; those of deleted runs are gone.
    """

    num: int
    id: str
    author: str
    created: datetime
    drawn: Mapping[str, Mapping[str, Any]]
    items: tuple[DrawnRecord, ...]

    def item(self, num: int) -> DrawnRecord:
        """The record of a number.

        Raises:
            ConfigError: there is none.
        """
        at = bisect_left(self.items, num, key=lambda item: item.num)
        if at == len(self.items) or self.items[at].num != num:
            raise ConfigError(f"record {num} is none of this error analysis, or its run was deleted")
        return self.items[at]


def draw_coding(store: Store, runs: Sequence[Run], *, n: int, seed: int, author: str) -> Coding:
    """Draw records of runs for an error analysis, and return it once it is on disk.

    The same number is drawn from each run, and of these equally many failures, passes and unparsed replies, so that
    shares can be weighted back to each run. The reading order is random too, so that a reader who stops early has seen
    some of each.

    Args:
        store: where the runs are.
        runs: of one suite; each target is a column of the table of codes.
        n: records in all, at least one for each run.
        seed: equal seeds draw equal records.
        author: who draws them.

    Raises:
        ConfigError: no run or one twice, a number that cannot be drawn, or no record with an output.
        StoreError: it could not be written.
    """
    name = checked_rater(author)
    if not runs or len({run.num for run in runs}) < len(runs):
        raise ConfigError("an error analysis needs one run or more, each named once")
    if len({run.suite for run in runs}) > 1:
        raise ConfigError("an error analysis takes runs of one suite; these are of several")
    if not len(runs) <= n <= MOST_DRAWN:
        raise ConfigError(f"draw {len(runs)} to {MOST_DRAWN:,} records, not {n:,}")
    items: list[DrawnItem] = []
    drawn: dict[str, Mapping[str, Json]] = {}
    for at, run in enumerate(runs):
        share = n // len(runs) + (at < n % len(runs))
        run_items, drawn[run.id] = draw_records([run], n=share, method="stratified", seed=seed)
        items += run_items
    items.sort(key=lambda item: seeded_rank("coding", seed, item.run.id, item.sample, item.repeat))
    ident, _, _ = store_draw(store, "analysis", drawn, items, author=name)
    return named_coding(store, ident)


def codings(store: Store, run: Run | None = None) -> list[Coding]:
    """The error analyses of a store, or those that a run is in, newest first."""
    with store.reading() as connection:
        drawn = [(ident, event) for ident, event in _draws(connection) if run is None or run.id in event.body]
        return [_coding(connection, ident, event) for ident, event in drawn]


def named_coding(store: Store, ident: str) -> Coding:
    """The error analysis of an id.

    Raises:
        ConfigError: there is none.
    """
    with store.reading() as connection:
        draws = dict(_draws(connection))
        if ident not in draws:
            raise ConfigError(f"there is no error analysis {ident!r}{did_you_mean(ident, draws)}")
        return _coding(connection, ident, draws[ident])


def _draws(connection: Connection) -> list[tuple[str, Event]]:
    """Id and first event of each error analysis, newest first."""
    query = "SELECT * FROM event WHERE topic = 'analysis' AND kind = 'drawn' ORDER BY num DESC"
    return [(row.subject, event_of(row)) for row in connection.execute(query)]


def _coding(connection: Connection, ident: str, event: Event) -> Coding:
    items = tuple(drawn_items(connection, event.num))
    return Coding(event.num, ident, event.author, event.at, event.body, items)


def read_coding(store: Store, coding: Coding) -> CodingState:
    """The state of an error analysis after its events."""
    with store.reading() as connection:
        events = read_events(connection, "analysis", coding.id)
        return folded((event for _, event in events), (item.num for item in coding.items))


def find_coding(store: Store, name: str) -> Coding:
    """The error analysis of an id, or the newest one of a run.

    Args:
        store: where it is.
        name: id of an error analysis, or a run as `Store.run` takes it.

    Raises:
        ConfigError: there is none.
    """
    with store.reading() as connection:
        draws = _draws(connection)
    idents = [ident for ident, _ in draws]
    if name in idents:
        return named_coding(store, name)
    try:
        run = store.run(name)
    except ConfigError:
        if not idents:
            raise
        raise ConfigError(f"{name!r} is neither an error analysis nor a run{did_you_mean(name, idents)}") from None
    match = next((ident for ident, event in draws if run.id in event.body), None)
    if match is None:
        raise ConfigError(
            f"run {run.id} ({run.target}) is in no error analysis: draw one with "
            f"steelyard errors draw {run.id} --author NAME"
        )
    return named_coding(store, match)


class NamedCode(NamedTuple):
    """A code with its error analysis and the state of that."""

    coding: Coding
    state: CodingState
    code: ErrorCode

    @property
    def address(self) -> str:
        """The address of the code in a store: `CODING/CODE`."""
        return f"{self.coding.id}/{self.code.id}"


def find_code(store: Store, name: str) -> NamedCode:
    """The code of a name or id, an adopted one before a proposed one.

    Args:
        store: where it is.
        name: of a code, or its id; `CODING/CODE` where several error analyses have one of that name.

    Raises:
        ConfigError: there is none, or several error analyses have one.
    """
    ident, _, suffix = name.partition("/")
    all_codings = codings(store)
    within = [coding for coding in all_codings if suffix and coding.id == ident]
    code_name = " ".join((suffix if within else name).split()).casefold()
    matches, names = [], []
    for coding in within or all_codings:
        state = read_coding(store, coding)
        current = (*state.adopted, *state.proposed)
        names += [code.name for code in current]
        match = next((code for code in current if code_name in {code.name.casefold(), code.id.casefold()}), None)
        matches += [NamedCode(coding, state, match)] if match else []
    shown = suffix if within else name
    if len(matches) > 1:
        places = ", ".join(match.address for match in matches)
        raise ConfigError(f"several error analyses have a code {shown!r}: name one of {places}")
    if not matches:
        hint = did_you_mean(shown, names) if names else "; no error analysis has one yet"
        raise ConfigError(f"there is no code {shown!r}{hint}")
    return matches[0]


def write_note(store: Store, coding: Coding, item: int, text: str, *, author: str, seen: int | None = None) -> None:
    """Store a note on a record; "" says that nothing is wrong with it.

    Args:
        store: where the coding is.
        coding: it is of this one.
        item: number of the record.
        text: the first thing that is wrong.
        author: who writes it.
        seen: number of the note that they saw, 0 for none; None replaces whatever there is.

    Raises:
        ConfigError: the record is none of the coding's, the text is too long, or another note was written meanwhile.
        StoreError: it could not be written.
    """
    event = replace(_note(coding, item, text, author), seen=seen or 0)
    append(
        store,
        "analysis",
        coding.id,
        [event],
        check=lambda connection: _written_meanwhile(connection, coding, event, seen),
    )


def write_notes(store: Store, coding: Coding, texts: Mapping[int, str], *, author: str) -> None:
    """Store what is wrong with several records, all or nothing; as `write_note` does with one.

    Raises:
        ConfigError: a record is none of the coding's, or a text is too long.
        StoreError: they could not be written.
    """
    append(store, "analysis", coding.id, [_note(coding, item, text, author) for item, text in texts.items()])


def _note(coding: Coding, number: int, text: str, author: str) -> Event:
    clean = checked_text(text, name="the note", longest=LONGEST_NOTE) if text.strip() else ""
    return _on(coding.item(number), "note", checked_rater(author), {"item": number, "text": clean})


def _on(item: DrawnRecord, kind: EventKind, author: str, body: Mapping[str, Json]) -> Event:
    return Event(kind, author, body, run=item.run, sample=item.sample, repeat=item.repeat)


def _written_meanwhile(connection: Connection, coding: Coding, note: Event, seen: int | None) -> ConfigError | None:
    """Why a note is not stored: another one was written since its author looked."""
    if seen is None:
        return None
    query = """SELECT * FROM event WHERE topic = 'analysis' AND subject = :coding AND sample = :sample AND run = :run
        AND repeat = :repeat AND kind IN ('note', 'withdraw') ORDER BY num DESC LIMIT 1"""
    values = {"coding": coding.id, "sample": note.sample, "run": note.run, "repeat": note.repeat}
    row = connection.execute(query, values).first()
    newest = None if row is None or row.kind == "withdraw" else event_of(row)
    if seen == (newest.num if newest else 0):
        return None
    if newest is None:
        did, rest = "its note was withdrawn", "store it"
    else:
        text = newest.body["text"]
        did = f"{newest.author} {f'noted “{text}”' if text else 'said that nothing is wrong'}"
        rest = "replace that"
    return ConfigError(f"since you opened this page {did}: your text is not stored yet. Save again to {rest}")


def withdraw_note(store: Store, coding: Coding, *, author: str) -> int | None:
    """Withdraw an author's newest note that is not withdrawn yet; returns its item, None where there is none."""
    name = checked_rater(author)
    own_notes = [note for note in read_coding(store, coding).notes.values() if note.author == name]
    if not own_notes:
        return None
    newest = max(own_notes, key=lambda note: note.num)
    event = _on(coding.item(newest.item), "withdraw", name, {"item": newest.item})
    append(store, "analysis", coding.id, [event])
    return newest.item


def new_code(
    store: Store, coding: Coding, name: str, *, author: str, definition: str = "", items: Iterable[int] = ()
) -> str:
    """Create a code and put the notes of some records under it; returns its id.

    Where these notes were all under one other code, the new one is split from it.

    Args:
        store: where the coding is.
        coding: it is of this one.
        name: of the code; no other one that counts has it.
        author: who makes it.
        definition: what belongs to it.
        items: records whose notes go under it.

    Raises:
        ConfigError: a name that is blank, too long or taken; too many codes; or an unknown record.
        StoreError: it could not be written.
    """
    state = read_coding(store, coding)
    if len(state.codes) >= MOST_CODES:
        raise ConfigError(f"an error analysis has at most {MOST_CODES} codes; merge some before")
    numbers = [coding.item(item).num for item in items]
    before = {state.notes[number].code for number in numbers if number in state.notes}
    ident = _new_code_id(state)
    body: dict[str, Json] = {"code": ident, **_described(state, name, definition), "items": numbers}
    _append(store, coding, "code", author, {**body, "split_from": before.pop() if len(before) == 1 else ""})
    return ident


def edit_code(store: Store, coding: Coding, code: str, name: str, *, author: str, definition: str = "") -> None:
    """Give a code another name and definition; the former ones stay in its history.

    Raises:
        ConfigError: there is no such code, or the name is blank, too long or another code's.
        StoreError: it could not be written.
    """
    state = read_coding(store, coding)
    state.code(code)
    _append(store, coding, "code", author, {"code": code, **_described(state, name, definition, code=code)})


def _described(state: CodingState, name: str, definition: str, *, code: str = "") -> dict[str, Json]:
    """Name and definition of a code, checked."""
    clean = " ".join(checked_text(name, name="the code's name", longest=LONGEST_NAME).split())
    existing = state.named(clean)
    if existing is not None and existing.id != code:
        raise ConfigError(f"there is a code {existing.name!r} already: put the notes under it, or choose another name")
    if definition.strip():
        definition = checked_text(definition, name="the definition", longest=LONGEST_DEFINITION)
    return {"name": clean, "definition": definition.strip()}


def propose_codes(
    store: Store, coding: Coding, codes: Sequence[tuple[str, str, Sequence[int]]], *, author: str
) -> tuple[ErrorCode, ...]:
    """Store codes that a model proposes: name, definition and items each; they count once a person adopts them.

    Names of codes that exist, adopted or proposed, are left out. `author` is the model's name, without `model:`.
    """
    state = read_coding(store, coding)
    taken_names = {code.name.casefold() for code in (*state.adopted, *state.proposed)}
    item_numbers = {item.num for item in coding.items}
    new_ids: list[str] = []
    proposals: list[Event] = []
    for number, (name, definition, items) in enumerate(codes):
        clean = " ".join(encodable(name).split())[:LONGEST_NAME]
        if not clean or clean.casefold() in taken_names or len(state.codes) + len(new_ids) >= MOST_CODES:
            continue
        taken_names.add(clean.casefold())
        ident = _new_code_id(state, number)
        body: dict[str, Json] = {
            "code": ident,
            "name": clean,
            "definition": encodable(definition).strip()[:LONGEST_DEFINITION],
            "proposed": True,
            "items": [item for item in items if item in item_numbers],
        }
        proposals.append(Event("code", MODEL + author, body))
        new_ids.append(ident)
    append(store, "analysis", coding.id, proposals)
    state = read_coding(store, coding)
    return tuple(state.codes[ident] for ident in new_ids)


def _new_code_id(state: CodingState, offset: int = 0) -> str:
    return f"c{len(state.codes) + offset + 1}-{state.last + 1:x}"


def assign_code(store: Store, coding: Coding, items: Sequence[int], code: str, *, author: str) -> None:
    """Put the notes of some records under a code; "" takes them out of theirs.

    Raises:
        ConfigError: an unknown record or code.
        StoreError: it could not be written.
    """
    if code and read_coding(store, coding).code(code).state == "proposed":
        raise ConfigError("this code is only proposed: adopt it first")
    _append(store, coding, "assign", author, {"items": [coding.item(item).num for item in items], "code": code})


def merge_codes(store: Store, coding: Coding, code: str, into: str, *, author: str) -> None:
    """Put all notes of one code under another, and end it; its history stays.

    Raises:
        ConfigError: one of the two is not a code that counts, or both are the same.
        StoreError: it could not be written.
    """
    state = read_coding(store, coding)
    if code == into:
        raise ConfigError("a code cannot be merged into itself")
    if "proposed" in {state.code(code).state, state.code(into).state}:
        raise ConfigError("only adopted codes are merged: adopt the proposed one first")
    _append(store, coding, "merge", author, {"code": code, "into": into})


def change_code(store: Store, coding: Coding, kind: EventKind, code: str, *, author: str) -> None:
    """`adopt` a proposed code, `drop` one (its notes then have none), or record that its scorer is `install`ed.

    Raises:
        ConfigError: there is no such code, or it has no scorer to install.
        StoreError: it could not be written.
    """
    error_code = read_coding(store, coding).code(code)
    if kind == "install" and (error_code.scorer is None or not error_code.scorer.run):
        raise ConfigError(f"the code {error_code.name!r} has no scorer that was tried: try it first")
    _append(store, coding, kind, author, {"code": code})


def write_scorer(
    store: Store, coding: Coding, code: str, config: Mapping[str, Json], examples: Sequence[int], *, author: str
) -> None:
    """Store the configuration of a scorer for a code; the command line tries it, as that calls a model.

    Args:
        store: where the coding is.
        coding: it is of this one.
        code: id of an adopted code.
        config: as a list of `scorers` has it: `error_code` or `error_pattern` -> its keys.
        examples: items that it quotes as examples; its trial does not count them.
        author: who made it.

    Raises:
        ConfigError: there is no such code, or it is only proposed.
        StoreError: it could not be written.
    """
    if read_coding(store, coding).code(code).state == "proposed":
        raise ConfigError("this code is only proposed: adopt it first")
    body: dict[str, Json] = {"code": code, "config": dict(config), "examples": [coding.item(n).num for n in examples]}
    _append(store, coding, "scorer", author, body)


def write_trial(store: Store, coding: Coding, code: str, run: str, config: Mapping[str, Json], *, author: str) -> None:
    """Record which run tried the scorer of a code; the trial counts while the scorer has that configuration.

    Raises:
        ConfigError: there is no such code.
        StoreError: it could not be written.
    """
    read_coding(store, coding).code(code)
    _append(store, coding, "trial", author, {"code": code, "run": run, "config": dict(config)})


def _append(store: Store, coding: Coding, kind: EventKind, author: str, body: Mapping[str, Json]) -> None:
    append(store, "analysis", coding.id, [Event(kind, checked_rater(author), body)])
