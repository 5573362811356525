"""Datasets and scorers made from documents and from runs: question sets, reviews, error analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.analysis.conditions import Condition, parse_condition
    from steelyard.generate.code_trial import TrialPlan, make_scorer, try_code
    from steelyard.generate.qa import QaSettings, generate_qa
    from steelyard.generate.question_set import QaRow, QaSet
    from steelyard.generate.review import ReviewPlan
    from steelyard.generate.reviewer import Reviewer
    from steelyard.generate.writer import QuestionWriter
    from steelyard.people.codings import draw_coding, new_code, write_note
    from steelyard.store.reading.pages import matching_records
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.analysis.conditions:Condition",
        "steelyard.generate.question_set:QaRow",
        "steelyard.generate.question_set:QaSet",
        "steelyard.generate.qa:QaSettings",
        "steelyard.generate.writer:QuestionWriter",
        "steelyard.generate.review:ReviewPlan",
        "steelyard.generate.reviewer:Reviewer",
        "steelyard.generate.code_trial:TrialPlan",
        "steelyard.people.codings:draw_coding",
        "steelyard.generate.qa:generate_qa",
        "steelyard.generate.code_trial:make_scorer",
        "steelyard.store.reading.pages:matching_records",
        "steelyard.people.codings:new_code",
        "steelyard.analysis.conditions:parse_condition",
        "steelyard.generate.code_trial:try_code",
        "steelyard.people.codings:write_note",
    )

__all__ = [
    "Condition",
    "QaRow",
    "QaSet",
    "QaSettings",
    "QuestionWriter",
    "ReviewPlan",
    "Reviewer",
    "TrialPlan",
    "draw_coding",
    "generate_qa",
    "make_scorer",
    "matching_records",
    "new_code",
    "parse_condition",
    "try_code",
    "write_note",
]
