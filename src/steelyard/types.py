"""The nouns: values that flow from a sample to a stored record. All are frozen."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

from steelyard.errors import Attempt

if TYPE_CHECKING:
    from datetime import datetime

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Message = Mapping[str, Any]
Outcome = Literal["scored", "not_applicable", "unparsed", "refused"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""Every outcome of a score. An error is none of them: it is a `Failure` of the record."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One question that is asked of every target.

    Args:
        id: unique in its dataset; runs are paired by it.
        input: a text, a list of messages, or any JSON value.
        reference: the expected answer: letters, a text, a SQL query, a table; None where there is none.
        choices: the texts of the options in order; the first is A.
        contexts: passages given with the question.
        group: the category that a report breaks down by.
        cluster: equal for samples that are not independent (paraphrases, turns); empty means alone.
        metadata: anything else, kept and shown.
    """

    id: str
    input: Any
    reference: Any = None
    choices: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    group: str = ""
    cluster: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """What a target made of a sample; `contexts` are the retrieved passages in rank order."""

    value: Any
    contexts: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an endpoint counted; `estimated` where it did not and we counted characters."""

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model sent back.

    Args:
        key: the journal's key, 20 hexadecimal digits.
        text: the answer's text; empty when the model gave none.
        finish: why it ended, as the endpoint says: `stop`, `length`, `content_filter`, `refusal`, `tool_calls`.
        usage: tokens.
        latency: seconds of the attempt that was answered, without queueing and retries.
        attempts: every sending, the answered one last.
        cached: whether it came from the journal.
        metadata: `model` (as the endpoint names it), `reasoning`, `logprobs`, `contexts`, where given.
    """

    key: str
    text: str
    finish: str = "stop"
    usage: Usage = Usage()
    latency: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    cached: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:
    """One scorer's verdict on one output.

    Args:
        name: what is measured; a run's means carry this name.
        value: a finite number when `outcome` is `scored`, else None.
        passed: whether it meets the scorer's threshold, where it has one.
        outcome: one of `OUTCOMES`.
        reason: for a person, one line.
        detail: for a program: what was read and how.

    Raises:
        ValueError: value is NaN or infinite, is missing though scored, or is given though not scored.
    """

    name: str
    value: float | None
    passed: bool | None = None
    outcome: Outcome = "scored"
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"score {self.name!r}: outcome {self.outcome!r} is none of {', '.join(OUTCOMES)}")
        if (self.value is None) != (self.outcome != "scored"):
            raise ValueError(f"score {self.name!r}: a value goes with outcome 'scored' and with no other")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"score {self.name!r}: {self.value!r} is not a finite number")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of the endpoint, the target or a scorer: data, not a crash and never a score.

    `attempts` holds every sending of the call that failed, where a call it was.
    """

    stage: str
    kind: str
    message: str
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """A person's or model's verdict on a record.

    Args:
        sample: the sample's id.
        name: what the verdict is about (`reason`, `cause`).
        value: plain JSON; None withdraws what its author said before.
        author: who says so; a model is `model:<name>`.
        at: when.
        repeat: 0-based.
    """

    sample: str
    name: str
    value: Any
    author: str
    at: datetime
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """What a person says of a run: why it was run, what went wrong.

    Args:
        run: the run's id.
        text: as it was typed; not more than a few sentences.
        author: who says so.
        at: when.
    """

    run: str
    text: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people and models say of a run beside its scores: notes in order, and the labels that count."""

    notes: tuple[Note, ...] = ()
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """Everything that one sample and one repeat gave in one run.

    Args:
        sample: the sample as it was asked.
        output: what the target made of it; None when it failed.
        scores: one or more per scorer; none for what failed.
        replies: replies per stage (`target`, or a scorer's name), in the order they were asked.
        failure: what went wrong, else None.
        seconds: wall time of the whole sample, queueing and retries included.
        repeat: 0-based.
    """

    sample: Sample
    output: Output | None
    scores: tuple[Score, ...] = ()
    replies: Mapping[str, tuple[Reply, ...]] = field(default_factory=dict)
    failure: Failure | None = None
    seconds: float = 0.0
    repeat: int = 0


class Asks(Protocol):
    """What the runner gives to a target or scorer that declares `ask`: one call to a model."""

    @property
    def repeat(self) -> int:
        """Which of the sample's repeats this is, from 0."""

    async def __call__(self, model: Any, messages: Any, /, **parameters: Any) -> Reply:
        """Send `messages` to `model` through the journal, the limits and the budget.

        Raises:
            ModelError: no usable reply for good.
            StoreError: the reply could not be stored; nothing more is sent.
        """

    async def once(self, model: Any, messages: Any, /, **parameters: Any) -> Reply:
        """Send `messages` once for all samples and repeats; whoever asks the same again gets that reply.

        Raises:
            ModelError: as above.
            StoreError: as above.
        """


Target = Callable[..., Any]
"""`(Sample)` or `(Sample, Ask)` -> Output, or any value, which becomes `Output.value`; plain or async.

A target or scorer that declares `sandbox` is given the session's `steelyard.sql.sandbox.Sandbox` by that name."""

Scorer = Callable[..., Score | Sequence[Score] | Awaitable[Score | Sequence[Score]]]
"""`(Sample, Output)` or `(Sample, Output, Ask)` -> Score or several; plain or async."""
