"""promptfoo's prompts and providers: texts, messages and model entries of ours."""

from __future__ import annotations

import csv
import io
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
from steelyard.building.read import parse
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.promptfoo_tests import elements, entry, settings
from steelyard.config.conversion.result import SECRET, Notes
from steelyard.config.conversion.templates import names_in
from steelyard.errors import ConfigError
from steelyard.plain_json import parsed_or
from steelyard.prompts.template import looks_like_file

_KINDS: Final = frozenset(("chat", "messages", "completion", "completions", "responses"))
_OTHER_KINDS: Final = ("embedding:", "embeddings:", "realtime:", "image:", "moderation:", "assistant:")
_PARAMETERS: Final = (
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "presence_penalty"),
    *("frequency_penalty", "reasoning_effort", "response_format", "tools", "tool_choice", "logit_bias", "verbosity"),
)
_FUNCTION: Final = "my_system:answer"
_EMBEDDINGS: Final = "text-embedding-3-large"
_ENVIRONMENT: Final = re.compile(r"\{\{\s*env\.(\w+)\s*\}\}|\$\{(\w+)\}")
_DUMPED: Final = re.compile(r"\{\{\s*([^{}]+?)\s*\|\s*dump\s*\}\}")
_JSON_PATH: Final = re.compile(r"(?:json|data)\.?((?:\w|\.|\[\d+\])+)")


@dataclass(frozen=True, slots=True)
class ForeignPrompt:
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
        return names_in(f"{self.system}\n{self.text}\n{json.dumps(self.messages)}")


@dataclass(frozen=True, slots=True)
class Provider:
    """What answers: a model, an HTTP endpoint, or a function to be written.

    Args:
        name: what targets are called after it.
        kind: `openai_compatible`, `completions`, `scripted`, `http` or `function`.
        keys: of that kind.
        prompts: the labels of the prompts that it is asked with; None: all.
        transform: of its output.
        gives_json: whether promptfoo parses its output, before that.
    """

    name: str
    kind: str
    keys: Mapping[str, Any]
    prompts: tuple[str, ...] | None = None
    transform: str = ""
    gives_json: bool = False

    def takes(self, prompt: ForeignPrompt) -> bool:
        """Whether it is asked with a prompt, which it names by label, by file, or by how a label begins (`plain*`)."""
        labels = self.prompts or ()
        return self.prompts is None or any(
            f"{prompt.label}:".startswith(label[:-1] if label.endswith("*") else f"{label.removeprefix('file://')}:")
            for label in labels
        )


def slug(text: str, taken: Sequence[str], fallback: str) -> str:
    """A short name for files and tables that is none of those taken.

    >>> slug("openai:chat/x", ["openai-chat-x"], "model")
    'openai-chat-x-2'
    """
    short = re.sub(r"[^\w.]+", "-", text).strip("-.")[:40].strip("-.") or fallback
    names = [short, *(f"{short}-{number}" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)


def read_prompts(root: Node, foreign: ForeignFiles, notes: Notes) -> list[ForeignPrompt]:
    """All prompts, each of a file with several apart.

    Raises:
        ConfigError: there is none, one is code, or a file is not read.
    """
    given = entry(root, "prompts")
    if given is not None and isinstance(given.value, Mapping):
        nodes = [
            (str(key), str(plain(prompt_entry.node)), prompt_entry.key) for key, prompt_entry in given.entries.items()
        ]
    else:
        for node in elements(given):
            for key in sorted(settings(node).keys() - {"raw", "id", "label", "display"}):
                notes.add(f"{key} of a prompt. Instead: parameters of a model, or a target", node)
        named = [(entry(node, "raw", "id"), entry(node, "label"), node) for node in elements(given)]
        nodes = [(str((text or at).value), str(plain(label)) if label else "", at) for text, label, at in named]
    prompts: list[ForeignPrompt] = []
    for given_text, label, at in nodes:
        for origin, text in _texts(given_text, at, foreign):
            name = slug(label or Path(origin).stem, [prompt.name for prompt in prompts], "prompt")
            prompts.append(_prompt(name, label or origin or text, text, at))
    if not prompts:
        raise ConfigError("there are no prompts", root.location)
    return prompts


def _texts(given: str, at: Node, foreign: ForeignFiles) -> Iterator[tuple[str, str]]:
    """Each text, with the name of the file that it stands in."""
    if given.startswith("exec:"):
        raise ConfigError("a prompt made by a command is not run: write the text that it gives", at.location)
    is_pattern = "*" in given and "{{" not in given and "\n" not in given
    if not (given.startswith("file://") or is_pattern or looks_like_file(given)):
        yield "", given
        return
    for path in foreign.paths(given, at):
        text, suffix = foreign.text(path, at), path.suffix.lower()
        parts = [text]
        if suffix == ".txt":
            parts = [part.strip() for part in re.split(r"^[ \t]*---[ \t]*$", text, flags=re.MULTILINE)]
        elif suffix in {".yaml", ".yml"}:
            parts = [json.dumps(plain(parse(_quoted(text), str(path))), ensure_ascii=False)]
        elif suffix == ".jsonl":
            parts = text.split("\n")
        elif suffix == ".csv":
            parts = [row.get("prompt") or "" for row in csv.DictReader(io.StringIO(text, newline=""))]
        yield from ((path.relative_to(foreign.folder).as_posix(), part) for part in parts if part.strip())


def _quoted(text: str) -> str:
    """Messages in JSON or YAML whose values `{{ text | dump }}` are texts that name them."""
    return _DUMPED.sub(lambda match: json.dumps(f"{{{{{match[1]}}}}}"), text)


def _prompt(name: str, label: str, text: str, at: Node) -> ForeignPrompt:
    value: Any = None
    if text.lstrip().startswith("["):
        value = parsed_or(_quoted(text))
    elif text.lstrip().startswith("- role:"):
        value = ForeignFiles.parsed(_quoted(text), at)
    if value is None and "{%" in text and re.match(r"\s*(\[\s*\{|- role:)", text):
        raise ConfigError("messages that a block makes are not read: write them into a column of messages", at.location)
    if not isinstance(value, list) or not all(isinstance(turn, Mapping) and "role" in turn for turn in value):
        return ForeignPrompt(name, label, text, "", (), at)
    *first, last = (turn.get("content") for turn in value)
    roles = ["system" if turn["role"] == "developer" else turn["role"] for turn in value]
    if roles in (["user"], ["system", "user"]) and all(isinstance(content, str) for content in (*first, last)):
        return ForeignPrompt(name, label, last, "".join(first), (), at)
    return ForeignPrompt(name, label, "", "", value, at)


@cache
def _known() -> dict[str, list[str]]:
    text = files("steelyard").joinpath("config/conversion/promptfoo_providers.json").read_text(encoding="utf-8")
    known: dict[str, list[str]] = json.loads(text)
    return known


def read_providers(root: Node, foreign: ForeignFiles, notes: Notes) -> list[Provider]:
    """All providers that are models or HTTP endpoints; the others are noted, and a function stands for them alone."""
    nodes: list[Node] = []
    for node in elements(entry(root, "providers", "targets")):
        is_file = isinstance(node.value, str) and re.fullmatch(r"file://.*\.(ya?ml|json)", node.value)
        nodes += elements(foreign.tree(foreign.paths(node.value, node)[0], node)) if is_file else [node]
    providers: list[Provider] = []
    for node in nodes:
        if provider := provider_of(node, root, notes, [earlier.name for earlier in providers]):
            providers.append(provider)
    if not providers:
        notes.add(f"what answers. Instead: the function {_FUNCTION}, or another target; it is given the sample", root)
        providers.append(Provider("system", "function", {"function": _FUNCTION}))
    return providers


def _settings_of(provider: Node) -> dict[str, Any]:
    """The keys of a provider, also of one that is only named, or whose name is its one key."""
    given = settings(provider) or {"id": plain(provider)}
    if "id" in given or len(given) > 1:
        return given
    ((name, options),) = given.items()
    return {"id": name, **(options if isinstance(options, Mapping) else {})}


def provider_of(node: Node, root: Node, notes: Notes, taken: Sequence[str]) -> Provider | None:
    """A model or an HTTP endpoint; None, with a note, for anything else.

    Args:
        node: the provider.
        root: the configuration, whose `env` may give its address.
        notes: takes what is not taken over.
        taken: names that it cannot have.
    """
    given = _settings_of(node)
    name, config = str(given.get("id", "")), given.get("config") or {}
    if not isinstance(config, Mapping):
        raise ConfigError("config of a provider is a mapping", node.location)
    prompts = tuple(map(str, given["prompts"])) if isinstance(given.get("prompts"), list) else None
    transform, label = str(given.get("transform") or config.get("transform") or ""), str(given.get("label") or "")
    if name in {"http", "https"} or name.startswith(("http://", "https://")):
        keys = _http(name, config)
        if keys:
            return Provider(slug(label, taken, "http"), "http", keys, prompts, transform)
        notes.add(
            "an HTTP provider without a JSON body and a transformResponse as json.answer. Instead: a target http", node
        )
        return None
    if name == "echo":
        return Provider(slug(label, taken, "echo"), "scripted", {"echo": True}, prompts, transform)
    prefix, _, rest = name.partition(":")
    kind, _, model = rest.partition(":")
    kind, model = (kind, model) if kind in _KINDS else ("chat", rest)
    if prefix not in _known() or not model or rest.startswith(_OTHER_KINDS):
        notes.add(f"the provider {name[:60]!r}. Instead: a model of LiteLLM, or a function target", node)
        return None
    values = {key: config[key] for key in _PARAMETERS if config.get(key) is not None}
    parameters = {key: value for key, value in values.items() if "file://" not in json.dumps(value)}
    address = _address(prefix, config, root)
    for key in sorted(config.keys() - parameters - {"apiBaseUrl", "apiHost", "apiKey", "apiKeyEnvar", "transform"}):
        notes.add(f"config.{key} of a provider", node)
    for key in sorted(given.keys() - {"id", "config", "label", "prompts", "transform"}):
        notes.add(f"{key} of a provider", node)
    keys = {"name": model, **address, **({"parameters": parameters} if parameters else {})}
    form = "completions" if kind.startswith("completion") else "openai_compatible"
    json_types = ("json_schema", "json_object") if kind == "responses" else ("json_schema",)
    gives_json = any(f'"type": "{name}"' in json.dumps(parameters.get("response_format")) for name in json_types)
    return Provider(slug(label or model, taken, "model"), form, keys, prompts, transform, gives_json)


def embeddings_of(node: Node | None, notes: Notes, root: Node) -> dict[str, Any]:
    """The embeddings model of a provider such as `openai:embedding:NAME`; promptfoo's own where none is named."""
    given = settings(node) or {"id": plain(node) if node is not None else ""}
    prefix, _, rest = str(given.get("id", "")).partition(":")
    config = given.get("config") if isinstance(given.get("config"), Mapping) else {}
    if prefix not in _known() or not rest.startswith(("embedding:", "embeddings:")):
        notes.add(f"the tool's own choice of an embeddings model; here {_EMBEDDINGS}", root)
        prefix, rest, config = "openai", f"embedding:{_EMBEDDINGS}", {}
    return {"embeddings": {"name": rest.partition(":")[2], **_address(prefix, config or {}, root)}}


def _references(text: Any) -> str:
    """A text with promptfoo's names of environment variables as ours."""
    return _ENVIRONMENT.sub(lambda match: f"${{{match[1] or match[2]}}}", str(text))


def _address(prefix: str, config: Mapping[str, Any], root: Node) -> dict[str, str]:
    """The address and the name of the variable with the key; a key itself is never copied."""
    base_url, variable = _known()[prefix]
    env, service = settings(entry(root, "env")), variable.removesuffix("_API_KEY")
    if address := config.get("apiBaseUrl") or env.get(f"{service}_BASE_URL") or env.get(f"{service}_API_BASE_URL"):
        base_url = _references(address)
        is_open = urlsplit(base_url).hostname in {"127.0.0.1", "localhost", "::1"} and not config.get("apiKey")
        variable = "" if is_open else variable
    elif config.get("apiHost"):
        base_url = f"https://{_references(config['apiHost'])}/v1"
    written = _ENVIRONMENT.fullmatch(str(config.get("apiKey", "")))
    variable = str(config.get("apiKeyEnvar") or (written and (written[1] or written[2])) or variable)
    return {"base_url": base_url.rstrip("/"), **({"api_key": f"${{{variable}}}"} if variable else {})}


def _http(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of an endpoint whose answer is at a path of its JSON; none where it is of another kind."""
    answer = _JSON_PATH.fullmatch(str(config.get("transformResponse") or "").strip())
    body, headers = config.get("body"), config.get("headers") or {}
    if answer is None or not isinstance(body, Mapping) or not isinstance(headers, Mapping) or "request" in config:
        return {}
    sent = {str(key): _references(value) for key, value in headers.items()}
    kept = {
        key: value
        for key, value in sent.items()
        if "${" in value or not (SECRET.search(key) or key.lower() in {"authorization", "cookie"})
    }
    return {
        "url": _references(config.get("url") or name),
        "method": str(config.get("method", "POST")),
        **({"headers": kept} if kept else {}),
        "body": json.loads(re.sub(r"\{\{\s*(\w+)\s*\}\}", r"{{\1}}", json.dumps(body))),
        "response": {"text": answer[1]},
    }
