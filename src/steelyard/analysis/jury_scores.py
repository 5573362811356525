"""The mean of a jury's verdicts, as if it were a score that a run holds: for gates and reports.

A jury's verdicts are read from those of its members and never stored (`jury`), so that their summary is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from steelyard.analysis.intervals import USUAL, Intervals
from steelyard.analysis.judge_agreement_values import RecordPlace
from steelyard.analysis.judge_panel_values import JudgePanel
from steelyard.analysis.score_columns import CODES, ScoreColumns, ScoreRow, Texts
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import RunSummary, ScoreSummary
from steelyard.types import ScoreInfo

AnyRun = TypeVar("AnyRun")
_OUTCOMES: Final = {code: outcome for outcome, code in CODES.items()}


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
        name, info = panel.jury_score, infos.get(members[0])
        of_jury = {name: replace(info, name=name)} if info is not None else {}
        overall, groups = summarize(
            jury_rows(columns, name, members, panel.verdicts), infos=of_jury, intervals=intervals
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
    import numpy as np

    # A record that failed has one row without a name, which counts in every score.
    numbers = [columns.names.index(score) for score in ("", *members) if score in columns.names]
    rows = np.flatnonzero(np.isin(columns.name, numbers))
    codes = (columns.sample, columns.repeat, columns.groups.codes, columns.clusters.codes, columns.outcome)
    groups, clusters = columns.groups.names, columns.clusters.names
    seen: set[RecordPlace] = set()
    for sample, repeat, group, cluster, outcome in zip(*(column[rows].tolist() for column in codes), strict=True):
        record = columns.samples[sample], repeat
        if record in seen:
            continue
        seen.add(record)
        value = verdicts.get(record)
        jury_outcome = _OUTCOMES[outcome]
        if record in verdicts:
            jury_outcome = "unparsed" if value is None else "scored"
        yield ScoreRow(record[0], groups[group], clusters[cluster], repeat, name, jury_outcome, value)


def columns_with(columns: ScoreColumns, rows: Iterable[ScoreRow]) -> ScoreColumns:
    """The columns with further rows at their end.

    Args:
        columns: of a run.
        rows: of samples that it has.
    """
    import numpy as np

    added = ScoreColumns.of(rows)
    numbers = {sample: number for number, sample in enumerate(columns.samples)}
    samples = np.array([numbers[sample] for sample in added.samples], dtype=columns.sample.dtype)
    names, codes = _joined(columns.names, columns.name, added.names, added.name)
    groups, clusters = (
        Texts(*_joined(own.names, own.codes, more.names, more.codes))
        for own, more in ((columns.groups, added.groups), (columns.clusters, added.clusters))
    )
    joined: dict[str, Any] = {
        key: np.concatenate([getattr(columns, key), getattr(added, key)])
        for key in ("repeat", "outcome", "value", "answered")
    }
    numbered = np.concatenate([columns.sample, samples[added.sample]])
    return replace(columns, names=names, name=codes, sample=numbered, groups=groups, clusters=clusters, **joined)


def _joined(names: Sequence[str], codes: Any, more: Sequence[str], more_codes: Any) -> tuple[tuple[str, ...], Any]:
    """Two columns of texts as one: each different text once, and the number of each entry's."""
    import numpy as np

    numbers = {name: number for number, name in enumerate(names)}
    of_more = np.array([numbers.setdefault(name, len(numbers)) for name in more], dtype=codes.dtype)
    return tuple(numbers), np.concatenate([codes, of_more[more_codes]])


def with_juries(summary: RunSummary) -> RunSummary:
    """A summary with the means of its juries among its scores."""
    overall = [score for score in summary.jury_scores if not score.group]
    groups = {name: means for score in overall if (means := _groups_of(summary, name := score.name))}
    return replace(summary, scores=(*summary.scores, *overall), groups={**summary.groups, **groups})


def _groups_of(summary: RunSummary, name: str) -> tuple[ScoreSummary, ...]:
    return tuple(score for score in summary.jury_scores if score.name == name and score.group)


def run_with_jury(run: AnyRun) -> AnyRun:
    """The run with the scores of its jury among the others; a run that has no jury, or has them already, unchanged."""
    with_jury: Callable[[], AnyRun] | None = getattr(run, "with_jury", None)
    return run if with_jury is None else with_jury()
