"""Reads files into samples of the `pairwise` suite; all defects are reported in one pass, before any call."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from steelyard.analysis.judging_manifest import DIFFICULTY
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, RowDataset, cluster_of, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row
from steelyard.types import Sample

ROLES: Final = (
    Role("question", words="rag_question", by_position=False, joins=True),
    Role("answer", required=False, words="rag_answer", by_position=False),
    Role("group", required=False, by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("id", required=False, by_position=False),
    Role("difficulty", required=False, words="instruction_difficulty", by_position=False),
)


def load_pairwise(files: SampleFiles) -> RowDataset:
    """Read and check a whole dataset of questions.

    Of a sample, `input` is the question's text or a list of messages, and `reference` the expected answer, a list of
    texts where several are right, or None.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    data = read_rows(files, ROLES, _sample)
    return replace(data, notes=(*data.notes, *_notes_on(data.samples)))


def _sample(table: OpenTable, row: Row, position: int, noted: tuple[dict[str, str], list[Defect]]) -> Sample | None:
    """Read the sample of a row; None if it has defects, which are appended to those noted."""
    ids, defects = noted
    before = len(defects)
    question = table.question(row, defects)
    if not question and len(defects) == before:
        defects.append(table.defect("blank question", row, "question", "the question is blank"))
    reference = table.answers(row, "answer", defects)
    metadata: dict[str, Any] = {"position": position}
    if "difficulty" in table.layout.columns:
        metadata[DIFFICULTY] = _difficulty(table, row, defects)
    name = table.id_of(row, ids, defects)
    if len(defects) > before:
        return None
    group, cluster = table.text(row, "group"), cluster_of(row, table.layout)
    return Sample(name, question, reference, group=group, cluster=cluster, metadata=metadata)


def _difficulty(table: OpenTable, row: Row, defects: list[Defect]) -> float:
    """How hard the instruction of a row is; a defect if that is no finite number."""
    text = table.text(row, "difficulty")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        found = f"{text[:40]!r} is not a number" if text else "it is blank"
        message = f"{found}; write how hard the instruction is, as a number for every row, or leave the column out"
        defects.append(table.defect("bad difficulty", row, "difficulty", message))
    return number


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    missing = sum(sample.reference is None for sample in samples)
    if missing:
        yield f"{missing} of {len(samples)} questions have no reference answer"
