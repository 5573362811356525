"""Images and PDFs in the messages of a dataset: data URIs, or files under its folder, which become data URIs."""

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
_PDF: Final = "application/pdf"
_MAGIC: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": _PDF,
}
_DATA: Final = re.compile(r"data:(image/(?:png|jpeg|gif|webp)|application/pdf);base64,[A-Za-z0-9+/=\s]+", re.ASCII)
_IMAGE_PARTS: Final = frozenset({"image_url", "input_image"})


def with_images(messages: Sequence[Message], folder: Path | None) -> list[Message]:
    """The messages with every image and PDF as a data URI.

    Args:
        messages: those of a row.
        folder: of the dataset's file; None where rows come from no file.

    Raises:
        ConfigError: an address on the web, a file outside of the folder, or one that is neither.
    """
    return [
        {**message, "content": [_part(part, folder) for part in message["content"]]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def _part(part: Any, folder: Path | None) -> Any:
    if not isinstance(part, Mapping):
        return part
    if part.get("type") in _IMAGE_PARTS:
        given = part.get("image_url")
        if isinstance(given, Mapping):
            return {**part, "image_url": {**given, "url": _data_uri(given.get("url"), folder, "image")}}
        return {**part, "image_url": _data_uri(given, folder, "image")}
    file = part.get("file")
    if part.get("type") != "file" or not isinstance(file, Mapping):
        return part
    address = file.get("file_data")
    name = (
        {} if not isinstance(address, str) or address.startswith("data:") else {"filename": PurePosixPath(address).name}
    )
    return {**part, "file": {**name, **file, "file_data": _data_uri(address, folder, "PDF")}}


def _data_uri(address: Any, folder: Path | None, what: str) -> str:
    """An image or PDF as a data URI.

    Args:
        address: path of a file, or a data URI already.
        folder: of the dataset's file.
        what: `image` or `PDF`.
    """
    if not isinstance(address, str) or not address.strip():
        raise ConfigError(
            f"the {what} has no address: write the path of a file under the dataset's folder, or a data URI"
        )
    if address.startswith("data:"):
        found = _DATA.fullmatch(address)
        if found and (found[1] == _PDF) == (what == "PDF"):
            return address
        begins = "data:application/pdf;base64," if what == "PDF" else "data:image/png;base64, (or jpeg, gif, webp)"
        raise ConfigError(f"the data URI of the {what} must begin with {begins}")
    path = PurePosixPath(address)
    if "://" in address or path.is_absolute() or folder is None:
        raise ConfigError(
            f"the {what} must be a file under the dataset's folder or a data URI, and nothing is downloaded: "
            f"{address[:80]!r}"
        )
    file = folder / path
    require_within(folder, file)
    try:
        content = read_regular(file, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the {what} {address[:80]!r} cannot be read: {error}") from error
    media = _media(content)
    if media is None or (media == _PDF) != (what == "PDF"):
        raise ConfigError(f"{address[:80]!r} is no {'PDF' if what == 'PDF' else 'PNG, JPEG, GIF or WebP image'}")
    return f"data:{media};base64,{b64encode(content).decode()}"


def _media(content: bytes) -> str | None:
    """The media type of a file by its first bytes, whatever its name says; None for any other."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media for magic, media in _MAGIC.items() if content.startswith(magic)), None)
