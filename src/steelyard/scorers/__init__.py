"""Scorers turn a sample and an output into scores: by rules, by execution, or by asking a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.scorers.agents import AgentSteps, ForbiddenTools, ToolCalls
    from steelyard.scorers.call_checks import CostLimit, ExpectedFinish, ExpectedRefusal, LatencyLimit
    from steelyard.scorers.choice import Choice, LikelihoodAccuracy
    from steelyard.scorers.combined import AllOf, AnyOf, Not
    from steelyard.scorers.formats import JsonSchema, Regex
    from steelyard.scorers.human_preference import HumanPreference
    from steelyard.scorers.json_fields import JsonFields
    from steelyard.scorers.judges.agents import GoalReached, PlanFollowed, StepsJustified
    from steelyard.scorers.judges.correctness import Correctness
    from steelyard.scorers.judges.criteria import Guideline, Rubric
    from steelyard.scorers.judges.error_code import ErrorJudge, ErrorPattern
    from steelyard.scorers.judges.faithfulness import ClaimFaithfulness, Faithfulness
    from steelyard.scorers.judges.g_eval import GEval
    from steelyard.scorers.judges.judge import Judge
    from steelyard.scorers.judges.preference import Preference
    from steelyard.scorers.judges.relevance import AnswerRelevancy, ContextRelevance, Relevance
    from steelyard.scorers.label import LabelMatch
    from steelyard.scorers.lexical import ChrF, Contains, ExactMatch, RougeL, TokenF1
    from steelyard.scorers.numbers import NumberMatch
    from steelyard.scorers.own_code import Command, ScorerFunction
    from steelyard.scorers.per_turn import PerTurn
    from steelyard.scorers.preference import LexicalPreference
    from steelyard.scorers.python_test import PythonTest
    from steelyard.scorers.retrieval import Retrieval
    from steelyard.scorers.row_checks import Checks
    from steelyard.scorers.similarity import Similarity
    from steelyard.scorers.sql import SqlResult
    from steelyard.scorers.sql_credit import SqlCredit, SqlSpeed
    from steelyard.scorers.tables import TableMetrics
    from steelyard.scorers.text_checks import Length, Levenshtein, RougeN, StartsWith
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.scorers.text_checks:Length",
        "steelyard.scorers.text_checks:StartsWith",
        "steelyard.scorers.text_checks:Levenshtein",
        "steelyard.scorers.text_checks:RougeN",
        "steelyard.scorers.call_checks:LatencyLimit",
        "steelyard.scorers.call_checks:CostLimit",
        "steelyard.scorers.call_checks:ExpectedFinish",
        "steelyard.scorers.call_checks:ExpectedRefusal",
        "steelyard.scorers.similarity:Similarity",
        "steelyard.scorers.own_code:ScorerFunction",
        "steelyard.scorers.own_code:Command",
        "steelyard.scorers.python_test:PythonTest",
        "steelyard.scorers.json_fields:JsonFields",
        "steelyard.scorers.combined:AllOf",
        "steelyard.scorers.combined:AnyOf",
        "steelyard.scorers.combined:Not",
        "steelyard.scorers.agents:AgentSteps",
        "steelyard.scorers.agents:ForbiddenTools",
        "steelyard.scorers.agents:ToolCalls",
        "steelyard.scorers.judges.agents:GoalReached",
        "steelyard.scorers.per_turn:PerTurn",
        "steelyard.scorers.judges.agents:PlanFollowed",
        "steelyard.scorers.judges.agents:StepsJustified",
        "steelyard.scorers.judges.error_code:ErrorJudge",
        "steelyard.scorers.judges.error_code:ErrorPattern",
        "steelyard.scorers.judges.relevance:AnswerRelevancy",
        "steelyard.scorers.row_checks:Checks",
        "steelyard.scorers.choice:Choice",
        "steelyard.scorers.lexical:ChrF",
        "steelyard.scorers.judges.faithfulness:ClaimFaithfulness",
        "steelyard.scorers.lexical:Contains",
        "steelyard.scorers.judges.relevance:ContextRelevance",
        "steelyard.scorers.judges.correctness:Correctness",
        "steelyard.scorers.lexical:ExactMatch",
        "steelyard.scorers.judges.faithfulness:Faithfulness",
        "steelyard.scorers.judges.g_eval:GEval",
        "steelyard.scorers.judges.criteria:Guideline",
        "steelyard.scorers.human_preference:HumanPreference",
        "steelyard.scorers.formats:JsonSchema",
        "steelyard.scorers.judges.judge:Judge",
        "steelyard.scorers.label:LabelMatch",
        "steelyard.scorers.preference:LexicalPreference",
        "steelyard.scorers.choice:LikelihoodAccuracy",
        "steelyard.scorers.numbers:NumberMatch",
        "steelyard.scorers.judges.preference:Preference",
        "steelyard.scorers.formats:Regex",
        "steelyard.scorers.judges.relevance:Relevance",
        "steelyard.scorers.retrieval:Retrieval",
        "steelyard.scorers.lexical:RougeL",
        "steelyard.scorers.judges.criteria:Rubric",
        "steelyard.scorers.sql:SqlResult",
        "steelyard.scorers.sql_credit:SqlCredit",
        "steelyard.scorers.sql_credit:SqlSpeed",
        "steelyard.scorers.tables:TableMetrics",
        "steelyard.scorers.lexical:TokenF1",
    )

__all__ = [
    "AgentSteps",
    "AllOf",
    "AnswerRelevancy",
    "AnyOf",
    "Checks",
    "Choice",
    "ChrF",
    "ClaimFaithfulness",
    "Command",
    "Contains",
    "ContextRelevance",
    "Correctness",
    "CostLimit",
    "ErrorJudge",
    "ErrorPattern",
    "ExactMatch",
    "ExpectedFinish",
    "ExpectedRefusal",
    "Faithfulness",
    "ForbiddenTools",
    "GEval",
    "GoalReached",
    "Guideline",
    "HumanPreference",
    "JsonFields",
    "JsonSchema",
    "Judge",
    "LabelMatch",
    "LatencyLimit",
    "Length",
    "Levenshtein",
    "LexicalPreference",
    "LikelihoodAccuracy",
    "Not",
    "NumberMatch",
    "PerTurn",
    "PlanFollowed",
    "Preference",
    "PythonTest",
    "Regex",
    "Relevance",
    "Retrieval",
    "RougeL",
    "RougeN",
    "Rubric",
    "ScorerFunction",
    "Similarity",
    "SqlCredit",
    "SqlResult",
    "SqlSpeed",
    "StartsWith",
    "StepsJustified",
    "TableMetrics",
    "TokenF1",
    "ToolCalls",
]
