"""Rows of a question set: written as JSON lines or CSV and read back equal, never half a file."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, DataError

SUFFIXES: Final = (".jsonl", ".csv")
_WHOLE: Final = frozenset({"page", "start", "end"})


@dataclass(frozen=True, slots=True)
class QaRow:
    """One question, its answer, and the chunk that holds it.

    Args:
        id: 16 hexadecimal digits that stand for the chunk and the question.
        question: what is asked.
        answer: the reference answer.
        document: the document's name.
        page: 1-based page that the chunk begins on; None where the document has none.
        start: offset of the chunk's first character in the document's text.
        end: offset behind its last one.
        heading: the headings in force where the chunk begins, joined by " > ".
        source: the chunk's text.
        chunk: the chunk's id.
        group: the first of the headings, or the document's name.
        kind: `generated` by a model, or `cloze`.
        answerable: `yes` where another call said that the chunk alone answers it; "" where none was asked, or what it
            said could not be read.
    """

    id: str
    question: str
    answer: str
    document: str = ""
    page: int | None = None
    start: int = 0
    end: int = 0
    heading: str = ""
    source: str = ""
    chunk: str = ""
    group: str = ""
    kind: str = "generated"
    answerable: str = ""


_NAMES: Final = tuple(one.name for one in fields(QaRow))


def row_id(chunk: str, question: str) -> str:
    """The same for the same question about the same chunk, whenever and in whatever order it was made."""
    return blake2b(f"{chunk}\0{question}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def check_target(path: Path) -> None:
    """Refuse a file that could not be written, before anything is paid for.

    Raises:
        ConfigError: another suffix, or a folder that cannot be written to.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: question sets are saved as {' or '.join(SUFFIXES)}, not {path.suffix or 'that'}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path.parent} cannot be made: {error.strerror}") from error
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{path} cannot be written")


def save_rows(rows: Iterable[QaRow], path: Path) -> None:
    """Write a .jsonl or .csv file under another name beside it, and rename it when it is whole.

    Raises:
        ConfigError: another suffix, or it cannot be written.
    """
    check_target(path)
    text = _as_csv(rows) if path.suffix.lower() == ".csv" else _as_json_lines(rows)
    # One name a process: two that write the same set at once do not write into each other's file.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with unfinished.open("wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def read_rows(path: Path) -> tuple[QaRow, ...]:
    """The rows of a file that `save_rows` wrote.

    Raises:
        ConfigError: another suffix, or there is no such file.
        DataError: it holds something else.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: question sets are read from {' or '.join(SUFFIXES)}")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        given = _from_csv(text) if path.suffix.lower() == ".csv" else [json.loads(line) for line in _lines(text)]
        return tuple(_row(one) for one in given)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, csv.Error) as error:
        raise DataError(f"{path.name} is no question set: {error}") from error


def _as_json_lines(rows: Iterable[QaRow]) -> str:
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in rows)


def _as_csv(rows: Iterable[QaRow]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(_NAMES)
    writer.writerows([asdict(one)[name] for name in _NAMES] for one in rows)
    return out.getvalue()


def _lines(text: str) -> Sequence[str]:
    # Not splitlines(): JSON may hold line separators of Unicode as they are.
    return [line for line in text.split("\n") if line.strip()]


def _from_csv(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def _row(given: Mapping[str, Any]) -> QaRow:
    if not isinstance(given, Mapping) or set(given) != set(_NAMES):
        raise ValueError(f"a row has the keys {', '.join(_NAMES)}")
    return QaRow(**{name: _value(name, value) for name, value in given.items()})


def _value(name: str, value: Any) -> Any:
    if name not in _WHOLE:
        return str(value)
    return None if value in {None, ""} else int(value)
