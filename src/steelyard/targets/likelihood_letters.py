"""The probability of each option's letter, from what an endpoint lists as the likeliest first tokens of a reply.

A letter is written in many ways (`B`, ` B`, `（B`, `Ｂ`, `**B`, `B.`); all that are listed are added up. Small letters
do not count: `a` is a word. What is not listed has a probability that nobody knows: all of it together has at most
what the listed ones leave over, and no single token of it more than the least that is listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, nan
from typing import Any, Final

from steelyard.text.normal import fold

_BEFORE: Final = " \t\r\n*_`~\"'“”‘’([【<{:：#▁Ġ"
_AFTER: Final = " \t\r\n*_`~\"'“”‘’)]】>}:.,、。:：<"


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """What is known of the letters of one question.

    Args:
        found: letter -> probability, of those that are listed.
        missing: letters that are not.
        rest: what the listed tokens leave over; all that is missing has at most so much together.
        likeliest: the text of the likeliest token.
    """

    found: Mapping[str, float]
    missing: str
    rest: float
    likeliest: str


def letter_probabilities(listed: Sequence[Any], letters: str) -> LetterProbabilities | None:
    """Add up the listed ways to write each letter; None where nothing is listed.

    Args:
        listed: entries with `token` and `logprob`, as `top_logprobs` of the first token has them.
        letters: of the options.

    >>> from math import log
    >>> listed = (("B", 0.5), (" B", 0.25), ("（A", 0.125), ("I", 0.1))
    >>> found = letter_probabilities([{"token": text, "logprob": log(p)} for text, p in listed], "ABC")
    >>> {letter: round(p, 6) for letter, p in found.found.items()}, found.missing, round(found.rest, 6)
    ({'A': 0.125, 'B': 0.75}, 'C', 0.025)
    """
    known = list(_probabilities(listed))
    if not known:
        return None
    found: dict[str, float] = {}
    for text, p in known:
        letter = fold(text).lstrip(_BEFORE).rstrip(_AFTER)
        if len(letter) == 1 and letter in letters:
            found[letter] = found.get(letter, 0.0) + p
    ordered = {letter: min(1.0, found[letter]) for letter in letters if letter in found}
    missing = "".join(letter for letter in letters if letter not in found)
    rest = max(0.0, 1.0 - sum(p for _, p in known))
    return LetterProbabilities(ordered, missing, rest, max(known, key=lambda one: one[1])[0])


def _probabilities(listed: Sequence[Any]) -> Iterator[tuple[str, float]]:
    """Text and probability of each token, once: endpoints list the chosen one twice now and then."""
    seen: set[str] = set()
    for entry in listed:
        if not isinstance(entry, Mapping):
            continue
        text, value = entry.get("token"), _finite(entry.get("logprob"))
        if isinstance(text, str) and value is not None and text not in seen:
            seen.add(text)
            yield text, exp(min(0.0, value))


def _finite(value: Any) -> float | None:
    """A number that came as JSON; None for what is none, as a whole number beyond any float is."""
    try:
        found = float(value) if type(value) in {int, float} else nan
    except OverflowError:
        return None
    return found if isfinite(found) else None
