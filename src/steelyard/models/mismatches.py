"""Marks answers that are complete and not what the configuration describes: an HTML page, a 404, JSON of another form.

A wrong address, path or response mapping gets one like it to every call. Two of them are equal if status, content type
and the keys of their JSON are: texts, ids and times differ from call to call. Until the first readable reply equal ones
to two samples end the run, and so does the eighth of any sort, see `limits.FirstReplies`; later such an answer may
concern one sample, or pass.
"""

# Why it is so, and what was rejected: docs/decisions/models-faults.md

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from steelyard.models.base import Answer, Fault, Model, Request
from steelyard.models.references import without_query
from steelyard.models.refusals import MISMATCH, alike, is_html, setting_named

_MOST_KEYS: Final = 12
"""Keys of a body that a message names."""
_MOST_COMPARED: Final = 60
_DEEPEST: Final = 4
_ROUTE: Final = re.compile(
    r"\b(?:this|the) (?:\S+ )?(?:route|endpoint)\b|API version|model identifier is", re.IGNORECASE
)
"""In the refusal of a model that is served at another address, such as one of another version or API."""
_OTHER_FIELDS: Final = (b":", b"event:", b"id:", b"retry:")
"""Lines of server-sent events that hold no JSON."""


def mismatch(fault: Fault, answer: Answer) -> Fault:
    """`fault`, marked as one of an answer that is complete and not what was configured."""
    content_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    page = "html" if is_page(answer) else ""
    keys = "" if page else alike(" ".join(sorted({*_paths(complete_values(answer), lists=False)})[:_MOST_COMPARED]))
    fault.refusal = MISMATCH
    fault.likeness = f"{answer.status} {content_type} {page or keys}"
    return fault


def said_nothing(fault: Fault) -> Fault:
    """`fault`, marked as one of an answer without a body or with null for the text.

    A model may answer one sample so, and an endpoint that starts: equal ones do not count more than others do.
    """
    fault.refusal, fault.likeness = MISMATCH, ""
    return fault


def is_page(answer: Answer) -> bool:
    """Whether the body is an HTML page."""
    start = answer.body[:1000].decode("utf-8", "replace").lstrip("\ufeff")
    is_markup = start.lstrip().startswith("<")
    return is_html(start) or (is_markup and "html" in answer.headers.get("content-type", "").lower())


def without_mapped_form(fault: Fault, answer: Answer) -> Fault:
    """`fault` of a body in the wrong form; marked if it is empty, HTML, plain text, or JSON in another form."""
    if not answer.body.strip():
        return said_nothing(fault)
    complete = is_page(answer) or _is_plain_text(answer) or complete_values(answer)
    return mismatch(fault, answer) if complete else fault


def _is_plain_text(answer: Answer) -> bool:
    """Whether the body says that it is plain text, and does not begin like JSON or an event, which may be cut off."""
    body = answer.body.lstrip()
    is_other = body.startswith((b"{", b"[", b'"', b"data:", *_OTHER_FIELDS))
    return bool(body) and not is_other and answer.headers.get("content-type", "").lower().startswith("text/plain")


def keys_named(values: Sequence[Any]) -> str:
    """The keys of a body's JSON for a message, in the form of an expression that finds them.

    >>> keys_named(({"text": "B", "data": {"ids": [{"n": 1}]}},))
    'the body has the keys text, data.ids[0].n'
    >>> keys_named(([],))
    'the body has no keys'
    """
    paths = list(dict.fromkeys(_paths(values, lists=True)))
    if not paths:
        return "the body has no keys"
    more = ", …" if len(paths) > _MOST_KEYS else ""
    return f"the body has the key{'s' if len(paths) > 1 else ''} {', '.join(paths[:_MOST_KEYS])}{more}"


def locate(fault: Fault, model: Model, request: Request) -> None:
    """Add to the message of a mismatch or redirect what address gave it, and to one of a key or name what to change."""
    if advice := _to_change(fault, model):
        fault.message = f"{fault.message}; {advice}"
        fault.args = (fault.message,)
    if fault.refusal != MISMATCH and not (fault.refusal and fault.kind == "bad_request"):
        return  # the second is a redirect, or about the version or region
    address = without_query(request.url)
    fault.message = f"{address}: {fault.message}{_advice(fault, model, address)}"
    fault.args = (fault.message,)


def _to_change(fault: Fault, model: Model) -> str:
    """The field of a model that an endpoint refuses; its likeness stays that of the server's words."""
    base_url = str(getattr(model, "base_url", ""))
    setting = setting_named(fault.message) if fault.kind in {"bad_request", "auth"} else ""
    if setting == "region" and base_url:
        return f"change base_url ({without_query(base_url)}) to that of a region that is served, or call from one"
    if setting == "version" and hasattr(model, "api_version"):
        return f"change api_version ({model.api_version or 'none is given'!r})"
    if fault.kind == "auth" and isinstance(key := getattr(model, "api_key", None), str):
        host = urlsplit(base_url).netloc.rpartition("@")[2]
        key = key or next((f"in headers: {name}" for name in _key_headers(model)), "none is given")
        return f"check api_key ({key}): is it a key of {host or 'this endpoint'}, and of its region?"
    if fault.kind == "unknown_model" and isinstance(name := getattr(model, "name", None), str):
        elsewhere = f", or base_url ({without_query(base_url)})" if base_url and _ROUTE.search(fault.message) else ""
        return f"change name ({name!r}){elsewhere}: it is not served here, or no longer"
    return ""


def _key_headers(model: Model) -> list[str]:
    """The headers of a model that hold its key."""
    return [name for name in getattr(model, "headers", {}) if name.lower() in {"authorization", "x-api-key", "api-key"}]


def _advice(fault: Fault, model: Model, address: str) -> str:
    base_url = getattr(model, "base_url", None)
    if fault.refusal != MISMATCH or not fault.likeness:
        return ""
    if not isinstance(base_url, str):
        if fault.kind == "empty" or not hasattr(model, "url"):
            return ""  # the message names the key of the mapping
        return "; check url and method" if fault.likeness.startswith("405") else "; check url"
    path = urlsplit(base_url).path.rstrip("/")
    call = address.removeprefix(without_query(base_url).rstrip("/"))
    if path.endswith(call) and call:
        return f"; base_url ends before {call}"
    if path.endswith("/api"):
        return "; check base_url"  # Ollama's own
    has_version = any(part[:1] == "v" and part[1:2].isdigit() for part in path.split("/"))
    if version := getattr(model, "api_version", ""):
        usual = f" and api_version ({version!r})"
    else:
        usual = "" if has_version else ", which usually ends in /v1"
    return f"; check base_url{usual}"


def complete_values(answer: Answer) -> tuple[Any, ...]:
    """The JSON values of a body in any form: one, one a line, or in server-sent events; none if it is not whole."""
    try:
        return (json.loads(answer.body),)
    except (ValueError, RecursionError):
        pass
    lines = (line.strip() for line in answer.body.splitlines())
    parts = [line.removeprefix(b"data:").strip() for line in lines if line and not line.startswith(_OTHER_FIELDS)]
    try:
        return tuple(json.loads(part) for part in parts if part != b"[DONE]")
    except (ValueError, RecursionError):
        return ()


def _paths(values: Sequence[Any], *, lists: bool) -> Iterator[str]:
    """Paths of the keys in JSON values.

    Args:
        values: of a body.
        lists: with the keys inside lists, of the first element, and of the innermost keys alone. Otherwise every key
            that is in no list: how many passages came must not make two answers differ.
    """
    for value in values:
        yield from _paths_in(value, "", _DEEPEST, lists)


def _paths_in(value: Any, prefix: str, depth: int, lists: bool) -> Iterator[str]:  # noqa: FBT001  # of `_paths`
    if isinstance(value, list) and value and lists and depth:
        yield from _paths_in(value[0], f"{prefix}[0]", depth - 1, lists)
    elif isinstance(value, Mapping) and value and depth:
        for key, inner in value.items():
            path = f"{prefix}.{key}" if prefix else str(key)
            if not lists:
                yield path
            yield from _paths_in(inner, path, depth - 1, lists)
    elif lists and prefix:
        yield prefix
