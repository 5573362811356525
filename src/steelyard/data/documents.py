"""Documents of a knowledge base: PDF, Word, presentations, HTML, Markdown and plain text, read whole.

The offsets of passages and sources count characters of a document's text as returned here.

Word documents and presentations (.docx, .pptx) are unpacked by a process of its own, without a library: their text is
in a few kinds of elements, and python-docx and python-pptx build a tree of the whole file, read no text boxes, and
bring lxml with them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from steelyard.data.documents_html import html_text
from steelyard.data.documents_pdf import read_pdf
from steelyard.data.encoding import examine_text
from steelyard.data.limited_process import json_lines_of
from steelyard.data.paths import files_below, require_file
from steelyard.errors import ConfigError, DataError, some_of

_OFFICE_READER: Final = "steelyard.data.documents_office_process"
_MEMORY_BYTES: Final = 1 << 30
_SECONDS: Final = 120.0
_WHY: Final = {"encrypted": "cannot be opened", "damaged": "is damaged", "large": "is too large"}


def read_office(path: Path, *, timeout_s: float = _SECONDS) -> tuple[str, tuple[int, ...], str]:
    """The text of a document or presentation, the offsets at which its slides begin, and what is not read of it.

    Args:
        path: an existing file.
        timeout_s: limit in seconds.

    Raises:
        DataError: it is encrypted, damaged, too large or too slow to read.
    """
    (result,) = json_lines_of(_OFFICE_READER, path, _MEMORY_BYTES, timeout_s)[-1:] or (None,)
    if not isinstance(result, dict):
        raise DataError(f"{path.name} could not be read: nothing arrived")
    if "error" in result:
        raise DataError(f"{path.name} {_WHY[result['error']]}: {result['message']}")
    pages = result["pages"]
    unread = ", ".join(result["unread"])
    if path.suffix.lower() == ".docx":
        return "\n\n".join(pages), (), unread
    text, starts = "", []
    for page in pages:
        gap = "\n\n" if text and page else ""
        starts.append(len(text) + len(gap))
        text += gap + page
    # A slide without text has the offset of the next one, as a page of a PDF has.
    for at in range(len(pages) - 2, -1, -1):
        starts[at] = starts[at] if pages[at] else starts[at + 1]
    return text, tuple(starts), unread


MAX_DOCUMENT_BYTES: Final = 64_000_000
MAX_DOCUMENTS: Final = 10_000
"""Maximum number of files of a knowledge base; a folder with more is probably the wrong one."""

SUFFIXES: Final = (".pdf", ".docx", ".pptx", ".md", ".markdown", ".txt", ".html", ".htm")
_PAGES: Final = frozenset({".html", ".htm"})
_OFFICE: Final = frozenset({".docx", ".pptx"})
_MOST_NAMED: Final = 100
_DECLARED: Final = re.compile(rb"""<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w.:-]{1,40})""", re.IGNORECASE)
_CHARSETS: Final = frozenset({
    "iso-8859-1", "iso-8859-2", "iso-8859-15", "latin1", "us-ascii", "windows-1250", "windows-1251", "windows-1252",
    "windows-1253", "windows-1254", "koi8-r", "shift_jis", "euc-jp", "euc-kr", "big5",
})  # fmt: skip
"""Charsets that are used if a page declares them; UTF-8, UTF-16 and GB18030 are detected without a declaration."""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one document, and where its pages begin.

    Args:
        name: its file's name, with parent folders if several files have the same name.
        text: its text; passages refer to its character offsets.
        pages: offset at which each page begins, ascending; empty without pages.
        unread: what it holds beside its text and is not read, such as `charts, headers`.
    """

    name: str
    text: str
    pages: tuple[int, ...] = ()
    unread: str = ""

    def page_at(self, offset: int) -> int | None:
        r"""The 1-based page of a character; None without pages.

        >>> [Document("a.pdf", "One\n\nTwo", (0, 5)).page_at(offset) for offset in (0, 4, 5)]
        [1, 1, 2]
        """
        return bisect_right(self.pages, offset) if self.pages else None

    @property
    def empty_pages(self) -> tuple[int, ...]:
        r"""The 1-based pages that have no text.

        >>> Document("a.pdf", "One\n\nThree", (0, 5, 5)).empty_pages
        (2,)
        """
        ends = [*self.pages[1:], len(self.text)]
        return tuple(no for no, (start, end) in enumerate(zip(self.pages, ends, strict=False), start=1) if start == end)


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """Documents, and a note on everything that was found beside them and is not in them.

    Args:
        documents: in order.
        notes: files of a folder and parts of documents that were not read, and pages without text.
    """

    documents: tuple[Document, ...]
    notes: tuple[str, ...] = ()


def read_document(path: Path) -> Document:
    r"""Read a .pdf, .docx, .pptx, .md, .txt or .html file; text in any encoding of tables; line ends become "\n".

    Raises:
        ConfigError: there is no such file, or it is of another kind.
        DataError: it is empty, larger than `MAX_DOCUMENT_BYTES`, damaged, encrypted, or holds no text.
    """
    document = _read(path)
    if reason := _reason_of_no_text(document, path):
        raise DataError(f"{path.name} {reason}")
    return document


def _read(path: Path) -> Document:
    """The same, also of a file without text."""
    require_file(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(f"{path.name}: a document ends in {', '.join(SUFFIXES)}{f', not {suffix}' if suffix else ''}")
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        raise DataError(f"{path.name} has {size:,} bytes; a document may have at most {MAX_DOCUMENT_BYTES:,}")
    if not size:
        return Document(path.name, "")
    if suffix == ".pdf":
        return Document(path.name, *read_pdf(path))
    if suffix in _OFFICE:
        return Document(path.name, *read_office(path))
    if suffix in _PAGES:
        return Document(path.name, html_text(_decoded(path), path.name))
    return Document(path.name, path.read_text(examine_text(path).encoding))


def _reason_of_no_text(document: Document, path: Path) -> str:
    """Why there is nothing to read in a document; "" where there is."""
    if document.text.strip():
        return ""
    if not path.stat().st_size:
        return "is empty"
    suffix, count = Path(document.name).suffix.lower(), len(document.pages)
    if suffix == ".pdf":
        return (
            f"has {count} page{'s' if count != 1 else ''} and no text: it has only images, like a scan; "
            "run text recognition on it first"
        )
    return "has no text" + ("; is it a page that a script fills in a browser?" if suffix in _PAGES else "")


def read_documents(paths: Path | Iterable[Path]) -> tuple[Document, ...]:
    """Read files and folders; of a folder, every document in it and its subfolders, sorted, without hidden ones.

    A document has its file's name; if several files have the same name, as many parent folders are added as make the
    names different.

    Raises:
        ConfigError: there is no such path, no document in it, or more than `MAX_DOCUMENTS`; or a document of a folder
            is a special file, or a link that leads out of the folder or nowhere.
        DataError: a document cannot be read.
    """
    return read_document_set(paths).documents


def read_document_set(paths: Path | Iterable[Path]) -> DocumentSet:
    """As `read_documents`, with notes on what is not read: other files of a folder, files and pages without text.

    A document without text is left out of a folder, and an error where it is named itself or nothing else is there.

    Raises:
        ConfigError, DataError: as `read_documents`.
    """
    paths = [Path(paths)] if isinstance(paths, str | Path) else list(map(Path, paths))
    files: dict[Path, Path] = {}
    for path in paths:
        for file in _files(path):
            files.setdefault(file.resolve(), file)
            if len(files) > MAX_DOCUMENTS:
                raise ConfigError(f"{path} has more than {MAX_DOCUMENTS:,} documents; name a smaller folder")
    if not files:
        raise ConfigError(f"there is no document to read; documents are {', '.join(SUFFIXES)}")
    read = [
        replace(document, name=name)
        for name, document in zip(_names(list(files)), map(_read, files.values()), strict=True)
    ]
    empty = {
        document.name: reason
        for document, path in zip(read, files.values(), strict=True)
        if (reason := _reason_of_no_text(document, path))
    }
    named = {path.name for path in paths if not path.is_dir()}
    for name, reason in empty.items():
        if len(empty) == len(read) or Path(name).name in named:
            raise DataError(f"{name} {reason}")
    notes = [note for path in paths if path.is_dir() and (note := _note_on_others(path))]
    notes += [f"{name} was not read: it {reason}" for name, reason in empty.items()]
    documents = tuple(document for document in read if document.name not in empty)
    notes += filter(None, map(_note_on_pages, documents))
    notes += [f"{document.name}: its {document.unread} were not read" for document in documents if document.unread]
    return DocumentSet(documents, tuple(notes))


def _note_on_others(folder: Path) -> str:
    """The files of a folder that are no documents by their suffix; "" where there is none."""
    others = [str(file.relative_to(folder)) for file in files_below(folder, SUFFIXES, others=True)]
    if not others:
        return ""
    were = "file was" if len(others) == 1 else "files were"
    why = f"{len(others):,} {were} not read, as documents end in {', '.join(SUFFIXES)}"
    return f"{folder.name}: {why}: {some_of(others, _MOST_NAMED)}"


def _note_on_pages(document: Document) -> str:
    """The pages of a document without text; "" where each has some."""
    if not (pages := document.empty_pages):
        return ""
    what = "slides" if document.name.lower().endswith(".pptx") else "pages"
    found = f"{len(pages):,} of {len(document.pages):,} {what} have no text (pictures or scans?)"
    return f"{document.name}: {found}: {some_of(pages, _MOST_NAMED)}"


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        require_file(path)
        yield path
        return
    documents = files_below(path, SUFFIXES)
    if not documents:
        raise ConfigError(f"the folder {path} has no document ({', '.join(SUFFIXES)})")
    yield from documents


def _names(files: list[Path]) -> list[str]:
    """The names of files, with as many parent folders as make equal names different."""
    groups = Counter(file.name for file in files)
    return [file.name if groups[file.name] == 1 else _with_folders(file, files) for file in files]


def _with_folders(file: Path, files: list[Path]) -> str:
    rivals = [other.parts for other in files if other.name == file.name]
    deepest = max(map(len, rivals))
    depth = next(depth for depth in range(2, 1 + deepest) if len({parts[-depth:] for parts in rivals}) == len(rivals))
    return "/".join(file.parts[-depth:])


def _decoded(path: Path) -> str:
    """Decode a page: in the charset that it declares, or else in the encoding that is detected from its bytes."""
    with path.open("rb") as stream:
        declared = _DECLARED.search(stream.read(4096))
    charset = declared[1].decode("ascii").lower() if declared else ""
    if charset not in _CHARSETS:
        return path.read_text(examine_text(path).encoding)
    raw = path.read_bytes()
    encoding = {"iso-8859-1": "cp1252", "latin1": "cp1252"}.get(charset, charset)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode(encoding, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
