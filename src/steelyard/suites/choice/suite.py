"""The `choice` suite: a multiple-choice exam, one run per target, solve rate per category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.data.files import SampleFiles
from steelyard.scorers.choice import Choice
from steelyard.suite.objects import Options, Suite
from steelyard.suites.choice.rows import load_choice
from steelyard.types import Target


@dataclass(frozen=True, slots=True)
class ChoiceSuite:
    """An exam of multiple-choice questions.

    Args:
        samples: the files with question, options, key and category.
        targets: what is examined, by name; each becomes a run.
        name: a title for reports; empty is the first file's name.
        tags: per target, report columns.
        scoring: how replies are read.
        options: concurrency, repeats, limits, budget.
        gate: rules on the scores that decide the exit code, `{solve_rate: ">= 0.6"}`; `no_regression` holds runs
            against a `baseline`.
    """

    samples: SampleFiles
    targets: Mapping[str, Target]
    name: str = ""
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scoring: Choice = Choice()
    options: Options = Options()
    gate: Mapping[str, str | Mapping[str, float]] = field(default_factory=dict)

    def build(self) -> Suite:
        """Read the dataset whole and check it; nothing is asked yet.

        Raises:
            ConfigError: a file, sheet or column that does not exist.
            DataError: rows with defects, named with file, sheet and cell.
        """
        data = load_choice(self.samples)
        notes = [*data.notes]
        if data.skipped:
            notes.append(f"{data.skipped} rows with a defect were left out (skip_bad)")
        return Suite(
            name=self.name or self.samples.title,
            kind="choice",
            samples=data.samples,
            targets=self.targets,
            scorers=(self.scoring,),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary="solve_rate",
            source=self.samples,
            notes=tuple(notes),
        )
