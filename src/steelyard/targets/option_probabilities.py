"""Probabilities of options from what an endpoint reports: by letter, or by the text of each option.

By letter: from the likeliest first tokens of a reply. A letter is written in many ways (`B`, ` B`, `（B`, `Ｂ`, `**B`,
`B.`); all that are listed are added up. Small letters do not count: `a` is a word. What is not listed has a probability
that nobody knows: all of it together has at most what the listed ones leave over, and no single token of it more than
the least that is listed.

By text: the log probability of an option's text after a prompt, from the tokens that an endpoint returns. Which tokens
belong to the option follows from their position in the text. An endpoint's own offsets are counted in its own
way (a character of several tokens, a sign for the beginning of the text), so the tokens are laid along the bytes of the
text that was sent, in every way that they fit. Where these ways disagree about the option's tokens, nothing is summed.
The endpoint's offsets are used only where the tokens are not text at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, nan
from typing import Any, Final

from steelyard.replies.clean import fold

_BEFORE: Final = " \t\r\n*_`~\"'“”‘’([【<{:：#▁Ġ"
_AFTER: Final = " \t\r\n*_`~\"'“”‘’)]】>}:.,、。:：<"


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """Probabilities of the letters of a question.

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
    >>> result = letter_probabilities([{"token": text, "logprob": log(p)} for text, p in listed], "ABC")
    >>> {letter: round(p, 6) for letter, p in result.found.items()}, result.missing, round(result.rest, 6)
    ({'A': 0.125, 'B': 0.75}, 'C', 0.025)
    """
    readable = list(_probabilities(listed))
    if not readable:
        return None
    by_letter: dict[str, float] = {}
    for text, p in readable:
        letter = fold(text).lstrip(_BEFORE).rstrip(_AFTER)
        if len(letter) == 1 and letter in letters:
            by_letter[letter] = by_letter.get(letter, 0.0) + p
    ordered = {letter: min(1.0, by_letter[letter]) for letter in letters if letter in by_letter}
    missing = "".join(letter for letter in letters if letter not in by_letter)
    remainder = max(0.0, 1.0 - sum(p for _, p in readable))
    return LetterProbabilities(ordered, missing, remainder, max(readable, key=lambda pair: pair[1])[0])


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
    """A JSON number as a float; None for any other value, and for an integer beyond the range of floats."""
    try:
        number = float(value) if type(value) in {int, float} else nan
    except OverflowError:
        return None
    return number if isfinite(number) else None


_HIGH: Final = 0x80
_PART: Final = "�"
"""The replacement character: it is shown for up to three bytes that are not a character of their own."""
_MOST_PART: Final = 3
_MOST_EMPTY: Final = 4
"""Bytes that an empty token may stand for: those of one character of UTF-8."""
_MOST_FIRST: Final = 256
"""Bytes that a first token of which nothing is known may have at most."""
_MOST_WAYS: Final = 600
"""Limit of positions where a token may end: fitting tokens that are all parts of characters would take minutes."""
_ESCAPED: Final = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)|<0x([0-9a-fA-F]{2})>")
_PIECES: Final = (("▁", " "), ("Ġ", " "), ("Ċ", "\n"))
"""What SentencePiece and byte-level vocabularies write for a blank and the end of a line."""


@dataclass(frozen=True, slots=True)
class TextLikelihood:
    """Likelihood of an option's text.

    Args:
        logprob: sum over its tokens, in nats.
        tokens: how many there are.
        shared: whether the first of them begins in the prompt before it.
    """

    logprob: float
    tokens: int
    shared: bool


def text_likelihood(text: str, start: int, tokens: Sequence[Any], *, generated: bool = True) -> TextLikelihood:
    """Sum the log probabilities of the tokens after `start`.

    A token that begins before `start` and ends behind it counts as the option's: it holds the option's first letters.

    Args:
        text: what was sent: prompt and option.
        start: where the option begins in it, in characters.
        tokens: (text, log probability, offset) of each, in order.
        generated: whether there may be one behind them that was generated, which is left out.

    Raises:
        ValueError: the tokens do not make up the text, or do so in ways that disagree about the option's tokens; or
            one of these has no log probability.

    >>> text_likelihood("Q: who? Bo", 7, [["Q:", None, 0], [" who?", -2.0, 2], [" B", -0.5, 7], ["o", -0.25, 9]])
    TextLikelihood(logprob=-0.75, tokens=2, shared=False)
    """
    entries = [token for token in tokens if isinstance(token, list | tuple) and len(token) == 3]
    data, border = text.encode("utf-8", "surrogatepass"), len(text[:start].encode("utf-8", "surrogatepass"))
    ends = _laid(data, [token[0] if isinstance(token[0], str) else None for token in entries], generated=generated)
    first, last, shared = _own(ends, border) if ends else _by_offsets(text, start, entries)
    values = [token[1] for token in entries[first:last]]
    if not values:
        raise ValueError("none of the tokens that the endpoint gave is at the position of the option")
    if not all(type(value) in {int, float} and isfinite(value) for value in values):
        raise ValueError("one of the option's tokens has no log probability")
    return TextLikelihood(fsum(values), len(values), shared)


def _own(ends: Sequence[frozenset[int]], border: int) -> tuple[int, int, bool]:
    """The range of the option's tokens (first, end), and whether the first one begins before the border."""
    behind = [{end > border for end in several} for several in ends]
    if any(len(inside) > 1 for inside in behind):
        raise ValueError("the option's first character may share tokens with the prompt's last one")
    first = next((no for no, inside in enumerate(behind) if True in inside), len(ends))
    begins = ends[first - 1] if first else frozenset({0})
    return first, len(ends), max(begins) < border


def _laid(data: bytes, tokens: Sequence[str | None], *, generated: bool) -> list[frozenset[int]]:
    """The positions where each token may end, over all ways to fit the tokens to `data`; empty where none fits.

    Raises:
        ValueError: the last token may be of the text, or the one that was generated behind it; or there are too many
            ways.
    """
    steps: list[dict[int, frozenset[int]]] = []
    at = frozenset({0})
    reached = 0
    for no, token in enumerate(tokens):
        step = {start: _ends(data, start, token, first=no == 0) for start in at}
        at = frozenset[int]().union(*step.values())
        if len(at) > _MOST_WAYS:
            raise ValueError("the tokens that the endpoint gave are parts of characters, and fit in too many ways")
        if not at:
            break
        steps.append(step)
        reached = len(steps) if len(data) in at else reached
    if not reached or (not generated and reached < len(tokens)):
        return []
    if generated and reached == len(tokens) and tokens[-1] == "" and _ends_at(steps[reached - 2], data):
        reached -= 1
    elif generated and reached == len(tokens) > 1 and _PART in str(tokens[-1]) and _ends_at(steps[reached - 2], data):
        raise ValueError("the last of the tokens may be the option's, or what was generated behind it")
    return _that_arrive(steps[:reached], len(data))


def _ends_at(step: dict[int, frozenset[int]], data: bytes) -> bool:
    return any(len(data) in ends for ends in step.values())


def _that_arrive(steps: Sequence[dict[int, frozenset[int]]], end: int) -> list[frozenset[int]]:
    """Drop end positions from which the remaining tokens cannot reach the end."""
    starts: list[frozenset[int]] = []
    good = frozenset({end})
    for step in reversed(steps):
        starts.append(good)
        good = frozenset(start for start, ends in step.items() if ends & good)
    return starts[::-1]


def _ends(data: bytes, at: int, token: str | None, *, first: bool) -> frozenset[int]:
    """Where `token` may end that begins at `at`."""
    if token is None:
        return frozenset(range(at, min(len(data), at + _MOST_FIRST) + 1))
    if not token:
        return frozenset({at}) | _parts(data, frozenset({at}), _MOST_EMPTY)
    ends = frozenset[int]().union(*(_matches(data, at, writing) for writing in _writings(token, first=first)))
    # A sign for the beginning of a text is not part of it.
    return ends or (frozenset({at}) if first else ends)


def _writings(token: str, *, first: bool) -> set[str | bytes]:
    plain = token
    for piece, meant in _PIECES:
        plain = plain.replace(piece, meant)
    escaped = _ESCAPED.fullmatch(token)
    raw = bytes.fromhex((escaped[1] or escaped[2]).replace("\\x", "")) if escaped else b""
    return {writing for writing in (token, plain, plain.lstrip(" ") if first else "", raw) if writing}


def _matches(data: bytes, at: int, written: str | bytes) -> frozenset[int]:
    if isinstance(written, bytes):
        return frozenset({at + len(written)}) if data.startswith(written, at) else frozenset()
    ends = frozenset({at})
    for no, clean in enumerate(written.split(_PART)):
        if no:
            ends = _parts(data, ends, _MOST_PART)
        part = clean.encode("utf-8", "surrogatepass")
        ends = frozenset(end + len(part) for end in ends if data.startswith(part, end))
    return ends


def _parts(data: bytes, starts: frozenset[int], most: int) -> frozenset[int]:
    """The positions 1 to `most` bytes further, as long as the bytes are of multi-byte characters."""
    ends: set[int] = set()
    for start in starts:
        for end in range(start + 1, min(start + most, len(data)) + 1):
            if data[end - 1] < _HIGH:
                break
            ends.add(end)
    return frozenset(ends)


def _by_offsets(text: str, start: int, tokens: Sequence[Any]) -> tuple[int, int, bool]:
    """What `_own` gives, by the endpoint's own offsets; tokens behind `text` were generated."""
    offsets = [token[2] for token in tokens]
    if not offsets or not all(type(offset) is int and offset >= 0 for offset in offsets) or sorted(offsets) != offsets:
        raise ValueError("the tokens that the endpoint gave do not make up the text that was sent")
    plain = [(str(token[0]), token[2]) for token in tokens if str(token[0]).isascii() and token[2] < len(text)]
    if not all(text.startswith((token, token.strip()), offset) for token, offset in plain):
        raise ValueError("the endpoint's tokens are not at the offsets that it reports")
    if offsets[-1] < len(text) - len(str(tokens[-1][0])):
        raise ValueError("the tokens that the endpoint gave end before the text that was sent")
    last = sum(offset < len(text) for offset in offsets)
    ends = [*offsets[1:], len(text)]
    first = next((no for no in range(last) if ends[no] > start), last)
    return first, last, first < last and offsets[first] < start
