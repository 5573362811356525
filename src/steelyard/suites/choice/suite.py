"""The `choice` suite: a multiple-choice exam, one run per target, solve rate per category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from steelyard.data.files import SampleFiles
from steelyard.errors import ConfigError, expect_number
from steelyard.registry import describe
from steelyard.scorers.choice import Choice
from steelyard.scorers.likelihood import LikelihoodAccuracy
from steelyard.suite.objects import Options, Suite
from steelyard.suites.choice.asking import (
    counted,
    look_over,
    notes_on_examples,
    notes_on_questions,
    notes_on_targets,
    with_examples,
)
from steelyard.suites.choice.few_shot import Asked, FewShot, Shots, draw_shots
from steelyard.suites.choice.orders import Ordered, Orders
from steelyard.suites.choice.rows import load_choice
from steelyard.targets.likelihood import Likelihood
from steelyard.types import Sample, Scorer, Target


@dataclass(frozen=True, slots=True)
class ChoiceSuite:
    """An exam of multiple-choice questions.

    Args:
        samples: the files with question, options, key and category.
        targets: what is examined, by name; each becomes a run.
        name: a title for reports; empty is the first file's name.
        tags: per target, report columns.
        scoring: how replies are read.
        orders: of a question's options: `as_given`; `shuffled` by the seed; or `rotations`, which asks each question as
            often as it has options, each time with another one first. Options that speak of each other ("all of the
            above") stay where they are.
        orders_seed: of the shuffling; left out it is the one of the options.
        few_shot: solved examples for the `{{examples}}` of templates.
        options: concurrency, repeats, limits, budget.
        gate: rules on the scores that decide the exit code, `{solve_rate: ">= 0.6"}`; `no_regression` holds runs
            against a `baseline`.
    """

    samples: SampleFiles
    targets: Mapping[str, Target]
    name: str = ""
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scoring: Choice = Choice()
    orders: Orders = "as_given"
    orders_seed: int | None = None
    few_shot: FewShot | None = None
    options: Options = Options()
    gate: Mapping[str, str | Mapping[str, float]] = field(default_factory=dict)

    def build(self) -> Suite:
        """Read the dataset whole and check it; nothing is asked yet.

        Raises:
            ConfigError: a file, sheet or column that does not exist; or a template that does not fit the examples.
            DataError: rows with defects, named with file, sheet and cell.
        """
        self._check()
        data = load_choice(self.samples)
        notes = [*data.notes]
        if data.skipped:
            notes.append(f"{data.skipped} row{'s' if data.skipped > 1 else ''} with a defect left out (skip_bad)")
        shots = None if self.few_shot is None else draw_shots(self.few_shot, data, self.options.seed)
        asked: Iterable[Sample] = Asked(data.samples, shots.held_out) if shots and shots.held_out else data.samples
        targets = with_examples(self.targets, shots)
        seen = counted(data) if shots is None and self.orders == "as_given" else look_over(asked, shots)
        notes += notes_on_questions(seen, self.orders, self._seed)
        notes += notes_on_examples(seen, shots)
        notes += notes_on_targets(targets, seen, self.options.repeats)
        return Suite(
            name=self.name or self.samples.title,
            kind="choice",
            samples=asked if self.orders == "as_given" else Ordered(asked, self.orders, self._seed),
            targets=targets,
            scorers=(self.scoring,),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary="solve_rate",
            source=self._source(shots),
            notes=tuple(notes),
            scorers_of=self._scorers_of(targets),
        )

    @property
    def _seed(self) -> int:
        return self.options.seed if self.orders_seed is None else self.orders_seed

    def _check(self) -> None:
        if self.orders not in get_args(Orders):
            raise ConfigError(f"orders: expected {', '.join(get_args(Orders))}, not {self.orders!r}")
        if self.orders_seed is not None:
            expect_number("orders_seed", self.orders_seed, 0, whole=True)
            if self.orders != "shuffled":
                raise ConfigError("orders_seed: belongs to orders: shuffled")

    def _source(self, shots: Shots | None) -> Any:
        """What the manifest says of the samples: their files, and in which order and behind what they are asked."""
        told: dict[str, Any] = {} if self.orders == "as_given" else {"orders": self.orders}
        if self.orders == "shuffled":
            told["orders_seed"] = self._seed
        if shots is not None:
            told["few_shot"] = {**describe(self.few_shot), **shots.manifest()}
        return {**describe(self.samples), **told} if told else self.samples

    def _scorers_of(self, targets: Mapping[str, Target]) -> dict[str, tuple[Scorer, ...]]:
        likely = [name for name, target in targets.items() if isinstance(target, Likelihood)]
        return {name: (self.scoring, LikelihoodAccuracy()) for name in likely}
