"""One score over the runs of a suite: values with intervals, changes since the previous run, and people's notes.

A run is compared with the previous run of the same target. Where both are small enough for that to be cheap, samples
are paired, as `compare` does. Else their two intervals are compared, which is less sensitive: intervals that overlap
are no evidence of a difference, though the runs may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from steelyard.analysis.comparison.compare_runs import headline_difference
from steelyard.analysis.comparison.comparison_values import Verdict
from steelyard.analysis.comparison.settings import phrases_of, scorer_differences, target_differences
from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.run_data import HoldsRunData, RunData, data_of
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.plain_json import field_values
from steelyard.stats.intervals import Interval
from steelyard.types import Note

PAIRED_RECORDS: Final = 2_000
"""Runs of at most so many records are compared by pairs, which takes 0.2 s per run."""
_MOST_SETTINGS: Final = 2
"""Most settings that a row of a history names; `compare` of the two runs shows all of them."""

ChangeVerdict = Verdict | Literal[""]


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run compared with the previous run of its target.

    Args:
        before: id of the previous run.
        difference: this run minus the previous one; over the samples of both where `paired`.
        interval: of the difference; None where it was not tested by pairs, or its spread is not known.
        n: pairs; 0 where it was not tested by pairs.
        verdict: as of a comparison, in the score's direction; "" where one of the two has no value.
        paired: whether samples were paired.
    """

    before: str
    difference: float | None
    interval: Interval | None
    n: int
    verdict: ChangeVerdict
    paired: bool


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run in a history.

    Args:
        run: its id; likewise `target`, `state`, `done`, `planned`.
        created: ISO 8601.
        score: the score, of the group where one was requested; None where the run has none.
        samples: how many there were, 0 where the run does not say.
        digest: of all of them in order; "" where the run does not say.
        change: since the previous run of this target; None for its first.
        changed: which of `samples`, `target` and `scorers` are not those of the previous run of the target -> a phrase
            for each setting that differs.
        notes: in the order they were given.
        stopping: the decision that ended it, or could have; None where there was none.
        warning: why a retrieval score is likely wrong; "" where it is not.
        share_of: of a run that judges pairs, the target whose share its score is; "" of any other.
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
    changed: Mapping[str, tuple[str, ...]]
    notes: tuple[Note, ...]
    stopping: Stopping | None = None
    warning: str = ""
    share_of: str = ""

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
        """The headline's 95 % CI."""
        return self.score.headline.interval if self.score else None

    def json_fields(self) -> dict[str, Any]:
        """Notes are without the run, which is named above them."""
        notes = [
            {"at": note.at.isoformat(timespec="seconds"), "author": note.author, "text": note.text}
            for note in self.notes
        ]
        return field_values(self) | {"notes": notes}


@dataclass(frozen=True, slots=True)
class TargetDifference:
    """A run of one target compared with a run of another target of the suite, as two versions of a prompt.

    Args:
        run: id of the run; likewise `target`, `created`.
        against: id of the run of the other target: of the same evaluation, else the newest one before.
        against_target: the other target.
        change: this run minus that one.
    """

    run: str
    target: str
    created: str
    against: str
    against_target: str
    change: RunChange


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
        targets_compared: runs of the other targets compared with those of one target; empty where there is one target.
        over_turns: whether it is a score of single turns, whose values are over all turns of each run.
    """

    suite: str
    score: str
    group: str
    share: bool
    runs: tuple[PastRun, ...]
    older: int
    targets_compared: tuple[TargetDifference, ...] = ()
    over_turns: bool = False

    def json_fields(self) -> dict[str, Any]:
        """Without what only says how the values are written."""
        return field_values(self, share="", over_turns="")

    @property
    def targets(self) -> tuple[str, ...]:
        """Every target once, in order of first appearance."""
        return tuple(dict.fromkeys(run.target for run in self.runs))


def history_of(
    runs: Sequence[tuple[RunData | HoldsRunData, RunSummary]],
    notes: Mapping[str, tuple[Note, ...]],
    *,
    score: str = "",
    group: str = "",
    older: int = 0,
    against: str = "",
) -> History:
    """Compare each run of a suite with the previous run of its target.

    Args:
        runs: oldest first, at least one, or handles on them; each with its summary.
        notes: run's id -> its notes.
        score: "" is the headline of the newest run that has one.
        group: "" is all samples.
        older: how many runs came before these.
        against: the target with which each run of the other targets is compared; "" is the target of the oldest run,
            and then only the newest run of each other target is compared with it.

    Raises:
        ConfigError: no run has such a score or group, or is of the target `against`.
    """
    read = [(data_of(run), summary) for run, summary in runs]
    summaries = [summary for _, summary in read]
    name = score or next((summary.primary for summary in reversed(summaries) if summary.primary), "")
    _check(summaries, name, group)
    before: dict[str, tuple[RunData, RunSummary]] = {}
    past = []
    for run, summary in read:
        earlier = before.get(run.target)
        past.append(
            PastRun(
                run=run.id,
                target=run.target,
                state=summary.state,
                done=summary.counts.done,
                planned=summary.counts.planned,
                created=summary.created,
                score=summary.rate(name, group),
                samples=int(_samples(run).get("n") or 0),
                digest=str(_samples(run).get("digest") or ""),
                change=_change((run, summary), earlier, (name, group)) if earlier else None,
                changed=_changed_settings(run, earlier[0]) if earlier else {},
                notes=notes.get(run.id, ()),
                stopping=summary.stopping,
                warning=summary.matching_warning(name) if name in RETRIEVAL_SCORES else "",
                share_of=sides_of(run.manifest)[0] if is_judging(run.manifest) else "",
            )
        )
        before[run.target] = (run, summary)
    targets = {run.target for run, _ in read}
    if against and against not in targets:
        raise ConfigError(f"no run is of target {against!r}{did_you_mean(against, targets)}")
    compared = _targets_compared(read, (name, group), against)
    shares = [summary.score.is_share for summary in past if summary.score]
    over_turns = not group and any(turns.score.name == name for summary in summaries for turns in summary.details.turns)
    return History(read[-1][0].suite, name, group, all(shares), tuple(past), older, compared, over_turns=over_turns)


def _targets_compared(
    runs: Sequence[tuple[RunData, RunSummary]], shown: tuple[str, str], against: str
) -> tuple[TargetDifference, ...]:
    """Runs of the other targets against those of one target, oldest first."""
    base = against or runs[0][0].target
    newest = {run.target: run.id for run, _ in runs}
    compared = []
    for at, (run, summary) in enumerate(runs):
        if run.target == base or not (against or run.id == newest[run.target]):
            continue
        partner = _partner(runs, at, base)
        change = partner and _change((run, summary), partner, shown)
        if partner and change:
            compared.append(TargetDifference(run.id, run.target, summary.created, partner[0].id, base, change))
    return tuple(compared)


def _partner(runs: Sequence[tuple[RunData, RunSummary]], at: int, target: str) -> tuple[RunData, RunSummary] | None:
    """The run of a target that was started together with the one at `at`, else the newest one before it."""
    evaluation = runs[at][0].evaluation
    of_target = [(index, pair) for index, pair in enumerate(runs) if pair[0].target == target]
    same_evaluation = [pair for _, pair in of_target if evaluation is not None and pair[0].evaluation == evaluation]
    before = [pair for index, pair in of_target if index < at]
    return same_evaluation[0] if same_evaluation else before[-1] if before else None


def _check(summaries: Sequence[RunSummary], score: str, group: str) -> None:
    scores = dict.fromkeys(measured.name for summary in summaries for measured in summary.scores)
    if not scores:
        raise ConfigError("none of these runs has scores, so there is nothing to show")
    if score not in scores:
        raise ConfigError(f"no run has a score {score!r}{did_you_mean(score, scores)}")
    groups = dict.fromkeys(part.group for summary in summaries for part in summary.groups.get(score, ()))
    if group and group not in groups:
        raise ConfigError(f"no run has a group {group!r}{did_you_mean(group, groups)}")


def _samples(run: RunData) -> Mapping[str, Any]:
    samples: Mapping[str, Any] = run.manifest.get("samples") or {}
    return samples


def _changed_settings(run: RunData, before: RunData) -> dict[str, tuple[str, ...]]:
    """`samples`, `target` and `scorers`, as far as two runs do not share them -> a phrase per setting that differs."""
    first, second = before.manifest, run.manifest
    digests = [_samples(side).get("digest") for side in (before, run)]
    changed = {
        "samples": (f"{_samples(run).get('n')} samples",) if digests[0] != digests[1] else (),
        "target": phrases_of(target_differences(first.get("target"), second.get("target")), most=_MOST_SETTINGS),
        "scorers": phrases_of(scorer_differences(first.get("scorers"), second.get("scorers")), most=_MOST_SETTINGS),
    }
    return {name: phrases for name, phrases in changed.items() if phrases}


def _change(
    now: tuple[RunData, RunSummary], before: tuple[RunData, RunSummary], shown: tuple[str, str]
) -> RunChange | None:
    (run, summary), (earlier, earlier_summary) = now, before
    name, group = shown
    score, earlier_score = summary.rate(name, group), earlier_summary.rate(name, group)
    if score is None or earlier_score is None or score.headline.value is None or earlier_score.headline.value is None:
        return RunChange(earlier.id, None, None, 0, "", paired=False)
    if max(summary.counts.done, earlier_summary.counts.done) <= PAIRED_RECORDS:
        runs, summaries = (earlier, run), (earlier_summary, summary)
        paired, verdict = headline_difference(runs, summaries, name, group=group, over_turns=True)
        if paired.n:
            return RunChange(earlier.id, paired.difference, paired.interval, paired.n, verdict, paired=True)
    difference = score.headline.value - earlier_score.headline.value
    info = score_infos(run.manifest).get(name)
    verdict = _by_intervals(score, earlier_score, lower_is_better=info is not None and info.lower_is_better)
    return RunChange(earlier.id, difference, None, 0, verdict, paired=False)


def _by_intervals(score: ScoreSummary, earlier: ScoreSummary, *, lower_is_better: bool) -> Verdict:
    """Better or worse where the two 95 % CIs do not overlap: stricter than a test of the pairs."""
    bounds, earlier_bounds = score.missing_bounds, earlier.missing_bounds
    if bounds or earlier_bounds:
        low, high = bounds or [score.headline.value or 0.0] * 2
        earlier_low, earlier_high = earlier_bounds or [earlier.headline.value or 0.0] * 2
        if low <= earlier_high and high >= earlier_low:
            return "inconclusive"
    here, there = score.headline.interval, earlier.headline.interval
    if here is None or there is None or not (here.low > there.high or here.high < there.low):
        return "no_evidence"
    return "better" if (here.low > there.high) is not lower_is_better else "worse"
