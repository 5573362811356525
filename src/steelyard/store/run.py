"""Run: a reading handle on the store. Readable while the run is running and after it was killed."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from steelyard.analysis.conditions import Condition
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.people_labels import CountedLabels, labelled_record, with_labels
from steelyard.analysis.summary.run_summary import summarize_run
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.store.database.connection import portions
from steelyard.store.labels import current_labels, label_source, remarks_on
from steelyard.store.open_store import OpenStore
from steelyard.store.reading.frame import to_frame
from steelyard.store.reading.page_query import RecordOrder, place_of
from steelyard.store.reading.pages import PageRequest, RecordPage, as_condition, read_page, repeats_of, searched_page
from steelyard.store.reading.run_reading import all_records, label_state, read, records_of
from steelyard.store.reading.search import SearchMatches, search_terms
from steelyard.store.records import IN_ORDER, RECORDS, read_records, unpacker_of
from steelyard.store.scores import (
    PlacedScore,
    changed_verdicts,
    detailed_rows,
    placed_scores,
    scored_names,
)
from steelyard.store.stored_run import StoredRun
from steelyard.types import Label, Record, Remarks, Sample

_AHEAD: Final = 200
"""Records that are read together where a run is gone through in order."""
_Block = dict[tuple[int, int], Record]
"""Records by place and repeat."""


class Run(StoredRun):
    """A stored run: one target over one dataset.

    Args:
        store: where it is kept.
        row: its row in the table of runs, read when the handle was made.
        counts_labels: whether scores are replaced by people's labels while the run is read, where a score takes them.
    """

    def __init__(self, store: OpenStore, row: Any, *, counts_labels: bool = False) -> None:
        super().__init__(store, row)
        self._data: tuple[tuple[Hashable, ...], RunData] | None = None
        self.counts_labels = counts_labels

    def refresh(self) -> Run:
        """A new handle with the current state of the run."""
        with self._store.reading() as connection:
            (row,) = connection.execute("SELECT * FROM run WHERE num = :num", {"num": self.num})
        return Run(self._store, row)

    def scored_names(self) -> Sequence[str]:
        """Names of the scores that records have, in order of first appearance."""
        with self._store.reading(self.id) as connection:
            return scored_names(connection, self)

    def data(self) -> RunData:
        """The run as a value; a finished run is read once, until somebody labels it.

        Raises:
            StoreError: something of it is damaged.
        """
        labels = label_state(self)
        if self._data is None or self._data[0] != labels or self.state != "finished":
            self._data = None  # what reads bodies is a copy of this handle, which must not hold earlier columns
            self._data = labels, with_labels(read(self)) if self.counts_labels else read(self)
        return self._data[1]

    def with_labels(self) -> Run:
        """The same run with its scores replaced by people's labels while it is read; nothing is stored."""
        return Run(self._store, self.row, counts_labels=True)

    @cached_property
    def _counted_labels(self) -> CountedLabels | None:
        return CountedLabels.of(self.data()) if self.counts_labels else None

    def _read(self, records: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
        """Records as they are shown: with people's labels where those count."""
        counted = self._counted_labels
        return iter(records) if counted is None else ((no, labelled_record(record, counted)) for no, record in records)

    @property
    def stopping(self) -> Stopping | None:
        """The decision of a stopping rule; None if there is none, or not yet."""
        return self.data().stopping

    def summary(self) -> RunSummary:
        """Means, intervals and counts of the newest scores."""
        return summarize_run(self.data())

    def score(self, name: str = "", group: str = "") -> ScoreSummary:
        """One score over the run: its mean with the interval, and counts.

        Args:
            name: of the score; "" is the headline's.
            group: one group; "" is the whole run.

        Raises:
            ConfigError: the run has no such score or group.
        """
        summary = self.summary()
        score = summary.score(name, group)
        if score is None:
            known = [score.name for score in summary.scores]
            what = (
                f"group {group!r} of {name or summary.primary}" if group and name in {"", *known} else f"score {name!r}"
            )
            raise ConfigError(f"run {self.id} has no {what}{'' if group else did_you_mean(name, known)}")
        return score

    def remarks(self) -> Remarks:
        """Notes on the run, and the labels of its records that count."""
        with self._store.reading() as connection:
            return remarks_on(connection, self)

    def labels(self) -> tuple[Label, ...]:
        """Current labels: the newest per sample, repeat, name and author, without withdrawn ones.

        Those of a run of judges are those of the run whose answers they judge.
        """
        with self._store.reading() as connection:
            return current_labels(connection, label_source(connection, self))

    def changed_verdicts(self, before: Run) -> dict[str, int]:
        """Score -> number of records whose result differs from `before`, the same run in another scoring version."""
        with self._store.reading() as connection:
            return changed_verdicts(connection, self.num, (before.scoring_version, self.scoring_version))

    def to_frame(self) -> Any:
        """One row per record, as a data frame of pandas, polars or pyarrow, whichever is installed.

        Raises:
            ConfigError: none of them is.
        """
        return to_frame(self.data(), self.records(), self.remarks().labels)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        return self.summary()._repr_html_()

    def last_failures(self, n: int) -> list[Record]:
        """The last `n` failed records, in the order of samples and repeats."""
        query = f"{RECORDS} AND record.failed = 1 ORDER BY record.no DESC, record.repeat DESC LIMIT {int(n)}"
        with self._store.reading(self.id) as connection:
            rows = connection.execute(query, {"run": self.num}).all()
            unpacker = unpacker_of(connection)
            return [record for row in reversed(rows) for _, record in read_records(connection, unpacker, self, [row])]

    def done_places(self) -> dict[tuple[int, int], bool]:
        """(no, repeat) of every stored record -> whether it failed."""
        query = "SELECT no, repeat, failed FROM record WHERE run = :run"
        with self._store.reading() as connection:
            rows = connection.execute(query, {"run": self.num}).tuples()
            return {(no, repeat): bool(failed) for no, repeat, failed in rows}

    def records(self) -> Iterator[Record]:
        """Every record in order of samples and repeats, read in chunks."""
        return (record for _, record in self.numbered_records())

    def numbered_records(self) -> Iterator[tuple[int, Record]]:
        """(no, record) for every record; `no` is the sample's 0-based position in its dataset."""
        return self._read(all_records(self))

    def records_between(self, first: int, last: int) -> list[tuple[int, Record]]:
        """(no, record) from sample number `first` to `last`."""
        query = f"{RECORDS} AND record.no BETWEEN :first AND :last {IN_ORDER}"
        with self._store.reading(self.id) as connection:
            rows = connection.execute(query, {"run": self.num, "first": first, "last": last}).all()
            return list(self._read(read_records(connection, unpacker_of(connection), self, rows))) if rows else []

    def records_at(self, places: Sequence[int], shared: dict[Any, Any] | None = None) -> Iterator[Record]:
        """Records of the samples at some places of the dataset, in order.

        Args:
            places: 0-based, ascending.
            shared: parts that several calls share, also of other runs, so that each is unpacked once; empty at first.
        """
        with self._store.reading(self.id) as connection:
            unpacker = unpacker_of(connection)
            query = f"{RECORDS} AND record.no IN :places {IN_ORDER}"
            for portion in portions(places):
                if rows := connection.execute(query, {"run": self.num, "places": portion}).all():
                    read_rows = read_records(connection, unpacker, self, rows, shared)
                    yield from (record for _, record in self._read(read_rows))

    def records_of(self, samples: Collection[str]) -> list[Record]:
        """Records of some samples, in order."""
        return [record for _, record in self._read((0, record) for record in records_of(self, samples))]

    def page(  # noqa: PLR0913  # each is a choice of whoever looks through a run
        self,
        after: str = "",
        n: int = 50,
        *,
        before: str = "",
        where: str | Condition = "",
        search: str | SearchMatches = "",
        sort: str = "",
        against: Run | None = None,
        skip: int = 0,
        count: bool = True,
        by_sample: bool = False,
    ) -> RecordPage:
        """Some records of the run, from anywhere in it.

        Args:
            after: the page follows this record: `after` of the page before. "" begins with the first record.
            n: records on the page, 1 to 1,000.
            before: the page precedes this record: `before` of the page that follows.
            where: a condition as `run --only` takes it: `correctness < 3 and group = "tax" and regression`.
            search: words that each record has to have in its texts, see `search`; or what a search has found.
            sort: "place" (the order of the dataset, also ""), "id", "group", "cluster", "seconds" or the name of a
                score; with `-` before it the largest first. Records without a value come last, ties in the order of
                the dataset.
            against: the run that `regression` and `improvement` compare with.
            skip: so many records are passed over first: for a page by its number.
            count: whether all records that match are counted; without, a page is found sooner.
            by_sample: whether repeats of a sample stay together: those of the last one are all on the page, `after` and
                `before` name its sample, and a score or `seconds` is sorted by its mean over them.

        Raises:
            ConfigError: a condition or order that is not valid, or the record that the page was to follow is gone.
        """
        condition = as_condition(self, where, against)
        order = RecordOrder.of(sort, self.score_order, by_sample=by_sample and repeats_of(self) > 1)
        request = PageRequest(
            n, condition, order, after=place_of(after), before=place_of(before), skip=skip, counted=count
        )
        return searched_page(self, request, search, against) if search else read_page(self, request, against)

    def search(self, text: str, after: str = "", n: int = 50, **options: Any) -> RecordPage:
        """Records that have all words of a text, by the index that a run of over 20,000 records gets when it ends.

        Searched are ids, inputs, references, choices and contexts of samples, outputs, reasons of scores, and messages
        of failures: the first 100,000 characters of each record, whole words without regard to case; Chinese and
        Japanese by neighbouring characters. Labels and notes of people are searched apart from these.

        Args:
            text: words; several in quotation marks have to follow each other.
            after: as in `page`.
            n: likewise.
            options: the others of `page`.

        Returns:
            A page; its `note` says what was not searched, where there is no index: at most 20,000 records are then.

        Raises:
            ConfigError: there is nothing to search for; and as `page`.
        """
        search_terms(text)  # refuses a text without a word, for which `page` would not search at all
        return self.page(after, n, search=text, **options)

    def places(self) -> dict[str, int]:
        """Sample id -> its position in the dataset, of every stored record."""
        query = """SELECT sample.id, record.no FROM record JOIN sample ON sample.num = record.sample
            WHERE record.run = :run"""
        with self._store.reading() as connection:
            return dict(connection.execute(query, {"run": self.num}).tuples())

    def place_of(self, sample: str) -> int | None:
        """The position of a sample in the dataset, or None where no record of it is stored."""
        query = "SELECT no FROM record WHERE run = :run AND sample IN (SELECT num FROM sample WHERE id = :id) LIMIT 1"
        with self._store.reading() as connection:
            place = connection.execute(query, {"run": self.num, "id": sample}).scalar()
            return None if place is None else int(place)

    def placed_scores(self, score: str) -> Iterator[PlacedScore]:
        """One score of every record, by place, whether or not a stopping rule used the record."""
        with self._store.reading(self.id) as connection:
            yield from placed_scores(connection, self, score)

    def detailed_rows(self, score: str) -> Iterator[ScoreRow]:
        """The rows of one score with everything that its scorer kept, in order of samples and repeats."""
        with self._store.reading(self.id) as connection:
            yield from detailed_rows(connection, self, score)


class RecordReader:
    """Reads records by sample: samples in dataset order are read ahead in chunks, others one by one.

    Args:
        run: a run whose records are stored already; those of one that is still being written are passed to `add`.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._places = run.places()
        self._block = -1
        self._blocks: tuple[_Block, _Block] = ({}, {})
        self._added: dict[tuple[str, int], Record] = {}

    def add(self, record: Record) -> None:
        """Add a record that may not be in the store yet."""
        self._added[record.sample.id, record.repeat] = record

    def drop(self, sample: str) -> None:
        """Remove the added records of a sample."""
        for key in [key for key in self._added if key[0] == sample]:
            del self._added[key]

    def __call__(self, sample: str, repeat: int) -> Record | None:
        """The record of that sample; None where the run has none."""
        added = self._added.get((sample, repeat))
        if added is not None:
            return added
        no = self._places.get(sample)
        if no is None:
            return None
        for block in self._blocks:
            if (no, repeat) in block:
                return block[no, repeat]
        if no // _AHEAD != self._block + 1:
            return self._read(no, no).get((no, repeat))
        self._block += 1
        # Workers are not quite in step: the block before is kept for those that are behind.
        self._blocks = (self._blocks[1], self._read(self._block * _AHEAD, (self._block + 1) * _AHEAD - 1))
        return self._blocks[1].get((no, repeat))

    def _read(self, first: int, last: int) -> _Block:
        return {(no, record.repeat): record for no, record in self._run.records_between(first, last)}


class OpenRunReader:
    """Reads records of a run that other processes write, each from the store when it is asked for.

    Args:
        run: still being written.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, sample: str, repeat: int) -> Record | None:
        """The record of that sample; None where the run has none yet."""
        return next((record for record in self._run.records_of([sample]) if record.repeat == repeat), None)


def samples_of(runs: Iterable[Run]) -> list[Sample]:
    """The samples that all of the runs have, by id, as the first run holds them and in its order."""
    first, *rest = runs
    other_places = [set(run.places()) for run in rest]
    shared: dict[str, Sample] = {}
    for record in first.records():
        ident = record.sample.id
        if ident not in shared and all(ident in places for places in other_places):
            shared[ident] = record.sample
    return list(shared.values())
