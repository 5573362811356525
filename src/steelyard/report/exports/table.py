"""Records as a table, one row each: the content of CSV, workbook and Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.analysis.scores.score_fields import CellKind, ScoreField, score_cells, score_fields
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.data.table import origin_keys
from steelyard.prompts.agent_messages import reported_usage
from steelyard.prompts.sample_values import option_label
from steelyard.store import Run
from steelyard.types import Label, Record, Reply

_NUMBERS: Final[Mapping[str, CellKind]] = {
    "repeat": "count",
    "input_tokens": "count",
    "output_tokens": "count",
    "attempts": "count",
    "seconds": "number",
}


@dataclass(frozen=True, slots=True)
class ExportTable:
    """The table of a run.

    Args:
        run: what is exported.
        scores: the columns of its scores, in order.
        origin: `source` and `sheet`, where its dataset has several files or sheets.
        tags: the names of its target's tags.
        labels: the names of its labels.
    """

    run: Run
    scores: tuple[ScoreField, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    origin: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> ExportTable:
        """The table of `run`; its records are read by `rows`."""
        names = dict.fromkeys(label.name for label in run.remarks().labels)
        return cls(
            run,
            score_fields(score_names(run), score_infos(run.manifest)),
            tuple(sorted(run.tags)),
            tuple(names),
            origin_keys(run.manifest.get("breakdowns", ())),
        )

    @property
    def columns(self) -> list[tuple[str, CellKind]]:
        """Each column's name and what it holds, in order; a score may be named like another column."""
        names = ["run", "target", *(f"tag_{tag}" for tag in self.tags), "id", "group", *self.origin, "repeat"]
        names += ["question", "options", "reference", "output"]
        columns = [(name, _NUMBERS.get(name, "text")) for name in names]
        columns += [(field.column, field.kind) for field in self.scores]
        names = ["failure", "input_tokens", "output_tokens", "attempts", "seconds"]
        columns += [(name, _NUMBERS.get(name, "text")) for name in names]
        return columns + [(label_column(name), "text") for name in self.labels]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self.columns]

    def rows(self, records: Iterable[Record] | None = None) -> Iterator[list[Any]]:
        """The cells of every record, in the order of the columns; what is neither text nor number is a JSON value.

        Args:
            records: of the run; None is all, in its order.
        """
        labels = labels_by_record(self.run)
        for record in self.run.records() if records is None else records:
            values = {label.name: label.value for label in labels.get((record.sample.id, record.repeat), ())}
            yield [*_cells(self, record), *(values.get(name) for name in self.labels)]


def label_column(name: str) -> str:
    """The name of the column of labels of one name; it contains the newest label of any author.

    >>> label_column("cause")
    'label_cause'
    """
    return f"label_{name}"


def labels_by_record(run: Run) -> dict[tuple[str, int], list[Label]]:
    """(sample's id, repeat) -> its labels, oldest first."""
    by_record: dict[tuple[str, int], list[Label]] = {}
    for label in run.remarks().labels:
        by_record.setdefault((label.sample, label.repeat), []).append(label)
    return by_record


def score_names(run: Run) -> list[str]:
    """Every score of a run: those its scorers announce, then others that records have."""
    announced = [name for name in run.manifest.get("scores", ()) if name]
    return list(dict.fromkeys([*announced, *run.scored_names()]))


def _tokens(record: Record, replies: Sequence[Reply]) -> list[int | None]:
    """Tokens in and out of all replies and as reported by the output; None where neither has any."""
    usages = [(reply.usage.input_tokens, reply.usage.output_tokens) for reply in replies]
    reported = reported_usage(record.output, through_journal=bool(record.replies.get("target")))
    usages += [(reported["input_tokens"], reported["output_tokens"])] if reported else []
    return [sum(side) for side in zip(*usages, strict=True)] if usages else [None, None]


def _cells(table: ExportTable, record: Record) -> list[Any]:
    sample = record.sample
    replies = [reply for stage_replies in record.replies.values() for reply in stage_replies]
    failure = record.failure
    options = "\n".join(f"{option_label(at)}. {choice}" for at, choice in enumerate(sample.choices))
    return [
        table.run.id,
        table.run.target,
        *(table.run.tags[tag] for tag in table.tags),
        sample.id,
        sample.group,
        *(sample.metadata.get(key) for key in table.origin),
        record.repeat,
        sample.input,
        options,
        sample.reference,
        record.output.value if record.output else None,
        *score_cells(table.scores, record.scores),
        f"{failure.stage} ({failure.kind}): {failure.message}" if failure else None,
        *_tokens(record, replies),
        sum(len(reply.attempts) for reply in replies),
        record.seconds,
    ]
