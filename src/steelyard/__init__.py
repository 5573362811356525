"""Steelyard weighs LLM applications: runs them over a dataset, scores them, and says whether a difference is real.

Public names are imported on first use (PEP 562), so that `import steelyard` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steelyard.compare import compare
    from steelyard.compare.preferences import preferences
    from steelyard.compare.standings import standings
    from steelyard.errors import (
        ConfigError,
        DataError,
        ModelError,
        ScorerError,
        SteelyardError,
        StoreError,
        TargetError,
    )
    from steelyard.generate.qa import generate_qa
    from steelyard.models.budget import Budget
    from steelyard.models.embeddings import Embeddings
    from steelyard.models.limits import Retry
    from steelyard.models.openai_compatible import OpenAICompatible
    from steelyard.models.scripted import Scripted
    from steelyard.pytest_plugin import assert_no_regression
    from steelyard.scorers.choice import Choice
    from steelyard.scorers.judges.answer_relevancy import AnswerRelevancy
    from steelyard.scorers.judges.claims import ClaimFaithfulness
    from steelyard.scorers.judges.context_relevance import ContextRelevance
    from steelyard.scorers.judges.correctness import Correctness
    from steelyard.scorers.judges.faithfulness import Faithfulness
    from steelyard.scorers.judges.g_eval import GEval
    from steelyard.scorers.judges.guideline import Guideline
    from steelyard.scorers.judges.judge import Judge
    from steelyard.scorers.judges.preference import Preference
    from steelyard.scorers.judges.relevance import Relevance
    from steelyard.scorers.judges.rubric import Rubric
    from steelyard.scorers.lexical import ChrF, Contains, RougeL, TokenF1
    from steelyard.scorers.lexical_numbers import NumberMatch
    from steelyard.scorers.lexical_patterns import Regex
    from steelyard.scorers.lexical_schema import JsonSchema
    from steelyard.scorers.match import ExactMatch
    from steelyard.scorers.preference_lexical import LexicalPreference
    from steelyard.scorers.preference_people import HumanPreference
    from steelyard.scorers.retrieval import Retrieval
    from steelyard.scorers.sql import SqlResult
    from steelyard.scorers.tables import TableMetrics
    from steelyard.sql.results import Database, SqlLimits
    from steelyard.sql.sandbox import Sandbox
    from steelyard.store import Run, Store
    from steelyard.suite import Options, Suite, aevaluate, aevaluate_suite, evaluate, evaluate_suite
    from steelyard.suite.objects import StopWhen
    from steelyard.targets.baseline import Baseline
    from steelyard.targets.langchain import LangChainRunnable
    from steelyard.targets.llama_index import LlamaIndexEngine
    from steelyard.targets.pair import Pair
    from steelyard.targets.prompt import Prompt
    from steelyard.targets.retrieval import QueryEngine
    from steelyard.types import Failure, Label, Note, Output, Record, Reply, Sample, Score

_HOME = {
    "AnswerRelevancy": "scorers.judges.answer_relevancy",
    "Baseline": "targets.baseline",
    "Budget": "models.budget",
    "Choice": "scorers.choice",
    "ChrF": "scorers.lexical",
    "ClaimFaithfulness": "scorers.judges.claims",
    "ConfigError": "errors",
    "Contains": "scorers.lexical",
    "ContextRelevance": "scorers.judges.context_relevance",
    "Correctness": "scorers.judges.correctness",
    "DataError": "errors",
    "Database": "sql.results",
    "Embeddings": "models.embeddings",
    "ExactMatch": "scorers.match",
    "Failure": "types",
    "Faithfulness": "scorers.judges.faithfulness",
    "GEval": "scorers.judges.g_eval",
    "Guideline": "scorers.judges.guideline",
    "HumanPreference": "scorers.preference_people",
    "JsonSchema": "scorers.lexical_schema",
    "Judge": "scorers.judges.judge",
    "Label": "types",
    "LangChainRunnable": "targets.langchain",
    "LexicalPreference": "scorers.preference_lexical",
    "LlamaIndexEngine": "targets.llama_index",
    "ModelError": "errors",
    "Note": "types",
    "NumberMatch": "scorers.lexical_numbers",
    "OpenAICompatible": "models.openai_compatible",
    "Options": "suite",
    "Output": "types",
    "Pair": "targets.pair",
    "Preference": "scorers.judges.preference",
    "Prompt": "targets.prompt",
    "QueryEngine": "targets.retrieval",
    "Record": "types",
    "Regex": "scorers.lexical_patterns",
    "Relevance": "scorers.judges.relevance",
    "Reply": "types",
    "Retrieval": "scorers.retrieval",
    "Retry": "models.limits",
    "RougeL": "scorers.lexical",
    "Rubric": "scorers.judges.rubric",
    "Run": "store",
    "Sample": "types",
    "Sandbox": "sql.sandbox",
    "Score": "types",
    "ScorerError": "errors",
    "Scripted": "models.scripted",
    "SqlLimits": "sql.results",
    "SqlResult": "scorers.sql",
    "SteelyardError": "errors",
    "StopWhen": "suite.objects",
    "Store": "store",
    "StoreError": "errors",
    "Suite": "suite",
    "TableMetrics": "scorers.tables",
    "TargetError": "errors",
    "TokenF1": "scorers.lexical",
    "aevaluate": "suite",
    "aevaluate_suite": "suite",
    "assert_no_regression": "pytest_plugin",
    "compare": "compare",
    "evaluate": "suite",
    "evaluate_suite": "suite",
    "generate_qa": "generate.qa",
    "preferences": "compare.preferences",
    "standings": "compare.standings",
}

__all__ = [
    "AnswerRelevancy",
    "Baseline",
    "Budget",
    "Choice",
    "ChrF",
    "ClaimFaithfulness",
    "ConfigError",
    "Contains",
    "ContextRelevance",
    "Correctness",
    "DataError",
    "Database",
    "Embeddings",
    "ExactMatch",
    "Failure",
    "Faithfulness",
    "GEval",
    "Guideline",
    "HumanPreference",
    "JsonSchema",
    "Judge",
    "Label",
    "LangChainRunnable",
    "LexicalPreference",
    "LlamaIndexEngine",
    "ModelError",
    "Note",
    "NumberMatch",
    "OpenAICompatible",
    "Options",
    "Output",
    "Pair",
    "Preference",
    "Prompt",
    "QueryEngine",
    "Record",
    "Regex",
    "Relevance",
    "Reply",
    "Retrieval",
    "Retry",
    "RougeL",
    "Rubric",
    "Run",
    "Sample",
    "Sandbox",
    "Score",
    "ScorerError",
    "Scripted",
    "SqlLimits",
    "SqlResult",
    "SteelyardError",
    "StopWhen",
    "Store",
    "StoreError",
    "Suite",
    "TableMetrics",
    "TargetError",
    "TokenF1",
    "aevaluate",
    "aevaluate_suite",
    "assert_no_regression",
    "compare",
    "evaluate",
    "evaluate_suite",
    "generate_qa",
    "preferences",
    "standings",
]


def __getattr__(name: str) -> Any:
    import gc
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    # Loading modules makes many objects and no garbage: looking for some takes a sixth of the import's CPU.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    finally:
        if collecting:
            gc.enable()


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
