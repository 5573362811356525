"""Datasets made from documents and from runs: question sets, reviews, conditions on records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.analysis.conditions import Condition, parse_condition
    from steelyard.generate.code_proposals import ProposalPlan, ask_for_codes
    from steelyard.generate.code_trial import TrialPlan, try_code
    from steelyard.generate.qa import QaSettings, generate_qa
    from steelyard.generate.question_set import QaRow, QaSet
    from steelyard.generate.review import ReviewPlan
    from steelyard.generate.reviewer import Reviewer
    from steelyard.generate.writer import QuestionWriter
    from steelyard.store.pages import matching_records
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.analysis.conditions:Condition",
        "steelyard.generate.code_proposals:ProposalPlan",
        "steelyard.generate.code_proposals:ask_for_codes",
        "steelyard.generate.code_trial:TrialPlan",
        "steelyard.generate.code_trial:try_code",
        "steelyard.generate.question_set:QaRow",
        "steelyard.generate.question_set:QaSet",
        "steelyard.generate.qa:QaSettings",
        "steelyard.generate.writer:QuestionWriter",
        "steelyard.generate.review:ReviewPlan",
        "steelyard.generate.reviewer:Reviewer",
        "steelyard.generate.qa:generate_qa",
        "steelyard.store.pages:matching_records",
        "steelyard.analysis.conditions:parse_condition",
    )

__all__ = [
    "Condition",
    "ProposalPlan",
    "QaRow",
    "QaSet",
    "QaSettings",
    "QuestionWriter",
    "ReviewPlan",
    "Reviewer",
    "TrialPlan",
    "ask_for_codes",
    "generate_qa",
    "matching_records",
    "parse_condition",
    "try_code",
]
