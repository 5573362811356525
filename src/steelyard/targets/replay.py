"""Reads stored outputs, of another tool or of an earlier run, from a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from steelyard.data.table import list_in
from steelyard.data.text_tables import SqlLine, split_line
from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.files import read_regular_text
from steelyard.prompts.agent_messages import MESSAGES, USAGE, conversation_output
from steelyard.prompts.passages import own_question
from steelyard.types import INLINE, Output, Sample, StageInfo

_LINES: Final = frozenset({".sql", ".txt"})
_MOST_BYTES: Final = 1_000_000_000
"""Limit of a file of outputs, which is in memory as a whole."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Returns the output that a file holds for each sample.

    By the sample's id: JSON lines, a JSON list or CSV with one output a row, or a .json object of id to output. By the
    sample's place in its dataset (`metadata["position"]`, which the text2sql suite gives): one SQL statement a line
    (.sql or .txt), a tab and the database behind it or not, and BIRD's predictions, a .json object whose keys count
    from "0".

    A row may also hold what was retrieved, so that contexts and retrieval can be scored: a list of texts in rank order,
    and a list of their sources. A cell of a CSV file holds such a list as JSON, or texts as pandas writes them. A row
    of an agent may hold its conversation under `messages`, or as its output, and its tokens under `usage`.

    Args:
        file: JSON lines, a JSON list or CSV with one output a row; one SQL statement a line (.sql, .txt); or a .json
            object of id to output, such as BIRD's predictions.
        id: the key or column of the sample's id, or of its question, word for word, where the file has no ids.
        output: the key or column of the output.
        contexts: the key or column of the retrieved texts; rows may lack it.
        confidence: the key or column of how sure each output is, a probability in [0, 1]; rows may lack it.
        sources: the key or column of their sources, each an id or a mapping of `id`, `document`, `start`, `end` and
            `page` as far as known; rows may lack it.
    """

    stage_info: ClassVar[StageInfo] = INLINE
    file: Path
    id: str = "id"
    output: str = "output"
    contexts: str = "contexts"
    sources: str = "sources"
    confidence: str = "confidence"

    def check(self) -> None:
        """Read the file before anything is run.

        Raises:
            ConfigError: it lacks a column.
            DataError: it cannot be read.
        """
        self._outputs()

    def __call__(self, sample: Sample) -> Output:
        """Return the stored output.

        Raises:
            LookupError: the file has none for this sample, or one for another database.
        """
        outputs = self._outputs()
        if outputs.lines is not None:
            return Output(self._line(outputs.lines, sample))
        # Results of another tool name the question without the passage that stands above it in the input.
        keys = (sample.id, sample.input, own_question(sample)) if isinstance(sample.input, str) else (sample.id,)
        output = next((outputs.by_id[key] for key in keys if key in outputs.by_id), None)
        if output is None:
            raise LookupError(f"{Path(self.file).name} holds no output for sample {sample.id!r}")
        return output

    def _line(self, lines: Sequence[SqlLine], sample: Sample) -> str:
        name, position = Path(self.file).name, sample.metadata.get("position")
        if type(position) is not int:
            raise LookupError(f"{name} is matched by position, and sample {sample.id!r} has no metadata position")
        if not 0 <= position < len(lines):
            raise LookupError(
                f"{name} holds {len(lines)} outputs, none for sample {sample.id!r} at place {position + 1}"
            )
        line, db_id = lines[position], sample.metadata.get("db_id")
        if line.db_id and db_id and line.db_id != db_id:
            raise LookupError(
                f"{name}: the output at place {position + 1} is for database {line.db_id!r}, sample {sample.id!r} is "
                f"about {db_id!r}; do its lines go with this dataset?"
            )
        return line.sql

    def _outputs(self) -> _Outputs:
        file = Path(self.file)
        with boundary("data", f"{file.name} cannot be read"):
            stat = file.stat()
        names = (self.id, self.output, self.contexts, self.sources, self.confidence)
        return _read(file, names, (stat.st_mtime_ns, stat.st_size))


@dataclass(frozen=True, slots=True)
class _Outputs:
    """The content of a file: outputs by id, or `lines` where it is matched by position."""

    by_id: Mapping[str, Output] = field(default_factory=dict)
    lines: Sequence[SqlLine] | None = None


@lru_cache(maxsize=16)
def _read(file: Path, names: tuple[str, ...], _version: tuple[int, int]) -> _Outputs:
    """Outputs; cached by the file's version, so a target stays without state."""
    ident, output, *_ = names
    text = _text_of(file)
    if file.suffix.lower() in _LINES:
        return _Outputs(lines=_sql_lines(text))
    mapping = _mapping_in(text, (ident, output)) if file.suffix.lower() == ".json" else None
    if mapping is not None:
        return _of_mapping(mapping, file.name)
    outputs: dict[str, Output] = {}
    for place, row in _rows(file, text):
        for name in (ident, output):
            if name not in row and not (name == output and MESSAGES in row):
                hint = "; a column with the question serves as well" if name == ident else ""
                raise ConfigError(f"{file.name} {place} has no {name!r}{did_you_mean(name, row)}{hint}")
        try:
            stored = _output_of(row, names)
        except ValueError as error:
            raise DataError(f"{file.name} {place}: {error}") from error
        if outputs.setdefault(str(row[ident]), stored) != stored:
            raise DataError(f"{file.name} {place}: a second output for sample {row[ident]!r}")
    return _Outputs(MappingProxyType(outputs))


def _output_of(row: Mapping[str, Any], names: tuple[str, ...]) -> Output:
    """The output of a row, with what was retrieved for it.

    Raises:
        ValueError: contexts or sources that are not such a list, or not as many of both; or a confidence that is no
            probability.
    """
    _, output, contexts, sources, confidence = names
    texts = _listed(row.get(contexts), contexts)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{contexts!r} is not a list of texts")
    passages = [_source(entry, sources) for entry in _listed(row.get(sources), sources)]
    if texts and passages and len(texts) != len(passages):
        raise ValueError(f"{len(texts)} {contexts} and {len(passages)} {sources}: expected one for each")
    agent = _conversation(row, output)
    metadata = {**(agent.metadata if agent else {}), **({"sources": passages} if passages else {})}
    metadata |= _confidence(row.get(confidence), confidence)
    return Output(agent.value if agent else row[output], tuple(texts), metadata)


def _confidence(value: Any, name: str) -> dict[str, float]:
    """The confidence of a row under its key of an output's metadata; empty where the row has none.

    Raises:
        ValueError: it is no probability.
    """
    if value is None or value == "":
        return {}
    try:
        number = nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = nan
    if not 0 <= number <= 1:
        raise ValueError(f"{name!r} is {value!r:.40}; write a probability between 0 and 1, 0.85 for 85 %")
    return {"confidence": number}


def _conversation(row: Mapping[str, Any], output: str) -> Output | None:
    """The output of a row that holds a conversation.

    Raises:
        ValueError: `messages` does not hold a conversation.
    """
    if not row.get(MESSAGES):
        value = row[output]
        return conversation_output(value) if isinstance(value, list | Mapping) else None
    messages = _listed(row[MESSAGES], MESSAGES)
    conversation = conversation_output({MESSAGES: messages, "output": row.get(output), USAGE: row.get(USAGE)})
    if conversation is None:
        raise ValueError(f"{MESSAGES!r} is not a list of chat messages with one of the assistant among them")
    return conversation


def _listed(value: Any, name: str) -> Sequence[Any]:
    """A list, which a cell holds as text; none where there is nothing."""
    if isinstance(value, str) and value.strip():
        entries = list_in(value)
        if entries is None:
            raise ValueError(f"{name!r} is not a list: expected JSON, got {value:.60}")
        return entries
    if value is None or value == "":
        return ()
    if not isinstance(value, list):
        raise ValueError(f"{name!r} is not a list")  # noqa: TRY004  # of a file
    return value


def _source(value: Any, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str | int) and not isinstance(value, bool):
        return {"id": str(value)}
    raise ValueError(f"{name!r} holds {value!r:.40}, which is neither an id nor a mapping")


def _text_of(file: Path) -> str:
    try:
        return read_regular_text(file, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise DataError(f"{file.name} cannot be read: {error}") from error


def _sql_lines(text: str) -> Sequence[SqlLine]:
    """One statement a line; a blank line is an empty output, but at the end, where editors leave some.

    Not splitlines(): a line separator of Unicode may be inside a SQL literal.
    """
    return tuple(split_line(line) for line in text.rstrip().split("\n")) if text.strip() else ()


def _mapping_in(text: str, row: tuple[str, str]) -> Mapping[str, Any] | None:
    """The object that a .json file is; None where it holds JSON lines, whose first is an object of `row` itself."""
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not set(row) <= set(value) else None


def _of_mapping(mapping: Mapping[str, Any], name: str) -> _Outputs:
    if mapping and set(mapping) == {str(number) for number in range(len(mapping))}:
        # BIRD's own evaluator scores an output that is not text (a refused prompt is 0) as an empty statement.
        texts = [mapping[str(number)] for number in range(len(mapping))]
        return _Outputs(lines=tuple(split_line(text) if isinstance(text, str) else SqlLine("", "") for text in texts))
    if any(isinstance(value, dict | list) for value in mapping.values()):
        raise DataError(f"{name}: expected an object of id to output, with a text for each")
    return _Outputs(MappingProxyType({ident: Output(value) for ident, value in mapping.items()}))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key occurs twice")
    return mapping


def _rows(file: Path, text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    try:
        return _csv_rows(text) if file.suffix.lower() == ".csv" else _json_rows(text)
    except (ValueError, RecursionError, csv.Error) as error:
        raise DataError(f"{file.name} cannot be read: {error}") from error


def _json_rows(text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The objects of JSON lines, or of one JSON list, each with its place."""
    if text.lstrip()[:1] == "[":
        rows = [(f"entry {number}", row) for number, row in enumerate(json.loads(text), start=1)]
    else:  # Not splitlines(): a line separator of Unicode may be inside a JSON text.
        lines = enumerate(text.split("\n"), start=1)
        rows = [(f"line {number}", json.loads(line)) for number, line in lines if line.strip()]
    for place, row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{place}: expected an object, got {type(row).__name__}")  # noqa: TRY004  # of a file
    return [(place, known) for place, row in rows if (known := _of_export(row)) is not None]


def _of_export(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A row as `export` writes it, with the keys that are looked for by default; None where a record has no output."""
    sample, output = row.get("sample"), row.get("output")
    if {"run", "target", "scores", "sample"} <= row.keys() and isinstance(sample, Mapping):
        if not isinstance(output, Mapping):
            return None
        found = {"id": sample.get("id"), "output": output.get("value"), "contexts": output.get("contexts", ())}
        return {**output.get("metadata", {}), **found}
    if {"question", "kb_answer", "correct_answer"} <= row.keys():  # a row of --json-dir
        return {"id": row["question"], "output": row["kb_answer"], **row}
    return row


def _csv_rows(text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Each row with its place, the line that it ends on.

    Raises:
        ValueError: a row is not as wide as the header.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows = [(f"line {reader.line_num}", row) for row in reader]
    for place, row in rows:
        if None in row or None in row.values():
            raise ValueError(f"{place} is not as wide as the header")
    return rows
