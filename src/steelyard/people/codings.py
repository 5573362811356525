"""Error analyses of a store: which records were drawn, and what people did with them, as events."""

# Why it is so, and what was rejected: docs/decisions/people-added-never-changed.md

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from steelyard.analysis.label_forms import MODEL
from steelyard.errors import ConfigError, did_you_mean
from steelyard.people.draw import draw_records
from steelyard.people.error_codes import (
    LONGEST_DEFINITION,
    LONGEST_NAME,
    LONGEST_NOTE,
    MOST_CODES,
    CodingEvent,
    CodingFold,
    CodingState,
    ErrorCode,
    EventKind,
    checked_text,
)
from steelyard.people.queues import checked_rater
from steelyard.plain_json import from_json, to_json
from steelyard.store.database import schema

if TYPE_CHECKING:
    from steelyard.people.queue_values import DrawnItem
    from steelyard.store.database.connection import Connection
    from steelyard.store.run import Run
    from steelyard.store.store import Store
    from steelyard.store.writer import Batch
    from steelyard.types import Json, Record

MOST_DRAWN: Final = 10_000


@dataclass(frozen=True, slots=True)
class CodedItem:
    """A record that was drawn: its number in the coding, where it is, and of which stratum of its run."""

    num: int
    run: int
    no: int
    sample: str
    repeat: int
    stratum: str


@dataclass(frozen=True, slots=True)
class Coding:
    """An error analysis.

    Args:
        num: in the store.
        id: of it.
        author: who drew it.
        created: when.
        drawn: run's id -> how its records were drawn, with the size of each stratum.
        items: the records, in the order in which they are read; those of deleted runs are gone.
        fold: the state after the events that were read until now, so that each is read once.
    """

    num: int
    id: str
    author: str
    created: datetime
    drawn: Mapping[str, Mapping[str, Any]]
    items: tuple[CodedItem, ...]
    fold: CodingFold = field(compare=False, repr=False)

    def item(self, num: int) -> CodedItem:
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
    from steelyard.store.store import new_id

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
    items.sort(key=lambda item: _rank(seed, item))
    ident, created = new_id(), time.time()
    row = {"id": ident, "created": created, "author": name, "body": to_json(drawn).decode()}

    def change(batch: Batch) -> int:
        number = batch.connection.insert(schema.coding, row)
        rows = [
            {
                "coding": number,
                "run": item.run.num,
                "no": item.no,
                "sample": item.sample,
                "repeat": item.repeat,
                "stratum": item.stratum,
            }
            for item in items
        ]
        batch.connection.insert_rows(schema.insert_into(schema.coding_item, tuple(rows[0])), rows)
        return number

    store.writer.change(change)
    return named_coding(store, ident)


def _rank(seed: int, item: DrawnItem) -> bytes:
    from hashlib import blake2b

    text = f"coding\0{seed}\0{item.run.id}\0{item.sample}\0{item.repeat}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def codings(store: Store, run: Run | None = None) -> list[Coding]:
    """The error analyses of a store, or those that a run is in, newest first."""
    with store.reading() as connection:
        rows = connection.execute(f"{_SELECT} ORDER BY num DESC").all()
        draws = [from_json(row.body.encode()) for row in rows]
        return [
            _coding(connection, row, draw)
            for row, draw in zip(rows, draws, strict=True)
            if run is None or run.id in draw
        ]


_SELECT: Final = "SELECT num, id, created, author, body FROM coding"


def _coding(connection: Connection, row: Any, drawn: Mapping[str, Mapping[str, Any]]) -> Coding:
    query = "SELECT num, run, no, sample, repeat, stratum FROM coding_item WHERE coding = :coding ORDER BY num"
    items = tuple(CodedItem(*item) for item in connection.execute(query, {"coding": row.num}).tuples())
    fold = CodingFold(item.num for item in items)
    return Coding(row.num, row.id, row.author, datetime.fromtimestamp(row.created, UTC), drawn, items, fold)


def coding_sizes(store: Store) -> dict[str, int]:
    """Id of each error analysis of a store, newest first -> its records; those of deleted runs are gone."""
    with store.reading() as connection:
        query = """SELECT drawn.id, (SELECT count(*) FROM coding_item WHERE coding_item.coding = drawn.num) AS items
            FROM coding AS drawn ORDER BY drawn.num DESC"""
        return {row.id: row.items for row in connection.execute(query).all()}


def named_coding(store: Store, ident: str) -> Coding:
    """The error analysis of an id.

    Raises:
        ConfigError: there is none.
    """
    sizes = coding_sizes(store)
    if ident not in sizes:
        raise ConfigError(f"there is no error analysis {ident!r}{did_you_mean(ident, sizes)}")
    with store.reading() as connection:
        [row] = connection.execute(f"{_SELECT} WHERE id = :id", {"id": ident}).all()
        return _coding(connection, row, from_json(row.body.encode()))


def read_coding(store: Store, coding: Coding) -> CodingState:
    """The state of an error analysis after its events."""

    def read(last: int, applied: int) -> tuple[bool, list[CodingEvent]]:
        of_coding = "FROM coding_event WHERE coding = :coding"
        with store.reading() as connection:
            before = connection.execute(
                f"SELECT count(*) AS events {of_coding} AND num <= :last", {"coding": coding.num, "last": last}
            ).all()[0]
            # On a server an event may be numbered before another one, and be committed after it.
            from_start = before.events != applied
            rows = connection.execute(
                f"SELECT num, created, author, kind, body {of_coding} AND num > :last ORDER BY num",
                {"coding": coding.num, "last": 0 if from_start else last},
            ).all()
        return from_start, [
            CodingEvent(
                row.num, row.kind, row.author, datetime.fromtimestamp(row.created, UTC), from_json(row.body.encode())
            )
            for row in rows
        ]

    return coding.fold.advanced(read)


def coded_record(run: Run, item: CodedItem) -> Record:
    """The record of an item.

    Raises:
        ConfigError: the run has it no more.
    """
    match = next((record for record in run.records_of([item.sample]) if record.repeat == item.repeat), None)
    if match is None:
        raise ConfigError(f"run {run.id} has no record of the sample {item.sample!r} any more")
    return match


def write_note(store: Store, coding: Coding, item: int, text: str, *, author: str) -> None:
    """Store a note on a record; "" says that nothing is wrong with it.

    Raises:
        ConfigError: the record is none of the coding's, or the text is too long.
        StoreError: it could not be written.
    """
    write_notes(store, coding, {item: text}, author=author)


def write_notes(store: Store, coding: Coding, texts: Mapping[int, str], *, author: str) -> None:
    """Store what is wrong with several records, all or nothing; as `write_note` does with one.

    Raises:
        ConfigError: a record is none of the coding's, or a text is too long.
        StoreError: they could not be written.
    """
    bodies: list[dict[str, Json]] = []
    for item, text in texts.items():
        clean = checked_text(text, name="the note", longest=LONGEST_NOTE) if text.strip() else ""
        bodies.append({"item": coding.item(item).num, "text": clean})
    _append(store, coding, "note", author, *bodies)


def withdraw_note(store: Store, coding: Coding, *, author: str) -> int | None:
    """Withdraw an author's newest note that is not withdrawn yet; returns its item, None where there is none."""
    name = checked_rater(author)
    own_notes = [note for note in read_coding(store, coding).notes.values() if note.author == name]
    if not own_notes:
        return None
    newest = max(own_notes, key=lambda note: note.num)
    _append(store, coding, "withdraw", name, {"item": newest.item})
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
    for number, (name, definition, items) in enumerate(codes):
        clean = " ".join(_storable(name).split())[:LONGEST_NAME]
        if not clean or clean.casefold() in taken_names or len(state.codes) + len(new_ids) >= MOST_CODES:
            continue
        taken_names.add(clean.casefold())
        ident = _new_code_id(state, number)
        body: dict[str, Json] = {
            "code": ident,
            "name": clean,
            "definition": _storable(definition).strip()[:LONGEST_DEFINITION],
            "proposed": True,
            "items": [item for item in items if item in item_numbers],
        }
        _append(store, coding, "code", MODEL + author, body, by_model=True)
        new_ids.append(ident)
    state = read_coding(store, coding)
    return tuple(state.codes[ident] for ident in new_ids)


def _storable(text: str) -> str:
    """A model's text with a question mark for each half of a surrogate pair, which no database takes."""
    return text.encode("utf-8", "replace").decode()


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


def _append(
    store: Store, coding: Coding, kind: EventKind, author: str, *bodies: Mapping[str, Json], by_model: bool = False
) -> None:
    """Store an event for each body, in one transaction."""
    name, created = author if by_model else checked_rater(author), time.time()
    rows = [
        {"coding": coding.num, "created": created, "author": name, "kind": kind, "body": to_json(body).decode()}
        for body in bodies
    ]
    if rows:
        insert = schema.insert_into(schema.coding_event, tuple(rows[0]))
        store.writer.change(lambda batch: batch.connection.insert_rows(insert, rows))
