"""A run as a value: what summaries, comparisons and every other answer about runs are computed from.

`RunData` holds columns and small values. Texts of a run (inputs, outputs, reasons, replies) are not in it: the few that
an answer needs are read through its `bodies`. `steelyard.store.reading.run_reading` reads it from a store, and
`steelyard.analysis.comparison.baseline` from a file.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-run-is-a-value.md

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from steelyard.analysis.model_calls import FrameworkUsage, StageCost
from steelyard.analysis.scores.score_columns import ScoreColumns, ScoreRow
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.analysis.scores.score_summary_values import RunState
from steelyard.analysis.stopping import Stopping
from steelyard.stats.arrays import Array
from steelyard.types import Label, Record, Reply, Sample, ScoreInfo

TARGET: Final = "target"
"""The stage of the target's replies."""
MARGIN: Final = 0.03
"""How far below the best cell of a grid a cell may be and still count as good as it, unless the run says otherwise."""


RecordPlace = tuple[str, int]
"""Sample's id and repeat."""


@dataclass(frozen=True, slots=True)
class LabelDraw:
    """How the labelled records of a run were drawn.

    Args:
        weights: of records that a queue drew by chance: how many records each represents.
        conditions: under which queues drew; such labels say nothing about other records.
        examples: records that a prompt of the run contains as examples; their labels do not count.
    """

    weights: Mapping[RecordPlace, float] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    examples: frozenset[RecordPlace] = frozenset()


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Counters of a run.

    Args:
        planned: records that a complete run has (samples times repeats).
        done: records stored, failed ones included.
        errors: records that failed.
        from_journal: replies that were taken from the journal instead of a new call.
        input_tokens: of all replies in the journal; likewise `output_tokens`.
        seconds: wall time.
    """

    planned: int = 0
    done: int = 0
    errors: int = 0
    from_journal: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ReplyColumns:
    """The target's replies; arrays with an entry per reply, in the order of the records and calls.

    Args:
        owner: index of the reply's record.
        key: its key in the journal, a row of bytes.
    """

    owner: Array
    key: Array


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """The records of a run, in order of samples and repeats; arrays with an entry per record.

    Args:
        sample: number of the record's sample, as in the score columns.
        failed: whether it holds a failure.
        millis: wall time, queueing, retries and scorers included.
        replies: of the target.
    """

    sample: Array
    failed: Array
    millis: Array
    replies: ReplyColumns

    def last_keys(self) -> tuple[Array, Array]:
        """Per record with a reply, the number of its sample and the journal's key of the target's last reply.

        Only the last one is the answer: two runs may share an earlier one, such as an embedding, and still differ.
        """
        # Replies come in the order of their records: the last of a record is followed by another record's.
        is_last = np.diff(self.replies.owner, append=-1) != 0
        return self.sample[self.replies.owner[is_last]], self.replies.key[is_last]


@dataclass(frozen=True, slots=True)
class RunBodies:
    """Reads what is not in the columns of a run; a damaged body is left out.

    Args:
        samples: those with these ids; None is all.
        replies: key in the journal -> the reply.
        records: of the samples with these ids, in order; None is all.
    """

    samples: Callable[[Collection[str] | None], Iterator[Sample]]
    replies: Callable[[Collection[bytes]], Mapping[bytes, Reply]]
    records: Callable[[Collection[str] | None], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class QueuedRecord:
    """A record that a queue drew to be labelled.

    Args:
        place: its sample's id and repeat.
        weight: the inverse of its chance to be drawn.
        queue: number of the queue.
        method: how the queue drew.
        where: the condition that it drew from; "" is all records.
    """

    place: RecordPlace
    weight: float
    queue: int
    method: str
    where: str


@dataclass(frozen=True, slots=True)
class LabelContext:
    """What is known of a run's labels and judges beside its own rows.

    Args:
        drawn: records that queues drew.
        examples: labelled records whose input stands in a prompt.
        judged: the manifest of the run whose answers a run of judges judges; None for other runs.
        canary: scores of the same judges on answers with an injected instruction; None where there are none.
    """

    drawn: tuple[QueuedRecord, ...] = ()
    examples: frozenset[RecordPlace] = frozenset()
    judged: Mapping[str, Any] | None = None
    canary: ScoreColumns | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RunData:
    """One run as it was read.

    Args:
        id: the run's id.
        suite: the suite's title.
        kind: the suite's kind: `choice`, `rag`, `custom` ...
        target: the target's name.
        evaluation: number of the evaluation that it was started in; None where that is not known.
        state: `finished`, `running`, `interrupted` or `broken`.
        created: when it was started, ISO 8601.
        manifest: what was run; of a run that was scored again, with the newest scorers.
        counts: its counters.
        scores: every score of every record; where a stopping rule decided, of the samples that it used.
        hashes: per sample number a hash of its content, the id included; None where that is not known.
        records: None where only the scores are known.
        stages: calls, tokens and cost of each stage; empty where they were not counted.
        framework: tokens of models that the target called itself; None where its framework reports none.
        labels: that count; of a run of judges those of the run whose answers they judge.
        label_context: what is known of labels and judges beside the rows.
        stopping: what a rule that may end a run early decided; None where there was none.
        damaged: a line for each record that cannot be read whole, see `RecordFindings`.
        bodies: reads texts; None where the run is not in a store.
        before_labels: the run as it was scored, where labels of people count in place of scores; else None.
        reason: why it did not finish; "" where it did, or where none is known.
    """

    id: str
    suite: str
    kind: str
    target: str
    evaluation: int | None
    state: RunState
    created: str
    manifest: Mapping[str, Any]
    counts: RunCounts
    scores: ScoreColumns
    hashes: Array | None = None
    records: RecordColumns | None = None
    stages: tuple[StageCost, ...] = ()
    framework: FrameworkUsage | None = None
    labels: tuple[Label, ...] = ()
    label_context: LabelContext = field(default_factory=LabelContext)
    stopping: Stopping | None = None
    damaged: tuple[str, ...] = ()
    bodies: RunBodies | None = None
    before_labels: RunData | None = None
    reason: str = ""

    @classmethod
    def of(cls, rows: Iterable[ScoreRow], target: str = "target", **fields: Any) -> RunData:
        """A finished run of these rows alone.

        Args:
            rows: in the order of samples and repeats.
            target: the target's name.
            fields: any others.

        >>> run = RunData.of([ScoreRow("fr", "", "", 0, "right", "scored", 1.0)])
        >>> run.counts.done, run.scores.names
        (1, ('right',))
        """
        listed = list(rows)
        records = {(row.sample, row.repeat) for row in listed}
        errors = {(row.sample, row.repeat) for row in listed if row.outcome == "error"}
        values: dict[str, Any] = {
            "id": f"run-{target}",
            "suite": "suite",
            "kind": "custom",
            "evaluation": None,
            "state": "finished",
            "created": "",
            "manifest": {},
            "counts": RunCounts(len(records), len(records), len(errors)),
        }
        return cls(target=target, scores=ScoreColumns.of(listed), **values | fields)

    @property
    def score_infos(self) -> Mapping[str, ScoreInfo]:
        """Score -> what its scorer declared, in the scorers' order."""
        return score_infos(self.manifest)

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""
        return self.manifest.get("tags") or {}

    @property
    def stopped_early(self) -> bool:
        """Whether a rule ended the run early, so that intervals for a fixed number of samples do not hold."""
        return self.stopping is not None and self.stopping.used < self.stopping.planned

    @property
    def primary(self) -> str:
        """The headline score's name; "" where nothing was scored."""
        order = {name: position for position, name in enumerate(self.manifest.get("scores") or ())}
        named: str = self.manifest.get("primary") or ""
        return named or min(self.scores.scores, key=lambda name: order.get(name, len(order)), default="")

    def draw_of(self, labels: Iterable[Label]) -> LabelDraw:
        """How the records of some labels were drawn.

        Several draws are joined: the weights of a queue count by its share of the labelled records, and those of a
        record that several queues drew are added.
        """
        labelled = {(label.sample, label.repeat) for label in labels}
        used = [drawn for drawn in self.label_context.drawn if drawn.place in labelled and drawn.method in _BY_CHANCE]
        weights: dict[RecordPlace, float] = {}
        of_queue = Counter(drawn.queue for drawn in used)
        for drawn in used:
            share = of_queue[drawn.queue] / len(used)
            weights[drawn.place] = weights.get(drawn.place, 0.0) + drawn.weight * share
        conditions = dict.fromkeys(drawn.where for drawn in used if drawn.where)
        return LabelDraw(weights, tuple(conditions), self.label_context.examples & labelled)


class HoldsRunData(Protocol):
    """A handle on a stored run; `steelyard.store.Run` is one."""

    def data(self) -> RunData:
        """What was read of it."""


def data_of(run: RunData | HoldsRunData) -> RunData:
    """The value of a run, or of a handle on one."""
    return run if isinstance(run, RunData) else run.data()


_BY_CHANCE: Final = frozenset({"random", "stratified", "uncertain", "all"})
"""Methods of draws in which each record had a known chance; records in dispute, say, were not drawn by chance."""
