r"""The values of a sample that a template can use, its passage among them, and solved questions (few-shot examples).

A passage that a question is about is part of the input, above the question, and a value of its own for templates.

Examples are part of the prompt's text, at `{{examples}}`, and not turns of a conversation: endpoints that take a single
text (a knowledge base, a completions endpoint) then get the same prompt as any chat model, and one file shows what is
sent.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from steelyard.prompts.conversation import is_messages, question_of, question_turn, transcript_of
from steelyard.prompts.language import Language, language_of
from steelyard.prompts.template import bare, check_names, placeholders
from steelyard.replies.answer_key import alternatives
from steelyard.types import Asks, Message, Sample

PASSAGE: Final = "passage"
"""The key of a sample's metadata that holds its passage."""
_BETWEEN: Final = "\n\n"


def with_passage(sample: Sample, passage: str) -> Sample:
    r"""The sample with a passage above its question, so that whatever reads the input is given it.

    Of a conversation it stands in the message that asks the question, see `question_turn`.

    >>> with_passage(Sample("1", "Why?"), "It rains.").input
    'It rains.\n\nWhy?'
    """
    value = sample.input
    if is_messages(value):
        messages: list[Message] = list(value)
        last = question_turn(messages)
        if last is not None:
            messages[last] = {**messages[last], "content": _above(passage, messages[last].get("content"))}
        value = messages
    else:
        value = passage + _BETWEEN + str(value)
    return replace(sample, input=value, metadata={**sample.metadata, PASSAGE: passage})


def _above(passage: str, content: Any) -> Any:
    if isinstance(content, list | tuple):
        return [{"type": "text", "text": passage + _BETWEEN}, *content]
    return f"{passage}{_BETWEEN}{content}"


def passage_of(sample: Sample) -> str:
    """The passage that stands above the question in the input; "" where there is none."""
    passage = sample.metadata.get(PASSAGE)
    is_above = isinstance(passage, str) and passage and question_of(sample.input).startswith(passage + _BETWEEN)
    return str(passage) if is_above else ""


def own_question(sample: Sample) -> str:
    """The question of a sample without its passage."""
    question = question_of(sample.input)
    passage = passage_of(sample)
    return question[len(passage) + len(_BETWEEN) :] if passage else question


def without_passage(metadata: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Metadata without a passage that the input shows already."""
    sample = Sample("", value, metadata=metadata)
    return {key: part for key, part in metadata.items() if key != PASSAGE or not passage_of(sample)}


SAMPLE_NAMES: Final = (
    *("question", "passage", "transcript", "options", "options_as_list", "choices", "letters", "contexts"),
    *("id", "group", "metadata"),
)
"""The names of `sample_values`; the reference is not among them, so that no prompt can reveal the answer."""
EXAMPLES: Final = "examples"
"""The placeholder for solved examples, which a suite draws; without a suite there are none."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SUITE_KEYS: Final = frozenset({"schema", "db_id", "evidence", "dialect", "position", "document", "sources", PASSAGE})
"""Metadata that suites add to samples; none of it is the question."""
Form = Literal["letters", "choice", "choice_reasoned", "choices", "text", "sql"]
"""How an example's answer is written: as letters, as a JSON reply of that schema, or as the text of the option.

Without options it is the reference as it is, or in a JSON reply."""
_WORDS: Final[dict[Language, tuple[str, str, str]]] = {
    "en": ("Question: ", "Options:", "Answer: "),
    "zh": ("题目：", "选项：", "答案："),
}


class Example(NamedTuple):
    """A solved question; `rationale` explains its answer and may be empty."""

    sample: Sample
    rationale: str = ""


Draw = Callable[[Sample], Sequence[Example]]
"""Returns the examples for a sample, in the order in which they are shown."""
SampleView = Callable[[Sample, Asks], Awaitable[tuple[Sample, Mapping[str, Any]]]]
"""Returns a sample as its prompt shows it, and what the output's metadata says of that."""


def check_placeholders(template: str) -> None:
    """Reject a template with a placeholder that neither a sample nor a suite fills.

    Raises:
        ConfigError: the message suggests the nearest name.
    """
    check_names(template, (*SAMPLE_NAMES, EXAMPLES))


def asks_the_question(*texts: str) -> bool:
    """Whether one of the texts has a placeholder for the question of a sample.

    That is `{{question}}` or `{{transcript}}`, or a key of the samples' metadata other than those that suites add: a
    dataset from Python may contain whole prompts there.

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
    """Whether one of the texts has a placeholder for the whole conversation, so that no turn is sent separately."""
    return any(name == "transcript" for text in texts for name, _ in placeholders(text))


def shows_metadata(key: str, *texts: str) -> bool:
    """Whether one of the texts has a placeholder for a key of the samples' metadata."""
    return any(name in {"metadata", f"metadata.{key}"} for text in texts for name, _ in placeholders(text))


def shows_passage(*texts: str) -> bool:
    """Whether one of the texts has a place for the passage, so that the question is shown without it.

    >>> shows_passage("{{question}}"), shows_passage("{{passage}} {{question}}"), shows_passage("{{metadata.passage}}")
    (False, True, True)
    """
    return any(name in {PASSAGE, f"metadata.{PASSAGE}"} for text in texts for name, _ in placeholders(text))


def wants_examples(template: str) -> bool:
    """Whether a template has a placeholder for examples.

    >>> wants_examples("{{examples}} {{question}}"), wants_examples("{{question}}")
    (True, False)
    """
    return any(name == EXAMPLES for name, _ in placeholders(template))


def sample_values(sample: Sample, template: str = "", *, passage_apart: bool | None = None) -> dict[str, Any]:
    r"""The values of a sample that a template can use.

    `question` is the input (for messages, the text of the user's last one; any other JSON value as JSON), `transcript`
    the input with every turn of a conversation, `passage` what the question is about ("" if it has none), `options` one
    line per option as "A. text", `options_as_list` the same as an old exam script wrote them, `choices` their texts,
    `letters` the options' letters in words, `contexts` the passages separated by blank lines; `id`, `group` and
    `metadata` are those of the sample.

    Args:
        sample: the sample.
        template: the template, whose language is used for `letters`; without words of its own, the question's language.
        passage_apart: whether the prompt has a place for the passage, so that `question` and `transcript` come without
            it; by default, whether `template` has one.

    >>> sample_values(Sample("1", "乾?", choices=("天", "地")))["options"]
    'A. 天\nB. 地'
    """
    question = question_of(sample.input)
    transcript = question if isinstance(sample.input, str) else transcript_of(sample.input)
    passage = passage_of(sample) if PASSAGE in sample.metadata else ""
    if passage and (shows_passage(template) if passage_apart is None else passage_apart):
        whole, question = question, own_question(sample)
        transcript = transcript.replace(whole, question, 1)
    letters = ""
    if sample.choices:  # only then is the language needed; detecting it takes longer than everything else here
        letters = letters_text(len(sample.choices), template_language(template) or language_of(question))
    return {
        "question": question,
        "passage": passage,
        "transcript": transcript,
        "options": options_text(sample.choices),
        "options_as_list": options_as_list(sample.choices),
        "choices": list(sample.choices),
        "letters": letters,
        "contexts": "\n\n".join(sample.contexts),
        "id": sample.id,
        "group": sample.group,
        "metadata": sample.metadata,
    }


def values_with_examples(
    sample: Sample, template: str, draw: Draw | None, form: Form = "letters", *, passage_apart: bool | None = None
) -> dict[str, object]:
    """The values of `sample_values`, and `examples`; None without a `draw`.

    Args:
        sample: the sample.
        template: the examples are written in its language.
        draw: returns the examples.
        form: of the examples' answers.
        passage_apart: as in `sample_values`.
    """
    values = sample_values(sample, template, passage_apart=passage_apart)
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


def options_as_list(choices: Sequence[str]) -> str:
    """The options as Python prints a list of `A:text`: so a widely copied exam script put them into its prompt.

    >>> options_as_list(["天", "地"])
    "['A:天', 'B:地']"
    """
    return str(list(map("{}:{}".format, map(option_label, range(len(choices))), choices)))


def letters_text(options: int, language: Language) -> str:
    """The letters of a number of options, in words.

    >>> letters_text(4, "en"), letters_text(2, "zh"), letters_text(0, "en")
    ('A, B, C or D', 'A 或 B', '')
    """
    labels = list(map(option_label, range(options)))
    if len(labels) < 2:
        return "".join(labels)
    separator, last_separator = ("、", " 或 ") if language == "zh" else (", ", " or ")
    return f"{separator.join(labels[:-1])}{last_separator}{labels[-1]}"


SHOW_OPTIONS: Final = frozenset({"options", "options_as_list", "choices"})
"""Placeholders that show a question's options."""


@lru_cache(maxsize=64)
def template_language(template: str) -> Language | None:
    """The language of a template's own words; None if it has no words.

    >>> template_language("问：{{question}}"), template_language("Q: {{question}}"), template_language("{{question}}")
    ('zh', 'en', None)
    """
    words = bare(template)
    return language_of(words) if any(character.isalpha() for character in words) else None


def option_label(no: int) -> str:
    """The label of the 0-based option `no`: a letter for the first 26, then AA, AB ... like columns of a sheet.

    >>> [option_label(no) for no in (0, 25, 26)]
    ['A', 'Z', 'AA']
    """
    return _LETTERS[no] if no < len(_LETTERS) else option_label(no // len(_LETTERS) - 1) + _LETTERS[no % len(_LETTERS)]


def examples_text(examples: Sequence[Example], language: Language, form: Form = "letters") -> str:
    """All examples, separated by blank lines.

    >>> example = Example(Sample("1", "2 + 2?", "B", ("3", "4")))
    >>> print(examples_text([example], "en"))
    Question: 2 + 2?
    Options:
    A. 3
    B. 4
    Answer: B
    """
    return "\n\n".join(_text(example, language, form) for example in examples)


def _text(example: Example, language: Language, form: Form) -> str:
    question, options, answer = _WORDS[language]
    sample = example.sample
    lines = [f"{question}{transcript_of(sample.input)}"]
    if not sample.choices:
        text = str(sample.reference)
        written = json.dumps({"sql": text}, ensure_ascii=False) if form == "sql" else text
        return "\n".join([*lines, *filter(None, [example.rationale]), f"{answer}{written}"])
    letters = alternatives(str(sample.reference))[0]
    if form != "text":
        lines += [options, options_text(sample.choices)]
    if form in {"choice", "choice_reasoned", "choices"}:
        return "\n".join([*lines, _json(example, form)])
    rationale = [example.rationale] if example.rationale and form == "letters" else []
    answer_text = letters if form == "letters" else sample.choices[ord(letters[0]) - ord("A")]
    return "\n".join([*lines, *rationale, f"{answer}{answer_text}"])


def _json(example: Example, form: Form) -> str:
    letters = alternatives(str(example.sample.reference))[0]
    answer: dict[str, object] = {"answers": list(letters)} if form == "choices" else {"answer": letters}
    reasoning = {"reasoning": example.rationale} if form == "choice_reasoned" else {}
    return json.dumps({**reasoning, **answer}, ensure_ascii=False)
