"""A run with its jury's scores next to those of its judges, so that they can be compared and ranked like any other.

A jury's verdicts are computed from those of its members while the run is read, and never stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from steelyard.analysis.judge_agreement import JudgedScore
from steelyard.analysis.jury import Verdicts, jury_verdicts, no_jury
from steelyard.analysis.jury_scores import columns_with, jury_rows, with_juries
from steelyard.analysis.run_protocols import ComparableRun, JudgingRun, PairRun, RatedRun
from steelyard.analysis.score_columns import JudgedRow, ScoreColumns, ScoreRow
from steelyard.analysis.score_infos import judged_things, jury_score, plain_infos, score_infos
from steelyard.store.judge_panels import judge_names

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from steelyard.analysis.stopping import Stopping
    from steelyard.analysis.summary_values import RunSummary
    from steelyard.store.usage import RunUsage
    from steelyard.types import Record

BY_JURY: Final = "jury"
"""The value of `by`, in the detail of a jury's verdict on a pair."""
_EVEN: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Jury:
    """The jury of one thing: the scores of its members, and their common verdicts."""

    members: tuple[str, ...]
    verdicts: Verdicts


class RunOfJudges(ComparableRun, RatedRun, JudgingRun, PairRun, Protocol):
    """What is read of a run to add its jury; a protocol, as `store.run` imports this module."""


class JuryRun:
    """A stored run with the scores of its jury added; everything else is the run's own.

    Args:
        run: with several judges and a rule for their jury. Where it has none, or a rule ended it early, nothing is
            added.
    """

    def __init__(self, run: RunOfJudges) -> None:
        self.run = run
        self.id = run.id
        self.target = run.target
        self.suite = run.suite
        self.tags = run.tags

    @cached_property
    def _juries(self) -> Mapping[str, _Jury]:
        """Name of a jury's score -> the jury."""
        run, stopping = self.run, self.run.stopping
        vote = run.manifest.get("jury", {}).get("vote")
        if not vote or (stopping is not None and stopping.used < stopping.planned):
            return {}
        columns, _ = run.columns()
        infos = run.score_infos
        juries: dict[str, _Jury] = {}
        names = dict.fromkeys(judge_names(run.manifest).values())
        for thing, scores in judged_things(columns.scores, infos, list(names)).items():
            members = {judge: JudgedScore.of(columns, score, infos.get(score)) for judge, score in scores.items()}
            if not no_jury([member.info.range if member.info else None for member in members.values()]):
                jury = jury_verdicts({judge: member.verdicts for judge, member in members.items()}, vote)
                juries[jury_score(thing)] = _Jury(tuple(scores.values()), jury.verdicts)
        return juries

    @property
    def has_jury(self) -> bool:
        """Whether there is a score of a jury."""
        return bool(self._juries)

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The run's, with the scores of the jury among the others."""
        manifest, infos = self.run.manifest, score_infos(self.run.manifest)
        if not self._juries:
            return manifest
        member_infos = {name: infos.get(jury.members[0]) for name, jury in self._juries.items()}
        of_juries = plain_infos(replace(info, name=name) for name, info in member_infos.items() if info is not None)
        return {
            **manifest,
            "scores": [*manifest.get("scores", ()), *self._juries],
            "score_infos": {**plain_infos(infos.values()), **of_juries},
        }

    @property
    def stopping(self) -> Stopping | None:
        """The run's."""
        return self.run.stopping

    def summary(self) -> RunSummary:
        """The run's, with the means of the jury among the others."""
        return with_juries(self.run.summary())

    def score_rows(self) -> Iterator[ScoreRow]:
        """The run's, then those of the jury."""
        yield from self.run.score_rows()
        yield from self._jury_rows(self.run.columns()[0])

    def columns(self) -> tuple[ScoreColumns, RunUsage]:
        """The same rows column by column, and the requests of the run."""
        columns, usage = self.run.columns()
        return columns_with(columns, self._jury_rows(columns)), usage

    def _jury_rows(self, columns: ScoreColumns) -> Iterator[ScoreRow]:
        for name, jury in self._juries.items():
            yield from jury_rows(columns, name, jury.members, jury.verdicts)

    def judged_rows(self, score: str) -> Iterator[JudgedRow]:
        """The run's; for a jury's score its verdicts, those on pairs with a label."""
        jury = self._juries.get(score)
        if jury is None:
            yield from self.run.judged_rows(score)
            return
        rows: dict[tuple[str, int], list[JudgedRow]] = {}
        for member in jury.members:
            for row in self.run.judged_rows(member):
                rows.setdefault((row.sample, row.repeat), []).append(row)
        yield from (_verdict(of, jury.verdicts) for of in rows.values())

    def records(self) -> Iterator[Record]:
        """The run's."""
        return self.run.records()

    def sample_hashes(self) -> Mapping[str, str]:
        """The run's."""
        return self.run.sample_hashes()

    def reply_keys(self) -> Mapping[str, AbstractSet[str]]:
        """The run's."""
        return self.run.reply_keys()


def _verdict(rows: Sequence[JudgedRow], verdicts: Verdicts) -> JudgedRow:
    """The jury's verdict on one record, from the rows of its members."""
    first = rows[0]
    place = (first.sample, first.repeat)
    if place not in verdicts:
        return first
    side = {key: first.detail[key] for key in ("alike",) if key in first.detail}
    value = verdicts[place]
    if value is None:
        return first._replace(outcome="unparsed", value=None, detail={**side, "by": BY_JURY, "kind": "divided"})
    # A half is a tie, or two orders that contradict each other: the label that most members with a half gave.
    halves = Counter(str(row.detail.get("label")) for row in rows if row.value == value)
    label = {1.0: "A", 0.0: "B"}.get(value) or (halves.most_common(1)[0][0] if halves else "tie")
    return first._replace(outcome="scored", value=value, detail={**side, "by": BY_JURY, "label": label})
