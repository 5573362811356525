"""The `choice` suite: a multiple-choice exam, one run per target, solve rate per category.

Templates and few-shot examples are checked against the questions, and notes for the run say what does not fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError, expect_number
from steelyard.evaluation.objects import Suite, SuiteKeys
from steelyard.models.base import ModelInfo
from steelyard.plain_json import mapping_or_empty
from steelyard.prompts.sample_values import SHOW_OPTIONS, own_question
from steelyard.prompts.template import placeholders
from steelyard.registry import describe
from steelyard.replies.answer_key import wants_several
from steelyard.scorers.choice import Choice, LikelihoodAccuracy
from steelyard.suites.choice.few_shot import FewShot, FewShotExamples, draw_few_shot, groups_short_of
from steelyard.suites.choice.orders import Ordered, Orders, has_own_order
from steelyard.suites.choice.rows import ChoiceData, load_choice
from steelyard.targets.examples import RemainingSamples, prompt_texts, with_examples
from steelyard.targets.likelihood import Likelihood
from steelyard.targets.prompt import Prompt
from steelyard.types import Sample, Scorer, Target

_SHOWN: Final = 3
_ONE: Final = re.compile(
    r"exactly one|only one|a single (?:option|answer)|single-choice|只有一(?:项|个)|单项选择|单选|唯一正确",
    re.IGNORECASE,
)
_SEVERAL: Final = re.compile(
    r"one or more|more than one|several|all correct|multiple (?:answers|options)|一项或多项|一个或多个|多项|多选"
    r"|所有正确",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Overview:
    """Counts from one pass over the questions.

    Attributes:
        n: how many there are.
        several: how many have several right options.
        n_fixed_order: how many keep the order of their options, because these refer to each other ("all of the above").
        fixed_order: ids of the first of these.
        groups: questions by group.
        in_examples: how many are among the examples too.
    """

    n: int = 0
    several: int = 0
    n_fixed_order: int = 0
    fixed_order: list[str] = field(default_factory=list)
    groups: Counter[str] = field(default_factory=Counter)
    in_examples: int = 0


def counted(data: ChoiceData) -> Overview:
    """The overview of a dataset without examples or reordered options, from counts that were made while reading."""
    return Overview(data.n, sum(count for key, count in data.key_histogram.items() if wants_several(key)))


def overview_of(samples: Iterable[Sample], examples: FewShotExamples | None) -> Overview:
    """Count the questions that are asked, in one pass."""
    overview = Overview()
    for sample in samples:
        overview.n += 1
        overview.several += wants_several(str(sample.reference))
        overview.groups[sample.group] += 1
        if has_own_order(own_question(sample), sample.choices):
            overview.n_fixed_order += 1
            overview.fixed_order += [sample.id] if overview.n_fixed_order <= _SHOWN else []
        overview.in_examples += examples is not None and examples.has(sample)
    return overview


def notes_on_questions(seen: Overview, orders: str, seed: int) -> Iterator[str]:
    """Notes on the order in which options are shown."""
    if orders == "as_given":
        return
    if orders == "shuffled":
        yield f"the options of every question are shuffled (seed {seed})"
    else:
        yield f"{seen.n} questions are asked in all rotations of their options"
    if seen.n_fixed_order:
        more = " ..." if seen.n_fixed_order > _SHOWN else ""
        if seen.n_fixed_order > 1:
            head = f"{seen.n_fixed_order} questions keep the order of their options, which refer to each other"
        else:
            head = "1 question keeps the order of its options, which refer to each other"
        yield f"{head}: {', '.join(seen.fixed_order)}{more}"


def notes_on_examples(seen: Overview, examples: FewShotExamples | None) -> Iterator[str]:
    """Notes on the few-shot examples."""
    if examples is None:
        return
    n, available = examples.few_shot.n, len(examples.mixed)
    if examples.held_out:
        yield f"{len(examples.held_out)} questions are held out as examples and not asked; {seen.n} are asked"
    if available < n:
        yield f"prompts show {available} examples, not {n}: there are no more"
    elif short := groups_short_of(examples, seen.groups):
        more = " ..." if len(short) > _SHOWN else ""
        names = ", ".join(group or "(no group)" for group in short[:_SHOWN])
        yield f"groups with fewer than {n} examples of their own, completed from other groups: {names}{more}"
    if seen.in_examples:
        yield (
            f"{seen.in_examples} of the questions asked are among the examples too; none sees itself, but "
            "others see its answer"
        )


def notes_on_targets(targets: Mapping[str, Target], seen: Overview, repeats: int) -> Iterator[str]:
    """Notes on templates, reply schemas and temperatures that do not fit the questions."""
    for name, target in targets.items():
        yield from _of_several(name, target, seen)
        if isinstance(target, Prompt) and not any(shows_options(text) for text in prompt_texts(target)):
            yield f"the template of {name} shows no options: it holds neither {{{{options}}}} nor {{{{choices}}}}"
        if repeats > 1 and _temperature(target) == 0:
            yield f"{name} is asked {repeats} times at temperature 0: its repeats show only the endpoint's noise"


def _of_several(name: str, target: Any, seen: Overview) -> Iterator[str]:
    share = f"{seen.several} of {seen.n} questions have several right options"
    text = "\n".join(prompt_texts(target))
    says_several = bool(_SEVERAL.search(text))
    if seen.several and isinstance(target, Likelihood):
        yield f"{share}: {name} has no acc for them"
    elif seen.several and _ONE.search(text) and not says_several:
        yield f"{share}, but the template of {name} says that there is one; zh/choice_several does not"
    elif seen.n and not seen.several and says_several:
        yield f"the template of {name} asks for several right options, but every question has one"
    if seen.several and getattr(target, "reply", "") in {"choice", "choice_reasoned"}:
        yield f"{share}, but replies of {name} may have only one letter; reply: choices takes several"


def shows_options(template: str) -> bool:
    """Whether a template has a place for the options.

    >>> shows_options("{{question}} {{options}}"), shows_options("{{question}}")
    (True, False)
    """
    return any(name in SHOW_OPTIONS for name, _ in placeholders(template))


def _temperature(target: Any) -> Any:
    model = getattr(target, "model", None)
    parameters = {**ModelInfo.of(model).parameters, **mapping_or_empty(getattr(target, "parameters", None))}
    return parameters.get("temperature")


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
