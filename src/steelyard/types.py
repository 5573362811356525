"""The core data types, from sample to stored record. All are frozen."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, get_args, runtime_checkable

from steelyard.errors import Attempt

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Message = Mapping[str, Any]
NOT_COMPARED: Final = "not compared"
"""Label of a score for which two results are too large, or took too long, to be compared."""

LACKS: Final = "lacks"
"""Key of `Score.detail` where a score does not apply because of the output, not of the question: what the output lacks,
such as `PASSAGES`. A gate counts such a record as one without a verdict."""
PASSAGES: Final = "passages"
NOTHING_RETRIEVED: Final = "nothing_retrieved"
"""Key of `Score.detail`, true where the value 0 stands for a claim for which the output has no passages. The score does
not apply after all if no other output of the run has any (`store.unreported_passages`)."""
COMPARISON: Final = "a comparison"
"""Lacking where two results are too large, or took too long, to be compared: summaries warn of it."""

CALLS: Final = "calls"
"""Key of an output's metadata as scorers see it that ask for the target's calls (`StageInfo.sees_calls`)."""
STOPPED: Final = frozenset({"content_filter", "refusal"})
"""`Reply.finish` where the endpoint or the model refused to answer; a filter may have let part of the text through."""

Outcome = Literal["scored", "not_applicable", "unparsed", "refused"]
Denominator = Literal["all", "answered"]

LabelKind = Literal["", "choice", "pass_fail", "scale", "preference", "text", "cannot_tell"]
"""What kind of verdict a label is; "" where unknown. `cannot_tell` means that
somebody has seen the record and gives no verdict: it counts in no score and no agreement."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""Every outcome of a score. An error is none of them: it is a `Failure` of the record."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One input of the dataset, with its reference answer if there is one.

    Args:
        id: unique in its dataset; runs are paired by it. Empty: a hash of the content, once it is in a suite.
        input: a text, a list of messages, or any JSON value.
        reference: the expected answer: letters, a text, a SQL query, a table; None where there is none.
        choices: the texts of the options in order; the first is A.
        contexts: passages given with the question.
        group: the category that a report breaks down by.
        cluster: equal for samples that are not independent (paraphrases, turns); empty means alone.
        metadata: anything else, kept and shown.
    """

    id: str = ""
    input: Any = None
    reference: Any = None
    choices: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    group: str = ""
    cluster: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a target for a sample; `contexts` are the retrieved passages in rank order."""

    value: Any
    contexts: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a call, alike for every provider; `estimated` from characters if the endpoint gave none.

    Args:
        input_tokens: all that was sent, whether it came from the endpoint's cache or not.
        output_tokens: all that came back, reasoning included.
        estimated: whether the endpoint counted nothing.
        sent: tokens of what was sent as estimated from characters, to see whether the endpoint read all of it; 0 where
            that is not known.
        dense: whether much of it is in a script with few characters a token.
        cache_read: of the input, what came from the endpoint's cache.
        cache_write: of the input, what was written to it, which some providers charge extra.
        reasoning: of the output, what the model thought and did not say.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    sent: int = field(default=0, compare=False, repr=False)
    dense: bool = field(default=False, compare=False, repr=False)
    cache_read: int = field(default=0, repr=False)
    cache_write: int = field(default=0, repr=False)
    reasoning: int = field(default=0, repr=False)


def estimate_tokens(text: str) -> int:
    """Tokens of a text, estimated in whole tokens, rounded down; see `token_weight`.

    >>> estimate_tokens("four chars"), estimate_tokens("周易")
    (2, 2)
    """
    return int(token_weight(text))


def token_weight(text: str) -> float:
    """Estimated tokens of a text before rounding, for comparison with a budget.

    A quarter of a token for an ASCII character and one token for any other: English prose has about four characters per
    token in the vocabularies of the large models, Chinese about one. No tokenizer is downloaded; wherever such a number
    is shown, it is labelled an estimate.

    >>> token_weight("abc"), token_weight("周易!")
    (0.75, 2.25)
    """
    plain = len(text.encode("ascii", "ignore"))
    return len(text) - plain + plain / 4


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model to one call.

    Args:
        key: the journal's key, 20 hexadecimal digits.
        text: the answer's text; empty when the model gave none.
        finish: why it ended, as the endpoint says: `stop`, `length`, `content_filter`, `refusal`, `tool_calls`.
        usage: tokens.
        latency: seconds of the attempt that was answered, without queueing and retries.
        attempts: every attempt, the answered one last.
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
            raise ValueError(f"score {self.name!r}: outcome {self.outcome!r} is not one of {', '.join(OUTCOMES)}")
        if (self.value is None) != (self.outcome != "scored"):
            raise ValueError(f"score {self.name!r}: only outcome 'scored' has a value")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"score {self.name!r}: {self.value!r} is not a finite number")


@dataclass(frozen=True, slots=True)
class ScoreInfo:
    """Declaration of a score: its range, direction, threshold and display.

    It is stored with every run, so that reports and comparisons need no scorer's code.

    Args:
        name: the name that the scorer's `Score` has.
        range: lowest and highest value; None: unbounded or unknown.
        lower_is_better: true of a count of violations, of an error or of a perplexity.
        threshold: values at or above it pass, or at or below it where lower is better. It sets `passed` of a `Score`
            that leaves it None. None: no value is right or wrong.
        labels: what 1 and 0 are called: `("right", "wrong")`.
        denominator: what the headline mean is over: `all` counts an unparsed or refused reply as 0, `answered` leaves
            it out.
        histogram: reports show how often each value occurred.
        headline: headlines show this score where the suite names none; if several scorers set it, the first one's.
        named_verdicts: its verdicts have names, `Score.detail["label"]`, and reports count them.
        exam: `Score.detail` holds the letters that were read and the right ones, as that of `Choice` does: exam figures
            and the review queue are computed from them.
        also_scored: the same replies scored by the rule of another tool; shown next to the run's own scores.
        rates: what is rated, where several scores rate the same thing: their scorers are raters, and reports show how
            far they agree. Empty: the score's own name.
        per_turn: the score is of a whole conversation, and `Score.detail["turns"]` has outcome and value of each of its
            turns, as that of `PerTurn` does: reports show the rate over all turns, by conversation.
        unbounded: it is a count, a time or money, without an upper limit: even if all values are 0 or 1, their mean is
            not a rate.
        classes: it is right where a reply gives the expected one of these classes; `Score.detail` holds the class that
            was read as `label` and the expected one as `wanted`, and reports show the figures of a classification.
        confidence: `Score.detail["probability"]` may hold how sure the answer is, in [0, 1]: reports show how well that
            agrees with being right.
        weighted: values are shares of what a sample is worth, `Score.detail["weight"]`, and all means weigh by it; the
            least value that the sample can have is `Score.detail["lowest"]`, 0 where it does not say.

    >>> ScoreInfo("violations", (0, 10), lower_is_better=True, threshold=2).passes(1)
    True
    """

    name: str
    range: tuple[float, float] | None = None
    _: KW_ONLY
    lower_is_better: bool = False
    threshold: float | None = None
    labels: tuple[str, str] | None = None
    denominator: Denominator = "answered"
    histogram: bool = False
    headline: bool = False
    named_verdicts: bool = False
    exam: bool = False
    also_scored: bool = False
    rates: str = ""
    per_turn: bool = False
    unbounded: bool = False
    classes: tuple[str, ...] = ()
    confidence: bool = False
    weighted: bool = False

    def passes(self, value: float) -> bool | None:
        """Whether a value meets the threshold; None where there is none."""
        if self.threshold is None:
            return None
        return value <= self.threshold if self.lower_is_better else value >= self.threshold


@dataclass(frozen=True, slots=True)
class StageInfo:
    """Declaration of how a target or scorer is run.

    Args:
        name: of the scorer's stage: its replies and failures are stored under it. Empty: the name of its only score,
            else its registered name, else that of its function or class.
        inline: it is quick and costs nothing: it is called in the event loop instead of a thread, and what a target
            returns is not journalled.
        mock_reply: what a dry run uses as the reply to each of its calls, so that it reaches every call it may make.
        mock_output: what a dry run passes to a scorer in place of an answer not known yet; empty: a placeholder.
        sees_calls: the output that the scorer gets has `CALLS` in its metadata: `seconds`, `cost` (None without prices)
            and `finish` of the target's calls.
        compares_pairs: the scorer says which of two answers is better: its output is `{"A": ..., "B": ...}`.
        is_rebuilt: what the target sends follows from manifest and sample, so that its requests are not stored.
    """

    _: KW_ONLY
    name: str = ""
    inline: bool = False
    mock_reply: str = ""
    mock_output: str = ""
    compares_pairs: bool = False
    sees_calls: bool = False
    is_rebuilt: bool = False


BETWEEN_LEVELS: Final = " / "
"""Stands between the levels of a sample's group, as in `STEM / physics`."""
INLINE: Final = StageInfo(inline=True)
"""For a target or scorer that is quick and calls no model."""


@runtime_checkable
class DescribesScores(Protocol):
    """A scorer, object or function, that declares its scores. Without this a scorer gives one score of its own name."""

    @property
    def score_infos(self) -> Sequence[ScoreInfo]:
        """One for each score that it gives, in the order in which reports show them."""


@runtime_checkable
class DescribesStage(Protocol):
    """A target or scorer that declares how it is run. Without this the defaults of `StageInfo` apply."""

    @property
    def stage_info(self) -> StageInfo:
        """How it is run."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A permanent error of an endpoint, target or scorer, stored as data; never a score.

    `attempts` holds every attempt of the call that failed; it is empty if no call failed.
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
        name: what the verdict is about: a score, `answer` (the letters of an exam's reply), `comment`, `reason`,
            `cause` or any other name.
        value: plain JSON: letters (`choice`), "pass" or "fail" (`pass_fail`), a number (`scale`), "A", "B" or "tie"
            (`preference`), a text (`text`); None withdraws the author's earlier label of that name.
        author: who gives it; a model is `model:<name>`.
        at: when.
        repeat: 0-based.
        kind: of the verdict.
        scale: lowest and highest value of a `scale`; None for any other kind.
    """

    sample: str
    name: str
    value: Any
    author: str
    at: datetime
    repeat: int = 0
    kind: LabelKind = ""
    scale: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A person's note on a run.

    Args:
        run: the run's id.
        text: as it was typed; not more than a few sentences.
        author: who wrote it.
        at: when.
    """

    run: str
    text: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Remarks:
    """Notes on a run in order, and its current labels."""

    notes: tuple[Note, ...] = ()
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one sample and repeat in one run: output, scores, replies, failure.

    Args:
        sample: the sample as it was evaluated.
        output: what the target made of it; None when it failed.
        scores: one or more per scorer; none for what failed.
        replies: replies per stage (`target`, or a scorer's name), in the order of the calls.
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
    """The `ask` function that targets and scorers get: one call to a model."""

    @property
    def repeat(self) -> int:
        """Which of the sample's repeats this is, from 0."""

    async def __call__(self, model: Any, messages: Any, /, **parameters: Any) -> Reply:
        """Send `messages` to `model` through the journal, the limits and the budget.

        Raises:
            ModelError: the call failed permanently.
            StoreError: the reply could not be stored; nothing more is sent.
        """

    async def once(self, model: Any, messages: Any, /, **parameters: Any) -> Reply:
        """Send `messages` once for all samples and repeats; later identical calls get the same reply.

        Raises:
            ModelError: as above.
            StoreError: as above.
        """


Target = Callable[..., Any]
"""`(Sample)` or `(Sample, Ask)` -> Output, or any value, which becomes `Output.value`; plain or async.

A target or scorer that declares `sandbox` is given the session's `steelyard.sql.sandbox.Sandbox` by that name."""

Scorer = Callable[..., Score | Sequence[Score] | Awaitable[Score | Sequence[Score]]]
"""`(Sample, Output)` or `(Sample, Output, Ask)` -> Score or several; plain or async."""


@runtime_checkable
class WrapsScorers(Protocol):
    """A scorer that scores by other scorers: judges, prompts and prices reach those inside through it."""

    @property
    def parts(self) -> tuple[Scorer, ...]:
        """The scorers inside, in order."""

    def with_parts(self, parts: tuple[Scorer, ...]) -> Scorer:
        """Return a copy with other scorers in their places."""
