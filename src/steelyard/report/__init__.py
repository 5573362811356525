"""Pages and files made from stored runs: HTML, Markdown, tables of records, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.report.chart_svg import svg
    from steelyard.report.coding_page import CodingPage
    from steelyard.report.comparison import difference_chart
    from steelyard.report.history_sections import history_chart
    from steelyard.report.html import html_report
    from steelyard.report.markdown import markdown_report
    from steelyard.report.sample_choice import PageSize
    from steelyard.report.scores import group_chart, histogram_chart, score_chart, verdict_chart
    from steelyard.report.targets import rate_chart
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.report.coding_page:CodingPage",
        "steelyard.report.sample_choice:PageSize",
        "steelyard.report.comparison:difference_chart",
        "steelyard.report.scores:group_chart",
        "steelyard.report.scores:histogram_chart",
        "steelyard.report.history_sections:history_chart",
        "steelyard.report.html:html_report",
        "steelyard.report.markdown:markdown_report",
        "steelyard.report.targets:rate_chart",
        "steelyard.report.scores:score_chart",
        "steelyard.report.chart_svg:svg",
        "steelyard.report.scores:verdict_chart",
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
