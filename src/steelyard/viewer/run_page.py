"""One run: its conclusion, what did not become a score, and its samples, filtered and sorted a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from steelyard.analysis.judging_manifest import SIDES, is_judging
from steelyard.analysis.numbers import value_text
from steelyard.analysis.preferences.win_rates import preferences
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.people.marks import baseline_refusal, marks_of
from steelyard.prompts.conversation import input_text
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.render.html import contents_of
from steelyard.report.run_texts import one_line, unfinished
from steelyard.report.section import KeyFigure, Section
from steelyard.report.sections.conclusion import VERDICT_WORDS, preference_figures, run_figure
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise
from steelyard.store import Run
from steelyard.types import Label, Record
from steelyard.viewer.compare_page import refuse_unlike
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.notes import author_of
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.record_verdicts import Cell, VerdictWords, counted_cells
from steelyard.viewer.run_figures import BaselineDifference
from steelyard.viewer.sample_columns import SampleColumn, sample_columns

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
class CountCard:
    """How many records have an outcome, the condition that lists them, and whether they make the score uncertain."""

    name: str
    count: int
    where: str
    is_doubt: bool = True


@dataclass(frozen=True, slots=True)
class GroupLink:
    """A group with its mean of the main score over `n` records, and the condition that lists it."""

    name: str
    value: str
    n: int
    where: str


def run_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The route of the page."""

    def run(request: Request) -> Response:
        found = pages.run(request)
        given = {name: request.query_params.get(name, "") for name in _QUERY}
        chosen = request.query_params.getlist("columns")
        summary = pages.summary(found)
        columns = sample_columns(summary, tuple(found.score_order), chosen)
        try:
            samples = _samples(pages, found, given, SampleView(columns, chosen, VerdictWords.of(found, summary)))
            fault = ""
        except ConfigError as error:
            samples, fault = None, str(error)
        part: dict[str, Any] = {
            "run": found,
            "given": given,
            "samples": samples,
            "fault": fault,
            "columns": columns,
            "chosen": chosen,
        }
        if request.headers.get("hx-target", "").endswith("#samples"):
            return pages.page(request, "samples.html.j2", status=422 if fault else 200, **part)
        pairwise, difference = pairwise_of(found, summary), pages.difference(found)
        sections, remarks = run_sections(found, summary, pairwise), found.remarks()
        return pages.page(
            request,
            "run.html.j2",
            pairwise=bool(pairwise.preferences),
            figures=key_figures(summary, pairwise, difference),
            unfinished=unfinished(summary),
            cards=list(_cards(found, summary)),
            groups=(groups := _groups(summary)),
            sections=[section for section in sections if section.key != "alarms"],
            alarms=next((section for section in sections if section.key == "alarms"), None),
            contents=contents_of(
                [Section("Samples", key="samples-title"), *sections, Section("Notes", key="notes-title")]
            ),
            words=_completions(found, groups, found.labels(), compared=bool(given["against"])),
            marks=marks_of(pages.store, found.num),
            no_baseline=baseline_refusal(found),
            difference=difference,
            beside=runs_beside(pages, found),
            others=_others(pages, found),
            summary=summary,
            notes=remarks.notes,
            dataset=datasets.of_run(found),
            author=author_of(request),
            **part,
        )

    return [Route("/run/{run}", run)]


@dataclass(frozen=True, slots=True)
class SampleView:
    """The columns of the list of samples, which of them the address names, and the words for scores."""

    columns: tuple[SampleColumn, ...]
    chosen: Sequence[str]
    words: VerdictWords


@dataclass(frozen=True, slots=True)
class SampleList:
    """A page of samples: its rows, how many match in all, the neighbouring pages, and a note on the search.

    `comparable` is whether the run and the one that it is held against have a score in common.
    """

    rows: tuple[SampleRow, ...]
    total: int
    after: str
    before: str
    query: str
    note: str
    comparable: bool


def _samples(pages: Pages, run: Run, query: Mapping[str, str], view: SampleView) -> SampleList:
    against = pages.run_of(query["against"]) if query["against"] else None
    if against is not None:
        refuse_unlike(list({compared.id: compared for compared in (against, run)}.values()))
    page = run.page(
        query["after"],
        _ROWS,
        before=query["before"],
        where=query["where"],
        search=query["search"],
        sort=query["sort"],
        against=against,
        by_sample=True,
    )
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
        page.total or 0,
        page.after,
        page.before,
        pages.query(**list_query),
        page.note,
        against is not None and not {*against.score_order}.isdisjoint(run.score_order),
    )


def _row(records: list[Record], view: SampleView, address: str) -> SampleRow:
    shown_columns = (column for column in view.columns if column.shown)
    cells = (counted_cells(_cell(record, column, view.words) for record in records) for column in shown_columns)
    return SampleRow(records[0].sample.id, tuple(cells), address)


def _cell(record: Record, column: SampleColumn, words: VerdictWords) -> Cell:
    """State, text and reason of one record in a column."""
    if column.score:
        return words.cell(record, column.score)
    sample = record.sample
    match column.key:
        case "group":
            return "", sample.group, ""
        case "input":
            return "", one_line(input_text(sample.input), _INPUT), ""
        case "reference":
            return "", "" if sample.reference is None else one_line(cell_text(sample.reference), _OUTPUT), ""
        case "seconds":
            return "", f"{record.seconds:.3g}", ""
    return "", _output(record, words.sides), ""


def _output(record: Record, sides: tuple[str, ...]) -> str:
    """The beginning of the output; of a judged pair of both answers, each behind its target."""
    if record.output is None:
        return ""
    value = record.output.value
    if sides and isinstance(value, Mapping):
        return " · ".join(
            f"{name}: {one_line(cell_text(value.get(side)), _ANSWER)}" for name, side in zip(sides, SIDES, strict=True)
        )
    return one_line(cell_text(value), _OUTPUT)


def _cards(run: Run, summary: RunSummary) -> Iterator[CountCard]:
    """The cards of outcomes that occur."""
    score = summary.score(summary.primary)
    name = quoted_name(summary.primary)
    if not is_judging(run.manifest):
        yield from _wrong_cards(run, summary.primary)
    counts = (
        ("unparsed", score.unparsed if score else 0, f"{name} = unparsed"),
        ("refused", score.refused if score else 0, f"{name} = refused"),
        ("not applicable", score.not_applicable if score else 0, f"{name} = not-applicable"),
        ("errors", summary.counts.errors, "errors"),
    )
    yield from (CountCard(title, count, where) for title, count, where in counts if count)


def _wrong_cards(run: Run, name: str) -> Iterator[CountCard]:
    """Cards of records that are wrong by the main score, and of those that are wrong by any score."""
    wrong = run.page(n=1, where="wrong").total or 0
    info = run.score_infos.get(name)
    by_main, where = wrong, "wrong"
    if wrong and len(run.score_order) > 1:
        if info is None or info.threshold is None:  # no condition is about the verdict of one score alone
            yield CountCard("wrong in any score", wrong, "wrong", is_doubt=False)
            return
        condition = f"{quoted_name(name)} {'>' if info.lower_is_better else '<'} {info.threshold:g}"
        count = run.page(n=1, where=condition).total or 0
        by_main, where = (count, condition) if count != wrong else (wrong, "wrong")
    if by_main:
        yield CountCard("wrong", by_main, where, is_doubt=False)
    if wrong != by_main:
        yield CountCard("wrong in any score", wrong, "wrong", is_doubt=False)


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


def _others(pages: Pages, run: Run) -> list[tuple[str, str]]:
    """Runs that this one can be compared with, id and name: the pinned baseline first, then the newest."""
    baseline = pages.baselines().get((run.suite, run.kind))
    same_suite = [other for other in pages.store.runs() if (other.suite, other.kind) == (run.suite, run.kind)]
    pinned = [other for other in same_suite if baseline and other.id == baseline.id]
    ordered = {other.id: other for other in (*pinned, *same_suite) if other.id != run.id}.values()
    return [
        (other.id, f"{other.target} {other.id}{', the baseline' if other in pinned else ''}")
        for other in list(ordered)[:_MOST_OTHERS]
    ]


def runs_beside(pages: Pages, run: Run) -> tuple[str, str]:
    """Ids of the runs before and after this one; "" at the ends.

    Raises:
        ConfigError: it was deleted while its page was made.
    """
    ids = [stored.id for stored in reversed(pages.store.runs())]
    if run.id not in ids:
        raise ConfigError(f"run {run.id} was deleted meanwhile")
    at = ids.index(run.id)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""


def run_sections(run: Run, summary: RunSummary, pairwise: Pairwise) -> list[Section]:
    """The sections of the run's report without those that the head of the page shows."""
    content = ReportContent((run,), None, None, pairwise, (summary,))
    return [section for section in map(_without_state, report_sections(content, "html")) if section]


def _without_state(section: Section) -> Section:
    """A section, empty where the head of the page shows it; alarms come without that of an incomplete run."""
    if section.key in _NOT_HERE:
        return Section("")
    notes = tuple(note for note in section.notes if note.term != "Not complete")
    return replace(section, notes=notes) if section.key == "alarms" else section


def key_figures(
    summary: RunSummary, pairwise: Pairwise, difference: BaselineDifference | None
) -> tuple[KeyFigure, ...]:
    """The result of a run as one large figure, coloured by its difference to the pinned baseline.

    Args:
        summary: of the run.
        pairwise: the result of a run that judges pairs.
        difference: to the baseline; None where there is none, or it is not computed yet.
    """
    if pairwise.preferences:
        return preference_figures(pairwise.preferences)
    figure = run_figure(summary, summary.target)
    if difference is None or difference.verdict is None:
        return (figure,)
    interval = f" ({difference.interval})" if difference.interval else ""
    words = f"{VERDICT_WORDS[difference.verdict]}: {difference.text}{interval} to the baseline"
    return (replace(figure, state=difference.verdict, words=words),)


def pairwise_of(run: Run, summary: RunSummary) -> Pairwise:
    """The conclusion of a judging run on its pair; nothing for other runs, and before the first record."""
    if not is_judging(run.manifest) or not summary.counts.done:
        return NO_PAIRS
    return Pairwise((preferences(run),))
