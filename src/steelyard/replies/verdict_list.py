"""Reads a reply that judges several numbered claims at once: one verdict for each number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from steelyard.replies.clean import without_reasoning
from steelyard.replies.grammar import any_of, words
from steelyard.replies.jsonlike import plain_key, said_in
from steelyard.replies.judge_reply import Verdict, reason_in
from steelyard.replies.listing import json_list
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
_CHINESE: Final = "一二三四五六七八九十"
_MARKS: Final = r"[ \t>|*_#-]{0,12}"
_ENTRY: Final = re.compile(
    rf"^{_MARKS}(?:{any_of(words('entry_noun'))}[\s_#]{{0,3}})?[(\[]?"
    rf"(?P<number>\d{{1,3}}|[{_CHINESE}](?=[条题项点、]))[)\]]?[条题项点]?"
    r"(?:[*_ \t]{0,4}(?:[:.)、：．|](?!\d)|[-–—][ \t]|$)|(?<=[\d)\]])[ \t](?=(?-i:YES|NO|Yes|No)\b))[*_ \t]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
_SUMS_UP: Final = re.compile(
    r"^[ \t*_#-]{0,9}(?:overall|in (?:summary|conclusion|total)|summary|final|conclusion|to sum up|total"
    r"|总体|总结|综上|总之|最终|合计)",
    re.IGNORECASE | re.MULTILINE,
)
_INNER: Final = re.compile(
    r"(?:[.?!。？！][\"”)]?|[\"”)](?=[\s*]))[\s*]{0,4}(?P<piece>YES|NO|[是否])[\s*]{0,4}(?=[-–—:：,，]|\Z)"
)
"""A verdict in capitals between the claim that an entry repeats and its reason."""
_ROW: Final = re.compile(
    r"(?:(?<!\d)(?P<number>\d{1,3})\s?[:：.)=-]{1,2}\s{0,2})?(?<!\w)(?P<said>(?P<yes>YES|Yes|是)|(?P<no>NO|No|否))(?!\w)"
)
_NUMBER: Final = re.compile(r"\D{0,20}(\d{1,4})\D{0,3}\Z")
_EDGES: Final = " \t\n*-–—:：,，"
_Numbered = tuple[int | None, Verdict]


def read_verdict_list(text: str, n: int) -> tuple[Verdict | None, ...]:
    r"""The verdicts of a reply on claims that were numbered from 1 to `n`.

    Args:
        text: any text: numbered lines, or JSON (texts in order, or objects with a verdict and perhaps a number).
        n: how many claims there were; what is said about other numbers is left out.

    Returns:
        One verdict for each number, the last that was given for it; None where nothing is said about it. A verdict
        that is present but cannot be read is unparsed, with its kind. Spans count from the text of its own entry.

    Verdicts without numbers are taken in order, and only where there are exactly `n` of them: with one too few or too
    many nobody knows which is whose.

    >>> [verdict and verdict.label for verdict in read_verdict_list("1. YES\n3. Not supported: no such date.", 3)]
    ['yes', None, 'no']
    """
    shown = without_reasoning(text)[0].strip()[: _LONGEST + _LONGEST_PER_CLAIM * n]
    verdicts: Sequence[_Numbered] = list(_in_json(shown, n)) or list(_in_entries(shown, n))
    if len({number for number, _ in verdicts}) < n and (row := _in_a_row(shown, n)):
        verdicts = row
    verdicts = verdicts or list(_in_lines(shown, n))
    if not any(number for number, _ in verdicts):
        verdicts = (
            [(position, verdict) for position, (_, verdict) in enumerate(verdicts, 1)] if len(verdicts) == n else []
        )
    by_number: dict[int, Verdict] = {}
    for number, verdict in verdicts:
        if number is not None and _outweighs(verdict, by_number.get(number)):
            by_number[number] = verdict
    return tuple(by_number.get(number) for number in range(1, n + 1))


def _outweighs(verdict: Verdict, before: Verdict | None) -> bool:
    """A later verdict replaces an earlier one, but an unreadable one does not replace a scored one."""
    return before is None or verdict.outcome == "scored" or verdict.kind == "ambiguous" or before.outcome != "scored"


def _in_entries(text: str, n: int) -> Iterator[_Numbered]:
    """Verdicts of numbered entries, each with all that follows it up to the next number or a line that sums up."""
    matches = list(_ENTRY.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    entries: dict[int, list[str]] = {number: [] for number in range(1, n + 1)}
    for match, end in zip(matches, ends, strict=False):
        numeral = match["number"]
        number = int(numeral) if numeral.isdigit() else _CHINESE.index(numeral) + 1
        if number in entries:
            entries[number].append(text[match.end() : min(end, match.end() + _LONGEST_ENTRY)])
    for number, bodies in entries.items():
        for body in filter(str.strip, bodies[-_EARLIER:]):
            summed_up = _SUMS_UP.search(body, 1)
            yield number, _of_entry(body[: summed_up.start()] if summed_up else body)


def _in_lines(text: str, n: int) -> Iterator[_Numbered]:
    """Verdicts of lines without numbers."""
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    if len(lines) > _EARLIER * n + _MOST_STARTS:
        return
    for line in lines:
        verdict = _of_entry(line[:_LONGEST_ENTRY])
        if verdict.outcome == "scored" or verdict.kind == "ambiguous":
            yield None, verdict


def _in_a_row(text: str, n: int) -> Sequence[_Numbered]:
    """Verdicts in one line: `1: YES; 2: NO`, or exactly `n` words without numbers."""
    verdicts: list[_Numbered] = []
    for match in islice(_ROW.finditer(text), n + 1):
        label = "yes" if match["yes"] else "no"
        number = int(match["number"]) if match["number"] else None
        verdicts.append((number, Verdict("scored", VALUES[label], label, "", match.span("said"), "row")))
    numbers = [number for number, _ in verdicts]
    bare = numbers == [None] * n and not _ROW.sub("", text).strip(" \n,;、，；./|-")
    return verdicts if bare or numbers == list(range(1, n + 1)) else []


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
    listing = json_list(text)
    for value in listing.values[: _EARLIER * n + _MOST_STARTS] if listing else ():
        if isinstance(value, Mapping):
            yield _of_object({plain_key(str(key)): item for key, item in value.items()})
        elif isinstance(value, bool) or value in (0, 1):
            yield None, Verdict("scored", float(value), "yes" if value else "no", form="json")
        else:
            yield None, read_yes_no(value) if isinstance(value, str) else Verdict("unparsed", kind="none")


def _of_object(values: dict[str, Any]) -> _Numbered:
    number = next(
        (parsed_number for key in _NUMBER_KEYS if key in values and (parsed_number := _number(values[key]))), None
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
