# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.report.charts.svg import svg as svg
from steelyard.report.coding_page import CodingPage as CodingPage
from steelyard.report.render.html import html_report as html_report
from steelyard.report.render.markdown import markdown_report as markdown_report
from steelyard.report.sample_choice import PageSize as PageSize
from steelyard.report.sections.comparison import difference_chart as difference_chart
from steelyard.report.sections.history import history_chart as history_chart
from steelyard.report.sections.scores import group_chart as group_chart
from steelyard.report.sections.scores import histogram_chart as histogram_chart
from steelyard.report.sections.scores import score_chart as score_chart
from steelyard.report.sections.scores import verdict_chart as verdict_chart
from steelyard.report.sections.targets import rate_chart as rate_chart
