# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.analysis.comparison.compare_runs import compare as compare
from steelyard.analysis.comparison.compare_runs import compare_all_pairs as compare_all_pairs
from steelyard.analysis.comparison.comparison_values import Comparison as Comparison
from steelyard.analysis.comparison.history import history_of as history_of
from steelyard.analysis.judges.rater_agreement import agreement as agreement
from steelyard.analysis.judges.rater_findings_values import Agreement as Agreement
from steelyard.analysis.preferences.preferences_values import Preferences as Preferences
from steelyard.analysis.preferences.standings import Standings as Standings
from steelyard.analysis.run_data import RunData as RunData
from steelyard.analysis.summary.run_summary_values import RunSummary as RunSummary
from steelyard.plain_json import json_value as json_value
