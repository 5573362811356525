"""Few-shot examples: how suites draw and tell them, and how the targets whose prompts show them get them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from steelyard.errors import ConfigError
from steelyard.normal_form import nfkc
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


def check_source(file: Any, held_out: int, of_file: Iterable[Any]) -> None:
    """Refuse examples from two sources or none, and settings of a file without one.

    Raises:
        ConfigError: which of them.
    """
    if bool(file) == bool(held_out):
        raise ConfigError(
            "few_shot: name the source of examples, with file (and sheets) or with held_out: 5, "
            f"not {'both' if file else 'neither'}"
        )
    if held_out and any(of_file):
        raise ConfigError("few_shot: sheets and columns need a file; held-out questions come from the samples")


def are_related(example: Sample, sample: Sample) -> bool:
    """Whether one is a paraphrase or another form of the other, by their clusters."""
    in_cluster = bool(sample.cluster) and sample.cluster in {example.cluster, example.id}
    return in_cluster or (bool(example.cluster) and example.cluster == sample.id)


@lru_cache(maxsize=4096)
def plain_words(text: str) -> str:
    """Letters and digits of a text, without case and width; a text without any keeps its marks.

    >>> plain_words("2 + Two ?"), plain_words("+ ?")
    ('2two', '+?')
    """
    wide = nfkc(text).casefold()
    return "".join(character for character in wide if character.isalnum()) or "".join(wide.split())


def draw_mark(seed: int, *parts: str) -> bytes:
    """A hash of the seed and a question, by which examples are drawn whatever their order in the file."""
    text = "\0".join([str(seed), *parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def digest_of_examples(settings: str, shown: Iterable[Iterable[str]]) -> str:
    """A hexadecimal digest of how examples are chosen and of the texts of each."""
    digest = blake2b(settings.encode(), digest_size=16)
    for parts in shown:
        # Separated, so that a word moved from one text to the next gives another digest.
        digest.update("\0".join([*parts, ""]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


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
