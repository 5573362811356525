"""Reads the texts of sources that a dataset names only by document and character range.

Passages of other systems have no comparable offsets, so without the text they could not be compared. A range that was
made from an earlier reading of the document may have moved: where the dataset names the page as well, it must be the
one that the range begins on, else the text is not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.data.documents import Document
from steelyard.data.rows import RowDataset
from steelyard.scorers.passages import same_document
from steelyard.targets.library import Paths, notes_on_documents, open_documents
from steelyard.types import Sample


def with_texts(data: RowDataset, paths: Paths) -> RowDataset:
    """Fill in the text of each source that has a range but no text, from its document.

    Args:
        data: samples as they were read.
        paths: files and folders; nothing is read unless a source needs it.

    Raises:
        ConfigError: there is no such path, or no document in it.
        DataError: a document cannot be read.
    """
    if not any(_lacks_text(source) for sample in data.samples for source in _sources(sample)):
        return data
    texts = _SourceTexts(open_documents(paths) if paths else ())
    unread = notes_on_documents(paths) if paths else ()
    samples = tuple(texts.filled(sample) for sample in data.samples)
    return replace(data, samples=samples, notes=(*data.notes, *unread, *texts.notes()))


def _sources(sample: Sample) -> Sequence[Mapping[str, Any]]:
    sources: Sequence[Mapping[str, Any]] = sample.metadata.get("sources", ())
    return sources


def _lacks_text(source: Mapping[str, Any]) -> bool:
    return "start" in source and not source.get("text")


class _SourceTexts:
    """Reads texts of sources from their documents, and counts those that it could not read."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._unknown: dict[str, int] = {}
        self._moved: dict[str, int] = {}

    def filled(self, sample: Sample) -> Sample:
        if not any(map(_lacks_text, _sources(sample))):
            return sample
        default = sample.metadata.get("document", "")
        sources = [
            source | {"text": text} if (text := self._text(source, str(source.get("document") or default))) else source
            for source in map(dict, _sources(sample))
        ]
        return replace(sample, metadata={**sample.metadata, "sources": sources})

    def _text(self, source: Mapping[str, Any], name: str) -> str:
        """The text at a source's range; "" where it has one, or where none can be trusted."""
        if not _lacks_text(source):
            return ""
        matching = [document for document in self._documents if name and same_document(document.name, name)]
        if len(matching) != 1:
            self._unknown[name] = self._unknown.get(name, 0) + 1
            return ""
        (document,) = matching
        start, end, page = source["start"], source["end"], source.get("page")
        begins_on = document.page_at(start)
        if end > len(document.text) or (page and begins_on and page != begins_on):
            self._moved[name] = self._moved.get(name, 0) + 1
            return ""
        return document.text[start:end]

    def notes(self) -> Iterator[str]:
        """Warnings about sources whose text could not be read."""
        for name, count in self._unknown.items():
            yield (
                f"{_sources_are(count)} a range of {name or 'an unnamed document'} without its text: name `documents`, "
                "so that passages of other systems can be compared with it"
            )
        for name, count in self._moved.items():
            yield (
                f"{_sources_are(count)} a range of {name} that is not on the page that is named, or not in the "
                "document at all: it comes from another reading of the document, and its text is unknown"
            )


def _sources_are(count: int) -> str:
    return "1 source is" if count == 1 else f"{count:,} sources are each"
