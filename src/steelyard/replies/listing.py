"""Reads lists that models wrote: questions, claims, steps; as JSON, numbered, bulleted, or one entry a line.

A preamble ("Sure, here are 10 questions:"), headings and a closing sentence around a list are not entries.
A reply that says that there is nothing to list is distinguished from one in which no list can be read: only the first
is a result. Entries keep their own letters and marks, so the text is not folded as other replies are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from steelyard.normal_form import nfkc
from steelyard.replies.clean import JSON_WORDS, Block, answer_span, blocks_of
from steelyard.replies.grammar import any_of, pattern, source, words
from steelyard.replies.jsonlike import JsonValue, json_at

LONGEST_LIST: Final = 50_000
"""Characters of a reply that are read as a list: some seven hundred entries."""

_MOST_LINES: Final = 1_500
_SAYS_IT_WITHIN: Final = 240
_EDGE: Final = r"(?:[*_#>]{1,4}[ \t]{0,4}){0,2}"
"""Marks of bold text, headings and quotations around the number of an entry."""
_NOUN: Final = any_of([*words("entry_noun"), source("listing", "noun")])
_DIGITS: Final = r"(?:\d{1,3}|[一二三四五六七八九十]{1,3})"
_NUMBERED: Final = re.compile(
    rf"[ \t]{{0,40}}{_EDGE}(?:{_NOUN}[ \t]{{0,2}}[#№.]?[ \t]?[(\[]?{_DIGITS}[)\]]?[ \t]?[题条个步段项点篇份]?{_EDGE}"
    rf"[ \t]{{0,2}}(?:[:.)、：．）]|[-–—][ \t]|[–—]{{1,2}}|$){_EDGE}"
    rf"|[(（\[【]{_DIGITS}[)）\]】][.:、]?|\d{{1,3}}[ \t]?(?:[.．:：](?!\d)|[)、）]|[ \t][-–—][ \t])"
    r"|[一二三四五六七八九十]{1,3}、|[\u2460-\u2473][.、:]?)",
    re.IGNORECASE,
)
_BULLETED: Final = re.compile(r"[ \t]{0,40}(?:[-*+–—][ \t]+|[•·‣◦●○▪■►※][ \t]{0,4})(?:\[[ xX]?\][ \t])?")
_INLINE: Final = re.compile(r"(?:(?<=[\s。;；.?？!！:：])|(?<=\A))[(（]?(\d{1,2})[.)、）．](?!\d)[ \t]{0,4}")
_RULE: Final = re.compile(r"[ \t]*[-*_=~`]{3,}\w{0,12}[ \t]*\Z")
_ENDED: Final = re.compile(r"[.?!:;。？！：；)\]\"”」…][*_ \t]*\Z")
_ENDED_WITHIN: Final = 20
_WIDE: Final = 0x2E80
_LABEL: Final = re.compile(
    rf"[ \t]{{0,40}}{_EDGE}{source('listing', 'label')}[ \t]?\d{{0,3}}{_EDGE}[ \t]?[:：]{_EDGE}[ \t]{{0,4}}",
    re.IGNORECASE,
)
_END_OF_BOLD: Final = re.compile(r"(?<=[^\s*])\*\*(?![\w*])")
_BOLD: Final = re.compile(r"(?<![\w*])(\*{2,3}|_{2,3})(?=[^\s*_])([^*_\n]{1,2000}?)(?<=\S)\1(?![\w*])")
_QUOTES: Final = (('"', '"'), ("“", "”"), ("「", "」"), ("『", "』"))
_PUNCTUATION_KEPT: Final = re.compile(r"[^\W_]+|(?<![\w)])[-−](?=\d)|(?<=\d)[.,:/](?=\d)|[%#&@+<>=|~^°±×÷√≤≥≠€£¥$]+")
_JSON: Final = re.compile(
    r"(?m)^[ \t]{0,40}(?:\[(?=\s{0,40}(?:[\"'{\]]|true\b|false\b|\Z))"
    r"|\{(?=\s{0,40}(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}')\s{0,40}:))"
)
_BROKEN_JSON: Final = re.compile(r"(?:`{3,}\w{0,10}\s{0,9})?(?:\[\s{0,9}[\"{]|\{\s{0,9}\")")
_SEPARATOR: Final = re.compile(r"[\s,;]{0,200}")
_NUMBERED_KEY: Final = re.compile(r"\D{0,20}(\d{1,4})\Z")
_MOST_STARTS: Final = 12
_MOST_CHARACTERS: Final = 70_000
_MOST_TOKENS: Final = 6_000
"""Of the first list; half as many of each further one, as lists may be nested in each other."""
_MOST_OBJECTS: Final = 700


@dataclass(frozen=True, slots=True)
class Listing:
    """The reading of a list: its entries and how it was written.

    Args:
        entries: its texts in order, without numbering, bold and quotes; duplicates are kept.
        form: how they were written; "none" where no list can be read.
        empty_said: whether the reply says that there is nothing to list (`[]`, `None`, `没有声明`).
    """

    entries: tuple[str, ...] = ()
    form: Literal["json", "numbered", "bulleted", "lines", "none"] = "none"
    empty_said: bool = False


def read_listing(text: str) -> Listing:
    """The list in a reply, with how it was written.

    Args:
        text: any text. Reasoning before the answer is left out, and so is all after its first 50,000 characters; a
            reply that broke off inside its reasoning holds no list.

    >>> read_listing("No verifiable claims.")
    Listing(entries=(), form='lines', empty_said=True)
    >>> read_listing("I'm sorry, but I cannot help with that.").form
    'none'
    """
    start, end, _ = answer_span(text)
    shown = text[start : min(end, start + LONGEST_LIST)]
    if (parsed := next(json_lists(shown), None)) is not None:
        entries = tuple(clean_entry(entry) for value in parsed.values for entry in _texts(value))
        said_empty = parsed.closed and not parsed.values
        return _or_empty(entries, "json") if entries else Listing((), "json" if said_empty else "none", said_empty)
    if not shown or _BROKEN_JSON.match(shown):
        return Listing()
    if _says_nothing(shown):
        return Listing((), "lines", empty_said=True)
    entries, form = listed_lines(shown)
    if not entries or (form == "lines" and pattern("choice", "refusal").search(shown[:1000])):
        return Listing()
    return _or_empty(entries, form)


def read_list(text: str, *, most: int | None = None) -> tuple[str, ...]:
    r"""The entries of the list that a model wrote; empty where there is none.

    Args:
        text: any text: numbered, bulleted, one entry a line, or JSON, with whatever a model writes around it.
        most: at most so many entries, the first ones; None is all.

    >>> read_list("Sure, here are 2 questions:\n1. Who wrote Emma?\n2. When?\n\nLet me know!")
    ('Who wrote Emma?', 'When?')
    """
    return read_listing(text).entries[:most]


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """`texts` without those that differ from an earlier one in case, width, blanks or punctuation only.

    Marks that carry meaning count: decimal points, signs of numbers, `%`, `#`, `+` and mathematical signs.

    >>> distinct_texts(["What is C?", "what is c", "What is C#?", "Is it 1.5?", "Is it 15?"])
    ('What is C?', 'What is C#?', 'Is it 1.5?', 'Is it 15?')
    """
    by_plain_text: dict[str, str] = {}
    for text in texts:
        plain = nfkc(text).casefold()
        by_plain_text.setdefault("".join(_PUNCTUATION_KEPT.findall(plain)) or text, text)
    return tuple(by_plain_text.values())


def _says_nothing(shown: str) -> bool:
    if len(shown) > _SAYS_IT_WITHIN:
        return False
    return _is("nothing", shown) or pattern("listing", "nothing_then").search(shown) is not None


def _or_empty(entries: tuple[str, ...], form: Literal["json", "numbered", "bulleted", "lines"]) -> Listing:
    """An empty list where all that is listed is `None`."""
    said_empty = len(entries) == 1 and _says_nothing(entries[0])
    return Listing(() if said_empty else entries, form, said_empty)


# Lists in JSON.


class JsonList(NamedTuple):
    """The values of a list, whether it is closed, and where what it stands in ends."""

    values: tuple[Any, ...]
    closed: bool
    end: int


def json_lists(text: str) -> Iterator[JsonList]:
    r"""The lists of JSON values in `text`, in order; those in blocks of code alone where there are any.

    One that broke off gives its whole values.

    A list that is the first list of an object, objects that follow each other, and an object whose keys are numbers
    count as lists.

    >>> [(listing.values, listing.closed) for listing in json_lists('{"claims": []}\n["a", "b", "c')]
    [((), True), (('a', 'b'), False)]
    """
    pieces = [text[block.start : block.end] for block in blocks_of(text, 0, len(text)) if _may_hold_json(text, block)]
    in_blocks = False
    for piece in [*pieces, text]:
        if piece is text and in_blocks:
            return
        end = 0
        for number, match in enumerate(islice(_JSON.finditer(piece), _MOST_STARTS)):
            if match.end() > end and (listing := _list_at(piece, match.end() - 1, number)) is not None:
                in_blocks, end = True, listing.end
                yield listing


def _may_hold_json(text: str, block: Block) -> bool:
    return block.word in JSON_WORDS or text[block.start : block.end].lstrip()[:1] in {"[", "{"}


def _list_at(text: str, start: int, tried: int) -> JsonList | None:
    """The list that begins at `start`; the more starts were tried before, the fewer tokens are read."""
    value = json_at(text, start, most=_MOST_TOKENS >> tried, within=_MOST_CHARACTERS >> tried)
    inner = value if value.kind == "list" else next((item for _, item in value.items if item.kind == "list"), None)
    if inner is not None:
        values = tuple(item.python() for _, item in inner.items if item.closed)
        return JsonList(values, inner.closed, value.end) if values or inner.closed else None
    if not value.closed:
        return None
    numbers = [match and int(match[1]) for match in (_NUMBERED_KEY.match(key) for key, _ in value.items)]
    if len(numbers) > 1 and set(numbers) == set(range(1, len(numbers) + 1)):
        in_order = sorted(
            zip(numbers, (item.python() for _, item in value.items), strict=True), key=lambda pair: pair[0] or 0
        )
        return JsonList(tuple(item for _, item in in_order), closed=True, end=value.end)
    found = list(islice(_consecutive(text, value), _MOST_OBJECTS))
    objects = tuple(json_object.python() for json_object in found)
    is_list = len(objects) > 1 or any(_texts(objects[0]))
    return JsonList(objects, closed=True, end=found[-1].end) if is_list else None


def _consecutive(text: str, value: JsonValue) -> Iterator[JsonValue]:
    """Objects that follow each other, with nothing but blanks and commas between them."""
    while value.closed:
        yield value
        match = _SEPARATOR.match(text, value.end)
        position = match.end() if match else value.end
        if text[position : position + 1] != "{":
            return
        value = json_at(text, position)


def _texts(value: Any) -> tuple[str, ...]:
    """The text of one entry: itself, the one that an object names, or those of the only list that it holds."""
    if isinstance(value, str):
        return (value.strip(),) if value.strip() else ()
    if not isinstance(value, Mapping):
        return ()
    texts = {str(key).strip().lower(): item for key, item in value.items() if isinstance(item, str)}
    named_texts = [texts[key] for key in words("entry_key") if key in texts] or (
        list(texts.values()) if len(texts) == 1 else []
    )
    if named_texts:
        return _texts(named_texts[0])
    lists = [item for item in value.values() if isinstance(item, list)]
    return tuple(item.strip() for item in lists[0] if isinstance(item, str) and item.strip()) if len(lists) == 1 else ()


# Lists in lines.


def listed_lines(text: str) -> tuple[tuple[str, ...], Literal["numbered", "bulleted", "lines"]]:
    r"""The entries of the list in `text`, in the order they stand, and how they are marked.

    >>> listed_lines("Here are two:\n1. Who?\n2) Where\n   exactly?\n\nLet me know!")
    (('Who?', 'Where exactly?'), 'numbered')
    """
    lines = text.splitlines()[:_MOST_LINES]
    numbered = [_NUMBERED.match(line) for line in lines]
    bulleted = [_BULLETED.match(line) for line in lines]
    heads = [line for line, mark in zip(lines, numbered, strict=True) if mark]
    if any(bulleted) and all(line.rstrip(" *_\t").endswith((":", "：")) for line in heads):  # `1. Easy:` heads bullets
        bullet_lines = [
            (line, mark) for line, mark, number in zip(lines, bulleted, numbered, strict=True) if not number
        ]
        return _cleaned(_marked(bullet_lines)), "bulleted"
    entries = _marked(list(zip(lines, numbered, strict=True)))
    if len(entries) > 1:
        return _cleaned(entries), "numbered"
    if inline := _inline(f"1. {entries[0]}" if entries else text):
        return _cleaned(inline), "numbered"
    if entries:
        return _cleaned(entries), "numbered"
    labelled = _marked([(line, _LABEL.match(line)) for line in lines])
    return _cleaned(labelled or _plain(lines)), "lines"


def _cleaned(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(clean_entry, entries)))


def _marked(lines: Sequence[tuple[str, re.Match[str] | None]]) -> list[str]:
    """Each marked line with the lines that carry it on; the text before the first mark is a preamble."""
    entries: list[list[str]] = []
    after_blank, closed = False, True
    for line, mark in lines:
        if mark:
            entries.append([line[mark.end() :].strip()])
            closed = False
        elif not line.strip():
            after_blank = True
            continue
        elif not closed and _carries_on(line, after_blank=after_blank, empty=entries[-1] == [""]):
            entries[-1].append(line.strip())
        else:
            closed = True
        after_blank = False
    return [_joined(parts) for parts in entries]


def _carries_on(line: str, *, after_blank: bool, empty: bool) -> bool:
    if _RULE.match(line) or line.lstrip().startswith("#") or _is("closing", line) or _is("answer", line):
        return False
    return empty or not after_blank or line.startswith(("  ", "\t"))


def _is(kind: str, line: str) -> bool:
    return pattern("listing", kind).match(line) is not None


def _joined(parts: Sequence[str]) -> str:
    """Lines as one, with a blank between two unless one of the characters that meet is Han or full-width."""
    pieces: list[str] = []
    for part in filter(None, parts):
        if pieces and ord(pieces[-1][-1]) < _WIDE and ord(part[0]) < _WIDE:
            pieces.append(" ")
        pieces.append(part)
    return "".join(pieces)


def _inline(text: str) -> list[str]:
    """Entries in one paragraph, numbered from 1; none where there is only one."""
    marks: list[re.Match[str]] = []
    for match in _INLINE.finditer(text):
        if int(match[1]) == len(marks) + 1:
            marks.append(match)
    ends = [*(match.start() for match in marks[1:]), len(text)]
    entries = [
        text[mark.end() : end].partition("\n\n")[0].strip(" \t\n;；,，") for mark, end in zip(marks, ends, strict=False)
    ]
    return entries if len(entries) > 1 else []


def _plain(lines: Sequence[str]) -> Iterator[str]:
    """Lines without marks: those of preamble and closing left out, wrapped ones joined."""
    nonblank = [line.strip() for line in lines if line.strip() and not _RULE.match(line)]
    entry: list[str] = []
    for number, line in enumerate(nonblank):
        if _is_around(line, first=number == 0):
            continue
        if entry and not (line[0].islower() and not _ENDED.search(entry[-1][-_ENDED_WITHIN:])):
            yield _joined(entry)
            entry = []
        entry.append(line)
    yield _joined(entry)


def _is_around(line: str, *, first: bool) -> bool:
    """Whether a line introduces or closes the list: headings, `Sure, ...`, whatever ends with a colon."""
    bare = line.rstrip(" *_\t")
    if bare.endswith((":", "：")) or line.startswith("#") or _is("answer", line) or _is("closing", line):
        return True
    return first and _is("preamble", line) and not bare.endswith(("?", "？"))


def clean_entry(entry: str) -> str:
    """An entry without the marks of a label, of bold, and of quotes around all of it.

    >>> clean_entry("**Question:** “Who wrote **Emma**?”")
    'Who wrote Emma?'
    """
    label = _LABEL.match(entry)
    entry = _BOLD.sub(r"\2", entry[label.end() :] if label else entry).strip()
    entry = entry.removeprefix("**").removesuffix("**").strip()
    if entry.count("**") == 1:
        entry = _END_OF_BOLD.sub("", entry)  # of `**Step 1: Iron** rusts`, whose begin is in the mark
    for opening, closing in _QUOTES:
        inside = entry[1:-1]
        if len(entry) > 2 and entry[0] == opening and entry[-1] == closing and not {opening, closing} & set(inside):
            return inside.strip()
    return entry
