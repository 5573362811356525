"""The runs that `evaluate` returns for several targets: a sequence that compares, prints and shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import ConfigError, did_you_mean
from steelyard.report.charts.svg import svg
from steelyard.report.sections.targets import rate_chart
from steelyard.store import Run


class Runs(Sequence["Run"]):
    """One run per target, in the order of the targets; also found by the target's name.

    Printed, it says the rate of each run and what may be concluded; a notebook shows a table, or for prompts x models
    the matrix, and the rates as dots with their intervals.

    Args:
        runs: of one evaluation.
    """

    __slots__ = ("_runs",)

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @overload
    def __getitem__(self, at: int | str) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Runs: ...
    def __getitem__(self, at: int | str | slice) -> Run | Runs:
        """The run at a position or of a target; a slice of positions gives several.

        Raises:
            ConfigError: there is no such target.
        """
        if isinstance(at, slice):
            return Runs(self._runs[at])
        if isinstance(at, int):
            return self._runs[at]
        by_target = {run.target: run for run in self._runs}
        if at not in by_target:
            raise ConfigError(f"there is no run of {at!r}{did_you_mean(at, by_target)}")
        return by_target[at]

    def compare(self, **options: Any) -> Comparison:
        """Every run compared with the first; of prompts x models also which to ship (`.grid`).

        Args:
            options: of `steelyard.compare`: `score`, `level`, `groups`.

        Raises:
            ConfigError: there is a single run, or a run without the score.
        """
        return compare(*self._runs, **options)

    def to_frame(self) -> Any:
        """One row per record of all runs, as a data frame; the columns `target`, `run` and `tag_...` tell them apart.

        Raises:
            ConfigError: none of pandas, polars and pyarrow is installed.
        """
        import narwhals as nw

        frames = [nw.from_native(run.to_frame(), eager_only=True) for run in self._runs]
        return nw.concat(frames, how="diagonal").to_native()

    def __str__(self) -> str:
        summaries = [run.summary() for run in self._runs]
        lines = [f"{run.target}: {score}" for run in summaries if (score := run.score()) is not None]
        return "\n".join([*lines, *([str(self._comparison(summaries))] if _comparable(summaries) else [])])

    def __repr__(self) -> str:
        return f"Runs([{', '.join(map(repr, self._runs))}])"

    def _repr_html_(self) -> str:
        summaries = [run.summary() for run in self._runs]
        if not _comparable(summaries):
            return "".join(summary._repr_html_() for summary in summaries)
        comparison = self._comparison(summaries)
        return f"{comparison._repr_html_()}{svg(rate_chart(summaries, score=comparison.score))}"

    def _comparison(self, summaries: Sequence[RunSummary]) -> Comparison:
        return compare(*self._runs, summaries=summaries)


def _comparable(summaries: Sequence[RunSummary]) -> bool:
    return len(summaries) > 1 and all(summary.scores for summary in summaries)
