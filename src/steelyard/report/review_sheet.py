"""The review queue as a CSV sheet that people fill in, and their verdicts as labels.

A verdict says which option a reply gives. The queue goes out as a CSV file with an empty column `verdict`
(`review --csv`); the filled-in file comes back through `read_sheet`, a single verdict from the command line.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.escaping import cell_text, csv_cell
from steelyard.report.sample_table import input_text
from steelyard.store import Run
from steelyard.store.review import ANSWER, NO_OPTION, Queued, RecordKey, verdict_letters
from steelyard.types import Label

COLUMNS: Final = ("run", "sample", "repeat", "why", "read", "context", "question", "options", "reply", "verdict")
"""Of the sheet; the column `key` is added before `verdict` if it is shown."""
_REQUIRED: Final = ("sample", "verdict")
_LONGEST_NUMBER: Final = 9

AuthorVerdicts = Mapping[RecordKey, Mapping[str, str]]
"""(sample, repeat) -> author -> verdict; "" for a reply that gives no option."""


class TypedVerdict(NamedTuple):
    """A verdict as a person typed it: letters, `none`, or None to withdraw; with its place in the sheet, if any."""

    sample: str
    repeat: int
    value: str | None
    place: str = ""


def place_of(queued: Queued) -> RecordKey:
    """(sample id, repeat) of a reply in the queue."""
    return queued.record.sample.id, queued.record.repeat


def author_verdicts(labels: Iterable[Label]) -> AuthorVerdicts:
    """The verdicts among the labels of a run; other labels are left out."""
    verdicts: dict[RecordKey, dict[str, str]] = {}
    for label in labels:
        if label.name == ANSWER:
            verdicts.setdefault((label.sample, label.repeat), {})[label.author] = cell_text(label.value)
    return verdicts


def plain_entry(queued: Queued, verdicts: AuthorVerdicts, *, show_key: bool) -> dict[str, Any]:
    """A reply in the queue as plain JSON."""
    sample, repeat = place = place_of(queued)
    reading = {"why": queued.kind, "read": queued.answered.letters, "context": queued.context}
    key = {"key": queued.answered.wanted} if show_key else {}
    span = list(queued.span) if queued.span else None
    return {
        "sample": sample,
        "repeat": repeat,
        **reading,
        "span": span,
        **key,
        "verdicts": dict(verdicts.get(place, {})),
    }


def sheet(run: Run, queue: Sequence[Queued], verdicts: AuthorVerdicts, *, show_key: bool) -> str:
    """The queue as CSV with a column for the verdict; it begins with a byte order mark, which Excel needs for UTF-8."""
    buffer = io.StringIO(newline="")
    lines = writer(buffer)
    for row in _sheet_rows(run, queue, verdicts, show_key=show_key):
        lines.writerow([csv_cell(value) for value in row])
    return "\ufeff" + buffer.getvalue()


def _sheet_rows(run: Run, queue: Sequence[Queued], verdicts: AuthorVerdicts, *, show_key: bool) -> Iterator[list[Any]]:
    """Header and rows; a verdict on which all authors agree is filled in already."""
    yield [*COLUMNS[:-1], *(["key"] if show_key else []), COLUMNS[-1]]
    for queued in queue:
        sample = queued.record.sample
        options = "\n".join(f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(sample.choices))
        given = {value or NO_OPTION for value in verdicts.get(place_of(queued), {}).values()}
        key = [queued.answered.wanted] if show_key else []
        verdict = given.pop() if len(given) == 1 else ""
        about = [run.id, *place_of(queued), queued.kind, queued.answered.letters, queued.context]
        yield [*about, input_text(sample.input), options, queued.reply, *key, verdict]


def read_sheet(run: Run, path: Path) -> list[TypedVerdict]:
    """The rows of a sheet whose verdict is filled in.

    Raises:
        ConfigError: the file has a format that cannot be read.
        DataError: a column is missing, the sheet belongs to another run, or no row has a verdict.
    """
    from steelyard.data.load import read_tables
    from steelyard.data.sample_files import SampleFiles
    from steelyard.data.table import render

    tables, _ = read_tables(SampleFiles(file=path))
    typed: list[TypedVerdict] = []
    for table in tables:
        for number, cells in _rows(table, path):
            texts = {name: render(value) for name, value in cells.items()}
            if texts.get("run", run.id) not in {"", run.id}:
                raise DataError(f"{path.name}: row {number} is of run {texts['run']}, and {run.id} was named")
            if texts["sample"] and texts["verdict"]:
                place = f"{path.name} row {number}: "
                repeat = _repeat(texts.get("repeat", ""), place)
                typed.append(TypedVerdict(texts["sample"], repeat, texts["verdict"], place))
    if not typed:
        raise DataError(f"{path.name}: no row has a verdict; fill the column `verdict` with letters (B, AC) or none")
    return typed


def _rows(table: Any, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(row number, column name -> cell) of each row below the header."""
    names: list[str] = []
    for number, cells in table:
        if isinstance(cells, dict):
            row = {str(name).strip().casefold(): value for name, value in cells.items()}
        elif not names:
            names = [str(cell or "").strip().casefold() for cell in cells]
            _check_columns(names, path)
            continue
        else:
            row = dict(zip(names, cells, strict=False))
        _check_columns(list(row), path)
        yield number, row


def _check_columns(names: Sequence[str], path: Path) -> None:
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        present = ", ".join(name for name in names if name)[:120]
        raise DataError(f"{path.name}: expected the columns sample and verdict of review --csv; it has {present}")


def _repeat(text: str, place: str) -> int:
    if not text:
        return 0
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise DataError(f"{place}repeat is {text[:20]!r}; expected a number from 0")
    return int(text)


def verdict_labels(run: Run, typed: Sequence[TypedVerdict], author: str, at: datetime) -> list[Label]:
    """Verdicts as labels, each checked against the run, so that either all can be stored or none is.

    Args:
        run: of an exam.
        typed: the verdicts.
        author: the person who gives them.
        at: when.

    Raises:
        ConfigError: a sample or repeat that the run does not have, or letters that are no options.
    """
    positions = run.places()
    labels: list[Label] = []
    for verdict in typed:
        name = _sample_id(verdict.sample, positions, run)
        records = run.records_between(positions[name], positions[name])
        repeats = {record.repeat: record.sample for _, record in records}
        if verdict.repeat not in repeats:
            known = ", ".join(map(str, sorted(repeats)))
            raise ConfigError(
                f"{verdict.place}run {run.id} has no repeat {verdict.repeat} of sample {name!r}, but {known}"
            )
        choices = len(repeats[verdict.repeat].choices)
        try:
            value = None if verdict.value is None else verdict_letters(verdict.value, choices)
        except ConfigError as error:
            raise ConfigError(f"{verdict.place}{error}") from error
        labels.append(Label(name, ANSWER, value, author, at, verdict.repeat))
    return labels


def _sample_id(typed: str, positions: Mapping[str, int], run: Run) -> str:
    """The sample's id; the sheet has an apostrophe in front of one that looks like a formula."""
    for name in (typed, typed.removeprefix("'")):
        if name in positions:
            return name
    near = did_you_mean(typed, positions)
    raise ConfigError(f"run {run.id} has no sample {typed!r}{near if near.startswith(':') else ''}")
