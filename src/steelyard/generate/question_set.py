"""A question set: collected from a run over chunks, with a report of what is missing, and its rows on disk.

Rows are written as JSON lines or CSV and read back equal; a file is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from steelyard.data.text_tables import QUESTION_SET
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import quoted_cell, unquoted_cell
from steelyard.files import file_errors, make_private_folder, read_regular, replaced
from steelyard.generate.repeated_questions import AskedQuestion, repeated_questions
from steelyard.generate.selection import BETWEEN, TWO_CHUNKS, UNANSWERABLE
from steelyard.plain_json import field_values
from steelyard.replies.listing import distinct_texts
from steelyard.store import Run
from steelyard.types import Record

SUFFIXES: Final = (".jsonl", ".csv")
_MOST_BYTES: Final = 500_000_000
_WHOLE: Final = frozenset({"page", "start", "end"})


@dataclass(frozen=True, slots=True)
class QaRow:
    """One question, its answer, and the sentences that hold it.

    Args:
        id: 16 hexadecimal digits that stand for the chunk and the question.
        question: what is asked.
        answer: the reference answer.
        document: the document's name.
        page: 1-based page that the source begins on; None where the document has none.
        start: offset of the source's first character in the document's text; None without a single source.
        end: offset behind its last one.
        heading: the headings in force where the chunk begins, joined by " > ".
        source: the sentences that hold the answer; the whole chunk where they were not found. Of a question over two
            chunks a JSON list of both, each with `document`, `page`, `start`, `end` and `text`.
        chunk: the id of the chunk, or of the pair, that the question was made from; "" without an answer.
        group: the first of the headings, or the document's name; the kind in a set of several kinds.
        kind: `generated` by a model, `two_chunks` or `unanswerable` likewise, or `cloze`.
        answerable: `yes` where another call said that the chunk alone answers it, `no` of a question without an answer;
            "" where none was asked, or what it said could not be read.
        cluster: the chunk's id again: its questions are found or missed together, so that they count as one in
            intervals. A pair counts with its first chunk.
    """

    id: str
    question: str
    answer: str
    document: str = ""
    page: int | None = None
    start: int | None = 0
    end: int | None = 0
    heading: str = ""
    source: str = ""
    chunk: str = ""
    group: str = ""
    kind: str = "generated"
    answerable: str = ""
    cluster: str = ""

    @property
    def source_texts(self) -> tuple[str, ...]:
        """The text of each source."""
        if self.kind == TWO_CHUNKS:
            return tuple(part["text"] for part in json.loads(self.source))
        return (self.source,) if self.source else ()


def row_id(chunk: str, question: str) -> str:
    """A row's id, which depends on its chunk and question alone and not on the run."""
    return blake2b(f"{chunk}\0{question}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def check_target(path: Path) -> None:
    """Refuse a file that cannot be written, before any call is made.

    Raises:
        ConfigError: another suffix, or a folder that cannot be written to.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: question sets are saved as {' or '.join(SUFFIXES)}, not {path.suffix or 'that'}")
    with file_errors(path.parent, "made"):
        make_private_folder(path.parent)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{path} cannot be written")


def save_rows(rows: Iterable[QaRow], path: Path) -> None:
    """Write a .jsonl or .csv file under a temporary name and rename it when it is complete.

    Raises:
        ConfigError: another suffix, or it cannot be written.
    """
    check_target(path)
    text = _as_csv(rows) if path.suffix.lower() == ".csv" else _as_json_lines(rows)
    with file_errors(path, "written"), replaced(path) as file:
        file.write(text.encode("utf-8", "replace"))


def read_rows(path: Path) -> tuple[QaRow, ...]:
    """Read the rows of a file written by `save_rows`.

    Raises:
        ConfigError: another suffix, or there is no such file.
        DataError: it holds something else.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: question sets are read from {' or '.join(SUFFIXES)}")
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
        raw_rows = _from_csv(text) if path.suffix.lower() == ".csv" else [json.loads(line) for line in _lines(text)]
        return tuple(_row(values) for values in raw_rows)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, csv.Error) as error:
        raise DataError(f"{path.name} is not a question set: {error}") from error


def _as_json_lines(rows: Iterable[QaRow]) -> str:
    return "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def _as_csv(rows: Iterable[QaRow]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(QUESTION_SET)
    writer.writerows(map(_cell, asdict(row).values()) for row in rows)
    return out.getvalue()


def _lines(text: str) -> Sequence[str]:
    # Not splitlines(): JSON may hold line separators of Unicode as they are.
    return [line for line in text.split("\n") if line.strip()]


def _from_csv(text: str) -> list[dict[str, Any]]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    return [
        {name: unquoted_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows
    ]


def _cell(value: Any) -> Any:
    return quoted_cell(value) if isinstance(value, str) else value


def _row(values: Mapping[str, Any]) -> QaRow:
    if not isinstance(values, Mapping) or set(values) != set(QUESTION_SET):
        raise ValueError(f"a row has the keys {', '.join(QUESTION_SET)}")
    return QaRow(**{name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: Any) -> Any:
    if name not in _WHOLE:
        return str(value)
    return None if value in {None, ""} else int(value)


@dataclass(frozen=True, slots=True)
class ShortChunk:
    """A chunk that gave fewer questions than it was asked for.

    Args:
        chunk: its id.
        document: the document's name.
        page: 1-based, or None.
        made: questions of it in the set.
        dropped: reason -> how many of its questions were dropped; `missing` are those that the model never wrote.
        problem: why nothing of it could be read (`refused`, `none`, `empty`, `truncated`), or what failed for
            good; "" where questions were read.
    """

    chunk: str
    document: str
    page: int | None
    made: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class QaReport:
    """Counts of a generation run: requested, generated, and dropped by reason.

    Args:
        run: the run's id.
        state: `finished`, `interrupted` or `broken`.
        reason: why it did not finish.
        chunks: how many chunks were to be asked about.
        per_chunk: questions asked for of each.
        made: questions in the set.
        dropped: reason -> how many, over all chunks.
        unread_checks: questions that are kept although the reply of their check could not be read.
        errors: chunks whose calls failed for good.
        not_reached: chunks that were not asked about because the run ended before.
        short: every chunk that gave fewer than `per_chunk`.
        from_journal: replies that had been paid for before.
        left_out: kind of boilerplate -> how many chunks were not asked about for it.
        whole_chunks: questions in the set whose source is the whole chunk, as the sentences that hold the answer were
            not found.
        kinds: kind -> how many questions of it are in the set, where several were asked for.
    """

    run: str
    state: str
    reason: str
    chunks: int
    per_chunk: int
    made: int
    dropped: Mapping[str, int]
    unread_checks: int
    errors: int
    not_reached: int
    short: tuple[ShortChunk, ...]
    from_journal: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    whole_chunks: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """Questions that were asked for in all."""
        return self.chunks * self.per_chunk

    def json_fields(self) -> dict[str, Any]:
        """With the number of questions that were asked for."""
        return {**field_values(self), "asked": self.asked}


@dataclass(frozen=True, slots=True)
class QaSet:
    """A question set and the report of its generation.

    Args:
        rows: in the order of the documents and chunks.
        report: what was asked for, and what was dropped.
    """

    rows: tuple[QaRow, ...]
    report: QaReport

    def save(self, path: Path | str) -> None:
        """Write it as .jsonl or .csv, whole or not at all; a file of that name is replaced.

        Raises:
            ConfigError: another suffix, or it cannot be written.
        """
        save_rows(self.rows, Path(path))


def collect(run: Run, *, kind: str, per_chunk: int) -> QaSet:
    """Collect the questions of a run, without those that an earlier one asks already, be it in other words.

    Args:
        run: over chunks; it may be unfinished.
        kind: of its rows: `generated` or `cloze`.
        per_chunk: how many were asked for.
    """
    tally = _ChunkTally(per_chunk)
    records = list(run.records())
    first = set(distinct_texts(written["question"] for record in records for written in _written(record)))
    source = run.manifest["samples"].get("source") or {}
    mixed = bool(source.get("kinds"))
    candidates: list[QaRow] = []
    sample_of_row: dict[str, str] = {}
    unlocated: set[str] = set()
    for record in records:
        for written in _written(record):
            if written["question"] in first:
                first.remove(written["question"])
                row = _row_of(record, written, kind)
                candidates.append(replace(row, group=row.kind) if mixed else row)
                sample_of_row[row.id] = record.sample.id
                if not all(_spans(written, row.kind)):
                    unlocated.add(row.id)
    # Cloze questions of sentences that are nearly alike differ in what was left out of them.
    asked_questions = [AskedQuestion(row.question, row.answer, row.chunk) for row in candidates if row.kind != "cloze"]
    repeated = repeated_questions(asked_questions)
    rows = [row for position, row in enumerate(candidates) if position not in repeated]
    distinct_counts, kept_counts = (Counter(sample_of_row[row.id] for row in each) for each in (candidates, rows))
    for record in records:
        tally.add(record, distinct_counts[record.sample.id], kept_counts[record.sample.id])
    report = QaReport(
        run=run.id,
        state=run.state,
        reason=run.reason,
        chunks=run.planned,
        per_chunk=per_chunk,
        made=len(rows),
        dropped=dict(sorted(tally.dropped.items(), key=lambda pair: (-pair[1], pair[0]))),
        unread_checks=tally.unparsed,
        errors=tally.errors,
        not_reached=run.planned - len(records),
        short=tuple(tally.short),
        from_journal=run.from_journal,
        left_out=dict(source.get("left_out", {})),
        whole_chunks=sum(row.id in unlocated for row in rows),
        kinds=dict(Counter(row.kind for row in rows)) if mixed else {},
    )
    return QaSet(tuple(rows), report)


class _ChunkTally:
    """Counts over the records of one run."""

    def __init__(self, per_chunk: int) -> None:
        self.dropped: Counter[str] = Counter()
        self.unparsed = self.errors = 0
        self.short: list[ShortChunk] = []
        self._per_chunk = per_chunk

    def add(self, record: Record, distinct: int, made: int) -> None:
        """Count one record, of whose questions `distinct` differ from all others, and `made` are in the set."""
        about = record.output.metadata if record.output is not None else {}
        dropped = Counter(about.get("dropped", {}))
        dropped["duplicate"] += len(_written(record)) - distinct
        dropped["near_duplicate"] += distinct - made
        self.dropped += dropped
        self.unparsed += about.get("unread_checks", 0)
        self.errors += record.failure is not None
        if made < self._per_chunk:
            self.short.append(self._short(record, made, {reason: count for reason, count in dropped.items() if count}))

    def _short(self, record: Record, made: int, dropped: dict[str, int]) -> ShortChunk:
        about = record.output.metadata if record.output is not None else {}
        problem = f"{record.failure.kind}: {record.failure.message}" if record.failure else about.get("kind", "")
        listed = made + sum(count for reason, count in dropped.items() if reason != "surplus")
        if not record.failure and listed < self._per_chunk:
            dropped["missing"] = self._per_chunk - listed
        metadata = record.sample.metadata
        return ShortChunk(record.sample.id, str(metadata["document"]), metadata["page"], made, dropped, problem)


def _written(record: Record) -> Sequence[Any]:
    return record.output.value if record.output is not None and record.failure is None else ()


def _spans(written: Mapping[str, Any], kind: str) -> Sequence[tuple[int, int] | None]:
    """The range of the answer in each chunk of the sample, None where it was not found; none without an answer."""
    if kind == UNANSWERABLE:
        return ()
    spans: Sequence[tuple[int, int] | None] = written.get("spans") or [written.get("span")]
    return spans


def _row_of(record: Record, written: Mapping[str, Any], kind: str) -> QaRow:
    sample = record.sample
    about = sample.metadata
    kind = about.get("kind", kind)
    spans = _spans(written, kind)
    row = QaRow(
        id=row_id(sample.id, written["question"]),
        question=written["question"],
        answer=written["answer"],
        document=about["document"],
        start=None,
        end=None,
        heading=about["heading"],
        group=sample.group,
        kind=kind,
        answerable=written["answerable"],
        cluster=about.get("of_chunk", sample.id),
    )
    if kind == UNANSWERABLE:
        return row
    if kind != TWO_CHUNKS:
        source = _source(sample.input, about, spans[0])
        places = {key: source[key] for key in ("page", "start", "end")}
        return replace(row, chunk=sample.id, source=source["text"], **places)
    texts = (sample.input[: about["second"] - len(BETWEEN)], sample.input[about["second"] :])
    sources = [_source(*part) for part in zip(texts, about["parts"], spans, strict=True)]
    return replace(row, chunk=sample.id, source=json.dumps(sources, ensure_ascii=False))


def _source(text: str, chunk: Mapping[str, Any], span: tuple[int, int] | None) -> dict[str, Any]:
    """Where in its document a source is, and its text.

    Args:
        text: of the chunk.
        chunk: its document, page, start and `page_breaks`, the offsets in it at which further pages begin.
        span: of the source in the chunk; None: all of it.
    """
    start, end = span or (0, len(text))
    page = chunk["page"]
    return {
        "document": chunk["document"],
        "page": None if page is None else page + sum(at <= start for at in chunk.get("page_breaks", ())),
        "start": chunk["start"] + start,
        "end": chunk["start"] + end,
        "text": text[start:end],
    }
