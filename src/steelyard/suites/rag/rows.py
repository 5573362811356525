"""Files -> samples of the `rag` suite; every defect is named in one pass, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steelyard.data.defects import Defect
from steelyard.data.files import SampleFiles
from steelyard.data.opened import OpenTable, read_rows
from steelyard.data.roles import Role
from steelyard.data.table import Row
from steelyard.suites.rag.sources import SourceError, contexts_in, sources_in
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


@dataclass(frozen=True, slots=True)
class RagData:
    """Questions, and what was found out about them.

    Args:
        samples: in order. `reference` is the answer's text, a list of texts where several are right, or None;
            `contexts` come with the question where the dataset has any. `metadata` has `position` (the row's, counted
            from 0 over all files whatever is left out), `document` where one is named, and `sources`: what should be
            retrieved, each with what is known of `document`, `start`, `end`, `page`, `id`, `text`.
        defects: of the rows that are left out; empty unless `skip_bad`.
        mapping: role -> column of the first table, as a person names it.
        notes: rows left out, hidden sheets, an unusual encoding, questions without an answer or source.
    """

    samples: tuple[Sample, ...]
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def documents(self) -> Mapping[str, int]:
        """Document -> how many questions are about it, in order of first appearance."""
        found: dict[str, int] = {}
        for sample in self.samples:
            name = str(sample.metadata.get("document", ""))
            found[name] = found.get(name, 0) + 1
        return found


def load_rag(files: SampleFiles) -> RagData:
    """Read and check a dataset whole.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    rows = read_rows(files, ROLES, _sample)
    return RagData(rows.samples, rows.defects, rows.mapping, (*rows.notes, *_about(rows.samples)))


def _sample(table: OpenTable, row: Row, position: int, noted: tuple[dict[str, str], list[Defect]]) -> Sample | None:
    """What a row asks; None where it has defects, which are added to those noted."""
    seen, defects = noted
    before = len(defects)
    question = table.text(row, "question")
    if not question:
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


def _about(samples: tuple[Sample, ...]) -> Iterator[str]:
    for what, missing in (
        ("reference answer", sum(one.reference is None for one in samples)),
        ("source passage", sum("sources" not in one.metadata for one in samples)),
    ):
        if missing:
            yield f"{missing} of {len(samples)} questions have no {what}"
