"""What each attempt of a target that corrects its SQL would have scored, had it been the last one allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from steelyard.constraints import Within
from steelyard.replies.sql import Wanted
from steelyard.scorers.sql import SqlResult
from steelyard.sql.equality import CellEquality
from steelyard.sql.results import LocalEngine, SqlLimits
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.server_address import Server
from steelyard.types import Output, Sample, Score, ScoreInfo

ATTEMPTS: Final = "attempts"
"""Key of an output's metadata: `reply`, `problem` and `finish` of each attempt, the last of which is the output."""
_SCORES: Final = ("execution", "result")


@dataclass(frozen=True, slots=True)
class SqlAttempts:
    """`execution` and `result` with at most one attempt, with at most two, and so on.

    A target that made fewer attempts is scored by its last one; one that makes no second attempt scores the same for
    all, so that it can be compared with one that does. The suite `text2sql` adds this scorer where a target is a
    `self_correction`, and its keys but `attempts` are then those of `scoring`.

    Args:
        attempts: up to how many; `result_within_1` is the score of the first.
        form: as of the scorer `sql`.
        key: likewise.
        databases: likewise.
        engine: likewise.
        statements: as of the scorer `sql`.
        limits: of each query.
        equality: as of the scorer `sql`.
        now: likewise.
    """

    attempts: Annotated[int, Within(1, 10)] = 3
    form: Wanted = "auto"
    key: str = ""
    databases: Path | str | Mapping[str, Server] | None = None
    engine: LocalEngine = "sqlite"
    limits: SqlLimits = SqlLimits()
    statements: Literal["read", "any"] = "read"
    equality: CellEquality = CellEquality()
    now: str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Two scores of 0 or 1 for each number of attempts."""
        return tuple(
            ScoreInfo(f"{name}_within_{number}", (0.0, 1.0), threshold=1.0, denominator="all")
            for number in range(1, self.attempts + 1)
            for name in _SCORES
        )

    def check(self) -> None:
        """Validate the options; see `SqlResult.check`."""
        self._scorer.check()

    def prepare(self, sandbox: Sandbox) -> None:
        """Check that the databases may be used; see `SqlResult.prepare`."""
        self._scorer.prepare(sandbox)

    async def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Sequence[Score]:
        """Score each attempt once."""
        tried = _attempts_of(output)[: self.attempts]
        scored = [{score.name: score for score in await self._scorer(sample, attempt, sandbox)} for attempt in tried]
        return [
            replace(scored[min(number, len(scored)) - 1][name], name=f"{name}_within_{number}", detail={})
            for number in range(1, self.attempts + 1)
            for name in _SCORES
        ]

    @property
    def _scorer(self) -> SqlResult:
        return SqlResult(
            self.form,
            self.key,
            self.databases,
            self.engine,
            self.limits,
            self.statements,
            published=False,
            equality=self.equality,
            now=self.now,
        )


def _attempts_of(output: Output) -> list[Output]:
    """The output as it was after each attempt; itself where it says nothing of attempts."""
    listed: Any = output.metadata.get(ATTEMPTS)
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, Mapping) for entry in listed):
        return [output]
    return [replace(output, value=entry.get("reply"), metadata={"finish": entry.get("finish", "")}) for entry in listed]
