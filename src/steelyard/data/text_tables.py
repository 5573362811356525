"""Reads text files of rows: CSV, TSV, JSON lines, JSON lists, SQL files with one statement per line, folders of BEIR.

All but JSON lists are streamed: each pass reads the file again. CSV cells are found by position, all others by key. A
line of SQL may name its database after a tab, as gold.sql and the predictions of other tools do.

A question set of BEIR is a folder with queries, passages and judgements in three files. They become rows of `id`,
`question` and `source`: the passages that a query should retrieve, each with its id and text.

Source: the shape of Spider's `dev_gold.sql` and of the predictions its evaluators read (T. Yu et al., "Spider: A
Large-Scale Human-Labeled Dataset for Complex and Cross-Domain Semantic Parsing and Text-to-SQL Task", EMNLP 2018);
N. Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models", NeurIPS
2021 (corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from steelyard.data.encoding import TextFile, convert_read_errors, examine_rows, examine_text
from steelyard.data.table import MAX_ROWS, Row, Table, cell_at, column_letter
from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.escaping import unquoted_cell
from steelyard.plain_json import distinct_keys, no_constant

MAX_LIST_BYTES: Final = 60_000_000
"""A JSON list is read into memory as a whole, with up to four bytes for each byte; larger data must be JSON lines."""
MAX_LIST_MARKS: Final = 2_000_000
"""Commas and opening brackets of a list, an upper bound of its values, each of which takes up to 200 bytes."""
MAX_DIGITS: Final = 4_000
"""Maximum digits of a whole number."""
MAX_KEYS: Final = 16_384
"""Maximum keys of an object: the number of columns of a sheet."""
MAX_COLUMNS: Final = 16_384
"""Maximum cells of a row: the number of columns of a sheet."""

_FINETUNE_KEYS: Final = frozenset({"queries", "corpus", "relevant_docs"})
"""Keys of an `EmbeddingQAFinetuneDataset` of llama-index-core."""
_PASSAGES: Final = ("context", "retrieval_context")
_GOLDENS: Final = (
    frozenset({"input", "actual_output", "expected_output", "context", "retrieval_context"}),
    frozenset({"input", "actual_output", "expected_output", "context", "source_file"}),  # before its version 2
    frozenset({"scenario", "turns", "expected_outcome", "context"}),
)
"""Columns of the goldens that DeepEval saves; in CSV and JSON lines it joins the passages of a row by bars."""
QUESTION_SET: Final = (
    "id", "question", "answer", "document", "page", "start", "end", "heading", "source", "chunk", "group", "kind",
    "answerable", "cluster",
)  # fmt: skip
"""Columns of the CSV that `generate` writes of what a model said, in cells that no spreadsheet takes for a formula."""
_FRAME_ADVICE: Final = (
    'it looks like a data frame of pandas that is written by columns; write it with to_json("rows.jsonl", '
    'orient="records", lines=True)'
)
_DELIMITERS: Final = (",", ";", "\t")
_SNIFFED: Final = 20_000
"""Number of characters of a line that are used to detect its delimiter."""
_HEAD: Final = 10
"""Number of lines in which it is looked for, and texts as JSON writes them."""
_NAMED_DELIMITER: Final = re.compile(r"sep=([,;\t|])")
BIRD_MARK: Final = "\t----- bird -----\t"
"""The separator of statement and database in the predictions that BIRD's evaluator reads."""

_WHOLE: Final = re.compile(r"-?[0-9]{1,9}")
_DATABASE: Final = re.compile(r"\w[\w.\-]*")
_NO_DATABASE: Final = re.compile(r"select|from|where|and|or|as|asc|desc|end|null|limit|distinct|by|\d+", re.IGNORECASE)


def read_json_lines(path: Path) -> Table:
    """Read a .jsonl file: one object per line; blank lines are skipped. A list of objects is read as a .json file is.

    Raises:
        DataError: the encoding is unknown; while iterating, a line is not valid JSON or not an object.
    """
    text = examine_rows(path)
    with convert_read_errors(path), path.open(encoding=text.encoding) as stream:
        if stream.read(_SNIFFED).lstrip().startswith("["):
            return read_json_list(path)
    if text.line_ends > MAX_ROWS:
        raise _too_long(path.name)
    return Table(path.name, lambda: _objects(text), "line", keyed=True, notes=text.notes)


def are_goldens(columns: Collection[Any]) -> bool:
    """Whether rows with these columns are goldens as DeepEval saves them."""
    return any(needed.issubset(columns) for needed in _GOLDENS)


def golden(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object of a row; passages that DeepEval joined by bars as a list."""
    if not are_goldens(entry.keys()):
        return entry
    return {**entry} | {key: text.split("|") for key in _PASSAGES if isinstance(text := entry.get(key), str) and text}


def _goldens(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows of a CSV file; passages that DeepEval joined by bars as lists."""
    columns: list[int] = []
    for position, row in enumerate(rows):
        cells: list[Any] = list(row.cells)
        if position == 0 and are_goldens(cells):
            columns = [cells.index(key) for key in _PASSAGES if key in cells]
        elif columns:
            cells = [cell.split("|") if column in columns and cell else cell for column, cell in enumerate(cells)]
        yield Row(row.number, cells)


def _too_long(name: str) -> DataError:
    return DataError(f"{name} has more than {MAX_ROWS:,} rows; at most so many are read. Split it into several files")


def read_json_list(path: Path) -> Table:
    """Read a .json file: a list of objects, or an object in which exactly one key holds such a list (`data`, ...).

    JSON lines, which pandas and `datasets` write under this name too, are read as such.

    Queries of an `EmbeddingQAFinetuneDataset` of LlamaIndex become rows with the passages that they should retrieve.

    Raises:
        DataError: it is larger than `MAX_LIST_BYTES`, not valid JSON, or not a list of objects.
    """
    text = examine_rows(path)
    if text.stamp[0] > MAX_LIST_BYTES:
        raise DataError(f"{path.name} has {text.stamp[0]:,} bytes; save so long a list as JSON lines (.jsonl)")
    content = text.read_all()
    first, _, rest = content.strip().partition("\n")
    if first.startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{"):
        return read_json_lines(path)
    if sum(map(content.count, ",[{")) > MAX_LIST_MARKS:
        raise DataError(f"{path.name} may hold more than {MAX_LIST_MARKS:,} values; save it as JSON lines (.jsonl)")
    value = _parse(content, path.name)
    value = _finetune_rows(path.name, value) if _is_finetune_set(value) else _rows_in(value)
    if not isinstance(value, list):
        kind = _kind(value) + (f"; {_FRAME_ADVICE}" if _is_frame(value) else "")
        names = [repr(key) for key, rows in value.items() if isinstance(rows, list)] if isinstance(value, dict) else []
        is_several = len(names) > 1 and not _is_frame(value)
        several = f" with the lists {', '.join(names[:5])}; save one of them as a file" if is_several else ""
        raise DataError(f"{path.name}: expected a list of objects, but it holds {kind}{several}")
    rows = []
    for number, entry in enumerate(value, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"{path.name} entry {number}: expected an object, but it is {_kind(entry)}")
        rows.append(Row(number, entry))
    return Table(path.name, lambda: iter(rows), "entry", keyed=True, notes=text.notes)


def _rows_in(value: Any) -> Any:
    """The list of rows in an object that holds metadata as well; anything else unchanged."""
    if not isinstance(value, dict):
        return value
    lists = [rows for rows in value.values() if isinstance(rows, list) and rows and isinstance(rows[0], dict)]
    return lists[0] if len(lists) == 1 else value


def _is_frame(value: Any) -> bool:
    """Whether a JSON value is a data frame as pandas writes it: by columns, which may be lists, by index, or split."""
    if not isinstance(value, dict) or not value:
        return False
    if {"columns", "data"} <= value.keys():
        return True
    columns = (
        dict(enumerate(entry))
        if isinstance(entry, list) and not any(isinstance(cell, dict) for cell in entry)
        else entry
        for entry in value.values()
    )
    keys = [column.keys() if isinstance(column, dict) else None for column in columns]
    # One object in another may be anything, but for the numbers of rows.
    is_frame = len(keys) > 1 or any(str(key).isdecimal() for key in (*value, *(keys[0] or ())))
    return is_frame and bool(keys[0]) and all(each == keys[0] for each in keys)


def _is_finetune_set(value: Any) -> bool:
    """Whether a JSON value is a set as `EmbeddingQAFinetuneDataset.save_json` writes it."""
    has_keys = isinstance(value, dict) and value.keys() >= _FINETUNE_KEYS
    return has_keys and all(isinstance(value[key], dict) for key in _FINETUNE_KEYS)


def _finetune_rows(name: str, value: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of such a set.

    Args:
        name: the file's, for messages.
        value: the set.

    Raises:
        DataError: a query has no judgement, or a judgement names a query or a passage that the set has not.
    """
    queries, corpus, relevant = (value[key] for key in ("queries", "corpus", "relevant_docs"))
    if unknown := next((query for query in relevant if query not in queries), None):
        near = did_you_mean(unknown, queries)
        raise DataError(
            f"{name} relevant_docs: {unknown!r:.60} is no id of queries{near}; add it to queries or delete it"
        )
    rows = []
    for query, text in queries.items():
        wanted = relevant.get(query)
        if not isinstance(wanted, list):
            raise DataError(f"{name} relevant_docs: nothing is listed for the query {query!r:.60}; list its ids, or []")
        for passage in wanted:
            if passage not in corpus:
                near = did_you_mean(str(passage), corpus)
                raise DataError(f"{name} relevant_docs: {query!r:.60} names {passage!r:.60}, not an id of corpus{near}")
        rows.append(judged_row(query, text, {passage: corpus[passage] for passage in wanted}))
    return rows


def judged_row(ident: str, question: Any, passages: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a query and the passages, id -> text, that it should retrieve."""
    sources = [{"id": passage, "text": text} for passage, text in passages.items()]
    return {"id": ident, "question": question, "source": sources}


def _objects(text: TextFile) -> Iterator[Row]:
    for number, line in enumerate(text.lines(newline="\n"), start=1):
        if line.isspace():
            continue
        location = f"{text.path.name}:{number}"
        entry = _parse(line, location)
        if not isinstance(entry, dict):
            raise DataError(f"{location}: expected an object, but it is {_kind(entry)}")
        yield Row(number, golden(entry))


def _parse(text: str, location: str) -> Any:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_few_distinct_keys,
            parse_constant=no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
        if "\\u" in text:
            _refuse_broken_characters(value)
    except json.JSONDecodeError as error:
        line = f" (line {error.lineno})" if error.lineno > 1 else ""
        raise DataError(f"{location}: {error.msg}{line} at column {error.colno}") from error
    except RecursionError as error:
        raise DataError(f"{location}: nested too deeply") from error
    except ValueError as error:
        raise DataError(f"{location}: {error}") from error
    return value


def _few_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise ValueError(f"an object of {len(pairs):,} keys; at most {MAX_KEYS:,} are read")
    return distinct_keys(pairs)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large; write it as a text")
    return number


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; write it as a text")
    return int(digits)


def _refuse_broken_characters(value: Any) -> None:
    """Reject escapes of characters that no text may contain: half a surrogate pair, or NUL."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = ord(error.object[error.start])
        raise ValueError(f"\\u{half:04x} is half a character (a lone surrogate)") from error
    if "\\u0000" in text.replace("\\\\", ""):
        raise ValueError("a NUL character (\\u0000)")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def read_delimited(path: Path) -> Table:
    """Read a .csv or .tsv file; a .csv is split at commas, unless ; or tab gives more cells in its first ten lines.

    Raises:
        DataError: the encoding is unknown or a line is too long; while iterating, a quote is not closed.
    """
    text = examine_rows(path)
    delimiter = delimiter_of(text)
    # A quoted cell may hold line ends, so the rows are counted, once, where there are more lines.
    if text.line_ends > MAX_ROWS and any(islice(_cells_of_lines(text, delimiter), MAX_ROWS, None)):
        raise _too_long(path.name)
    notes = list(text.notes)
    if delimiter != "," and path.suffix.lower() != ".tsv":
        notes.append(f"{path.name}: cells are separated by {'tabs' if delimiter == chr(9) else delimiter}")
    first = next(_cells_of_lines(text, delimiter), Row(1, []))
    if tuple(first.cells) == QUESTION_SET:
        return Table(path.name, lambda: map(_unquoted, _cells_of_lines(text, delimiter)), "line", notes=tuple(notes))
    columns = _json_columns(lambda: _cells_of_lines(text, delimiter))
    if columns:
        letters = ", ".join(map(column_letter, columns))
        notes.append(f"{path.name}: each text in {letters} is written as JSON, and read without its quotes")

    def rows() -> Iterator[Row]:
        for number, row in enumerate(_cells_of_lines(text, delimiter)):
            found = ((at, _json_text(cell_at(row.cells, at))) for at in columns if number)
            texts = {at: plain for at, plain in found if plain is not None}
            yield Row(row.number, [texts.get(at, cell) for at, cell in enumerate(row.cells)]) if texts else row

    return Table(path.name, lambda: _goldens(rows()), "line", notes=tuple(notes))


def _unquoted(row: Row) -> Row:
    return Row(row.number, [*map(unquoted_cell, row.cells)])


def _json_columns(rows: Callable[[], Iterator[Row]]) -> list[int]:
    """The columns in which each cell that is not blank is a text as JSON writes it, as in exports of Langfuse."""
    of_first = [row.cells for row in islice(rows(), 1, _HEAD)]
    columns = {at for cells in of_first for at, cell in enumerate(cells) if _json_text(cell) is not None}
    for row in islice(rows(), 1, None) if columns else ():
        columns -= {at for at in columns if (cell := cell_at(row.cells, at)) and _json_text(cell) is None}
    return sorted(columns)


def _json_text(cell: Any) -> str | None:
    if not cell or cell[0] != '"' or cell[-1] != '"':
        return None
    try:
        text = json.loads(cell)
    except ValueError:
        return None
    return text if isinstance(text, str) else None


def delimiter_of(text: TextFile) -> str:
    """The delimiter of a .csv or .tsv file."""
    return "\t" if text.path.suffix.lower() == ".tsv" else _sniff(text)


def _cells_of_lines(text: TextFile, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(text.lines(), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{text.path.name}:{line}: {_explain(str(error))}") from error
        if len(cells) > MAX_COLUMNS:
            location = f"{text.path.name}:{line}"
            raise DataError(f"{location}: a row of {len(cells):,} cells; at most {MAX_COLUMNS:,} are read")
        if line > 1 or cells != ["sep=", ""]:
            yield Row(line, cells)


def _explain(message: str) -> str:
    if "unexpected end of data" in message:
        return "a quote opens here and is never closed"
    if "field larger" in message:
        return f"a cell is longer than {csv.field_size_limit():,} characters; is a quote never closed?"
    if "expected after" in message:
        return "there is a quote inside a quoted cell; write it twice"
    return message


def _sniff(text: TextFile) -> str:
    """The delimiter that splits the first ten lines into the most cells; a comma if several give the same number.

    A bar, which may stand between options, only where no other splits them. A first line `sep=;`, which Excel reads,
    names it.
    """
    lines = [line[:_SNIFFED] for line in islice(text.lines(), _HEAD)]
    if lines and (named := _NAMED_DELIMITER.fullmatch(lines[0].rstrip("\r\n"))):
        return named[1]
    widths = {delimiter: _width(lines, delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: widths[delimiter])
    return "|" if widths[best] < 2 <= _width(lines, "|") else best


def _width(lines: list[str], delimiter: str) -> float:
    try:
        return median([len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells] or [0])
    except csv.Error:
        return 0  # reading the rows reports the error with its line


class SqlLine(NamedTuple):
    """One statement, and the database that its line names; "" if it names none."""

    sql: str
    db_id: str


def read_sql_lines(path: Path) -> Table:
    """Read a file with one statement per line; each row has the keys `sql` and `db_id`, blank lines are blank rows.

    Raises:
        ConfigError: there is no such file.
        DataError: the encoding is unknown.
    """
    text = examine_text(path)
    if text.line_ends > MAX_ROWS:
        raise _too_long(path.name)
    return Table(path.name, lambda: _statements(text), "line", keyed=True)


def split_line(line: str) -> SqlLine:
    r"""The statement of a line, and the database after its last tab if the text there is a single name.

    >>> split_line("SELECT a FROM t\tconcert_singer\n"), split_line("SELECT a\tFROM t")
    (SqlLine(sql='SELECT a FROM t', db_id='concert_singer'), SqlLine(sql='SELECT a\tFROM t', db_id=''))
    >>> split_line("SELECT 1\t----- bird -----\tfinancial")
    SqlLine(sql='SELECT 1', db_id='financial')
    """
    if BIRD_MARK in line:
        sql, _, name = line.rpartition(BIRD_MARK)
        return SqlLine(sql.strip(), name.strip())
    sql, tab, name = line.rstrip("\r\n ").rpartition("\t")
    if tab and _DATABASE.fullmatch(name.strip()) and not _NO_DATABASE.fullmatch(name.strip()):
        return SqlLine(sql.strip(), name.strip())
    return SqlLine(line.strip(), "")


def _statements(text: TextFile) -> Iterator[Row]:
    for number, line in enumerate(text.lines(), start=1):
        yield Row(number, split_line(line)._asdict())


_CORPUS, _QUERIES, _QRELS = "corpus.jsonl", "queries.jsonl", "qrels"


def is_beir(folder: Path) -> bool:
    """Whether a folder is a BEIR dataset."""
    return (folder / _CORPUS).is_file() and (folder / _QUERIES).is_file() and (folder / _QRELS).is_dir()


def read_beir(folder: Path, split: str = "") -> Table:
    """Read the judged queries of a BEIR dataset; passages with a score of 0 are not among their sources.

    Args:
        folder: with corpus.jsonl, queries.jsonl and qrels; of the corpus the judged passages are kept in memory.
        split: the file under qrels; "" takes `test`, or the only one.

    Raises:
        ConfigError: there is no such split.
        DataError: a file cannot be read, a judgement names a query or passage that there is not, a pair has two scores,
            or two lines have one id.
    """
    qrels = _qrels(folder, split)
    judged: dict[str, dict[str, tuple[int, str]]] = {}
    for row in qrels:
        location, cells = qrels.location(row.number), [str(cell_at(row.cells, at) or "").strip() for at in range(3)]
        if cells == ["query-id", "corpus-id", "score"]:
            continue
        query, passage, score = cells
        if not _WHOLE.fullmatch(score):
            raise DataError(f"{location}: the score is {score[:40]!r}, expected a whole number in the third column")
        before = judged.setdefault(query, {}).setdefault(passage, (int(score), location))
        if before[0] != int(score):
            message = f"{query[:60]!r} and {passage[:60]!r} have the score {score[:9]}, and {before[0]} in {before[1]}"
            raise DataError(f"{location}: {message}; delete one of both lines")
    relevant = {
        query: {passage: location for passage, (score, location) in scored.items() if score > 0}
        for query, scored in judged.items()
    }
    passages = _texts(folder / _CORPUS, {passage for found in relevant.values() for passage in found})
    queries = _texts(folder / _QUERIES, judged.keys())
    dangling = [
        (location, *((query, _QUERIES) if query not in queries else (passage, _CORPUS)))
        for query, scored in judged.items()
        for passage, (_, location) in scored.items()
        if query not in queries or (passage in relevant[query] and passage not in passages)
    ]
    if dangling:
        location, missing, file = dangling[0]
        of = f" (the first of {len(dangling)} such lines)" if len(dangling) > 1 else ""
        raise DataError(f"{location}: {missing[:60]!r} is no _id of {file}: add it to {file} or delete the line{of}")
    highest = max((score for scored in judged.values() for score, _ in scored.values()), default=0)
    notes = (f"{qrels.name}: scores of 1 to {highest} count alike, as relevant",) if highest > 1 else ()
    rows = [
        Row(number, judged_row(query, text, {passage: passages[passage] for passage in relevant[query]}))
        for number, (query, text) in enumerate(queries.items(), start=1)
    ]
    return Table(folder.name, lambda: iter(rows), "entry", keyed=True, notes=notes)


def _qrels(folder: Path, split: str) -> Table:
    splits = sorted(path.stem for path in (folder / _QRELS).glob("*.tsv"))
    chosen = split or ("test" if "test" in splits else splits[0] if len(splits) == 1 else "")
    if chosen not in splits:
        what = f"no split {split!r}{did_you_mean(split, splits)}" if split else f"several splits: {', '.join(splits)}"
        raise ConfigError(f"{folder.name}/{_QRELS} has {what}; name one under split")
    return read_delimited(folder / _QRELS / f"{chosen}.tsv")


def _texts(path: Path, wanted: Collection[str]) -> dict[str, str]:
    """Id -> text, with the title above it, of the wanted lines of a file."""
    table = read_json_lines(path)
    texts: dict[str, str] = {}
    for row in table:
        ident, text, title = (cell_at(row.cells, key) for key in ("_id", "text", "title"))
        if not isinstance(ident, str) or not isinstance(text, str):
            raise DataError(f"{table.location(row.number)}: expected _id and text, both texts")
        if ident in texts:
            raise DataError(
                f"{table.location(row.number)}: an earlier line has the _id {ident[:60]!r}; give each its own"
            )
        if ident in wanted:
            texts[ident] = f"{title}\n{text}" if isinstance(title, str) and title.strip() else text
    return texts
