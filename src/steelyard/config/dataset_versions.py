"""Opens a version of a dataset as its suite reads it, and saves a draft of it as a new file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from steelyard.config.check_dataset import ROLES, check_dataset
from steelyard.config.given import note_given, was_given
from steelyard.data.dataset_file import DatasetDifference, DatasetFile, dataset_difference, read_dataset_file
from steelyard.data.headers import Role
from steelyard.data.new_version import RowEdit, edited_rows, write_new_version
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import cell_text
from steelyard.people.dataset_drafts import SavedVersion, check_unchanged, read_draft, record_saved
from steelyard.people.events import checked_author
from steelyard.people.named_datasets import DatasetVersion, NamedDataset
from steelyard.prompts.sample_values import own_question, passage_of
from steelyard.store import Store
from steelyard.suites.choice.rows import examine_choice
from steelyard.types import Record

_OTHERS: Final = tuple(
    Role(name, required=False, by_position=False, words=words)
    for name, words in (("question", "rag_question"), ("answer", "rag_answer"), ("group", ""), ("id", ""))
)
"""Columns that are looked for in a dataset of a suite from another package."""
_HEAD: Final = 1_000
"""Number of rows from which the type of a column is detected."""


def open_version(version: DatasetVersion) -> DatasetFile:
    """The rows of a version.

    Raises:
        ConfigError: it is not a single file, is no longer on this machine, is not one that this person gave to a
            command, or was changed on disk.
        DataError: it cannot be read.
    """
    files = version.files
    if not was_given(files.paths[0]):
        raise ConfigError(
            f"{version.name} cannot be opened: a store may name any file, and you gave {files.paths[0]} to no command "
            "here. If it is your dataset, give it or its configuration to steelyard check once"
        )
    return read_dataset_file(files, ROLES.get(version.about.kind, _OTHERS), version.digest)


def draft_difference(file: DatasetFile, edits: dict[str, RowEdit]) -> DatasetDifference:
    """The changes of a draft to its version."""
    return dataset_difference(file, replace(file, rows=edited_rows(file, edits)))


def save_draft(store: Store, dataset: NamedDataset, version: DatasetVersion, *, author: str, seen: int) -> SavedVersion:
    """Save a draft as a new file next to its version, and close the draft.

    Before the file gets its name it is read as its suite reads it, so that a saved file can be run.

    Args:
        store: the store with the draft.
        dataset: the dataset of the draft.
        version: the version that the draft changes.
        author: who saves it.
        seen: number of the draft's last event that the author saw.

    Raises:
        DraftConflictError: the draft has changed since.
        ConfigError: there is nothing to save, the version was changed on disk, or the new file cannot be written.
        DataError: the new file could not be run; the message lists its defects.
    """
    name = checked_author(author)
    draft = read_draft(store, dataset.id, version.digest)
    check_unchanged(draft, seen)
    file = open_version(version)
    difference = draft_difference(file, draft.edits)
    if not any(difference.counts.values()):
        raise ConfigError("the draft has no changes to save")

    def check(path: Path) -> DatasetFile:
        return _checked(version, replace(version.files, file=path))

    path, digest = write_new_version(file, edited_rows(file, draft.edits), check)
    at = datetime.now(UTC)
    saved = SavedVersion(dataset.id, version.digest, version.name, path.name, digest, name, at, difference.counts)
    try:
        record_saved(store, saved, seen=seen)
    except BaseException:
        path.unlink(missing_ok=True)  # just created, and not recorded anywhere
        raise
    note_given(path)
    return saved


def _checked(version: DatasetVersion, files: SampleFiles) -> DatasetFile:
    """The rows of a new file, which its suite must be able to run.

    Raises:
        ConfigError: a column is missing.
        DataError: rows have defects, and the suite does not skip such rows.
    """
    kind = version.about.kind
    defects: Sequence[Defect] = ()
    if kind == "choice":
        defects = examine_choice(files).defects  # without the search for near-duplicates, which takes long
    elif kind in ROLES:
        defects = check_dataset(kind, files, None, references=False).defects
    if defects and not files.skip_bad:
        raise DataError("nothing was saved: a run of the new file would fail because of these rows", defects)
    return read_dataset_file(files, ROLES.get(kind, _OTHERS), "")


def suggested_cells(file: DatasetFile, record: Record, *, take_output: bool = False) -> dict[str, str]:
    """The cells of a new row, taken from a record: column -> text, for the columns that the file has.

    Args:
        file: the dataset.
        record: a record of any run.
        take_output: use the output as the reference, for a person to correct.
    """
    sample = record.sample
    output = record.output.value if record.output is not None else None
    reference = output if take_output and output is not None else sample.reference
    question = own_question(sample) if passage_of(sample) else sample.input
    values: dict[str, Any] = {
        "question": question,
        "input": question,
        "passage": passage_of(sample) or None,
        "answer": reference,
        "expected": reference,
        "sql": reference,
        "target": reference,
        "group": sample.group,
        "cluster": sample.cluster,
        "contexts": list(sample.contexts) or None,
        **{key: sample.metadata.get(key) for key in ("db_id", "schema", "evidence", "document", "points", "deduction")},
    }
    # The text of a question that is joined from several columns is for a person to divide.
    single = {role: columns[0] for role, columns in file.roles.items() if len(columns) == 1}
    texts = {column: _as_text(sample.metadata.get(column)) for column in file.columns}
    texts |= {single[role]: _as_text(value) for role, value in values.items() if role in single}
    options = file.roles.get("options", ())
    if len(options) > 1:
        texts |= dict(zip(options, sample.choices, strict=False))
    elif options and sample.choices:
        texts[options[0]] = _as_text(list(sample.choices))
    return {column: text for column, text in texts.items() if text}


def _as_text(value: Any) -> str:
    return "" if value is None else cell_text(value)


def like_cells(file: DatasetFile) -> dict[str, Any]:
    """Column -> its first cell that is not empty, which shows whether a new cell is a text or JSON."""
    examples: dict[str, Any] = {}
    for row in file.rows[:_HEAD]:
        for name, value in zip(file.columns, row.cells, strict=True):
            if value not in (None, ""):
                examples.setdefault(name, value)
        if len(examples) == len(file.columns):
            break
    return examples
