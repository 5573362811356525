"""Gives the few-shot examples of a suite to the targets whose prompts show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.errors import ConfigError
from steelyard.prompts.sample_values import Draw, Example, wants_examples
from steelyard.prompts.template import load_template, load_words
from steelyard.targets.http import HttpEndpoint
from steelyard.targets.likelihood import Likelihood
from steelyard.targets.prompt import Prompt
from steelyard.types import Sample, Target


@dataclass(frozen=True, slots=True)
class ExamplesForTarget:
    """Examples as a target holds them; its manifest describes them by their digest.

    Args:
        digest: of the examples.
        draw: gives those for a sample.
    """

    digest: str
    draw: Draw

    def __call__(self, sample: Sample) -> Sequence[Example]:
        """The examples for one sample."""
        return self.draw(sample)


@dataclass(frozen=True, slots=True)
class RemainingSamples:
    """The samples of a dataset without those that are held out; each iteration reads them again."""

    samples: Iterable[Sample]
    held_out: frozenset[str]

    def __iter__(self) -> Iterator[Sample]:
        return (sample for sample in self.samples if sample.id not in self.held_out)


def with_examples(
    targets: Mapping[str, Target], examples: ExamplesForTarget | None, packaged: str
) -> dict[str, Target]:
    """The targets, those whose template shows few-shot examples bound to these examples.

    Args:
        targets: by name.
        examples: None where the suite has none.
        packaged: a packaged prompt with a place for examples, which an error suggests.

    Raises:
        ConfigError: there are examples and a template has no place for them, or the reverse.
    """
    bound_targets: dict[str, Target] = {}
    for name, target in targets.items():
        places = _shows_examples(target)
        if examples is None and places and not (isinstance(target, Likelihood) and not target.template):
            raise ConfigError(
                f"targets: {name} has a place for {{{{examples}}}}, but there are none; write few_shot: "
                "{file: ..., sheets: [...]} or few_shot: {held_out: 5}"
            )
        if examples is not None and places is False:
            raise ConfigError(
                f"few_shot: {name} has no place for the examples: write {{{{examples}}}} into its template, or take a "
                f"packaged one that has it, such as {packaged}"
            )
        bound_targets[name] = target
        if examples is not None and places:
            # places is None for a target that is not a dataclass with examples
            bound_targets[name] = replace(target, examples=examples)  # type: ignore[type-var]
    if examples is not None and not any(_shows_examples(target) for target in targets.values()):
        raise ConfigError("few_shot: no target shows examples; they are for prompt, http and likelihood")
    return bound_targets


def _shows_examples(target: Any) -> bool | None:
    """Whether a target has a place for examples; None for one without a template."""
    if isinstance(target, Likelihood):
        return target.shows_examples
    if isinstance(target, Prompt | HttpEndpoint):
        return any(wants_examples(text) for text in prompt_texts(target))
    return None


def prompt_texts(target: Any) -> list[str]:
    """The prompt texts of a target: its template and its system message."""
    template = getattr(target, "template", "")
    if not template and isinstance(target, HttpEndpoint):
        template = "zh/four_options"  # or the same in English, by the language of the question
    texts = [load_template(template)] if template else []
    system = getattr(target, "system", "")
    return [*texts, load_words(system, "system")] if system else texts
