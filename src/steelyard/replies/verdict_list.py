"""Reads a reply that judges several numbered claims at once: one verdict for each number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from unicodedata import numeric

from steelyard.replies.clean import without_reasoning
from steelyard.replies.grammar import any_of, words
from steelyard.replies.jsonlike import plain_key, said_in
from steelyard.replies.judge_reply import Verdict, reason_in
from steelyard.replies.listing import json_lists
from steelyard.replies.yes_no import VALUES, read_yes_no, said_alone, said_by

_LONGEST: Final = 10_000
_LONGEST_PER_CLAIM: Final = 400
"""Limits of the characters of a reply that are read: in all, plus for each claim with its reason."""
_LONGEST_ENTRY: Final = 4_000
_TIERS: Final = (
    tuple(map(plain_key, (*words("verdict_final_key"), "verdict", "结论", "判断", "判定"))),
    tuple(map(plain_key, (*words("verdict_key"), *words("claim_key")))),
)
_NUMBER_KEYS: Final = tuple(map(plain_key, words("entry_number_key")))
_NOT_VERDICTS: Final = frozenset(_NUMBER_KEYS) | set(map(plain_key, words("entry_text_key")))
_EARLIER: Final = 3
"""Entries of one number that are looked at, the last ones: a reply may repeat itself without end."""
_MOST_STARTS: Final = 20
_MARKS: Final = r"[ \t>|*_#-]{0,12}"
_NUMERAL: Final = (
    rf"(?P<noun>(?:{any_of(words('entry_noun'))}|#)[ \t_#]{{0,3}})?[(\[【]?"
    r"(?P<number>[0-9]{1,3}|[一二三四五六七八九十](?=[条题项点、])|[①-⑳])[)\]】]?[条题项点]?"
)
_SAID_OF_NOUN: Final = r"(?(noun)[ \t](?:is|was)[ \t](?=\w)|(?!))"
"""`Claim 1 is supported` has no mark behind its number."""
_ENTRY: Final = re.compile(
    rf"^{_MARKS}{_NUMERAL}(?:{_SAID_OF_NOUN}|"
    r"[*_ \t]{0,4}(?:[:.)、：．|](?!\d)|[-–—][ \t]|$)|(?<=[\d)\]])[ \t](?=(?-i:YES|NO|Yes|No)\b))[*_ \t]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE: Final = re.compile(
    rf"(?:(?<=[\s.;,|{{；。，、：])|(?<=\A)|(?=[\[【①-⑳]))\**(?!no[ \t_#]){_NUMERAL}(?:{_SAID_OF_NOUN}|"
    r"(?:\*\*)?\s?(?:[:.)、：．](?!\d)|[-–—][ \t])|(?<=[)\]】①-⑳])|(?P<rare>\s?(?:=|-?>|[→-])|(?(noun)[ \t]|(?!))))",
    re.IGNORECASE,
)
"""What may begin an entry within a line; `rare` where nothing but a verdict may follow."""
_PIECE: Final = re.compile(r"[^\n,;:|(。；，：、–—}]{0,60}?(?=[.*]*(?:[\n,;:|(。；，：、–—}]|\s-|\Z))")
_SUMS_UP: Final = re.compile(
    r"^[ \t*_#-]{0,9}(?:overall|in (?:summary|conclusion|total)|summary|final|conclusion|to sum up|total"
    r"|总体|总结|综上|总之|最终|合计)",
    re.IGNORECASE | re.MULTILINE,
)
_INNER: Final = re.compile(
    r"(?:[.?!。？！][\"”)]?|[\"”)](?=[\s*]))[\s*]{0,4}(?P<piece>YES|NO|[是否])[\s*]{0,4}(?=[-–—:：,，]|\Z)"
)
"""A verdict in capitals between the claim that an entry repeats and its reason."""
_ROW: Final = re.compile(r"(?<!\w)(?:(?P<yes>YES|Yes|是)|(?P<no>NO|No|否))(?!\w)")
_NUMBER: Final = re.compile(r"\D{0,20}(\d{1,4})\D{0,3}\Z")
_EDGES: Final = " \t\n*-–—:：,，"
_BETWEEN: Final = " \t,;|；，、}"
_AROUND: Final = " \t\r*_#>|.!。()[]\"'-–—"
_Numbered = tuple[int | None, Verdict]


def read_verdict_list(text: str, n: int) -> tuple[Verdict | None, ...]:
    r"""The verdicts of a reply on claims that were numbered from 1 to `n`.

    Args:
        text: any text: numbered lines, or JSON (texts in order, or objects with a verdict and perhaps a number).
        n: how many claims there were; what is said about other numbers is left out.

    Returns:
        One verdict for each number; None where nothing is said about it. A verdict that is present but cannot be read
        is unparsed, with its kind. Spans count from the text of its own entry.

    A number with two verdicts that differ is ambiguous, unless the reply ends with the whole list anew: then that
    counts. Verdicts without numbers are taken in order, and only where there are exactly `n` of them; and where there
    is one on a claim 0 or n + 1, the reply numbers other claims than were asked about: nobody knows which is whose.
    Entries on one line are read only where all of them are there: a number may be that of a section.

    >>> [verdict and verdict.label for verdict in read_verdict_list("1. YES\n3. Not supported: no such date.", 3)]
    ['yes', None, 'no']
    >>> [verdict and verdict.label for verdict in read_verdict_list("[1] supported [2] not supported", 2)]
    ['yes', 'no']
    >>> read_verdict_list("1. Yes 3. No", 3)
    (None, None, None)
    """
    shown = without_reasoning(text)[0].strip()[: _LONGEST + _LONGEST_PER_CLAIM * n]
    verdicts: Sequence[_Numbered] = list(_in_json(shown, n))
    if not verdicts:
        lines = _on_lines(shown, n)
        if lines is None:
            return (None,) * n
        verdicts = list(_in_entries(lines, n))
    if len({number for number, _ in verdicts}) < n and (row := _in_a_row(shown, n)):
        verdicts = row
    verdicts = _in_order(verdicts or list(_in_lines(shown, n)), n)
    telling = [(number, verdict) for number, verdict in verdicts if _tells(verdict)]
    if any(number in (0, n + 1) for number, _ in telling):
        return (None,) * n
    if [number for number, _ in telling[-n:]] == list(range(1, n + 1)):
        telling = telling[-n:]
    by_number = {number: verdict for number, verdict in verdicts if not _tells(verdict)}
    differing = {number for number, verdict in telling if verdict.label != dict(telling)[number].label}
    by_number |= {
        number: Verdict("unparsed", kind="ambiguous", reason=verdict.reason) if number in differing else verdict
        for number, verdict in telling
    }
    return tuple(by_number.get(number) for number in range(1, n + 1))


def _tells(verdict: Verdict) -> bool:
    return verdict.outcome == "scored" or verdict.kind == "ambiguous"


def _in_order(verdicts: Sequence[_Numbered], n: int) -> Sequence[_Numbered]:
    """Verdicts without numbers, numbered in their order; none unless there is one for each claim."""
    if any(number is not None for number, _ in verdicts):
        return verdicts
    return [(number, verdict) for number, (_, verdict) in enumerate(verdicts, 1)] if len(verdicts) == n else []


def _on_lines(text: str, n: int) -> str | None:
    """A text with a line for each entry; None where some follow each other on one and others are missing."""
    matches = list(islice(_INLINE.finditer(text), _EARLIER * n + _MOST_STARTS))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    bare = [match for match, end in zip(matches, ends, strict=False) if _is_bare(text[match.end() : end])]
    on_lines = {match.start(): _numeral(match) for match in _ENTRY.finditer(text)}
    run: list[re.Match[str]] = []
    for match in matches:
        if _numeral(match) == len(run) + 1 and not match["rare"]:
            run.append(match)
    numbers = {_numeral(match) for match in bare}
    if len(on_lines) > 1:
        run = []
        for match in bare:
            before = on_lines.get(max((start for start in on_lines if start <= match.start()), default=0))
            if before == _numeral(match) - 1 and _numeral(match) not in on_lines.values():
                on_lines[match.start()] = _numeral(match)
                run.append(match)
    elif numbers.issuperset(range(1, n + 1)):
        run = bare
    elif n < 2 or len(run) != n or "\n" in text[run[0].start() : run[-1].start()].strip():
        return text if len(bare) < 2 else None
    starts = [match.start() for match in run]
    bodies = [text[match.end() : end] for match, end in zip(run, [*starts[1:], len(text)], strict=False)]
    lines = [f"{_numeral(match)}. {body.strip(_BETWEEN)}" for match, body in zip(run, bodies, strict=True)]
    return "\n".join([text[: starts[0]], *lines]) if starts else text


def _is_bare(text: str) -> bool:
    """Whether a text begins with a verdict and a mark behind it."""
    piece = _PIECE.match(text.lstrip(" \t*"))
    return piece is not None and said_alone(piece[0]) in VALUES


def _numeral(match: re.Match[str]) -> int:
    number = match["number"]
    return int(number) if number.isdecimal() else int(numeric(number))


def _in_entries(text: str, n: int) -> Iterator[_Numbered]:
    """Verdicts of numbered entries, each with all that follows it up to the next number or a line that sums up."""
    matches = list(_ENTRY.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    entries: list[tuple[int, str]] = []
    for match, end in zip(matches, ends, strict=False):
        number = _numeral(match)
        body = text[match.end() : min(end, match.end() + _LONGEST_ENTRY)]
        sums_up = not 1 <= number <= n and _SUMS_UP.match(body) is not None
        if number <= n + 1 and body.strip() and not sums_up:
            entries.append((number, body))
    for number, body in entries[-_EARLIER * (n + 1) :]:
        summed_up = _SUMS_UP.search(body, 1)
        yield number, _of_entry(body[: summed_up.start()] if summed_up else body)


def _in_lines(text: str, n: int) -> Iterator[_Numbered]:
    """Verdicts of lines without numbers, each at an end of its line: in between, a sentence speaks of something."""
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    if len(lines) > _EARLIER * n + _MOST_STARTS:
        return
    for line in (line.strip(_AROUND)[:_LONGEST_ENTRY] for line in lines):
        verdict = _of_entry(line)
        start, end = verdict.span or (0, 0)
        if verdict.kind == "ambiguous" or (verdict.outcome == "scored" and (start == 0 or end == len(line))):
            yield None, verdict


def _in_a_row(text: str, n: int) -> Sequence[_Numbered]:
    """Verdicts in one line: exactly `n` words without numbers."""
    verdicts: list[_Numbered] = []
    for match in islice(_ROW.finditer(text), n + 1):
        label = "yes" if match["yes"] else "no"
        verdicts.append((None, Verdict("scored", VALUES[label], label, "", match.span(), "row")))
    return verdicts if len(verdicts) == n and not _ROW.sub("", text).strip(" \n,;、，；./|-") else []


def _of_entry(entry: str) -> Verdict:
    """The verdict of one entry: behind the claim that it repeats, in a cell of a table, or anywhere."""
    first = entry.strip().partition("\n")[0]
    if (inner := _INNER.search(first)) is not None:
        label = said_alone(inner["piece"])
        before, after = first[: inner.start("piece")].strip(), first[inner.end("piece") :].strip(_EDGES)
        start = entry.index(first) + inner.start("piece")
        return Verdict(
            "scored", VALUES[label], label, "", (start, start + len(inner["piece"])), "behind", after or before
        )
    for cell in first.split("|") if "|" in first else ():
        if (label := said_alone(cell)) in VALUES:
            start = entry.index(cell.strip())
            return Verdict("scored", VALUES[label], label, "", (start, start + len(cell.strip())), "cell")
    return read_yes_no(entry)


def _in_json(text: str, n: int) -> Iterator[_Numbered]:
    for listing in islice(json_lists(text), _EARLIER):
        values = listing.values[: _EARLIER * n + _MOST_STARTS]
        verdicts = [_of_value(value) for value in values]
        yield from _in_order(verdicts, n)


def _of_value(value: Any) -> _Numbered:
    """The verdict of one value of a list in JSON, with the number that it states."""
    if isinstance(value, Mapping):
        return _of_object({plain_key(str(key)): item for key, item in value.items()})
    if isinstance(value, bool) or value in (0, 1):
        return None, Verdict("scored", float(value), "yes" if value else "no", form="json")
    return None, read_yes_no(value) if isinstance(value, str) else Verdict("unparsed", kind="none")


def _of_object(values: dict[str, Any]) -> _Numbered:
    number = next(
        (number for key in _NUMBER_KEYS if key in values and (number := _number(values[key])) is not None), None
    )
    verdict_fields = {key: value for key, value in values.items() if key not in _NOT_VERDICTS}
    key_and_label, reason = said_in(verdict_fields, _TIERS, said_by), reason_in(values)
    if key_and_label is None:
        return number, Verdict("unparsed", kind="none", reason=reason)
    if key_and_label[1] in VALUES:
        return number, Verdict("scored", VALUES[key_and_label[1]], key_and_label[1], form="json", reason=reason)
    partial = "partial" if key_and_label[1] == "partial" else ""
    return number, Verdict("unparsed", label=partial, kind="ambiguous", form="json", reason=reason)


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return int(match[1]) if match else None
