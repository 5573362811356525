r"""Solved questions, as a prompt shows them before the one that is asked.

They stand in the prompt's own text, where `{{examples}}` is, and not as turns of a conversation: endpoints that take a
single text (a knowledge base, a completions endpoint) can then be asked the same way as any chat model, and a person
sees in one file what is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from steelyard.text.language import Language, language_of
from steelyard.text.prompt_files import EXAMPLES, options_text, question_of, sample_values, template_language
from steelyard.text.template import placeholders
from steelyard.types import Sample

Form = Literal["letters", "choice", "choice_reasoned", "choices", "text"]
"""How an example's answer is written: its letters, a JSON reply of that name, or the option's own text."""

_WORDS: Final[dict[Language, tuple[str, str, str]]] = {
    "en": ("Question: ", "Options:", "Answer: "),
    "zh": ("题目：", "选项：", "答案："),
}


class Example(NamedTuple):
    """A solved question; `rationale` leads to its answer, empty where there is none."""

    sample: Sample
    rationale: str = ""


Draw = Callable[[Sample], Sequence[Example]]
"""The examples for a sample, in the order they are shown."""


def wants_examples(template: str) -> bool:
    """Whether a template has a place for examples.

    >>> wants_examples("{{examples}} {{question}}"), wants_examples("{{question}}")
    (True, False)
    """
    return any(name == EXAMPLES for name, _ in placeholders(template))


def values_with_examples(sample: Sample, template: str, draw: Draw | None, form: Form = "letters") -> dict[str, object]:
    """What `sample_values` gives, and `examples`; None where nobody draws any.

    Args:
        sample: what is asked.
        template: its language is that of the examples.
        draw: gives the examples.
        form: of their answers.
    """
    values = sample_values(sample, template)
    values[EXAMPLES] = None
    if draw is not None:
        language = template_language(template) or language_of(values["question"])
        values[EXAMPLES] = examples_text(draw(sample), language, form)
    return values


def examples_text(examples: Sequence[Example], language: Language, form: Form = "letters") -> str:
    """All examples, a blank line between them.

    >>> one = Example(Sample("1", "2 + 2?", "B", ("3", "4")))
    >>> print(examples_text([one], "en"))
    Question: 2 + 2?
    Options:
    A. 3
    B. 4
    Answer: B
    """
    return "\n\n".join(_text(one, language, form) for one in examples)


def _text(example: Example, language: Language, form: Form) -> str:
    question, options, answer = _WORDS[language]
    sample, letters = example.sample, str(example.sample.reference)
    lines = [f"{question}{question_of(sample.input)}"]
    if form != "text":
        lines += [options, options_text(sample.choices)]
    if form in {"choice", "choice_reasoned", "choices"}:
        return "\n".join([*lines, _json(example, form)])
    rationale = [example.rationale] if example.rationale and form == "letters" else []
    said = letters if form == "letters" else sample.choices[ord(letters[0]) - ord("A")]
    return "\n".join([*lines, *rationale, f"{answer}{said}"])


def _json(example: Example, form: Form) -> str:
    letters = str(example.sample.reference)
    answer: dict[str, object] = {"answers": list(letters)} if form == "choices" else {"answer": letters}
    reasoning = {"reasoning": example.rationale} if form == "choice_reasoned" else {}
    return json.dumps({**reasoning, **answer}, ensure_ascii=False)
