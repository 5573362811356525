"""The rating that a judge's token probabilities expect, and how much of the probability that covers.

At the token where the rating stands in a reply, the endpoint lists the likeliest alternatives. Each that spells a whole
value of the scale counts, however it is spaced or decorated ("4", " 4", "４", "**4"); the rest of the distribution
(words, decimals, values outside the scale, whatever is not listed) is not covered, and is left out of the mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, nan
from typing import Any, Final, NamedTuple

from steelyard.text.normal import fold

_NUMBER: Final = re.compile(r"(?P<whole>-?[0-9]{1,9})(?P<decimals>[.,]?[0-9])?")
_SPELLED: Final = re.compile(r"[-0-9]*")
_DECORATION: Final = " \t\r\n*_`~\"'“”‘’(（[【<{:："
_DECIMAL: Final = ".,"
_ONE: Final = 1.001
"""Endpoints round: a distribution may sum to a little more than 1, one that sums to much more is none."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A rating as an expectation over the scale.

    Args:
        value: sum(p_i s_i) / sum(p_i) over the values s_i of the scale.
        mass: sum(p_i), in (0, 1]: the share of the whole distribution that is covered.
        distribution: value -> p_i, ascending, without those that were not seen.
    """

    value: float
    mass: float
    distribution: Mapping[int, float]


class _Token(NamedTuple):
    """One token of a reply: where it starts (in bytes), its text, and what might have stood there."""

    start: int
    end: int
    text: str
    alternatives: Mapping[str, float]


def expected_rating(text: str, span: tuple[int, int], tokens: Sequence[Any], values: Sequence[int]) -> Expected | str:
    """The expectation of the rating that stands at `span`, or why there is none.

    A number of several tokens is followed from token to token: the probability of "10" written as "1" and "0" is
    p("1") p("0" after "1"), and that of "1" is p("1") times what does not go on with a digit. Behind an alternative
    that was not taken, and behind the last token, nothing is known. A number that begins a longer value of the scale
    is left uncovered there, unless the longer values are listed as tokens of their own: a model writes a number with
    the tokens that its tokenizer has for it.

    Args:
        text: the reply.
        span: where the rating was read in it, in characters. A reply that repeats its rating was read where it states
            it; a number that merely looks like it, in the reasoning, does not count.
        tokens: the entries of the endpoint's `logprobs.content`, in order: `token`, `bytes`, `logprob` and
            `top_logprobs`.
        values: the whole values of the scale, ascending.

    Source: Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 2, with
    the sum normalised by the mass that is covered, which the paper takes to be 1.

    >>> from math import log
    >>> four = {"token": "4", "logprob": log(0.6), "top_logprobs": [{"token": "5", "logprob": log(0.2)}]}
    >>> found = expected_rating("4", (0, 1), [four], range(1, 6))
    >>> round(found.value, 6), round(found.mass, 6)
    (4.25, 0.8)
    """
    place = _place_of_number(text, span, values)
    if place is None:
        return "the rating is not written as a whole number of the scale"
    read = _tokens(text, tokens)
    if not read:
        return "the tokens that the endpoint gave do not make up the reply"
    start = len(text[:place].encode("utf-8", "surrogatepass"))
    index = next((no for no, one in enumerate(read) if one.start <= start < one.end), None)
    if index is None:
        return "no token stands where the rating does"
    found = _Spelling(read, tuple(str(value) for value in values)).distribution(index, start)
    mass = fsum(found.values())
    if mass <= 0 or mass > _ONE:
        return "the endpoint gave no probabilities that can be read"
    ordered = {value: found[value] for value in sorted(found)}
    return Expected(fsum(p * value for value, p in ordered.items()) / mass, min(1.0, mass), ordered)


def _place_of_number(text: str, span: tuple[int, int], values: Sequence[int]) -> int | None:
    """Where the first number within `span` starts, if it is a whole value of the scale."""
    start, end = span
    match = _NUMBER.search(fold(text[start:end]))
    return start + match.start() if match and match["decimals"] is None and int(match["whole"]) in values else None


class _Spelling:
    """Walks over the tokens of a number and gathers what its alternatives spell."""

    def __init__(self, tokens: Sequence[_Token], values: Sequence[str]) -> None:
        self._tokens = tokens
        self._values = values
        self._found: dict[int, float] = {}

    def distribution(self, index: int, start: int) -> dict[int, float]:
        """Value -> probability, from the token at `index`, in which the number starts at byte `start`."""
        token = self._tokens[index]
        before = token.text.encode("utf-8", "surrogatepass")[: start - token.start].decode("utf-8", "replace")
        self._found = {}
        self._gather(index, before, "", 1.0)
        return self._found

    def _gather(self, index: int, before: str, so_far: str, weight: float) -> None:
        """Add what the alternatives at `index` spell behind the digits `so_far`, which have probability `weight`."""
        token = self._tokens[index]
        spelled = {text: _spelled(text.removeprefix(before), so_far) for text in token.alternatives}
        listed = {number for number, _ in spelled.values()}
        for text, (number, rest) in spelled.items():
            p = weight * token.alternatives[text]
            taken = text == token.text
            longer = self._longer(number)
            if taken and longer and not rest and index + 1 < len(self._tokens):
                self._gather(index + 1, "", number, p)
            elif _is_over(rest, taken=taken, ended=bool(so_far) and not text) or (not rest and longer <= listed):
                self._add(number, p)

    def _longer(self, number: str) -> set[str]:
        """The values of the scale that begin with `number` and go on."""
        return {value for value in self._values if value != number and value.startswith(number)}

    def _add(self, number: str, p: float) -> None:
        if number in self._values:
            self._found[int(number)] = self._found.get(int(number), 0.0) + p


def _spelled(text: str, so_far: str) -> tuple[str, str]:
    """The number that `text` makes behind the digits `so_far`, and what follows it."""
    given = fold(text) if so_far else fold(text).lstrip(_DECORATION)
    digits = _SPELLED.match(given)
    place = digits.end() if digits else 0
    return so_far + given[:place], given[place:]


def _is_over(rest: str, *, taken: bool, ended: bool) -> bool:
    """Whether a number ends where `rest` follows it: what might go on as a decimal does not, unless it was taken.

    Args:
        rest: what stands behind it in the same token.
        taken: whether this token was: the rating is known to be a whole number then.
        ended: whether the token has no text, as the end of a reply has.
    """
    return ended or (bool(rest) and (taken or rest[0] not in _DECIMAL))


def _tokens(text: str, given: Sequence[Any]) -> list[_Token]:
    """The tokens with their places in the bytes of `text`; empty where they do not make it up."""
    entries = [(one, _bytes_of(one)) for one in given if isinstance(one, Mapping)]
    whole = b"".join(part for _, part in entries)
    offset = whole.find(text.encode("utf-8", "surrogatepass"))
    if offset < 0 or not text:
        return []
    read, at = [], -offset
    for entry, part in entries:
        read.append(_Token(at, at + len(part), str(entry.get("token", "")), _alternatives(entry)))
        at += len(part)
    return read


def _alternatives(entry: Mapping[str, Any]) -> dict[str, float]:
    """Text -> probability of what is listed at a token; its own text where the list leaves it out."""
    found: dict[str, float] = {}
    listed = entry.get("top_logprobs")
    for text, p in _probabilities(listed if isinstance(listed, list) else []):
        found[text] = found.get(text, 0.0) + p
    for text, p in _probabilities([entry]):
        found.setdefault(text, p)
    return found


def _probabilities(entries: Sequence[Any]) -> Iterator[tuple[str, float]]:
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        text, logprob = entry.get("token"), _number(entry.get("logprob"))
        if isinstance(text, str) and isfinite(logprob):
            yield text, exp(min(0.0, logprob))


def _number(value: Any) -> float:
    """A number that came as JSON; NaN for what is none, as a whole number beyond any float is."""
    try:
        return float(value) if type(value) in {int, float} else nan
    except OverflowError:
        return nan


def _bytes_of(entry: Mapping[str, Any]) -> bytes:
    """A token's bytes: part of a character has no text of its own."""
    given = entry.get("bytes")
    if isinstance(given, list) and all(isinstance(one, int) and 0 <= one < 256 for one in given):
        return bytes(given)
    return str(entry.get("token", "")).encode("utf-8", "surrogatepass")
