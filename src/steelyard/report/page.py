"""The report of some runs as Sections: built once, in an order for each medium."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.judging_manifest import JUDGES, is_judging, only_answers
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.run_texts import run_labels
from steelyard.report.section import (
    Section,
    Sentence,
    sentences,
)
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
_RATERS: Final = (
    *("pass_rates", "turns", "agreement", "held_to_people", "judge_checks", "panels", "labels", "exam"),
    *("classification", "levels", "calibration"),
)
# A comment may be cut at its end and a page is read from its beginning, so both begin with what may be concluded; a
# terminal shows the end of what was printed. A page has a table of all samples.
_ORDERS: Final[dict[Medium, tuple[str, ...]]] = {
    "terminal": (
        *(
            "answers",
            "targets",
            "alarms",
            "scores",
            "further_histograms",
            *_RATERS,
            "costs",
            "groups",
            "further_groups",
            "breakdowns",
        ),
        *("preferences", "standings", "conclusion", "comparison", "regressions", "grid_details", "grid", "gate"),
    ),
    "markdown": (
        *("alarms", "conclusion", "grid", "grid_details", "gate", "standings", "preferences", "answers", "targets"),
        *("scores", "pass_rates", "turns", "classification"),
        *("panels", "agreement", "held_to_people", "judge_checks", "groups"),
        *(
            "regressions",
            "wrong_results",
            "labels",
            "exam",
            "levels",
            "calibration",
            "comparison",
            "costs",
            "breakdowns",
            "further_histograms",
            "further_groups",
        ),
    ),
    "html": (
        *("alarms", "conclusion", "grid", "grid_details", "gate", "standings", "preferences", "answers", "targets"),
        *(
            "comparison",
            "groups",
            "scores",
            "further_histograms",
            *_RATERS,
            "further_groups",
            "breakdowns",
            "costs",
            "methods",
        ),
    ),
}
_OF_JUDGES: Final = ("panels", "judge_checks", "held_to_people")
"""First sections of a comment on a run of judges: a comment may be cut at its end."""
BEFORE_SAMPLES: Final = frozenset(
    {"alarms", "conclusion", "grid", "grid_details", "gate", "standings", "preferences", "answers", "targets"}
)
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
    def scored(self) -> list[int]:
        """Indices of the runs in tables of scores: neither judging runs nor those that they judge."""
        manifests = [run.manifest for run in self.runs]
        return [at for at, manifest in enumerate(manifests) if not is_judging(manifest) and not only_answers(manifest)]

    @property
    def only_judges(self) -> bool:
        """Whether every run judges the answers of another one."""
        return all(getattr(run, "kind", "") == JUDGES for run in self.runs)

    @property
    def score(self) -> str:
        """The score that the page is about; "" where there is none."""
        if self.comparison:
            return self.comparison.score
        return next((self.summaries[at].primary for at in self.scored if self.summaries[at].primary), "")

    @property
    def title(self) -> str:
        """The titles of all suites."""
        return " · ".join(dict.fromkeys(summary.suite for summary in self.summaries))


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
    scored, labels, score = content.scored, content.labels, content.score
    summaries = [content.summaries[at] for at in scored]
    names = [labels[at] for at in scored]
    by_run = dict(zip((summary.run for summary in content.summaries), labels, strict=True))
    comparison = content.comparison
    # A comparison may include judging runs on request, which have no score of their own.
    concluded = [comparison.baseline, *comparison.others] if comparison else summaries
    alone = len(scored) == len(content.runs)
    others = [at for at in range(len(content.runs)) if at not in scored]
    reasons = [run.reason for run in content.runs]
    return [
        _wrong_results(content) if "wrong_results" in included else Section(""),
        alarms_section(content.summaries, reasons, score, content.comparison),
        conclusion_section(
            summaries,
            content.comparison,
            [by_run[summary.run] for summary in concluded],
            preferred=content.pairwise.preferences,
            standings=content.pairwise.standings,
            saved=saved_calls(content.summaries),
        ),
        grid_section(comparison.grid if comparison else None),
        grid_details_section(comparison.grid if comparison else None),
        gate_section(content.gate),
        standings_section(content.pairwise.standings),
        preferences_section(content.pairwise.preferences),
        answers_section([(labels[at], content.summaries[at]) for at in others]),
        targets_section(
            summaries,
            names,
            score,
            chance=chance,
            remarks=_remarks(content, scored),
            baseline=content.comparison.baseline.run if content.comparison else "",
        ),
        scores_section(summaries, names),
        further_histograms_section(summaries, names),
        pass_rates_section(summaries, names),
        turns_section(content.summaries, labels),
        agreement_section(content.summaries, labels),
        held_to_people_section(content.summaries, labels),
        checks_section(content.summaries, labels),
        panels_section(content.summaries, labels),
        _regressions(content) if "regressions" in included else Section(""),
        _behind_grid(costs_section(content.summaries, labels), comparison, folded=False),
        labels_section(content.summaries, labels),
        exam_section(summaries, names),
        levels_section(summaries, names, score),
        calibration_section(summaries, names),
        classification_section(summaries, names),
        groups_section(summaries, names, score, alone=alone),
        further_groups_section(summaries, names, score, on_terminal=content.group_scores),
        breakdowns_section(summaries, names, score, alone=alone),
        _comparison(content, names),
        methods_section(comparison) if "methods" in included else Section(""),
    ]


# Importing the sections with samples would take a fifth of the start time of a command.
def _wrong_results(content: ReportContent) -> Section:
    compared = next((run for run in content.runs if _WITH_RESULTS & {*run.manifest.get("scores", ())}), None)
    if compared is None:
        return Section("", key="wrong_results")
    return wrong_results_section(compared.records())


def _regressions(content: ReportContent) -> Section:
    if content.comparison is None:
        return Section("", key="regressions")
    return _behind_grid(regressions_section(content.runs, content.comparison), content.comparison)


def _comparison(content: ReportContent, names: Sequence[str]) -> Section:
    if content.comparison is None:
        return Section("", key="comparison")
    return _behind_grid(comparison_section(content.comparison, content.runs, names), content.comparison)


def _behind_grid(section: Section, comparison: Comparison | None, *, folded: bool = True) -> Section:
    """A section whose figures are details where the runs are a grid: pairs against the first run, costs by stage."""
    return replace(section, level="detail", folded=folded) if comparison and comparison.grid else section


def _remarks(content: ReportContent, scored: Sequence[int]) -> list[Sentence]:
    """Remarks on each run, shown below the table of targets."""
    several = len(content.runs) > 1
    remarks = [remark for at in scored for remark in run_remarks(content.summaries[at], several=several)]
    cached = cached_sentence(content.summaries, [run.replies for run in content.runs])
    return [*remarks, *sentences([cached, read_again_sentence(content.summaries)])]
