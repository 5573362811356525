"""The reasons of a judge that compared two answers, with the systems' names for "Answer A" and "Answer B".

A judge sees the two answers as A and B, in the order in which they are shown. In the swapped order its A is the second
system, so a stored reason about "Answer A" would seem to praise the wrong one. The stored text stays as the judge wrote
it; terminal and pages show it with the names.

The columns of judged pairs in a page's table of samples are made here too: texts of the page's list of words, which the
page's script shows as text nodes only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from steelyard.analysis.judging_manifest import OF_ANSWERS, SIDES
from steelyard.analysis.numbers import kind_text
from steelyard.escaping import cell_text
from steelyard.report.run_texts import outcome_word
from steelyard.types import Record, Score

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


SHOWN_ELSEWHERE: Final = frozenset({"label", "orders", "side", "why", "by", "columns", *OF_ANSWERS})
"""Keys of a preference's detail that have columns of their own, which the page does not list again."""


WordIndex = Callable[[str], int]
"""Gives the index of a text in the page's words."""


def pair_of(record: Record, score: Score | None, index: WordIndex, names: Sequence[str]) -> list[Any]:
    """The column `pair` of one record: both answers, the verdict of each order, whether the answers are equal.

    Args:
        record: of a judging run.
        score: the preference; None where the record failed.
        index: gives a text's index among the page's words.
        names: of the two sides, for the judge's reasons.

    Returns an empty list for an output that is not a pair of answers.
    """
    output = record.output
    if output is None or not isinstance(output.value, Mapping) or not set(SIDES) <= output.value.keys():
        return []
    about = [output.metadata.get(side) for side in SIDES]
    sides = [_side(output.value[side], entry, index) for side, entry in zip(SIDES, about, strict=True)]
    detail = score.detail if score else {}
    orders = detail.get("orders")
    listed = (
        [_order(entry, index, names) for entry in orders if isinstance(entry, Mapping)]
        if isinstance(orders, list)
        else []
    )
    return [*sides, listed, int(bool(detail.get("alike")))]


def _side(answer: Any, about: Any, index: WordIndex) -> list[int]:
    """Word indices of the answer (-1 where there is none), of its failure, and of how the reply ended."""
    details = about if isinstance(about, Mapping) else {}
    finish = cell_text(details.get("finish"))
    text = -1 if answer is None else index(cell_text(answer))
    return [text, index(cell_text(details.get("failure"))), index("" if finish == "stop" else finish)]


def _order(order: Mapping[str, Any], index: WordIndex, names: Sequence[str]) -> list[int]:
    """Whether A was shown first (1, 0), the verdict, why it is unparsed, the reason with names."""
    outcome = cell_text(order.get("outcome") or "scored")
    kind = cell_text(order.get("kind"))
    unparsed = "" if outcome == "scored" else outcome_word(outcome) + (f" ({kind_text(kind)})" if kind else "")
    shown_first = int(cell_text(order.get("shown")) != "BA")
    reason = resolved_reason(cell_text(order.get("reason")), "AB" if shown_first else "BA", names)
    return [shown_first, index(cell_text(order.get("verdict"))), index(unparsed), index(reason)]


def preference_text(score: Score, sides: Sequence[str]) -> str:
    """The preferred side by its target's name, or why there is none; "" where the outcome is enough."""
    detail = score.detail
    if score.outcome == "not_applicable":
        side = cell_text(detail.get("side"))
        return f"no answer of {named_verdict(side, sides)}" if side else ""
    if score.outcome != "scored":
        return kind_text(cell_text(detail.get("kind"))) if detail.get("kind") else ""
    return named_verdict(cell_text(detail.get("label")), sides)
