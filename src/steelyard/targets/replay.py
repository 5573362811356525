"""Targets that ask nothing: outputs from a file, of another tool or of an earlier run, and pairs of two runs' outputs.

A pair holds two answers to the same sample, side by side, for a judge that prefers one of them: outputs of two targets
of the same suite, which answer first, or of runs that are stored already. The suite binds it to them before it is run.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-preferences.md

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import nan
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

from steelyard.analysis.numbers import count_text
from steelyard.data.rows import object_as_printed, only_value
from steelyard.data.table import list_in, render
from steelyard.data.text_tables import SqlLine, golden, split_line
from steelyard.data.workbook import read_workbook
from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.files import read_regular_text
from steelyard.plain_json import distinct_keys, mapping_or_empty
from steelyard.prompts.agent_messages import (
    LEFT_OUT,
    MESSAGES,
    USAGE,
    agent_metadata,
    called_and_answered,
    conversation_output,
    is_answered_conversation,
)
from steelyard.prompts.conversation import messages_in, transcript_of
from steelyard.prompts.sample_values import own_question
from steelyard.replies.answer_text import answer_of
from steelyard.session.replies import refused_before
from steelyard.targets.tool_logs import HARNESS, batch_rows, exported_row, harness_rows, inspect_rows, is_of_batch
from steelyard.types import INLINE, Asks, Output, Record, Sample, StageInfo

_LINES: Final = frozenset({".sql", ".txt"})
_INSPECT: Final = ("id", "output")
_MOST_IN_A_CELL: Final = 32_767
"""Characters; a text that fills a cell of a workbook was cut."""
_LOOKED_FOR: Final = frozenset({"contexts", "sources", "confidence"})
"""Keys that rows may lack unless the user names them."""
_SPANS: Final = (
    "spans of OpenTelemetry are not outputs: write a row for each sample, with its id and, as 'messages', what is in "
    "gen_ai.input.messages and gen_ai.output.messages; or as 'output' what is in output.value (OpenInference)"
)
_OF_OPIK: Final = frozenset({"dataset_item_id", "project_id"})
"""Keys of an item of an experiment, and of a trace."""
_MOST_LACKING: Final = 5
"""Samples without an output that a note names."""
_MOST_BYTES: Final = 1_000_000_000
"""Limit of a file of outputs, which is in memory as a whole."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Returns the output that a file holds for each sample.

    By the sample's id: JSON lines, a JSON list, CSV or a workbook (.xlsx, as `export` writes it: every sheet with a
    column of ids) with one output a row, or a .json object of id to output. By the
    sample's place in its dataset (`metadata["position"]`, which the text2sql suite gives): one SQL statement a line
    (.sql or .txt), a tab and the database behind it or not, and BIRD's predictions, a .json object whose keys count
    from "0".

    A row may also hold what was retrieved, so that contexts and retrieval can be scored: a list of texts in rank order,
    and a list of their sources. A cell of a CSV file holds such a list as JSON, or texts as pandas writes them. A row
    of an agent may hold its conversation under `messages`, or as its output, and its tokens under `usage`.

    Args:
        file: JSON lines, a JSON list, CSV or .xlsx with one output a row; one SQL statement a line (.sql, .txt); or a
            .json object of id to output, such as BIRD's predictions; or a log of Inspect as .json, samples of
            lm-evaluation-harness (`--log_samples`), or results of a batch of OpenAI or Anthropic.
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
        messages = messages_in(sample.input)
        asked = transcript_of(sample.input if messages is None else messages)
        keys = (sample.id, asked, own_question(sample)) if isinstance(sample.input, str) else (sample.id, asked)
        output = next((outputs.by_id[key] for key in keys if key in outputs.by_id), None)
        if output is None:
            name = Path(self.file).name
            raise LookupError(f"{name} holds no output for sample {sample.id!r}: no row has it, or its call failed")
        return output

    def lacks(self, samples: Iterable[Sample]) -> str:
        """Say for how many samples, and which, the file has no output; "" where it has all."""
        count, lacking = 0, []
        for sample in samples:
            count += 1
            try:
                self(sample)
            except LookupError:
                lacking.append(sample.id)
        if not lacking:
            return ""
        more = f" and {len(lacking) - _MOST_LACKING:,} more" if len(lacking) > _MOST_LACKING else ""
        of = f"{len(lacking):,} of {count_text(count, 'sample')}"
        return f"{Path(self.file).name} holds no output for {of}: {', '.join(lacking[:_MOST_LACKING])}{more}"

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
    if file.suffix.lower() == ".xlsx":
        return _by_id(file, _workbook_rows(file, ident), names)
    if file.suffix.lower() == ".eval":
        raise DataError(
            f"{file.name}: a log of Inspect is read as JSON: inspect log dump {file.name} > {file.stem}.json"
        )
    text = _text_of(file)
    if file.suffix.lower() in _LINES:
        # One statement a line; a blank line is an empty output, but at the end, where editors leave some. Not
        # splitlines(): a line separator of Unicode may be inside a SQL literal.
        return _Outputs(lines=(tuple(split_line(line) for line in text.rstrip().split("\n")) if text.strip() else ()))
    mapping = _mapping_in(text, (ident, output)) if file.suffix.lower() == ".json" else None
    if mapping is not None and {"eval", "plan"} <= mapping.keys():
        return _by_id(file, inspect_rows(mapping, file.name), (*_INSPECT, *names[2:]))
    if mapping is not None:
        return _of_mapping(mapping, file.name)
    rows = _rows(file, text, output)
    if rows and rows[0][1].keys() >= HARNESS:
        rows, names = harness_rows(rows, file.name, output), (*_INSPECT, *names[2:])
    elif ident in {"id", "custom_id"} and any(is_of_batch(row) for _, row in rows):
        rows, names = batch_rows(rows), (*_INSPECT, *names[2:])
    return _by_id(file, rows, names)


def _by_id(file: Path, rows: Sequence[tuple[str, Mapping[str, Any]]], names: tuple[str, ...]) -> _Outputs:
    ident, output, *others = names
    for name in sorted(set(others) - _LOOKED_FOR) if rows else ():
        if not any(name in row for _, row in rows):
            raise ConfigError(f"{file.name}: no row has {name!r}{did_you_mean(name, rows[0][1])}")
    outputs: dict[str, Output] = {}
    for place, row in rows:
        for name in (ident, output):
            if name not in row and not (name == output and MESSAGES in row):
                hint = "; a column with the question serves as well" if name == ident else ""
                hint = f"; {_SPANS}" if _is_of_spans(row) else f"{did_you_mean(name, row)}{hint}"
                raise ConfigError(f"{file.name} {place} has no {name!r}{hint}")
        try:
            stored = _output_of(row, names)
        except ValueError as error:
            raise DataError(f"{file.name} {place}: {error}") from error
        cell = only_value(row[ident]) if ident == "inputs" else row[ident]
        messages = messages_in(cell)
        key = transcript_of(cell if messages is None else messages)
        if outputs.setdefault(key, stored) != stored:
            raise DataError(f"{file.name} {place}: a second output for sample {key!r}")
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
    if output == "outputs" and {"inputs", output} <= row.keys():  # of LangSmith, read as its expected outputs are
        row = {**row, output: only_value(row[output])}
    elif _OF_OPIK & row.keys() and mapping_or_empty(row.get(output)).keys() == {"output"}:  # what a function returned
        row = {**row, output: row[output]["output"]}
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
    value = row.get(output)
    called = row.get("tools_called") or row.get("toolsCalled")  # of DeepEval, whose later versions have the latter
    if isinstance(value, str) and isinstance(called, list) and all(isinstance(call, dict) for call in called):
        value = called_and_answered(called, value)
    logged = object_as_printed(value)  # spans and tables keep a reply as its JSON text
    reply = conversation_output(logged) if isinstance(logged, list | Mapping) else None
    if reply is not None and USAGE not in reply.metadata:
        reply = replace(reply, metadata={**reply.metadata, **agent_metadata([], [row.get(USAGE)])})
    if not row.get(MESSAGES):
        return reply
    messages = _listed(row[MESSAGES], MESSAGES)
    if reply is not None and not is_answered_conversation(messages[-1:]):  # the messages are those of the request
        return reply
    answer = value if reply is None else reply.value
    conversation = conversation_output({MESSAGES: messages, "output": answer, USAGE: row.get(USAGE)})
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
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> DataError:
    is_known = file.suffix.lower() in _LINES | {".json", ".jsonl", ".csv"}
    forms = "" if is_known else "; outputs are read from JSON lines, a JSON list, CSV or .xlsx"
    return DataError(f"{file.name} cannot be read: {error}{forms}")


def _mapping_in(text: str, row: tuple[str, str]) -> Mapping[str, Any] | None:
    """The object that a .json file is; None where it holds JSON lines, whose first is an object of `row` itself."""
    try:
        value = json.loads(text, object_pairs_hook=distinct_keys)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not set(row) <= set(value) else None


def _is_of_spans(row: Mapping[str, Any]) -> bool:
    return "resourceSpans" in row or ("attributes" in row and "kind" in row)


def _of_mapping(mapping: Mapping[str, Any], name: str) -> _Outputs:
    rows = [value for value in mapping.values() if isinstance(value, dict | list)]
    if mapping and not rows and set(mapping) == {str(number) for number in range(len(mapping))}:
        # BIRD's own evaluator scores an output that is not text (a refused prompt is 0) as an empty statement.
        texts = [mapping[str(number)] for number in range(len(mapping))]
        return _Outputs(lines=tuple(split_line(text) if isinstance(text, str) else SqlLine("", "") for text in texts))
    if rows:
        lists = [key for key, value in mapping.items() if isinstance(value, list)]
        hint = (
            f"if the outputs are the list {' or '.join(lists[:3])}, save it alone"
            if lists
            else "write a row for each, with its id, as JSON lines"
        )
        hint = _SPANS if _is_of_spans(mapping) else hint
        raise DataError(f"{name}: expected an object of id to output, with a text for each; {hint}")
    return _Outputs(MappingProxyType({key: Output(value) for key, value in mapping.items() if value is not None}))


def _rows(file: Path, text: str, output: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    try:
        rows = _csv_rows(text) if file.suffix.lower() == ".csv" else _json_rows(text)
        known = [(place, golden(own)) for place, row in rows if (own := exported_row(row, output)) is not None]
    except (ValueError, RecursionError, csv.Error) as error:
        raise _unreadable(file, error) from error
    if rows and not known and output not in rows[0][1]:
        raise DataError(f"{file.name}: no row has an output under {output!r}{did_you_mean(output, rows[0][1])}")
    return known


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
    return rows


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


def _workbook_rows(file: Path, ident: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The rows of the sheets of a workbook that have a column of ids (all sheets, if none has), each with its place.

    Raises:
        DataError: the workbook cannot be read, or a cell was cut when it was written.
    """
    sheets: list[list[tuple[str, dict[str, str]]]] = []
    for table in read_workbook(file)[0]:
        header, *rows = list(table)
        names = list(map(render, header.cells))
        sheets.append([(f"{table.sheet} row {row.number}", _texts(names, row.cells)) for row in rows])
    wanted = [rows for rows in sheets if rows and ident in rows[0][1]] or sheets
    for place, row in (pair for rows in wanted for pair in rows):
        cut = next((name for name, text in row.items() if len(text) >= _MOST_IN_A_CELL), None)
        if cut is not None:
            raise DataError(
                f"{file.name} {place}: {cut!r} was cut at {_MOST_IN_A_CELL:,} characters; export it as .jsonl or .csv"
            )
    return [pair for rows in wanted for pair in rows if any(pair[1].values())]


def _texts(names: Sequence[str], cells: Any) -> dict[str, str]:
    return {name: cell if isinstance(cell, str) else render(cell) for name, cell in zip(names, cells, strict=False)}


SIDES: Final = ("A", "B")


class PairSide(NamedTuple):
    """One run of a pair.

    Args:
        run: its id.
        record: sample id and repeat -> what it has of that sample; None where it has nothing.
    """

    run: str
    record: Callable[[str, int], Record | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """Outputs the answers of two runs to a sample, as `{"A": ..., "B": ...}`; None for a side without an answer.

    Args:
        first: side A: a target of the same suite, or a stored run by its id.
        second: side B, likewise.
        names: what reports call the two, where an id says little; empty: as above.
        transcripts: whether the messages that both outputs keep are handed to the judge; a suite sets it.
    """

    stage_info: ClassVar[StageInfo] = INLINE
    first: str
    second: str
    names: tuple[str, ...] = ()
    transcripts: bool = False

    def check(self) -> None:
        """Check that both sides are named and differ.

        Raises:
            ConfigError: no name, or the same one twice.
        """
        if self.names and (len(self.names) != len(SIDES) or self.names[0] == self.names[1]):
            raise ConfigError(f"names: what the two sides are called, not {self.names!r}")
        for name in (self.first, self.second):
            if not isinstance(name, str) or not name.strip():
                raise ConfigError(f"a pair names two targets or runs, not {name!r}")
        if self.first == self.second:
            raise ConfigError(f"a pair is of two different targets; {self.first!r} is on both sides")

    @property
    def sides(self) -> tuple[str, str]:
        """Both names, A first."""
        return self.first, self.second

    def expected(self) -> Output:
        """Return a placeholder for a dry run, before the two sides have answered; equal answers would be one prompt."""
        transcript = {MESSAGES: [{"role": "assistant", "content": "..."}]} if self.transcripts else {}
        return Output(
            dict(zip(SIDES, ("...", "???"), strict=True)),
            metadata={side: {"failure": "", **transcript} for side in SIDES},
        )

    async def __call__(self, sample: Sample, ask: Asks) -> Output:  # noqa: ARG002  # what a target takes
        """Refuse to answer: only a pair that is bound to its runs can.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{self.first} and {self.second} are judged by a suite that runs both, or names stored runs")


@dataclass(frozen=True, slots=True)
class BoundPair:
    """A pair bound to the runs that its answers come from."""

    stage_info: ClassVar[StageInfo] = INLINE
    a: PairSide
    b: PairSide
    transcripts: bool = False

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Return the two answers of the same repeat."""
        values: dict[str, Any] = {}
        metadata: dict[str, Any] = {}
        for name, side in zip(SIDES, (self.a, self.b), strict=True):
            record = side.record(sample.id, ask.repeat)
            failure = failure_of(record, sample)
            output = record.output if record is not None else None
            values[name] = None if failure or output is None else answer_of(output)
            finish = str(output.metadata.get("finish", "")) if output is not None else ""
            metadata[name] = {"run": side.run, "failure": failure, "finish": finish}
            if self.transcripts and output is not None:
                copied_keys = (MESSAGES, LEFT_OUT)
                metadata[name] |= {key: output.metadata[key] for key in copied_keys if key in output.metadata}
        return Output(values, metadata=metadata)


def failure_of(record: Record | None, sample: Sample) -> str:
    """Why a side has no answer: `missing`, `refused` or `error: <kind>`; "" where it has one.

    A stored answer to another question of the same id is missing: nobody answered this one.
    """
    if record is None or record.sample.input != sample.input:
        return "missing"
    if record.output is None:
        return f"error: {record.failure.kind if record.failure else 'no output'}"
    return "refused" if refused_before(record.output) else ""
