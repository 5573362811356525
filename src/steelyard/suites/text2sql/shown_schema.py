"""How prompts show the schema of a sample's database: which tables, in which form, with which rows.

Names are the strongest sign of what a question is about, so tables are found by the words of their names, columns and
comments (BM25), or by the vectors of these. A table that only joins two others is rarely named in a question: each
counts at least half as much as the best of those that foreign keys link it to.

Rows below each table follow N. Rajkumar, R. Li, D. Bahdanau, "Evaluating the Text-to-SQL Capabilities of Large Language
Models", 2022 (arXiv 2204.00498), whose prompts show three.
"""

# Why it is so, and what was rejected: docs/decisions/suites-sql-prompts.md

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal, cast

from steelyard.constraints import Within
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import cell_text
from steelyard.models.base import Model
from steelyard.models.embeddings import Embeddings, embed
from steelyard.prompts.conversation import search_text
from steelyard.prompts.sample_values import SampleView
from steelyard.retrieval.bm25 import BM25
from steelyard.retrieval.vectors import unit_rows
from steelyard.sql.layout import quoted
from steelyard.sql.results import Database, ResultTable, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import SchemaTable, described_table, table_statements
from steelyard.sql.wording import show_cell
from steelyard.targets.retrieval import check_embeddings
from steelyard.types import Asks, Sample

_CELL: Final = 60
"""Characters of a cell that are shown."""
_ROWS_S: Final = 5.0
"""Seconds to read the sample rows of one table; a view that takes longer is shown without."""
_CACHED: Final = 256
_NAME_PART: Final = re.compile(r"[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[A-Z][^\W\d_A-Z]*|\d+")

_LATIN: Final = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏ]{3,}")

RowsOfTables = Mapping[str, ResultTable]
"""Sample rows of each table, by its name in small letters."""
_Part = tuple[SchemaTable | None, str]


@dataclass(frozen=True, slots=True)
class SchemaPrompt:
    """How `{{metadata.schema}}` in a prompt shows the schema of a sample's database.

    Args:
        form: `create` is the CREATE statements as they are written; `compact` a line for each table, with types,
            primary keys (`*`), foreign keys (`->`) and comments.
        tables: the most tables: those most alike the question, in the order of the schema. 0 is all.
        embeddings: a model that finds them by the vectors of question and tables, in place of their words.
        rows: sample rows of each table, which are read from `databases` before the run.
    """

    form: Literal["create", "compact"] = "create"
    tables: Annotated[int, Within(0)] = 0
    embeddings: Model | None = None
    rows: Annotated[int, Within(0, 20)] = 0

    def check(self) -> None:
        """Refuse a model that finds nothing, or embeds nothing.

        Raises:
            ConfigError: which.
        """
        if self.embeddings is not None:
            if not self.tables:
                raise ConfigError("schema: embeddings find the tables that are shown; say how many, tables: 12")
            check_embeddings(self.embeddings)


@dataclass(frozen=True, slots=True)
class SchemaForTarget:
    """The view of samples as a target holds it; its manifest describes the rows by their digest.

    Args:
        schema: the settings.
        digest: of the sample rows.
        view: shows the schema.
    """

    schema: SchemaPrompt
    digest: str
    view: SampleView

    async def __call__(self, sample: Sample, ask: Asks) -> tuple[Sample, Mapping[str, Any]]:
        """The sample with the schema that its prompt shows."""
        return await self.view(sample, ask)


@dataclass(frozen=True, slots=True)
class ShownSchema:
    """Replaces the schema of samples by what a prompt shows.

    Args:
        schema: the settings.
        rows: `db_id` -> sample rows.
    """

    schema: SchemaPrompt
    rows: Mapping[str, RowsOfTables]

    async def view(self, sample: Sample, ask: Asks) -> tuple[Sample, Mapping[str, Any]]:
        """The sample with the schema that its prompt shows; `schema_tables` names the tables where not all are shown.

        Raises:
            ModelError: a request for vectors failed for good.
        """
        ddl = sample.metadata.get("schema")
        if not isinstance(ddl, str) or not ddl.strip():
            return sample, {}
        parts = _parts_of(ddl, str(sample.metadata.get("dialect") or "sqlite").lower())
        tables = [table for table, _ in parts if table is not None]
        chosen = set(range(len(tables)))
        if 0 < self.schema.tables < len(tables):
            chosen = set(await self._nearest(search_text(sample.input), ddl, tables, ask))
        elif self.schema.form == "create" and not self.schema.rows:
            return sample, {}
        names = {tables[at].name for at in chosen}
        rows = self.rows.get(str(sample.metadata.get("db_id") or ""), {})
        shown = "\n".join(self._shown(parts, names, rows))
        listed = {"schema_tables": [table.name for table in tables if table.name in names]}
        cut = listed if len(chosen) < len(tables) else {}
        return replace(sample, metadata={**sample.metadata, "schema": shown}), cut

    async def _nearest(self, question: str, ddl: str, tables: Sequence[SchemaTable], ask: Asks) -> list[int]:
        """Positions of the tables that are most alike the question."""
        if self.schema.embeddings is None:
            texts = tuple(singular(_words_of(table)) for table in tables)
            scores = _index_of(ddl, texts).search(singular(question), len(tables))
            own = dict(scores)
        else:
            own = await self._cosines(question, list(map(_words_of, tables)), ask)
        # Which tables foreign keys link, in both directions.
        positions = {table.name.casefold(): at for at, table in enumerate(tables)}
        neighbours: dict[int, set[int]] = {at: set() for at in range(len(tables))}
        for at, table in enumerate(tables):
            for key in table.foreign_keys:
                to = positions.get(key.to_table.casefold())
                if to is not None and to != at:
                    neighbours[at].add(to)
                    neighbours[to].add(at)
        best = {
            at: max([own.get(at, 0.0), *((own.get(at, 0.0) + own.get(near, 0.0)) / 2 for near in neighbours[at])])
            for at in range(len(tables))
        }
        return sorted(best, key=lambda at: (-best[at], at))[: self.schema.tables]

    async def _cosines(self, question: str, texts: Sequence[str], ask: Asks) -> dict[int, float]:
        model = cast("Embeddings", self.schema.embeddings)
        # `embed` only calls its `ask`: the tables are embedded once for all samples.
        of_tables = unit_rows(await embed(cast("Asks", ask.once), model, texts))
        of_question = unit_rows(await embed(ask, model, [question or "?"]))
        if of_tables.shape[1] != of_question.shape[1]:
            raise DataError("the vectors of tables and question have different lengths; ask again with --fresh")
        return dict(enumerate((of_tables @ of_question[0]).tolist()))

    def _shown(self, parts: Sequence[_Part], names: set[str], rows: RowsOfTables) -> Iterator[str]:
        for table, text in parts:
            if table is None or table.name in names:
                yield described_table(table) if table is not None and self.schema.form == "compact" else text
            if table is not None and table.name in names and (sample := rows.get(table.name.casefold())):
                yield from _row_lines(table, sample)


def read_sample_rows(sandbox: Sandbox, database: Database, ddl: str, count: int) -> dict[str, ResultTable]:
    """The first rows of each table and view, by its name in small letters.

    What cannot be read within five seconds, or holds no row, is left out.

    Args:
        sandbox: where the database is opened.
        database: which.
        ddl: its CREATE statements.
        count: rows of each.
    """
    limits = SqlLimits(timeout_s=_ROWS_S, max_rows=count)
    rows: dict[str, ResultTable] = {}
    for table, _ in table_statements(ddl, dialect=database.engine):
        if table is None:
            continue
        query = f"SELECT * FROM {quoted(table.name, database.engine)} LIMIT {count:d}"  # noqa: S608  # quoted
        result = sandbox.run(database, query, limits=limits).table
        if result is not None and result.rows:
            rows[table.name.casefold()] = result
    return rows


def digest_of_rows(rows: Mapping[str, RowsOfTables]) -> str:
    """A hexadecimal digest of the sample rows, so that a run is not resumed with others; "" for none."""
    digest = blake2b(digest_size=16)
    for db_id in sorted(rows):
        for name in sorted(rows[db_id]):
            table = rows[db_id][name]
            digest.update(repr((db_id, name, table.columns, list(table.rows))).encode("utf-8", "surrogatepass"))
    return digest.hexdigest() if rows else ""


def _row_lines(table: SchemaTable, sample: ResultTable) -> Iterator[str]:
    """The rows as comments, which a prompt's reader takes for no statement."""
    count = len(sample.rows)
    name = " ".join(table.name.split())
    columns = " | ".join(" ".join(column.split()) for column in sample.columns)
    yield f"-- {count} row{'' if count == 1 else 's'} of {name}: {columns}"
    for row in sample.rows:
        # Of a list or an object the beginning of its JSON: its length alone would tell a model nothing.
        cells = (cell_text(cell) if isinstance(cell, list | tuple | dict) else cell for cell in row)
        yield f"-- {' | '.join(show_cell(cell, _CELL) for cell in cells)}"


@lru_cache(maxsize=_CACHED)
def _parts_of(ddl: str, dialect: str) -> tuple[_Part, ...]:
    """Parse a schema; cached, as it is needed for each question on the same database."""
    return tuple(table_statements(ddl, dialect=dialect))


@lru_cache(maxsize=_CACHED)
def _index_of(ddl: str, texts: tuple[str, ...]) -> BM25:
    del ddl
    return BM25.of(texts)


def _words_of(table: SchemaTable) -> str:
    """The words of a table's names and comments: `singerInConcert` is three."""
    names = [table.name, *(column.name for column in table.columns)]
    comments = [table.comment, *(column.comment for column in table.columns)]
    return " ".join([*(" ".join(_NAME_PART.findall(name)) or name for name in names), *filter(None, comments)])


def singular(text: str) -> str:
    """The text with Latin words folded so that a singular and its regular plural are one word.

    >>> [singular(pair) for pair in ("album albums", "box boxes", "city cities", "class classes", "status houses")]
    ['album album', 'box box', 'citi citi', 'class class', 'status hous']
    """
    return _LATIN.sub(lambda match: _folded(match.group().casefold()), text)


def _folded(word: str) -> str:
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = word.removesuffix("e")
    return f"{word[:-1]}i" if word.endswith("y") else word
