"""One run: its conclusion, what did not become a score, and its samples, filtered and sorted a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.conditions import OF_RECORD, WORDS
from steelyard.analysis.preferences import is_judging, sides_of
from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.report.judge_reasons import preference_reason
from steelyard.report.numbers import headline, interval_text, kind_text, one_line, score_title, unfinished, value_text
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.preferences import NO_PAIRS
from steelyard.report.sample_evidence import verdict_name
from steelyard.report.sample_table import input_text
from steelyard.report.section import Section
from steelyard.store import Run
from steelyard.types import Record, Score
from steelyard.viewer.notes import author_of
from steelyard.viewer.pages import Pages

_ROWS: Final = 50
_QUERY: Final = ("where", "search", "sort", "after", "before", "against")
"""What an address may say of the samples that are shown."""
_INPUT: Final = 160
"""Characters of an input, an output and a reason in a row; the sample's own page shows them whole."""
_OUTPUT: Final = 120
_NOT_HERE: Final = frozenset({"alarms", "conclusion", "targets"})
"""Sections of the report that the head of the page says in another form."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample in the table; repeats of it on one page stand in one row.

    Args:
        id: of the sample.
        group: its group.
        input: the beginning of its input.
        outputs: the beginning of each repeat's output.
        verdicts: of each repeat its state (for the colour), value and reason.
        seconds: of the first repeat.
    """

    id: str
    group: str
    input: str
    outputs: tuple[str, ...]
    verdicts: tuple[tuple[str, str, str], ...]
    seconds: str


@dataclass(frozen=True, slots=True)
class CountCard:
    """How many replies came to an outcome, and the condition that lists them."""

    name: str
    count: int
    where: str


def run_routes(pages: Pages) -> list[Route]:
    """The route of the page."""

    def run(request: Request) -> Response:
        found = pages.run(request)
        given = {name: request.query_params.get(name, "") for name in _QUERY}
        summary = pages.summary(found)
        try:
            samples = _samples(pages, found, given)
            fault = ""
        except ConfigError as error:
            samples, fault = None, str(error)
        part: dict[str, Any] = {
            "run": found,
            "given": given,
            "samples": samples,
            "fault": fault,
            "score": score_title(summary.primary),
        }
        if request.headers.get("hx-target", "").endswith("#samples"):
            return pages.page(request, "samples.html.j2", status=422 if fault else 200, **part)
        score = summary.score(summary.primary)
        share = bool(score and score.is_share)
        return pages.page(
            request,
            "run.html.j2",
            sentence=headline(summary),
            figure=value_text(score.headline.value, share=share) if score else "",
            interval=interval_text(score.headline.interval, share=share) if score else "",
            unfinished=unfinished(summary),
            cards=list(_cards(summary)),
            sections=run_sections(found, summary),
            words=_completions(found),
            beside=_beside(pages, found),
            summary=summary,
            notes=found.remarks().notes,
            author=author_of(request),
            **part,
        )

    return [Route("/run/{run}", run)]


@dataclass(frozen=True, slots=True)
class SampleList:
    """A page of samples: its rows, how many match in all, what lies beside it, and what to know of the search."""

    rows: tuple[SampleRow, ...]
    total: int
    after: str
    before: str
    query: str
    note: str


def _samples(pages: Pages, run: Run, given: Mapping[str, str]) -> SampleList:
    against = pages.run_of(given["against"]) if given["against"] else None
    page = run.page(
        given["after"],
        _ROWS,
        before=given["before"],
        where=given["where"],
        search=given["search"],
        sort=given["sort"],
        against=against,
    )
    kept = {name: given[name] for name in ("where", "search", "sort", "against") if given[name]}
    rows: dict[str, list[Record]] = {}
    for record in page.records:
        rows.setdefault(record.sample.id, []).append(record)
    primary = str(run.manifest.get("primary", ""))
    sides = sides_of(run.manifest) if is_judging(run.manifest) else ()
    return SampleList(
        tuple(_row(records, primary, sides) for records in rows.values()),
        page.total or 0,
        page.after,
        page.before,
        pages.query(**kept),
        page.note,
    )


def _row(records: list[Record], primary: str, sides: tuple[str, ...]) -> SampleRow:
    first = records[0]
    return SampleRow(
        first.sample.id,
        first.sample.group,
        one_line(input_text(first.sample.input), _INPUT),
        tuple(_output(record) for record in records),
        tuple(_verdict(record, primary, sides) for record in records),
        f"{first.seconds:.3g} s",
    )


def _output(record: Record) -> str:
    if record.output is None:
        return ""
    return one_line(cell_text(record.output.value), _OUTPUT)


def _verdict(record: Record, primary: str, sides: tuple[str, ...]) -> tuple[str, str, str]:
    """State, value and reason of the run's main score."""
    score = next((score for score in record.scores if score.name == primary), None)
    if score is None:
        failure = record.failure
        return ("error", "error", one_line(failure.message, _OUTPUT)) if failure else ("missing", "no score", "")
    reason = preference_reason(score, sides) if sides else score.reason
    return _state(score), _value(score), one_line(reason, _OUTPUT)


def _state(score: Score) -> str:
    if score.outcome != "scored" or score.passed is None:
        return score.outcome
    return "right" if score.passed else "wrong"


def _value(score: Score) -> str:
    """The name of the verdict where there is one, else the value."""
    if score.value is None or verdict_name(score):
        return verdict_name(score) or kind_text(score.outcome)
    if score.passed is not None and score.value in {0.0, 1.0}:
        return "✓ right" if score.passed else "✗ wrong"
    return f"{score.value:.4g}"


def _cards(summary: RunSummary) -> Iterator[CountCard]:
    """Only what there is: a card of a zero says nothing."""
    score = summary.score(summary.primary)
    name = summary.primary
    counts = (
        ("unparsed", score.unparsed if score else 0, f"{name} = unparsed"),
        ("refused", score.refused if score else 0, f"{name} = refused"),
        ("not applicable", score.not_applicable if score else 0, f"{name} = not-applicable"),
        ("errors", summary.errors, "errors"),
    )
    yield from (CountCard(title, count, where) for title, count, where in counts if count)


def _completions(run: Run) -> list[str]:
    """What a condition may begin with: words, and names of scores and of what records have."""
    return [*WORDS, *(f"{name} = " for name in OF_RECORD), *(f"{name} < " for name in run.score_order)]


def _beside(pages: Pages, run: Run) -> tuple[str, str]:
    """Ids of the runs before and after this one; "" at the ends."""
    ids = [each.id for each in reversed(pages.store.runs())]
    at = ids.index(run.id)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""


def run_sections(run: Run, summary: RunSummary) -> tuple[Section, ...]:
    """The sections of the run's report but for those that the head of the page says."""
    content = ReportContent((run,), None, None, NO_PAIRS, (summary,))
    return tuple(section for section in report_sections(content, "html") if section.key not in _NOT_HERE)
