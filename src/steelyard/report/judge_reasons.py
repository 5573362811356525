"""The reasons of a judge that compared two answers, with the systems' names for "Answer A" and "Answer B".

A judge sees the two answers as A and B, in the order in which they are shown. In the swapped order its A is the second
system, so a stored reason about "Answer A" would seem to praise the wrong one. The stored text stays as the judge wrote
it; terminal and pages show it with the names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.escaping import cell_text
from steelyard.types import Score

_NOUN: Final = (
    "(?i:(?:the )?(?:answer|response|reply|assistant|candidate|output|system|model|application|solution|version)s?)"
)
_VERB: Final = (
    "is|was|has|had|does|did|gives|gave|provides|provided|says|said|states|names|mentions|explains|contains|includes|"
    "offers|answers|lacks|fails|misses|omits|adds|wins|loses|seems|directly|correctly|clearly|also|only|alone"
)
_BEFORE_CLAUSES: Final = "and but or while whereas that because since so as though if when of in to with for"
_CLAUSE: Final = "|".join(rf"(?<=\b{word} )" for word in _BEFORE_CLAUSES.split())
_START: Final = rf"(?:^|(?<=[.;:,!?(] )|(?<=[.;:,!?(\n])|{_CLAUSE})"
"""Where a clause may begin: "B is right", but not the B of "vitamin B is missing"."""
_LABELS: Final = re.compile(
    rf"\[\[([AB])\]\]"
    rf"|\b{_NOUN} \(?(?<!\w)([AB])\b\)?"
    r"|(?:回答|答案|回复|回应|助手|系统|模型)\s*([AB])(?![A-Za-z])"
    r"|(?<![A-Za-z])([AB])(?=\s*(?:的)?(?:回答|答案|回复|更|比|与|和|较|则))"
    rf"|{_START}([AB])(?=['’]s\b| (?:{_VERB})\b)"
    r"|(?<=\bthan )([AB])\b|(?<=\bover )([AB])\b|(?<=\bprefer )([AB])\b"
    r"|\b([AB])(?= (?:and|or|over|than|to) [AB]\b)|(?<=\b[AB] and )([AB])\b|(?<=\b[AB] or )([AB])\b"
)
"""A single letter is replaced only where it cannot be the article "A" or part of another name."""
_BEGINS: Final = re.compile(r"\A([AB]):")
"""The start of the reason of a measure that compared two answers: the one that it prefers."""
_TIE: Final = "a tie"


def resolved_reason(reason: str, shown: str, sides: Sequence[str]) -> str:
    """A judge's reason with the name of a system where the judge wrote A or B.

    Args:
        reason: as the judge wrote it.
        shown: `AB` where the first side was shown first, else `BA`.
        sides: names of the first and of the second side.

    >>> resolved_reason("Answer A names the capital. A good answer; B does not.", "BA", ("glm", "qwen"))
    'qwen names the capital. A good answer; glm does not.'
    >>> resolved_reason("回答 A 更完整，回答B有错。", "AB", ("glm", "qwen"))
    'glm 更完整，qwen有错。'
    """
    first, second = (sides[1], sides[0]) if shown == "BA" else (sides[0], sides[1])
    names = {"A": first, "B": second}
    return _LABELS.sub(lambda match: names[next(letter for letter in match.groups() if letter)], reason)


def preference_reason(score: Score, sides: Sequence[str]) -> str:
    """Why a side is preferred, in one line with the systems' names; the stored reason where no orders are stored.

    If both orders agree, it is the reason of the first.

    Args:
        score: of a judging run.
        sides: names of the first and of the second side.
    """
    orders = score.detail.get("orders")
    known = [order for order in orders if isinstance(order, Mapping)] if isinstance(orders, list | tuple) else []
    if not known:
        return _BEGINS.sub(lambda match: f"{sides['AB'.index(match[1])]}:", score.reason)
    if score.outcome != "scored":
        failed = next((order for order in known if order.get("outcome") == score.outcome), known[0])
        return _reason_of(failed, sides) or score.reason
    if score.detail.get("label") == "inconsistent":
        return "; ".join(f"{_preferred(order, sides)} {_first_shown(order, sides)}" for order in known)
    where = "in both orders" if len(known) > 1 else _first_shown(known[0], sides)
    reason = _reason_of(known[0], sides)
    return f"{_preferred(known[0], sides)} {where}{f': {reason}' if reason else ''}"


def named_verdict(verdict: str, sides: Sequence[str]) -> str:
    """A verdict about two answers with the system's name for A or B; other verdicts are unchanged.

    >>> named_verdict("B", ("glm", "qwen")), named_verdict("tie", ("glm", "qwen"))
    ('qwen', 'tie')
    """
    return sides["AB".index(verdict)] if verdict in {"A", "B"} else verdict


def _reason_of(order: Mapping[str, Any], sides: Sequence[str]) -> str:
    return resolved_reason(cell_text(order.get("reason")), cell_text(order.get("shown")), sides)


def _preferred(order: Mapping[str, Any], sides: Sequence[str]) -> str:
    verdict = cell_text(order.get("verdict"))
    return {"A": sides[0], "B": sides[1], "tie": _TIE}.get(verdict, verdict or "no majority")


def _first_shown(order: Mapping[str, Any], sides: Sequence[str]) -> str:
    return f"with {sides[1] if order.get('shown') == 'BA' else sides[0]} shown first"
