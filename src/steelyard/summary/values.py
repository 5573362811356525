"""What a summary says: values only, for the terminal, pages, gates and `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from steelyard.stats.intervals import Interval
from steelyard.summary.consistency import Consistency
from steelyard.summary.crosses import Cross
from steelyard.summary.exam import Exam
from steelyard.summary.histograms import Histogram
from steelyard.summary.labelled import Labelled
from steelyard.summary.means import Mean
from steelyard.summary.stages import StageCost
from steelyard.summary.stopping import Stopping
from steelyard.types import Json

Over = Literal["all", "scored"]
RunState = Literal["finished", "running", "interrupted", "broken"]

NO_GROUP: Final = "(no group)"
"""The name of the group of samples without one, where others have one."""


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
        overall: mean with unparsed and refused counted as 0; errors left out. Where `over` is `scored` and the score
            has a scale, they count as its lowest value: 0 is not on it.
        with_errors: the same with errors counted like that too.
        bounds: between which the mean lies, whatever the unread replies are worth: the mean with all of them at the
            lowest and at the highest value of the scale. Where `over` is `all`, a refusal is an answer and stays 0.
            None for a score that is not on [0, 1] and names no scale.
        over: which mean is the headline: `all` is `overall`, `scored` is `answered`.
        note: how the interval was made, where it is not the plain Wilson interval.
        scale: lowest and highest value, where the scorer names a scale other than [0, 1].
        macro: the headline with every group weighing the same, whatever its size: the mean of its groups' means. Its
            `n` is the number of groups. None where fewer than two groups have a value.
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
    scale: Interval | None = None
    macro: Mean | None = None

    @property
    def is_share(self) -> bool:
        """Whether every value lies in [0, 1], so that means are shown in percent and differences in points."""
        return self.scale is None and (self.binary or self.bounds is not None)

    @property
    def unread(self) -> int:
        """Replies by which `bounds` differ: their value is not known."""
        return self.unparsed + (self.refused if self.over == "scored" else 0)

    @property
    def doubt(self) -> Interval | None:
        """`bounds` where some replies were not read, so that they have something to say."""
        return self.bounds if self.unread else None

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
            "scale": list(self.scale) if self.scale else None,
            "macro": self.macro.to_json() if self.macro else None,
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
        if self.doubt:
            counts.append("{:.2f} to {:.2f} whatever the unread are worth".format(*self.doubt))
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
        stages: what each stage asked, the target first; empty where that was not counted from the first record on.
        spreads: per score that is to be shown so, how often it took each value.
        crosses: pairs of 0/1 scores, counted against each other.
        breakdowns: key of the samples' metadata -> score -> a summary per value of that key, in order of first
            appearance; no entry for a key that no sample has.
        consistency: per score whose judge was asked repeatedly, how far it agreed with itself.
        stopping: where a rule could end the run before all samples were asked, what it decided; all that is said here
            of scores rests on the samples that it used.
        exams: what stands beside the mean of each exam score.
        beside: scores that read the same replies as other tools would; shown apart, never as scores of their own.
        labelled: where people's verdicts on replies are counted, what they changed; None where only the scores are.
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
    stages: tuple[StageCost, ...] = ()
    spreads: Mapping[str, Histogram] = field(default_factory=dict)
    crosses: tuple[Cross, ...] = ()
    breakdowns: Mapping[str, Mapping[str, tuple[ScoreSummary, ...]]] = field(default_factory=dict)
    consistency: Mapping[str, Consistency] = field(default_factory=dict)
    stopping: Stopping | None = None
    exams: tuple[Exam, ...] = ()
    beside: tuple[str, ...] = ()
    labelled: Labelled | None = None

    @property
    def judged_stages(self) -> tuple[StageCost, ...]:
        """`stages` where a scorer asked a model or a cost is known; else nothing: the run's own counts say it all."""
        said = any((one.calls and one.stage != "target") or one.money is not None for one in self.stages)
        return self.stages if said else ()

    @property
    def calls_saved(self) -> int:
        """About how many calls the run did not send because a rule ended it: as many a record as the others took."""
        calls = sum(one.calls for one in self.stages)
        left = self.planned - self.done
        return round(calls * left / self.done) if self.state == "finished" and self.done and left > 0 else 0

    def score(self, name: str = "", group: str = "") -> ScoreSummary | None:
        """The summary of one score (by default the primary one), or of one group of it; None if there is none."""
        name = name or self.primary
        among = self.groups.get(name, ()) if group else self.scores
        return next((one for one in among if one.name == name and one.group == group), None)

    @property
    def exam(self) -> Exam | None:
        """What stands beside the primary score, or else the first exam score."""
        return next((one for one in self.exams if one.score == self.primary), self.exams[0] if self.exams else None)

    @property
    def own_scores(self) -> tuple[ScoreSummary, ...]:
        """All scores but those of `beside`."""
        return tuple(one for one in self.scores if one.name not in self.beside)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        plain = ("run", "suite", "target", "state", "planned", "done", "errors", "from_journal", "primary")
        cost = ("input_tokens", "output_tokens", "seconds", "created")
        return {
            **{name: getattr(self, name) for name in plain + cost},
            "tags": dict(self.tags),
            "scores": [score.to_json() for score in self.scores],
            "groups": _plain_groups(self.groups),
            "unparsed_kinds": dict(self.unparsed_kinds),
            "labels": {name: dict(counts) for name, counts in self.labels.items()},
            "stages": [stage.to_json() for stage in self.stages],
            "spreads": {name: spread.to_json() for name, spread in self.spreads.items()},
            "crosses": [cross.to_json() for cross in self.crosses],
            "breakdowns": {key: _plain_groups(groups) for key, groups in self.breakdowns.items()},
            "consistency": {name: one.to_json() for name, one in self.consistency.items()},
            "stopping": self.stopping.to_json() if self.stopping else None,
            "calls_saved": self.calls_saved,
            "exams": [exam.to_json() for exam in self.exams],
            "beside": list(self.beside),
            "labelled": self.labelled.to_json() if self.labelled else None,
        }

    def __str__(self) -> str:
        lines = [str(score) for score in self.own_scores] or [f"no scores, {self.errors} errors"]
        if self.state != "finished":
            lines.insert(0, f"{self.state}: {self.done} of {self.planned} done")
        return "\n".join(lines)


def _plain_groups(groups: Mapping[str, tuple[ScoreSummary, ...]]) -> dict[str, Json]:
    return {name: [score.to_json() for score in several] for name, several in groups.items()}
