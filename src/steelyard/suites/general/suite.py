"""The `general` suite: a table of inputs, prompts x models or any targets, any scorers; one run per target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import JudgedSuiteKeys, Suite
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import language_of
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.scorers.row_checks import CHECKS, Checks
from steelyard.suites.general.checks import try_on_rows, with_columns, with_expected, with_kinds
from steelyard.suites.general.defaults import default_scorers, refuse_nothing
from steelyard.suites.general.grid import (
    Grid,
    ModelEndpoint,
    Models,
    Prompts,
    endpoint_given,
    models_by_name,
    placeholders_of,
    prompts_by_name,
    served_model,
)
from steelyard.suites.general.rows import GeneralRows, load_general
from steelyard.types import Scorer, Target


@takes_model
@dataclass(frozen=True, slots=True)
class GeneralSuite(JudgedSuiteKeys):
    """Any task: a table of inputs, what is asked with them, and what is scored.

    A configuration without the key `suite` is one of this suite.

    Args:
        samples: the files with the inputs, and where there are any expected outputs, checks, groups, ids and further
            values.
        prompts: what is sent, as a text or a file with `{{column}}` for the values of a row: one, a list, or several by
            name. None: the input alone.
        models: what answers: names of models of the `endpoint`, or whole models; one, a list, or several by name. Every
            prompt is asked of every model.
        endpoint: the base address of an OpenAI-compatible endpoint that serves the models which are only named, or its
            settings (`base_url`, `api_key`, `parameters` ...).
        targets: other systems to evaluate, by name: HTTP endpoints, functions, agents, simulated users, stored outputs.
        judge: the model that judges, of every scorer that has none of its own: a name at the `endpoint`, or a judge's
            settings.
        scorers: what is scored. By default the rows' checks; else the fields of JSON where expected outputs are
            objects; else labels, where there are few and short ones; else equality with the expected output.
        primary: the score that headlines show; by default that of the first scorer.
        gate: rules on the scores that decide the exit code, `{accuracy: ">= 0.8"}`; `no_regression` compares runs with
            a `baseline`.
    """

    samples: SampleFiles
    prompts: Prompts = ""
    models: Models = ""
    endpoint: str | ModelEndpoint = ""
    targets: Mapping[str, Target] = field(default_factory=dict)
    judge: str | Judge = Judge()
    scorers: tuple[Scorer, ...] = ()
    primary: str = ""

    def build(self) -> Suite:
        """Read and check the whole dataset; no model is called.

        Raises:
            ConfigError: a file or column that does not exist, no target, a model that nothing serves, a placeholder
                that no column fills, or nothing to score.
            DataError: rows with defects, named with file, sheet and cell.
        """
        endpoint = endpoint_given(self.endpoint)
        models = models_by_name(self.models, endpoint)
        grid = Grid(prompts_by_name(self.prompts), models, self.options.allow_constant_prompt)
        grid.check()
        if not grid.models and not self.targets:
            raise ConfigError("there is no target: name models and their endpoint, with prompts or without, or targets")
        rows = load_general(self.samples, named=self._named(grid))
        targets, tags = self._targets(grid, rows)
        judges = self.judges_with(self._judge(endpoint))
        # One language for all records: prompts in two would measure the judge differently within one run.
        language = language_of(*(transcript_of(sample.input) for sample in rows.data.samples))
        scorers, about = self._scorers(rows)
        return Suite(
            name=self.name or self.samples.title,
            kind="general",
            samples=rows.data.samples,
            targets=targets,
            scorers=judges.in_language(language).given_to(scorers),
            options=self.options,
            tags=tags,
            gate=self.gate,
            primary=self.primary,
            source=self.samples,
            notes=(*rows.data.notes, *about),
            jury=judges.jury,
            breakdowns=origin_keys(key for sample in rows.data.samples for key in sample.metadata),
        )

    def _scorers(self, rows: GeneralRows) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
        """The scorers with what the rows bring for them, and notes."""
        data = rows.data
        scorers, about = default_scorers(data.samples) if not self.scorers else (self.scorers, ())
        scorers = with_expected(with_kinds(with_columns(scorers, rows.names), data.samples), data)
        try_on_rows(scorers, data)
        refuse_nothing(scorers, data.samples)
        has_checks = any(sample.metadata.get(CHECKS) for sample in data.samples)
        if has_checks and not any(isinstance(scorer, Checks) for scorer in scorers):
            about = (*about, "rows have checks, which are not scored: no scorer is named checks")
        return scorers, about

    def _named(self, grid: Grid) -> tuple[str, ...]:
        """The names in prompts, and in what other targets send."""
        names = dict.fromkeys(placeholders_of(grid.prompts))
        for target in self.targets.values():
            filled: frozenset[str] = getattr(target, "filled_names", frozenset())
            names |= dict.fromkeys(sorted(filled))
        return tuple(names)

    def _judge(self, endpoint: ModelEndpoint | None) -> Judge:
        if not isinstance(self.judge, str):
            return self.judge
        return Judge(served_model(self.judge, endpoint, "judge"))

    def _targets(self, grid: Grid, rows: GeneralRows) -> tuple[dict[str, Target], dict[str, Mapping[str, str]]]:
        targets: dict[str, Any] = {}
        tags = dict(self.tags)
        for name, target, of_grid in grid.targets(rows.places, self.samples.names):
            if name in targets or name in self.targets:
                raise ConfigError(f"models: two targets are called {name!r}; rename a prompt, a model or a target")
            targets[name], tags[name] = target, of_grid
        return targets | dict(self.targets), tags
