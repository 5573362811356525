"""Records in the result format of the widely copied exam script.

The script wrote a JSON list per source and target, with a folder per source.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any

from steelyard.data.table import SOURCE
from steelyard.errors import ConfigError, did_you_mean
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.sample_values import option_label
from steelyard.store import Run
from steelyard.types import Record


def legacy_files(runs: Sequence[Run], source: str = "") -> dict[str, list[dict[str, Any]]]:
    """Rows by file name, for runs that differ: `TARGET.json`, or `SOURCE/TARGET.json` where there are several.

    If several runs have the same target, their ids are part of the names.

    Args:
        runs: without duplicates.
        source: write only questions of this file of the dataset, without folders; "" is all.

    Raises:
        ConfigError: a run has no question of that source.
    """
    names = [_in_file_name(run.target) for run in runs]
    counts = Counter(name.casefold() for name in names)
    files: dict[str, list[dict[str, Any]]] = {}
    for run, name in zip(runs, names, strict=True):
        file = f"{name}.json" if counts[name.casefold()] == 1 else f"{name}.{_in_file_name(run.id)}.json"
        by_source: dict[str, list[Record]] = {}
        for record in run.records():
            by_source.setdefault(str(record.sample.metadata.get(SOURCE, "")), []).append(record)
        if source and source not in by_source:
            hint = did_you_mean(source, filter(None, by_source)) or "; its dataset is one file"
            if not by_source:
                hint = "; it has no records yet"
            raise ConfigError(f"--source: run {run.id} ({run.target}) has no questions of {source!r}{hint}")
        for source_name, records in by_source.items():
            if source in {"", source_name}:
                folder = f"{_in_file_name(source_name)}/" if source_name and not source else ""
                files[_free(folder + file, files)] = legacy_rows(records)
    return files


def _free(name: str, taken: Iterable[str]) -> str:
    """`name`, or with a number if another file has it: sources may differ only in characters that are replaced."""
    lower, stem = {file.casefold() for file in taken}, name.removesuffix(".json")
    others = (f"{stem}.{number}.json" for number in count(2))
    return next(file for file in chain([name], others) if file.casefold() not in lower)


def _in_file_name(text: str) -> str:
    """A text without characters that a file name must not contain; "." and ".." become "_"."""
    return "".join(mark if mark.isalnum() or mark in "-_.[]=," else "_" for mark in text).lstrip(".") or "_"


def legacy_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One row per record, in their order: question, options as "A:text", correct_answer, type and kb_answer.

    `kb_answer` is the reply whether or not there was a knowledge base, as in the old files. Where the old script wrote
    the error message as the answer, it is None here and the row has the key `error`. Retrieved passages, which the old
    files do not have, are `contexts` and `sources`, as `replay` reads them.

    >>> from steelyard.types import Output, Sample
    >>> legacy_rows([Record(Sample("1", "乾？", "A", choices=("天", "地"), group="卦象"), Output("选A"))])[0]["options"]
    ['A:天', 'B:地']
    """
    return [_row(record) for record in records]


def _row(record: Record) -> dict[str, Any]:
    sample = record.sample
    row: dict[str, Any] = {
        "question": transcript_of(sample.input),
        "options": [f"{option_label(no)}:{text}" for no, text in enumerate(sample.choices)],
        "correct_answer": sample.reference if sample.reference is None else _text(sample.reference),
        "type": sample.group,
        "kb_answer": None if record.output is None else _text(record.output.value),
    }
    if record.output is not None and record.output.contexts:
        row |= {"contexts": list(record.output.contexts), "sources": record.output.metadata.get("sources", [])}
    if record.output is None:
        row["error"] = f"{record.failure.kind}: {record.failure.message}" if record.failure else "not answered"
    return row


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
