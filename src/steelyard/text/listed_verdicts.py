"""Reads a reply that judges several numbered claims at once: one verdict for each number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steelyard.replies.clean import readable
from steelyard.replies.jsonlike import plain_key, said_in
from steelyard.replies.verdict import Verdict
from steelyard.text.listed_json import LONGEST_LIST, json_list
from steelyard.text.listed_lines import listed_lines, segments
from steelyard.text.rating_yes_no import read_yes_no, said_alone, said_by
from steelyard.text.verdict_page import reason_in

_TIERS: Final = (
    ("finalverdict", "verdict", "结论", "判断", "判定"),
    (
        "answer",
        "supported",
        "decision",
        "judgment",
        "judgement",
        "label",
        "result",
        "答案",
        "结果",
        "是否支持",
        "passed",
        "kept",
    ),
)
_NUMBER_KEYS: Final = (
    "number",
    "id",
    "index",
    "no",
    "claimnumber",
    "claimid",
    "statementnumber",
    "statementid",
    "编号",
    "序号",
    "n",
    "i",
)
_NOT_VERDICTS: Final = frozenset(_NUMBER_KEYS) | {
    "claim",
    "statement",
    "question",
    "text",
    "sentence",
    "陈述",
    "声明",
    "问题",
}
_VALUES: Final = {"yes": 1.0, "no": 0.0}
_LONGEST_LINE: Final = 4000
_HOLDS: Final = re.compile(r"\w")
_MOST_ENTRIES: Final = 300
"""A reply with more entries repeats itself without end; the last ones hold."""

_LAST_PIECE: Final = re.compile(
    r"(?:\s[-–—]{1,2}\s|->|→|=>|[.?\"”。]\s?[:：]\s?)[\s*]{0,4}(?P<piece>[^-–—>→\n]{1,40}?)(?:\s?\([^()\n]{0,80}\))"
    r"?[.\s*]{0,6}\Z"
)
_OPENING: Final = re.compile(
    r"[\s*_\"'(\[✅❌✔✖✓✗]{0,8}(?:(?:YES|NO|Yes|No)(?=[\s*_\"')\],.:;!-]|[–—]|\Z)|[是否](?=[\s。，,.:：;—–-]|\Z))"
)
"""An entry that begins with what was asked for."""

_INNER: Final = re.compile(
    r"(?:[.?!。？！][\"”)]?|[\"”)](?=[\s*]))[\s*]{0,4}(?P<piece>YES|NO|[是否])[\s*]{0,4}(?=[-–—:：,，]|\Z)"
)
"""A verdict in capitals between the claim that it repeats and its reason."""

_ROW: Final = re.compile(
    r"(?:(?<!\d)(?P<number>\d{1,3})\s?[:：.)=-]{1,2}\s{0,2})?(?<!\w)(?P<said>(?P<yes>YES|Yes|是)|(?P<no>NO|No|否))(?!\w)"
)
_EDGES: Final = " \t\n*-–—:：,，"
_NUMBERED_LINE: Final = re.compile(
    r"[\s|*#\-]{0,12}(?:[A-Za-z\u4e00-\u9fff]{1,12}[\s_#]{0,3})?(?P<number>\d{1,3})[\s"
    r"|:.)、\-*]{1,8}(?P<rest>.{0,4000})"
)
_NUMBER: Final = re.compile(r"\D{0,20}(\d{1,4})\D{0,3}\Z")


def read_verdict_list(text: str, n: int) -> tuple[Verdict | None, ...]:
    r"""The verdicts of a reply on claims that were numbered from 1 to `n`.

    Args:
        text: any text: numbered lines, or JSON (texts in order, or objects with a verdict and perhaps a number).
        n: how many claims there were; what is said about other numbers is left out.

    Returns:
        One verdict for each number, the last that was given for it; None where nothing is said about it. A verdict
        that stands there but cannot be read is unparsed, with its kind. Spans count from the text of its own entry.

    Verdicts without numbers are taken in order, and only where there are exactly `n` of them: with one too few or too
    many nobody knows which is whose.

    >>> [one and one.label for one in read_verdict_list("1. YES\n3. Not supported: no such date.", 3)]
    ['yes', None, 'no']
    """
    start, end, _ = readable(text)
    shown = text[start:end][:LONGEST_LIST]
    found = json_list(shown)
    pairs = list(_in_json(found.values)) if found else []
    if not any(verdict for _, verdict in pairs):
        pairs = list(_in_lines(shown, n))
    if not any(number for number, _ in pairs):
        pairs = pairs if len(pairs) == n else _in_a_row(shown, n)
        pairs = [(number or place, verdict) for place, (number, verdict) in enumerate(pairs, 1)]
    by_number: dict[int, Verdict] = {}
    for number, verdict in pairs:
        if number is not None and verdict is not None and _outweighs(verdict, by_number.get(number)):
            by_number[number] = verdict
    return tuple(by_number.get(number) for number in range(1, n + 1))


def _outweighs(verdict: Verdict, before: Verdict | None) -> bool:
    """A later verdict holds, but what cannot be read takes back none that could."""
    return before is None or verdict.outcome == "scored" or verdict.kind == "ambiguous" or before.outcome != "scored"


def _in_lines(text: str, n: int) -> Iterator[tuple[int | None, Verdict | None]]:
    """Verdicts of numbered entries; where there are none, of lines, with the number that they hold."""
    most = _MOST_ENTRIES + 3 * n
    lines = listed_lines(text)
    parts = segments(text) if lines.form == "numbered" else []
    if len(parts) > 1 or (parts and len(lines.entries) == 1):
        yield from ((number, _of_entry(entry)) for number, entry in parts[-most:])
    elif lines.form == "numbered":
        yield from ((number, _of_entry(entry)) for number, entry in lines.entries[-most:])
    else:
        for line in [line for line in text.splitlines() if _HOLDS.search(line)][-most:]:
            match = _NUMBERED_LINE.match(line)
            verdict = _of_entry(match["rest"] if match else line)
            if verdict.outcome == "scored" or verdict.kind == "ambiguous":
                yield int(match["number"]) if match else None, verdict


def _in_a_row(text: str, n: int) -> list[tuple[int | None, Verdict | None]]:
    """Verdicts that stand in one line: `1: YES; 2: NO`, or exactly `n` words without numbers."""
    found: list[tuple[int | None, Verdict | None]] = []
    for match in _ROW.finditer(text):
        said = "yes" if match["yes"] else "no"
        number = int(match["number"]) if match["number"] else None
        found.append((number, Verdict("scored", _VALUES[said], said, "", match.span("said"), "row")))
    numbered = [number for number, _ in found]
    bare = numbered == [None] * n and not _ROW.sub("", text).strip(" \n,;、，；./|-")
    return found if bare or numbered == list(range(1, n + 1)) else []


def _of_entry(entry: str) -> Verdict:
    """The verdict of one entry: at its start, behind the claim that it repeats, in a cell of a table, or anywhere."""
    if _OPENING.match(entry):
        return read_yes_no(entry)
    if (inner := _INNER.search(entry[:_LONGEST_LINE])) is not None:
        said = "yes" if inner["piece"] in {"YES", "是"} else "no"
        before, after = entry[: inner.start("piece")].strip(), entry[inner.end("piece") :].strip(_EDGES)
        return Verdict("scored", _VALUES[said], said, "", inner.span("piece"), "behind", after or before)
    for piece in _behind(entry):
        if said := said_alone(piece):
            start = entry.rfind(piece)
            span = (start, start + len(piece))
            if said in _VALUES:
                return Verdict("scored", _VALUES[said], said, "", span, "behind", entry[:start].strip(" -–—>=:|"))
            return Verdict("unparsed", None, "partial" if said == "partial" else "", "ambiguous", span, "behind")
    return read_yes_no(entry)


def _behind(entry: str) -> Iterator[str]:
    line = entry.strip().partition("\n")[0][:_LONGEST_LINE]
    if "|" in line:
        yield from (cell.strip() for cell in line.split("|") if cell.strip())
    if (match := _LAST_PIECE.search(line)) is not None:
        yield match["piece"].strip()


def _in_json(values: tuple[Any, ...]) -> Iterator[tuple[int | None, Verdict | None]]:
    for value in values:
        if isinstance(value, Mapping):
            yield from _in_object({plain_key(str(key)): one for key, one in value.items()})
        elif isinstance(value, bool):
            yield None, Verdict("scored", float(value), "yes" if value else "no", form="json")
        elif isinstance(value, str):
            yield None, read_yes_no(value)
        else:
            yield None, None


def _in_object(values: dict[str, Any]) -> Iterator[tuple[int | None, Verdict | None]]:
    number = next((found for key in _NUMBER_KEYS if key in values and (found := _number(values[key]))), None)
    rest = {key: value for key, value in values.items() if key not in _NOT_VERDICTS}
    said = said_in(rest, _TIERS, said_by)
    if said is not None:
        label = said[1]
        reason = reason_in(values)
        if label in _VALUES:
            yield number, Verdict("scored", _VALUES[label], label, form="json", reason=reason)
        else:
            partial = "partial" if label == "partial" else ""
            yield number, Verdict("unparsed", label=partial, kind="ambiguous", form="json", reason=reason)
    else:
        yield number, Verdict("unparsed", kind="none", reason=reason_in(values))


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return int(match[1]) if match else None
