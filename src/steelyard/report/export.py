"""Records as rows for other programs: JSON Lines with everything, CSV with what fits in cells."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from csv import writer
from dataclasses import fields
from typing import Any

from steelyard.report.stored import StoredRun
from steelyard.text.inert import cell_text, csv_cell, json_line, writable
from steelyard.types import Failure, Label, Record, Reply

_BYTE_ORDER_MARK = "\ufeff"


def plain_record(record: Record, labels: Sequence[Label] = ()) -> dict[str, Any]:
    """A record as plain JSON: sample, output, scores, labels, replies per stage with usage and attempts, failure."""
    return {
        "sample": _fields(record.sample),
        "repeat": record.repeat,
        "output": None if record.output is None else _fields(record.output),
        "scores": [_fields(score) for score in record.scores],
        "labels": [_plain_label(label) for label in labels],
        "replies": {stage: [_plain_reply(reply) for reply in several] for stage, several in record.replies.items()},
        "failure": None if record.failure is None else _plain_failure(record.failure),
        "seconds": record.seconds,
    }


def jsonl(run: StoredRun) -> Iterator[str]:
    """One line of JSON per record, line end included; run, target and tags stand before what `plain_record` gives."""
    head = {"run": run.id, "target": run.target, "tags": dict(run.tags)}
    labels = _by_record(run)
    for record in run.records():
        yield json_line(head | plain_record(record, labels.get((record.sample.id, record.repeat), ()))) + "\n"


def csv(run: StoredRun, *, raw: bool = False) -> Iterator[str]:
    r"""Lines of a CSV file, a header first, line ends included: write them as UTF-8 without changing line ends.

    The first line begins with a byte order mark, by which spreadsheets know the encoding. A cell that a spreadsheet
    would take for a formula begins with an apostrophe.

    Args:
        run: what is exported.
        raw: leave every cell as it came (but for characters that no file takes), for programs that run no formulas.
    """
    names = score_names(run)
    tags = sorted(run.tags)
    write = _raw_cell if raw else csv_cell
    labels = _by_record(run)
    said = list(dict.fromkeys(label.name for label in run.remarks().labels))
    yield _BYTE_ORDER_MARK + _line([write(name) for name in [*_header(names, tags), *map(label_column, said)]])
    for record in run.records():
        found = {label.name: label.value for label in labels.get((record.sample.id, record.repeat), ())}
        cells = [*_cells(run, record, names, tags), *(found.get(name) for name in said)]
        yield _line([write(value) for value in cells])


def label_column(name: str) -> str:
    """The column of labels of one name; of several authors the newest label stands in it.

    >>> label_column("cause")
    'label_cause'
    """
    return f"label_{name}"


def _by_record(run: StoredRun) -> dict[tuple[str, int], list[Label]]:
    """(sample's id, repeat) -> its labels, oldest first."""
    found: dict[tuple[str, int], list[Label]] = {}
    for label in run.remarks().labels:
        found.setdefault((label.sample, label.repeat), []).append(label)
    return found


def _plain_label(label: Label) -> dict[str, Any]:
    at = label.at.isoformat(timespec="seconds")
    return {"name": label.name, "value": label.value, "author": label.author, "at": at}


def score_names(run: StoredRun) -> list[str]:
    """Every score of a run: those its scorers announce, then others that records have."""
    announced = [name for name in run.manifest.get("scores", ()) if name]
    return list(dict.fromkeys([*announced, *(row.name for row in run.score_rows() if row.name)]))


def _header(names: Sequence[str], tags: Sequence[str]) -> list[str]:
    scores = [column for name in names for column in (name, f"{name}_outcome", f"{name}_reason")]
    before = ["run", "target", *(f"tag_{tag}" for tag in tags), "id", "group", "repeat", "question", "options"]
    return [*before, "reference", "output", *scores, "failure", "input_tokens", "output_tokens", "attempts", "seconds"]


def _cells(run: StoredRun, record: Record, names: Sequence[str], tags: Sequence[str]) -> list[Any]:
    sample = record.sample
    found = {score.name: score for score in record.scores}
    scores: list[Any] = []
    for name in names:
        score = found.get(name)
        scores += [score.value, score.outcome, score.reason] if score else [None, None, None]
    replies = [reply for several in record.replies.values() for reply in several]
    failure = record.failure
    options = "\n".join(f"{chr(ord('A') + place)}. {choice}" for place, choice in enumerate(sample.choices))
    return [
        run.id,
        run.target,
        *(run.tags[tag] for tag in tags),
        sample.id,
        sample.group,
        record.repeat,
        sample.input,
        options,
        sample.reference,
        record.output.value if record.output else None,
        *scores,
        f"{failure.stage} ({failure.kind}): {failure.message}" if failure else None,
        sum(reply.usage.input_tokens for reply in replies),
        sum(reply.usage.output_tokens for reply in replies),
        sum(len(reply.attempts) for reply in replies),
        record.seconds,
    ]


def _raw_cell(value: Any) -> str:
    return writable(cell_text(value))


def _line(cells: Sequence[str]) -> str:
    buffer = io.StringIO(newline="")
    writer(buffer).writerow(cells)
    return buffer.getvalue()


def _fields(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _plain_reply(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "key": reply.key,
        "text": reply.text,
        "finish": reply.finish,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "estimated": usage.estimated,
        "latency": reply.latency,
        "attempts": [_fields(attempt) for attempt in reply.attempts],
        "metadata": dict(reply.metadata),
    }


def _plain_failure(failure: Failure) -> dict[str, Any]:
    attempts = [_fields(attempt) for attempt in failure.attempts]
    return {"stage": failure.stage, "kind": failure.kind, "message": failure.message, "attempts": attempts}
