"""Sections as one HTML file: it opens from disk, loads nothing, and shows text of models and datasets as text only.

Its Content-Security-Policy allows the page's own style and script by their hashes and nothing else, so that even an
error in escaping runs no code. Two pages of the same replies differ only in the lines of time stamp, run id, durations
and cached replies; for this, each cell of a table is on a line of its own.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.comparison.history import History
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.numbers import count_text, duration_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.escaping import HIDDEN
from steelyard.report.charts.canvas import LEAST_WIDE, SvgDrawing
from steelyard.report.charts.chart import ShareBar
from steelyard.report.charts.svg import Drawable, drawing
from steelyard.report.page import BEFORE_SAMPLES, ReportContent, report_sections
from steelyard.report.page_runs import PageRuns
from steelyard.report.sample_choice import PAGE_SIZE, PageSize
from steelyard.report.sample_table import collect_samples
from steelyard.report.section import PageLink, SampleLink, Section, SectionTable, TableCell, TableColumn
from steelyard.report.sections.history import history_sections, history_title
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise
from steelyard.report.template import environment
from steelyard.store import Run
from steelyard.types import Note

if TYPE_CHECKING:
    import jinja2
from dataclasses import replace

from steelyard.analysis.preferences.preferences_values import Preferences
from steelyard.analysis.preferences.standings import Standings
from steelyard.report.section import non_empty
from steelyard.report.sections.comparison import comparison_section
from steelyard.report.sections.conclusion import conclusion_section
from steelyard.report.sections.grid import grid_section
from steelyard.report.sections.preferences import preferences_section
from steelyard.report.sections.scores import scores_section
from steelyard.report.sections.standings import standings_section
from steelyard.report.sections.targets import alarms_section, run_remarks, targets_section

_SCRIPTS: Final = ("text.js", "unpack.js", "rows.js", "judged.js", "preferred.js", "sql.js", "detail.js", "table.js")
_KIND_NAMES: Final = {"unparsed": "unreadable or refused", "wrong": "wrong in a run", "rest": "the rest"}
"""Kinds of samples on a page that does not contain all, where a reader needs another name; a sample is of the first."""
_WIDE: Final = LEAST_WIDE
"""Least width in pixels of charts for half of a window and more, where they fill the space."""
_NARROW: Final = 320
"""The same on a telephone."""
_NARROW_LETTERS: Final = 75
"""Most characters per row of a table that fits in half of a window."""
_NAME_LETTERS: Final = 14
"""Least characters of a column of names, which has a least width."""
_PADDING: Final = 2
"""The space beside a cell, in characters."""
LinkAddress = Callable[[PageLink], str]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run in the page's last section, "What was run"."""

    label: str
    summary: RunSummary
    manifest: str
    notes: tuple[Note, ...]


def html_report(
    runs: Sequence[Run],
    comparison: Comparison | None = None,
    gate: GateVerdict | None = None,
    *,
    pairwise: Pairwise = NO_PAIRS,
    size: PageSize = PAGE_SIZE,
) -> str:
    """The page of one run, or of several side by side.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None leaves that section and the
            regressions out.
        gate: verdicts to show; None shows none.
        pairwise: preferences of the judging runs among `runs`.
        size: how many samples the page holds, and by which seed they are drawn.
    """
    content = ReportContent.of(runs, comparison, gate, pairwise)
    scored = content.scored
    share = len(scored) > 0 and scored.is_share(content.score)
    pairs = {pair.other: pair for pair in comparison.pairs} if comparison else {}
    samples = collect_samples(runs, content.labels, score=content.score, share=share, pairs=pairs, size=size)
    facts = [
        RunFacts(label, summary, json.dumps(run.manifest, ensure_ascii=False, indent=2), tuple(run.remarks().notes))
        for run, (label, summary) in zip(runs, content.all_runs, strict=True)
    ]
    sections = report_sections(content, "html", chance=samples.chance)
    first = [section for section in sections if section.key in BEFORE_SAMPLES]
    further = [section for section in sections if section.key not in BEFORE_SAMPLES]
    return _render(
        "report.html.j2",
        scripted=True,
        link_address=_sample_addresses([run.id for run in runs]),
        title=content.title,
        about=" · ".join(_about(content)),
        first=first,
        sections=further,
        contents=contents_of(
            [*first, Section("Samples", key="samples"), *further, Section("What was run", key="about")]
        ),
        runs=facts,
        dataset_notes=list(dict.fromkeys(note for run in runs for note in run.manifest.get("notes", ()))),
        samples=samples,
        size=size,
        kind_names=_KIND_NAMES,
    )


def _about(content: ReportContent) -> Iterator[str]:
    """When and what was run, with which models, in phrases."""
    summaries = content.summaries
    yield f"{min(summary.created for summary in summaries)[:16].replace('T', ' ')} UTC"
    yield count_text(max(summary.counts.done for summary in summaries), "record")
    yield count_text(len({summary.target for summary in summaries}), "target")
    if models := dict.fromkeys(name for run in content.runs for name in _model_names(run.manifest.get("target"))):
        yield f"{'models' if len(models) > 1 else 'model'} {', '.join(models)}"
    yield duration_text(sum(summary.counts.seconds for summary in summaries))
    if tokens := sum(summary.counts.input_tokens + summary.counts.output_tokens for summary in summaries):
        yield count_text(tokens, "token")


def _model_names(described: object) -> Iterator[str]:
    """The names of the models in a target as its manifest describes it."""
    if not isinstance(described, Mapping):
        return
    for key, value in described.items():
        fields = next(iter(value.values()), None) if key == "model" and isinstance(value, Mapping) else None
        if isinstance(fields, Mapping) and isinstance(fields.get("name"), str):
            yield fields["name"]
        yield from _model_names(value)


def html_history(history: History) -> str:
    """The page of a history: chart, table and notes, without scripts."""
    return _render(
        "history.html.j2",
        scripted=False,
        first=(),
        title=f"{history.suite}: {history_title(history)}",
        sections=history_sections(history),
        runs=len(history.runs),
    )


def _no_address(_: PageLink) -> str:
    """No addresses: for a page without samples and without other pages."""
    return ""


def contents_of(sections: Iterable[Section]) -> list[tuple[str, str]]:
    """Anchor and title of each section that has a title, for the page's table of contents."""
    return [(section.key, section.title) for section in sections if section.title]


def _sample_addresses(runs: Sequence[str]) -> LinkAddress:
    """The part of an address that makes the page's own table show the samples of a link."""
    shows = {"regression": "regressions", "improvement": "improvements", "both right": "both_right"}
    shows["both wrong"] = "both_wrong"

    def address(link: PageLink) -> str:
        if not isinstance(link, SampleLink) or link.run not in runs:
            return ""
        chosen = {"show": shows.get(link.outcome, link.outcome)}
        if len(runs) > 1:
            chosen["target"] = str(runs.index(link.run))
        return f"#{urlencode(chosen)}"

    return address


def _render(template: str, *, scripted: bool, link_address: LinkAddress = _no_address, **page: Any) -> str:
    from markupsafe import Markup

    style, style_hash = page_style()
    script = _script() if scripted else ""
    # Marked as safe: our own files, and JSON in which nothing can end the script.
    if "samples" in page:
        page["data"] = Markup(page["samples"].text)  # noqa: S704  # see above
    return (
        section_environment(link_address=link_address)
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704  # see above
            style_hash=style_hash,
            script=Markup(script),  # noqa: S704  # see above
            script_hash=_hash(script),
            version=version("steelyard"),
            **page,
        )
    )


def section_environment(*packages: str, link_address: LinkAddress = _no_address) -> jinja2.Environment:
    """The environment of the templates that show Sections, and of further packages that use them.

    Args:
        packages: whose folders `templates` are searched first.
        link_address: the address of a link; "" where the page does not show its target.
    """
    templates = environment(*packages)
    templates.globals["link_address"] = link_address
    templates.filters["side_by_side"] = _side_by_side
    templates.filters["has_halves"] = _has_halves
    templates.filters["drawn"] = _drawn
    templates.filters["is_bar"] = lambda chart: isinstance(chart, ShareBar)
    templates.filters["for_page"] = _for_page
    templates.filters["count"] = lambda n: f"{n:,}"
    return templates


def _drawn(chart: Drawable) -> dict[str, tuple[SvgDrawing, str]]:
    """A chart for a window and for a telephone, each with its width; the page shows the one that fits."""
    drawings = {name: (drawing(chart, width=width), width) for name, width in (("wide", _WIDE), ("narrow", _NARROW))}
    return {
        name: (drawn, str(drawn.least) if drawn.least > width else "100%") for name, (drawn, width) in drawings.items()
    }


def _side_by_side(parts: Sequence[Section]) -> list[list[Section]]:
    """The parts that a page shows, in rows: a narrow table with its chart takes half of a wide window."""
    rows: list[list[Section]] = []
    for part in parts:
        if not part:
            continue
        before = rows[-1] if rows else []
        if len(before) == 1 and _is_narrow(before[0]) and _is_narrow(part):
            before.append(part)
        else:
            rows.append([part])
    return rows


def _is_narrow(part: Section) -> bool:
    """Whether a part is one chart or one small table, which is readable in half the width."""
    if part.parts or part.folded or part.figures or isinstance(part.chart, ShareBar):
        return False
    # A table that has its chart beside it takes the whole width.
    return not part.chart if part.table and _has_narrow_table(part) else part.chart is not None and not part.table


def _has_halves(section: Section) -> bool:
    """Whether the table of a section has space for its chart beside it."""
    return section.chart is not None and not isinstance(section.chart, ShareBar) and _has_narrow_table(section)


def _has_narrow_table(section: Section) -> bool:
    """Whether a section has a table with rows that fits in half of a window."""
    if section.table is None or not section.table.rows:
        return False
    shown = _for_page(section.table)
    cells = zip(shown.columns, zip(*shown.rows, strict=True), strict=True)
    letters = sum(_letters(column, column_cells) + _PADDING for column, column_cells in cells)
    return shown.layout == "rows" and letters <= _NARROW_LETTERS


def _letters(column: TableColumn, cells: Iterable[TableCell]) -> int:
    """The width of a column in characters; headings are broken between words."""
    widths = [len(cell.text) + len(", ".join(cell.more)) for cell in cells]
    words = [len(word) for word in column.title.split()]
    return max(*widths, *words, _NAME_LETTERS if column.kind == "name" else 0)


def _for_page(table: SectionTable) -> SectionTable:
    """The columns that say something; a histogram of several runs has a row per run."""
    shown = table.without_zeros().without_empty()
    return shown.on_its_side() if shown.layout == "histogram" else shown


def page_style() -> tuple[str, str]:
    """The style of all pages, and its hash as a policy names it."""
    text = _part("style.css")
    return text, _hash(text)


def _script() -> str:
    hidden = "".join(character if character == "-" else f"\\u{{{ord(character):x}}}" for character in HIDDEN)
    text = "\n".join(_part(name) for name in _SCRIPTS).replace("__HIDDEN__", hidden)
    return f'"use strict";\n(async () => {{\n{text}}})();\n'


def _part(name: str) -> str:
    return files("steelyard.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


_PAGE: Final = '{% from "section.html.j2" import section %}{% for part in sections %}{{ section(part, 4) }}{% endfor %}'


_NO_RUNS: Final = PageRuns((), ())


def notebook_html(value: RunSummary | Comparison | Preferences | Standings) -> str:
    """The HTML of a value, as `_repr_html_` returns it."""
    sections = [_without_charts(section) for section in non_empty(_sections(value))]
    return section_environment().from_string(_PAGE).render(sections=sections)


def _sections(value: RunSummary | Comparison | Preferences | Standings) -> Sequence[Section]:
    if isinstance(value, RunSummary):
        runs, score = PageRuns([value], (f"{value.suite}: {value.target}",)), value.primary
        targets = targets_section(runs, score, remarks=tuple(run_remarks(value, several=False)))
        return alarms_section([value], score, None), targets, scores_section(runs)
    if isinstance(value, Preferences):
        return conclusion_section(_NO_RUNS, None, preferred=[value]), preferences_section([value])
    if isinstance(value, Standings):
        return conclusion_section(_NO_RUNS, None, standings=value), standings_section(value)
    if value.grid is not None:
        return (grid_section(value.grid),)
    runs = PageRuns.of([value.baseline, *value.others])
    return conclusion_section(runs, value), comparison_section(value, (), runs.labels)


def _without_charts(section: Section) -> Section:
    """A page draws a chart for a window and for a telephone and hides one by its styles, which a notebook lacks.

    Without anchors too, as a notebook shows the same section in several cells.
    """
    parts = [_without_charts(part) for part in section.parts if part.level != "page"]
    return replace(section, chart=None, key="", parts=parts)
