"""Two answers to the same sample, side by side, for a judge that prefers one of them.

A pair asks nothing. Its answers are outputs of two runs: of targets of the same suite, which answer first, or runs
that are stored already. The suite binds it to them before it is run.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-preferences.md

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from steelyard.errors import ConfigError
from steelyard.prompts.agent_messages import LEFT_OUT, MESSAGES
from steelyard.replies.answer_text import answer_of
from steelyard.session.replies import refused_before
from steelyard.types import INLINE, Asks, Output, Record, Sample, StageInfo

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
