"""One score over the runs of a suite: what it was, how sure, what changed since the run before, and what people noted.

A run is held against the one before it of the same target. Where both are small enough for that to be cheap, they are
paired by sample, as `compare` does; else their intervals tell, which is coarser: intervals that overlap tell nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from steelyard.analysis.comparison import compare
from steelyard.analysis.comparison_values import PairedDifference
from steelyard.analysis.differences import excludes_zero
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary_values import RunSummary, ScoreSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.report.numbers import score_title
from steelyard.report.stored import StoredRun
from steelyard.stats.intervals import Interval
from steelyard.types import Json, Note

PAIRED_RECORDS: Final = 2_000
"""Up to so many records of a run its change is tested by pairs: that takes 0.2 s a run."""
_ALPHA: Final = 0.05

ChangeVerdict = Literal["better", "worse", "no_evidence", ""]


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run against the one before of its target.

    Args:
        before: id of that run.
        difference: this run minus the one before; over the samples of both where `paired`.
        interval: of the difference; None where it was not tested by pairs, or says nothing of its spread.
        n: pairs; 0 where it was not tested by pairs.
        verdict: `better`, `worse` or `no_evidence`; "" where one of the two has no value.
        paired: whether samples were paired.
    """

    before: str
    difference: float | None
    interval: Interval | None
    n: int
    verdict: ChangeVerdict
    paired: bool

    def to_json(self) -> dict[str, Json]:
        """Plain JSON."""
        interval = list(self.interval) if self.interval else None
        verdict = {"told": self.verdict, "paired": self.paired, "n": self.n}
        return {"before": self.before, "difference": self.difference, "interval": interval, **verdict}


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run in a history.

    Args:
        run: its id; likewise `target`, `state`, `done`, `planned`.
        created: ISO 8601.
        score: the score, of the group where one was asked for; None where the run has none.
        samples: how many there were, 0 where the run does not say.
        digest: of all of them in order; "" where the run does not say.
        change: since the run before of this target; None for its first.
        differs: what is another than in that run: `samples`, `target`, `scorers`.
        notes: in the order they were given.
        stopping: the decision that ended it, or could have; None where there was none.
        warning: why a retrieval score is likely wrong; "" where it is not.
    """

    run: str
    target: str
    state: str
    done: int
    planned: int
    created: str
    score: ScoreSummary | None
    samples: int
    digest: str
    change: RunChange | None
    differs: tuple[str, ...]
    notes: tuple[Note, ...]
    stopping: Stopping | None = None
    warning: str = ""

    @property
    def day(self) -> str:
        """The day it was started, UTC."""
        return self.created[:10]

    @property
    def value(self) -> float | None:
        """The score's headline."""
        return self.score.headline.value if self.score else None

    @property
    def interval(self) -> Interval | None:
        """Its 95 % interval."""
        return self.score.headline.interval if self.score else None

    def to_json(self) -> dict[str, Json]:
        """Plain JSON, every field by its name."""
        names = ("run", "target", "state", "done", "planned", "created", "samples", "digest")
        return {
            **{name: getattr(self, name) for name in names},
            "score": self.score.to_json() if self.score else None,
            "change": self.change.to_json() if self.change else None,
            "differs": list(self.differs),
            "stopping": self.stopping.to_json() if self.stopping else None,
            "warning": self.warning,
            "notes": [
                {"at": one.at.isoformat(timespec="seconds"), "author": one.author, "text": one.text}
                for one in self.notes
            ],
        }


@dataclass(frozen=True, slots=True)
class History:
    """Past runs of a suite, oldest first.

    Args:
        suite: its title.
        score: what is shown.
        group: the group that it is of; "" is all.
        share: whether it is shown in percent.
        runs: oldest first.
        older: runs that came before these and are not shown.
    """

    suite: str
    score: str
    group: str
    share: bool
    runs: tuple[PastRun, ...]
    older: int

    @property
    def title(self) -> str:
        """What is shown, in words."""
        return f"{score_title(self.score)}{f' of {self.group}' if self.group else ''}"

    @property
    def targets(self) -> tuple[str, ...]:
        """Every target once, in order of first appearance."""
        return tuple(dict.fromkeys(one.target for one in self.runs))

    def to_json(self) -> dict[str, Json]:
        """Plain JSON."""
        head: dict[str, Json] = {"suite": self.suite, "score": self.score, "group": self.group, "older": self.older}
        return head | {"runs": [one.to_json() for one in self.runs]}


def history_of(
    runs: Sequence[StoredRun],
    notes: Mapping[str, tuple[Note, ...]],
    *,
    score: str = "",
    group: str = "",
    older: int = 0,
) -> History:
    """The history of runs.

    Args:
        runs: oldest first, at least one.
        notes: run's id -> its notes.
        score: "" is the headline of the newest run that has one.
        group: "" is all samples.
        older: how many runs came before these.

    Raises:
        ConfigError: no run has such a score or group.
    """
    summaries = [run.summary() for run in runs]
    name = score or next((one.primary for one in reversed(summaries) if one.primary), "")
    _check(summaries, name, group)
    before: dict[str, tuple[StoredRun, RunSummary]] = {}
    past = []
    for run, summary in zip(runs, summaries, strict=True):
        earlier = before.get(run.target)
        past.append(_past(run, summary, earlier, (name, group), notes.get(run.id, ())))
        before[run.target] = (run, summary)
    shares = [one.score.is_share for one in past if one.score]
    return History(runs[-1].suite, name, group, all(shares), tuple(past), older)


def _check(summaries: Sequence[RunSummary], score: str, group: str) -> None:
    known = dict.fromkeys(one.name for summary in summaries for one in summary.scores)
    if not known:
        raise ConfigError("none of these runs has scores, so there is nothing to show")
    if score not in known:
        raise ConfigError(f"no run has a score {score!r}{did_you_mean(score, known)}")
    groups = dict.fromkeys(one.group for summary in summaries for one in summary.groups.get(score, ()))
    if group and group not in groups:
        raise ConfigError(f"no run has a group {group!r}{did_you_mean(group, groups)}")


def _past(
    run: StoredRun,
    summary: RunSummary,
    before: tuple[StoredRun, RunSummary] | None,
    shown: tuple[str, str],
    notes: tuple[Note, ...],
) -> PastRun:
    return PastRun(
        run=run.id,
        target=run.target,
        state=summary.state,
        done=summary.done,
        planned=summary.planned,
        created=summary.created,
        score=summary.score(*shown),
        samples=int(_samples(run).get("n") or 0),
        digest=str(_samples(run).get("digest") or ""),
        change=_change((run, summary), before, shown) if before else None,
        differs=_differs(run, before[0]) if before else (),
        notes=notes,
        stopping=summary.stopping,
        warning=summary.matching_warning(shown[0]) if shown[0] in RETRIEVAL_SCORES else "",
    )


def _samples(run: StoredRun) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.manifest.get("samples") or {}
    return found


def _differs(run: StoredRun, before: StoredRun) -> tuple[str, ...]:
    """What two runs of one target were made of that is not the same."""
    made = {
        "samples": (_samples(run).get("digest"), _samples(before).get("digest")),
        "target": (run.manifest.get("target"), before.manifest.get("target")),
        "scorers": (run.manifest.get("scorers"), before.manifest.get("scorers")),
    }
    return tuple(name for name, (now, then) in made.items() if now != then)


def _change(
    now: tuple[StoredRun, RunSummary], before: tuple[StoredRun, RunSummary], shown: tuple[str, str]
) -> RunChange | None:
    (run, summary), (earlier, was) = now, before
    name, group = shown
    mine, its = summary.score(name, group), was.score(name, group)
    if mine is None or its is None or mine.headline.value is None or its.headline.value is None:
        return RunChange(earlier.id, None, None, 0, "", paired=False)
    if max(summary.done, was.done) <= PAIRED_RECORDS:
        pair = compare(earlier, run, score=name, summaries=(was, summary)).pairs[0]
        found = pair.headline if not group else next((one for one in pair.groups if one.group == group), None)
        if found is not None and found.n:
            return RunChange(earlier.id, found.difference, found.interval, found.n, _by_test(found), paired=True)
    difference = mine.headline.value - its.headline.value
    return RunChange(earlier.id, difference, None, 0, _by_intervals(mine, its), paired=False)


def _by_test(found: PairedDifference) -> ChangeVerdict:
    """As a comparison of the two would say it: the test and the interval have to agree."""
    if not found.difference or found.p is None or found.p >= _ALPHA or not excludes_zero(found.interval):
        return "no_evidence"
    return "better" if found.difference > 0 else "worse"


def _by_intervals(mine: ScoreSummary, its: ScoreSummary) -> ChangeVerdict:
    """Better or worse where the 95 % intervals lie apart: sure enough, and blind to what pairs would show."""
    here, there = mine.headline.interval, its.headline.interval
    if here is None or there is None:
        return "no_evidence"
    if here.low > there.high:
        return "better"
    return "worse" if here.high < there.low else "no_evidence"
