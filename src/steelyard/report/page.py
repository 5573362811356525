"""The report of some runs as Sections: built once, in an order for each medium."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.judging_manifest import JUDGES, is_judging, only_answers
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page_runs import PageRuns, run_labels
from steelyard.report.section import Section, Sentence, sentences
from steelyard.report.sections.changed_scores import labels_section
from steelyard.report.sections.classification import calibration_section, classification_section
from steelyard.report.sections.comparison import comparison_section, methods_section
from steelyard.report.sections.conclusion import conclusion_section
from steelyard.report.sections.costs import cached_sentence, costs_section, read_again_sentence, saved_calls
from steelyard.report.sections.exam import exam_section, levels_section
from steelyard.report.sections.gate import gate_section
from steelyard.report.sections.grid import grid_details_section, grid_section
from steelyard.report.sections.judge_agreement import agreement_section, held_to_people_section
from steelyard.report.sections.judge_panel import checks_section, panels_section
from steelyard.report.sections.preferences import NO_PAIRS, Pairwise, answers_section, preferences_section
from steelyard.report.sections.regressions import regressions_section
from steelyard.report.sections.repeats_and_turns import pass_rates_section, turns_section
from steelyard.report.sections.scores import (
    breakdowns_section,
    further_groups_section,
    further_histograms_section,
    groups_section,
    scores_section,
)
from steelyard.report.sections.sql_results import wrong_results_section
from steelyard.report.sections.standings import standings_section
from steelyard.report.sections.targets import alarms_section, run_remarks, targets_section
from steelyard.store import Run

Medium = Literal["terminal", "markdown", "html"]
_CONCLUSIONS: Final = (
    *("alarms", "conclusion", "grid", "grid_details", "gate"),
    *("standings", "preferences", "answers", "targets"),
)
_RATERS: Final = (
    *("pass_rates", "turns", "agreement", "held_to_people", "judge_checks", "panels", "labels", "exam"),
    *("classification", "levels", "calibration"),
)
# A comment may be cut at its end and a page is read from its beginning, so both begin with what may be concluded; a
# terminal shows the end of what was printed. A page has a table of all samples.
_ORDERS: Final[dict[Medium, tuple[str, ...]]] = {
    "terminal": (
        *("answers", "targets", "alarms", "scores", "further_histograms", *_RATERS),
        *("costs", "groups", "further_groups", "breakdowns", "preferences", "standings"),
        *("conclusion", "comparison", "regressions", "grid_details", "grid", "gate"),
    ),
    "markdown": (
        *(*_CONCLUSIONS, "scores", "pass_rates", "turns", "classification"),
        *("panels", "agreement", "held_to_people", "judge_checks", "groups", "regressions", "wrong_results"),
        *("labels", "exam", "levels", "calibration", "comparison", "costs", "breakdowns"),
        *("further_histograms", "further_groups"),
    ),
    "html": (
        *(*_CONCLUSIONS, "comparison", "groups", "scores", "further_histograms"),
        *(*_RATERS, "further_groups", "breakdowns", "costs", "methods"),
    ),
}
_OF_JUDGES: Final = ("panels", "judge_checks", "held_to_people")
"""First sections of a comment on a run of judges: a comment may be cut at its end."""
BEFORE_SAMPLES: Final = frozenset(_CONCLUSIONS)
"""Sections that a page shows before its table of samples."""


_WITH_RESULTS: Final = frozenset({"result", "execution_accuracy"})
"""Scores that keep the first rows of the two results which they compare."""


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The runs, comparison and gate that a report shows.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None where they are not compared.
        gate: verdicts to show; None shows none.
        pairwise: results of the judging runs among `runs`.
        summaries: of `runs`, in order.
        group_scores: further scores that a terminal shows by group; pages show all.
    """

    runs: Sequence[Run]
    comparison: Comparison | None
    gate: GateVerdict | None
    pairwise: Pairwise
    summaries: Sequence[RunSummary]
    group_scores: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        runs: Sequence[Run],
        comparison: Comparison | None = None,
        gate: GateVerdict | None = None,
        pairwise: Pairwise = NO_PAIRS,
    ) -> ReportContent:
        """The content with the summaries of the comparison, and with new ones of the other runs."""
        known = {summary.run: summary for summary in (comparison.baseline, *comparison.others)} if comparison else {}
        return cls(runs, comparison, gate, pairwise, [known.get(run.id) or run.summary() for run in runs])

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each run on the page."""
        return run_labels(self.summaries)

    @property
    def all_runs(self) -> PageRuns:
        """Every run."""
        return PageRuns(self.summaries, self.labels)

    @property
    def scored(self) -> PageRuns:
        """The runs in tables of scores: neither judging runs nor those that they judge."""
        return self._those(lambda manifest: not _has_no_scores(manifest))

    @property
    def unscored(self) -> PageRuns:
        """The runs that are not in tables of scores."""
        return self._those(_has_no_scores)

    @property
    def compared(self) -> PageRuns:
        """The runs of the comparison, the baseline first; those with scores where they are not compared.

        A comparison may include judging runs on request, which have no score of their own.
        """
        if self.comparison is None:
            return self.scored
        summaries = (self.comparison.baseline, *self.comparison.others)
        names = dict(zip((summary.run for summary in self.summaries), self.labels, strict=True))
        return PageRuns(summaries, tuple(names[summary.run] for summary in summaries))

    def _those(self, chosen: Callable[[Mapping[str, Any]], bool]) -> PageRuns:
        of_runs = [each for run, each in zip(self.runs, self.all_runs, strict=True) if chosen(run.manifest)]
        return PageRuns([summary for _, summary in of_runs], tuple(label for label, _ in of_runs))

    @property
    def only_judges(self) -> bool:
        """Whether every run judges the answers of another one."""
        return all(getattr(run, "kind", "") == JUDGES for run in self.runs)

    @property
    def score(self) -> str:
        """The score that the page is about; "" where there is none."""
        if self.comparison:
            return self.comparison.score
        return next((summary.primary for summary in self.scored.summaries if summary.primary), "")

    @property
    def title(self) -> str:
        """The titles of all suites."""
        return " · ".join(dict.fromkeys(summary.suite for summary in self.summaries))


def _has_no_scores(manifest: Mapping[str, Any]) -> bool:
    return is_judging(manifest) or only_answers(manifest)


def report_sections(content: ReportContent, medium: Medium, *, chance: float | None = None) -> tuple[Section, ...]:
    """The sections of a report in the order of a medium; parts that it does not show are included.

    Args:
        content: the runs, comparison and gate.
        medium: its order is used.
        chance: the score of guessing; None if unknown.
    """
    order = _ORDERS[medium]
    if medium == "markdown" and content.only_judges:
        first = ("alarms", "gate", *_OF_JUDGES)
        order = (*first, *(key for key in order if key not in first))
    by_key = {section.key: section for section in _sections(content, chance, order)}
    return tuple(by_key[key] for key in order if by_key[key])


def all_sections(content: ReportContent) -> tuple[Section, ...]:
    """Every section once, in the order of a page, for JSON."""
    return tuple(section for section in _sections(content, None, ("wrong_results", "regressions")) if section)


def _sections(content: ReportContent, chance: float | None, included: Container[str]) -> list[Section]:
    """Every section, in the order of a page; those that need records are empty unless they are in `included`."""
    runs, scored, score, comparison = content.all_runs, content.scored, content.score, content.comparison
    alone = len(scored) == len(runs)
    return [
        _wrong_results(content) if "wrong_results" in included else Section(""),
        alarms_section(runs.summaries, score, comparison),
        conclusion_section(
            content.compared,
            comparison,
            preferred=content.pairwise.preferences,
            standings=content.pairwise.standings,
            saved=saved_calls(content.summaries),
        ),
        grid_section(comparison.shown_grid if comparison else None),
        grid_details_section(comparison.shown_grid if comparison else None),
        gate_section(content.gate),
        standings_section(content.pairwise.standings),
        preferences_section(content.pairwise.preferences),
        answers_section(content.unscored),
        targets_section(
            scored,
            score,
            chance=chance,
            remarks=_remarks(content),
            baseline=comparison.baseline.run if comparison else "",
        ),
        scores_section(scored),
        further_histograms_section(scored),
        pass_rates_section(scored),
        turns_section(runs),
        agreement_section(runs),
        held_to_people_section(runs),
        checks_section(runs),
        panels_section(runs),
        _behind_grid(regressions_section(content.runs, comparison if "regressions" in included else None), comparison),
        _behind_grid(costs_section(runs), comparison, folded=False),
        labels_section(runs),
        exam_section(scored),
        levels_section(scored, score),
        calibration_section(scored),
        classification_section(scored),
        groups_section(scored, score, alone=alone),
        further_groups_section(scored, score, on_terminal=content.group_scores),
        breakdowns_section(scored, score, alone=alone),
        _comparison(content),
        methods_section(content.summaries, comparison) if "methods" in included else Section(""),
    ]


# Importing the sections with samples would take a fifth of the start time of a command.
def _wrong_results(content: ReportContent) -> Section:
    compared = next((run for run in content.runs if _WITH_RESULTS & {*run.manifest.get("scores", ())}), None)
    if compared is None:
        return Section("", key="wrong_results")
    return wrong_results_section(compared.records())


def _comparison(content: ReportContent) -> Section:
    if content.comparison is None:
        return Section("", key="comparison")
    labels = content.compared.labels
    return _behind_grid(comparison_section(content.comparison, content.runs, labels), content.comparison)


def _behind_grid(section: Section, comparison: Comparison | None, *, folded: bool = True) -> Section:
    """A section whose figures are details where the runs are a grid: pairs against the first run, costs by stage."""
    return replace(section, level="detail", folded=folded) if comparison and comparison.shown_grid else section


def _remarks(content: ReportContent) -> list[Sentence]:
    """Remarks on each run, shown below the table of targets."""
    several = len(content.runs) > 1
    remarks = [remark for summary in content.scored.summaries for remark in run_remarks(summary, several=several)]
    cached = cached_sentence(content.summaries, [run.replies for run in content.runs])
    return [*remarks, *sentences([cached, read_again_sentence(content.summaries)])]
