"""Records for other programs.

JSON Lines with every field, CSV and Parquet with the columns of `ExportTable`, and the result format of the widely
copied exam script, which wrote a JSON list per source and target, with a folder per source.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from steelyard.analysis.scores.score_fields import CellKind, ScoreField, score_cells, score_fields, verdict_label
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.data.table import SOURCE, origin_keys
from steelyard.errors import ConfigError, did_you_mean, install_command
from steelyard.escaping import cell_text, csv_cell, json_line, writable
from steelyard.files import replaced
from steelyard.plain_json import field_values, grouped
from steelyard.prompts.agent_messages import reported_usage
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.sample_values import option_label
from steelyard.store import Run
from steelyard.store.labels import by_record
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
    labels, infos = by_record(run.remarks().labels), score_infos(run.manifest)
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


_NUMBERS: Final[Mapping[str, CellKind]] = {
    "repeat": "count",
    "input_tokens": "count",
    "output_tokens": "count",
    "attempts": "count",
    "seconds": "number",
}


@dataclass(frozen=True, slots=True)
class ExportTable:
    """The table of a run.

    Args:
        run: what is exported.
        scores: the columns of its scores, in order.
        origin: `source` and `sheet`, where its dataset has several files or sheets.
        tags: the names of its target's tags.
        labels: the names of its labels.
    """

    run: Run
    scores: tuple[ScoreField, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    origin: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> ExportTable:
        """The table of `run`; its records are read by `rows`."""
        names = dict.fromkeys(label.name for label in run.remarks().labels)
        return cls(
            run,
            score_fields(score_names(run), score_infos(run.manifest)),
            tuple(sorted(run.tags)),
            tuple(names),
            origin_keys(run.manifest.get("breakdowns", ())),
        )

    @property
    def columns(self) -> list[tuple[str, CellKind]]:
        """Each column's name and what it holds, in order; a score may be named like another column."""
        names = ["run", "target", *(f"tag_{tag}" for tag in self.tags), "id", "group", *self.origin, "repeat"]
        names += ["question", "options", "reference", "output"]
        columns = [(name, _NUMBERS.get(name, "text")) for name in names]
        columns += [(field.column, field.kind) for field in self.scores]
        names = ["failure", "input_tokens", "output_tokens", "attempts", "seconds"]
        columns += [(name, _NUMBERS.get(name, "text")) for name in names]
        return columns + [(label_column(name), "text") for name in self.labels]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self.columns]

    def rows(self, records: Iterable[Record] | None = None) -> Iterator[list[Any]]:
        """The cells of every record, in the order of the columns; what is neither text nor number is a JSON value.

        Args:
            records: of the run; None is all, in its order.
        """
        labels = by_record(self.run.remarks().labels)
        for record in self.run.records() if records is None else records:
            values = {label.name: label.value for label in labels.get((record.sample.id, record.repeat), ())}
            yield [*_cells(self, record), *(values.get(name) for name in self.labels)]


def label_column(name: str) -> str:
    """The name of the column of labels of one name; it contains the newest label of any author.

    >>> label_column("cause")
    'label_cause'
    """
    return f"label_{name}"


def score_names(run: Run) -> list[str]:
    """Every score of a run: those its scorers announce, then others that records have."""
    announced = [name for name in run.manifest.get("scores", ()) if name]
    return list(dict.fromkeys([*announced, *run.scored_names()]))


def _tokens(record: Record, replies: Sequence[Reply]) -> list[int | None]:
    """Tokens in and out of all replies and as reported by the output; None where neither has any."""
    usages = [(reply.usage.input_tokens, reply.usage.output_tokens) for reply in replies]
    reported = reported_usage(record.output, through_journal=bool(record.replies.get("target")))
    usages += [(reported["input_tokens"], reported["output_tokens"])] if reported else []
    return [sum(side) for side in zip(*usages, strict=True)] if usages else [None, None]


def _cells(table: ExportTable, record: Record) -> list[Any]:
    sample = record.sample
    replies = [reply for stage_replies in record.replies.values() for reply in stage_replies]
    failure = record.failure
    options = "\n".join(f"{option_label(at)}. {choice}" for at, choice in enumerate(sample.choices))
    return [
        table.run.id,
        table.run.target,
        *(table.run.tags[tag] for tag in table.tags),
        sample.id,
        sample.group,
        *(sample.metadata.get(key) for key in table.origin),
        record.repeat,
        sample.input,
        options,
        sample.reference,
        record.output.value if record.output else None,
        *score_cells(table.scores, record.scores),
        f"{failure.stage} ({failure.kind}): {failure.message}" if failure else None,
        *_tokens(record, replies),
        sum(len(reply.attempts) for reply in replies),
        record.seconds,
    ]


def legacy_files(runs: Sequence[Run], source: str = "") -> dict[str, list[dict[str, Any]]]:
    """Rows by file name, for runs that differ: `TARGET.json`, or `SOURCE/TARGET.json` where there are several.

    If several runs have the same target, their ids are part of the names.

    Args:
        runs: without duplicates.
        source: write only questions of this file of the dataset, without folders; "" is all.

    Raises:
        ConfigError: a run has no question of that source.
    """
    names = [_in_file_name(run.target) for run in runs]
    counts = Counter(name.casefold() for name in names)
    files: dict[str, list[dict[str, Any]]] = {}
    for run, name in zip(runs, names, strict=True):
        file = f"{name}.json" if counts[name.casefold()] == 1 else f"{name}.{_in_file_name(run.id)}.json"
        by_source = grouped((str(record.sample.metadata.get(SOURCE, "")), record) for record in run.records())
        if source and source not in by_source:
            hint = did_you_mean(source, filter(None, by_source)) or "; its dataset is one file"
            if not by_source:
                hint = "; it has no records yet"
            raise ConfigError(f"--source: run {run.id} ({run.target}) has no questions of {source!r}{hint}")
        for source_name, records in by_source.items():
            if source in {"", source_name}:
                folder = f"{_in_file_name(source_name)}/" if source_name and not source else ""
                files[_free(folder + file, files)] = legacy_rows(records)
    return files


def _free(name: str, taken: Iterable[str]) -> str:
    """`name`, or with a number if another file has it: sources may differ only in characters that are replaced."""
    lower, stem = {file.casefold() for file in taken}, name.removesuffix(".json")
    others = (f"{stem}.{number}.json" for number in count(2))
    return next(file for file in chain([name], others) if file.casefold() not in lower)


def _in_file_name(text: str) -> str:
    """A text without characters that a file name must not contain; "." and ".." become "_"."""
    return "".join(mark if mark.isalnum() or mark in "-_.[]=," else "_" for mark in text).lstrip(".") or "_"


def legacy_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One row per record, in their order: question, options as "A:text", correct_answer, type and kb_answer.

    `kb_answer` is the reply whether or not there was a knowledge base, as in the old files. Where the old script wrote
    the error message as the answer, it is None here and the row has the key `error`. Retrieved passages, which the old
    files do not have, are `contexts` and `sources`, as `replay` reads them.

    >>> from steelyard.types import Output, Sample
    >>> legacy_rows([Record(Sample("1", "乾？", "A", choices=("天", "地"), group="卦象"), Output("选A"))])[0]["options"]
    ['A:天', 'B:地']
    """
    return [_row(record) for record in records]


def _row(record: Record) -> dict[str, Any]:
    sample = record.sample
    row: dict[str, Any] = {
        "question": transcript_of(sample.input),
        "options": [f"{option_label(no)}:{text}" for no, text in enumerate(sample.choices)],
        "correct_answer": sample.reference if sample.reference is None else _text(sample.reference),
        "type": sample.group,
        "kb_answer": None if record.output is None else _text(record.output.value),
    }
    if record.output is not None and record.output.contexts:
        row |= {"contexts": list(record.output.contexts), "sources": record.output.metadata.get("sources", [])}
    if record.output is None:
        row["error"] = f"{record.failure.kind}: {record.failure.message}" if record.failure else "not answered"
    return row


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
