"""What a store's own descriptions are good for: what its configuration would use, and scorers to score a run again.

A store is data of strangers. What a configuration in it would use is listed for a person to read (endpoints, keys,
headers, modules, files and budgets), from its text alone: no file is looked for and no module is imported. Of the
scorers that a run describes, only those of this package whose settings are plain values are built: one that needs a
model, a file or code takes those from a configuration of this person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from steelyard.building.build import Site, build, check_limits
from steelyard.building.nodes import from_plain, plain
from steelyard.config.targets import expanded
from steelyard.errors import ConfigError, boundary, shortened
from steelyard.escaping import visible
from steelyard.models.references import REFERENCE
from steelyard.prompts.template import looks_like_file, packaged_prompts
from steelyard.types import Scorer

_KINDS: Final = ("endpoints", "keys", "headers", "modules", "commands", "files", "budgets")
_OPENAI: Final = "https://api.openai.com/v1"
_ADDRESSES: Final[Mapping[str, str]] = {
    "anthropic": "https://api.anthropic.com/v1",
    "completions": _OPENAI,
    "embeddings": _OPENAI,
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
    "ollama": "http://127.0.0.1:11434/api",
    "openai_compatible": _OPENAI,
    "openai_responses": _OPENAI,
    "rerank": "https://api.cohere.com/v2",
}
"""Model -> the address that it calls where no `base_url` is written."""
_MODULES: Final = frozenset({"function", "langchain", "llama_index", "chain", "engine", "runnable"})
_FILES: Final = frozenset(
    {
        "baseline", "ca_file", "databases", "dataset", "documents", "file", "index", "knowledge", "model_config", "out",
        "preferences", "prices", "prompts", "reply", "samples", "schema", "store", "system", "template",
    }
)  # fmt: skip
"""Keys whose text is a file or folder, or may be one without looking like it: a private key has no suffix."""
_ALWAYS_FILES: Final = frozenset(
    {"answer_prompt", "documents", "model_config", "out", "questions_prompt", "questions_system"}
)
"""Those of a request to generate questions, whatever their text looks like."""
_DROPPED_IN_ADDRESSES: Final = str.maketrans("", "", "".join(map(chr, range(33))))
"""What parsers of addresses drop, so that `http:/`, a line break and `/host` is an address."""
_MOST: Final = 20
_LONGEST: Final = 120
_LONGEST_LINE: Final = 600


def stored_needs(stored: Any) -> list[str]:
    """A text for each kind of thing that a stored configuration would use, of several lines where it is long.

    Control characters are escaped.

    Args:
        stored: a plain value from a store.

    >>> stored_needs({"targets": {"a": {"http": {"url": "http://h/v1", "headers": {"X": "${KEY}"}}}}})
    ['endpoints: http://h/v1', 'keys: KEY', 'headers: X: ${KEY}']
    """
    return [f"{kind}: {_listed([*map(_shown, texts)])}" for kind, texts in _by_kind(stored).items() if texts]


def is_shown_whole(stored: Any) -> bool:
    """Whether `stored_needs` shows everything; a long list could hide the address that matters behind others."""
    kinds = _by_kind(stored).values()
    return all(len(texts) <= _MOST and all(len(text) <= _LONGEST for text in texts) for texts in kinds)


def _by_kind(stored: Any) -> dict[str, list[str]]:
    """The texts of each kind, each once."""
    texts: dict[str, dict[str, None]] = {kind: {} for kind in _KINDS}
    for kind, text in _found(stored):
        texts[kind][text] = None
    return {kind: list(each) for kind, each in texts.items()}


def _found(stored: Any) -> Iterator[tuple[str, str]]:
    """(kind, text) of everything in a stored configuration that it would use."""
    waiting: list[tuple[str, Any]] = [("", _without_matrix(stored))]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            # Under prompts, keys are names of the user's own.
            waiting += reversed([(key if key == "prompts" else name, part) for name, part in value.items()])
            yield from _unwritten(value)
            if key == "headers":
                with_keys = ((name, text) for name, text in value.items() if REFERENCE.search(str(text)))
                yield from (("headers", f"{name}: {text}") for name, text in with_keys)
            if key == "budget":
                yield from (("budgets", f"{name} {limit}") for name, limit in value.items())
        elif isinstance(value, list):
            waiting += [(key, element) for element in reversed(value)]
        elif key == "budget_calls" and value is not None:
            yield "budgets", f"calls {value}"
        elif isinstance(value, str):
            yield from _in_text(key, value)


def _without_matrix(stored: Any) -> Any:
    """A stored configuration with its matrix expanded: an address or a key's name may come together only there."""
    if not isinstance(stored, Mapping) or "matrix" not in stored:
        return stored
    try:
        return plain(expanded(from_plain(stored, "the store"))[0])
    except (ConfigError, RecursionError):
        return stored  # which cannot be built either


def _unwritten(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a mapping uses that no text in it says alone."""
    for name, part in value.items():
        if name == "command":
            yield "commands", " ".join(map(str, part)) if isinstance(part, list) else str(part)
        written = {**value, **part} if isinstance(part, Mapping) else value
        address = _OPENAI if name == "endpoint" and isinstance(part, Mapping) else _ADDRESSES.get(name)
        if address and not written.get("base_url"):
            yield "endpoints", address
        if name == "litellm" and not written.get("api_key"):
            yield "keys", "those that LiteLLM finds in the environment"


def _in_text(key: str, text: str) -> Iterator[tuple[str, str]]:
    yield from (("keys", name) for name in REFERENCE.findall(text))
    if "://" in text.translate(_DROPPED_IN_ADDRESSES) or (key == "proxy" and text):
        yield "endpoints", text
    elif key in _MODULES:
        yield "modules", text
    elif _may_be_file(key, text):
        yield "files", text


def _may_be_file(key: str, text: str) -> bool:
    if key in _ALWAYS_FILES:
        return bool(text)
    if not text or "\n" in text or "{{" in text or text in packaged_prompts():
        return False
    is_word = not any(character.isspace() for character in text)
    return looks_like_file(text) or "/" in text or (is_word and (key in _FILES or key.endswith("_template")))


def _shown(text: str) -> str:
    shown = visible(text[: _LONGEST + 1], keep="")  # unmasked: what is to be trusted must be seen
    return shortened(shown, _LONGEST)


def _listed(texts: list[str]) -> str:
    shown = [*texts[:_MOST], *([f"and {len(texts) - _MOST} more"] if len(texts) > _MOST else [])]
    # A long line of a message is cut in its middle (`errors.bounded`), where an address would be hidden.
    return (", " if sum(map(len, shown)) < _LONGEST_LINE else ",\n    ").join(shown)


def stored_scorers(described: Mapping[str, Any]) -> tuple[Scorer, ...]:
    """The scorers that a run's manifest describes; nothing is opened, imported or looked up for them.

    Args:
        described: stage -> `{name: {fields}}`, as `registry.describe` wrote it.

    Raises:
        ConfigError: one of them cannot be built from plain values alone; the message begins with its stage.
    """
    return tuple(_stored_scorer(stage, scorer) for stage, scorer in described.items())


def _stored_scorer(stage: str, described: Any) -> Scorer:
    if not isinstance(described, Mapping):
        raise ConfigError(f"{stage} needs code: {described!r:.80}")
    try:
        with boundary("config", stage):
            scorer: Scorer = build(Scorer, from_plain(described, "the store"), Site(Path(), stored=True))
            check_limits(scorer)
    except ConfigError as error:
        raise ConfigError(f"{stage}: {error.message}") from error
    return scorer
