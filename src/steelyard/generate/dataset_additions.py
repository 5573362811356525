"""Adds records of a run to a test dataset, so that what failed once is tested from then on.

Rows have the keys that the loader of the run's suite reads, and under `metadata.collected` where they come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from steelyard.analysis.comparison.sample_scores import hashes_by_id
from steelyard.errors import ConfigError, DataError
from steelyard.files import file_errors, make_private_folder, read_regular, replaced
from steelyard.plain_json import digest_of, field_values, grouped, plain
from steelyard.store import Run
from steelyard.types import Record, Sample

_MOST_BYTES: Final = 500_000_000
_HEAD: Final = 10
"""Rows of a file from which its loader takes the keys; see `steelyard.data.columns`."""
_ASKED: Final = ("question", "options", "answer", "sql", "target", "contexts", "db_id")
"""Keys that decide whether two rows are the same; not the source, which can be given in several ways."""
_MADE: Final = frozenset({"generate", "review"})


@dataclass(frozen=True, slots=True)
class DatasetAddition:
    """The rows that are added to a dataset file.

    Args:
        path: the file.
        rows: what is added, in the order of the run's samples.
        known: ids of samples that the file has already, or that are the same question as one before.
        fitting: samples of which a record fits the condition.
        before: the file as it was, byte for byte; empty where there was none.
    """

    path: Path
    rows: tuple[Mapping[str, Any], ...]
    known: tuple[str, ...]
    fitting: int
    before: bytes

    def json_fields(self) -> dict[str, Any]:
        """With the number of rows, and without the file's contents."""
        return field_values(self, path="file", before="") | {"added": len(self.rows)}

    def save(self) -> None:
        """Write the file under another name and rename it, so that it is never half written.

        A file to which nothing is added is left alone.

        Raises:
            ConfigError: it cannot be written, or it is not what it was when it was read.
        """
        if not self.rows:
            return
        end = b"" if not self.before or self.before.endswith(b"\n") else b"\n"
        lines = "".join(json.dumps(row, ensure_ascii=False, default=plain) + "\n" for row in self.rows)
        path = self.path.resolve()
        with file_errors(self.path, "written"):
            make_private_folder(path.parent)
            if _bytes_of(path) != self.before:
                raise ConfigError(f"{self.path} was changed meanwhile; collect again")
            with replaced(path) as file:
                file.write(self.before + end + lines.encode("utf-8", "replace"))


def add_records(run: Run, records: Iterable[Record], path: Path, *, where: str, at: datetime) -> DatasetAddition:
    """The rows of `records` that a dataset file does not hold yet; `save` writes them.

    Args:
        run: the run that they are of.
        records: those that fit the condition.
        path: a .jsonl file, which may be there already.
        where: the condition, as it was written.
        at: when.

    Raises:
        ConfigError: another suffix, a file that cannot be read, a run whose samples are not questions, or rows that
            have other keys than ours.
        DataError: a line of the file is not a JSON object.
    """
    if path.suffix.lower() != ".jsonl":
        raise ConfigError(f"{path}: a test set is collected to a .jsonl file, not {path.suffix or 'that'}")
    if run.kind in _MADE:
        raise ConfigError(f"run {run.id} was made by `{run.kind}`: its samples cannot be asked again")
    before = _bytes_of(path)
    existing = _rows_in(before, path)
    data = run.data()
    hashes = hashes_by_id(data.scores.samples, data.hashes)
    by_sample = grouped((record.sample.id, record) for record in records)
    contents = {_content(row, run.kind) for row in existing}
    ids = {str(row.get("id", "")) for row in existing}
    added: list[Mapping[str, Any]] = []
    known_ids: list[str] = []
    for ident, same_sample in by_sample.items():
        row = row_of(run.kind, same_sample[0].sample)
        content = _content(row, run.kind)
        if content in contents:
            known_ids.append(ident)
            continue
        contents.add(content)
        name = ident if ident not in ids else f"{ident}-{content[:8]}"
        ids.add(name)
        provenance = {"run": run.id, "suite": run.suite, "target": run.target, "at": at.isoformat(timespec="seconds")}
        provenance |= {"where": where, "sample": ident, "sample_hash": hashes.get(ident, ""), "content_hash": content}
        columns = {*row, "position", "sources"}
        metadata = {
            **{key: value for key, value in same_sample[0].sample.metadata.items() if key not in columns},
            "collected": {**provenance, "records": [_results(record) for record in same_sample]},
        }
        added.append({**row, "id": name, "metadata": metadata})
    _refuse_other_keys(path, existing, added)
    return DatasetAddition(path, tuple(added), tuple(known_ids), len(by_sample), before)


def row_of(kind: str, sample: Sample) -> dict[str, Any]:
    """A sample as a row that the loader of its suite reads; every row of a kind has the same keys.

    Args:
        kind: the suite's registered name; of any other a row has question, answer, contexts and cluster.
        sample: any.
    """
    return {"id": sample.id, "group": sample.group, **_ROWS.get(kind, _asked_row)(sample)}


def _choice_row(sample: Sample) -> dict[str, Any]:
    options = list(sample.choices)
    return {"question": sample.input, "options": options, "answer": sample.reference, "cluster": sample.cluster}


def _rag_row(sample: Sample) -> dict[str, Any]:
    about = sample.metadata
    sources = {"document": about.get("document", ""), "source": list(about.get("sources", ()))}
    mark = {"answerable": "no" if about.get("answerable") is False else ""}
    return {**_asked_row(sample), **sources, **mark}


def _sql_row(sample: Sample) -> dict[str, Any]:
    about = {key: sample.metadata.get(key, "") for key in ("schema", "db_id", "evidence")}
    return {"question": sample.input, "sql": sample.reference, "cluster": sample.cluster, **about}


def _tables_row(sample: Sample) -> dict[str, Any]:
    expected = {"target": sample.reference, "db_id": sample.metadata.get("db_id", "")}
    return {"question": sample.input, **expected, "cluster": sample.cluster}


def _asked_row(sample: Sample) -> dict[str, Any]:
    contexts = list(sample.contexts)
    return {"question": sample.input, "answer": sample.reference, "contexts": contexts, "cluster": sample.cluster}


_ROWS: Final[Mapping[str, Callable[[Sample], dict[str, Any]]]] = MappingProxyType(
    {"choice": _choice_row, "rag": _rag_row, "text2sql": _sql_row, "tables": _tables_row}
)


def _results(record: Record) -> dict[str, Any]:
    """Scores and failure of one repeat."""
    scores = {score.name: {"value": score.value, "outcome": score.outcome} for score in record.scores}
    failure = record.failure
    failed = {"failure": f"{failure.stage} ({failure.kind})"} if failure else {}
    return {"repeat": record.repeat, "scores": scores, **failed}


def _content(row: Mapping[str, Any], kind: str) -> str:
    """A hash of a row's question and expected answer; blank values are ignored.

    An exam's question is the same in any order of its options and whatever its key: its loader refuses it twice.
    """
    content = {key: row[key].strip() if isinstance(row[key], str) else row[key] for key in _ASKED if key in row}
    if kind == "choice":
        options = content.get("options")
        content = {
            "question": "".join(str(content.get("question", "")).split()),
            "options": sorted(map(str, options)) if isinstance(options, list) else options,
        }
    return digest_of({key: value for key, value in content.items() if value not in (None, "", [], {})})[:16]


def _bytes_of(path: Path) -> bytes:
    with file_errors(path, "read"):
        return read_regular(path, _MOST_BYTES) if path.exists() else b""


def _rows_in(data: bytes, path: Path) -> list[dict[str, Any]]:
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not text in UTF-8, so nothing can be added to it") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path.name}:{number}: no JSON: {error}") from error
        except RecursionError as error:
            raise DataError(f"{path.name}:{number}: nested too deeply") from error
        if not isinstance(row, dict):
            raise DataError(f"{path.name}:{number}: expected an object, but it is {type(row).__name__}")
        rows.append(row)
    return rows


def _refuse_other_keys(path: Path, existing: Sequence[Mapping[str, Any]], added: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a file whose first rows lack keys of the new rows: the loader takes the columns from its first rows."""
    if not existing or not added:
        return
    needed = {key: None for row in added for key, value in row.items() if value not in (None, "", [])}
    present = {key for row in [*existing, *added][:_HEAD] for key in row}
    lacking = [key for key in needed if key not in present and key not in {"id", "metadata"}]
    strangers = "question" not in existing[0]
    if strangers or lacking:
        key_name = "question" if strangers else lacking[0]
        raise ConfigError(
            f"the first rows of {path.name} have no key {key_name!r}, so rows with it would not be read; "
            "collect to another file, and list both files under samples.file"
        )
