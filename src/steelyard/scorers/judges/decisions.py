"""The questions that a judge asks an endpoint of decisions, and the verdict in its answers.

The prompt of the judge is the input of the question as it stands, so the same material is judged by the same rules as
in free text. The answers become the text that the judge's reader reads in every form, so a verdict is read in one way;
the probabilities are its reason and stand in the score's detail.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-decision-endpoints.md

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.models.decisions import DECISIONS
from steelyard.plain_json import parsed_or
from steelyard.replies.judge_reply import Scale
from steelyard.types import Reply

PROBABILITIES: Final = "decided"
"""Key of the metadata of a judge's reply: verdict -> its probability."""
_MOST_LEVELS: Final = 10
"""Of a score, as vLLM and SGLang take them."""
_MOST_NUMBERED: Final = 200
"""Questions of one call; endpoints refuse more, and a list of text has no such limit."""
_LEAST: Final = 0.5
"""The least probability that our verdicts have together in an answer that is read."""
_TIE: Final = "C"
_BY_THE_RULES: Final = "by the instructions in the input"


def yes_no_question() -> dict[str, Any]:
    """Request parameters that ask for the probability of YES."""
    return {DECISIONS: [_predicate("verdict", f"Judged {_BY_THE_RULES}, the verdict is YES.")]}


def numbered_questions(count: int) -> dict[str, Any]:
    """Request parameters that ask for the probability of YES under each number from 1 to `count`; empty above 200."""
    if not 0 < count <= _MOST_NUMBERED:
        return {}
    texts = {no: f"Judged {_BY_THE_RULES}, the verdict on number {no} is YES." for no in range(1, count + 1)}
    return {DECISIONS: [_predicate(str(no), text) for no, text in texts.items()]}


def preference_question() -> dict[str, Any]:
    """Request parameters that ask which of A and B is better, or C for neither."""
    return _choice("preference", ("A", "B", "C"), f"Which verdict is right {_BY_THE_RULES}: A, B, or C for neither?")


def rating_question(scale: Scale | None, levels: Sequence[float] | None = None) -> dict[str, Any]:
    """Request parameters that ask for a rating; empty for a scale that has not 2 to 10 whole numbers.

    Args:
        scale: its ends; the rating is the mean of its whole numbers, weighted by their probabilities.
        levels: the only values that may be given, of which the most probable one counts; None: any of the scale.
    """
    asked = f"Which rating is right {_BY_THE_RULES}?"
    if levels is not None:
        return _choice("rating", [f"{level:g}" for level in levels], asked) if len(levels) > 1 else {}
    if scale is None or scale.low % 1 or scale.high % 1 or scale.high - scale.low >= _MOST_LEVELS:
        return {}
    labels = [{"label": str(value)} for value in range(int(scale.low), int(scale.high) + 1)]
    return {DECISIONS: [{"type": "score", "name": "rating", "instructions": asked, "levels": labels}]}


def _predicate(name: str, text: str) -> dict[str, Any]:
    return {"type": "predicate", "name": name, "instructions": text}


def _choice(name: str, values: Sequence[str], text: str) -> dict[str, Any]:
    choices = [{"value": value} for value in values]
    return {DECISIONS: [{"type": "choice", "name": name, "instructions": text, "choices": choices}]}


def as_verdict(reply: Reply, questions: Sequence[Mapping[str, Any]]) -> Reply:
    """The reply with its verdict as the text that readers of JSON read; one that holds no decisions stays as it is.

    A verdict is YES from more than half of the probability on.

    >>> asked = yes_no_question()[DECISIONS]
    >>> as_verdict(Reply("", '[{"type": "predicate", "name": "verdict", "probability": 0.75}]'), asked).text
    '{"reason": "YES 0.75, NO 0.25", "verdict": "YES"}'
    """
    answers = _answers(reply.text)
    if answers is None or len(answers) != len(questions):
        return reply
    read = [_read(question, answer) for question, answer in zip(questions, _in_order(questions, answers), strict=True)]
    if len(questions) > 1 or questions[0]["name"].isdigit():
        entries = [
            {"number": int(question["name"]), "reason": _worded(shares), "verdict": verdict}
            for question, (verdict, shares) in zip(questions, read, strict=True)
            if shares
        ]
        return replace(reply, text=json.dumps({"verdicts": entries}))
    verdict, shares = read[0]
    if not shares:
        return reply
    value = {"reason": _worded(shares), questions[0]["name"]: verdict}
    return replace(reply, text=json.dumps(value), metadata={**reply.metadata, PROBABILITIES: shares})


def _answers(text: str) -> list[Mapping[str, Any]] | None:
    """The answers in the text of a reply of `models.decisions`."""
    value = parsed_or(text)
    return value if isinstance(value, list) and all(isinstance(answer, Mapping) for answer in value) else None


def _in_order(
    questions: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """The answers by the names of their questions; by their order where they have none."""
    named = {answer.get("name"): answer for answer in answers}
    names = [question["name"] for question in questions]
    return [named[name] for name in names] if {*names} == {*named} else answers


def _read(question: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[str | float, dict[str, float]]:
    """The verdict, and the probability of each; none of either in an answer that is a refusal or of another kind.

    Nor in one that gives our verdicts less than half of the probability: what is most probable among them then says
    nothing of what the model would answer.
    """
    if answer.get("type") != question["type"] or answer.get("label_mass", 1.0) < _LEAST:
        return "", {}
    if question["type"] == "predicate":
        yes = answer["probability"]
        return ("YES" if yes > 0.5 else "NO"), {"YES": yes, "NO": 1 - yes}
    if question["type"] == "choice":
        by_value: Mapping[str, float] = answer["probabilities"]
        shares = {choice["value"]: by_value.get(choice["value"], 0.0) for choice in question["choices"]}
        best = [value for value, share in shares.items() if share == max(shares.values())]
        verdict: str | float = float(best[0]) if question["name"] == "rating" else best[0] if len(best) == 1 else _TIE
        return (verdict, shares) if sum(shares.values()) >= _LEAST else ("", {})
    shares = _shares_of_levels([level["label"] for level in question["levels"]], answer)
    if (total := sum(shares.values())) < _LEAST:
        return "", {}
    return round(sum(float(label) * share for label, share in shares.items()) / total, 4), shares


def _shares_of_levels(levels: Sequence[str], answer: Mapping[str, Any]) -> dict[str, float]:
    """The probability of each level: by its label where the answer has our labels, else by its place."""
    by_value: Mapping[str, float] = answer["probabilities"]
    labels: Mapping[str, str] = answer.get("labels", {})
    if labels and {*labels.values()} <= {*levels}:
        by_label = {label: by_value[value] for value, label in labels.items()}
        return {level: by_label.get(level, 0.0) for level in levels}
    return {level: by_value.get(str(at), 0.0) for at, level in enumerate(levels)}


def _worded(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{verdict} {share:.3g}" for verdict, share in shares.items())
