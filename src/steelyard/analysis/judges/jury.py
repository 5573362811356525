"""Joint verdicts of several judges on each record, majority or mean, as a score like any other.

A jury's verdict is computed from the stored verdicts of its members when it is read, so that it cannot differ from
them after a record is added or scored again.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-judges.md

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from steelyard.analysis.intervals import USUAL, Intervals
from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.judges.rater_findings_values import JudgePanel, JuryVote, JuryVotes
from steelyard.analysis.judging_manifest import OF_ANSWERS, judge_names
from steelyard.analysis.run_data import RecordPlace, RunData
from steelyard.analysis.scores.score_columns import DistinctDetails, ScoreColumns, ScoreRow, Texts
from steelyard.analysis.scores.score_infos import judged_things, jury_score, plain_infos
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.plain_json import grouped
from steelyard.types import ScoreInfo


def jury_of(thing: str, members: Mapping[str, JudgedScore], vote: JuryVote) -> JuryVotes:
    """The verdicts of a jury, from those of its members; without any where they are no jury.

    A member without a verdict on a record does not vote on it, and where fewer than half of them vote there is none.
    The mean of passes and fails would be a share and not a verdict, so that these are voted on.

    Args:
        thing: what they judge.
        members: judge -> its verdicts.
        vote: how they become one.
    """
    if len(members) < 2:
        return JuryVotes(why="a jury has two judges or more")
    if len({member.limits for member in members.values()}) > 1:
        return JuryVotes(why="the judges of a jury rate on one scale, and these have different ones")
    votes: dict[RecordPlace, list[float]] = {}
    for member in members.values():
        for record, verdict in member.verdicts.items():
            votes.setdefault(record, []).extend(() if verdict is None else (float(verdict),))
    why = ""
    if vote == "mean" and all(value in {0.0, 1.0} for values in votes.values() for value in values):
        vote, why = "majority", "the verdicts are pass or fail, so their mean would be a share"
    joined = {
        record: None if 2 * len(values) < len(members) else _majority(values) if vote == "majority" else _mean(values)
        for record, values in votes.items()
    }
    few = {record for record, values in votes.items() if len(values) < 2 or 2 * len(values) < len(members)}
    divided = sum(verdict is None and record not in few for record, verdict in joined.items())
    return JuryVotes(jury_score(thing), vote, why, joined, len(members), len(few), divided)


def jury_as_judge(votes: JuryVotes, members: Mapping[str, JudgedScore]) -> JudgedScore:
    """The verdicts of a jury as those of one judge, on the scale of its members.

    Args:
        votes: of the jury.
        members: judge -> its verdicts.
    """
    # A member knows the groups of the records alone that it was asked about, and the jury's are those of all members.
    groups = {record: group for member in members.values() for record, group in member.groups.items()}
    return next(iter(members.values()))._replace(score=votes.score, verdicts=votes.verdicts, groups=groups)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _majority(values: Sequence[float]) -> float | None:
    """The most frequent verdict; None where two are equally frequent."""
    counts = Counter(values).most_common(2)
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


BY_JURY: Final = "jury"
"""The value of `by`, in the detail of a jury's verdict on a pair."""


def jury_summaries(
    columns: ScoreColumns,
    infos: Mapping[str, ScoreInfo],
    panels: Sequence[JudgePanel],
    intervals: Intervals = USUAL,
) -> tuple[ScoreSummary, ...]:
    """The summary of each jury of a run, over all records and then over each group.

    A record on which the jury has no verdict is unparsed; one that no member was asked about has the outcome of the
    first member: an error, or not applicable.

    Args:
        columns: of the run.
        infos: what its scorers declared.
        panels: of the run; those without a jury give nothing.
        intervals: how the intervals of the means are computed.
    """
    summaries: list[ScoreSummary] = []
    for panel in panels:
        if panel.jury is None:
            continue
        members = [judge.score for judge in panel.judges if not judge.is_jury]
        name, info = panel.votes.score, infos.get(members[0])
        of_jury = {name: replace(info, name=name)} if info is not None else {}
        overall, groups = summarize(
            jury_rows(columns, name, members, panel.votes.verdicts), infos=of_jury, intervals=intervals
        )
        summaries += (*overall, *groups.get(name, ()))
    return tuple(summaries)


def jury_rows(
    columns: ScoreColumns, name: str, members: Sequence[str], verdicts: Mapping[RecordPlace, float | None]
) -> Iterator[ScoreRow]:
    """One row of the jury per record for which a member has a row, in the order of the run.

    Args:
        columns: of the run.
        name: of the jury's score.
        members: the scores of its members.
        verdicts: record -> the jury's verdict; None where it has none.
    """
    # A record that failed has one row without a name, which counts in every score.
    numbers = [columns.names.index(score) for score in ("", *members) if score in columns.names]
    by_record = grouped(
        ((row.sample, row.repeat), row) for row in columns.only(np.flatnonzero(np.isin(columns.name, numbers))).rows()
    )
    order = {member: position for position, member in enumerate(members)}
    for place, rows in by_record.items():
        of_members = sorted(rows, key=lambda row: order.get(row.name, len(order)))
        row = of_members[0]._replace(name=name)
        yield _verdict(row, of_members, verdicts[place]) if place in verdicts else row


def _verdict(row: ScoreRow, members: Sequence[ScoreRow], value: float | None) -> ScoreRow:
    """The jury's row of a record, given those of its members."""
    side = {key: row.detail[key] for key in OF_ANSWERS if key in row.detail}
    if value is None:
        return row._replace(outcome="unparsed", value=None, detail={**side, "by": BY_JURY, "kind": "divided"})
    # A half is a tie, or two orders that contradict each other: the label that most members with a half gave.
    halves = Counter(str(member.detail.get("label")) for member in members if member.value == value)
    label = {1.0: "A", 0.0: "B"}.get(value) or (halves.most_common(1)[0][0] if halves else "tie")
    return row._replace(outcome="scored", value=value, detail={**side, "by": BY_JURY, "label": label})


def with_jury(run: RunData) -> RunData:
    """The run with the scores of its jury among the others; unchanged where it has none, or has them already.

    A jury's verdicts are computed from those of its members whenever they are needed, and never stored.

    Args:
        run: where it has several judges and a rule for their jury, and no rule ended it early, scores are added.
    """
    vote = run.manifest.get("jury", {}).get("vote")
    if not vote or run.stopped_early:
        return run
    infos, scores = run.score_infos, run.scores
    of_juries: list[ScoreInfo] = []
    added: list[ScoreRow] = []
    names: list[str] = []
    judges = dict.fromkeys(judge_names(run.manifest).values())
    for thing, by_judge in judged_things(scores.scores, infos, list(judges)).items():
        members = {judge: JudgedScore.of(scores, score, infos.get(score)) for judge, score in by_judge.items()}
        name, info = jury_score(thing), next(iter(members.values())).info
        votes = jury_of(thing, members, vote)
        if name in scores.scores or not votes.vote:
            continue
        added += jury_rows(scores, name, list(by_judge.values()), votes.verdicts)
        names.append(name)
        of_juries += [replace(info, name=name)] if info is not None else []
    if not names:
        return run
    manifest = {
        **run.manifest,
        "scores": [*run.manifest.get("scores", ()), *names],
        "score_infos": {**plain_infos(infos.values()), **plain_infos(of_juries)},
    }
    return replace(run, scores=columns_with(scores, added), manifest=manifest)


def columns_with(columns: ScoreColumns, rows: Iterable[ScoreRow]) -> ScoreColumns:
    """The columns with further rows at their end.

    Args:
        columns: of a run.
        rows: of samples that it has.
    """
    added = ScoreColumns.of(rows)
    numbers = {sample: number for number, sample in enumerate(columns.samples)}
    samples = np.array([numbers[sample] for sample in added.samples], dtype=columns.sample.dtype)
    names, codes = _joined(columns.names, columns.name, added.names, added.name)
    groups, clusters = (
        Texts(*_joined(own.names, own.codes, more.names, more.codes))
        for own, more in ((columns.groups, added.groups), (columns.clusters, added.clusters))
    )
    details = DistinctDetails(columns.details)
    numbers_of_details = np.array([details.number(detail) for detail in added.details], dtype=columns.detail.dtype)
    joined: dict[str, Any] = {
        key: np.concatenate([getattr(columns, key), getattr(added, key)]) for key in ("repeat", "outcome", "value")
    }
    joined |= {"details": details.all, "detail": np.concatenate([columns.detail, numbers_of_details[added.detail]])}
    numbered = np.concatenate([columns.sample, samples[added.sample]])
    return replace(columns, names=names, name=codes, sample=numbered, groups=groups, clusters=clusters, **joined)


def _joined(names: Sequence[str], codes: Any, more: Sequence[str], more_codes: Any) -> tuple[tuple[str, ...], Any]:
    """Two columns of texts as one: each different text once, and the number of each entry's."""
    numbers = {name: number for number, name in enumerate(names)}
    of_more = np.array([numbers.setdefault(name, len(numbers)) for name in more], dtype=codes.dtype)
    return tuple(numbers), np.concatenate([codes, of_more[more_codes]])
