"""Reports in Markdown, sized for a comment on a pull request: conclusions first, then the details.

Always below 60 lines and 6,000 characters: parts that do not fit are left out, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.comparison.history import History
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.escaping import markdown_cell, markdown_inline
from steelyard.report.charts.chart import ShareBar
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.run_texts import one_line
from steelyard.report.section import Level, Section, SectionTable, Sentence, TableCell
from steelyard.report.sections.history import history_sections, history_title
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise
from steelyard.store import Run

MOST_LINES: Final = 58
MOST_CHARACTERS: Final = 5900
_MOST_ROWS: Final = 12
_MOST_RUNS: Final = 40
"""Rows of a history's table: the table is its main content."""
_HISTORY_ROOM: Final = (70, 12_000)
_MOST_SERIES: Final = 4
_MOST_NOTES: Final = 5
"""Notes of one kind in one section; entries of a list are limited where they are listed."""
_MOST_FACTS: Final = 10
"""Facts of one section: the last ones, which are the newest notes."""
_FOLD_FROM: Final = 7
"""A table with at least so many rows is folded."""
_NAME: Final = 40
_SENTENCE: Final = 330
_MARKS: Final = {
    "conclusion": "- ",
    "alarm": "> ⚠️ ",
    "warning": "- ⚠️ ",
    "rule": "- ",
    "note": "",
    "fact": "- ",
    "item": "- ",
}
_STATES: Final = {"holds": "✅", "fails": "❌", "undecided": "❔", "broken": "⚠️", "unlabelled": "⚠️", "unscored": "⚠️"}
_LEVELS: Final[tuple[Level, ...]] = ("essential", "detail")
"""Of columns and sentences."""
_BEFORE: Final = ("alarm", "conclusion", "warning", "rule")
"""Kinds of sentences shown above the table."""


def markdown_report(
    runs: Sequence[Run],
    comparison: Comparison | None = None,
    gate: GateVerdict | None = None,
    *,
    pairwise: Pairwise = NO_PAIRS,
) -> str:
    """Verdict, gate, table of targets, the first regressions, details of the rate, and groups.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None leaves the regressions out.
        gate: verdicts to show; None shows none.
        pairwise: results of the judging runs among `runs`.
    """
    content = ReportContent.of(runs, comparison, gate, pairwise)
    ids = ", ".join(f"`{summary.run}`" for summary in content.summaries)
    return markdown_page(content.title, report_sections(content, "markdown"), last=[f"Runs: {ids}"])


def markdown_history(history: History) -> str:
    """The table and the notes of a history, the newest runs where not all fit."""
    left_out = max(0, len(history.runs) - _MOST_RUNS)
    shown = replace(history, runs=history.runs[left_out:], older=history.older + left_out)
    title = f"{history.suite}: {history_title(history)} over {len(shown.runs)} runs"
    return markdown_page(title, history_sections(shown), most_rows=_MOST_RUNS, room=_HISTORY_ROOM)


def markdown_page(
    title: str,
    sections: Iterable[Section],
    *,
    last: Sequence[str] = (),
    most_rows: int = _MOST_ROWS,
    room: tuple[int, int] = (MOST_LINES, MOST_CHARACTERS),
) -> str:
    """The sections that fit, in order, with a blank line between; a part that does not fit is left out entirely.

    Args:
        title: of the page.
        sections: in order of importance.
        last: lines of Markdown at the end, which are never left out.
        most_rows: of a table.
        room: lines and characters of the page.
    """
    lines = [f"## {_cut(title, 80)}", ""]
    left_out = False
    for part in _parts(sections, most_rows):
        if _fits([*lines, *part, "", *last], *room):
            lines += [*part, ""]
        else:
            left_out = True
    note = ["Parts that did not fit are left out; the HTML report has everything."] if left_out else []
    return "\n".join([*lines, *note, *last]) + "\n"


def _fits(lines: Sequence[str], most_lines: int, most_characters: int) -> bool:
    return len(lines) < most_lines and sum(len(line) + 1 for line in lines) < most_characters - 100


def _parts(sections: Iterable[Section], most_rows: int, of: str = "") -> Iterator[list[str]]:
    """The lines of each section, followed by those of its parts.

    Args:
        sections: in order.
        most_rows: of a table.
        of: title of the section that they are part of; it begins theirs, as each may be shown without the others.
    """
    for section in sections:
        if not section or section.is_drawing:
            continue
        title = f"{of}: {section.title}" if of and section.title else section.title
        if lines := _section_lines(section, title, most_rows):
            yield lines
        yield from _parts(section.parts, most_rows, "" if section.key else title)


def _section_lines(section: Section, title: str, most_rows: int) -> list[str]:
    figures = _limited([f"- **{_cut(figure.text, _SENTENCE)}**" for figure in section.figures], "- ")
    warnings = [Sentence(text, "warning") for figure in section.figures for text in figure.warnings]
    notes = [*warnings, *(note for note in section.notes if note.level in _LEVELS)]
    bar = [_cut(section.chart.description, _SENTENCE)] if isinstance(section.chart, ShareBar) else []
    before = [*figures, *(line for kind in _BEFORE for line in _note_lines(notes, kind)), *bar]
    table = _table_lines(section.table, most_rows) if section.table and section.table.rows else []
    after = [line for kind in ("note", "fact", "item") for line in _note_lines(notes, kind)]
    body = [*before, *([""] if before and table else []), *table, *([""] if table and after else []), *after]
    if not body:
        return []
    titled = title and (not section.key or section.table or section.folded)
    rows = len(section.table.rows) if section.table else 0
    if section.folded or (titled and rows >= _FOLD_FROM):
        return ["<details>", f"<summary>{_cut(title, 120)}</summary>", "", *body, "", "</details>"]
    return [f"**{_cut(title, 120)}**", "", *body] if titled else body


def _note_lines(notes: Sequence[Sentence], kind: str) -> list[str]:
    texts = list(dict.fromkeys(_note_text(note) for note in notes if note.kind == kind))
    if kind in {"item", "fact"}:
        return [f"{_MARKS[kind]}{text}" for text in (texts if kind == "item" else texts[-_MOST_FACTS:])]
    return _limited([f"{_MARKS[kind]}{text}" for text in texts], "> " if kind == "alarm" else "- ")


def _limited(lines: Sequence[str], mark: str) -> list[str]:
    more = len(lines) - _MOST_NOTES
    return [*lines[:_MOST_NOTES], *([f"{mark}and {more} more"] if more > 0 else [])]


def _note_text(note: Sentence) -> str:
    text = _cut(note.text, _SENTENCE)
    if note.kind == "conclusion":
        return f"**{text}**"
    if note.kind == "rule":
        return f"{_STATES[note.term]} {text}"  # the sentence itself says whether the rule holds
    if note.kind == "alarm" and note.term:
        return f"**{note.term}.** {text}"
    return f"{_cut(note.term, 80)}: {text}" if note.term else text


def _table_lines(full: SectionTable, most_rows: int) -> list[str]:
    if full.layout == "tiles":
        return [", ".join(f"{row[0].text} {row[1].text}" for row in full.rows)]
    table = full.within(_LEVELS).without_empty()
    table = table.on_its_side() if table.layout == "histogram" else table.with_series(_MOST_SERIES)
    kinds = [column.kind for column in table.columns]
    rows = table.rows[:most_rows]
    # Names that are equal after cutting get a number, so that rows can be distinguished.
    cut = [_cut_inline(row[0].text) for row in rows]
    names = (_distinct(cut) if len({row[0].text for row in rows}) == len(rows) else cut) if kinds[0] == "name" else None
    lines = [
        _line(_cut_inline(column.title) for column in table.columns),
        _line("---:" if kind in {"number", "interval"} else "---" for kind in kinds),
    ]
    for at, row in enumerate(rows):
        # A histogram has a column per value, so only the counts fit.
        cells = [_cell(replace(cell, more=()) if table.layout == "histogram" else cell) for cell in row]
        lines.append(_line([names[at], *cells[1:]] if names else cells))
    if len(table.rows) > most_rows:
        lines.append(_line([f"and {len(table.rows) - most_rows} more", *[""] * (len(kinds) - 1)]))
    return lines


def _cell(cell: TableCell) -> str:
    text = _cut_inline(cell.text)
    strong = f"**{text}**" if cell.strong else text
    return f"{strong} · {markdown_inline(', '.join(cell.more))}" if cell.more else strong


def _cut_inline(text: str) -> str:
    return markdown_inline(one_line(text, _NAME))


def _cut(text: str, most: int) -> str:
    """A text cut to `most` characters, its Markdown escaped."""
    return markdown_cell(one_line(text, most))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _distinct(labels: Iterable[str]) -> list[str]:
    """Number labels that were cut to the same text, so that each names one row.

    >>> _distinct(["a…", "b", "a…"])
    ['a…', 'b', 'a… (2)']
    """
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        names.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return names
