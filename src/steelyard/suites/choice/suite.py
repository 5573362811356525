"""The `choice` suite: a multiple-choice exam, one run per target, solve rate per category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError, expect_number
from steelyard.evaluation.objects import Suite, SuiteKeys
from steelyard.registry import describe
from steelyard.scorers.choice import Choice, LikelihoodAccuracy
from steelyard.suites.choice.asking import (
    counted,
    notes_on_examples,
    notes_on_questions,
    notes_on_targets,
    overview_of,
)
from steelyard.suites.choice.few_shot import FewShot, FewShotExamples, draw_few_shot
from steelyard.suites.choice.orders import Ordered, Orders
from steelyard.suites.choice.rows import load_choice
from steelyard.targets.examples import RemainingSamples, with_examples
from steelyard.targets.likelihood import Likelihood
from steelyard.types import Sample, Scorer, Target


@dataclass(frozen=True, slots=True)
class ChoiceSuite(SuiteKeys):
    """An exam of multiple-choice questions.

    Args:
        samples: the files with question, options, key and category.
        targets: the systems to evaluate, by name; each produces one run.
        scoring: how replies are read.
        orders: of a question's options: `as_given`; `shuffled` by the seed; or `rotations`, which asks each question as
            often as it has options, each time with another option first. Options that refer to each other ("all of the
            above") stay where they are.
        orders_seed: seed of the shuffling; by default the one of the options.
        several_answers: whether questions may have several right options. If false, a key of several letters is a
            defect, unless enough keys of its table have several letters or the question asks for several.
        few_shot: solved examples for the `{{examples}}` of templates.
    """

    samples: SampleFiles
    targets: Mapping[str, Target]
    scoring: Choice = Choice()
    orders: Orders = "as_given"
    orders_seed: int | None = None
    several_answers: bool = False
    few_shot: FewShot | None = None

    def build(self) -> Suite:
        """Read and check the whole dataset; no model is called.

        Raises:
            ConfigError: a file, sheet or column that does not exist; or a template that does not fit the examples.
            DataError: rows with defects, named with file, sheet and cell.
        """
        self._check()
        data = load_choice(self.samples, several_answers=self.several_answers)
        notes = [*data.notes]
        examples = None if self.few_shot is None else draw_few_shot(self.few_shot, data, self.options.seed)
        samples: Iterable[Sample] = (
            RemainingSamples(data.samples, examples.held_out) if examples and examples.held_out else data.samples
        )
        targets = with_examples(self.targets, examples.for_target if examples else None, "zh/choice_examples")
        # Reading has counted what the notes need; only examples and reordered options take another pass.
        overview = counted(data) if examples is None and self.orders == "as_given" else overview_of(samples, examples)
        notes += notes_on_questions(overview, self.orders, self._seed)
        notes += notes_on_examples(overview, examples)
        notes += notes_on_targets(targets, overview, self.options.repeats)
        scoring = replace(self.scoring, points=True) if data.has_points else self.scoring
        return Suite(
            name=self.name or self.samples.title,
            kind="choice",
            columns=data.columns,
            samples=samples if self.orders == "as_given" else Ordered(samples, self.orders, self._seed),
            targets=targets,
            scorers=(scoring,),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary="solve_rate",
            source=self._source(examples),
            notes=tuple(notes),
            breakdowns=origin_keys(key for reading in data.readings for key in reading.table.origin),
            scorers_of=_scorers_of(targets, scoring),
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

    def _source(self, examples: FewShotExamples | None) -> Any:
        """The manifest's description of the samples: files, order of options and few-shot examples."""
        settings: dict[str, Any] = {} if self.orders == "as_given" else {"orders": self.orders}
        if self.orders == "shuffled":
            settings["orders_seed"] = self._seed
        if examples is not None:
            settings["few_shot"] = {**describe(self.few_shot), **examples.manifest()}
        return {**describe(self.samples), **settings} if settings else self.samples


def _scorers_of(targets: Mapping[str, Target], scoring: Choice) -> dict[str, tuple[Scorer, ...]]:
    likely = {name: target for name, target in targets.items() if isinstance(target, Likelihood)}
    return {name: (scoring, LikelihoodAccuracy(bool(target.unconditional))) for name, target in likely.items()}
