"""What a summary says: values only, for the terminal, pages, gates and `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from steelyard.stats.intervals import Interval
from steelyard.types import Json

Over = Literal["all", "scored"]
RowOutcome = Literal["scored", "not_applicable", "unparsed", "refused", "error"]
RunState = Literal["finished", "running", "interrupted", "broken"]

NO_GROUP: Final = "(no group)"
"""The name of the group of samples without one, where others have one."""


class ScoreRow(NamedTuple):
    """One score of one repeat of one sample, as a summary needs it.

    `value` is a number exactly when `outcome` is `scored`. An `error` row stands for a record that failed: one row
    per score that the record should have had, or a single one with an empty `name`, which counts in every score.
    """

    sample: str
    group: str
    cluster: str
    repeat: int
    name: str
    outcome: RowOutcome
    value: float | None


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `n` rows with its 95 % interval.

    `value` is None when n is 0; `interval` is None when the spread is unknown (a score that is not a rate, with
    fewer than two independent samples).
    """

    value: float | None
    interval: Interval | None
    n: int

    def to_json(self) -> dict[str, Json]:
        """Plain JSON; the interval is a list of two numbers."""
        return {"value": self.value, "interval": list(self.interval) if self.interval else None, "n": self.n}


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """One score over a run, or over one group of it.

    Args:
        name: the score's name.
        group: the group it covers; "" is the whole run.
        scored: rows with a value, and so on for `not_applicable`, `unparsed`, `refused`, `errors`.
        n: rows that count: all but not applicable ones and errors.
        total: all rows.
        binary: every value is 0 or 1.
        answered: mean over what was scored.
        overall: mean with unparsed and refused counted as 0; errors left out.
        with_errors: the same with errors counted as 0 too.
        bounds: the overall mean if every unparsed reply were worth 0 and if each were worth 1; None for a score
            that is not on [0, 1].
        over: which mean is the headline: `all` is `overall`, `scored` is `answered`.
        note: how the interval was made, where it is not the plain Wilson interval.
    """

    name: str
    group: str
    scored: int
    not_applicable: int
    unparsed: int
    refused: int
    errors: int
    n: int
    total: int
    binary: bool
    answered: Mean
    overall: Mean
    with_errors: Mean
    bounds: Interval | None = None
    over: Over = "all"
    note: str = ""

    @property
    def headline(self) -> Mean:
        """The mean that titles and charts show."""
        return self.overall if self.over == "all" else self.answered

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name, and the headline mean once more under `headline`."""
        names = ("name", "group", "over", "note", "binary", "total", "n", "scored")
        counts = ("not_applicable", "unparsed", "refused", "errors")
        means = ("headline", "answered", "overall", "with_errors")
        return {
            **{name: getattr(self, name) for name in names + counts},
            **{name: getattr(self, name).to_json() for name in means},
            "bounds": list(self.bounds) if self.bounds else None,
        }

    def __str__(self) -> str:
        mean = self.headline
        parts = [self.name + (f" [{self.group}]" if self.group else "")]
        parts.append("-" if mean.value is None else f"{mean.value:.2f}")
        if mean.interval:
            parts.append("[{:.2f}, {:.2f}]".format(*mean.interval))
        rest = {"unparsed": self.unparsed, "refused": self.refused, "not applicable": self.not_applicable}
        counts = [f"n={mean.n}", f"{self.errors} error{'' if self.errors == 1 else 's'}"]
        counts += [f"{count} {name}" for name, count in rest.items() if count]
        return " ".join([*parts, ", ".join(counts)])


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a reader is told of one run before any detail.

    Args:
        run: the run's id.
        suite: the suite's title.
        target: the target's name.
        tags: the target's report columns.
        state: how far it came.
        planned: records that a complete run has (samples times repeats).
        done: records stored, failed ones included.
        errors: records that failed.
        from_journal: replies that were not paid for again.
        input_tokens: of all replies; likewise `output_tokens`.
        seconds: wall time.
        created: ISO 8601.
        scores: each score over the whole run, in order of first appearance.
        groups: per score, its groups in order of first appearance; no entry for a score without groups.
        primary: the headline score's name; "" when nothing was scored.
        unparsed_kinds: why replies could not be read -> how many.
        labels: per score whose verdicts have names ("SQL incorrect"), each name -> how many records; most frequent
            first.
    """

    run: str
    suite: str
    target: str
    tags: Mapping[str, str]
    state: RunState
    planned: int
    done: int
    errors: int
    from_journal: int
    input_tokens: int
    output_tokens: int
    seconds: float
    created: str
    scores: tuple[ScoreSummary, ...]
    groups: Mapping[str, tuple[ScoreSummary, ...]]
    primary: str
    unparsed_kinds: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def score(self, name: str = "", group: str = "") -> ScoreSummary | None:
        """The summary of one score (by default the primary one), or of one group of it; None if there is none."""
        name = name or self.primary
        among = self.groups.get(name, ()) if group else self.scores
        return next((one for one in among if one.name == name and one.group == group), None)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        plain = ("run", "suite", "target", "state", "planned", "done", "errors", "from_journal", "primary")
        cost = ("input_tokens", "output_tokens", "seconds", "created")
        return {
            **{name: getattr(self, name) for name in plain + cost},
            "tags": dict(self.tags),
            "scores": [score.to_json() for score in self.scores],
            "groups": {name: [score.to_json() for score in groups] for name, groups in self.groups.items()},
            "unparsed_kinds": dict(self.unparsed_kinds),
            "labels": {name: dict(counts) for name, counts in self.labels.items()},
        }

    def __str__(self) -> str:
        lines = [str(score) for score in self.scores] or [f"no scores, {self.errors} errors"]
        if self.state != "finished":
            lines.insert(0, f"{self.state}: {self.done} of {self.planned} done")
        return "\n".join(lines)
