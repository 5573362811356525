r"""What a template shows of a sample: its values, and the solved questions (few-shot examples) before it.

Examples stand in the prompt's own text, where `{{examples}}` is, and not as turns of a conversation: endpoints that
take a single text (a knowledge base, a completions endpoint) can then be asked the same way as any chat model, and a
person sees in one file what is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from steelyard.prompts.conversation import question_of, transcript_of
from steelyard.prompts.language import Language, language_of
from steelyard.prompts.template import bare, check_names, placeholders
from steelyard.types import Sample

SAMPLE_NAMES: Final = (
    *("question", "transcript", "options", "choices", "letters", "contexts", "id", "group", "metadata"),
)
"""What `sample_values` gives; the reference is not among them, so that no prompt can give the answer away."""
EXAMPLES: Final = "examples"
"""The placeholder for solved examples, which a suite draws; a sample alone has none."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SUITE_KEYS: Final = frozenset({"schema", "db_id", "evidence", "dialect", "position", "document", "sources"})
"""What suites put into the metadata of samples beside the question: none of it is what is asked."""
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


def check_placeholders(template: str) -> None:
    """Refuse a template with a placeholder that no sample and no suite fills.

    Raises:
        ConfigError: with the nearest name.
    """
    check_names(template, (*SAMPLE_NAMES, EXAMPLES))


def asks_the_question(*texts: str) -> bool:
    """Whether one of the texts has a place for what a sample asks.

    That is `{{question}}` or `{{transcript}}`, or a key of the samples' metadata other than those that suites put there
    themselves: a dataset from Python may hold whole prompts.

    >>> asks_the_question("{{options}}"), asks_the_question("", "{{question}}"), asks_the_question("{{metadata.ask}}")
    (False, True, True)
    """
    names = {name for text in texts for name, _ in placeholders(text)}
    return any(
        name in {"question", "transcript"}
        or (name.startswith("metadata.") and name.split(".")[1].strip() not in _SUITE_KEYS)
        for name in names
    )


def has_transcript(*texts: str) -> bool:
    """Whether one of the texts has a place for the whole conversation, so that no turn need be sent beside it."""
    return any(name == "transcript" for text in texts for name, _ in placeholders(text))


def shows_metadata(key: str, *texts: str) -> bool:
    """Whether one of the texts has a place for a key of the samples' metadata."""
    return any(name in {"metadata", f"metadata.{key}"} for text in texts for name, _ in placeholders(text))


def wants_examples(template: str) -> bool:
    """Whether a template has a place for examples.

    >>> wants_examples("{{examples}} {{question}}"), wants_examples("{{question}}")
    (True, False)
    """
    return any(name == EXAMPLES for name, _ in placeholders(template))


def sample_values(sample: Sample, template: str = "") -> dict[str, Any]:
    r"""The values of a sample that a template can use.

    `question` is the input (of messages the text of the user's last one; any other JSON value as JSON), `transcript`
    the input with every turn of a conversation, `options` one line per option as "A. text", `choices` their texts,
    `letters` the options' letters in words, `contexts` the passages with a blank line between; `id`, `group` and
    `metadata` are the sample's own.

    Args:
        sample: what is asked.
        template: whose language `letters` is in; of one without words of its own, the question's.

    >>> sample_values(Sample("1", "乾?", choices=("天", "地")))["options"]
    'A. 天\nB. 地'
    """
    question = question_of(sample.input)
    letters = ""
    if sample.choices:  # else the language is not looked for, which takes longer than all the rest
        letters = letters_text(len(sample.choices), template_language(template) or language_of(question))
    return {
        "question": question,
        "transcript": question if isinstance(sample.input, str) else transcript_of(sample.input),
        "options": options_text(sample.choices),
        "choices": list(sample.choices),
        "letters": letters,
        "contexts": "\n\n".join(sample.contexts),
        "id": sample.id,
        "group": sample.group,
        "metadata": sample.metadata,
    }


def values_with_examples(sample: Sample, template: str, draw: Draw | None, form: Form = "letters") -> dict[str, object]:
    """The values of `sample_values`, and `examples`; None without a `draw`.

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


def options_text(choices: Sequence[str]) -> str:
    r"""One line per option.

    >>> options_text(["天", "地"])
    'A. 天\nB. 地'
    """
    labels = map(option_label, range(len(choices)))
    return "\n".join(map("{}. {}".format, labels, choices))


def letters_text(options: int, language: Language) -> str:
    """The letters of so many options, in words.

    >>> letters_text(4, "en"), letters_text(2, "zh"), letters_text(0, "en")
    ('A, B, C or D', 'A 或 B', '')
    """
    labels = list(map(option_label, range(options)))
    if len(labels) < 2:
        return "".join(labels)
    between, last = ("、", " 或 ") if language == "zh" else (", ", " or ")
    return f"{between.join(labels[:-1])}{last}{labels[-1]}"


@lru_cache(maxsize=64)
def template_language(template: str) -> Language | None:
    """The language of a template's own words; None if it has no words.

    >>> template_language("问：{{question}}"), template_language("Q: {{question}}"), template_language("{{question}}")
    ('zh', 'en', None)
    """
    words = bare(template)
    return language_of(words) if any(character.isalpha() for character in words) else None


def option_label(no: int) -> str:
    """The label of the option at the 0-based place `no`: a letter for the first 26, then AA, AB ... as sheets count.

    >>> [option_label(no) for no in (0, 25, 26)]
    ['A', 'Z', 'AA']
    """
    return _LETTERS[no] if no < len(_LETTERS) else option_label(no // len(_LETTERS) - 1) + _LETTERS[no % len(_LETTERS)]


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
    return "\n\n".join(_text(example, language, form) for example in examples)


def _text(example: Example, language: Language, form: Form) -> str:
    question, options, answer = _WORDS[language]
    sample, letters = example.sample, str(example.sample.reference)
    lines = [f"{question}{transcript_of(sample.input)}"]
    if form != "text":
        lines += [options, options_text(sample.choices)]
    if form in {"choice", "choice_reasoned", "choices"}:
        return "\n".join([*lines, _json(example, form)])
    rationale = [example.rationale] if example.rationale and form == "letters" else []
    answer_text = letters if form == "letters" else sample.choices[ord(letters[0]) - ord("A")]
    return "\n".join([*lines, *rationale, f"{answer}{answer_text}"])


def _json(example: Example, form: Form) -> str:
    letters = str(example.sample.reference)
    answer: dict[str, object] = {"answers": list(letters)} if form == "choices" else {"answer": letters}
    reasoning = {"reasoning": example.rationale} if form == "choice_reasoned" else {}
    return json.dumps({**reasoning, **answer}, ensure_ascii=False)
