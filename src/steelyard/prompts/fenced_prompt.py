"""Prompts that show other people's text: our own files or the user's, with that text fenced by marks it cannot know.

What is shown never has the last word: an instruction stands behind it. What all samples share stands before it, so that
endpoints that keep the beginnings of prompts in a cache need not read it again for each sample. Marks are taken from a
digest of everything that is sent with them: a text cannot hold its own digest, so no text can end its own fence; equal
calls have equal marks (so the journal answers them), and no other call has the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, get_args

from steelyard.errors import ConfigError
from steelyard.prompts.language import Language
from steelyard.prompts.template import check_names, load_template, packaged_prompts, placeholders, render
from steelyard.types import Message

_MARK: Final = "mark"
_LEAST_WORDS: Final = 40
"""Characters before the first value below which a template is said to begin with it: a heading such as "Question:"."""


@dataclass(frozen=True, slots=True)
class FencedPrompt:
    """A packaged prompt in each language, or the user's own for all languages.

    Args:
        name: of the packaged prompt: `judge_correctness` is `en/judge_correctness` and `zh/judge_correctness`.
        own: the user's template (a packaged prompt, a file, or the text itself); empty takes the packaged one.
        fenced: names of values that are other people's text, put between marks; none where nothing is shown.
        plain: names of values that are the user's own words or ours: criteria, a scale, a number.
        needed: names that a template must have; empty: one of `fenced`.
        earlier: packaged prompt (`en/judge_correctness`) -> the text that a stored run was sent, where this version
            has another.
        shared: those of `fenced` that are the same for all samples. Their marks depend on them alone, so that what
            stands before the first value of a sample stays the same.
    """

    name: str
    own: Path | str
    fenced: tuple[str, ...]
    plain: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()

    def check(self) -> None:
        """Read the templates and refuse one that lacks a value or ends with other people's text.

        Raises:
            ConfigError: there is no such file; it names an unknown value, or lacks one that is needed; or it
                ends with other people's text, so that this would have the last word.
        """
        for language in get_args(Language):
            text = self.text(language)
            check_names(text, (*self.fenced, *self.plain, _MARK))
            positions = dict(placeholders(text))
            missing = next((name for name in self.needed if name not in positions), "")
            if missing:
                raise ConfigError(f"the prompt does not name {{{{{missing}}}}}")
            shown = [name for name in positions if name in self.fenced]
            if self.fenced and not shown:
                raise ConfigError(f"the prompt shows none of {', '.join(self.fenced)}, so it shows nothing to judge")
            last = max(shown, key=lambda name: positions[name], default="")
            if last and not text[text.index("}}", positions[last]) + 2 :].strip():
                raise ConfigError(
                    f"the prompt ends with {{{{{last}}}}}: an instruction stands behind other people's text, or that "
                    "has the last word"
                )

    def text(self, language: Language) -> str:
        """The template."""
        source = self._source(language)
        earlier = self.earlier.get(source) if isinstance(source, str) else None
        return load_template(source) if earlier is None else earlier

    def _source(self, language: Language) -> Path | str:
        return self.own or f"{language}/{self.name}"

    def manifest(self) -> dict[str, Any]:
        """Text and hash of the prompt, by language."""
        texts = {key: self.text(language) for key, language in self._languages().items()}
        return {
            key: {"hash": blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(), "text": text}
            for key, text in texts.items()
        }

    def earlier_texts(self, manifest: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """Packaged prompt -> its text in a stored manifest of this prompt; empty for a template of the user's own.

        Args:
            manifest: as `manifest` gave it, in this version or an earlier one.
        """
        sources = {key: self._source(language) for key, language in self._languages().items() if key in manifest}
        packaged = {key: source for key, source in sources.items() if source in packaged_prompts()}
        return {str(source): manifest[key]["text"] for key, source in packaged.items()}

    def _languages(self) -> dict[str, Language]:
        """Key of the manifest -> a language whose text it has: the user's own template serves all of them."""
        languages: tuple[Language, ...] = get_args(Language)
        return {"own": languages[0]} if self.own else {language: language for language in languages}

    def messages(self, language: Language, values: Mapping[str, str]) -> list[Message]:
        """The messages to send; every fenced value stands between its marks.

        Args:
            language: of the packaged prompt.
            values: all of `fenced` and `plain` that the prompt may name.
        """
        mark = mark_for(values)
        shown = {name: self._fenced(name, text, mark) for name, text in values.items()}
        return [{"role": "user", "content": render(self.text(language), {**shown, _MARK: mark})}]

    def _fenced(self, name: str, text: str, mark: str) -> str:
        if name not in self.fenced:
            return text
        return fence(name, text, mark_for({name: text}) if name in self.shared else mark)

    def varies_early(self) -> str:
        """The value of a sample that a template of the user's own begins with; empty where words stand before it.

        Such a prompt is not an error, but none of it can be served from an endpoint's cache of prompts.

        >>> FencedPrompt("judge_relevance", "{{answer}}: is it polite?", ("question", "answer")).varies_early()
        'answer'
        """
        if not self.own:
            return ""
        text = self.text("en")
        varying = [(at, name) for name, at in placeholders(text) if name in self.fenced and name not in self.shared]
        at, name = min(varying, default=(len(text), ""))
        return "" if len(text[:at].strip()) >= _LEAST_WORDS else name


def prompts_manifest(**prompts: FencedPrompt) -> dict[str, Any]:
    """The manifest entry of whatever sends prompts: the text and hash of each, by its name and language."""
    return {"prompts": {name: prompt.manifest() for name, prompt in prompts.items()}}


def mark_for(values: Mapping[str, str]) -> str:
    """12 hexadecimal digits that no text among `values` holds.

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
    r"""A text between marks that name it.

    >>> fence("answer", "Paris", "0f")
    '<answer 0f>\nParis\n</answer 0f>'
    """
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"
