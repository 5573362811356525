"""The `text2sql` suite: questions to a database, one run per target, verdicts on the SQL that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import Suite
from steelyard.evaluation.suite_keys import JudgedSuiteKeys
from steelyard.registry import describe
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.scorers.judges.of_sql import reading_as
from steelyard.scorers.sql import SqlResult
from steelyard.session.secrets import Secrets, references
from steelyard.sql.server_address import Server
from steelyard.suites.text2sql.rows import load_text2sql
from steelyard.tables.locate import check_source
from steelyard.types import Scorer, Target


@takes_model
@dataclass(frozen=True, slots=True)
class Text2SqlSuite(JudgedSuiteKeys):
    """Questions with the SQL that answers them.

    Args:
        samples: the files with question, SQL, and schema or database: rows of a sheet or of JSON, or lines of SQL.
        targets: the systems to evaluate, by name; each produces one run.
        databases: folder of `<db_id>/<db_id>.sqlite` or `<db_id>.sqlite` (.sqlite3, .db, .duckdb), or of folders
            `<db_id>/` of tables (.csv, .tsv, .jsonl, .ndjson, .parquet); the address of a PostgreSQL or MySQL server
            whose schemas are the `db_id`s, or `{<db_id>: {url: ...}}`; the schemas that prompts show are read from
            it. Left out if the rows have their own schema.
        scoring: how replies are read, run and compared.
        judge: the model that judges, and how; of every one of `scorers` that has none of its own.
        scorers: further scorers, such as `relevance`, by a judge: are all points of the question covered, and nothing
            else?
        gate: rules on the scores that decide the exit code, `{result: ">= 0.6"}`; `no_regression` compares runs with a
            `baseline`.
    """

    samples: SampleFiles
    targets: Mapping[str, Target]
    databases: Path | str | Mapping[str, Server] | None = None
    scoring: SqlResult = SqlResult()
    judge: Judge = Judge()
    scorers: tuple[Scorer, ...] = ()

    def check(self) -> None:
        """Check where the databases are; nothing is opened."""
        check_source(self.databases)

    def build(self, environment: Mapping[str, str] = MappingProxyType({})) -> Suite:
        """Read and check the whole dataset; no model is called.

        Args:
            environment: values of references `${NAME}` in addresses of servers, preferred to the process's own.

        Raises:
            ConfigError: a file, sheet, column or folder that does not exist, or a server that cannot be reached.
            DataError: rows with defects, named with file, sheet and cell; databases that cannot be read.
        """
        if self.databases is not None and self.scoring.databases not in (None, self.databases):
            raise ConfigError("databases: the suite and its scoring name two different folders; name it once")
        judges = self.judges_with(self.judge)
        scoring = replace(self.scoring, databases=self.databases or self.scoring.databases)
        secrets = Secrets(references(describe(scoring)), environment)
        data = load_text2sql(self.samples, databases=scoring.databases, engine=scoring.engine, resolve=secrets.resolve)
        return Suite(
            name=self.name or self.samples.title,
            kind="text2sql",
            columns=tuple(data.readings[0].unused.dataset.names),
            samples=data.samples,
            targets=self.targets,
            scorers=(scoring, *(reading_as(scorer, scoring) for scorer in judges.given_to(self.scorers))),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary="result" if data.comparable and scoring.form != "create_select" else "execution",
            source=self.samples,
            notes=data.notes,
            jury=judges.jury,
            breakdowns=origin_keys(key for reading in data.readings for key in reading.table.origin),
        )
