"""Prompts that show untrusted text, such as answers to judge, between marks that the text cannot contain.

A packaged prompt never ends with untrusted text: an instruction follows it. What all samples share comes before it, so
that endpoints that cache the beginnings of prompts need not read it again for each sample. Marks are made of a digest
of everything that is sent with them: a text cannot contain its own digest, so no text can end its own fence; equal
calls have equal marks (so the journal answers them), and different calls have different marks.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-judge-prompts.md

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

from steelyard.errors import ConfigError
from steelyard.prompts.language import Language
from steelyard.prompts.template import check_names, load_template, load_words, packaged_prompts, placeholders, render
from steelyard.types import Message

_MARK: Final = "mark"
_OTHER_NAMES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "judge_correctness": {
            "query": "question",
            "query_str": "question",
            "reference_answer": "reference",
            "generated_answer": "answer",
        },
        "judge_faithfulness": {"query_str": "answer", "context_str": "contexts", "context_msg": "contexts"},
        "judge_faithfulness_refine": {"query_str": "answer", "context_str": "contexts", "context_msg": "contexts"},
        "generate_questions": {"context_str": "text", "num_questions_per_chunk": "count"},
        "generate_answer": {"context_str": "text", "query_str": "question"},
        "judge_relevance": {"request": "question", "queries": "answer"},
        "judge_g_eval": {"request": "question", "queries": "answer", "metric_name": "metric"},
        "judge_g_eval_reasons": {"request": "question", "queries": "answer", "metric_name": "metric"},
    }
)
"""Prompt -> names of its values in the templates of LlamaIndex and of OpenAI's examples -> our names.

LlamaIndex checks faithfulness with the answer as its query, so `query_str` is the answer there."""
_BRACED: Final = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
_LEAST_WORDS: Final = 40
"""Minimum characters before the first value; with fewer, such as a heading "Question:", a template begins with it."""


@dataclass(frozen=True, slots=True)
class FencedPrompt:
    """A packaged prompt in each language, or the user's own prompt for all languages.

    Args:
        name: of the packaged prompt: `judge_correctness` is `en/judge_correctness` and `zh/judge_correctness`.
        own: the user's template (a packaged prompt, a file, or the text itself); empty uses the packaged one.
        fenced: names of values that are untrusted text and put between marks; empty if no such text is shown.
        plain: names of values that are the user's own words or ours: criteria, a scale, a number.
        needed: names that a template must have; empty: one of `fenced`.
        earlier: packaged prompt (`en/judge_correctness`) -> the text that a stored run used, if this version has
            another one.
        shared: those of `fenced` that are the same for all samples. Their marks depend only on them, so that the
            prompt is the same up to the first value of a sample.
        system: the user's system message, a text or a file; it may name the same values; empty for none.
    """

    name: str
    own: Path | str
    fenced: tuple[str, ...]
    plain: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    system: Path | str = ""

    def check(self) -> None:
        """Read the templates and reject one that lacks a value.

        Raises:
            ConfigError: there is no such file; it names an unknown value, or lacks a needed one.
        """
        for language in get_args(Language):
            texts = [self.text(language), self.system_text()]
            names = {self._renamed.get(name, name) for text in texts for name, _ in placeholders(text)}
            check_names(texts, (*self.fenced, *self.plain, *self._renamed, _MARK))
            missing = next((name for name in self.needed if name not in names), "")
            if missing:
                raise ConfigError(f"the prompt does not name {{{{{missing}}}}}")
            if self.fenced and not names.intersection(self.fenced):
                raise ConfigError(
                    f"the prompt has no placeholder for {', '.join(self.fenced)}: it shows nothing to judge"
                )

    def text(self, language: Language) -> str:
        """The template."""
        source = self._source(language)
        earlier = self.earlier.get(source) if isinstance(source, str) else None
        text = load_template(source) if earlier is None else earlier
        return self._with_placeholders(text) if self.own else text

    def system_text(self) -> str:
        """The system message; empty where there is none."""
        return self._with_placeholders(load_words(self.system, "system")) if self.system else ""

    @property
    def _renamed(self) -> Mapping[str, str]:
        """Other names of this prompt's values -> our names, as far as it has the values."""
        return _OTHER_NAMES.get(self.name, {})

    def _with_placeholders(self, text: str) -> str:
        """A text with `{name}`, as Python's and LangChain's templates have it, where it names no value as `{{name}}`.

        A brace that is meant as one is doubled in such templates, so that an unknown name is one that is missing.
        """
        known = {*self.fenced, *self.plain, *self._renamed}
        if any(name in known for name, _ in placeholders(text)) or not known.intersection(_BRACED.findall(text)):
            return text
        parts = _BRACED.split(text)
        names = [f"{{{{{name}}}}}" for name in parts[1::2]]
        words = [part.replace("{{", "{").replace("}}", "}") for part in parts[::2]]
        return "".join(part for pair in zip_longest(words, names, fillvalue="") for part in pair)

    def _source(self, language: Language) -> Path | str:
        return self.own or f"{language}/{self.name}"

    def manifest(self) -> dict[str, Any]:
        """The manifest entry: text and hash of the prompt, by language."""
        texts = {key: self.text(language) for key, language in self._languages().items()}
        texts |= {"system": self.system_text()} if self.system else {}
        return {
            key: {"hash": blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(), "text": text}
            for key, text in texts.items()
        }

    def earlier_texts(self, manifest: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """Packaged prompt -> its text in a stored manifest of this prompt; empty for the user's own template.

        Args:
            manifest: a result of `manifest`, from this version or an earlier one.
        """
        sources = {key: self._source(language) for key, language in self._languages().items() if key in manifest}
        packaged = {key: source for key, source in sources.items() if source in packaged_prompts()}
        return {str(source): manifest[key]["text"] for key, source in packaged.items()}

    def _languages(self) -> dict[str, Language]:
        """Key of the manifest -> a language whose text it has; the user's own template is used for all languages."""
        languages: tuple[Language, ...] = get_args(Language)
        return {"own": languages[0]} if self.own else {language: language for language in languages}

    def messages(self, language: Language, values: Mapping[str, str]) -> list[Message]:
        """The messages to send, the system message first; every fenced value is between its marks.

        Args:
            language: of the packaged prompt.
            values: values for all names of `fenced` and `plain` that the prompt may have.
        """
        mark = mark_for(values)
        shown = {name: self._fenced(name, text, mark) for name, text in values.items()} | {_MARK: mark}
        shown |= {other: shown[name] for other, name in self._renamed.items() if name in shown}
        system: list[Message] = []
        if self.system:
            system = [{"role": "system", "content": render(self.system_text(), shown)}]
        return [*system, {"role": "user", "content": render(self.text(language), shown)}]

    def _fenced(self, name: str, text: str, mark: str) -> str:
        if name not in self.fenced:
            return text
        return fence(name, text, mark_for({name: text}) if name in self.shared else mark)

    def varies_early(self) -> str:
        """The value of a sample with which the user's template begins, by its own name; empty if text comes first.

        Such a prompt is not an error, but an endpoint's prompt cache cannot be used for any part of it.

        >>> FencedPrompt("judge_relevance", "{{answer}}: is it polite?", ("question", "answer")).varies_early()
        'answer'
        """
        if not self.own or len(self.system_text().strip()) >= _LEAST_WORDS:
            return ""
        text = self.text("en")
        varying = [(offset, name) for name, offset in self._values_in(text) if self._ours(name) not in self.shared]
        offset, name = min(varying, default=(len(text), ""))
        return "" if len(text[:offset].strip()) >= _LEAST_WORDS else name

    def ends_with(self) -> str:
        """The untrusted value with which the user's template ends, by its own name; empty if an instruction follows it.

        Such a prompt is not an error, but text written by others has the last word in it.

        >>> FencedPrompt("judge_correctness", "Right? {{reference}} {{answer}}", ("reference", "answer")).ends_with()
        'answer'
        """
        text = self.text("en") if self.own else ""
        last, offset = max(self._values_in(text), key=lambda value: value[1], default=("", 0))
        return last if last and not text[text.index("}}", offset) + 2 :].strip() else ""

    def _values_in(self, text: str) -> list[tuple[str, int]]:
        """The untrusted values that a template names, and where."""
        return [(name, offset) for name, offset in placeholders(text) if self._ours(name) in self.fenced]

    def _ours(self, name: str) -> str:
        return self._renamed.get(name, name)


def prompts_manifest(**prompts: FencedPrompt) -> dict[str, Any]:
    """The manifest entry of a scorer or generator that sends prompts: text and hash of each, by name and language."""
    return {"prompts": {name: prompt.manifest() for name, prompt in prompts.items()}}


def mark_for(values: Mapping[str, str]) -> str:
    """12 hexadecimal digits that no text among `values` contains.

    >>> mark_for({"answer": "Paris"}) == mark_for({"answer": "Paris"}) != mark_for({"answer": "Rome"})
    True
    """
    digest = blake2b(digest_size=6)
    for name, text in values.items():
        digest.update(f"{name}\0{text}\0".encode("utf-8", "surrogatepass"))
    while any(digest.hexdigest() in text for text in values.values()):
        digest.update(b"again")
    return digest.hexdigest()


def fence(name: str, text: str, mark: str) -> str:
    r"""A text between an opening and a closing mark with its name.

    >>> fence("answer", "Paris", "0f")
    '<answer 0f>\nParis\n</answer 0f>'
    """
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"
