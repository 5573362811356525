"""Reads datasets of the `rag` suite into samples; all defects are reported in one pass, before any call.

A row may name the passages that its question should retrieve (`sources`) and those that come with it (`contexts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from steelyard.data.columns import ColumnLayout, find_layout
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, RowDataset, cluster_of, open_tables, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, Table, list_in, render
from steelyard.types import Sample

ROLES: Final = (
    Role("question", words="rag_question", by_position=False, joins=True),
    Role("answer", required=False, words="rag_answer", by_position=False),
    Role("group", required=False, by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("document", required=False, by_position=False),
    Role("source", required=False, by_position=False),
    Role("page", required=False, by_position=False),
    Role("start", required=False, by_position=False),
    Role("end", required=False, by_position=False),
    Role("chunk", required=False, by_position=False),
    Role("contexts", required=False, by_position=False),
    Role("answerable", required=False, by_position=False),
    Role("unanswerable", required=False, by_position=False),
    Role("tools", required=False, by_position=False),
    Role("plan", required=False, by_position=False),
    Role("goal", required=False, by_position=False),
    Role("persona", required=False, by_position=False),
    Role("turn_references", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)


_GOLDEN: Final = frozenset({"input", "expected_output", "context"})
_OF_AGENTS: Final = ("tools", "plan", "goal", "persona", "turn_references")
"""Columns that go to the metadata as they are, for the scorers of agents and for simulated users."""


def count_documents(samples: Iterable[Sample]) -> Mapping[str, int]:
    """Count the questions about each document, in order of first appearance; "" counts those without one."""
    return Counter(str(sample.metadata.get("document", "")) for sample in samples)


def load_rag(files: SampleFiles) -> RowDataset:
    """Read and check a whole dataset of questions about documents.

    Of a sample, `reference` is the answer's text, a list of texts where several are right, or None; `contexts` come
    with the question where the dataset has any. `metadata` has `document` where one is named, and `sources`: what
    should be retrieved, each with what is known of `document`, `start`, `end`, `page`, `id`, `text`. A question that
    the dataset marks as unanswerable has `answerable: False`; others have no such key, so that datasets without the
    mark keep the hashes of their samples. `tools`, `plan`, `goal`, `persona` and `turn_references` are there where a
    column has them. `cluster` is as `cluster_of` says.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    data = read_rows(files, ROLES, _sample, opened=open_tables(files, ROLES, layout_of=_layout))
    return replace(data, notes=(*data.notes, *_notes_on(data.samples)))


def _layout(table: Table, roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
    """The columns of a table; a golden of DeepEval calls its sources `context`, the passages `retrieval_context`."""
    keys = {str(key) for row in islice(table, 1) for key in row.cells} if table.keyed else set()
    if keys >= _GOLDEN and not {"source", "contexts"} & files.columns.keys():
        renamed = {"source": "context"} | ({"contexts": "retrieval_context"} if "retrieval_context" in keys else {})
        files = replace(files, columns={**files.columns, **renamed})
    return find_layout(table, roles, files)


def _sample(table: OpenTable, row: Row, position: int, noted: tuple[dict[str, str], list[Defect]]) -> Sample | None:
    """The sample of a row; None where the row has defects, which are collected."""
    ids, defects = noted
    earlier_defects = len(defects)
    question = table.question(row, defects)
    if not question and len(defects) == earlier_defects:
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
        if _marked(table, row, "answerable") is False or _marked(table, row, "unanswerable"):
            metadata["answerable"] = False
    except SourceError as error:
        defects.append(table.defect(f"bad {error.role}", row, error.role, str(error)))
    metadata |= {key: cell for key in _OF_AGENTS if render(cell := table.cell(row, key))}
    name = table.id_of(row, ids, defects)
    if len(defects) > earlier_defects:
        return None
    group, cluster = table.text(row, "group"), _cluster(table, row)
    return Sample(name, question, reference, contexts=contexts, group=group, cluster=cluster, metadata=metadata)


def _cluster(table: OpenTable, row: Row) -> str:
    """The cluster of a row; without a column for it, its chunk: questions on one are found or missed together."""
    if table.layout.column("cluster") is not None:
        return cluster_of(row, table.layout)
    chunks = [render(chunk) for chunk in _listed(table.cell(row, "chunk"))]
    return chunks[0] if len(chunks) == 1 else ""


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    for column, missing in (
        ("reference answer", sum(sample.reference is None for sample in samples)),
        ("source passage", sum("sources" not in sample.metadata for sample in samples)),
    ):
        # A plain set of questions has no sources: that is no gap.
        if missing and (missing < len(samples) or column != "source passage"):
            yield f"{missing} of {len(samples)} questions have no {column}"


_YES: Final = frozenset({"true", "yes", "y", "1", "1.0", "是", "对", "可", "能"})
_NO: Final = frozenset({"false", "no", "n", "0", "0.0", "否", "不", "不可", "不能"})


def _marked(table: OpenTable, row: Row, role: str) -> bool | None:
    """The value of a yes-or-no cell; None if it is blank or the table has no such column.

    Raises:
        SourceError: it is something else.
    """
    text = table.text(row, role)
    folded = text.casefold()
    if folded in _YES or folded in _NO:
        return folded in _YES
    if text:
        raise SourceError(role, f"{role} is {text[:40]!r}, not yes or no")
    return None


_KEYS: Final = ("id", "document", "start", "end", "page", "text")
_INTEGER_KEYS: Final = frozenset({"start", "end", "page"})


class SourceError(Exception):
    """A cell that does not describe a source; `role` is that of its column."""

    def __init__(self, role: str, message: str) -> None:
        super().__init__(message)
        self.role = role


def sources_in(cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The expected sources of a row, each a mapping of its known fields; empty where the row names none.

    Args:
        cells: by role: `source` is a text, a list of texts, or a list of mappings of their own; `document`, `page`,
            `start` and `end` (character offsets into the document's text) belong to a single source; `chunk` is an id
            or a list of them.

    Raises:
        SourceError: a cell that does not describe a source.

    >>> sources_in({"source": "It rains.", "document": "a.pdf", "start": "5", "end": "14"})
    [{'document': 'a.pdf', 'start': 5, 'end': 14, 'text': 'It rains.'}]
    """
    sources = _listed(cells.get("source"))
    ids = [render(chunk) for chunk in _listed(cells.get("chunk")) if render(chunk)]
    shared = _checked({key: cells.get(key) for key in ("document", "page")})
    if not sources and ids:
        return [{"id": chunk} | shared for chunk in ids]
    if len(sources) <= 1 and not any(isinstance(entry, Mapping) for entry in sources):
        location = {key: cells.get(key) for key in ("document", "page", "start", "end")}
        source = _checked(location | {"text": sources[0] if sources else None, "id": ids[0] if ids else None})
        # A document alone names no passage, and neither does a page without a document.
        return [source] if {"start", "text", "id"} & set(source) or {"document", "page"} <= set(source) else []
    return [shared | _checked(entry if isinstance(entry, Mapping) else {"text": entry}) for entry in sources]


def contexts_in(cell: Any) -> tuple[str, ...]:
    """The passages that come with a question: a text or a list of texts.

    Raises:
        SourceError: something else.
    """
    texts = _listed(cell)
    if not all(isinstance(text, str) for text in texts):
        raise SourceError("contexts", "contexts is neither text nor a list of texts")
    return tuple(texts)


def _listed(cell: Any) -> list[Any]:
    """A cell as a list: a list, the text of a list, or a single value."""
    if isinstance(cell, str) and (items := list_in(cell)) is not None:
        cell = items
    if isinstance(cell, list):
        return [item for item in cell if item is not None and item != ""]
    return [] if cell is None or render(cell) == "" else [cell if isinstance(cell, Mapping) else render(cell)]


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The known keys that are filled, numbers as numbers."""
    checked: dict[str, Any] = {}
    for key in _KEYS:
        value = fields.get(key)
        if value is None or render(value) == "":
            continue
        checked[key] = _whole_number(key, value) if key in _INTEGER_KEYS else _text(key, value)
    if ("start" in checked) != ("end" in checked) or checked.get("start", 0) >= checked.get("end", 1):
        raise SourceError("start", "start and end are character offsets: give both, with start below end")
    return checked


def _whole_number(key: str, value: Any) -> int:
    text = render(value)
    if not text.isascii() or not text.isdecimal():
        raise SourceError(key, f"{key} is {text[:40]!r}, not a whole number")
    return int(text)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | Mapping):
        raise SourceError("source", f"the {key} of a source is a {type(value).__name__}, not a text")
    return value if isinstance(value, str) else render(value)
