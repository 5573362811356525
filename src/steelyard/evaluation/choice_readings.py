"""Other rules for multiple-choice replies that are scored again, and which results they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers.choice import Choice
from steelyard.store import Run
from steelyard.types import Scorer


class ChangedReading(NamedTuple):
    """Number of records of one score whose result differs, by the rule or form that read them before and now.

    Where nothing was read, the kind of the reply is given instead: `refused`, `empty`, `none` ...
    """

    score: str
    before: str
    now: str
    records: int


def changed_readings(before: Run, now: Run) -> tuple[ChangedReading, ...]:
    """How many records are read differently than before, most first.

    Args:
        before: a run as it was.
        now: the same run in a newer scoring version.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for score in now.changed_verdicts(before):
        earlier = {(row.sample, row.repeat): row for row in before.detailed_rows(score)}
        for row in now.detailed_rows(score):
            before_row = earlier.get((row.sample, row.repeat))
            if before_row is not None and (before_row.outcome, before_row.value) != (row.outcome, row.value):
                counts[score, _read_by(before_row), _read_by(row)] += 1
    # A score that is computed, such as one with a changed threshold, was read by no rule: there is nothing to report.
    counts = Counter({key: n for key, n in counts.items() if key[1:] != ("scored", "scored")})
    return tuple(ChangedReading(*key, count) for key, count in counts.most_common())


def _read_by(row: ScoreRow) -> str:
    """The rule or form that gave a result; for a record without one, its kind."""
    kind = row.detail.get("kind") if row.outcome == "unparsed" else None
    return str(kind or row.detail.get("rule") or row.detail.get("form") or row.outcome)


def with_reading(scorers: Sequence[Scorer], **changed: str) -> tuple[Scorer, ...]:
    """Return the scorers, with another rule or pattern for those of multiple-choice replies.

    Args:
        scorers: of a run.
        changed: fields of `Choice`, such as `rule` or `pattern`.

    Raises:
        ConfigError: there is no such rule, a pattern cannot be used, or no scorer reads multiple-choice replies.
    """
    if not any(isinstance(scorer, Choice) for scorer in scorers):
        options = " and ".join(f"--{name}" for name in changed)
        raise ConfigError(f"{options}: the run has no scorer of multiple-choice replies")
    read_anew = tuple(replace(scorer, **changed) if isinstance(scorer, Choice) else scorer for scorer in scorers)  # type: ignore[arg-type]  # checked below
    for scorer in read_anew:
        if isinstance(scorer, Choice):
            check_options(scorer)
    return read_anew
