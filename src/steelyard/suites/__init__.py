"""The kinds of evaluation. Each class describes one and builds a `Suite`; each function loads its dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.suites.choice.rows import load_choice
    from steelyard.suites.choice.suite import ChoiceSuite
    from steelyard.suites.general.rows import load_general
    from steelyard.suites.general.suite import GeneralSuite
    from steelyard.suites.pairwise.rows import load_pairwise
    from steelyard.suites.pairwise.suite import PairwiseSuite
    from steelyard.suites.rag.rows import load_rag
    from steelyard.suites.rag.suite import RagSuite
    from steelyard.suites.tables.rows import load_tables
    from steelyard.suites.tables.suite import TablesSuite
    from steelyard.suites.text2sql.rows import load_text2sql
    from steelyard.suites.text2sql.suite import Text2SqlSuite
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.suites.choice.suite:ChoiceSuite",
        "steelyard.suites.general.suite:GeneralSuite",
        "steelyard.suites.pairwise.suite:PairwiseSuite",
        "steelyard.suites.rag.suite:RagSuite",
        "steelyard.suites.tables.suite:TablesSuite",
        "steelyard.suites.text2sql.suite:Text2SqlSuite",
        "steelyard.suites.choice.rows:load_choice",
        "steelyard.suites.general.rows:load_general",
        "steelyard.suites.pairwise.rows:load_pairwise",
        "steelyard.suites.rag.rows:load_rag",
        "steelyard.suites.tables.rows:load_tables",
        "steelyard.suites.text2sql.rows:load_text2sql",
    )

__all__ = [
    "ChoiceSuite",
    "GeneralSuite",
    "PairwiseSuite",
    "RagSuite",
    "TablesSuite",
    "Text2SqlSuite",
    "load_choice",
    "load_general",
    "load_pairwise",
    "load_rag",
    "load_tables",
    "load_text2sql",
]
