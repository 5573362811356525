"""Runs that stand side by side on a page, with the name of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.run_texts import applies
from steelyard.report.section import TableColumn, run_columns


@dataclass(frozen=True, slots=True)
class PageRuns:
    """Runs side by side, each with a column, a row or a part of its own, in this order.

    Args:
        summaries: one per run.
        labels: what the page calls each.
    """

    summaries: Sequence[RunSummary]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, summaries: Sequence[RunSummary]) -> PageRuns:
        """Runs that are called by their targets, see `run_labels`."""
        return cls(summaries, run_labels(summaries))

    def __len__(self) -> int:
        return len(self.summaries)

    def __iter__(self) -> Iterator[tuple[str, RunSummary]]:
        """(label, summary) of each run."""
        return zip(self.labels, self.summaries, strict=True)

    def headed(self) -> Iterator[tuple[str, RunSummary]]:
        """(text that headings of the run's own parts end with, summary): the label where there are several runs."""
        return ((f" ({label})" if len(self) > 1 else "", summary) for label, summary in self)

    def columns(self, name: str = "") -> tuple[TableColumn, ...]:
        """The columns of a table with a column per run, beside that of the names of its rows."""
        return run_columns(self.labels, name)

    @property
    def own_scores(self) -> list[str]:
        """Names of the scores that any run has, without those by the rules of other tools."""
        return list(dict.fromkeys(score.name for summary in self.summaries for score in summary.own_scores))

    def scores(self, name: str) -> list[ScoreSummary]:
        """A score of the runs that have it."""
        return [score for summary in self.summaries if (score := summary.score(name)) is not None]

    def applies(self, name: str) -> bool:
        """Whether a score applies to a record of any run; otherwise tables and charts would be empty."""
        return any(map(applies, self.scores(name)))

    def is_share(self, name: str) -> bool:
        """Whether a score is a share in every run that has it: runs side by side have one unit."""
        return all(score.is_share for score in self.scores(name))

    def domain(self, name: str) -> tuple[float, float] | None:
        """Ends of an axis: those of a share or of the runs' common scale; None if the data decide."""
        if self.is_share(name):
            return 0, 100
        scales = {score.scale for score in self.scores(name)}
        scale = scales.pop() if len(scales) == 1 else None
        return (scale.low, scale.high) if scale else None


def run_labels(summaries: Iterable[RunSummary]) -> tuple[str, ...]:
    """The name of each run on a page, see `labels_of_targets`."""
    return labels_of_targets([(summary.run, summary.target) for summary in summaries])


def labels_of_targets(runs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The target of each (id, target) of a run; with the id where a target has several runs."""
    times = Counter(target for _, target in runs)
    return tuple(target if times[target] == 1 else f"{target} ({ident})" for ident, target in runs)
