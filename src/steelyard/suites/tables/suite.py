"""The `tables` suite: predicted tables or SQL compared with the expected ones, one run per target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import Suite, SuiteKeys
from steelyard.scorers.tables import TableMetrics
from steelyard.suites.tables.rows import PredictedColumn, load_tables
from steelyard.types import Target


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
