"""Checks of templates and few-shot examples against the questions of an exam, and the notes for its run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.models.base import ModelInfo
from steelyard.prompts.passages import own_question
from steelyard.prompts.sample_values import SHOW_OPTIONS, wants_examples
from steelyard.prompts.template import load_template, load_words, placeholders
from steelyard.replies.answer_key import wants_several
from steelyard.suites.choice.few_shot import ExamplesForTarget, FewShotExamples, groups_short_of
from steelyard.suites.choice.orders import has_own_order
from steelyard.suites.choice.rows import ChoiceData
from steelyard.targets.http import HttpEndpoint
from steelyard.targets.likelihood import Likelihood
from steelyard.targets.prompt import Prompt
from steelyard.types import Sample, Target

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


def with_examples(targets: Mapping[str, Target], examples: FewShotExamples | None) -> dict[str, Target]:
    """The targets, those whose template shows few-shot examples bound to these examples.

    Raises:
        ConfigError: there are examples and a template has no place for them, or the reverse.
    """
    bound_examples = None if examples is None else ExamplesForTarget(examples.digest, examples.draw)
    bound_targets: dict[str, Target] = {}
    for name, target in targets.items():
        places = _shows_examples(target)
        if bound_examples is None and places and not (isinstance(target, Likelihood) and not target.template):
            raise ConfigError(
                f"targets: {name} has a place for {{{{examples}}}}, but there are none; write few_shot: "
                "{file: ..., sheets: [...]} or few_shot: {held_out: 5}"
            )
        if bound_examples is not None and places is False:
            raise ConfigError(
                f"few_shot: {name} has no place for the examples: write {{{{examples}}}} into its template, or take a "
                "packaged one that has it, such as zh/choice_examples"
            )
        bound_targets[name] = target
        if bound_examples is not None and places:
            # places is None for a target that is not a dataclass with examples
            bound_targets[name] = replace(target, examples=bound_examples)  # type: ignore[type-var]
    if bound_examples is not None and not any(_shows_examples(target) for target in targets.values()):
        raise ConfigError("few_shot: no target shows examples; they are for prompt, http and likelihood")
    return bound_targets


def _shows_examples(target: Any) -> bool | None:
    """Whether a target has a place for examples; None for one without a template."""
    if isinstance(target, Likelihood):
        return target.shows_examples
    if isinstance(target, Prompt | HttpEndpoint):
        return any(wants_examples(text) for text in _texts(target))
    return None


def _texts(target: Any) -> list[str]:
    """The prompt texts of a target: its template and its system message."""
    template = getattr(target, "template", "")
    if not template and isinstance(target, HttpEndpoint):
        template = "zh/four_options"  # or the same in English, by the language of the question
    texts = [load_template(template)] if template else []
    system = getattr(target, "system", "")
    return [*texts, load_words(system, "system")] if system else texts


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
        if isinstance(target, Prompt) and not any(shows_options(text) for text in _texts(target)):
            yield f"the template of {name} shows no options: it holds neither {{{{options}}}} nor {{{{choices}}}}"
        if repeats > 1 and _temperature(target) == 0:
            yield f"{name} is asked {repeats} times at temperature 0: its repeats show only the endpoint's noise"


def _of_several(name: str, target: Any, seen: Overview) -> Iterator[str]:
    share = f"{seen.several} of {seen.n} questions have several right options"
    text = "\n".join(_texts(target))
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
    parameters = {**ModelInfo.of(model).parameters, **_mapping(getattr(target, "parameters", None))}
    return parameters.get("temperature")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
