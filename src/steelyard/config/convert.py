"""A JSON configuration of the widely copied knowledge-base exam script -> ours, as commented YAML.

    {"sources": [xlsx, ...], "targets": [folder, ...], "prompt": {kind: template},
     "test_args": {name: {"url": ..., "knowledge_base_name": ..., "llm_models": [...], "prompt_name": [...], ...},
                   name: {"api_key": ..., "model": ...}}}

Nothing is dropped without a word: what has no place here is named in a comment, a secret without its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.config.convert_targets import NewTarget, Variables, new_target
from steelyard.config.plain_yaml import flow, key, shown
from steelyard.errors import ConfigError
from steelyard.text.template import placeholders

_KNOWN: Final = ("sources", "targets", "prompt", "test_args")
_OLD_PLACE: Final = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_OURS: Final = ("question", "options")


@dataclass(frozen=True, slots=True)
class OldPrompt:
    """A template in our syntax, and the placeholders of it that nothing here fills."""

    kind: str
    template: str
    unknown: tuple[str, ...]


def convert(old: Mapping[str, Any], name: str) -> str:
    """Our configuration, as YAML with comments, for one of the old shape.

    Args:
        old: the old file's content.
        name: of the old file, for the first comment.

    Raises:
        ConfigError: it is not of that shape, or nothing in it can be asked.
    """
    sources = _texts(old.get("sources"), "sources")
    folders = _texts(old.get("targets", []), "targets")
    prompts = [_prompt(kind, text) for kind, text in _mapping(old.get("prompt", {}), "prompt").items()]
    variables: Variables = {}
    targets = [
        new_target(label, _mapping(entry, f"test_args.{label}"), variables)
        for label, entry in _mapping(old.get("test_args"), "test_args").items()
    ]
    if not any(target.keys for target in targets):
        raise ConfigError("test_args holds nothing that can be asked: an entry needs a url, or api_key and model")
    parts = [
        _head(name, old),
        ["suite: choice", ""],
        _samples(sources, folders),
        _matrix(variables),
        ["targets:"],
        *(_target(target, prompts) for target in targets),
        _other_prompts(prompts[1:]),
    ]
    return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"


def _head(name: str, old: Mapping[str, Any]) -> Iterator[str]:
    yield from _comment(f"Converted from {_quoted(name)}. Look through it, then try:")
    yield "#     steelyard check THIS_FILE"
    yield "#     steelyard run THIS_FILE --limit 5"
    for found, value in old.items():
        if found not in _KNOWN:
            yield from _comment(f"Not converted: {_quoted(found)}: {shown(found, value)}")
    yield ""


def _samples(sources: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    yield "samples:"
    yield f"  file: {flow(list(sources) if len(sources) > 1 else sources[0])}"
    yield "  # The old script read the columns by place; a header row is found and not asked."
    yield '  columns: {question: A, options: "B:E", answer: F, group: G}'
    for folder in folders:
        yield from _comment(f"Result files as before: steelyard export RUN --json-dir {_quoted(folder)}", "  ")
    yield ""


def _matrix(variables: Variables) -> Iterator[str]:
    if not variables:
        return
    yield "# One target for each combination. The old script asked only the first of each list:"
    yield "# delete the others to repeat just that."
    yield "matrix:"
    for variable, values in variables.items():
        yield f"  {variable}: {flow(list(values))}"
    yield ""


def _target(target: NewTarget, prompts: Sequence[OldPrompt]) -> Iterator[str]:
    for note in target.notes:
        yield from _comment(note, "  ")
    if not target.keys:
        return
    yield f"  {key(target.name)}:"
    yield f"    {target.kind}:"
    for name, value in target.keys.items():
        if isinstance(value, Mapping):
            yield f"      {name}:"
            yield from (f"        {key(inner)}: {flow(one)}" for inner, one in value.items())
        else:
            yield f"      {name}: {flow(value)}"
    if prompts:
        yield from _template(prompts[0])
    elif target.kind == "prompt":
        yield "      template: zh/four_options"
    yield f"    tags: {flow(target.tags)}"


def _template(prompt: OldPrompt) -> Iterator[str]:
    yield from _comment(f"prompt {_quoted(prompt.kind)}; the options are filled in as lines, A. B. C. D.", "      ")
    for name in prompt.unknown:
        yield from _comment(f"Nothing fills {{{name}}} here: it is sent as it stands.", "      ")
    lines = prompt.template.split("\n")
    if len(lines) > 1 and lines[0] and lines[-1] and all(_fits_block(line) for line in lines):
        yield "      template: |-"
        yield from (f"        {line}" if line else "" for line in lines)
    else:
        yield f"      template: {flow(prompt.template)}"


def _fits_block(line: str) -> bool:
    """Whether a line means itself in a block of YAML; Chinese text is indented by U+3000, which is no blank there."""
    return not line.startswith(" ") and line.replace("\u3000", "").isprintable()


def _other_prompts(prompts: Sequence[OldPrompt]) -> Iterator[str]:
    for prompt in prompts:
        yield from _comment(f"A target has one template; not used: {_quoted(prompt.kind)}: {flow(prompt.template)}")


def _prompt(kind: str, text: Any) -> OldPrompt:
    r"""A template of Python's `str.format` in our syntax: its doubled braces are single ones here.

    >>> _prompt("k", '{{"q": "{question}"}} {x}').template
    '{"q": "{{question}}"} {x}'
    """
    if not isinstance(text, str):
        raise ConfigError(f"prompt.{kind}: expected a text, not {shown(kind, text)}")
    parts: list[str] = []
    plain: list[str] = []
    unknown: list[str] = []
    end = 0
    for match in _OLD_PLACE.finditer(text):
        plain.append(text[end : match.start()])
        end = match.end()
        if match[1] in _OURS:
            parts += [_escaped("".join(plain)), f"{{{{{match[1]}}}}}"]
            plain = []
        else:
            plain.append(match[0] if match[1] else match[0][0])
            unknown += [match[1]] if match[1] else []
    parts.append(_escaped("".join([*plain, text[end:]])))
    return OldPrompt(kind, "".join(parts), tuple(dict.fromkeys(unknown)))


def _escaped(text: str) -> str:
    """Plain text that looks like one of our placeholders, written so that it stays text."""
    for _, start in reversed(placeholders(text)):
        end = text.index("}}", start) + 2
        text = f"{text[:start]}{{{{{text[start:end]}}}}}{text[end:]}"
    return text


def _quoted(text: str) -> str:
    return flow(str(text))


def _comment(text: str, indent: str = "") -> Iterator[str]:
    yield f"{indent}# {text}"


def _texts(value: Any, what: str) -> list[str]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ConfigError(f"{what}: expected a list of paths; this is not the configuration that can be converted")
    if not found and what == "sources":
        raise ConfigError("sources names no file")
    return found


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what}: expected a mapping; this is not the configuration that can be converted")
    return value
