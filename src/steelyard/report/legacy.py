"""Records in the shape of the result files that the widely copied exam script wrote: one JSON list per target."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from steelyard.text.prompt_files import option_label, question_of
from steelyard.types import Record


def legacy_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One row per record, in their order: question, options as "A:text", correct_answer, type and kb_answer.

    `kb_answer` is the reply whether or not there was a knowledge base, as in the old files. Where the old script wrote
    its error's words as the answer, it is None here and the row has the key `error`.

    >>> from steelyard.types import Output, Sample
    >>> legacy_rows([Record(Sample("1", "乾？", "A", choices=("天", "地"), group="卦象"), Output("选A"))])[0]["options"]
    ['A:天', 'B:地']
    """
    return [_row(record) for record in records]


def _row(record: Record) -> dict[str, Any]:
    sample = record.sample
    row: dict[str, Any] = {
        "question": question_of(sample.input),
        "options": [f"{option_label(no)}:{text}" for no, text in enumerate(sample.choices)],
        "correct_answer": sample.reference if sample.reference is None else _text(sample.reference),
        "type": sample.group,
        "kb_answer": None if record.output is None else _text(record.output.value),
    }
    if record.output is None:
        row["error"] = f"{record.failure.kind}: {record.failure.message}" if record.failure else "not answered"
    return row


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
