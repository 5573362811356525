"""Shows generated SQL: both queries with what differs, and the first rows of both results side by side.

The values come from the record alone: `Score.detail["results"]` holds the rows that the scorer kept (see
`steelyard.sql.wording`), the queries are the sample's reference and the SQL parsed from the reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

from steelyard.escaping import cell_text
from steelyard.report.judge_reasons import WordIndex
from steelyard.report.section import Section, SectionTable, Sentence, TableCell, TableColumn
from steelyard.sql.formatting import SqlLine, sql_diff
from steelyard.sql.results import EngineName
from steelyard.types import Record, Score

_RESULT_SCORES: Final = ("result", "execution_accuracy")
_SQL_SCORES: Final = ("format", *_RESULT_SCORES)
"""Scores whose detail holds the SQL parsed from the reply."""
_ENGINES: Final[Mapping[str, EngineName]] = {
    "DuckDB": "duckdb",
    "PostgreSQL": "postgres",
    "MySQL": "mysql",
    "MariaDB": "mysql",
}
_MOST_ROWS: Final = 4
_MOST_CHANGED: Final = 6
"""Rows and lines of SQL of one sample in a comment."""
_WIDTH: Final = 78
_INDENT: Final = "    "


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a result: its 1-based number, its cells as SQL literals, and which of them differ."""

    number: int
    cells: tuple[str, ...]
    differs: frozenset[int]


@dataclass(frozen=True, slots=True)
class ShownResult:
    """The first rows of a result; `total` rows in all."""

    columns: tuple[str, ...]
    rows: tuple[ShownRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SqlEvidence:
    """The queries of a record and their results.

    Args:
        expected: the reference query in lines; () where the reference is not SQL.
        predicted: the query of the reply in lines; () where there is none.
        reference: the reference's result; None where none is stored.
        returned: the prediction's; None where its query failed.
        score: the name of the score that compared them; "" for none.
    """

    expected: tuple[SqlLine, ...]
    predicted: tuple[SqlLine, ...]
    reference: ShownResult | None
    returned: ShownResult | None
    score: str

    def __bool__(self) -> bool:
        return bool(self.predicted) or self.reference is not None


def sql_evidence(record: Record) -> SqlEvidence:
    """Read the queries and results of a record; empty for a record of another suite."""
    score = next((score for score in record.scores if score.name in _RESULT_SCORES), None)
    results = score.detail.get("results") if score is not None else None
    sides = results if isinstance(results, Mapping) else {}
    predicted = _predicted_sql(record.scores)
    reference = record.sample.reference
    expected = reference if predicted and isinstance(reference, str) else ""
    engine = _ENGINES.get(str(record.sample.metadata.get("dialect")), "sqlite")
    return SqlEvidence(
        *(sql_diff(expected, predicted, engine) if expected else ((), ())),
        _result(sides.get("reference")),
        _result(sides.get("predicted")),
        score.name if score is not None and sides else "",
    )


def _predicted_sql(scores: Sequence[Score]) -> str:
    for score in scores:
        columns = score.detail.get("columns")
        if score.name in _SQL_SCORES and isinstance(columns, Mapping) and isinstance(columns.get("sql"), str):
            return str(columns["sql"])
    return ""


def _result(side: Any) -> ShownResult | None:
    if not isinstance(side, Mapping):
        return None
    rows = tuple(
        ShownRow(int(row["row"]), tuple(map(cell_text, row["cells"])), frozenset(row["differs"]))
        for row in side["rows"]
    )
    return ShownResult(tuple(map(cell_text, side["columns"])), rows, int(side["total"]))


def sql_lines(record: Record) -> Iterator[str]:
    """The evidence for a terminal: the queries as a diff of lines, then both results, `*` at each cell that differs."""
    evidence = sql_evidence(record)
    if not evidence:
        return
    if evidence.expected:
        yield "  SQL (- expected, + returned by the target):"
        yield from (f"{_INDENT}{line}" for line in _diff_lines(evidence))
    if evidence.reference is not None:
        returned = "no result" if evidence.returned is None else f"{evidence.returned.total:,} returned"
        yield f"  rows: {evidence.reference.total:,} expected, {returned}; * marks cells that differ"
        yield from _side_by_side(evidence.reference, evidence.returned)


def _diff_lines(evidence: SqlEvidence) -> Iterator[str]:
    left, right = ([_plain(line) for line in lines] for lines in (evidence.expected, evidence.predicted))
    keys = [[" ".join(line.upper().split()) for line in lines] for lines in (left, right)]
    for tag, start, end, other_start, other_end in SequenceMatcher(
        None, keys[0], keys[1], autojunk=False
    ).get_opcodes():
        if tag == "equal":
            yield from (f"  {line}" for line in right[other_start:other_end])
        else:
            yield from (f"- {line}" for line in left[start:end])
            yield from (f"+ {line}" for line in right[other_start:other_end])


def _plain(line: SqlLine) -> str:
    return "".join(word.text for word in line)


def _side_by_side(reference: ShownResult, returned: ShownResult | None) -> Iterator[str]:
    """Rows of both results side by side, cut to 80 columns."""
    left = _grid(reference)
    right = _grid(returned) if returned is not None else []
    room = (_WIDTH - len(_INDENT)) // 2 - 1
    width = min(room, max(map(_columns_of, left)))
    for left_line, right_line in zip_longest(left, right, fillvalue=""):
        beside = f" | {_fit(right_line, _WIDTH - len(_INDENT) - width - 3)}" if right else ""
        yield f"{_INDENT}{_fit(left_line, width)}{beside}".rstrip()


def _grid(result: ShownResult) -> list[str]:
    """A result as aligned lines: a head and a line per row; a line of dots stands for rows that are not shown."""
    head = ["row", *(name or str(number + 1) for number, name in enumerate(result.columns))]
    body: list[list[str]] = []
    last = 0
    for row in result.rows:
        if row.number != last + 1:
            body.append(["…"])
        last = row.number
        cells = [f"{'*' if at in row.differs else ''}{cell}" for at, cell in enumerate(row.cells)]
        body.append([str(row.number), *cells])
    if last < result.total:
        body.append(["…"])
    widths = [max(_columns_of(line[at]) for line in [head, *body] if at < len(line)) for at in range(len(head))]
    lines = [head, *body] if result.total else [["no rows"]]
    return ["  ".join(_pad(cell, widths[at]) for at, cell in enumerate(line)).rstrip() for line in lines]


def _columns_of(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _columns_of(text))


def _fit(text: str, width: int) -> str:
    """A text padded to `width` terminal columns, or cut with an ellipsis where it is longer."""
    if _columns_of(text) > width:
        while _columns_of(text) > width - 1:
            text = text[:-1]
        text += "…"
    return _pad(text, width)


def results_table(evidence: SqlEvidence) -> SectionTable | None:
    """Both results side by side, a row each; cells that differ are strong. None where no rows are stored."""
    reference, returned = evidence.reference, evidence.returned
    if reference is None:
        return None
    columns = [TableColumn("row", "name")]
    columns += [TableColumn(f"expected {name or number}", "text") for number, name in enumerate(reference.columns, 1)]
    if returned is not None:
        columns += [
            TableColumn(f"returned {name or number}", "text") for number, name in enumerate(returned.columns, 1)
        ]
    rows = []
    for expected_row, returned_row in zip_longest(reference.rows, returned.rows if returned is not None else ()):
        numbers = [str(row.number) for row in (expected_row, returned_row) if row is not None]
        rows.append(
            (
                TableCell(" / ".join(dict.fromkeys(numbers))),
                *_cells(expected_row, reference),
                *_cells(returned_row, returned),
            )
        )
    return SectionTable(tuple(columns), tuple(rows), "first rows of both results; cells that differ are marked")


def _differing_rows(evidence: SqlEvidence) -> SectionTable | None:
    """The table without the rows that are the same on both sides."""
    table = results_table(evidence)
    if table is None:
        return None
    rows = [row for row in table.rows if any(cell.strong for cell in row)] or list(table.rows)
    return replace(table, rows=tuple(rows[:_MOST_ROWS]))


def _cells(row: ShownRow | None, result: ShownResult | None) -> list[TableCell]:
    if result is None:
        return []
    if row is None:
        return [TableCell("")] * len(result.columns)
    return [TableCell(cell, strong=at in row.differs) for at, cell in enumerate(row.cells)]


def sql_json(record: Record, index: WordIndex) -> list[Any]:
    """The column `sql` of a record on a page; empty for a record without SQL.

    Returns the lines of both queries as pairs of a text's index and whether it differs, then both results as columns,
    rows of indices, what differs, row numbers and the total.
    """
    if not any(score.name in _SQL_SCORES for score in record.scores):
        return []
    evidence = sql_evidence(record)
    if not evidence:
        return []
    queries = [
        [[[index(word.text), int(word.changed)] for word in line] for line in lines]
        for lines in (evidence.expected, evidence.predicted)
    ]
    results = [_result_json(result, index) for result in (evidence.reference, evidence.returned)]
    return [*queries, *results, index(evidence.score)]


def _result_json(result: ShownResult | None, index: WordIndex) -> list[Any]:
    if result is None:
        return []
    rows = [[row.number, [index(cell) for cell in row.cells], sorted(row.differs)] for row in result.rows]
    return [[index(name) for name in result.columns], rows, result.total]


_MOST_WRONG: Final = 2


def wrong_results_section(records: Iterable[Record]) -> Section:
    """The first wrong results of a run for Markdown: the reason, both queries line by line, and their rows.

    Args:
        records: of the run; read until there are enough wrong ones.
    """
    parts = []
    for record in records:
        evidence = sql_evidence(record)
        score = next((score for score in record.scores if score.name == evidence.score and score.passed is False), None)
        if score is None or evidence.reference is None:
            continue
        # A comment leaves out equal lines, which the page shows.
        changed = [line for line in _diff_lines(evidence) if not line.startswith(" ")] if evidence.expected else []
        notes = tuple(Sentence(line, "item") for line in changed[:_MOST_CHANGED])
        title = f"{record.sample.id}: {score.reason}"
        parts.append(Section(title, _differing_rows(evidence), notes=notes, folded=True))
        if len(parts) == _MOST_WRONG:
            break
    return Section("", parts=parts, key="wrong_results")
