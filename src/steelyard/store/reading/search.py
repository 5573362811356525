"""Full-text search in the records of a run, by an index that is made when a large run ends.

Words are runs of letters and digits without regard to case; Chinese and Japanese, which have no blanks between words,
are cut into pairs of neighbouring characters. A text is then a line of words with blanks between, and a search is a
few such lines, each of which has to occur in it: an index of words and a plain scan find the same records.

The index of a run in a SQLite store is a file of its own in the folder `NAME-search` beside the store: it goes when the
run is deleted, and may be deleted at any time. On PostgreSQL it is in the table `search_words` of the store's schema,
which is made when the first large run ends, where the extension pg_trgm is there, and may be dropped at any time: a
line of words per record with an index of trigrams, and a row at place -1 with the scoring version and the number of
records of a run's lines. A run without an index is scanned, up to a number of records, and the answer says so.
"""

# Why it is so, and what was rejected: docs/decisions/store-pages-and-search.md

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from steelyard.errors import ConfigError, SteelyardError, StoreError
from steelyard.files import open_private
from steelyard.normal_form import nfkc
from steelyard.store.database.connection import Connection
from steelyard.store.database.schema import SEARCH_WORDS
from steelyard.store.labels import by_record, current_labels, label_source
from steelyard.store.reading.page_query import number_of_place
from steelyard.store.reading.run_reading import all_records
from steelyard.store.stored_run import StoredRun
from steelyard.types import Record

_UNSPACED: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""Han characters, kana and the iteration marks between them."""
_RUN: Final = re.compile(rf"([{_UNSPACED}]+)|([^\W{_UNSPACED}]+)")
_ASCII_WORD: Final = re.compile(r"\w+", re.ASCII)
_TERM: Final = re.compile(r'"([^"]*)"?|(\S+)')
MOST_CHARACTERS: Final = 100_000
"""Characters of one record that are indexed; text after them is not found."""
_MOST_ASKED: Final = 1_000
_MOST_SCANNED: Final = 20_000
"""Records that a search without an index goes through: 0.8 s of CPU."""
_LEAST_INDEXED: Final = _MOST_SCANNED
"""Records up to which a run has no index: it takes as many bytes as the run and a tenth of its CPU."""
_BUSY_S: Final = 0.5
"""How long a search waits for an index that is just being made; then it scans."""
_INDEXED: Final = "CREATE TABLE indexed (run TEXT NOT NULL, scoring_version INTEGER NOT NULL, done INTEGER NOT NULL)"
_WORDS: Final = (
    "CREATE VIRTUAL TABLE record USING fts5(words, content='', columnsize=0, tokenize=\"ascii tokenchars '_'\")"
)
_OBJECT: Final = re.compile(
    rf"{re.escape(_INDEXED)}|{re.escape(_WORDS)}"
    # Those in which FTS5 keeps a table: names, types and a key.
    r"|CREATE TABLE 'record_[a-z]+'\([a-z]+(?: INTEGER| BLOB)?(?: PRIMARY KEY)?(?:, ?[a-z]+(?: BLOB)?)*"
    r"(?:, PRIMARY KEY\([a-z]+(?:, [a-z]+)*\))?\)(?: WITHOUT ROWID)?"
)
"""What the schema of an index holds. One that came with a stranger's store may hold views that compute for ever."""
_EXTENSION: Final = """SELECT n.nspname FROM pg_catalog.pg_extension e
    JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'"""
_PLACES: Final = """SELECT s.id, r.no, r.repeat FROM record r JOIN sample s ON s.num = r.sample
    WHERE r.run = :run AND s.id IN (SELECT sample FROM event WHERE topic = 'label' AND subject = :source)"""
_MARK: Final = -1
_LOCK: Final = 6021023
"""Two processes must not make the table at once."""
_TOGETHER: Final = 500


def record_words(run: StoredRun) -> Iterator[tuple[int, str]]:
    """The place, as `number_of_place` has it, and the words of every record of a run, in order."""
    return ((number_of_place((no, record.repeat)), words_of_record(record)) for no, record in all_records(run))


def words_of_record(record: Record) -> str:
    """The words of a record's texts: its id, sample, output, failure, and the reasons of its scores.

    Args:
        record: of a run; texts behind the first 100,000 characters are left out.
    """
    sample = record.sample
    parts: list[Any] = [sample.id, sample.input, sample.reference, sample.choices]
    if record.output is not None:
        parts.append(record.output.value)
    parts += [score.reason for score in record.scores]
    if record.failure is not None:
        parts.append(record.failure.message)
    parts += [sample.contexts, record.output.contexts if record.output is not None else ()]
    texts: list[str] = []
    _collect_texts(parts, texts)
    return words(" \n ".join(texts)[:MOST_CHARACTERS])


def _collect_texts(value: Any, texts: list[str]) -> None:
    """Add the texts in a value of any shape, in order, without the names of keys."""
    # Not a generator: one for each level of each record took a third of the time of building an index.
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect_texts(item, texts)
    elif isinstance(value, list | tuple):
        for item in value:
            if type(item) is str:
                texts.append(item)
            else:
                _collect_texts(item, texts)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        texts.append(str(value))


def words(text: str) -> str:
    """A text as its words with blanks between.

    >>> words("The Tax-rate of 2024"), words("乾为天 A")
    ('the tax rate of 2024', '乾为 为天 天 a')
    """
    # The same in a third of the time: of ASCII the rules below leave nothing but words in small letters.
    return " ".join(_ASCII_WORD.findall(text.lower()) if text.isascii() else _cut(text, at_end=True))


def _cut(text: str, *, at_end: bool) -> Iterator[str]:
    """The words; the last character of a run without blanks is a word too, except at the end of a search."""
    runs = list(_RUN.finditer(nfkc(text).casefold()))
    for run in runs:
        unspaced = run[1]
        if unspaced is None:
            yield run[0]
            continue
        yield from (unspaced[at : at + 2] for at in range(len(unspaced) - 1))
        if at_end or run is not runs[-1] or len(unspaced) == 1:
            yield unspaced[-1]


def search_terms(text: str) -> tuple[str, ...]:
    """The lines of words that a record must have, one for each word or text in quotation marks.

    A single character of a language without blanks ends with `*`: it may be the first of a pair.

    Args:
        text: what was typed, at most 1,000 characters.

    Raises:
        ConfigError: there is nothing to search for.

    >>> search_terms('Tax "capital of France" 乾为天'), search_terms("乾")
    (('tax', 'capital of france', '乾为 为天'), ('乾*',))
    """
    if len(text) > _MOST_ASKED:
        raise ConfigError(f"a search has at most {_MOST_ASKED:,} characters, not {len(text):,}")
    terms = (
        " ".join(_cut(match[1] if match[1] is not None else match[2], at_end=False)) for match in _TERM.finditer(text)
    )
    unique = tuple(dict.fromkeys(f"{term}*" if _is_open(term) else term for term in terms if term))
    if not unique:
        raise ConfigError(f"there is nothing to search for in {text!r}: a search needs a letter or a digit")
    return unique


def _is_open(term: str) -> bool:
    last_word = term.rpartition(" ")[2]
    run = _RUN.fullmatch(last_word)
    return len(last_word) == 1 and run is not None and run[1] is not None


def has_terms(line: str, terms: tuple[str, ...]) -> bool:
    """Whether a line of words has all terms.

    >>> has_terms(words("乾为天"), search_terms("天")), has_terms(words("taxi"), search_terms("tax"))
    (True, False)
    """
    spaced = f" {line} "
    return all(f" {term[:-1]}" in spaced if term.endswith("*") else f" {term} " in spaced for term in terms)


class SearchMatches(NamedTuple):
    """Where a search found something.

    Args:
        places: of the records, as the numbers of `number_of_place`, in order.
        note: what the search did not look at, as a sentence; "" if it looked at everything.
    """

    places: Sequence[int]
    note: str = ""


def search_run(run: StoredRun, text: str | SearchMatches) -> SearchMatches:
    """The places of the records that have all words of a text, in their own texts or in labels and notes of people.

    Args:
        run: whose records.
        text: words, or several in quotation marks that have to follow each other; or what a search has found.

    Raises:
        ConfigError: there is nothing to search for.
    """
    if isinstance(text, SearchMatches):
        return text
    terms = search_terms(text)
    store = run.store.path
    places = _find_in_file(run, store, terms) if isinstance(store, Path) else find_on_server(run, terms)
    found = _scan(run, terms) if places is None else SearchMatches(places)
    if labelled := _labelled(run, terms):
        return found._replace(places=sorted({*found.places, *labelled}))
    return found


def _labelled(run: StoredRun, terms: tuple[str, ...]) -> list[int]:
    """Places of the records whose labels and notes have all terms; no index has them, as they change at any time."""
    with run.store.reading(run.id) as connection:
        source = label_source(connection, run)
        labels = by_record(current_labels(connection, source))
        texts = {record: words(" ".join(str(label.value) for label in given)) for record, given in labels.items()}
        records = {record for record, line in texts.items() if has_terms(line, terms)}
        # One query for all of them: each goes through all records of the run.
        rows = connection.execute(_PLACES, {"run": run.num, "source": source}) if records else ()
        return [number_of_place((row.no, row.repeat)) for row in rows if (row.id, row.repeat) in records]


def index_run(run: StoredRun) -> None:
    """Make the index of a finished run of more than 20,000 records; searches scan it where none can be written.

    Args:
        run: that has just ended, was scored again, or has lost its index.
    """
    if run.state != "finished" or run.done <= _LEAST_INDEXED:
        return
    store = run.store.path
    with contextlib.suppress(SteelyardError, sqlite3.Error, OSError):
        if isinstance(store, Path):
            _index_in_file(run, store)
        else:
            index_on_server(run)


def delete_index(store: Path, runs: Iterable[int]) -> None:
    """Delete the index of some runs.

    Args:
        store: the file of the store.
        runs: their numbers.

    Raises:
        StoreError: a file cannot be deleted.
    """
    for run in runs:
        file = _index_file(store, run)
        try:
            if not file.parent.is_symlink():
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{file} still holds texts of a deleted run: {error.strerror}; delete this file"
            ) from error


def _scan(run: StoredRun, terms: tuple[str, ...]) -> SearchMatches:
    records = islice(record_words(run), _MOST_SCANNED)
    places = [place for place, words in records if has_terms(words, terms)]
    if run.done <= _MOST_SCANNED:
        return SearchMatches(places)
    why = "it has no search index" if run.state == "finished" else "it is not finished"
    note = f"only the first {_MOST_SCANNED:,} of {run.done:,} records of this run were searched, as {why}"
    return SearchMatches(places, note)


def _index_file(store: Path, run: int) -> Path:
    return store.with_name(f"{store.name}-search") / f"{run}.db"


def _is_of(index: sqlite3.Connection, run: StoredRun) -> bool:
    """Whether a file is the index of a run as it is now, and holds nothing else."""
    texts = index.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if not all(_OBJECT.fullmatch(" ".join(str(text).split())) for (text,) in texts):
        return False
    # With the id: the number of a deleted run may be given to another one.
    return index.execute("SELECT * FROM indexed").fetchall() == [(run.id, run.scoring_version, run.done)]


def _find_in_file(run: StoredRun, store: Path, terms: tuple[str, ...]) -> list[int] | None:
    """Places of the records with all terms; None where the run has no index."""
    file = _index_file(store, run.num)
    if not file.is_file():
        return None
    # What was typed is in quotation marks, so that no letter of it is taken for FTS5's own syntax.
    match = " AND ".join(f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"' for term in terms)
    query = "SELECT rowid FROM record WHERE record MATCH ? ORDER BY rowid"
    address = f"{file.resolve().as_uri()}?mode=ro"
    with (
        contextlib.suppress(sqlite3.Error),  # it is damaged, or being made
        contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as index,
    ):
        index.execute("PRAGMA trusted_schema = OFF")
        return [number for (number,) in index.execute(query, (match,))] if _is_of(index, run) else None
    return None


def _index_in_file(run: StoredRun, store: Path) -> None:
    file = _index_file(store, run.num)
    if file.parent.is_symlink():
        return  # a link that came with a store would have us write elsewhere
    file.parent.mkdir(0o700, exist_ok=True)
    mode = store.stat().st_mode & 0o777
    file.parent.chmod(mode | (mode & 0o444) >> 2)  # whoever can read the store, as it holds the same texts
    file.unlink(missing_ok=True)
    open_private(file, "xb").close()
    shutil.copymode(store, file)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as index:
        for statement in ("BEGIN", _INDEXED, _WORDS):
            index.execute(statement)
        index.executemany("INSERT INTO record (rowid, words) VALUES (?, ?)", record_words(run))
        index.execute("INSERT INTO indexed VALUES (?, ?, ?)", (run.id, run.scoring_version, run.done))
        index.execute("COMMIT")


def find_on_server(run: StoredRun, terms: tuple[str, ...]) -> list[int] | None:
    """Places of the records of a run that have all terms.

    Args:
        run: in a PostgreSQL store.
        terms: as `search_terms` gives them.

    Returns:
        None where the run has no index, or this role may not read it.
    """
    with contextlib.suppress(StoreError), run.store.reading(run.id) as connection:
        if _is_indexed(connection, run):
            values = {f"term_{at}": _pattern(term) for at, term in enumerate(terms)}
            likes = " AND ".join(f"words LIKE :{name}" for name in values)
            query = f"SELECT place FROM {SEARCH_WORDS} WHERE run = :run AND place >= 0 AND {likes} ORDER BY place"
            return list(connection.execute(query, {"run": run.num, **values}).scalars())
    return None  # a scan finds the same, or says what is wrong with the store


def _is_indexed(connection: Connection, run: StoredRun) -> bool:
    if not connection.has_table(SEARCH_WORDS):
        return False
    query = f"SELECT words FROM {SEARCH_WORDS} WHERE run = :run AND place = {_MARK}"
    return bool(connection.execute(query, {"run": run.num}).scalar() == _mark_of(run))


def _mark_of(run: StoredRun) -> str:
    # With the id: a number of a deleted run may be given to another one.
    return f"{run.id} {run.scoring_version} {run.done}"


def _pattern(term: str) -> str:
    r"""The LIKE pattern of lines of words that have a term.

    >>> _pattern("snake_case"), _pattern("乾*")
    ('% snake\\_case %', '% 乾%')
    """
    literal = term.removesuffix("*").replace("_", r"\_")
    return f"% {literal}%" if term.endswith("*") else f"% {literal} %"


def _insert(connection: Connection, run: StoredRun, words: Sequence[tuple[int, str]]) -> None:
    places, texts = zip(*words, strict=True)
    values = {"run": run.num, "places": list(places), "texts": list(texts)}
    columns = "unnest(:places::bigint[], :texts::text[])"
    connection.execute(f"INSERT INTO {SEARCH_WORDS} (run, place, words) SELECT :run, * FROM {columns}", values)


def index_on_server(run: StoredRun) -> None:
    """Make the index of a finished run where the extension is there.

    Args:
        run: in a PostgreSQL store.

    Raises:
        StoreError: this role may not make the table.
    """
    with run.store.changing() as connection:
        namespace = connection.execute(_EXTENSION).scalar()
        if namespace is None:
            return
        connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        if not connection.has_table(SEARCH_WORDS):
            columns = "run INTEGER, place BIGINT, words TEXT NOT NULL, PRIMARY KEY (run, place)"
            connection.execute(f"CREATE TABLE {SEARCH_WORDS} ({columns})")
            trigrams = f'gin (words "{namespace}".gin_trgm_ops)'
            connection.execute(f"CREATE INDEX {SEARCH_WORDS}_trigrams ON {SEARCH_WORDS} USING {trigrams}")
        connection.execute(f"DELETE FROM {SEARCH_WORDS} WHERE run = :run", {"run": run.num})
        rows = ((place, f" {words} ") for place, words in record_words(run))
        while portion := list(islice(rows, _TOGETHER)):
            _insert(connection, run, portion)
        _insert(connection, run, [(_MARK, _mark_of(run))])
        connection.execute(f"ANALYZE {SEARCH_WORDS}")  # or the first search is planned for an empty table
