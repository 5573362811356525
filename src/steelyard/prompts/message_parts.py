"""Parts of a message's content that are not text, and the placeholders that are shown for them.

Images, sound and files go to models unchanged. Everywhere else a placeholder with the first digits of their SHA-256
replaces them, so that two pictures can be distinguished and megabytes of base64 are never part of a judge's prompt or
of a page. The forms of OpenAI (`image_url`, `input_image`, `input_audio`, `file`), of Anthropic (`image`, `document`
with a `source`) and of Gemini (`inline_data`) are recognised by their content, without a list of forms.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from steelyard.errors import shortened
from steelyard.plain_json import named_texts, with_texts

_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
_DATA_URL: Final = re.compile(r"data:(?P<media>[\w.+/-]*)(?:;[\w=.+-]+)*?(?P<base64>;base64)?,", re.ASCII)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}", re.ASCII)
_KINDS: Final = ("image", "audio", "video", "file", "document")
_SUFFIX_OF_MEDIA: Final = {"jpeg": "jpg", "svg+xml": "svg", "mpeg": "mp3", "x-wav": "wav", "plain": "txt"}
_LONGEST: Final = 256
"""Maximum characters of base64 that are shown: a hash or an id is shorter, a file is longer."""
_LONGEST_ADDRESS: Final = 80


def is_text_part(part: Any) -> bool:
    """Whether a part of a message's content is text."""
    return isinstance(part, str) or (
        isinstance(part, Mapping) and isinstance(part.get("text"), str) and str(part.get("type", "text")) in _TEXT_PARTS
    )


def is_typed_text(part: Any) -> bool:
    """Whether a part is text with an explicit type."""
    return isinstance(part, Mapping) and is_text_part(part) and isinstance(part.get("type"), str)


def has_other_parts(content: Any) -> bool:
    """Whether a message's content has parts that are not text."""
    return isinstance(content, list | tuple) and not all(map(is_text_part, content))


def shown_content(content: Any) -> str:
    r"""A message's content as text, with placeholders for parts that are not text.

    >>> shown_content([{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "a.png"}}])
    'What is this?\n[image a.png sha256:7f071235805f]'
    """
    if isinstance(content, str) or content is None:
        return content or ""
    if not isinstance(content, list | tuple):
        return json.dumps(without_files(content), ensure_ascii=False, default=str)
    shown: list[str] = []
    was_text = True
    for part in content:
        is_text = is_text_part(part)
        if shown and not (is_text and was_text) and not shown[-1].endswith("\n"):
            shown.append("\n")
        shown.append((part if isinstance(part, str) else part["text"]) if is_text else part_placeholder(part))
        was_text = is_text
    return "".join(shown)


def images_in(value: Any) -> list[Mapping[str, Any]]:
    """The parts of messages that are images, in order; empty for anything that is no list of messages.

    >>> picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}}
    >>> images_in([{"role": "user", "content": [{"type": "text", "text": "What?"}, picture]}]) == [picture]
    True
    """
    messages = value if isinstance(value, list | tuple) else ()
    contents = (message.get("content") for message in messages if isinstance(message, Mapping))
    return [
        part
        for content in contents
        for part in (content if isinstance(content, list | tuple) else ())
        if isinstance(part, Mapping) and "image" in str(part.get("type"))
    ]


def part_placeholder(part: Any) -> str:
    """A placeholder for a part that is not text: its kind, format, size or address, and a hash.

    >>> part_placeholder({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAECAwQF"}})
    '[image png 6 B sha256:17e88db187af]'
    """
    if not isinstance(part, Mapping):
        return json.dumps(without_files(part), ensure_ascii=False, default=str)
    kind = str(part.get("type") or "")
    media = next((known for known in _KINDS if known in kind.lower()), "")
    payload = _payload_of(part)
    if not media:
        media = payload.media.partition("/")[0]
        if kind or media not in _KINDS:
            body = json.dumps(without_files(part), ensure_ascii=False, separators=(",", ":"), default=str)
            return f"[{kind or 'part'} {body}]"
    return _placeholder(media, payload)


def without_files(value: Any) -> Any:
    """A plain value in which every text that is a base64 file is replaced by a placeholder.

    >>> without_files({"q": "What?", "image": "data:image/png;base64," + "AAEC" * 100})
    {'q': 'What?', 'image': '[image png 300 B sha256:c08ccfa22383]'}
    """
    return with_texts(value, _without_file)


def _without_file(text: str) -> str:
    if not (_DATA_URL.match(text) if len(text) > _LONGEST else None) and not _is_file(text):
        return text
    payload = _payload(text, "")
    kind = payload.media.partition("/")[0]
    return _placeholder(kind if kind in _KINDS else "file", payload)


def _is_file(text: str) -> bool:
    """Whether a text is a file as plain base64: long, with lower case, upper case and digits, unlike other texts."""
    kinds = (str.islower, str.isupper, str.isdigit)
    return (
        len(text) > 4 * _LONGEST
        and _BASE64.fullmatch(text.replace("\n", "")) is not None
        and all(any(map(kind, text)) for kind in kinds)
    )


class _Payload(NamedTuple):
    """The content of a part: size and hash of its bytes, or their address."""

    media: str
    name: str
    size: int
    digest: str
    address: str


def _placeholder(kind: str, payload: _Payload) -> str:
    form = payload.media.partition("/")[2] or payload.media.partition("/")[0]
    form = _SUFFIX_OF_MEDIA.get(form, form)
    words = [kind, form if form != kind else "", payload.name, _size_text(payload.size), payload.address]
    return f"[{' '.join(word for word in words if word)} sha256:{payload.digest[:12]}]"


def _payload_of(part: Mapping[str, Any]) -> _Payload:
    """The file of a part: its longest text is the file or its address; other fields give format and name."""
    media = name = longest = ""
    for key, text in named_texts(part):
        if key in {"media_type", "mime_type", "mimeType", "format"}:
            media = text
        elif key in {"filename", "file_name", "name", "title"}:
            name = text
        elif key not in {"type", "detail", "cache_control", "role"} and len(text) > len(longest):
            longest = text
    if not longest:
        body = json.dumps(part, ensure_ascii=False, sort_keys=True, default=str)
        return _Payload(media, name, 0, sha256(body.encode("utf-8", "surrogatepass")).hexdigest(), "")
    return _payload(longest, media)._replace(name=name)


def _payload(text: str, media: str) -> _Payload:
    """The content of a text: a data URL, base64, or the address of a file."""
    url = _DATA_URL.match(text)
    body = text[url.end() :] if url else text
    media = (url["media"] if url else "") or media
    raw = body.encode("utf-8", "surrogatepass")
    if (url and url["base64"]) or (not url and len(text) > _LONGEST and _BASE64.fullmatch(text.replace("\n", ""))):
        try:
            raw = b64decode(body.translate({ord("-"): "+", ord("_"): "/", ord("\n"): ""}) + "==")
        except (Base64Error, ValueError):
            raw = body.encode("utf-8", "surrogatepass")
    elif not url:
        return _Payload(media, "", 0, sha256(raw).hexdigest(), _address(text) if len(text) <= 4 * _LONGEST else "")
    return _Payload(media, "", len(raw), sha256(raw).hexdigest(), "")


def _address(text: str) -> str:
    """An address without its query, which may contain a key; long ones are cut."""
    parts = urlsplit(text) if "://" in text else None
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts else text
    return shortened(shown, _LONGEST_ADDRESS)


def _size_text(size: int) -> str:
    if not size:
        return ""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 999_500 else f"{size / 1_000_000:.1f} MB"
