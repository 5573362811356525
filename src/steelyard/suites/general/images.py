"""Images in the messages of a dataset: data URIs, or files under its folder, which become data URIs; nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.files import read_regular, require_within
from steelyard.types import Message

_MOST_BYTES: Final = 20_000_000
_MAGIC: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF87a": "gif",
    b"GIF89a": "gif",
}
_DATA: Final = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+", re.ASCII)
_IMAGE_PARTS: Final = frozenset({"image_url", "input_image"})


def with_images(messages: Sequence[Message], folder: Path | None) -> list[Message]:
    """The messages with every image as a data URI.

    Args:
        messages: those of a row.
        folder: of the dataset's file; None where rows come from no file.

    Raises:
        ConfigError: an address on the web, a file outside of the folder, or one that is no image.
    """
    return [
        {**message, "content": [_part(part, folder) for part in message["content"]]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def _part(part: Any, folder: Path | None) -> Any:
    if not isinstance(part, Mapping) or part.get("type") not in _IMAGE_PARTS:
        return part
    given = part.get("image_url")
    if isinstance(given, Mapping):
        return {**part, "image_url": {**given, "url": _data_uri(given.get("url"), folder)}}
    return {**part, "image_url": _data_uri(given, folder)}


def _data_uri(address: Any, folder: Path | None) -> str:
    if not isinstance(address, str) or not address.strip():
        raise ConfigError("an image has no address: write the path of a file under the dataset's folder, or a data URI")
    if address.startswith("data:"):
        if _DATA.fullmatch(address):
            return address
        raise ConfigError("an image's data URI begins with data:image/png;base64, (or jpeg, gif, webp)")
    path = PurePosixPath(address)
    if "://" in address or path.is_absolute() or folder is None:
        raise ConfigError(
            f"an image is a file under the dataset's folder or a data URI, and nothing is downloaded: {address[:80]!r}"
        )
    file = folder / path
    require_within(folder, file)
    try:
        content = read_regular(file, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the image {address[:80]!r} cannot be read: {error}") from error
    return f"data:image/{_kind(content, address)};base64,{b64encode(content).decode()}"


def _kind(content: bytes, address: str) -> str:
    """The kind of an image by its first bytes, whatever its name says."""
    kind = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), "")
    if not kind and content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "webp"
    if not kind:
        raise ConfigError(f"{address[:80]!r} is no PNG, JPEG, GIF or WebP image")
    return kind
