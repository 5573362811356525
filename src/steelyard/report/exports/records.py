"""Records for other programs: JSON Lines with every field, CSV and Parquet with the columns of `ExportTable`."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from steelyard.analysis.scores.score_fields import CellKind, verdict_label
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.errors import ConfigError, install_command
from steelyard.escaping import cell_text, csv_cell, json_line, writable
from steelyard.files import replaced
from steelyard.plain_json import field_values
from steelyard.report.exports.table import ExportTable, labels_by_record
from steelyard.store import Run
from steelyard.types import Failure, Label, Note, Record, Reply, Score, ScoreInfo

_BYTE_ORDER_MARK = "\ufeff"
_CSV_ROWS: Final = 200
"""Rows of one piece: each piece takes a turn of a server's event loop, which costs as much as some rows."""
_PARQUET_ROWS: Final = 5_000
"""Rows of one row group, which is in memory at once."""


def plain_record(
    record: Record, labels: Sequence[Label] = (), infos: Mapping[str, ScoreInfo] = MappingProxyType({})
) -> dict[str, Any]:
    """A record as plain JSON: sample, output, scores, labels, replies per stage with usage and attempts, failure.

    Args:
        record: of a run.
        labels: of this record.
        infos: score -> what its scorer declared; it names verdicts without a name of their own.
    """
    return {
        "sample": field_values(record.sample),
        "repeat": record.repeat,
        "output": None if record.output is None else field_values(record.output),
        "scores": [_plain_score(score, infos.get(score.name)) for score in record.scores],
        "labels": [_plain_label(label) for label in labels],
        "replies": {stage: [_plain_reply(reply) for reply in replies] for stage, replies in record.replies.items()},
        "failure": None if record.failure is None else _plain_failure(record.failure),
        "seconds": record.seconds,
    }


def jsonl(run: Run, *, records: Iterable[Record] | None = None) -> Iterator[str]:
    """One line of JSON per record, line end included; run, target and tags before the keys of `plain_record`.

    Args:
        run: what is exported.
        records: of the run; None is all, in its order.
    """
    head = {"run": run.id, "target": run.target, "tags": dict(run.tags)}
    labels, infos = labels_by_record(run), score_infos(run.manifest)
    for record in run.records() if records is None else records:
        yield json_line(head | plain_record(record, labels.get((record.sample.id, record.repeat), ()), infos)) + "\n"


def csv(run: Run, *, raw: bool = False, records: Iterable[Record] | None = None) -> Iterator[str]:
    r"""A CSV file in pieces of whole lines, a header first: write them as UTF-8 without changing line ends.

    The first piece begins with a byte order mark, by which spreadsheets know the encoding. A cell that a spreadsheet
    would take for a formula begins with an apostrophe.

    Args:
        run: what is exported.
        raw: leave every cell as it is (except for characters that no file can hold), for programs without formulas.
        records: of the run; None is all, in its order.
    """
    write = _raw_cell if raw else csv_cell
    table = ExportTable.of(run)
    yield _BYTE_ORDER_MARK + _lines([[write(name) for name in table.names]])
    rows = table.rows(records)
    while block := list(islice(rows, _CSV_ROWS)):
        yield _lines([write(value) for value in cells] for cells in block)


def _plain_score(score: Score, info: ScoreInfo | None) -> dict[str, Any]:
    """The score's fields, and the name of its verdict as tables have it in `<score>_label`."""
    label = verdict_label(score, info)
    return field_values(score) | ({} if label is None else {"label": label})


def _plain_label(label: Label) -> dict[str, Any]:
    at = label.at.isoformat(timespec="seconds")
    form = {"kind": label.kind} if label.kind else {}
    scale = {"scale": list(label.scale)} if label.scale else {}
    return {"name": label.name, "value": label.value, **form, **scale, "author": label.author, "at": at}


def _raw_cell(value: Any) -> str:
    return writable(cell_text(value))


def _lines(rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO(newline="")
    writer(buffer).writerows(rows)
    return buffer.getvalue()


def _plain_reply(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "key": reply.key,
        "text": reply.text,
        "finish": reply.finish,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "estimated": usage.estimated,
        "latency": reply.latency,
        "attempts": [field_values(attempt) for attempt in reply.attempts],
        "metadata": dict(reply.metadata),
    }


def _plain_failure(failure: Failure) -> dict[str, Any]:
    attempts = [field_values(attempt) for attempt in failure.attempts]
    return {"stage": failure.stage, "kind": failure.kind, "message": failure.message, "attempts": attempts}


def plain_note(note: Note) -> dict[str, str]:
    """A note of a run as plain JSON."""
    return {"run": note.run, "at": note.at.isoformat(timespec="seconds"), "author": note.author, "text": note.text}


def write_parquet(run: Run, path: Path) -> None:
    """Write a run's records to a Parquet file, row group by row group: memory stays flat.

    Scores are doubles (null where there is no value), counts are 64-bit integers, everything else is text.

    Args:
        run: what is exported.
        path: the file; an existing one is replaced once the new one is complete.

    Raises:
        ConfigError: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise ConfigError(f"writing .parquet needs pyarrow: {install_command('parquet')}") from error
    table = ExportTable.of(run)
    kinds = [kind for _, kind in table.columns]
    types = {"text": pa.string(), "number": pa.float64(), "count": pa.int64()}
    schema = pa.schema(list(zip(_unique(table.names), (types[kind] for kind in kinds), strict=True)))
    with replaced(path) as file, ParquetWriter(file, schema, compression="zstd") as writer:
        rows = table.rows()
        while block := list(islice(rows, _PARQUET_ROWS)):
            columns = [_typed(column, kind) for column, kind in zip(zip(*block, strict=True), kinds, strict=True)]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _typed(cells: Sequence[Any], kind: CellKind) -> list[Any]:
    if kind == "text":
        return [None if cell is None else writable(cell_text(cell)) for cell in cells]
    return list(cells)


def _unique(names: Sequence[str]) -> Iterator[str]:
    """The names; repeated ones get a number from the second on.

    >>> list(_unique(["id", "output", "id"]))
    ['id', 'output', 'id_2']
    """
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}_{seen[name]}"
