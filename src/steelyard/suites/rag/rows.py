"""Files -> samples of the `rag` suite; every defect is named in one pass, before any call.

A row may name the passages that its question should retrieve (`sources`) and those that come with it (`contexts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, RowDataset, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, list_in, render
from steelyard.types import Sample

ROLES: Final = (
    Role("question", words="rag_question", by_position=False),
    Role("answer", required=False, words="rag_answer", by_position=False),
    Role("group", required=False, by_position=False),
    Role("document", required=False, by_position=False),
    Role("source", required=False, by_position=False),
    Role("page", required=False, by_position=False),
    Role("start", required=False, by_position=False),
    Role("end", required=False, by_position=False),
    Role("chunk", required=False, by_position=False),
    Role("contexts", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)


def documents_of(samples: Iterable[Sample]) -> Mapping[str, int]:
    """Document -> how many questions are about it, in order of first appearance; "" for questions without one."""
    return Counter(str(sample.metadata.get("document", "")) for sample in samples)


def load_rag(files: SampleFiles) -> RowDataset:
    """Read and check a dataset whole.

    Of a sample, `reference` is the answer's text, a list of texts where several are right, or None; `contexts` come
    with the question where the dataset has any. `metadata` has `document` where one is named, and `sources`: what
    should be retrieved, each with what is known of `document`, `start`, `end`, `page`, `id`, `text`.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    data = read_rows(files, ROLES, _sample)
    return replace(data, notes=(*data.notes, *_notes_on(data.samples)))


def _sample(table: OpenTable, row: Row, position: int, noted: tuple[dict[str, str], list[Defect]]) -> Sample | None:
    """What a row asks; None where it has defects, which are added to those noted."""
    seen, defects = noted
    before = len(defects)
    question = table.question(row, defects)
    if not question and len(defects) == before:
        defects.append(table.defect("blank question", row, "question", "the question is blank"))
    reference = table.answers(row, "answer", defects)
    metadata: dict[str, Any] = {"position": position}
    contexts: tuple[str, ...] = ()
    try:
        cells = {role: table.cell(row, role) for role in ("document", "source", "page", "start", "end", "chunk")}
        if document := table.text(row, "document"):
            metadata["document"] = document
        if sources := sources_in(cells):
            metadata["sources"] = sources
            if name := sources[0].get("document", ""):
                metadata.setdefault("document", name)
        contexts = contexts_in(table.cell(row, "contexts"))
    except SourceError as error:
        defects.append(table.defect(f"bad {error.role}", row, error.role, str(error)))
    name = table.id_of(row, seen, defects)
    if len(defects) > before:
        return None
    return Sample(name, question, reference, contexts=contexts, group=table.text(row, "group"), metadata=metadata)


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    for what, missing in (
        ("reference answer", sum(sample.reference is None for sample in samples)),
        ("source passage", sum("sources" not in sample.metadata for sample in samples)),
    ):
        if missing:
            yield f"{missing} of {len(samples)} questions have no {what}"


_KEYS: Final = ("id", "document", "start", "end", "page", "text")
_WHOLE: Final = frozenset({"start", "end", "page"})


class SourceError(Exception):
    """A cell that says nothing sensible about a source; `role` is the column's."""

    def __init__(self, role: str, message: str) -> None:
        super().__init__(message)
        self.role = role


def sources_in(cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources that a row names, each a mapping of what is known of it; none where it names none.

    Args:
        cells: by role: `source` is a text, a list of texts, or a list of mappings of their own; `document`, `page`,
            `start` and `end` (character offsets into the document's text) belong to a single source; `chunk` is an id
            or a list of them.

    Raises:
        SourceError: a cell that cannot be meant.

    >>> sources_in({"source": "It rains.", "document": "a.pdf", "start": "5", "end": "14"})
    [{'document': 'a.pdf', 'start': 5, 'end': 14, 'text': 'It rains.'}]
    """
    given = _listed(cells.get("source"))
    ids = [render(one) for one in _listed(cells.get("chunk")) if render(one)]
    shared = _checked({key: cells.get(key) for key in ("document", "page")})
    if not given and ids:
        return [{"id": one} | shared for one in ids]
    if len(given) <= 1 and not any(isinstance(one, Mapping) for one in given):
        own = {key: cells.get(key) for key in ("document", "page", "start", "end")}
        found = _checked(own | {"text": given[0] if given else None, "id": ids[0] if ids else None})
        # A document alone says what a question is about, and no passage; nor does the page of an unnamed one.
        return [found] if {"start", "text", "id"} & set(found) or {"document", "page"} <= set(found) else []
    return [shared | _checked(one if isinstance(one, Mapping) else {"text": one}) for one in given]


def contexts_in(cell: Any) -> tuple[str, ...]:
    """The passages that come with a question: a text or a list of texts.

    Raises:
        SourceError: something else.
    """
    found = _listed(cell)
    if not all(isinstance(one, str) for one in found):
        raise SourceError("contexts", "contexts is no text and no list of texts")
    return tuple(found)


def _listed(cell: Any) -> list[Any]:
    """A cell as a list: itself, the list that a sheet holds as a text, or the one thing it is."""
    if isinstance(cell, str) and (found := list_in(cell)) is not None:
        cell = found
    if isinstance(cell, list):
        return [one for one in cell if one is not None and one != ""]
    return [] if cell is None or render(cell) == "" else [cell if isinstance(cell, Mapping) else render(cell)]


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The known keys that are filled, numbers as numbers."""
    found: dict[str, Any] = {}
    for key in _KEYS:
        value = given.get(key)
        if value is None or render(value) == "":
            continue
        found[key] = _whole(key, value) if key in _WHOLE else _text(key, value)
    if ("start" in found) != ("end" in found) or found.get("start", 0) >= found.get("end", 1):
        raise SourceError("start", "start and end are character offsets: both are given, and start is below end")
    return found


def _whole(key: str, value: Any) -> int:
    text = render(value)
    if not text.isascii() or not text.isdecimal():
        raise SourceError(key, f"{key} is {text[:40]!r}, not a whole number")
    return int(text)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | Mapping):
        raise SourceError("source", f"the {key} of a source is a {type(value).__name__}, not a text")
    return value if isinstance(value, str) else render(value)
