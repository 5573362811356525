"""Samples from spreadsheets, text tables, JSON, data frames and hubs; documents from PDF, Word, HTML and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.data.documents import Document, read_document, read_documents
    from steelyard.data.sample_files import SampleFiles
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.data.documents:Document",
        "steelyard.data.sample_files:SampleFiles",
        "steelyard.data.documents:read_document",
        "steelyard.data.documents:read_documents",
    )

__all__ = [
    "Document",
    "SampleFiles",
    "read_document",
    "read_documents",
]
