"""Run: a reading handle on the store. Readable while the run is running and after it was killed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from steelyard.analysis.intervals import Intervals
from steelyard.analysis.judging_manifest import has_structured_judge
from steelyard.analysis.score_infos import has_several_raters, names_where, range_of, score_infos
from steelyard.analysis.stopped_runs import as_stopped, exam_as_stopped
from steelyard.analysis.stopping import Stopped, Stopping, Used
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import RunState, RunSummary, ScoreSummary
from steelyard.analysis.tallied_summary import NeedsRowsError, summarize_tallies, tallied_histograms
from steelyard.store.backend import read_json
from steelyard.store.connection import Connection, portions
from steelyard.store.labels import JUDGES, current_labels, judged_run, newest_label, remarks_on, run_row
from steelyard.store.open_store import OpenStore
from steelyard.store.records import IN_ORDER, RECORDS, damage_lines, read_records, rows_of_samples, unpacker_of
from steelyard.store.run_rows import read_stopping, scoring_of
from steelyard.store.scores import (
    DAMAGED_DETAIL,
    PlacedValue,
    breakdowns,
    changed_verdicts,
    consistency,
    counted_texts,
    done_places,
    examined_rows,
    judged_rows,
    lacking,
    matched,
    place_of_sample,
    placed_values,
    placed_verdicts,
    sample_places,
    score_rows,
    scored_names,
    turn_summaries,
)
from steelyard.store.tallies import read_tallies
from steelyard.store.usage import RunUsage, asked_by_itself, framework_usage, stage_costs
from steelyard.types import OUTCOMES, Label, Outcome, Record, Remarks, ScoreInfo

if TYPE_CHECKING:
    # What a run and its usual summary do not need is imported where it is used: it would take a tenth of the start.
    from steelyard.analysis.conditions import Condition
    from steelyard.analysis.contingency import ContingencyTable
    from steelyard.analysis.exam_values import Exam
    from steelyard.analysis.histograms import Histogram
    from steelyard.analysis.run_protocols import PlacedVerdict
    from steelyard.analysis.score_columns import Answered, JudgedRow, ScoreColumns, ScoreRow
    from steelyard.analysis.usage import StageCost
    from steelyard.store.jury_run import JuryRun
    from steelyard.store.pages import RecordPage
    from steelyard.store.raters import RaterFindings
    from steelyard.store.search import FoundPlaces

_RESULT_SCORES: Final = frozenset({"result", "execution_accuracy"})
"""Scores that compare the results of two queries."""
_CHUNK: Final = 500
"""Records that are read together: memory stays flat whatever the size of the run."""
_LOOKED_THROUGH: Final = 5000
"""Up to so many records a summary opens every body (0.2 s of CPU); for a larger run only where it met damage."""
_COUNTED_ANYWAY: Final = 20_000
"""Up to so many records a summary is computed from counts, even if the rows are cached: it never differs in a digit."""


class _Summarized(NamedTuple):
    """What a summary computes from scores; `damaged` is whether it met a body that cannot be read."""

    scores: tuple[ScoreSummary, ...]
    groups: dict[str, tuple[ScoreSummary, ...]]
    spreads: dict[str, Histogram]
    exams: tuple[Exam, ...]
    contingency_tables: tuple[ContingencyTable, ...]
    breakdowns: dict[str, dict[str, tuple[ScoreSummary, ...]]]
    raters: RaterFindings | None
    damaged: bool


class Run:
    """A stored run: one target over one dataset.

    Args:
        store: where it is kept.
        row: its row in the table of runs, read when the handle was made.
        just_written: whether this process has just stored every record, so that a summary looks for no damage.
    """

    def __init__(self, store: OpenStore, row: Any, *, just_written: bool = False) -> None:
        self._store = store
        self._row = row
        self._just_written = just_written
        self._found_damages: tuple[str, ...] | None = None
        self.num: int = row.num
        self.id: str = row.id
        self.evaluation: int = row.evaluation
        self.suite: str = row.suite
        self.kind: str = row.kind
        self.target: str = row.target
        self.reason: str = row.reason
        self.planned: int = row.planned
        self.done: int = row.done
        self.errors: int = row.errors
        self.replies: int = row.replies
        self.from_journal: int = row.from_journal
        self.scoring_version: int = row.layer
        self.seconds: float = row.seconds

    def __repr__(self) -> str:
        return f"Run({self.id!r}, target={self.target!r}, state={self.state!r}, done={self.done}/{self.planned})"

    @property
    def store(self) -> OpenStore:
        """The store that holds the run; a `Store` where the run was found in one."""
        return self._store

    @property
    def state(self) -> RunState:
        """`finished`, `running`, `interrupted` (killed or stopped: it can be resumed) or `broken`."""
        # A killed process leaves "open" behind, but the operating system has let its lock go.
        if self._row.state == "open":
            return "running" if self._store.is_written(self.id) else "interrupted"
        return cast("RunState", self._row.state)

    @property
    def created(self) -> datetime:
        """When it was started."""
        return datetime.fromtimestamp(self._row.created, UTC)

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """What was run: target, scorers, samples, options, versions; secrets by name only.

        For a run that was scored again, the keys about scorers and scores are those of the newest scoring version.
        """
        if not self.scoring_version:
            return self.first_manifest
        with self._store.reading() as connection:
            newest = scoring_of(connection, self.num, self.scoring_version)
        return {**self.first_manifest, **newest}

    @cached_property
    def first_manifest(self) -> Mapping[str, Any]:
        """The same as it was when the run was made, however often it was scored again."""
        return read_json(self._row.manifest, f"the manifest of run {self.id} ({self.target})")

    @cached_property
    def score_infos(self) -> Mapping[str, ScoreInfo]:
        """Score -> what its scorer declared, in the scorers' order; of a run that was scored again, the newest."""
        return score_infos(self.manifest)

    def _names_where(self, holds: Callable[[ScoreInfo], bool]) -> tuple[str, ...]:
        return names_where(self.score_infos, holds)

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""
        return cast("Mapping[str, str]", self.manifest.get("tags", {}))

    @property
    def stages(self) -> Sequence[str]:
        """Names of the stages that ask, the target first."""
        return cast("Sequence[str]", self.manifest["stages"])

    @property
    def score_order(self) -> Mapping[str, int]:
        """Score -> its position in the order that the scorers declared."""
        return {name: position for position, name in enumerate(self.manifest.get("scores", ()))}

    def refresh(self) -> Run:
        """A new handle with the current state of the run."""
        with self._store.reading() as connection:
            (row,) = connection.execute("SELECT * FROM run WHERE num = :num", {"num": self.num})
        return Run(self._store, row)

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score in order of samples and repeats; an `error` row per score that a failed record lacks.

        Where a stopping rule ended the run, only those of the samples that its decision is based on.
        """
        with self._store.reading(self.id) as connection:
            yield from score_rows(connection, self, self._used)

    def scored_names(self) -> Sequence[str]:
        """Names of the scores that records have, in order of first appearance."""
        with self._store.reading(self.id) as connection:
            return scored_names(connection, self)

    def examined_rows(self) -> Iterator[tuple[ScoreRow, Answered | None]]:
        """The same rows, those of exam scores with the letters that were read and wanted, others with None."""
        with self._store.reading(self.id) as connection:
            yield from examined_rows(connection, self, self._used, self._names_where(lambda info: info.exam))

    def columns(self) -> tuple[ScoreColumns, RunUsage]:
        """The same rows column by column, and the requests of the run, with the same numbers for samples.

        A finished run is read once.
        """
        with self._store.reading() as connection:
            scores, records, _ = self._store.columns.read(connection, self, self._used)
        return scores, RunUsage(self._store.reading, self.num, self.stages, scores.samples, records)

    def with_jury(self) -> Run | JuryRun:
        """The run with the scores of its jury among the others; without a jury the run itself."""
        from steelyard.store.jury_run import JuryRun

        added = JuryRun(self)
        return added if added.has_jury else self

    def read_ahead(self) -> None:
        """Read the rows of a large run, as a comparison needs them after its summary; does nothing for a small one."""
        if self.done > _COUNTED_ANYWAY:
            self.columns()

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """The rows of one score, likewise, each with the detail that its scorer kept."""
        with self._store.reading(self.id) as connection:
            yield from judged_rows(connection, self, score, self._used)

    @cached_property
    def _stopped(self) -> Stopped | None:
        with self._store.reading() as connection:
            return read_stopping(connection, self.num)

    @property
    def stopping(self) -> Stopping | None:
        """The decision of a stopping rule; None if there is none, or not yet."""
        if self._stopped is None or not self.scoring_version:
            return self._stopped[0] if self._stopped else None
        # The rule decided on scores that were replaced since.
        stopping = self._stopped[0]
        return stopping.undone(range_of(self.score_infos.get(stopping.score)))

    @property
    def _used(self) -> Used | None:
        return self._stopped[1] if self._stopped else None

    def remarks(self) -> Remarks:
        """Notes on the run, and the labels of its records that count."""
        with self._store.reading() as connection:
            return remarks_on(connection, self)

    def labels(self) -> tuple[Label, ...]:
        """Current labels: the newest per sample, repeat, name and author, without withdrawn ones.

        Those of a run of judges are those of the run whose answers they judge.
        """
        source = judged_run(self.manifest, self.kind)
        with self._store.reading() as connection:
            row = run_row(connection, source) if source else None
            return current_labels(connection, self.num if row is None else row.num)

    def changed_verdicts(self, before: Run) -> dict[str, int]:
        """Score -> number of records whose result differs from `before`, the same run in another scoring version."""
        with self._store.reading() as connection:
            return changed_verdicts(connection, self.num, (before.scoring_version, self.scoring_version))

    def _from_counts(self) -> _Summarized | None:
        """What a summary computes, from counts by the database; None where the rows are needed."""
        infos, manifest = self.score_infos, self.manifest
        if self._used is not None or manifest.get("crossed") or manifest.get("breakdowns") or self.kind == JUDGES:
            return None
        with self._store.reading() as connection:
            labelled = bool(newest_label(connection, self.num))
        if has_several_raters(self.score_order, infos, labelled=labelled):
            return None
        with self._store.reading(self.id) as connection:
            tallies = read_tallies(connection, self)
        if tallies is None:
            return None
        try:
            scores, groups = summarize_tallies(tallies, infos=infos, intervals=Intervals.of(manifest))
            exams: tuple[Exam, ...] = ()
            if self._names_where(lambda info: info.exam):
                from steelyard.analysis.tallied_exam import tallied_exams

                exams = tallied_exams(tallies, scores, infos)
        except NeedsRowsError:
            return None
        damaged = any(tally.answered == DAMAGED_DETAIL for of_score in tallies.values() for tally in of_score)
        spreads = tallied_histograms(tallies, infos)
        return _Summarized(scores, groups, spreads, exams, (), {}, None, damaged=damaged)

    def _from_rows(self) -> _Summarized:
        """The same from every row, as columns of numpy."""
        from steelyard.analysis.contingency import contingency_tables
        from steelyard.analysis.exam import exams
        from steelyard.analysis.histograms import histograms
        from steelyard.store.raters import rater_findings

        columns, _ = self.columns()
        infos = self.score_infos
        scores, groups = summarize(columns, infos=infos, intervals=Intervals.of(self.manifest))
        with self._store.reading() as connection:
            by_metadata = breakdowns(connection, self.num, columns, self.manifest)
        return _Summarized(
            scores,
            groups,
            histograms(columns, infos),
            exams(columns, scores, infos),
            contingency_tables(columns, infos, self.manifest.get("crossed", ())),
            by_metadata,
            findings if any(findings := rater_findings(self, columns)) else None,
            damaged=DAMAGED_DETAIL in columns.details,
        )

    def summary(self) -> RunSummary:
        """Means, intervals and counts of the newest scores."""
        return self._summary(opens_bodies=True) if self.is_looked_through else self.quick_summary()

    @property
    def is_looked_through(self) -> bool:
        """Whether `summary` opens every body to look for damage; if not, `quick_summary` gives the same."""
        return self.done <= _LOOKED_THROUGH and not self._just_written

    def quick_summary(self) -> RunSummary:
        """The same in a quarter of the time, for lists of many runs: damage is found only where it is met.

        For a large run that does not change, it is the summary that was stored when it was first computed.
        """
        from steelyard.store.stored_summary import read_summary

        return read_summary(self) or self._summary(opens_bodies=False)

    def _summary(self, *, opens_bodies: bool) -> RunSummary:
        # The rows of a large run that is being compared are cached already, and counting them costs one more query.
        has_rows = self.done > _COUNTED_ANYWAY and self._store.columns.has(self)
        computed = (None if has_rows else self._from_counts()) or self._from_rows()
        scores, groups = as_stopped(computed.scores, computed.groups, self.stopping)
        order = self.score_order
        scores = tuple(sorted(scores, key=lambda score: order.get(score.name, len(order))))
        primary = self.manifest.get("primary") or (scores[0].name if scores else "")
        with self._store.reading() as connection:
            agreed = consistency(connection, self.num, self.scoring_version, scorers=self.manifest.get("scorers"))
            passages = matched(connection, self, self._used, scores)
            lacks = lacking(connection, self, self._used, scores)
            stages = stage_costs(connection, self.num, self.stages)
            framework = framework_usage(connection, self.num)
        return RunSummary(
            run=self.id,
            suite=self.suite,
            target=self.target,
            tags=self.tags,
            state=self.state,
            planned=self.planned,
            done=self.done,
            errors=self.errors,
            from_journal=self.from_journal,
            input_tokens=self._row.input_tokens,
            output_tokens=self._row.output_tokens,
            seconds=self.seconds,
            created=self.created.isoformat(timespec="seconds"),
            scores=scores,
            groups=groups,
            primary=primary,
            # Other scores may fail to parse the same replies for other reasons: the primary score's are shown.
            unparsed_kinds=self._counted("kind", outcome="unparsed", name=primary)
            or self._counted("kind", outcome="unparsed"),
            lacking=lacks,
            open_references=self._open_references(),
            labels={
                name: counts
                for name in self._names_where(lambda info: info.named_verdicts)
                if (counts := self._counted("label", name=name))
            },
            stages=stages,
            spreads=computed.spreads,
            contingency_tables=computed.contingency_tables,
            breakdowns=computed.breakdowns,
            consistency=agreed,
            stopping=self.stopping,
            exams=tuple(exam_as_stopped(exam, self.stopping) for exam in computed.exams),
            also_scored=self._names_where(lambda info: info.also_scored),
            matched=passages,
            turns=turn_summaries(self),
            reply_forms=self._reply_forms(),
            calls=self.manifest.get("calls", {}),
            framework=framework,
            asks_itself=asked_by_itself(stages, self.manifest),
            damaged=self._damages() if opens_bodies or computed.damaged else (),
            **(computed.raters._asdict() if computed.raters else {}),
        )

    def _reply_forms(self) -> dict[str, dict[str, int]]:
        """Score -> how its judge's replies were asked for -> records; empty where no judge asks for a JSON schema."""
        if not has_structured_judge(self.manifest):
            return {}
        outcome_texts = {*(outcome.replace("_", " ") for outcome in OUTCOMES), "damaged"}
        counts = {name: self._counted("asked_for", name=name) for name in self.score_order}
        forms = {
            name: {form: n for form, n in form_counts.items() if form not in outcome_texts}
            for name, form_counts in counts.items()
        }
        return {name: form_counts for name, form_counts in forms.items() if form_counts}

    def _open_references(self) -> dict[str, int]:
        """Score -> records whose reference query has no unique result; only scores that compare results say so."""
        names = (name for name in self._names_where(lambda info: info.named_verdicts) if name in _RESULT_SCORES)
        counts = {name: self._counted("reference", outcome="scored", name=name).get("not unique", 0) for name in names}
        return {name: count for name, count in counts.items() if count}

    def damages(self) -> tuple[str, ...]:
        """Damage, one line per record: run, sample, and the part that cannot be read. Opens every body."""
        return damage_lines(self.id, self.done, self.records())

    def _damages(self) -> tuple[str, ...]:
        """The same; this handle looks through a finished run once, however many pages take its summary."""
        if self._found_damages is None or self.state != "finished":
            self._found_damages = self.damages()
        return self._found_damages

    def stage_costs(self) -> tuple[StageCost, ...]:
        """Calls, tokens and cost of the target and each scorer."""
        with self._store.reading() as connection:
            return stage_costs(connection, self.num, self.stages)

    def to_frame(self) -> Any:
        """One row per record, as a data frame of pandas, polars or pyarrow, whichever is installed.

        Raises:
            ConfigError: none of them is.
        """
        from steelyard.store.frame import to_frame

        return to_frame(self)

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

    def _counted(self, key: str, *, outcome: Outcome | None = None, name: str = "") -> dict[str, int]:
        with self._store.reading() as connection:
            return counted_texts(connection, self, self._used, key=key, outcome=outcome, name=name)

    def sample_hashes(self) -> dict[str, str]:
        """Sample id -> hash of its content."""
        return self.columns()[1].hashes()

    def reply_keys(self) -> dict[str, frozenset[str]]:
        """Sample id -> the journal's keys of the last reply that its target got in each repeat."""
        # Only the last one is the answer: two runs may share an earlier one, such as an embedding, and still differ.
        return self.columns()[1].reply_keys()

    def done_places(self) -> dict[tuple[int, int], bool]:
        """(no, repeat) of every stored record -> whether it failed."""
        with self._store.reading() as connection:
            return done_places(connection, self.num)

    def records(self) -> Iterator[Record]:
        """Every record in order of samples and repeats, read in chunks."""
        return (record for _, record in self.numbered_records())

    def numbered_records(self) -> Iterator[tuple[int, Record]]:
        """(no, record) for every record; `no` is the sample's 0-based position in its dataset."""
        # By the last place that was read, not by OFFSET, which would go through all earlier rows again.
        last_place = (-1, 0)
        with self._store.reading(self.id) as connection:
            unpacker = unpacker_of(connection)
            while rows := self._chunk(connection, last_place):
                last_place = (rows[-1].no, rows[-1].repeat)
                yield from read_records(connection, unpacker, self, rows)

    def _chunk(self, connection: Connection, after: tuple[int, int]) -> Sequence[Any]:
        query = f"{RECORDS} AND (record.no, record.repeat) > (:no, :repeat) {IN_ORDER} LIMIT {_CHUNK}"
        return connection.execute(query, {"run": self.num, "no": after[0], "repeat": after[1]}).all()

    def records_between(self, first: int, last: int) -> list[tuple[int, Record]]:
        """(no, record) from sample number `first` to `last`."""
        query = f"{RECORDS} AND record.no BETWEEN :first AND :last {IN_ORDER}"
        with self._store.reading(self.id) as connection:
            rows = connection.execute(query, {"run": self.num, "first": first, "last": last}).all()
            return list(read_records(connection, unpacker_of(connection), self, rows)) if rows else []

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
                    yield from (record for _, record in read_records(connection, unpacker, self, rows, shared))

    def records_of(self, samples: Collection[str]) -> list[Record]:
        """Records of some samples, in order."""
        with self._store.reading(self.id) as connection:
            rows = portions(rows_of_samples(connection, self.num, samples))
            unpacker = unpacker_of(connection)
            return [record for portion in rows for _, record in read_records(connection, unpacker, self, portion)]

    def page(  # noqa: PLR0913  # each is a choice of whoever looks through a run
        self,
        after: str = "",
        n: int = 50,
        *,
        before: str = "",
        where: str | Condition = "",
        search: str | FoundPlaces = "",
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
            count: whether all records that match are counted. In a finished run their order is then remembered, so that
                further pages of it cost no search; without, the first page is found sooner.
            by_sample: whether repeats of a sample stay together: those of the last one are all on the page, `after` and
                `before` name its sample, and a score or `seconds` is sorted by its mean over them.

        Raises:
            ConfigError: a condition or order that is not valid, or the record that the page was to follow is gone.
        """
        from steelyard.store.page_query import RecordOrder
        from steelyard.store.pages import PageRequest, as_condition, place_of, read_page, repeats_of, searched_page

        condition = as_condition(self, where, against)
        order = RecordOrder.of(sort, self.score_order, by_sample=by_sample and repeats_of(self) > 1)
        request = PageRequest(
            n, condition, order, after=place_of(after), before=place_of(before), skip=skip, counted=count
        )
        return searched_page(self, request, search, against) if search else read_page(self, request, against)

    def search(self, text: str, after: str = "", n: int = 50, **options: Any) -> RecordPage:
        """Records that have all words of a text, by the index that a run of over 2,000 records gets when it ends.

        Searched are ids, inputs, references, choices and contexts of samples, outputs, reasons of scores, and messages
        of failures: the first 100,000 characters of each record, whole words without regard to case; Chinese and
        Japanese by neighbouring characters.

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
        from steelyard.store.search_text import search_terms

        search_terms(text)  # refuses a text without a word, for which `page` would not search at all
        return self.page(after, n, search=text, **options)

    def places(self) -> dict[str, int]:
        """Sample id -> its position in the dataset, of every stored record."""
        with self._store.reading() as connection:
            return sample_places(connection, self.num)

    def place_of(self, sample: str) -> int | None:
        """The position of a sample in the dataset, or None where no record of it is stored."""
        with self._store.reading() as connection:
            return place_of_sample(connection, self.num, sample)

    def placed_verdicts(self, score: str) -> Iterator[PlacedVerdict]:
        """The verdict of one score on every record, by place, whether or not a stopping rule used the record."""
        with self._store.reading(self.id) as connection:
            yield from placed_verdicts(connection, self, score)

    def placed_values(self, score: str) -> list[PlacedValue]:
        """The value of one score of every record, by place, whether or not a stopping rule used the record."""
        with self._store.reading(self.id) as connection:
            return list(placed_values(connection, self, score))
