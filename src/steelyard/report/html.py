"""Sections as one HTML file: it opens from disk, loads nothing, and shows text of models and datasets as text only.

Its Content-Security-Policy allows the page's own style and script by their hashes and nothing else, so that even a
fault in escaping runs nothing. Two pages of the same replies are equal but for the lines of time stamp, run id,
durations and cached replies; each cell of a table is on a line of its own for that.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from steelyard.analysis.comparison_values import Comparison
from steelyard.analysis.gate import GateVerdict
from steelyard.analysis.history import History
from steelyard.analysis.run_protocols import StoredRun
from steelyard.analysis.summary_values import RunSummary
from steelyard.escaping import HIDDEN
from steelyard.report.chart import Chart, ShareBar
from steelyard.report.chart_svg import SvgDrawing, drawing
from steelyard.report.history_sections import history_sections, history_title
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.preferences import NO_PAIRS, Pairwise
from steelyard.report.sample_choice import PAGE_SIZE, PageSize, SampleKind
from steelyard.report.sample_table import collect_samples
from steelyard.report.section import SectionTable
from steelyard.report.template import environment
from steelyard.types import Note

if TYPE_CHECKING:
    import jinja2

_SCRIPTS: Final = ("text.js", "unpack.js", "rows.js", "judged.js", "preferred.js", "sql.js", "detail.js", "table.js")
_KIND_NAMES: Final[dict[SampleKind, str]] = {
    "regressions": "regressions",
    "improvements": "improvements",
    "errors": "errors",
    "unparsed": "unparsed or refused",
    "wrong": "wrong in a run",
    "rest": "the rest",
}
"""Of the kinds of samples on a page that does not hold all; a sample is of the first that is true of it."""
_WIDE: Final = 640
"""Least pixels of the charts for windows of 700 pixels and more, where they take all the room there is."""
_NARROW: Final = 320
"""The same on a telephone."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run in the page's last section, "What was run"."""

    label: str
    summary: RunSummary
    manifest: str
    notes: tuple[Note, ...]


def html_report(
    runs: Sequence[StoredRun],
    comparison: Comparison | None = None,
    gate: GateVerdict | None = None,
    *,
    title: str = "",
    pairwise: Pairwise = NO_PAIRS,
    size: PageSize = PAGE_SIZE,
) -> str:
    """The page of one run, or of several side by side.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None leaves that section and the
            regressions out.
        gate: verdicts to show; None shows none.
        title: the page's; "" is the suite's.
        pairwise: what the judging runs among `runs` say.
        size: how many samples the page holds, and by which seed they are drawn.
    """
    content = ReportContent.of(runs, comparison, gate, pairwise)
    scores = [content.summaries[at].score(content.score) for at in content.scored]
    share = bool(scores) and all(score is None or score.is_share for score in scores)
    pairs = {pair.other: pair for pair in comparison.pairs} if comparison else {}
    samples = collect_samples(runs, content.labels, score=content.score, share=share, pairs=pairs, size=size)
    facts = [
        RunFacts(label, summary, json.dumps(run.manifest, ensure_ascii=False, indent=2), tuple(run.remarks().notes))
        for run, summary, label in zip(runs, content.summaries, content.labels, strict=True)
    ]
    return _render(
        "report.html.j2",
        scripted=True,
        title=title or content.title,
        sections=report_sections(content, "html", chance=samples.chance),
        runs=facts,
        dataset_notes=list(dict.fromkeys(note for run in runs for note in run.manifest.get("notes", ()))),
        samples=samples,
        size=size,
        kind_names=_KIND_NAMES,
    )


def html_history(history: History) -> str:
    """The page of a history: chart, table and notes. It runs nothing."""
    return _render(
        "history.html.j2",
        scripted=False,
        title=f"{history.suite}: {history_title(history)}",
        sections=history_sections(history),
        runs=len(history.runs),
    )


def _render(template: str, *, scripted: bool, **page: Any) -> str:
    from markupsafe import Markup

    style = _part("report.css")
    script = _script() if scripted else ""
    # What is marked safe: our own files, and JSON in which nothing can end the script.
    if "samples" in page:
        page["data"] = Markup(page["samples"].text)  # noqa: S704  # see above
    return (
        section_environment()
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704  # see above
            style_hash=_hash(style),
            script=Markup(script),  # noqa: S704  # see above
            script_hash=_hash(script),
            version=version("steelyard"),
            **page,
        )
    )


def section_environment(*packages: str) -> jinja2.Environment:
    """The templates that show Sections, and those of further packages that use them.

    Args:
        packages: whose folders `templates` are looked into first.
    """
    templates = environment(*packages)
    templates.filters["drawn"] = _drawn
    templates.filters["is_bar"] = lambda chart: isinstance(chart, ShareBar)
    templates.filters["on_page"] = lambda notes: [note for note in notes if "html" in note.media]
    templates.filters["for_page"] = _for_page
    templates.filters["count"] = lambda n: f"{n:,}"
    return templates


def _drawn(chart: Chart) -> dict[str, tuple[SvgDrawing, str]]:
    """A chart for a window and for a telephone, each with its width; the page shows the one that fits."""
    if isinstance(chart, ShareBar):
        raise TypeError("a bar of shares is a macro of its own")
    drawings = {name: (drawing(chart, width=width), width) for name, width in (("wide", _WIDE), ("narrow", _NARROW))}
    return {
        name: (drawn, str(drawn.least) if drawn.least > width else "100%") for name, (drawn, width) in drawings.items()
    }


def _for_page(table: SectionTable) -> SectionTable:
    """The columns that a page shows; a histogram of several runs has a row per run."""
    shown = table.within("html")
    return shown.on_its_side() if shown.layout == "histogram" else shown


def _script() -> str:
    hidden = "".join(character if character == "-" else f"\\u{{{ord(character):x}}}" for character in HIDDEN)
    text = "\n".join(_part(name) for name in _SCRIPTS).replace("__HIDDEN__", hidden)
    return f'"use strict";\n(async () => {{\n{text}}})();\n'


def _part(name: str) -> str:
    return files("steelyard.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
