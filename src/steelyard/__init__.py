"""Steelyard evaluates LLM applications: runs them over a dataset, scores the outputs, tests differences.

The names below are those of a first evaluation. Everything else has a public namespace by its kind:
`steelyard.models`, `.targets`, `.scorers`, `.suites`, `.data`, `.generate`, `.sql`, `.tables`, `.replies`, `.stats`,
`.analysis` and `.report`.
Names are imported on first use (see `steelyard.lazy`), so that `import steelyard` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    # Everything that was public here before the namespaces; the stars hand it on to type checkers.
    from steelyard.analysis.comparison.compare_runs import compare
    from steelyard.analysis.preferences.standings import standings as standings
    from steelyard.analysis.preferences.win_rates import preferences
    from steelyard.errors import *  # noqa: F403  # see above
    from steelyard.errors import ConfigError, SteelyardError
    from steelyard.evaluation import Options, Suite
    from steelyard.evaluation.objects import StopWhen as StopWhen
    from steelyard.from_python.evaluate import aevaluate, evaluate
    from steelyard.from_python.runs import Runs
    from steelyard.generate import *  # noqa: F403  # see above
    from steelyard.models import *  # noqa: F403  # see above
    from steelyard.models import Budget, OpenAICompatible, Scripted
    from steelyard.pytest_plugin import assert_no_regression as assert_no_regression
    from steelyard.scorers import *  # noqa: F403  # see above
    from steelyard.scorers import Choice, ExactMatch, Judge
    from steelyard.sql import *  # noqa: F403  # see above
    from steelyard.store import Run, Store
    from steelyard.suites.pairwise.battles import rank
    from steelyard.targets import *  # noqa: F403  # see above
    from steelyard.targets import Baseline, Prompt
    from steelyard.types import *  # noqa: F403  # see above
    from steelyard.types import Label, Output, Record, Reply, Sample, Score, ScoreInfo
    from steelyard.workers.evaluation import aevaluate_suite, evaluate_suite
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.targets:Baseline",
        "steelyard.models:Budget",
        "steelyard.scorers:Choice",
        "steelyard.errors:ConfigError",
        "steelyard.scorers:ExactMatch",
        "steelyard.scorers:Judge",
        "steelyard.types:Label",
        "steelyard.models:OpenAICompatible",
        "steelyard.evaluation:Options",
        "steelyard.types:Output",
        "steelyard.targets:Prompt",
        "steelyard.types:Record",
        "steelyard.types:Reply",
        "steelyard.store:Run",
        "steelyard.from_python.runs:Runs",
        "steelyard.types:Sample",
        "steelyard.types:Score",
        "steelyard.types:ScoreInfo",
        "steelyard.models:Scripted",
        "steelyard.errors:SteelyardError",
        "steelyard.store:Store",
        "steelyard.evaluation:Suite",
        "steelyard.from_python.evaluate:aevaluate",
        "steelyard.workers.evaluation:aevaluate_suite",
        "steelyard.analysis.comparison.compare_runs:compare",
        "steelyard.from_python.evaluate:evaluate",
        "steelyard.workers.evaluation:evaluate_suite",
        "steelyard.suites.pairwise.battles:rank",
        # Names that were public here before the namespaces: they keep working.
        "steelyard.scorers:AnswerRelevancy",
        "steelyard.scorers:ChrF",
        "steelyard.scorers:ClaimFaithfulness",
        "steelyard.scorers:Contains",
        "steelyard.scorers:ContextRelevance",
        "steelyard.scorers:Correctness",
        "steelyard.errors:DataError",
        "steelyard.sql:Database",
        "steelyard.models:Embeddings",
        "steelyard.types:Failure",
        "steelyard.scorers:Faithfulness",
        "steelyard.scorers:GEval",
        "steelyard.scorers:Guideline",
        "steelyard.scorers:HumanPreference",
        "steelyard.scorers:JsonSchema",
        "steelyard.targets:LangChainRunnable",
        "steelyard.scorers:LexicalPreference",
        "steelyard.targets:LlamaIndexEngine",
        "steelyard.errors:ModelError",
        "steelyard.types:Note",
        "steelyard.scorers:NumberMatch",
        "steelyard.targets:Pair",
        "steelyard.scorers:Preference",
        "steelyard.targets:QueryEngine",
        "steelyard.scorers:Regex",
        "steelyard.scorers:Relevance",
        "steelyard.scorers:Retrieval",
        "steelyard.models:Retry",
        "steelyard.scorers:RougeL",
        "steelyard.scorers:Rubric",
        "steelyard.sql:Sandbox",
        "steelyard.errors:RunError",
        "steelyard.errors:ScorerError",
        "steelyard.sql:SqlLimits",
        "steelyard.scorers:SqlResult",
        "steelyard.types:StageInfo",
        "steelyard.evaluation.objects:StopWhen",
        "steelyard.errors:StoreError",
        "steelyard.scorers:TableMetrics",
        "steelyard.errors:TargetError",
        "steelyard.scorers:TokenF1",
        "steelyard.pytest_plugin:assert_no_regression",
        "steelyard.generate:generate_qa",
        "steelyard.analysis.preferences.win_rates:preferences",
        "steelyard.analysis.preferences.standings:standings",
        # The namespaces, so that `steelyard.scorers.ChrF` needs no import of its own.
        "steelyard.analysis",
        "steelyard.data",
        "steelyard.generate",
        "steelyard.models",
        "steelyard.replies",
        "steelyard.report",
        "steelyard.scorers",
        "steelyard.sql",
        "steelyard.stats",
        "steelyard.suites",
        "steelyard.tables",
        "steelyard.targets",
    )

__all__ = [
    "Baseline",
    "Budget",
    "Choice",
    "ConfigError",
    "ExactMatch",
    "Judge",
    "Label",
    "OpenAICompatible",
    "Options",
    "Output",
    "Prompt",
    "Record",
    "Reply",
    "Run",
    "Runs",
    "Sample",
    "Score",
    "ScoreInfo",
    "Scripted",
    "SteelyardError",
    "Store",
    "Suite",
    "aevaluate",
    "aevaluate_suite",
    "compare",
    "evaluate",
    "evaluate_suite",
    "preferences",
    "rank",
]
