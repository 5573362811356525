"""Pages and files made from stored runs: HTML, Markdown, tables of records, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.report.charts.svg import svg
    from steelyard.report.coding_page import CodingPage
    from steelyard.report.render.html import html_report
    from steelyard.report.render.markdown import markdown_report
    from steelyard.report.sample_choice import PageSize
    from steelyard.report.sections.comparison import difference_chart
    from steelyard.report.sections.history import history_chart
    from steelyard.report.sections.scores import group_chart, histogram_chart, score_chart, verdict_chart
    from steelyard.report.sections.targets import rate_chart
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.report.coding_page:CodingPage",
        "steelyard.report.sample_choice:PageSize",
        "steelyard.report.sections.comparison:difference_chart",
        "steelyard.report.sections.scores:group_chart",
        "steelyard.report.sections.scores:histogram_chart",
        "steelyard.report.sections.history:history_chart",
        "steelyard.report.render.html:html_report",
        "steelyard.report.render.markdown:markdown_report",
        "steelyard.report.sections.targets:rate_chart",
        "steelyard.report.sections.scores:score_chart",
        "steelyard.report.charts.svg:svg",
        "steelyard.report.sections.scores:verdict_chart",
    )

__all__ = [
    "CodingPage",
    "PageSize",
    "difference_chart",
    "group_chart",
    "histogram_chart",
    "history_chart",
    "html_report",
    "markdown_report",
    "rate_chart",
    "score_chart",
    "svg",
    "verdict_chart",
]
