"""The `tables` suite: predicted tables or SQL compared with the expected ones, one run per target.

The `target` cell of a row is a table, or the SQL that gives it. Predictions may be in the dataset itself, with one
column for each system. All defects of a dataset are reported in one pass before anything runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, RowDataset, open_tables, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Defect, Row, cell_at, origin_keys
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation.objects import Suite, SuiteKeys
from steelyard.scorers.tables import TableMetrics
from steelyard.tables.databases import database_ids
from steelyard.tables.reading import is_missing, looks_like_table, plain_table, read_notation
from steelyard.types import INLINE, Output, Sample, StageInfo, Target

ROLES: Final = (
    Role("target", by_position=False),
    Role("db_id", required=False, by_position=False),
    Role("question", required=False, by_position=False, joins=True),
    Role("group", required=False, by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)


def load_tables(
    files: SampleFiles, *, task: str, databases: Path | None, predictions: Sequence[str] = ()
) -> RowDataset:
    """Read and check a whole dataset of expected tables.

    Of a sample, `reference` is rows or SQL, and `metadata` has `db_id` and what the row predicts (`predictions`).

    Args:
        files: which rows of which files.
        task: `QA` or `SP`, where every target is SQL.
        databases: the folder that SQL is run on.
        predictions: columns of the same files that hold predictions.

    Raises:
        ConfigError: a file, sheet, column or folder does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    known = None if databases is None else frozenset(database_ids(databases))
    opened = open_tables(files, ROLES)
    for table in opened[0]:
        table.unused.leave([_column_of(table, name) for name in predictions])

    def sample_of(table: OpenTable, row: Row, sample: Sample, defects: list[Defect]) -> Sample:
        target, db_id = wanted(table.cell(row, "target"), task), table.text(row, "db_id")
        if target.problem:
            defects.append(table.defect("bad target", row, "target", target.problem))
        if target.is_query and (problem := _about_database(db_id, known)):
            defects.append(table.defect("bad database", row, "db_id", problem))
        question = table.question(row, defects)
        metadata = {**sample.metadata, **({"db_id": db_id} if db_id else {})}
        if predictions:
            metadata[PREDICTIONS] = {name: cell_at(row.cells, _column_of(table, name)) for name in predictions}
        return replace(sample, input=question, reference=target.reference, metadata=metadata)

    return read_rows(files, ROLES, sample_of, opened=opened)


def _column_of(opened: OpenTable, name: str) -> Column:
    """The column of predictions that is headed `name`."""
    headers = opened.layout.headers
    column = next((column for column, text in headers.items() if text == name), None)
    if column is None:
        names = [text for text in headers.values() if text]
        raise ConfigError(f"predictions: {opened.table.title} has no column {name!r}{did_you_mean(name, names)}")
    return column


def _about_database(db_id: str, known: Collection[str] | None) -> str:
    """Why the SQL of a row cannot be run; "" where it can."""
    if known is None:
        return "the target is SQL: name the folder of its databases (databases: ...)"
    if not db_id:
        return "the target is SQL: a column db_id has to name its database"
    return "" if db_id in known else f"there is no database {db_id!r}{did_you_mean(db_id, known)}"


@dataclass(frozen=True, slots=True)
class WantedTable:
    """The expected table of a row: rows or SQL as `reference`, or the `problem` with its cell."""

    reference: Any = None
    is_query: bool = False
    problem: str = ""


def wanted(cell: Any, task: str) -> WantedTable:
    """Read the cell with a row's expected table.

    Args:
        cell: of JSON, a list of rows or an object with `rows`; else a text.
        task: `SP` takes SQL alone.

    >>> wanted("SELECT 1", "SP").is_query, wanted('[["a", 1]]', "QA").reference
    (True, [['a', 1]])
    >>> wanted("[[1, 2", "QA").problem
    'the target begins like a table but is neither JSON nor a Python list'
    """
    if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
        return WantedTable(problem="the target is blank")
    if isinstance(cell, str) and not looks_like_table(cell):
        return WantedTable(cell.strip(), is_query=True)
    if task == "SP":
        return WantedTable(problem="task SP needs SQL as target, and this is not SQL")
    try:
        table = plain_table(read_notation(cell) if isinstance(cell, str) else cell)
    except ValueError as error:
        return WantedTable(problem=f"the target begins like a table but is {error}")
    if not isinstance(table, list) or not all(isinstance(row, list | tuple) for row in table):
        shown = "an object without rows" if isinstance(table, Mapping) else f"{str(cell)[:40]!r}"
        return WantedTable(problem=f"the target is not a list of rows: {shown}")
    return WantedTable(table)


PREDICTIONS: Final = "predictions"
"""The key of a sample's metadata that holds column -> prediction."""


@dataclass(frozen=True, slots=True)
class PredictedColumn:
    """A target that returns the cell of a prediction column in the sample's own row.

    Args:
        column: the column's header or key.
    """

    stage_info: ClassVar[StageInfo] = INLINE

    column: str

    def __call__(self, sample: Sample) -> Output:
        """Return the cell; None where it is empty."""
        return Output(sample.metadata[PREDICTIONS][self.column])


@dataclass(frozen=True, slots=True)
class TablesSuite(SuiteKeys):
    """Questions whose answer is a table.

    Args:
        samples: the files with the expected table or SQL (`target`), and where there is one the question, `db_id`,
            group, cluster (equal for questions that depend on each other) and id.
        databases: folder of `<id>/<id>.sqlite` or `<id>.sqlite` (.sqlite3, .db, .duckdb); needed where SQL is run.
        task: `QA` (targets answer with tables) or `SP` (they answer with SQL, which is run).
        targets: the systems to evaluate, by name; each produces one run.
        predictions: predictions to evaluate that are in the same files: target's name -> column.
        scoring: rules, metrics and limits; its task and databases are those above.
        gate: rules on the scores that decide the exit code, `{execution_accuracy: ">= 0.6"}`; `no_regression` compares
            runs with a `baseline`.
    """

    samples: SampleFiles
    databases: Path | None = None
    task: Literal["QA", "SP"] = "QA"
    targets: Mapping[str, Target] = field(default_factory=dict)
    predictions: Mapping[str, str] = field(default_factory=dict)
    scoring: TableMetrics = TableMetrics()

    def build(self) -> Suite:
        """Read and check the whole dataset; nothing is called or run.

        Raises:
            ConfigError: a file, column or folder that does not exist, nothing to evaluate, or two targets of one name.
            DataError: rows with defects, named with file and cell.
        """
        twice = sorted(set(self.targets) & set(self.predictions))
        if twice:
            raise ConfigError(f"predictions: {twice[0]!r} is the name of a target as well; give one another name")
        if not self.targets and not self.predictions:
            raise ConfigError("there is no target: name targets, or columns of predictions")
        data = load_tables(
            self.samples, task=self.task, databases=self.databases, predictions=tuple(self.predictions.values())
        )
        columns = {name: PredictedColumn(column) for name, column in self.predictions.items()}
        scoring = replace(self.scoring, task=self.task, databases=self.databases)
        return Suite(
            name=self.name or self.samples.title,
            kind="tables",
            columns=data.columns,
            samples=data,
            targets={**self.targets, **columns},
            scorers=(scoring,),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary=next(info.name for info in scoring.score_infos if info.headline),
            source=self.samples,
            notes=data.notes,
            breakdowns=origin_keys(key for sample in data.samples for key in sample.metadata),
        )
