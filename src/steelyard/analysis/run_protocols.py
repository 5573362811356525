"""Protocols of stored runs as the analysis reads them; `steelyard.store.Run` implements those for runs.

Nothing in this package imports the store, so a run may also be a baseline file, or one that a test made by hand.

    RunOfSuite       which suite a run is of
    ComparableRun    what `compare` reads
    PlacedVerdict    the outcome of one score of a record, without its texts
    StoredRun        what pages and exports read
    SampleUsage      contents, reply keys and costs of the samples of a run, by sample number
    SampleCosts      time, calls and tokens of one sample
    RatedRun         what `agreement` reads
    JudgingRun       what `preferences` and `standings` read of a run that judges pairs of answers
    StoredScores     what a baseline file is made from
    ListedRun        what choosing a baseline by its name needs
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard.analysis.score_columns import JudgedRow, ScoreColumns, ScoreRow
    from steelyard.analysis.stopping import Stopping
    from steelyard.analysis.summary_values import RunState, RunSummary
    from steelyard.types import Outcome, Record, Remarks, ScoreInfo

    Array = NDArray[Any]


class PlacedVerdict(NamedTuple):
    """The outcome of one score of a record, without its value and its texts.

    Args:
        no: index of its sample in the dataset, 0-based.
        sample: the sample's id.
        group: the sample's.
        failed: whether the record holds a failure.
        outcome: of the score; None where the record has no such score.
        passed: the verdict of the scorer; None where it gave none.
    """

    no: int
    sample: str
    group: str
    failed: bool
    outcome: Outcome | None
    passed: bool | None


class RunOfSuite(Protocol):
    """A run and the suite that it is of."""

    @property
    def id(self) -> str:
        """The run's id."""

    @property
    def target(self) -> str:
        """The target's name."""

    @property
    def suite(self) -> str:
        """The suite's title."""

    @property
    def kind(self) -> str:
        """The suite's kind: `choice`, `rag`, `custom` ..."""


class ComparableRun(Protocol):
    """The parts of a stored run that a comparison reads."""

    @property
    def id(self) -> str:
        """The run's id."""

    @property
    def target(self) -> str:
        """The target's name."""

    @property
    def suite(self) -> str:
        """The suite's title."""

    @property
    def tags(self) -> Mapping[str, str]:
        """The target's report columns."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Dataset, target, scorers and options of the run, as they were when it started."""

    def summary(self) -> RunSummary:
        """Means, intervals and counts."""

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score of every record."""

    def sample_hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content."""

    def reply_keys(self) -> Mapping[str, AbstractSet[str]]:
        """Sample id -> journal keys of the target's replies."""


class StoredRun(ComparableRun, Protocol):
    """A stored run as pages and exports read it: what `ComparableRun` has, its records and remarks."""

    @property
    def reason(self) -> str:
        """Why it did not finish; "" where it did."""

    @property
    def done(self) -> int:
        """How many records are stored."""

    @property
    def replies(self) -> int:
        """How many replies its records hold."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    def records(self) -> Iterator[Record]:
        """Every record in order of samples and repeats."""

    def scored_names(self) -> Sequence[str]:
        """Names of the scores that records have, in order of first appearance."""

    def placed_verdicts(self, score: str, /) -> Iterator[PlacedVerdict]:
        """The outcome of one score of every record."""

    def records_at(self, places: Sequence[int], shared: dict[Any, Any] | None = None, /) -> Iterator[Record]:
        """The records of the samples at these places of the dataset, ascending; `shared` as in `store.Run`."""

    def records_of(self, samples: Collection[str], /) -> Sequence[Record]:
        """Records of a few samples, in order of samples and repeats."""

    def remarks(self) -> Remarks:
        """Notes and labels that people and models gave."""


class SampleUsage(Protocol):
    """Contents, reply keys and costs of a stored run by sample number; `steelyard.store.usage.RunUsage` is one."""

    @property
    def numbered_hashes(self) -> Array:
        """Per sample, the hash of its content, the id included."""

    def hashes(self) -> Mapping[str, str]:
        """The same by sample id, as texts."""

    def last_keys(self) -> tuple[Array, Array]:
        """The journal's keys of the last reply that the target got in each repeat, and numbers of their samples."""

    def costs(self, numbers: Array, /) -> Mapping[int, SampleCosts]:
        """Sample number -> its time, calls and tokens."""

    def contents(self) -> Mapping[str, str]:
        """Sample id -> hash of its input, reference, choices and contexts."""

    def values(self, key: str, /) -> Mapping[str, str]:
        """Sample id -> its metadata at `key` as text."""

    def keys(self) -> Sequence[str]:
        """Keys of the samples' metadata."""


class SampleCosts(Protocol):
    """The costs of one sample in one run; `steelyard.store.usage.SampleCost` is one."""

    @property
    def seconds(self) -> float:
        """Wall time of the record, queueing, retries and scorers included."""

    @property
    def latency(self) -> float | None:
        """Seconds of the target's answered attempts, without queueing and retries; None where it asked no model."""

    @property
    def calls(self) -> float:
        """Replies of the target."""

    @property
    def input_tokens(self) -> float:
        """Of these replies."""

    @property
    def output_tokens(self) -> float:
        """Of these replies."""

    @property
    def estimated(self) -> bool:
        """Whether some tokens were not counted by the endpoint."""

    @property
    def ttft(self) -> float | None:
        """Seconds to the first token of the target's first reply; None where it was not streamed."""


class RatedRun(Protocol):
    """A stored run whose scores are the ratings of a rater."""

    @property
    def id(self) -> str:
        """The run's id."""

    @property
    def target(self) -> str:
        """The target's name."""

    @property
    def score_infos(self) -> Mapping[str, ScoreInfo]:
        """What the scorers declared, by score."""

    def summary(self) -> RunSummary:
        """Means and counts; the headline is named there."""

    def columns(self) -> tuple[ScoreColumns, Any]:
        """Every score of every record, and the usage of the samples."""


class JudgingRun(Protocol):
    """What `preferences` reads of a run that judges pairs of answers."""

    @property
    def id(self) -> str:
        """The run's id."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Its settings; its target is `{"pair": {"first": ..., "second": ...}}`."""

    def summary(self) -> RunSummary:
        """Means, counts and, where a rule could end it early, what that rule decided."""

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """One score of every record with the detail that the scorer stored."""

    def records(self) -> Iterator[Record]:
        """Every record; its output holds both answers."""


class PairRun(Protocol):
    """What `standings` reads of a run that judges one pair of targets."""

    @property
    def id(self) -> str:
        """The run's id."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Its settings; its target is `{"pair": {"first": ..., "second": ...}}`."""

    @property
    def stopping(self) -> Stopping | None:
        """What a stopping rule decided, where there was one."""

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """One score of every record with the detail that the scorer stored."""


class StoredScores(Protocol):
    """What a baseline file is made from; `steelyard.store.Run` is one."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Dataset, target, scorers and options of the run, as they were when it started."""

    def summary(self) -> RunSummary:
        """Means, intervals and counts."""

    def score_rows(self) -> Iterator[ScoreRow]:
        """Every score of every record."""

    def sample_hashes(self) -> Mapping[str, str]:
        """Sample id -> hash of its content."""


class ListedRun(Protocol):
    """What choosing a baseline by its name reads of a run; `steelyard.store.Run` is one."""

    num: int
    id: str
    evaluation: int
    suite: str
    target: str

    @property
    def state(self) -> RunState:
        """Whether the run is finished, running, interrupted or broken."""
