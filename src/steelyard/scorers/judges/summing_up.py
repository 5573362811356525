"""Verdicts of one judge on one output -> its score: the value, what was read and how sure that is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, Final

from steelyard.session.answers import STOPPED, answer_of, refused_before
from steelyard.text.rating import Verdict
from steelyard.text.verdict_like import verdict_like
from steelyard.types import Output, Reply, Sample, Score

_LONGEST_REASON: Final = 2000


def contexts_of(sample: Sample, output: Output) -> tuple[str, ...]:
    """The passages that an answer was made from: what the target retrieved, else what came with the question."""
    return tuple(output.contexts or sample.contexts)


def reference_of(sample: Sample, *, between: str = "\nOR\n") -> str:
    r"""The expected answer as a text; "" where there is none.

    Args:
        sample: a list as its reference holds alternatives; any other value that is no text is shown as JSON.
        between: what parts alternatives.

    >>> reference_of(Sample("1", "Largest?", ["Jupiter", " ", "the fifth planet"])), reference_of(Sample("2", "?", 4))
    ('Jupiter\nOR\nthe fifth planet', '4')
    """
    wanted = sample.reference
    several = wanted if isinstance(wanted, list | tuple) else (wanted,)
    texts = ("" if one is None else one if isinstance(one, str) else _as_json(one) for one in several)
    return between.join(text for text in texts if text.strip())


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def unless_stopped(verdict: Verdict, reply: Reply) -> Verdict:
    """`verdict`; refused where the endpoint stopped the judge before one was read.

    Words that come as a refusal hold no verdict, whatever numbers are among them. Those before a filter may.
    """
    if reply.finish == "refusal" or (verdict.value is None and reply.finish in STOPPED):
        return Verdict("refused", reason=reply.text.strip())
    return verdict


def no_answer(name: str) -> Score:
    """The target refused, or its reply was stopped: there is nothing to judge."""
    return Score(name, None, outcome="refused", reason="the target gave no answer: it refused or was stopped")


def not_applicable(name: str, reason: str) -> Score:
    """The question does not apply."""
    return Score(name, None, outcome="not_applicable", reason=reason)


def nothing_to_support(name: str, output: Output, contexts: Sequence[object]) -> Score | None:
    """The score where nobody need be asked whether contexts support an answer; None where a judge has to look."""
    if refused_before(output):
        return no_answer(name)
    if not contexts:
        return not_applicable(name, "there are no contexts")
    return None if answer_of(output).strip() else not_applicable(name, "nothing claimed: the answer is blank")


def score_of(
    name: str,
    verdicts: Sequence[Verdict],
    *,
    candidate: str,
    passes: Callable[[float], bool] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Score:
    """The score that the verdicts of all repeats make.

    The value is the mean of those that were read. Where none was, the score is `refused` when every one was refused,
    else `unparsed` with the kind of the first unreadable one: never a number.

    Args:
        name: the score's.
        verdicts: one per repeat.
        candidate: the text that was judged; one that holds what looks like a verdict is flagged.
        passes: whether a value is good enough; None where there is no threshold.
        detail: more to keep.
    """
    told: dict[str, Any] = {"how": "single" if len(verdicts) == 1 else f"mean of {len(verdicts)} repeats"}
    told |= detail or {}
    if len(verdicts) > 1:
        told["repeats"] = [one.value for one in verdicts]
    if like := verdict_like(candidate):
        told["verdict_like"] = like[:200]
    read = [one for one in verdicts if one.value is not None]
    first = (read or [one for one in verdicts if one.outcome == "unparsed"] or list(verdicts))[0]
    reason = " ".join(first.reason.split())[:_LONGEST_REASON]
    told["columns"] = {f"{name}_reason": reason, **told.get("columns", {})}
    if not read:
        return _unread(name, first, reason, told)
    values = [one.value for one in read if one.value is not None]
    value = fmean(values)
    if len(values) > 1:
        said = Counter(map(passes, values) if passes else values)
        told |= {"sd": stdev(values), "flip_rate": 1 - max(said.values()) / len(values)}
    told["form"] = first.form
    return Score(name, value, passed=passes(value) if passes else None, reason=reason, detail=told)


def _unread(name: str, verdict: Verdict, reason: str, told: Mapping[str, Any]) -> Score:
    if verdict.outcome == "refused":
        return Score(name, None, outcome="refused", reason=reason or "the judge refused", detail=told)
    kind = verdict.kind or "none"
    return Score(name, None, outcome="unparsed", reason=reason, detail={**told, "kind": kind})
