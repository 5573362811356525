"""The report of some runs as Sections: gathered once, in the order that each medium has room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.analysis.comparison_values import Comparison
from steelyard.analysis.gate import GateVerdict
from steelyard.analysis.preferences import only_answers
from steelyard.analysis.run_protocols import StoredRun
from steelyard.analysis.summary_values import RunSummary
from steelyard.report.agreement import agreement_section
from steelyard.report.comparison import comparison_section
from steelyard.report.costs import cached_sentence, costs_section, saved_calls
from steelyard.report.exam import exam_section
from steelyard.report.gate import gate_section
from steelyard.report.numbers import headline, run_labels
from steelyard.report.people_labels import labels_section
from steelyard.report.preferences import NO_PAIRS, Pairwise, answers_section, preferences_section
from steelyard.report.regressions import regressions_comment
from steelyard.report.scores import (
    breakdowns_section,
    further_groups_section,
    further_histograms_section,
    groups_section,
    scores_section,
)
from steelyard.report.section import (
    HTML,
    MARKDOWN,
    PAGES,
    TERMINAL,
    Medium,
    Section,
    Sentence,
    sentences,
)
from steelyard.report.sql_results import wrong_results_section
from steelyard.report.standings import standings_section
from steelyard.report.targets import alarms_section, run_remarks, targets_section

# A comment may be cut at its end and a page is read from its beginning, so both begin with what may be concluded; a
# terminal shows the end of what was printed.
_ORDERS: Final[dict[Medium, tuple[str, ...]]] = {
    "terminal": (
        *("answers", "targets", "alarms", "scores", "agreement", "labels", "exam", "costs", "groups"),
        *("further_groups", "breakdowns", "preferences", "standings", "comparison", "gate"),
    ),
    "markdown": (
        *("alarms", "conclusion", "gate", "standings", "preferences", "targets", "scores", "agreement", "groups"),
        *("regressions", "wrong_results", "labels", "exam", "comparison", "costs", "breakdowns"),
        *("further_histograms", "further_groups"),
    ),
    "html": (
        *("alarms", "conclusion", "gate", "standings", "preferences", "answers", "targets", "scores", "agreement"),
        *("costs", "labels", "exam", "groups", "further_groups", "breakdowns", "comparison"),
    ),
}


_WITH_RESULTS: Final = frozenset({"result", "execution_accuracy"})
"""Scores that keep the first rows of the two results which they compare."""


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The runs, comparison and gate that a report shows.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None where they are not compared.
        gate: verdicts to show; None shows none.
        pairwise: what the judging runs among `runs` say.
        summaries: of `runs`, in order.
        group_scores: further scores that a terminal shows by group; pages show all.
    """

    runs: Sequence[StoredRun]
    comparison: Comparison | None
    gate: GateVerdict | None
    pairwise: Pairwise
    summaries: Sequence[RunSummary]
    group_scores: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        runs: Sequence[StoredRun],
        comparison: Comparison | None = None,
        gate: GateVerdict | None = None,
        pairwise: Pairwise = NO_PAIRS,
    ) -> ReportContent:
        """With the summaries that the comparison has already, and those of the other runs."""
        known = {summary.run: summary for summary in (comparison.baseline, *comparison.others)} if comparison else {}
        return cls(runs, comparison, gate, pairwise, [known.get(run.id) or run.summary() for run in runs])

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each run on the page."""
        return run_labels(self.summaries)

    @property
    def scored(self) -> list[int]:
        """Places of the runs that tables of scores are about: neither judging runs nor those that they judge."""
        judging = self.pairwise.judging
        return [at for at, run in enumerate(self.runs) if run.id not in judging and not only_answers(run.manifest)]

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
    """The sections of a report in the order of a medium; parts that it does not show are still in them.

    Args:
        content: the runs, comparison and gate.
        medium: whose order is wanted.
        chance: the share that guessing reaches; None where that is not known.
    """
    by_key = {section.key: section for section in _sections(content, chance)}
    return tuple(by_key[key] for key in _ORDERS[medium] if by_key[key])


def all_sections(content: ReportContent) -> tuple[Section, ...]:
    """Every section once, in the order of a page, for JSON."""
    return tuple(section for section in _sections(content, None) if section)


def _sections(content: ReportContent, chance: float | None) -> list[Section]:
    scored, labels, score = content.scored, content.labels, content.score
    summaries = [content.summaries[at] for at in scored]
    names = [labels[at] for at in scored]
    alone = len(scored) == len(content.runs)
    others = [at for at in range(len(content.runs)) if at not in scored]
    pairs = content.comparison.pairs if content.comparison else ()
    changed = next((pair for pair in pairs if pair.regressions or pair.improvements), None)
    regressions = regressions_comment(content.runs, changed) if changed else Section("")
    reasons = [run.reason for run in content.runs]
    compared = next((run for run in content.runs if _WITH_RESULTS & {*run.manifest.get("scores", ())}), None)
    return [
        wrong_results_section(compared.records() if compared is not None else ()),
        alarms_section(content.summaries, reasons, score, content.comparison),
        _conclusion(content, summaries),
        gate_section(content.gate),
        standings_section(content.pairwise.standings),
        preferences_section(content.pairwise.preferences),
        answers_section([(labels[at], content.summaries[at]) for at in others], [reasons[at] for at in others]),
        targets_section(summaries, names, score, chance=chance, remarks=_remarks(content, scored)),
        scores_section(summaries, names),
        agreement_section(content.summaries, labels),
        Section("", parts=(regressions,), key="regressions", media=MARKDOWN),
        further_histograms_section(summaries),
        costs_section(content.summaries, labels),
        labels_section(content.summaries, labels),
        exam_section(summaries, names),
        groups_section(summaries, names, score, alone=alone),
        further_groups_section(summaries, names, score, on_terminal=content.group_scores),
        breakdowns_section(summaries, names, score, alone=alone),
        comparison_section(content.comparison, content.runs, names),
    ]


def _remarks(content: ReportContent, scored: Sequence[int]) -> list[Sentence]:
    """Remarks on each run, shown below the table of targets."""
    pairs = content.comparison.pairs if content.comparison else ()
    # What was decided between two runs is the sentence of their comparison.
    decided = {run for pair in pairs if pair.headline.stopped for run in (pair.baseline, pair.other)}
    several = len(content.runs) > 1
    remarks = [
        remark
        for at in scored
        for remark in run_remarks(
            content.summaries[at],
            content.runs[at].reason,
            several=several,
            decided=content.summaries[at].run in decided,
        )
    ]
    cached = cached_sentence(content.summaries, [run.replies for run in content.runs])
    return [*remarks, *sentences([cached, saved_calls(content.summaries)], media=TERMINAL)]


def _conclusion(content: ReportContent, summaries: Sequence[RunSummary]) -> Section:
    """The conclusions, a sentence each; a terminal shows them with their sections."""
    comparison = content.comparison
    if comparison:
        concluded = [pair.sentence for pair in comparison.pairs]
    else:
        concluded = [headline(summary) for summary in summaries if not summary.stopping]
    texts = [
        *content.pairwise.sentences,
        *concluded,
        *own_decisions(summaries, comparison),
        saved_calls(content.summaries),
    ]
    n = sum(len(pair.warnings) for pair in comparison.pairs) if comparison else 0
    first = f"Before believing this, read the {n} warning{'s' * (n > 1)} under Comparison." if n else ""
    warnings = [text for pair in comparison.pairs for text in pair.warnings] if comparison else []
    notes = (
        *sentences(texts, "conclusion"),
        *sentences([first, *(comparison.notes if comparison else ())], "warning", media=HTML),
        *sentences(warnings, "warning", media=MARKDOWN),
    )
    return Section("What may be concluded", notes=notes, key="conclusion", media=PAGES)


def own_decisions(summaries: Sequence[RunSummary], comparison: Comparison | None) -> list[str]:
    """Decisions of stopping rules, run by run; those against another run are in the comparison's sentences."""
    return [
        f"{summary.target}: {summary.stopping.sentence}"
        for summary in summaries
        if summary.stopping and not (comparison and summary.stopping.against)
    ]
