"""promptfoo's prompts and providers: texts, messages and model entries of ours."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from steelyard.building.nodes import Node, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.promptfoo_tests import elements, entry
from steelyard.config.conversion.result import Notes
from steelyard.config.conversion.templates import names_in
from steelyard.errors import ConfigError
from steelyard.prompts.template import looks_like_file

_KINDS: Final = frozenset({"chat", "messages", "completion", "completions", "responses"})
_PARAMETERS: Final = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "presence_penalty"),
    *("frequency_penalty", "reasoning_effort", "response_format", "tools", "tool_choice", "logit_bias", "verbosity"),
)
_READ: Final = frozenset({*_PARAMETERS, "apiBaseUrl", "apiHost", "apiKey", "apiKeyEnvar"})
_ENVIRONMENT: Final = re.compile(r"\{\{\s*env\.(\w+)\s*\}\}|\$\{(\w+)\}")
_DUMPED: Final = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\|\s*dump\s*\}\}")
_JSON_PATH: Final = re.compile(r"(?:json|data)((?:\.\w+|\[\d+\])+)")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: one text, with a system message before it, or messages with several turns.

    Args:
        name: what targets are called after it.
        label: what promptfoo calls it.
        text: the template, in promptfoo's syntax.
        system: likewise.
        messages: instead of both, where there are other turns.
        at: where it stands.
    """

    name: str
    label: str
    text: str
    system: str
    messages: Sequence[Mapping[str, Any]]
    at: Node

    @property
    def names(self) -> list[str]:
        """The variables that it uses, in order."""
        texts = [self.system, self.text, *(as_json(message) for message in self.messages)]
        return [name for text in texts for name in names_in(text)]


@dataclass(frozen=True, slots=True)
class Provider:
    """What answers: a model, or an HTTP endpoint.

    Args:
        name: what targets are called after it.
        kind: `openai_compatible`, `completions` or `http`.
        keys: of that kind.
        prompts: the labels of the prompts that it is asked with; None: all.
        transform: of its output.
    """

    name: str
    kind: str
    keys: Mapping[str, Any]
    prompts: tuple[str, ...] | None = None
    transform: str = ""


def as_json(value: Any) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def slug(text: str, taken: Sequence[str], fallback: str) -> str:
    """A short name for files and tables that is none of those taken.

    >>> slug("openai:chat/x", ["openai-chat-x"], "model")
    'openai-chat-x-2'
    """
    short = re.sub(r"[^\w.]+", "-", text).strip("-.")[:40].strip("-.") or fallback
    number = next(no for no in range(1, len(taken) + 2) if (short if no == 1 else f"{short}-{no}") not in taken)
    return short if number == 1 else f"{short}-{number}"


def read_prompts(root: Node, foreign: ForeignFiles) -> list[Prompt]:
    """All prompts, each of a file with several apart.

    Raises:
        ConfigError: there is none, one is code, or a file is not read.
    """
    found: list[Prompt] = []
    given = entry(root, "prompts")
    if given is not None and isinstance(given.value, Mapping):
        nodes = [(str(key), str(plain(one.node)), one.key) for key, one in given.entries.items()]
    else:
        nodes = []
        for node in elements(given):
            inner = entry(node, "raw", "id") if isinstance(node.value, Mapping) else node
            label = entry(node, "label") if isinstance(node.value, Mapping) else None
            if inner is None or not isinstance(inner.value, str):
                raise ConfigError("a prompt is a text, a file, or a mapping with id and label", node.location)
            nodes.append((inner.value, str(plain(label)) if label else "", node))
    for text, label, place in nodes:
        for origin, single in _texts(text, place, foreign):
            stem = label or (Path(origin).stem if origin else "")
            name = slug(stem, [prompt.name for prompt in found], "prompt")
            found.append(_prompt(name, label or (origin and f"{origin}: {single}") or single, single, place))
    if not found:
        raise ConfigError("there are no prompts", root.location)
    return found


def _texts(given: str, at: Node, foreign: ForeignFiles) -> Iterator[tuple[str, str]]:
    """Each text, with the file that it stands in."""
    if given.startswith("exec:"):
        raise ConfigError("a prompt made by a command is not run: write the text that it gives", at.location)
    is_pattern = "*" in given and "{{" not in given and "\n" not in given
    if not (given.startswith("file://") or is_pattern or looks_like_file(given)):
        yield "", given
        return
    for path in foreign.paths(given, at):
        text, suffix = foreign.text(path, at), path.suffix.lower()
        if suffix == ".csv":
            rows = csv.DictReader(text.split("\n"))
            parts = (
                [row["prompt"].strip() for row in rows if row.get("prompt")]
                if "prompt" in (rows.fieldnames or ())
                else text.split("\n")
            )
        elif suffix == ".txt":
            parts = [part.strip() for part in re.split(r"^[ \t]*---[ \t]*$", text, flags=re.MULTILINE)]
        elif suffix in {".yaml", ".yml"}:
            parts = [as_json(plain(foreign.tree(path, at)))]
        else:
            parts = text.split("\n") if suffix == ".jsonl" else [text]
        yield from ((path.name, part) for part in parts if part.strip())


def _prompt(name: str, label: str, text: str, at: Node) -> Prompt:
    chat = _DUMPED.sub(lambda match: as_json(f"{{{{{match[1]}}}}}"), text) if text.lstrip().startswith("[") else text
    value: Any = None
    if chat.lstrip().startswith(("[", "{")):
        try:
            value = json.loads(chat)
        except (ValueError, RecursionError):
            value = None
    elif chat.lstrip().startswith("- role:"):
        value = ForeignFiles.parsed(chat, at)
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and "role" in one for one in value):
        return Prompt(name, label, text, "", (), at)
    roles = [one["role"] for one in value]
    contents = [one.get("content") for one in value]
    if roles in (["user"], ["system", "user"], ["developer", "user"]) and all(isinstance(one, str) for one in contents):
        return Prompt(name, label, contents[-1], contents[0] if len(contents) > 1 else "", (), at)
    return Prompt(name, label, "", "", value, at)


@cache
def _known() -> dict[str, list[str]]:
    text = files("steelyard").joinpath("config/conversion/promptfoo_providers.json").read_text(encoding="utf-8")
    known: dict[str, list[str]] = json.loads(text)
    return known


def read_providers(root: Node, foreign: ForeignFiles, notes: Notes) -> list[Provider]:
    """All providers that are models or HTTP endpoints; the others are noted.

    Raises:
        ConfigError: there is none that can be asked.
    """
    found: list[Provider] = []
    nodes = [part for one in elements(entry(root, "providers", "targets")) for part in _loaded(one, foreign)]
    for node in nodes:
        provider = provider_of(node, notes, [one.name for one in found])
        found += [provider] if provider else []
    if not found:
        raise ConfigError(
            f"none of {len(nodes)} providers is a model or an HTTP endpoint; those that are code become a function target",
            root.location,
        )
    return found


def _loaded(node: Node, foreign: ForeignFiles) -> tuple[Node, ...]:
    if (
        isinstance(node.value, str)
        and node.value.startswith("file://")
        and node.value.endswith((".yaml", ".yml", ".json"))
    ):
        return elements(foreign.one(node.value, node))
    return (node,)


def provider_of(node: Node, notes: Notes, taken: Sequence[str]) -> Provider | None:
    """A model or an HTTP endpoint; None, with a note, for anything else."""
    given = plain(node)
    if isinstance(given, Mapping) and "id" not in given and len(given) == 1:
        ((name, options),) = given.items()
        given = {"id": name, **(options if isinstance(options, Mapping) else {})}
    given = given if isinstance(given, Mapping) else {"id": given}
    name, config = str(given.get("id", "")), given.get("config") or {}
    if not isinstance(config, Mapping):
        raise ConfigError("config of a provider is a mapping", node.location)
    prompts = tuple(map(str, given["prompts"])) if isinstance(given.get("prompts"), list) else None
    transform = str(given.get("transform") or config.get("transform") or "")
    label = str(given.get("label") or "")
    if name in {"http", "https"} or name.startswith(("http://", "https://")):
        named = Provider(slug(label or "http", taken, "http"), "http", {}, prompts, transform)
        return _endpoint(name, config, (node, notes), named)
    prefix, _, rest = name.partition(":")
    kind, _, model = rest.partition(":")
    if kind not in _KINDS:
        kind, model = "chat", rest
    if (
        prefix not in _known()
        or not model
        or rest.startswith(("embedding:", "realtime:", "image:", "moderation:", "assistant:"))
    ):
        notes.add(
            f"the provider {name[:60]!r}; a function target, or a model of LiteLLM ({{litellm: PROVIDER/NAME}})", node
        )
        return None
    for key in sorted(config.keys() - _READ - {"transform"}):
        notes.add(f"config.{key} of a provider", node)
    for key in sorted(given.keys() - {"id", "config", "label", "prompts", "transform"}):
        notes.add(f"{key} of a provider", node)
    keys = {"name": model, **_address(prefix, config), **_parameters(config, node, notes)}
    return Provider(
        slug(label or model, taken, "model"),
        "completions" if kind.startswith("completion") else "openai_compatible",
        keys,
        prompts,
        transform,
    )


def _address(prefix: str, config: Mapping[str, Any]) -> dict[str, str]:
    """The address and the name of the variable with the key; a key itself is never copied."""
    base_url, variable = _known()[prefix]
    if config.get("apiBaseUrl"):
        base_url = str(config["apiBaseUrl"])
        variable = "" if urlsplit(base_url).hostname in {"127.0.0.1", "localhost", "::1"} else variable
    elif config.get("apiHost"):
        base_url = f"https://{config['apiHost']}/v1"
    written = _ENVIRONMENT.fullmatch(str(config.get("apiKey", "")))
    variable = str(config.get("apiKeyEnvar") or (written and (written[1] or written[2])) or variable)
    return {
        "base_url": _ENVIRONMENT.sub(lambda match: f"${{{match[1] or match[2]}}}", base_url).rstrip("/"),
        **({"api_key": f"${{{variable}}}"} if variable else {}),
    }


def _parameters(config: Mapping[str, Any], node: Node, notes: Notes) -> dict[str, Any]:
    values = {key: config[key] for key in _PARAMETERS if config.get(key) is not None}
    for key in [key for key, value in values.items() if "file://" in as_json(value)]:
        notes.add(f"config.{key} of a provider, which is in a file", node)
        del values[key]
    return {"parameters": values} if values else {}


def _endpoint(name: str, config: Mapping[str, Any], place: tuple[Node, Notes], provider: Provider) -> Provider | None:
    """An HTTP endpoint whose answer is at a path of its JSON."""
    node, notes = place
    answer = _JSON_PATH.fullmatch(str(config.get("transformResponse") or config.get("responseParser") or "").strip())
    body = config.get("body")
    if answer is None or not isinstance(body, Mapping) or "request" in config:
        notes.add(
            "an HTTP provider without a body of JSON and a transformResponse such as json.answer; the target http", node
        )
        return None
    headers = {}
    for key, value in (config.get("headers") or {}).items():
        if key.lower() in {"authorization", "cookie"} or "key" in key.lower() or "token" in key.lower():
            if not _ENVIRONMENT.search(str(value)):
                notes.add(f"the header {key}, a secret; write it as ${{NAME}}", node)
                continue
        headers[str(key)] = _ENVIRONMENT.sub(lambda match: f"${{{match[1] or match[2]}}}", str(value))
    url = str(config.get("url") or name)
    filled = json.loads(re.sub(r"\{\{\s*(\w+)\s*\}\}", r"{{\1}}", as_json(body)))
    keys = {
        "url": url,
        "method": config.get("method", "POST"),
        **({"headers": headers} if headers else {}),
        "body": filled,
        "response": {"text": answer[1].removeprefix(".")},
    }
    return Provider(provider.name, "http", keys, provider.prompts, provider.transform)
