"""Expected answers that choose among a few labels, and the one label that a reply gives.

An answer that names several labels, or hedges, is none: "Yes and no." is not "yes".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from steelyard.replies.label import plain_label, read_label

_FEWEST, _MOST, _LONGEST, _ROWS_EACH = 2, 20, 40, 3
_BESIDE: Final = 32
"""Characters that may stand beside each label of a list, and in front of the first."""
_END: Final = 20_000
"""Characters at the end of a reply in which a hedge is looked for."""
_SEPARATORS: Final = re.compile(r"\s{0,3}(?:[,;/|+&、，；\n]|\band\b|\bor\b|和|或|与)\s{0,3}", re.IGNORECASE)
_LEAD: Final = re.compile(r"\A[^:=\n]{1,30}[:=]\s{0,3}")
_NUMBER: Final = re.compile(r"\A\s{0,3}(?:\d{1,2}[.)]|[-•])\s{1,3}")
"""In front of an entry of a list."""
_ALSO: Final = re.compile(
    r"\b(?:could|might|may|can)\s(?:also|equally|just as well|as well)\s(?:be|fit|count|go)|也可能是|也可以是",
    re.IGNORECASE,
)


def closed_set(references: Iterable[Any]) -> tuple[str, ...]:
    """The labels among which expected outputs choose, in order of first appearance; empty where they are free texts.

    They are 2 to 20 different texts of 40 characters at most, each expected three times or more.

    >>> closed_set(["yes", "no"] * 3), closed_set(["Paris", "Rome"])
    (('yes', 'no'), ())
    """
    counts: Counter[str] = Counter()
    for reference in references:
        if not isinstance(reference, str) or not reference.strip() or len(reference) > _LONGEST:
            return ()
        counts[reference.strip()] += 1
    few = _FEWEST <= len(counts) <= _MOST and len(set(map(plain_label, counts))) == len(counts)
    return tuple(counts) if few and min(counts.values()) >= _ROWS_EACH else ()


def read_one(text: str, labels: Sequence[str], finish: str = "") -> tuple[str, str, str]:
    """The label that a reply gives, else "" with the kind of the reply and a reason.

    >>> read_one("billing or bug", ("billing", "bug"))[:2], read_one("Bug.", ("billing", "bug"))[0]
    (('', 'several'), 'bug')
    """
    verdict = read_label(text, labels, finish=finish or "stop")
    if _names_several(text.strip(), labels):
        return "", "several", "the reply gives several labels"
    if verdict.label and _ALSO.search(text[-_END:]):
        return "", "ambiguous", "the reply says that it could also be another label"
    if verdict.label:
        return verdict.label, "", ""
    return "", verdict.kind or verdict.outcome, verdict.reason or "no label is given as the answer"


def _names_several(text: str, labels: Sequence[str]) -> bool:
    """Whether a reply is a list of labels and nothing else; a longer text than all of them is none."""
    if len(text) > _BESIDE + sum(len(label) + _BESIDE for label in labels):
        return False
    entries = [_NUMBER.sub("", part) for part in _SEPARATORS.split(_LEAD.sub("", text))]
    parts = {plain_label(entry.strip(" .!\"'*`()[]")) for entry in entries}
    return len(parts) > 1 and parts <= {plain_label(label) for label in labels}
