"""One entry of the old configuration's `test_args` -> one target of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from steelyard.config.plain_yaml import SECRET, shown

Variables = dict[str, tuple[Any, ...]]
"""The matrix in the making: variable -> its values."""

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
class NewTarget:
    """A target as it is to be written; without `keys` it is only its notes, what could not be converted."""

    name: str
    kind: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def new_target(name: str, entry: Mapping[str, Any], variables: Variables) -> NewTarget:
    """The target for `entry`; lists in it become variables of the matrix.

    Args:
        name: of the entry; the target's as well.
        entry: its arguments.
        variables: the matrix so far; added to.
    """
    if _knowledge_base(entry) or ("url" in entry and "api_key" not in entry):
        return _endpoint(name, entry, variables)
    if "api_key" in entry and any(key in entry for key in ("model", "llm_models", "model_name")):
        return _chat_model(name, entry, variables)
    return NewTarget(name, notes=(f"Not converted: test_args {shown('', name)}: {shown('', entry)}",))


def _knowledge_base(entry: Mapping[str, Any]) -> bool:
    return "url" in entry and ("knowledge_base_name" in entry or "kb_name" in entry)


def _endpoint(name: str, entry: Mapping[str, Any], variables: Variables) -> NewTarget:
    third = "/kb_chat" in str(entry["url"]) or "kb_name" in entry
    names = _CHATCHAT_3 if third else _CHATCHAT_2
    body = {new: _value(name, old, entry[old], variables) for old, new in names.items() if old in entry}
    url, notes = _url(name, str(entry["url"]))
    notes += _left_out(entry, {"url", *names})
    if _knowledge_base(entry):
        keys = {"preset": "chatchat-0.3" if third else "chatchat-0.2", "url": url, "body": body}
        return NewTarget(name, "http", keys, {"knowledge_base": "yes"}, notes)
    body = {"query": "{{prompt}}", "history": "{{history}}", "stream": False, **body}
    text = "not_null(answer, text, choices[0].message.content, choices[0].delta.content)"
    keys = {"url": url, "body": body, "response": {"text": text, "error": "error || (code && code != `200` && msg)"}}
    return NewTarget(name, "http", keys, {"knowledge_base": "no"}, notes)


def _chat_model(name: str, entry: Mapping[str, Any], variables: Variables) -> NewTarget:
    model_key = next(key for key in ("model", "llm_models", "model_name") if key in entry)
    base_url, secret = _provider(name, entry)
    url_key = next((key for key in ("base_url", "api_base", "url") if key in entry), "")
    notes: tuple[str, ...] = ()
    if url_key:
        base_url, notes = _url(name, str(entry[url_key]).removesuffix("/").removesuffix("/chat/completions"))
    if not base_url:
        return NewTarget(name, notes=(f"Not converted, its address is not known: {shown('', {name: entry})}",))
    model = {"name": _value(name, model_key, entry[model_key], variables), "base_url": base_url}
    model["api_key"] = f"${{{secret}}}"
    given = {key: _value(name, key, entry[key], variables) for key in _PARAMETERS if key in entry}
    if given:
        model["parameters"] = given
    notes += (f"The key itself was not copied: set {secret} in the environment or in a file .env beside this one.",)
    notes += _left_out(entry, {"api_key", model_key, url_key, *_PARAMETERS})
    return NewTarget(name, "prompt", {"model": {"openai_compatible": model}}, {"knowledge_base": "no"}, notes)


def _provider(name: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Base address and variable of the key; the address is empty where nothing says whose model it is."""
    for pattern, base_url, secret in _PROVIDERS:
        if pattern.search(name) or pattern.search(str(entry.get("model", ""))):
            return base_url, secret
    return "", f"{_slug(name).upper()}_API_KEY"


def _value(label: str, key: str, value: Any, variables: Variables) -> Any:
    """A value for the new file; a list of several becomes a variable of the matrix, a list of one its entry."""
    if not isinstance(value, list) or key in {"history", "stop"}:
        return value
    values = tuple(dict.fromkeys(one if isinstance(one, str | int | float) else str(one) for one in value))
    if len(values) < 2:
        return values[0] if values else None
    variable = "llm_model" if key in {"llm_models", "model", "model_name"} else key
    if variables.get(variable, values) != values:
        variable = f"{_slug(label)}_{variable}"
    variables[variable] = values
    return f"{{{{{variable}}}}}"


def _url(label: str, url: str) -> tuple[str, tuple[str, ...]]:
    """The address without anything secret in it, and what is to be said about that."""
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
    rest = [key for key in entry if key not in used]
    return tuple(
        f"Not copied, it is a secret: {shown('', key)}"
        if SECRET.search(key)
        else f"Not converted: {shown('', key)}: {shown(key, entry[key])}"
        for key in rest
    )


def _slug(label: str) -> str:
    slug = re.sub(r"\W+", "_", label, flags=re.ASCII).strip("_")
    return slug if slug and not slug[0].isdigit() else f"target_{slug}".rstrip("_")
