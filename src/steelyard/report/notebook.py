"""Summaries, comparisons, preferences and standings as a notebook shows them: Sections of the report, without charts.

A notebook has styles of its own, so there is nothing here but headings, tables and paragraphs. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from steelyard.analysis.comparison.comparison_values import Comparison
from steelyard.analysis.preferences.preferences_values import Preferences
from steelyard.analysis.preferences.standings import Standings
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.render.html import section_environment
from steelyard.report.run_texts import run_labels
from steelyard.report.section import Section, non_empty
from steelyard.report.sections.comparison import comparison_section
from steelyard.report.sections.conclusion import conclusion_section
from steelyard.report.sections.grid import grid_section
from steelyard.report.sections.preferences import preferences_section
from steelyard.report.sections.scores import scores_section
from steelyard.report.sections.standings import standings_section
from steelyard.report.sections.targets import alarms_section, run_remarks, targets_section

_PAGE: Final = '{% from "section.html.j2" import section %}{% for part in sections %}{{ section(part, 4) }}{% endfor %}'


def notebook_html(value: RunSummary | Comparison | Preferences | Standings) -> str:
    """The HTML of a value, as `_repr_html_` returns it."""
    sections = [_without_charts(section) for section in non_empty(_sections(value))]
    return section_environment().from_string(_PAGE).render(sections=sections)


def _sections(value: RunSummary | Comparison | Preferences | Standings) -> Sequence[Section]:
    if isinstance(value, RunSummary):
        names, score = [f"{value.suite}: {value.target}, run {value.run}"], value.primary
        remarks = tuple(run_remarks(value, several=False))
        targets = targets_section([value], names, score, remarks=remarks)
        return alarms_section([value], [""], score, None), targets, scores_section([value], names)
    if isinstance(value, Preferences):
        return conclusion_section([], None, [], preferred=[value]), preferences_section([value])
    if isinstance(value, Standings):
        return conclusion_section([], None, [], standings=value), standings_section(value)
    if value.grid is not None:
        return (grid_section(value.grid),)
    summaries = [value.baseline, *value.others]
    labels = run_labels(summaries)
    return conclusion_section(summaries, value, labels), comparison_section(value, (), labels)


def _without_charts(section: Section) -> Section:
    """A page draws a chart for a window and for a telephone and hides one by its styles, which a notebook lacks.

    Without anchors too, as a notebook shows the same section in several cells.
    """
    parts = [_without_charts(part) for part in section.parts if part.level != "page"]
    return replace(section, chart=None, key="", parts=non_empty(parts))
