"""Files -> samples of the `pairwise` suite; every defect is named in one pass, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steelyard.data.defects import Defect
from steelyard.data.files import SampleFiles
from steelyard.data.opened import OpenTable, read_rows
from steelyard.data.roles import Role
from steelyard.data.table import Row
from steelyard.text.prompt_files import is_messages, question_of
from steelyard.types import Sample

ROLES: Final = (
    Role("question", words="rag_question", by_position=False),
    Role("answer", required=False, words="rag_answer", by_position=False),
    Role("group", required=False, by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("id", required=False, by_position=False),
)


@dataclass(frozen=True, slots=True)
class PairwiseData:
    """Questions, and what was found out about them.

    Args:
        samples: in order. `input` is the question's text, or in JSON a list of messages; `reference` the expected
            answer, a list of texts where several are right, or None; `metadata` has `position` (the row's, counted
            from 0 over all files whatever is left out).
        defects: of the rows that are left out; empty unless `skip_bad`.
        mapping: role -> column of the first table, as a person names it.
        notes: rows left out, hidden sheets, an unusual encoding, questions without a reference.
    """

    samples: tuple[Sample, ...]
    defects: tuple[Defect, ...]
    mapping: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def groups(self) -> Mapping[str, int]:
        """Group -> how many questions are in it, in order of first appearance."""
        found: dict[str, int] = {}
        for sample in self.samples:
            found[sample.group] = found.get(sample.group, 0) + 1
        return found


def load_pairwise(files: SampleFiles) -> PairwiseData:
    """Read and check a dataset whole.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    rows = read_rows(files, ROLES, _sample)
    return PairwiseData(rows.samples, rows.defects, rows.mapping, (*rows.notes, *_about(rows.samples)))


def _sample(table: OpenTable, row: Row, position: int, noted: tuple[dict[str, str], list[Defect]]) -> Sample | None:
    """What a row asks; None where it has defects, which are added to those noted."""
    seen, defects = noted
    before = len(defects)
    asked = _question(table, row, defects)
    reference = table.answers(row, "answer", defects)
    name = table.id_of(row, seen, defects)
    if len(defects) > before:
        return None
    group, cluster = table.text(row, "group"), table.text(row, "cluster")
    return Sample(name, asked, reference, group=group, cluster=cluster, metadata={"position": position})


def _question(table: OpenTable, row: Row, defects: list[Defect]) -> Any:
    """A text, or the messages of a conversation."""
    value = table.cell(row, "question")
    if is_messages(value):
        if not question_of(value).strip():
            defects.append(table.defect("blank question", row, "question", "no message is of the user"))
        return list(value)
    if isinstance(value, list | dict):
        defects.append(table.defect("bad question", row, "question", "the question is neither a text nor messages"))
        return ""
    text = table.text(row, "question")
    if not text:
        defects.append(table.defect("blank question", row, "question", "the question is blank"))
    return text


def _about(samples: tuple[Sample, ...]) -> Iterator[str]:
    missing = sum(one.reference is None for one in samples)
    if missing:
        yield f"{missing} of {len(samples)} questions have no reference answer"
