"""Replies that give a verdict under each number: what was read, and why the rest was not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.scorers.judges.summing_up import unless_stopped
from steelyard.text.listed import read_verdict_list
from steelyard.text.rating import Verdict, read_yes_no
from steelyard.types import Reply


def read_numbered(reply: Reply, n: int) -> tuple[Verdict, ...]:
    r"""One verdict for each number from 1 to `n`; what the reply says nothing readable on is unparsed or refused.

    >>> [one.label or one.kind for one in read_numbered(Reply("", "1. YES\n3. NO"), 3)]
    ['yes', 'none', 'no']
    """
    found = read_verdict_list(reply.text, n)
    said = [one if one is not None and (one.value is not None or one.kind == "ambiguous") else None for one in found]
    missing = _missing(reply) if any(said) else unread_reply(reply)
    return tuple(unless_stopped(one or missing, reply) for one in said)


def first_unread(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The first without a value, or None."""
    return next((one for one in verdicts if one.value is None), None)


def together_read(verdicts: Sequence[Verdict], value: float) -> Verdict:
    """The verdicts under all numbers as one: `value` where every one was read, else as the first that was not."""
    reason = "; ".join(_told(no, one) for no, one in enumerate(verdicts, start=1))
    unread = first_unread(verdicts)
    if unread is not None:
        some = any(one.value is not None for one in verdicts)
        return Verdict(unread.outcome, kind=unread.kind, reason=reason if some else unread.reason)
    return Verdict("scored", value, form="numbered", reason=reason)


def _told(number: int, verdict: Verdict) -> str:
    said = verdict.label or verdict.kind or verdict.outcome
    return f"{number}. {said}: {verdict.reason}" if verdict.reason and verdict.label else f"{number}. {said}"


def unread_reply(reply: Reply) -> Verdict:
    """Why a reply holds nothing that can be read: refused, empty, truncated or none."""
    whole = unless_stopped(read_yes_no(reply.text, finish=reply.finish), reply)
    if whole.outcome == "refused" or whole.kind in {"empty", "truncated"}:
        return whole
    return Verdict("unparsed", kind="none", reason=reply.text.strip())


def _missing(reply: Reply) -> Verdict:
    """Why one number of several has no verdict."""
    return Verdict("unparsed", kind="truncated" if reply.finish == "length" else "none")
