"""Prompt templates by name or path, and the values that a sample gives them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.text.language import Language, language_of
from steelyard.text.template import bare, check_names
from steelyard.types import Sample

SAMPLE_NAMES: Final = ("question", "options", "choices", "letters", "contexts", "id", "group", "metadata")
"""What `sample_values` gives; the reference is not among them, so that no prompt can give the answer away."""
EXAMPLES: Final = "examples"
"""The placeholder for solved examples, which a suite draws; a sample alone has none."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def load_template(given: Path | str) -> str:
    """The text of a template.

    Args:
        given: a path is a UTF-8 text file. A text with a line break or `{{` in it is the template itself; else it is a
            packaged prompt (`zh/four_options`), else the path of a file.

    Raises:
        ConfigError: there is no such prompt and no such file.
    """
    if isinstance(given, str):
        if "\n" in given or "{{" in given:
            return given
        if given in packaged_prompts():
            return _packaged(given)
    try:
        path = Path(given)
        stamp = path.stat()
        return _of_file(path, stamp.st_mtime_ns, stamp.st_size)
    except (OSError, ValueError) as error:
        hint = "" if isinstance(given, Path) else did_you_mean(given, packaged_prompts())
        if Path(given).suffix and hint.startswith("; known"):
            hint = ""  # meant as a file: the names of all prompts would hide the reason
        what = f"{str(given)!r} is no prompt and no text file ({getattr(error, 'strerror', None) or error})"
        raise ConfigError(f"{what}; a template written out holds {{{{question}}}}{hint}") from error


@lru_cache(maxsize=1)
def packaged_prompts() -> tuple[str, ...]:
    """The names of the prompts that come with Steelyard, sorted."""
    folders = [one for one in files("steelyard").joinpath("prompts").iterdir() if one.is_dir()]
    return tuple(
        sorted(
            f"{folder.name}/{one.name.removesuffix('.txt')}"
            for folder in folders
            for one in folder.iterdir()
            if one.name.endswith(".txt")
        )
    )


@lru_cache(maxsize=64)
def _packaged(name: str) -> str:
    return files("steelyard").joinpath(f"prompts/{name}.txt").read_text(encoding="utf-8").rstrip("\n")


@lru_cache(maxsize=64)
def _of_file(path: Path, _mtime_ns: int, _size: int) -> str:
    """Cached by what `stat` says, so that a prompt edited between two runs of a notebook is read again."""
    return path.read_text(encoding="utf-8-sig").rstrip("\n")


def check_placeholders(template: str) -> None:
    """Refuse a template that asks for what no sample and no suite has.

    Raises:
        ConfigError: with the nearest name.
    """
    check_names(template, (*SAMPLE_NAMES, EXAMPLES))


def sample_values(sample: Sample, template: str = "") -> dict[str, Any]:
    r"""What a template may use of a sample.

    `question` is the input (of messages the last one of the user; any other JSON value as JSON), `options` one line
    per option as "A. text", `choices` their texts, `letters` the options' letters in words, `contexts` the passages
    with a blank line between; `id`, `group` and `metadata` are the sample's own.

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
        "options": options_text(sample.choices),
        "choices": list(sample.choices),
        "letters": letters,
        "contexts": "\n\n".join(sample.contexts),
        "id": sample.id,
        "group": sample.group,
        "metadata": sample.metadata,
    }


def options_text(choices: Sequence[str]) -> str:
    r"""One line per option.

    >>> options_text(["天", "地"])
    'A. 天\nB. 地'
    """
    return "\n".join(f"{option_label(no)}. {text}" for no, text in enumerate(choices))


def letters_text(options: int, language: Language) -> str:
    """The letters of so many options, in words.

    >>> letters_text(4, "en"), letters_text(2, "zh"), letters_text(0, "en")
    ('A, B, C or D', 'A 或 B', '')
    """
    labels = [option_label(no) for no in range(options)]
    if len(labels) < 2:
        return "".join(labels)
    between, last = ("、", " 或 ") if language == "zh" else (", ", " or ")
    return f"{between.join(labels[:-1])}{last}{labels[-1]}"


@lru_cache(maxsize=64)
def template_language(template: str) -> Language | None:
    """The language of a template's own words; None where it has none.

    >>> template_language("问：{{question}}"), template_language("Q: {{question}}"), template_language("{{question}}")
    ('zh', 'en', None)
    """
    words = bare(template)
    return language_of(words) if any(one.isalpha() for one in words) else None


def option_label(no: int) -> str:
    """The label of the option at the 0-based place `no`: a letter for the first 26, then AA, AB ... as sheets count.

    >>> [option_label(no) for no in (0, 25, 26)]
    ['A', 'Z', 'AA']
    """
    return _LETTERS[no] if no < len(_LETTERS) else option_label(no // len(_LETTERS) - 1) + _LETTERS[no % len(_LETTERS)]


def question_of(value: Any) -> str:
    """The question in a sample's input.

    >>> question_of([{"role": "user", "content": "first"}, {"role": "assistant", "content": "and?"}])
    'first'
    """
    if isinstance(value, str):
        return value
    if is_messages(value):
        return next((content_text(one.get("content")) for one in reversed(value) if one["role"] == "user"), "")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def is_messages(value: Any) -> bool:
    """Whether an input is a conversation: a list of mappings that each name a role."""
    return isinstance(value, list | tuple) and bool(value) and all(
        isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in value
    )  # fmt: skip


def content_text(content: Any) -> str:
    """The text of a message's content, which may be a list of parts; parts that are no text are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)
