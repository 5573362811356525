"""Texts for p-values, levels, counts and names, the same in analysis and reports."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from steelyard.escaping import visible

_MISSING: Final = "–"
_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "mrr": "MRR",
        "result": "Result correct",
        "token_f1": "Token F1",
        "ndcg": "nDCG",
        "rouge_l": "ROUGE-L",
        "ex_bird": "Execution accuracy (BIRD)",
        "ex_qatch": "Execution accuracy (QATCH)",
        "ex_spider": "Execution accuracy (Spider)",
        "ex_spider_keep_distinct": "Execution accuracy (Spider, keep distinct)",
    }
)
"""Scores whose usual spelling is not their name with spaces in place of underscores."""


def p_text(p: float | None) -> str:
    """A p-value as a number with two significant digits, never in percent; a bound only where it underflows to 0.

    >>> p_text(0.0312), p_text(3.1e-09), p_text(1.0), p_text(0.0), p_text(None)
    ('0.031', '3.1e-09', '1', '< 1e-300', '–')
    """
    if p is None:
        return _MISSING
    return f"{p:.2g}" if p else "< 1e-300"


def p_equals(p: float | None) -> str:
    """A p-value with its relation sign, for sentences.

    >>> p_equals(0.0312), p_equals(0.0)
    ('p = 0.031', 'p < 1e-300')
    """
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def level_text(level: float) -> str:
    """A confidence level in percent.

    >>> level_text(0.95), level_text(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:g} %"


def count_text(n: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1.

    >>> count_text(1, "pair"), count_text(1200, "verdict"), count_text(2, "reply")
    ('1 pair', '1,200 verdicts', '2 replies')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def score_title(name: str) -> str:
    """A score's name as a heading.

    >>> score_title("solve_rate"), score_title("ndcg")
    ('Solve rate', 'nDCG')
    """
    if not name:
        return "Score"
    return _NAMES.get(name) or visible(name.replace("_", " ").capitalize(), keep="")


def score_phrase(name: str) -> str:
    """A score's name within a sentence.

    >>> score_phrase("solve_rate"), score_phrase("ndcg"), score_phrase("ex_bird"), score_phrase("token_f1")
    ('solve rate', 'nDCG', 'execution accuracy (BIRD)', 'token F1')
    """
    title = score_title(name)
    is_acronym = name in _NAMES and any(letter.isupper() for letter in title.split()[0][1:])
    return title if is_acronym else title[0].lower() + title[1:]
