"""Converts the JSON configuration of an older, widely copied knowledge-base exam script to commented YAML.

    {"sources": [xlsx, ...], "targets": [folder, ...], "prompt": {kind: template},
     "test_args": {name: {"url": ..., "knowledge_base_name": ..., "llm_models": [...], "prompt_name": [...], ...},
                   name: {"api_key": ..., "model": ...}}}

The result sends the same questions as that script: those of the sources that have a result folder at the same index,
with the first value of every list in `test_args`. The rest is in comments that can be uncommented. Nothing is dropped
silently: anything without an equivalent is named in a comment, a secret without its value.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from steelyard.config.conversion.result import SECRET, block, comment, escaped, flow, key_text, quoted, shown
from steelyard.data.paths import distinct_names
from steelyard.errors import ConfigError

_KNOWN: Final = ("sources", "targets", "prompt", "test_args")
_OLD_PLACE: Final = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_OURS: Final = MappingProxyType({"question": "question", "options": "options_as_list"})
"""Old placeholder -> ours that is filled with the same text: the script printed the options as a list."""
Variables = dict[str, tuple[Any, ...]]
"""The matrix being collected: variable -> its values."""

_CHATCHAT_2: Final = MappingProxyType(
    {"llm_models": "model_name", "llm_model": "model_name", "model": "model_name", "model_name": "model_name"}
    | {
        name: name
        for name in (
            "knowledge_base_name", "top_k", "score_threshold", "temperature", "max_tokens", "prompt_name", "history",
            "stream", "local_doc_url",
        )
    }
)  # fmt: skip
_CHATCHAT_3: Final = MappingProxyType(
    {old: "model" if new == "model_name" else new for old, new in _CHATCHAT_2.items() if old != "local_doc_url"}
    | {"knowledge_base_name": "kb_name", "kb_name": "kb_name", "mode": "mode", "return_direct": "return_direct"}
)
_PARAMETERS: Final = ("temperature", "top_p", "max_tokens", "seed", "presence_penalty", "frequency_penalty", "stop")
_PROVIDERS: Final = (
    (re.compile(r"zhipu|glm", re.IGNORECASE), "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY"),
    (re.compile(r"openai|gpt", re.IGNORECASE), "https://api.openai.com/v1", "OPENAI_API_KEY"),
)
_QUERY_SECRET: Final = re.compile(r"([?&][\w-]*(?:key|token|secret|password)[\w-]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _OldPrompt:
    """A template in our syntax, and its placeholders that have no value here."""

    kind: str
    template: str
    unknown: tuple[str, ...]


def convert(old: Mapping[str, Any], name: str) -> str:
    """Convert a configuration of the old script to commented YAML.

    Args:
        old: the old file's content.
        name: of the old file, for the first comment.

    Raises:
        ConfigError: it does not have that structure, or no entry can be converted to a target.
    """
    sources = _texts(old.get("sources"), "sources")
    folders = _texts(old.get("targets", []), "targets")
    prompts = [_prompt(kind, text) for kind, text in _mapping(old.get("prompt", {}), "prompt").items()]
    variables: Variables = {}
    targets = [
        _new_target(label, _mapping(entry, f"test_args.{label}"), variables)
        for label, entry in _mapping(old.get("test_args"), "test_args").items()
    ]
    if not any(target.keys for target in targets):
        raise ConfigError("test_args has no entry that can be a target: an entry needs a url, or api_key and model")
    parts = [
        _head(name, old),
        ["suite: choice", ""],
        _samples(sources, folders, [target.name for target in targets if target.keys]),
        _matrix(variables),
        ["targets:"],
        *(_target(target, prompts, variables) for target in targets),
        [
            comment(f"A target has one template; not used: {quoted(prompt.kind)}: {flow(prompt.template)}")
            for prompt in prompts[1:]
        ],
    ]
    return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"


def _head(name: str, old: Mapping[str, Any]) -> Iterator[str]:
    yield comment(f"Converted from {quoted(name)}. Review it, then try:")
    yield "#     steelyard check THIS_FILE"
    yield "#     steelyard run THIS_FILE --limit 5"
    for key, value in old.items():
        if key not in _KNOWN:
            yield comment(f"Not converted: {quoted(key)}: {shown(key, value)}")
    yield ""


def _samples(sources: Sequence[str], folders: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The sources that the old script used: as many as it has result folders, or all without folders."""
    used = sources[: len(folders)] if folders else sources
    unused = sources[len(used) :]
    yield "samples:"
    if len(sources) == 1:
        yield f"  file: {flow(sources[0])}"
    else:
        yield "  file:"
        yield from (f"    - {flow(path)}" for path in used)
    if unused:
        yield "    # The old script had no result folder for these and did not use them:"
        yield from (f"    # - {flow(path)}" for path in unused)
    yield "  # The old script read the columns by position; a header row is detected and skipped."
    yield '  columns: {question: A, options: "B:E", answer: F, group: G}'
    yield from _result_files(used, folders, names)
    yield ""


def _result_files(sources: Sequence[str], folders: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    if not folders:
        return
    yield "  # Result files as before, after a run:"
    runs = " ".join(shlex.quote(name) for name in names)
    labels = distinct_names([PurePath(path) for path in sources])
    for label, folder in zip_longest(labels, folders[: len(sources)]):
        of_source = f" --source {shlex.quote(label)}" if len(sources) > 1 else ""
        yield comment(f"    steelyard export {runs}{of_source} --json-dir {quoted(folder)}", "  ")
    for folder in folders[len(sources) :]:
        yield comment(f"There is no source for the result folder {quoted(folder)}.", "  ")


def _matrix(variables: Variables) -> Iterator[str]:
    if not variables:
        return
    yield "# The old script used only the first value of each list, and so does this file. To evaluate every"
    yield "# combination, each as a target of its own, uncomment the next lines, and replace each line below"
    yield "# that is followed by a commented one with the commented line."
    yield "# matrix:"
    for variable, values in variables.items():
        yield comment(f"  {variable}: {flow(list(values))}")
    yield ""


def _target(target: _NewTarget, prompts: Sequence[_OldPrompt], variables: Variables) -> Iterator[str]:
    yield from (comment(note, "  ") for note in target.notes)
    if not target.keys:
        return
    yield f"  {key_text(target.name)}:"
    yield f"    {target.kind}:"
    for name, value in target.keys.items():
        if isinstance(value, Mapping):
            yield f"      {name}:"
            for inner, inner_value in value.items():
                yield from _first_and_all(key_text(inner), inner_value, variables, "        ")
        else:
            yield from _first_and_all(name, value, variables, "      ")
    if prompts:
        yield from _template(prompts[0])
    elif target.kind == "prompt":
        yield "      template: zh/four_options"
    yield f"    tags: {flow(target.tags)}"


def _first_and_all(name: str, value: Any, variables: Variables, indent: str) -> Iterator[str]:
    """A key with the first value of each list, and as a comment the line that uses all values through the matrix."""
    first = _with_first(value, variables)
    yield f"{indent}{name}: {flow(first)}"
    if first != value:
        yield comment(f"{name}: {flow(value)}", indent)


def _with_first(value: Any, variables: Variables) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_first(member, variables) for name, member in value.items()}
    return variables[value[2:-2]][0] if isinstance(value, str) and value[2:-2] in variables else value


def _template(prompt: _OldPrompt) -> Iterator[str]:
    yield comment(f"prompt {quoted(prompt.kind)}; the options are filled in as before, ['A:...', 'B:...'].", "      ")
    for name in prompt.unknown:
        yield comment(f"{{{name}}} has no value here: it is sent unchanged.", "      ")
    yield from block({"template": prompt.template}, "      ")


def _prompt(kind: str, text: Any) -> _OldPrompt:
    r"""Convert a template of Python's `str.format` to our syntax: its doubled braces become single ones.

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
            parts += [escaped("".join(plain)), f"{{{{{_OURS[match[1]]}}}}}"]
            plain = []
        else:
            plain.append(match[0] if match[1] else match[0][0])
            unknown += [match[1]] if match[1] else []
    parts.append(escaped("".join([*plain, text[end:]])))
    return _OldPrompt(kind, "".join(parts), tuple(dict.fromkeys(unknown)))


def _texts(value: Any, what: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(
            f"{what}: expected a list of paths; only a configuration of the older format can be converted"
        )
    if not texts and what == "sources":
        raise ConfigError("sources names no file")
    return texts


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what}: expected a mapping; only a configuration of the older format can be converted")
    return value


@dataclass(frozen=True, slots=True)
class _NewTarget:
    """A target to be written; without `keys` only its notes are written, which say what was not converted."""

    name: str
    kind: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _new_target(name: str, entry: Mapping[str, Any], variables: Variables) -> _NewTarget:
    """The target for `entry`; lists in it become variables of the matrix.

    Args:
        name: name of the entry, and of the target.
        entry: its arguments.
        variables: the matrix so far; new variables are added to it.
    """
    if _knowledge_base(entry) or ("url" in entry and "api_key" not in entry):
        return _endpoint(name, entry, variables)
    if "api_key" in entry and any(key in entry for key in ("model", "llm_models", "model_name")):
        return _chat_model(name, entry, variables)
    return _NewTarget(name, notes=(f"Not converted: test_args {shown('', name)}: {shown('', entry)}",))


def _knowledge_base(entry: Mapping[str, Any]) -> bool:
    return "url" in entry and ("knowledge_base_name" in entry or "kb_name" in entry)


def _endpoint(name: str, entry: Mapping[str, Any], variables: Variables) -> _NewTarget:
    is_version_3 = "/kb_chat" in str(entry["url"]) or "kb_name" in entry
    names = _CHATCHAT_3 if is_version_3 else _CHATCHAT_2
    body = {new: _value(name, old, entry[old], variables) for old, new in names.items() if old in entry}
    url, notes = _url(name, str(entry["url"]))
    notes += _left_out(entry, {"url", *names})
    if _knowledge_base(entry):
        keys = {"preset": "chatchat-0.3" if is_version_3 else "chatchat-0.2", "url": url, "body": body}
        return _NewTarget(name, "http", keys, {"knowledge_base": "yes"}, notes)
    if not is_version_3 and urlsplit(url).path.endswith("/chat/chat"):
        keys = {"preset": "chatchat-0.2-chat", "url": url, "body": body}
        return _NewTarget(name, "http", keys, {"knowledge_base": "no"}, notes)
    body = {"query": "{{prompt}}", "history": "{{history}}", "stream": False, **body}
    text = "not_null(answer, text, choices[0].message.content, choices[0].delta.content)"
    keys = {"url": url, "body": body, "response": {"text": text, "error": "error || (code && code != `200` && msg)"}}
    return _NewTarget(name, "http", keys, {"knowledge_base": "no"}, notes)


def _chat_model(name: str, entry: Mapping[str, Any], variables: Variables) -> _NewTarget:
    model_key = next(key for key in ("model", "llm_models", "model_name") if key in entry)
    base_url, secret = _provider(name, entry)
    url_key = next((key for key in ("base_url", "api_base", "url") if key in entry), "")
    notes: tuple[str, ...] = ()
    if url_key:
        base_url, notes = _url(name, str(entry[url_key]).removesuffix("/").removesuffix("/chat/completions"))
    if not base_url:
        return _NewTarget(name, notes=(f"Not converted, its address is not known: {shown('', {name: entry})}",))
    model = {"name": _value(name, model_key, entry[model_key], variables), "base_url": base_url}
    model["api_key"] = f"${{{secret}}}"
    parameters = {key: _value(name, key, entry[key], variables) for key in _PARAMETERS if key in entry}
    if parameters:
        model["parameters"] = parameters
    notes += (f"The key itself was not copied: set {secret} in the environment or in a file .env next to this one.",)
    notes += _left_out(entry, {"api_key", model_key, url_key, *_PARAMETERS})
    return _NewTarget(name, "prompt", {"model": {"openai_compatible": model}}, {"knowledge_base": "no"}, notes)


def _provider(name: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Base address, and the name of the variable for the key; the address is "" if the provider is not known."""
    for pattern, base_url, secret in _PROVIDERS:
        if pattern.search(name) or pattern.search(str(entry.get("model", ""))):
            return base_url, secret
    return "", f"{_slug(name).upper()}_API_KEY"


def _value(label: str, key: str, value: Any, variables: Variables) -> Any:
    """A value for the new file; a list of several becomes a variable of the matrix, a list of one its entry."""
    if not isinstance(value, list) or key in {"history", "stop"}:
        return value
    values = tuple(dict.fromkeys(entry if isinstance(entry, str | int | float) else str(entry) for entry in value))
    if len(values) < 2:
        return values[0] if values else None
    variable = "llm_model" if key in {"llm_models", "model", "model_name"} else key
    if variables.get(variable, values) != values:
        variable = f"{_slug(label)}_{variable}"
    variables[variable] = values
    return f"{{{{{variable}}}}}"


def _url(label: str, url: str) -> tuple[str, tuple[str, ...]]:
    """The address without secrets, and notes on what was removed."""
    parts = urlsplit(url)
    notes: tuple[str, ...] = ()
    if "@" in parts.netloc:
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        notes += ("The user name and password in the url were not copied; use a header with a ${NAME}.",)
    secret = f"{_slug(label).upper()}_API_KEY"
    cleared = _QUERY_SECRET.sub(lambda match: f"{match[1]}${{{secret}}}", url)
    if cleared != url:
        notes += (f"The key in the url was not copied: set {secret} in the environment or in a file .env.",)
    return cleared, notes


def _left_out(entry: Mapping[str, Any], used: set[str]) -> tuple[str, ...]:
    unused = [key for key in entry if key not in used]
    return tuple(
        f"Not copied, it is a secret: {shown('', key)}"
        if SECRET.search(key)
        else f"Not converted: {shown('', key)}: {shown(key, entry[key])}"
        for key in unused
    )


def _slug(label: str) -> str:
    slug = re.sub(r"\W+", "_", label, flags=re.ASCII).strip("_")
    return slug if slug and not slug[0].isdigit() else f"target_{slug}".rstrip("_")
