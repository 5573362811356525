"""One run: its conclusion, what did not become a score, and its samples, filtered and sorted a page at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.conditions import CHANGES, LABEL, OF_RECORD, OUTCOME_WORDS, WORDS, quoted_value
from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.numbers import score_title
from steelyard.analysis.preferences import preferences
from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.prompts.conversation import input_text
from steelyard.report.conclusion import VERDICT_WORDS, preference_figures, run_figure
from steelyard.report.html import contents_of
from steelyard.report.judge_reasons import preference_reason
from steelyard.report.numbers import kind_text, one_line, unfinished, value_text
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.preferences import NO_PAIRS, Pairwise
from steelyard.report.sample_evidence import verdict_name
from steelyard.report.section import KeyFigure, Section
from steelyard.store import Run
from steelyard.store.marks import marks_of
from steelyard.types import Label, Record, Score
from steelyard.viewer.notes import author_of
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.run_figures import BaselineDifference

_ROWS: Final = 50
"""Records on a page of samples."""
_MOST_RECORDS: Final = 1_000
"""That the store reads for one page."""
_QUERY: Final = ("where", "search", "sort", "after", "before", "against")
"""What an address may say of the samples that are shown."""
_INPUT: Final = 160
"""Characters of an input, an output and a reason in a row; the sample's own page shows them whole."""
_OUTPUT: Final = 120
_MOST_GROUPS: Final = 100
"""Groups among the completions of a filter."""
_MOST_LABELS: Final = 50
"""Conditions on labels among the completions, with values of at most so many letters."""
_MOST_LETTERS: Final = 60
_NO_NAME: Final = re.compile(r'[=!<>"\s]')
"""What the name of a label has none of in a condition."""
_MOST_OTHERS: Final = 50
"""Runs among those that a list can be held against; an address may name any."""
_NOT_HERE: Final = frozenset({"conclusion", "targets"})
"""Sections of the report that the head of the page says in another form."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample in the table; repeats of it on one page stand in one row.

    Args:
        id: of the sample.
        group: its group.
        input: the beginning of its input.
        outputs: the beginning of each different output, and how many repeats have it, most first.
        verdicts: likewise its state (for the colour), value and the reason of the first such repeat.
        query: of the sample's address: the list and its place in it.
    """

    id: str
    group: str
    input: str
    outputs: tuple[tuple[str, int], ...]
    verdicts: tuple[tuple[tuple[str, str, str], int], ...]
    query: str


@dataclass(frozen=True, slots=True)
class CountCard:
    """How many records came to an outcome, the condition that lists them, and whether it leaves the score in doubt."""

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
            words=_completions(found, groups, remarks.labels, compared=bool(given["against"])),
            marks=marks_of(pages.store, found.num),
            difference=difference,
            beside=_beside(pages, found),
            others=_others(pages, found),
            summary=summary,
            notes=remarks.notes,
            dataset=datasets.of_run(found),
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
    # Repeats of a sample stand in one row, so a page ends with the last repeat of one.
    repeats = max(1, int(run.manifest.get("options", {}).get("repeats", 1)))
    page = run.page(
        given["after"],
        min(_MOST_RECORDS, max(1, _ROWS // repeats) * repeats),
        before=given["before"],
        where=given["where"],
        search=given["search"],
        sort=given["sort"],
        against=against,
    )
    kept = {name: given[name] for name in ("where", "search", "sort", "against") if given[name]}
    rows: dict[str, list[Record]] = {}
    places: dict[str, str] = {}
    for record, (no, repeat) in zip(page.records, page.places, strict=True):
        rows.setdefault(record.sample.id, []).append(record)
        places.setdefault(record.sample.id, f"{no}.{repeat}")
    primary = str(run.manifest.get("primary", ""))
    sides = sides_of(run.manifest) if is_judging(run.manifest) else ()
    return SampleList(
        tuple(_row(records, primary, sides, pages.query(**kept, at=places[ident])) for ident, records in rows.items()),
        page.total or 0,
        page.after,
        page.before,
        pages.query(**kept),
        page.note,
    )


def _row(records: list[Record], primary: str, sides: tuple[str, ...], query: str) -> SampleRow:
    first = records[0]
    return SampleRow(
        first.sample.id,
        first.sample.group,
        one_line(input_text(first.sample.input), _INPUT),
        tuple(Counter(_output(record) for record in records).most_common()),
        _verdicts([_verdict(record, primary, sides) for record in records]),
        query,
    )


def _verdicts(verdicts: Sequence[tuple[str, str, str]]) -> tuple[tuple[tuple[str, str, str], int], ...]:
    """Each different state and value with the reason of the first repeat that has it, and how many have it."""
    first: dict[tuple[str, str], str] = {}
    for state, value, reason in verdicts:
        first.setdefault((state, value), reason)
    times = Counter((state, value) for state, value, _ in verdicts)
    return tuple(((state, value, first[state, value]), n) for (state, value), n in times.most_common())


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


def _cards(run: Run, summary: RunSummary) -> Iterator[CountCard]:
    """Only what there is: a card of a zero says nothing."""
    score = summary.score(summary.primary)
    name = summary.primary
    if not is_judging(run.manifest) and (wrong := run.page(n=1, where="wrong").total):
        yield CountCard("wrong", wrong, "wrong", is_doubt=False)
    counts = (
        ("unparsed", score.unparsed if score else 0, f"{name} = unparsed"),
        ("refused", score.refused if score else 0, f"{name} = refused"),
        ("not applicable", score.not_applicable if score else 0, f"{name} = not-applicable"),
        ("errors", summary.errors, "errors"),
    )
    yield from (CountCard(title, count, where) for title, count, where in counts if count)


def _groups(summary: RunSummary) -> list[GroupLink]:
    """The groups of the main score; a name with both kinds of quotation marks cannot be written in a condition."""
    return [
        GroupLink(
            score.group,
            value_text(score.headline.value, share=score.is_share),
            score.headline.n,
            f"group = {value}",
        )
        for score in summary.groups.get(summary.primary, ())
        if score.group and (value := quoted_value(score.group))
    ]


def _completions(run: Run, groups: Sequence[GroupLink], labels: Sequence[Label], *, compared: bool) -> list[str]:
    """What a part of a condition may be or begin with: words, names of scores and of what records have, groups."""
    return [
        *WORDS,
        *(CHANGES if compared else ()),
        *(group.where for group in groups[:_MOST_GROUPS]),
        *(f"{name} = " for name in OF_RECORD),
        *_label_conditions(labels),
        *(f"{name} < " for name in run.score_order),
        *(f"{name} = {word}" for name in run.score_order for word in OUTCOME_WORDS if word != "scored"),
    ]


def _label_conditions(labels: Sequence[Label]) -> list[str]:
    """Conditions on labels with short values, as far as they can be written."""
    values = ((label.name, cell_text(label.value)) for label in labels)
    found = (
        f"{LABEL}{name} = {quoted}"
        for name, value in values
        if len(value) <= _MOST_LETTERS and not _NO_NAME.search(name) and value.isprintable()
        if (quoted := quoted_value(value))
    )
    return list(dict.fromkeys(found))[:_MOST_LABELS]


def _others(pages: Pages, run: Run) -> list[tuple[str, str]]:
    """Runs that this one can be compared with, id and name: the pinned baseline first, then the newest."""
    baseline = pages.baselines().get((run.suite, run.kind))
    alike = [each for each in pages.store.runs() if (each.suite, each.kind) == (run.suite, run.kind)]
    first = [each for each in alike if baseline and each.id == baseline.id]
    ordered = {each.id: each for each in (*first, *alike) if each.id != run.id}.values()
    return [
        (each.id, f"{each.target} {each.id}{', the baseline' if each in first else ''}")
        for each in list(ordered)[:_MOST_OTHERS]
    ]


def _beside(pages: Pages, run: Run) -> tuple[str, str]:
    """Ids of the runs before and after this one; "" at the ends."""
    ids = [each.id for each in reversed(pages.store.runs())]
    at = ids.index(run.id)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""


def run_sections(run: Run, summary: RunSummary, pairwise: Pairwise) -> list[Section]:
    """The sections of the run's report but for those that the head of the page says."""
    content = ReportContent((run,), None, None, pairwise, (summary,))
    return [section for section in map(_without_state, report_sections(content, "html")) if section]


def _without_state(section: Section) -> Section:
    """Empty where the head of the page says it in another form; alarms without that of a run that is not complete."""
    if section.key in _NOT_HERE:
        return Section("")
    kept = tuple(note for note in section.notes if note.term != "Not complete")
    return replace(section, notes=kept) if section.key == "alarms" else section


def key_figures(
    summary: RunSummary, pairwise: Pairwise, difference: BaselineDifference | None
) -> tuple[KeyFigure, ...]:
    """The result of a run as one large figure, coloured by what it is against the pinned baseline.

    Args:
        summary: of the run.
        pairwise: what a judging run says of its pair, which is its result then.
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
    """What a judging run says of its pair; nothing of any other run, and before its first record."""
    return Pairwise((preferences(run, summary=summary),)) if is_judging(run.manifest) and summary.done else NO_PAIRS
