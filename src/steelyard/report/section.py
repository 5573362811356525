"""The content of a page, independent of its medium: features build Sections, and renderers show them.

Section         a title with a table, a chart and sentences, and sections inside it
SectionTable    `TableColumn`s and rows of `TableCell`s: a renderer aligns, escapes, cuts and folds
Sentence        a conclusion, a warning, a note, a fact
KeyFigure       the conclusion on a run or on a pair of runs, as one figure with its sentence
SampleLink      the samples of a count, which a page may link to

The renderers are `terminal`, `markdown`, `html` and `section_json`. A section holds every row, column and sentence with
its `Level`; a renderer decides how much of them its medium has space for. Only renderers escape, align and cut.
"""

# Why it is so, and what was rejected: docs/decisions/report-sections.md

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

from steelyard.report.charts.chart import Chart, ConditionLink, ShareBar
from steelyard.types import Json

_NOTHING: Final = frozenset({"", "–"})
"""Texts of empty cells."""

Level = Literal["essential", "detail", "page"]
"""`essential`: shown everywhere; `detail`: on pages, and on a terminal that shows a run or a comparison in full;
`page`: on pages only. A comment on a pull request shows the first sections that fit, and of these what is not `page`.
"""
ColumnKind = Literal["name", "text", "number", "interval", "remark"]
SentenceKind = Literal["conclusion", "alarm", "warning", "note", "fact", "item", "rule"]
Tone = Literal["", "good", "bad", "unclear"]
TableLayout = Literal["rows", "histogram", "tiles"]
ConclusionState = Literal["better", "worse", "no_evidence", "inconclusive", "none", "value"]
LinkedOutcome = Literal["regression", "improvement", "both right", "both wrong", "unparsed", "refused", "errors"]


@dataclass(frozen=True, slots=True)
class SampleLink:
    """Samples of a run that a page may link to, if its renderer has an address for them.

    Args:
        run: its id.
        outcome: of the samples.
        against: id of the baseline, for changes between two runs.
    """

    run: str
    outcome: LinkedOutcome
    against: str = ""


@dataclass(frozen=True, slots=True)
class RunLink:
    """A run that a page may link to, or its comparison with a baseline.

    Args:
        run: its id.
        against: id of the baseline; "" links to the run.
        score: the compared one; "" for the runs' primary score.
        others: ids of further runs of the comparison.
    """

    run: str
    against: str = ""
    score: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A record that a page may link to.

    Args:
        run: its id.
        sample: its sample's id.
    """

    run: str
    sample: str


PageLink = SampleLink | RunLink | RecordLink | ConditionLink


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """The conclusion of a page on a run or on a pair of runs.

    Args:
        name: of the run, or of both runs.
        figure: with its unit; a dash where there is none.
        state: of the conclusion; `value` where nothing was compared.
        words: the state in words; "" where nothing was compared.
        sentence: what may be concluded, without repeating the figure.
        baseline: name of the run that it was compared with; "" where nothing was compared.
        interval: of the figure, with its level, shown beside it; "" where the sentence contains it.
        warnings: what a reader must know before believing it.
    """

    name: str
    figure: str
    state: ConclusionState
    words: str
    sentence: str
    baseline: str = ""
    interval: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The conclusion as one line; where nothing was compared, with the name and the figure."""
        if self.words or not self.interval:
            return self.sentence
        return f"{self.name}: {self.figure} ({self.interval}). {self.sentence}"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a table.

    Args:
        title: its heading; "" for a column of names whose heading would only repeat the section's title.
        kind: a `name` is the heading of its row and is shortened where lines are too long; a `number` is never cut; a
            `remark` may be long, so that a terminal shows it below its row.
        series: whether it is one of several similar columns, one per run; the last are left out first.
        is_data: whether its title is a value of the data, which is written as it is.
        level: where it is shown.
        count: whether it counts rare cases, so that it is left out if all its cells are zero.
    """

    title: str
    kind: ColumnKind = "number"
    series: bool = False
    is_data: bool = False
    level: Level = "essential"
    count: bool = False


@dataclass(frozen=True, slots=True)
class TableCell:
    """One cell of a table, with its number as text.

    Args:
        text: shown in every medium.
        more: further phrases, the most important first, shown smaller or in brackets as far as there is space.
        strong: whether it is emphasised like a headline figure.
        value: the number behind the text, for JSON; None where there is none.
        link: the samples that it counts, or its run or record.
        tag: one word that marks its row on a page: "baseline".
    """

    text: str
    more: tuple[str, ...] = ()
    strong: bool = False
    value: float | None = None
    link: PageLink | None = None
    tag: str = ""


@dataclass(frozen=True, slots=True)
class SectionTable:
    """Rows of cells.

    Args:
        columns: at least one.
        rows: each with a cell per column.
        caption: a phrase on the figures and on the records that they are computed from.
        layout: `rows`; `histogram` (a row per value, a column per run), which may be shown on its side or as bars;
            `tiles` (name, count, meaning), which may be shown as one line.
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    caption: str = ""
    layout: TableLayout = "rows"

    def within(self, levels: Container[Level]) -> SectionTable:
        """The same table with the columns of some levels."""
        return self._with_columns([at for at, column in enumerate(self.columns) if column.level in levels])

    def with_series(self, most: int) -> SectionTable:
        """The same table with at most `most` columns of a series, the first ones."""
        series = [at for at, column in enumerate(self.columns) if column.series]
        return self._with_columns([at for at in range(len(self.columns)) if at not in series[most:]])

    def _with_columns(self, shown: Sequence[int]) -> SectionTable:
        columns = tuple(self.columns[at] for at in shown)
        return replace(self, columns=columns, rows=tuple(tuple(row[at] for at in shown) for row in self.rows))

    def without_zeros(self) -> SectionTable:
        """The same table without counts that are 0 in every row."""
        zeros = [
            at
            for at, column in enumerate(self.columns)
            if column.count and self.rows and all(row[at].text in {"0", "0 / 0"} for row in self.rows)
        ]
        if not zeros:
            return self
        return self._with_columns([at for at in range(len(self.columns)) if at not in zeros])

    def without_empty(self, levels: Container[Level] = ("essential", "detail", "page")) -> SectionTable:
        """The same table without empty columns of some levels, except names and the columns of runs."""
        if self.layout != "rows" or not self.rows:
            return self
        non_empty_columns = [
            at
            for at, column in enumerate(self.columns)
            if column.kind == "name"
            or column.series
            or column.level not in levels
            or any(row[at].text not in _NOTHING or row[at].more for row in self.rows)
        ]
        return self._with_columns(non_empty_columns)

    def on_its_side(self) -> SectionTable:
        """A histogram with a row per run and a column per value, so that each run needs one line."""
        columns = (TableColumn("target", "name"), *(TableColumn(row[0].text) for row in self.rows))
        rows = tuple(
            (TableCell(column.title), *(row[at] for row in self.rows))
            for at, column in enumerate(self.columns[1:], start=1)
        )
        return replace(self, columns=columns, rows=rows)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or phrase of a section.

    Args:
        text: may quote any text.
        kind: `conclusion`; `alarm`: figures are likely wrong or incomplete; `warning`: a reservation; `note`: further
            information; `fact`: a figure with its name; `item`: an entry of a list; `rule`: of a gate, with its state
            as term.
        term: the name of a fact.
        level: where it is shown.
        changes: the pieces of a word diff (`same`, `removed` or `added`, text), which a page marks up; `text` is the
            version for media without markup.
        tone: good, bad or unclear news, for the colour on a terminal.
        link: target of a fact's term.
    """

    text: str
    kind: SentenceKind = "note"
    term: str = ""
    level: Level = "essential"
    changes: tuple[tuple[str, str], ...] = ()
    tone: Tone = ""
    link: PageLink | None = None

    @property
    def with_term(self) -> str:
        """The text with the fact's name before it."""
        return f"{self.term}: {self.text}" if self.term else self.text


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a page.

    Args:
        title: its heading; "" if it continues the enclosing section.
        table: None where it has none.
        chart: shown below the table by media that draw charts; others leave out a section that is only a chart.
        notes: sentences, in order.
        figures: the page's conclusions, shown large.
        parts: sections inside it, in order; empty ones are left out.
        key: a stable name for JSON and for anchors; "" for a part.
        level: where it is shown.
        folded: whether pages show it collapsed.
    """

    title: str
    table: SectionTable | None = None
    chart: Chart | None = None
    notes: Sequence[Sentence] = ()
    figures: tuple[KeyFigure, ...] = ()
    parts: Sequence[Section] = ()
    key: str = ""
    level: Level = "essential"
    folded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(self.notes))  # the class is frozen
        object.__setattr__(self, "parts", non_empty(self.parts))

    def __bool__(self) -> bool:
        """Whether it has a table with rows, a chart, a sentence, a figure or a section that is not empty."""
        return bool((self.table and self.table.rows) or self.chart or self.notes or self.figures or any(self.parts))

    @property
    def is_drawing(self) -> bool:
        """Whether it is only a chart with notes on it; a bar of shares can be written as text."""
        has_more = self.table is not None or self.figures or self.parts
        return self.chart is not None and not isinstance(self.chart, ShareBar) and not has_more


def non_empty(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that are not empty."""
    return tuple(section for section in sections if section)


def sentences(texts: Iterable[str], kind: SentenceKind = "note", *, level: Level = "essential") -> list[Sentence]:
    """A sentence for each text that is not empty."""
    return [Sentence(text, kind, level=level) for text in texts if text]


_TEXTS: Final = frozenset(
    (
        *("against", "based on", "by", "id", "judge", "meaning", "on", "rank", "rated by", "run", "scorer", "stage"),
        *("started", "verdict"),
    )
)
"""Titles of columns that hold texts in every table."""
_COUNTS: Final = frozenset({"not applicable", "unreadable", "refused", "errors"})
"""Titles of columns that count rare cases in every table with scores."""


def columns_of(
    name: str, *others: str | TableColumn, before: Sequence[str | TableColumn] = ()
) -> tuple[TableColumn, ...]:
    """The columns of a table, one of which names its row.

    Args:
        name: title of the column of names.
        others: the further ones. A title alone is of numbers, unless it is one that holds texts or rare counts in every
            table, or ends with "CI": then it is of intervals.
        before: columns before that of the names, likewise.

    >>> [(column.title, column.kind) for column in columns_of("score", "mean", "95 % CI", before=("run",))]
    [('run', 'text'), ('score', 'name'), ('mean', 'number'), ('95 % CI', 'interval')]
    """
    return (*map(_column, before), TableColumn(name, "name"), *map(_column, others))


def _column(column: str | TableColumn) -> TableColumn:
    if isinstance(column, TableColumn):
        return column
    kind: ColumnKind = "interval" if column.endswith("CI") else "text" if column in _TEXTS else "number"
    return TableColumn(column, kind, count=column in _COUNTS)


def run_columns(labels: Iterable[str], name: str = "") -> tuple[TableColumn, ...]:
    """The columns of a table with a column per run, beside that of the names of its rows."""
    return TableColumn(name, "name"), *(TableColumn(label, series=True) for label in labels)


def number_cell(n: int) -> TableCell:
    """A count, with its value for JSON."""
    return TableCell(f"{n:,}", value=n)


def text_row(*texts: str) -> tuple[TableCell, ...]:
    """A row of cells with only these texts."""
    return tuple(TableCell(text) for text in texts)


def section_json(sections: Sequence[Section]) -> list[Json]:
    """The sections as plain JSON, with everything that any medium shows; empty fields are left out."""
    return [_section_json(section) for section in sections]


def _section_json(section: Section) -> dict[str, Json]:
    plain: dict[str, Json] = {"key": section.key, "title": section.title}
    if section.table:
        plain["table"] = {
            "caption": section.table.caption,
            "columns": [column.title for column in section.table.columns],
            "rows": [[_cell_json(cell) for cell in row] for row in section.table.rows],
        }
    if section.chart:
        plain["chart"] = {"kind": type(section.chart).__name__, **asdict(section.chart)}
    plain["figures"] = [asdict(figure) for figure in section.figures]
    plain["notes"] = [{"kind": note.kind, "term": note.term, "text": note.text} for note in section.notes]
    plain["parts"] = section_json(section.parts)
    return {name: value for name, value in plain.items() if value not in ("", [])}


def _cell_json(cell: TableCell) -> Json:
    """The cell as an object, or as a plain text if it has nothing else."""
    more: dict[str, Json] = {"more": ", ".join(cell.more)} if cell.more else {}
    value: dict[str, Json] = {} if cell.value is None else {"value": cell.value}
    return {"text": cell.text, **more, **value} if more or value else cell.text
