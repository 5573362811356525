"""One run: its conclusion, what did not become a score, and its samples, filtered and sorted a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.conditions import (
    CHANGES,
    OF_RECORD,
    OUTCOME_WORDS,
    WORDS,
    label_condition,
    quoted_name,
    quoted_value,
)
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.judging_manifest import SIDES, is_judging
from steelyard.analysis.numbers import value_text, verdict_words
from steelyard.analysis.preferences.win_rates import preferences
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.people.marks import baseline_refusal, marks_of
from steelyard.prompts.conversation import input_text
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.render.html import contents_of
from steelyard.report.run_texts import one_line, people_say, unfinished
from steelyard.report.section import KeyFigure, Section
from steelyard.report.sections.conclusion import preference_figures, run_figure
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise
from steelyard.store import Run
from steelyard.store.labels import by_record
from steelyard.store.reading.pages import RecordPage
from steelyard.types import Label, Record
from steelyard.viewer.compare_page import refuse_unlike
from steelyard.viewer.forms import author_of
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages, neighbours
from steelyard.viewer.sample_cells import Cell, SampleColumn, VerdictWords, counted_cells, sample_columns
from steelyard.viewer.sample_labels import labels_text
from steelyard.viewer.what_was_run import run_facts, score_meaning

_ROWS: Final = 50
"""Records on a page of samples; the other repeats of the last sample are added."""
_QUERY: Final = ("where", "search", "sort", "after", "before", "against")
"""Parameters of the query that select the samples."""
_INPUT: Final = 160
"""Characters of an input, an output and a reason in a row; the sample's own page shows them whole."""
_OUTPUT: Final = 120
_ANSWER: Final = 55
"""Likewise of each answer of a pair."""
_MOST_GROUPS: Final = 100
"""Groups among the completions of a filter."""
_MOST_LABELS: Final = 50
"""Conditions on labels among the completions, with values of at most so many letters."""
_MOST_LETTERS: Final = 60
_MOST_OTHERS: Final = 50
"""Runs offered for a comparison with this one; an address may name any."""
_NOT_HERE: Final = frozenset({"conclusion", "targets"})
"""Sections of the report that the head of the page shows in another form."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample in the table, with those of its repeats that the list has.

    Args:
        id: of the sample.
        cells: per shown column its different texts with their numbers of repeats; each with the state of a score (for
            the colour) and the reason of the first such repeat, "" where there are none.
        address: of the sample's page, with the list and the place in it.
    """

    id: str
    cells: tuple[tuple[tuple[Cell, int], ...], ...]
    address: str


@dataclass(frozen=True, slots=True)
class CountChip:
    """A filter of the list of samples: its name, how many it lists, its condition, and the state for its mark."""

    name: str
    count: int
    where: str
    state: str = ""
    against: str = ""


@dataclass(frozen=True, slots=True)
class GroupLink:
    """A group with its mean of the main score over `n` records, and the condition that lists it."""

    name: str
    value: str
    n: int
    where: str


def run_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The route of the page."""

    def show_run(request: Request) -> Response:
        run = pages.run(request)
        given = {name: request.query_params.get(name, "") for name in _QUERY}
        chosen = request.query_params.getlist("columns")
        summary = pages.summary(run)
        try:
            page, fault = _page(pages, run, given), ""
        except ConfigError as error:
            page, fault = None, str(error)
        has_references = page is None or any(record.sample.reference is not None for record in page.records)
        labels = run.labels()
        labelled = (bool(given["search"]) or "label" in given["where"]) if labels else None
        columns = sample_columns(summary, run.score_order, chosen, has_references=has_references, labelled=labelled)
        view = SampleView(columns, chosen, VerdictWords.of(run, summary), _labels_text(run, page, columns, labels))
        baseline = pages.baseline_of(run)
        part: dict[str, Any] = {
            "run": run,
            "given": given,
            "samples": _samples(pages, run, given, view, page) if page else None,
            "fault": fault,
            "columns": columns,
            "chosen": chosen,
            "chips": list(_chips(pages, run, summary, given, baseline, labels)),
        }
        if request.headers.get("hx-target", "").endswith("#samples"):
            return pages.page(request, "samples.html.j2", status=422 if fault else 200, **part)
        pairwise, gate = pairwise_of(run, summary), pages.gate(run)
        sections, remarks = run_sections(run, summary, pairwise, gate), run.remarks()
        return pages.page(
            request,
            "run.html.j2",
            pairwise=bool(pairwise.preferences),
            facts=run_facts(run, summary),
            figures=key_figures(summary, pairwise),
            corrected=people_say(summary),
            meaning=score_meaning(run, summary.primary),
            strip=[score for score in summary.scores if score.headline.value is not None],
            unfinished=unfinished(summary),
            gate=gate,
            groups=(groups := _groups(summary)),
            sections=sections,
            contents=contents_of([*sections, Section("Notes", key="notes-title")]),
            words=_completions(run, groups, labels, compared=bool(given["against"])),
            marks=marks_of(pages.store, run.num),
            no_baseline=baseline_refusal(run),
            difference=pages.difference(run),
            baseline=baseline,
            beside=runs_beside(pages, run),
            others=_others(pages, run, baseline),
            summary=summary,
            notes=remarks.notes,
            dataset=datasets.of_run(run),
            author=author_of(request),
            **part,
        )

    return [Route("/run/{run}", show_run)]


@dataclass(frozen=True, slots=True)
class SampleView:
    """The columns of the list of samples, which of them the address names, the words for scores, and labels as text."""

    columns: tuple[SampleColumn, ...]
    chosen: Sequence[str]
    words: VerdictWords
    labels: Mapping[tuple[str, int], str]


def _labels_text(
    run: Run, page: RecordPage | None, columns: Sequence[SampleColumn], labels: Sequence[Label]
) -> dict[tuple[str, int], str]:
    """(sample, repeat) -> what people said of a record of the page; nothing where no column shows it."""
    if page is None or not any(column.shown and column.key == "labels" for column in columns):
        return {}
    # Of a page alone: 20,000 labels take 170 ms.
    samples = {record.sample.id for record in page.records}
    shown = by_record(label for label in labels if label.sample in samples)
    return {record: one_line(labels_text(given, run), _INPUT) for record, given in shown.items()}


@dataclass(frozen=True, slots=True)
class SampleList:
    """A page of samples: its rows, how many records it has and match in all, the pages beside it, a note on the search.

    `comparable` is whether the run and the one that it is held against have a score in common.
    """

    rows: tuple[SampleRow, ...]
    here: int
    total: int
    after: str
    before: str
    query: str
    note: str
    comparable: bool


def _page(pages: Pages, run: Run, query: Mapping[str, str]) -> RecordPage:
    """The records of a page of samples."""
    against = pages.run_of(query["against"]) if query["against"] else None
    if against is not None:
        refuse_unlike(list({compared.id: compared for compared in (against, run)}.values()))
    return run.page(
        query["after"],
        _ROWS,
        before=query["before"],
        where=query["where"],
        search=query["search"],
        sort=query["sort"],
        against=against,
        by_sample=True,
    )


def _samples(pages: Pages, run: Run, query: Mapping[str, str], view: SampleView, page: RecordPage) -> SampleList:
    against = pages.run_of(query["against"]) if query["against"] else None
    list_query: dict[str, str | Sequence[str]] = {
        name: query[name] for name in ("where", "search", "sort", "against") if query[name]
    }
    list_query["columns"] = view.chosen
    rows: dict[str, list[Record]] = {}
    places: dict[str, str] = {}
    for record, (no, repeat) in zip(page.records, page.places, strict=True):
        rows.setdefault(record.sample.id, []).append(record)
        places.setdefault(record.sample.id, f"{no}.{repeat}")
    return SampleList(
        tuple(
            _row(records, view, sample_address(pages.address, run.id, ident, **list_query, at=places[ident]))
            for ident, records in rows.items()
        ),
        len(page.records),
        page.total or 0,
        page.after,
        page.before,
        pages.query(**list_query),
        page.note,
        against is not None and not {*against.score_order}.isdisjoint(run.score_order),
    )


def _row(records: list[Record], view: SampleView, address: str) -> SampleRow:
    shown_columns = (column for column in view.columns if column.shown)
    cells = (counted_cells(_cell(record, column, view) for record in records) for column in shown_columns)
    return SampleRow(records[0].sample.id, tuple(cells), address)


def _cell(record: Record, column: SampleColumn, view: SampleView) -> Cell:
    """State, text and reason of one record in a column."""
    if column.score:
        return view.words.cell(record, column.score)
    sample = record.sample
    match column.key:
        case "group":
            text = sample.group
        case "input":
            text = one_line(input_text(sample.input), _INPUT)
        case "reference":
            text = "" if sample.reference is None else one_line(cell_text(sample.reference), _OUTPUT)
        case "labels":
            text = view.labels.get((sample.id, record.repeat), "")
        case "seconds":
            text = f"{record.seconds:.3g}"
        case _:
            return _output(record, view.words.sides)
    return "", text, ""


def _output(record: Record, sides: tuple[str, ...]) -> Cell:
    """The beginning of the output; of a judged pair of both answers, each behind its target; else what failed."""
    if record.output is None:
        return ("failed", one_line(record.failure.message, _OUTPUT), "") if record.failure else ("", "", "")
    value = record.output.value
    if sides and isinstance(value, Mapping):
        answers = (
            f"{name}: {one_line(cell_text(value.get(side)), _ANSWER)}" for name, side in zip(sides, SIDES, strict=True)
        )
        return "", " · ".join(answers), ""
    return "", one_line(cell_text(value), _OUTPUT), ""


def _chips(
    pages: Pages,
    run: Run,
    summary: RunSummary,
    given: Mapping[str, str],
    baseline: Run | None,
    labels: Sequence[Label],
) -> Iterator[CountChip]:
    """The filters that list something: by the verdict of the main score, what has none, and what became worse."""
    yield CountChip("All", run.done, "", against=given["against"])
    score, name = summary.score(summary.primary), quoted_name(summary.primary)
    if not is_judging(run.manifest):
        yield from pages.kept("verdicts", [run], "", lambda: tuple(_verdict_chips(run, summary.primary)))
    counts = (
        ("Unreadable", score.unparsed if score else 0, f"{name} = unparsed", "unparsed"),
        ("Refused", score.refused if score else 0, f"{name} = refused", "refused"),
        ("Not applicable", score.not_applicable if score else 0, f"{name} = not-applicable", ""),
        ("Errors", summary.counts.errors, "errors", "error"),
    )
    yield from (CountChip(title, count, where, state) for title, count, where, state in counts if count)
    if labels and (labelled := _count(run, "labelled")):
        yield CountChip("Labelled", labelled, "labelled")
    against = pages.run_of(given["against"]) if given["against"] else baseline
    if against is not None and pages.figures.compares(run, {(run.suite, run.kind): against}):
        for name, where in (("Worse", "regression"), ("Better", "improvement")):
            with suppress(ConfigError):  # runs without a score in common
                count = pages.kept(where, [against, run], "", partial(_count, run, where, against))
                if count:
                    yield CountChip(name, count, where, name.lower(), against.id)


def _count(run: Run, where: str, against: Run | None = None) -> int:
    return run.page(n=1, where=where, against=against).total or 0


def _verdict_chips(run: Run, name: str) -> Iterator[CountChip]:
    """What passes and fails the main score, and what fails any score where that is more."""
    info = run.score_infos.get(name)
    passed, failed = verdict_words(info)
    wrong = by_main = _count(run, "wrong")
    if info is not None and info.threshold is not None:
        signs = ("<=", ">") if info.lower_is_better else (">=", "<")
        right, fails = (f"{quoted_name(name)} {sign} {info.threshold:g}" for sign in signs)
        by_main = _count(run, fails)
        for word, count, where, state in (
            (passed, _count(run, right), right, "right"),
            (failed, by_main, fails, "wrong"),
        ):
            if count:
                yield CountChip(word.capitalize(), count, where, state)
    if wrong != by_main or info is None or info.threshold is None:
        yield from [CountChip("Fails some score", wrong, "wrong", "wrong")] if wrong else []


def _groups(summary: RunSummary) -> list[GroupLink]:
    """The groups of the main score."""
    return [
        GroupLink(
            score.group,
            value_text(score.headline.value, share=score.is_share),
            score.headline.n,
            f"group = {quoted_value(score.group)}",
        )
        for score in summary.groups.get(summary.primary, ())
        if score.group
    ]


def _completions(run: Run, groups: Sequence[GroupLink], labels: Sequence[Label], *, compared: bool) -> list[str]:
    """Completions of a part of a condition: words, names of scores and of other fields, groups."""
    scores = [quoted_name(name) for name in run.score_order]
    return [
        *WORDS,
        *(CHANGES if compared else ()),
        *(group.where for group in groups[:_MOST_GROUPS]),
        *(f"{name} = " for name in OF_RECORD),
        *_label_conditions(labels),
        *(f"{name} < " for name in scores),
        *(f"{name} = {word}" for name in scores for word in OUTCOME_WORDS if word != "scored"),
    ]


def _label_conditions(labels: Sequence[Label]) -> list[str]:
    """Conditions on labels with short values that a field of one line can hold."""
    values = ((label.name, cell_text(label.value)) for label in labels)
    conditions = (
        label_condition(name, value)
        for name, value in values
        if len(value) <= _MOST_LETTERS and value.isprintable() and name.isprintable()
    )
    return list(dict.fromkeys(conditions))[:_MOST_LABELS]


def _others(pages: Pages, run: Run, baseline: Run | None) -> list[tuple[str, str]]:
    """Runs that this one can be compared with, id and name: the pinned baseline first, then the newest."""
    pinned = baseline.id if baseline else ""
    others = sorted(pages.same_suite(run), key=lambda other: other.id != pinned)
    return [
        (other.id, f"{other.target} {other.id}{', the baseline' if other.id == pinned else ''}")
        for other in others
        if other.id != run.id
    ][:_MOST_OTHERS]


def runs_beside(pages: Pages, run: Run) -> tuple[str | None, str | None]:
    """Ids of the runs before and after this one; None at the ends.

    Raises:
        ConfigError: it was deleted while its page was made.
    """
    ids = [stored.id for stored in reversed(pages.store.runs())]
    if run.id not in ids:
        raise ConfigError(f"run {run.id} was deleted meanwhile")
    return neighbours(ids, run.id)


def run_sections(run: Run, summary: RunSummary, pairwise: Pairwise, gate: GateVerdict | None) -> list[Section]:
    """The sections of the run's report without those that the head of the page shows."""
    content = ReportContent((run,), None, gate, pairwise, (summary,))
    return [section for section in map(_without_state, report_sections(content, "html")) if section]


def _without_state(section: Section) -> Section:
    """A section, empty where the head of the page shows it; alarms come without that of an incomplete run."""
    if section.key in _NOT_HERE:
        return Section("")
    notes = tuple(note for note in section.notes if note.term != "Not complete")
    return replace(section, notes=notes) if section.key == "alarms" else section


def key_figures(summary: RunSummary, pairwise: Pairwise) -> tuple[KeyFigure, ...]:
    """The result of a run as one large figure; of a run that judges pairs, which is preferred."""
    return preference_figures(pairwise.preferences) if pairwise.preferences else (run_figure(summary, summary.target),)


def pairwise_of(run: Run, summary: RunSummary) -> Pairwise:
    """The conclusion of a judging run on its pair; nothing for other runs, and before the first record."""
    if not is_judging(run.manifest) or not summary.counts.done:
        return NO_PAIRS
    return Pairwise((preferences(run),))
