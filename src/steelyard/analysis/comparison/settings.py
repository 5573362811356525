"""Settings in which two runs differ, matched by their meaning: prompt, model, parameters, dataset, scorers.

A manifest describes a target as `{kind: {field: value}}`. Two settings are compared where they mean the same, also
where the kinds of the targets differ: the prompt of an HTTP application is compared with that of a model. The same
key does not mean the same everywhere: `text` next to `template` is the resolved prompt, while `response.text` of an
HTTP target is the path of the answer in a reply.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from steelyard.analysis.numbers import count_text
from steelyard.errors import shortened
from steelyard.plain_json import mapping_or_empty

PROMPT: Final = "prompt"
SYSTEM_PROMPT: Final = "system prompt"
_KIND: Final = "kind"
_COMPONENTS: Final = frozenset({"model", "embeddings", "embedder", "reranker"})
"""Keys below which a registered component is described as `{kind: {field: value}}`, as a target is."""
_NAMES: Final[Mapping[tuple[str, ...], str]] = {
    ("model", "name"): "model",
    ("model", _KIND): "kind of model",
    ("model", "base_url"): "endpoint",
    ("system",): SYSTEM_PROMPT,
    ("reply_schema",): "reply schema",
}
"""Names of settings, by the last keys of their paths."""
_TRANSPARENT: Final = frozenset({"parameters", "judge"})
"""Keys that are left out of the names of the settings below them: `parameters.temperature` is the temperature."""
_OPTIONS: Final[Mapping[str, tuple[str, Any]]] = {
    "repeats": ("repeats", 1),
    "seed": ("seed", 0),
    "sample_timeout_s": ("seconds for a sample", 900.0),
}
"""Options that a result may depend on -> the name of each, and its value in runs whose manifest has none."""
_MOST_LETTERS: Final = 40
"""Longer values are cut where both are quoted."""
_MOST_TOKENS: Final = 1_000
"""Changed passages of more tokens are shown as replaced: comparing 1,000 by words takes up to 0.5 s, and four times as
long for twice as many."""
_TOKEN: Final = re.compile(r"[\u3400-\u9fff]|\w+|[^\w\s]|\s+")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_DIGEST: Final = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24,56}\b")
_MOST_ENTRIES: Final = 4
_CONTEXT: Final = 12
"""Unchanged tokens that are shown on either side of a change."""


class WordChange(NamedTuple):
    """A piece of text that both sides have (`same`), or only one of them."""

    kind: Literal["same", "removed", "added"]
    text: str


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """One setting in which two runs differ.

    Args:
        key: what it is called: `prompt`, `model`, `temperature`; the path of its keys where it has no such name.
        before: its value in the baseline as text, "none" where the baseline does not have it; likewise `after`.
        words: of a prompt that both have, what was removed and added; else empty.
    """

    key: str
    before: str
    after: str
    words: tuple[WordChange, ...] = ()

    @property
    def phrase(self) -> str:
        """The key with both values, or of a prompt how much of it changed.

        >>> SettingDifference("model", "a", "b").phrase
        'model: a → b'
        >>> SettingDifference("prompt", "Be brief.", "Be exact.", word_changes("Be brief.", "Be exact.")).phrase
        'prompt: 1 word removed, 1 added'
        """
        if self.words:
            removed, added = self._changed_words
            if removed or added:
                return f"{self.key}: {count_text(removed, 'word')} removed, {added:,} added"
            return f"{self.key}: spaces or signs"
        before, after = (_cut(short_digests(text)) for text in (self.before, self.after))
        return f"{self.key}: {before} → {after}"

    @property
    def short(self) -> str:
        """The same for one line with others: of a prompt only the counts, of a long text only that it came or went.

        >>> SettingDifference("prompt", "Be brief.", "Be exact.", word_changes("Be brief.", "Be exact.")).short
        'prompt -1 +1 words'
        """
        if self.words and any(self._changed_words):
            removed, added = self._changed_words
            return f"{self.key} -{removed:,} +{added:,} words"
        if "none" in {self.before, self.after} and _is_long(self.before + self.after):
            return f"{self.key} {'added' if self.before == 'none' else 'removed'}"
        return self.phrase

    @property
    def _changed_words(self) -> tuple[int, int]:
        """How many words were removed, and how many added."""
        removed, added = (
            sum(len(re.findall(r"[\u3400-\u9fff]|\w+", part.text)) for part in self.words if part.kind == kind)
            for kind in ("removed", "added")
        )
        return removed, added

    @property
    def marked(self) -> str:
        """What was removed as `[-text-]` and what was added as `{+text+}`, with some words around; "" without `words`.

        >>> SettingDifference("prompt", "", "", word_changes("Be brief now.", "Be exact now.")).marked
        'Be [-brief-]{+exact+} now.'
        """
        marks = {"removed": "[-{}-]", "added": "{{+{}+}}", "same": "{}"}
        return "".join(marks[kind].format(text) for kind, text in self.excerpt)

    @property
    def excerpt(self) -> tuple[WordChange, ...]:
        """`words` without the unchanged text that is far from a change."""
        last = len(self.words) - 1
        return tuple(
            part._replace(text=_shortened(part.text, is_first=index == 0, is_last=index == last))
            if part.kind == "same"
            else part
            for index, part in enumerate(self.words)
        )


def phrases_of(differences: Sequence[SettingDifference], *, most: int = 8) -> tuple[str, ...]:
    """A phrase for each setting that differs, and the number of those beyond `most`."""
    more = len(differences) - most
    phrases = [difference.phrase for difference in differences[:most]]
    return tuple([*phrases, f"and {more} more"] if more > 0 else phrases)


def without_digests(differences: Sequence[SettingDifference]) -> list[SettingDifference]:
    """The differences without the digests of files that another one names, so that one change is one line.

    >>> file = SettingDifference("knowledge.file", "none", "notes.md")
    >>> digest = SettingDifference("documents.notes.md", "none", 32 * "a")
    >>> [difference.key for difference in without_digests([file, digest])]
    ['knowledge.file']
    """
    named = [difference for difference in differences if not _DIGEST.search(f"{difference.before} {difference.after}")]
    values = {value for difference in named for value in (difference.before, difference.after)}
    parents = {difference.key.rpartition(".")[0] for difference in named}
    return [
        difference
        for difference in differences
        if difference in named
        or not ({difference.key.partition(".")[2]} & values or difference.key.rpartition(".")[0] in parents - {""})
    ]


def setting_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[SettingDifference, ...]:
    """In which settings two manifests differ: dataset, options, target and scorers, in this order.

    Args:
        before: the baseline's manifest.
        after: the other run's.

    >>> models = [{"target": {"prompt": {"model": {"openai_compatible": {"name": name}}}}} for name in ("a", "b")]
    >>> [difference.phrase for difference in setting_differences(*models)]
    ['model: a → b']
    """
    return (
        *_dataset_differences(before, after),
        *_option_differences(before, after),
        *target_differences(before.get("target"), after.get("target")),
        *scorer_differences(before.get("scorers"), after.get("scorers")),
    )


def target_differences(before: Any, after: Any) -> tuple[SettingDifference, ...]:
    """In which settings two targets differ, or two scorers, as their manifests describe them."""
    return tuple(_differences(_settings(before), _settings(after)))


def settings_of(described: Any) -> dict[str, str]:
    """The settings of a target or a scorer that have a value, by what they are called.

    >>> settings_of({"prompt": {"model": {"openai_compatible": {"name": "a", "api_key": ""}}, "text": "Be brief."}})
    {'target': 'prompt', 'kind of model': 'openai_compatible', 'model': 'a', 'prompt': 'Be brief.'}
    """
    settings = _settings(described)
    return {_name(path): _text(value) for path, value in settings.items() if _is_set(settings, path)}


def scorer_differences(before: Any, after: Any) -> tuple[SettingDifference, ...]:
    """In which scorers, or settings of scorers that both runs have, two runs differ.

    Args:
        before: the baseline's scorers as its manifest describes them, name -> description.
        after: the other run's.
    """
    first, second = mapping_or_empty(before), mapping_or_empty(after)
    if bool(first) != bool(second):
        return ()  # a run without scorers of its own is scored by another one
    removed, added = [name for name in first if name not in second], [name for name in second if name not in first]
    differences = []
    if removed or added:
        differences.append(SettingDifference("scorers", ", ".join(removed) or "none", ", ".join(added) or "none"))
    for name in first:
        if name in second and first[name] != second[name]:
            changes = target_differences(first[name], second[name])
            differences += [
                SettingDifference(f"{name}: {change.key}", change.before, change.after, change.words)
                for change in changes
            ]
    return tuple(differences)


def _dataset_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SettingDifference]:
    first, second = (mapping_or_empty(manifest.get("samples")) for manifest in (before, after))
    if first.get("digest") != second.get("digest"):
        sizes = [first.get("n"), second.get("n")]
        if sizes[0] == sizes[1]:
            yield SettingDifference("dataset", f"digest {first.get('digest')}", f"digest {second.get('digest')}")
        else:
            yield SettingDifference("dataset", f"{sizes[0]} samples", f"{sizes[1]} samples")


def _option_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SettingDifference]:
    first, second = (mapping_or_empty(manifest.get("options")) for manifest in (before, after))
    for key, (name, default) in _OPTIONS.items():
        values = first.get(key, default), second.get(key, default)
        if values[0] != values[1]:
            yield SettingDifference(name, str(values[0]), str(values[1]))


Settings = Mapping[tuple[str, ...], Any]
"""Path of keys -> value; the kind of a component is a setting of its own."""


def _settings(described: Any) -> dict[tuple[str, ...], Any]:
    """The settings of a described component."""
    if isinstance(described, Mapping):
        return dict(_component(described, ()))
    return {} if described is None else {(_KIND,): described}


def _component(described: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    kinds = list(described)
    if len(kinds) == 1 and isinstance(described[kinds[0]], Mapping):
        yield (*path, _KIND), kinds[0]
        yield from _fields(described[kinds[0]], path)
    else:
        yield from _fields(described, path)


def _fields(fields: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each setting below a mapping; of a prompt only the text, not the name or hash of its template."""
    for key, value in fields.items():
        if (key == "template" and ("text" in fields or not value)) or (key == "hash" and "text" in fields):
            continue
        below = (*path, str(key))
        if _is_prompt(key, value, fields, path):
            yield (*path, PROMPT), value
        elif key in _COMPONENTS and isinstance(value, Mapping):
            yield from _component(value, below)
        elif isinstance(value, Mapping):
            yield from _fields(value, below)
        else:
            yield below, value


def _is_prompt(key: str, value: Any, fields: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Whether a key holds the text of a prompt; in nested mappings `text` does only next to a template or hash."""
    if key == "text":
        return not path or "template" in fields or "hash" in fields
    return key == "template" or (key == PROMPT and isinstance(value, str))


def _differences(before: Settings, after: Settings) -> Iterator[SettingDifference]:
    """The settings that are not equal; of components of different kinds those that both have."""
    other_kind = before.get((_KIND,)) != after.get((_KIND,))
    paths = [path for path in dict.fromkeys([*before, *after]) if _is_set(before, path) or _is_set(after, path)]
    if other_kind:
        paths = [path for path in paths if path == (_KIND,) or (path in before and path in after)]
    changed = _summarized([path for path in paths if before.get(path) != after.get(path)])
    names = [_name(path) for path in changed]
    for path, name in zip(changed, names, strict=True):
        # Where two settings have one name, as the models of a judge and of its embeddings, the paths tell them apart.
        key = name if names.count(name) == 1 else ".".join(path)
        yield _difference(key, path, _value_at(before, path), _value_at(after, path))


def _summarized(paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The paths, and in place of many entries of one mapping (replies of a scripted model) the path of the mapping."""
    entries = Counter(path[:-1] for path in paths)
    return list(
        dict.fromkeys(path[:-1] if path[:-1] and entries[path[:-1]] > _MOST_ENTRIES else path for path in paths)
    )


def _value_at(settings: Settings, path: tuple[str, ...]) -> Any:
    """The value of a setting, or of a mapping the entries below it."""
    if path in settings:
        return settings[path]
    return {entry[-1]: value for entry, value in settings.items() if entry[:-1] == path} or None


def _is_set(settings: Settings, path: tuple[str, ...]) -> bool:
    """Whether a setting has a value: an empty one is the same as none."""
    return settings.get(path) not in (None, "", [], {})


def _difference(key: str, path: tuple[str, ...], before: Any, after: Any) -> SettingDifference:
    texts = [_text(before), _text(after)]
    is_prompt = path[-1] in {PROMPT, "system", "criteria"}
    if is_prompt and texts[0] and texts[1] and any(_is_long(text) for text in texts):
        return SettingDifference(key, texts[0], texts[1], word_changes(texts[0], texts[1]))
    return SettingDifference(key, texts[0] or "none", texts[1] or "none")


def _name(path: tuple[str, ...]) -> str:
    """What a setting is called.

    >>> _name(("model", "name")), _name(("model", "parameters", "temperature")), _name(("response", "text"))
    ('model', 'temperature', 'response.text')
    """
    path = tuple(key for key in path if key not in _TRANSPARENT) or path
    if path == (_KIND,):
        return "target"
    if path[-1] == PROMPT:
        return PROMPT
    for keys, name in _NAMES.items():
        if path[-len(keys) :] == keys:
            return name
    if path[0] == "model" and len(path) == 2:
        path = path[1:]
    return ".".join(path).replace("_", " ")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value) if any(map(_is_long, value)) else ", ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | Sequence) else str(value)


def _is_long(text: str) -> bool:
    return len(text) > _MOST_LETTERS or "\n" in text


def short_digests(text: str) -> str:
    """A text whose digests are cut to their first 8 digits, which tell two of them apart.

    >>> short_digests("digest 1fb5e07c28138a488bd67436b0f30b56")
    'digest 1fb5e07c'
    """
    return _DIGEST.sub(r"\1", text)


def _cut(text: str) -> str:
    return shortened(" ".join(text.split()), _MOST_LETTERS)


def word_changes(before: str, after: str) -> tuple[WordChange, ...]:
    """The words that were removed and added between two texts, in the order of the texts.

    Joined, the same and the removed pieces are `before`, and the same and the added ones are `after`.

    >>> [tuple(part) for part in word_changes("Be brief.", "Be exact.")]
    [('same', 'Be '), ('removed', 'brief'), ('added', 'exact'), ('same', '.')]
    """
    changes: list[WordChange] = []
    for lines, other_lines in _changed_blocks(_LINE.findall(before), _LINE.findall(after)):
        if lines == other_lines:
            changes.append(WordChange("same", lines))
            continue
        first, second = _TOKEN.findall(lines), _TOKEN.findall(other_lines)
        if max(len(first), len(second)) > _MOST_TOKENS:
            first, second = [lines], [other_lines]
        for removed, added in _changed_blocks(first, second):
            if removed == added:
                changes.append(WordChange("same", removed))
            else:
                changes += [WordChange("removed", removed)] if removed else []
                changes += [WordChange("added", added)] if added else []
    return tuple(_joined(changes))


def share_most_words(changes: Sequence[WordChange]) -> bool:
    """Whether two texts have half of their letters in common, so that their diff is easier to read than both texts.

    Args:
        changes: of both texts, see `word_changes`.

    >>> share_most_words(word_changes("Be brief.", "Be exact.")), share_most_words(word_changes("It is.", "It is so."))
    (False, True)
    """
    letters = dict.fromkeys(("same", "removed", "added"), 0)
    for kind, text in changes:
        letters[kind] += sum(map(str.isalnum, text))
    return 2 * letters["same"] >= letters["removed"] + letters["added"] and letters["same"] > 0


def _changed_blocks(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Blocks of both sequences in order: equal ones, and those that replace each other."""
    for _, low, high, other_low, other_high in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        yield "".join(first[low:high]), "".join(second[other_low:other_high])


def _joined(changes: Sequence[WordChange]) -> Iterator[WordChange]:
    """Neighbours of one kind as one piece."""
    for kind, parts in groupby(changes, lambda change: change.kind):
        yield WordChange(kind, "".join(part.text for part in parts))


def _shortened(text: str, *, is_first: bool, is_last: bool) -> str:
    """An unchanged piece, without what is far from a change."""
    tokens = _TOKEN.findall(text)
    head = [] if is_first else tokens[:_CONTEXT]
    tail = [] if is_last else tokens[-_CONTEXT:]
    if len(tokens) <= len(head) + len(tail):
        return text
    return f"{''.join(head)}…{''.join(tail)}"
