"""Pages of a run's records: some at a time, under a condition, in an order, wherever in the run they are.

A page is found by the record that it follows and not by counting those before it, see `page_query`. Bodies are opened
for the records of the page alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from steelyard.analysis.conditions import Condition, parse_condition
from steelyard.constraints import Within, check_options
from steelyard.errors import ConfigError
from steelyard.store.database.connection import Connection
from steelyard.store.reading.page_query import Place, RecordOrder, RecordQuery, Stretch, cursor
from steelyard.store.reading.search import SearchMatches, search_run
from steelyard.store.records import read_records, rows_at, unpacker_of
from steelyard.store.stored_run import StoredRun
from steelyard.types import Record

MOST_ON_PAGE: Final = 1000
_TOGETHER: Final = 500
"""Records that are read at a time where all matching ones are wanted."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records of a run.

    Args:
        records: in the order that was asked for.
        places: per record, the position of its sample in the dataset, from 0, and its repeat.
        total: how many records match in all; None where they were not to be counted.
        after: to be passed as `after` for the next page; "" on the last one.
        before: to be passed as `before` for the previous page; "" on the first one.
        note: what a search did not look at, as a sentence; "" if it looked at everything.
    """

    records: tuple[Record, ...]
    places: tuple[Place, ...]
    total: int | None
    after: str
    before: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which records of a run are wanted, and how many; see `Run.page`.

    Args:
        n: records on the page; in an order by samples as many more as the last sample has.
        where: the condition; None for all records.
        order: what they are sorted by.
        after: the place of the record that the page follows.
        before: of the record that the page precedes.
        skip: how many records are passed over first.
        among: only these places, as the numbers of `number_of_place`; None for any.
        counted: whether all that match are counted.
    """

    n: Annotated[int, Within(1, MOST_ON_PAGE)]
    where: Condition | None
    order: RecordOrder
    after: Place | None = None
    before: Place | None = None
    skip: Annotated[int, Within(0)] = 0
    among: Sequence[int] | None = None
    counted: bool = True

    def __post_init__(self) -> None:
        check_options(self)
        if self.after is not None and self.before is not None:
            raise ConfigError("a page follows one record or precedes one: give after or before, not both")


def read_page(run: StoredRun, request: PageRequest, against: StoredRun | None = None) -> RecordPage:
    """Read one page of a run.

    Args:
        run: whose records.
        request: which of them.
        against: the run that `regression` and `improvement` compare with.

    Raises:
        ConfigError: the record that the page was to follow is not there.
    """
    order, forward = request.order, request.before is None
    # So many places have to be read to know where a page ends and whether more follow.
    limit = request.n + (repeats_of(run) if order.by_sample else 1)
    beside = request.after if forward else request.before
    is_all = request.where is None and request.among is None and run.state == "finished"
    with run.store.reading(run.id) as connection:
        query = RecordQuery(connection, run, against)
        if request.where is not None:
            query.restrict(request.where)
        if request.among is not None:
            query.restrict_to(request.among)
        stretch = Stretch(order, limit, forward, beside, request.skip)
        in_direction, total = query.stretch(stretch, counted=request.counted and not is_all)
        if request.counted and is_all:
            total = run.done
        end = request.n
        while order.by_sample and end < len(in_direction) and in_direction[end][0] == in_direction[end - 1][0]:
            end += 1
        places = in_direction[:end] if forward else in_direction[:end][::-1]
        records = _records_at(connection, run, places)
    has_more = len(in_direction) > end
    first, last = (cursor(places[0]), cursor(places[-1])) if places else ("", "")
    if not forward:
        return RecordPage(records, tuple(places), total, after=last, before=first if has_more else "")
    begins = request.after is None and not request.skip
    return RecordPage(records, tuple(places), total, after=last if has_more else "", before="" if begins else first)


def searched_page(
    run: StoredRun, request: PageRequest, words: str | SearchMatches, against: StoredRun | None = None
) -> RecordPage:
    """Read one page of the records that have all words of a text, see `Run.search`, or that a search has found."""
    matches = search_run(run, words)
    page = read_page(run, replace(request, among=matches.places), against)
    return replace(page, note=matches.note)


def matching_records(run: StoredRun, condition: Condition) -> Iterator[tuple[int, Record]]:
    """(position, record) of every record of a run that meets a condition, in the order of the dataset."""
    with run.store.reading(run.id) as connection:
        places = _matching(connection, run, condition)
        for begin in range(0, len(places), _TOGETHER):
            chosen = places[begin : begin + _TOGETHER]
            yield from zip((no for no, _ in chosen), _records_at(connection, run, chosen), strict=True)


def matching_places(run: StoredRun, where: str | Condition) -> list[Place]:
    """The places of all records that meet a condition, in the order of the dataset."""
    with run.store.reading(run.id) as connection:
        return _matching(connection, run, as_condition(run, where, None))


def _matching(connection: Connection, run: StoredRun, condition: Condition | None) -> list[Place]:
    query = RecordQuery(connection, run, None)
    if condition is not None:
        query.restrict(condition)
    return query.all()


def as_condition(run: StoredRun, where: str | Condition, against: StoredRun | None) -> Condition | None:
    """Parse a condition as it was typed; None for none.

    Raises:
        ConfigError: it is not valid.
    """
    if isinstance(where, Condition):
        return where
    return parse_condition(where, run.manifest, compared=against is not None) if where.strip() else None


def repeats_of(run: StoredRun) -> int:
    """How many records a sample has at most."""
    return max(1, int(run.manifest.get("options", {}).get("repeats", 1)))


def _records_at(connection: Connection, run: StoredRun, places: Sequence[Place]) -> tuple[Record, ...]:
    by_place: dict[Place, Record] = {}
    in_order = sorted(places)
    for begin in range(0, len(in_order), _TOGETHER):
        rows = rows_at(connection, run.num, in_order[begin : begin + _TOGETHER])
        if rows:
            for no, record in read_records(connection, unpacker_of(connection), run, rows):
                by_place[no, record.repeat] = record
    return tuple(by_place[place] for place in places if place in by_place)
