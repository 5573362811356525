"""Records as a workbook: a sheet of summaries, then one sheet per run; needs openpyxl (extra `xlsx`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.errors import ConfigError, install_command
from steelyard.escaping import cell_text, writable
from steelyard.files import replaced
from steelyard.report.exports.records import ExportTable
from steelyard.store import Run

_MOST_CHARACTERS: Final = 32_767
_MOST_ROWS: Final = 1_048_576
_LONGEST_TITLE: Final = 31
_RESERVED: Final = "History"
"""Excel reserves this name and reports a workbook that uses it as damaged."""
_NO_TITLE: Final = str.maketrans(dict.fromkeys("[]:*?/\\'", "_"))
_CUT: Final = " ... (cut)"
_WIDTHS: Final = {"question": 50, "options": 30, "output": 50}


def write_workbook(runs: Sequence[Run], path: Path) -> None:
    """Write runs to an .xlsx file, a row at a time: memory stays flat.

    Every text is stored as a text, so none of them is a formula.

    Args:
        runs: at least one; each gets a sheet named after its target.
        path: the file; an existing one is replaced once the new one is complete.

    Raises:
        ConfigError: openpyxl is not installed, or a run has more records than a sheet has rows.
        OSError: the file cannot be written.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise ConfigError(f"writing .xlsx needs openpyxl: {install_command('xlsx')}") from error
    book = openpyxl.Workbook(write_only=True)
    try:
        _fill(book, runs)
    except BaseException:
        for sheet in book.worksheets:  # else lxml prints a traceback when the unfinished sheets are collected
            sheet.close()
        raise
    with replaced(path) as file:
        book.save(file)


def _fill(book: Any, runs: Sequence[Run]) -> None:
    _add_summaries(book, runs)
    titles = ["Summary", _RESERVED]
    for run in runs:
        if run.done >= _MOST_ROWS:
            raise ConfigError(f"run {run.id} has {run.done} records, a sheet {_MOST_ROWS} rows: export it as Parquet")
        titles.append(_title(run.target, titles))
        _add_records(book, titles[-1], run)


def _add_summaries(book: Any, runs: Sequence[Run]) -> None:
    sheet = book.create_sheet("Summary")
    counts = ("n", "scored", "unparsed", "refused", "not_applicable", "errors")
    figures = ("value", "standard_error", "low", "high", *counts, "warning")
    _append(sheet, ["run", "target", "state", "score", "group", *figures])
    for run in runs:
        summary = run.summary()
        for score in (part for whole in summary.scores for part in (whole, *summary.groups.get(whole.name, ()))):
            mean = score.headline
            ends = list(mean.interval or (None, None))
            numbers = [mean.n, score.scored, score.unparsed, score.refused, score.not_applicable, score.errors]
            head = [run.id, run.target, summary.state, score.name, score.group]
            warning = summary.matching_warning(score.name) if score.name in RETRIEVAL_SCORES else None
            _append(sheet, [*head, mean.value, mean.standard_error, *ends, *numbers, warning])


def _add_records(book: Any, title: str, run: Run) -> None:
    table = ExportTable.of(run)
    names = table.names
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"
    for at, name in enumerate(names):
        if name in _WIDTHS:
            sheet.column_dimensions[_letters(at)].width = _WIDTHS[name]
    _append(sheet, names)
    for cells in table.rows():
        _append(sheet, cells)


def _append(sheet: Any, cells: Sequence[Any]) -> None:
    sheet.append([_typed(sheet, cell) for cell in cells])


def _typed(sheet: Any, value: Any) -> Any:
    from openpyxl.cell import WriteOnlyCell

    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    cell = WriteOnlyCell(sheet, "")
    # Set directly, as the cell would take a text that begins with "=" for a formula.
    cell._value, cell.data_type = _text(value), "s"  # noqa: SLF001
    return cell


def _text(value: Any) -> str:
    text = writable(cell_text(value))
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - len(_CUT)] + _CUT


def _title(target: str, taken: Sequence[str]) -> str:
    """The name of a target's sheet: only characters that Excel allows, and unique in the workbook."""
    bare = writable(target).translate(_NO_TITLE)[:_LONGEST_TITLE].strip() or "run"
    known = {name.casefold() for name in taken}
    title, count = bare, 1
    while title.casefold() in known:
        count += 1
        mark = f" ({count})"
        title = bare[: _LONGEST_TITLE - len(mark)] + mark
    return title


def _letters(index: int) -> str:
    from openpyxl.utils import get_column_letter

    letters: str = get_column_letter(index + 1)
    return letters
