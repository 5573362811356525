"""The `text2sql` suite: questions to a database, one run per target, verdicts on the SQL that it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from steelyard.constraints import check_options
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import JudgedSuiteKeys, Suite
from steelyard.registry import describe
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.scorers.judges.of_sql import reading_as
from steelyard.scorers.sql import SqlAttempts, SqlResult
from steelyard.scorers.sql_runs import settings_lacking
from steelyard.session.secrets import Secrets, references
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.server_address import Server
from steelyard.suites.text2sql.few_shot import SqlExamples, SqlFewShot, draw_sql_examples
from steelyard.suites.text2sql.rows import Text2SqlData, load_text2sql
from steelyard.suites.text2sql.self_correction import SelfCorrection
from steelyard.suites.text2sql.shown_schema import (
    RowsOfTables,
    SchemaForTarget,
    SchemaPrompt,
    ShownSchema,
    digest_of_rows,
    read_sample_rows,
)
from steelyard.tables.databases import check_source, find_database
from steelyard.targets.examples import RemainingSamples, with_examples
from steelyard.targets.http import HttpEndpoint
from steelyard.targets.prompt import Prompt
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
        schema: how prompts show it: which tables, in which form, with which rows.
        few_shot: solved questions for the `{{examples}}` of templates, the nearest first.
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
    schema: SchemaPrompt = SchemaPrompt()
    few_shot: SqlFewShot | None = None
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
        check_options(self.schema)
        judges = self.judges_with(self.judge)
        scoring = replace(self.scoring, databases=self.databases or self.scoring.databases)
        secrets = Secrets(references(describe(scoring)), environment)
        data = load_text2sql(self.samples, databases=scoring.databases, engine=scoring.engine, resolve=secrets.resolve)
        examples = None if self.few_shot is None else draw_sql_examples(self.few_shot, data, self.options.seed)
        rows = self._sample_rows(data, scoring, secrets)
        view = SchemaForTarget(self.schema, digest_of_rows(rows), ShownSchema(self.schema, rows).view)
        targets = _as_asked(self.targets, scoring, examples, None if self.schema == SchemaPrompt() else view)
        further = (reading_as(scorer, scoring) for scorer in judges.given_to(self.scorers))
        return Suite(
            name=self.name or self.samples.title,
            kind="text2sql",
            columns=data.columns,
            samples=RemainingSamples(data.samples, examples.held_out) if examples else data,
            targets=targets,
            scorers=(scoring, *further, *_attempts(targets, self.scorers, scoring)),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary="result" if data.comparable and not scoring.form.startswith("create_select") else "execution",
            source=self._source(examples),
            notes=(*data.notes, *self._notes(data, examples)),
            jury=judges.jury,
            breakdowns=origin_keys(key for sample in data.samples for key in sample.metadata),
        )

    def _sample_rows(self, data: Text2SqlData, scoring: SqlResult, secrets: Secrets) -> dict[str, RowsOfTables]:
        """The rows that prompts show, by database."""
        if not self.schema.rows or scoring.databases is None:
            return {}
        # Unsafe, as the statements are ours: see `load_text2sql`.
        with Sandbox(workers=1, unsafe=True, resolve=secrets.resolve) as sandbox:
            return {
                db_id: read_sample_rows(sandbox, find_database(scoring.databases, db_id), ddl, self.schema.rows)
                for db_id, ddl in data.schemas.items()
            }

    def _source(self, examples: SqlExamples | None) -> Any:
        """The manifest's description of the samples: files and few-shot examples."""
        if examples is None:
            return self.samples
        return {**describe(self.samples), "few_shot": {**describe(self.few_shot), **examples.manifest()}}

    def _notes(self, data: Text2SqlData, examples: SqlExamples | None) -> Iterator[str]:
        if self.schema.rows and set(data.databases) - set(data.schemas):
            yield "schema: rows are read from databases; questions with a schema of their own are shown it without"
        if examples is not None:
            yield from examples.notes(data.databases)
            if examples.held_out:
                yield f"few_shot: {len(examples.held_out)} questions are held out as examples and not asked"


def _as_asked(
    targets: Mapping[str, Target], scoring: SqlResult, examples: SqlExamples | None, view: SchemaForTarget | None
) -> dict[str, Target]:
    """The targets with the examples and the view of schemas; those that correct themselves run SQL as it is scored.

    Raises:
        ConfigError: a template has a place for examples and there are none, or the reverse; or no target shows a
            schema that is to be shown in a certain way.
    """
    asked = {name: target.target if isinstance(target, SelfCorrection) else target for name, target in targets.items()}
    asked = with_examples(asked, None if examples is None else examples.for_target, "en/sql_query_examples")
    showing = [
        name for name, target in asked.items() if isinstance(target, Prompt | HttpEndpoint) and target.shows("schema")
    ]
    if view is not None and not showing:
        raise ConfigError("schema: no target shows {{metadata.schema}}, so there is nothing that this changes")
    if view is not None:
        asked |= {name: replace(asked[name], view=view) for name in showing}  # type: ignore[type-var]
    return {
        name: replace(target, target=asked[name], **settings_lacking(target, scoring))
        if isinstance(target, SelfCorrection)
        else asked[name]
        for name, target in targets.items()
    }


def _attempts(targets: Mapping[str, Target], scorers: Sequence[Scorer], scoring: SqlResult) -> Iterator[Scorer]:
    """The scorer of each attempt, where a target makes several and there is none yet."""
    most = max((target.attempts for target in targets.values() if isinstance(target, SelfCorrection)), default=0)
    if most and not any(isinstance(scorer, SqlAttempts) for scorer in scorers):
        yield reading_as(SqlAttempts(most), scoring)
