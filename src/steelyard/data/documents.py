"""Documents of a knowledge base: Markdown and plain text, read whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard.data.encoding import examine_text
from steelyard.data.files import require_file
from steelyard.errors import ConfigError, DataError

MAX_DOCUMENT_BYTES: Final = 64_000_000
_SUFFIXES: Final = (".md", ".markdown", ".txt")


@dataclass(frozen=True, slots=True)
class Document:
    """A document's `name` (its file's) and its text, whose character offsets passages refer to."""

    name: str
    text: str


def read_document(path: Path) -> Document:
    r"""Read a .md or .txt file, in any encoding that tables are read in; line ends become "\n".

    Raises:
        ConfigError: there is no such file, or it is of another kind.
        DataError: it is empty, larger than `MAX_DOCUMENT_BYTES`, or no text.
    """
    require_file(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path.name}: documents are read from {', '.join(_SUFFIXES)}, not {path.suffix or 'that'}")
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        raise DataError(f"{path.name} has {size:,} bytes; a document may have {MAX_DOCUMENT_BYTES:,}")
    return Document(path.name, path.read_text(examine_text(path).encoding))
