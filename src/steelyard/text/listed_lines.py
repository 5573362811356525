"""Lists that a model wrote as lines: numbered, bulleted, or one entry a line.

Around a list stand a preamble ("Sure, here are 10 questions:"), headings and a closing sentence; they are no entries.
In numbered and bulleted lists they are what has no mark of its own; where entries have no mark, they are known by
their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_EN: Final = re.IGNORECASE
_MARKS: Final = r"(?:[*_#>]{1,4}[ \t]{0,4}){0,2}"
_NOUN: Final = (
    r"(?:questions?|q|claims?|statements?|facts?|assertions?|steps?|sentences?|guidelines?|entry|no|number"
    r"|criteri(?:on|a)|passages?|contexts?|documents?|chunks?|excerpts?|snippets?"
    r"|问题|问|题目|题|陈述|声明|主张|论断|事实|断言|步骤|资料|片段|段落|文档|上下文|第)"
)
_DIGITS: Final = r"(?:\d{1,3}|[一二三四五六七八九十]{1,3})"
_NUMBER: Final = re.compile(
    rf"[ \t]{{0,40}}{_MARKS}(?:"
    rf"{_NOUN}[ \t]{{0,2}}[#№.]?[ \t]?[(\[]?(?P<named>{_DIGITS})[)\]]?[ \t]?(?:题|条|个"
    rf"|步|段|项|点|篇|份)?{_MARKS}[ \t]{{0,2}}(?:[:.)、：．）]|[-–—][ \t]|[–—]{{1,2}}|$){_MARKS}"
    rf"|[(（\[【](?P<braced>{_DIGITS})[)）\]】][.:、]?"
    r"|(?P<plain>\d{1,3})[ \t]?(?:[.．](?!\d)|[)、）]|[:：](?!\d)|[ \t][-–—][ \t])"
    r"|(?P<chinese>[一二三四五六七八九十]{1,3})、"
    r"|(?P<circled>[\u2460-\u2473])[.、:]?"
    rf")",
    _EN,
)
_UNNUMBERED: Final = re.compile(
    rf"[ \t]{{0,40}}{_MARKS}(?:question|q|claim|statement|问题|问|陈述|声明){_MARKS}[ \t]?[:：]", _EN
)
_LETTER: Final = re.compile(rf"[ \t]{{0,40}}{_MARKS}\(?(?P<letter>[a-pA-P])[.)][ \t]")
_BULLET: Final = re.compile(r"[ \t]{0,40}(?:[-*+–—][ \t]+|[•·‣◦●○▪■►※][ \t]{0,4})(?:\[[ xX]?\][ \t])?")
_INLINE: Final = re.compile(r"(?:(?<=[\s。;；.?？!！:：])|(?<=\A))[(（]?(\d{1,2})[.)、）．](?!\d)[ \t]{0,4}")
_ANSWER: Final = re.compile(
    rf"[ \t]{{0,40}}{_MARKS}(?:answers?|a|ans|答案|答|回答|参考答案)"
    rf"(?:[ \t]?\d{{0,3}}{_MARKS}[ \t]?[:：]|\d{{1,3}}[.)、])",
    _EN,
)
_RULE: Final = re.compile(r"[ \t]*[-*_=~`]{3,}\w{0,12}[ \t]*\Z")
_PREAMBLE: Final = re.compile(
    r"[ \t*_#]*(?:sure|certainly|of course|absolutely|okay|ok|great|here(?:'s|’s| is| are)\b"
    r"|below (?:is|are)\b"
    r"|the following (?:is|are)\b|following (?:is|are)\b|based on (?:the|this|your)\b[^?？]{0,200}[:：.]\s*\Z"
    r"|i(?:'ve| have) (?:written|prepared|created|generated|extracted)"
    r"|以下(?:是|为)|下面(?:是|为)|好的|当然|没问题|根据(?:上述|以上|所给|提供的|给定的?|文本"
    r"|上下文)[^?？]{0,80}[:：]\s*\Z)",
    _EN,
)
_CLOSING: Final = re.compile(
    r"[ \t*_(（]*(?:let me know|please let me|i hope|hope (?:this|these|it)|feel free|these (?:questions|claims"
    r"|statements) (?:are|cover|should|can|test|aim|all)"
    r"|note that|note:|please note|if you (?:need|want|would|have)|would you like|all (?:of )?(?:these"
    r"|the) (?:questions|claims)"
    r"|希望(?:这些|以上|对|能)|如果(?:您|你)?(?:需要|还有|有)|如需|如有|以上(?:是|为|问题|就是|内容|陈述)|请(?:告诉"
    r"|让)我|注[:：]|这些问题)",
    _EN,
)
_SUMMING_UP: Final = re.compile(
    r"[ \t*_#-]*(?:overall|in (?:summary|conclusion|total)|summary|final|conclusion|to sum up|total|总体|总结|综上"
    r"|总之|最终|合计)",
    _EN,
)
_ENDED: Final = re.compile(r"[.?!:;。？！：；)\]\"”」…][*_ \t]*\Z")
_WIDE: Final = 0x2E80
_TAIL: Final = 20
_MOST_INLINE: Final = 200


@dataclass(frozen=True, slots=True)
class Lines:
    """Entries with their numbers (None where they have none), and how they are marked."""

    entries: tuple[tuple[int | None, str], ...]
    form: Literal["numbered", "bulleted", "lines"]


def listed_lines(text: str) -> Lines:
    r"""The entries of the list in `text`, in the order they stand; blank entries are left out.

    >>> listed_lines("Here are two:\n1. Who?\n2) Where\n   exactly?\n\nLet me know!").entries
    ((1, 'Who?'), (2, 'Where exactly?'))
    """
    lines = text.splitlines()
    numbered = [_NUMBER.match(line) for line in lines]
    bulleted = [_BULLET.match(line) for line in lines]
    if any(numbered) and not _only_headings(lines, numbered, bulleted):
        found = _marked(lines, numbered)
        inline = _inline(found[0][1], 2) if len(found) == 1 and found[0][0] == 1 else None
        return Lines(_clean(inline or found), "numbered")
    if any(bulleted):
        kept = [place for place, mark in enumerate(numbered) if not mark]
        return Lines(_clean(_marked([lines[place] for place in kept], [bulleted[place] for place in kept])), "bulleted")
    if any(lettered := _lettered(lines)):
        return Lines(_clean(_marked(lines, lettered)), "numbered")
    if any(labelled := [_UNNUMBERED.match(line) for line in lines]):
        return Lines(_clean(_marked(lines, labelled)), "lines")
    if inline := _inline(text, 1):
        return Lines(_clean(inline), "numbered")
    return Lines(_clean([(None, line) for line in _plain(lines)]), "lines")


def _lettered(lines: Sequence[str]) -> list[re.Match[str] | None]:
    """The lines that begin with a, b, c ... in order; none of them where there is only one."""
    marks = [_LETTER.match(line) for line in lines]
    letters = "".join(mark["letter"].lower() for mark in marks if mark)
    return marks if len(letters) > 1 and "abcdefghijklmnop".startswith(letters) else [None] * len(lines)


def segments(text: str) -> list[tuple[int, str]]:
    r"""Each numbered line with all that follows it, up to the next number or a line that sums up.

    >>> segments("1. Paris is big.\nVerdict: YES\n\n2. Rome is small.\n\nOverall: half of it.")
    [(1, 'Paris is big.\nVerdict: YES\n'), (2, 'Rome is small.\n')]
    """
    found: list[tuple[int, list[str]]] = []
    closed = True
    for line in text.splitlines():
        mark = _NUMBER.match(line)
        number = number_of(mark) if mark else None
        if mark and number is not None:
            found.append((number, [line[mark.end() :].strip()]))
            closed = False
        else:
            closed = closed or bool(_SUMMING_UP.match(line))
            if not closed:
                found[-1][1].append(line)
    return [(number, "\n".join(lines)) for number, lines in found]


def number_of(match: re.Match[str]) -> int | None:
    """The number that a mark of an entry holds."""
    groups = match.groupdict()
    said = next((groups[name] for name in ("named", "braced", "plain", "chinese") if groups.get(name)), "")
    if groups.get("circled"):
        return ord(groups["circled"]) - 0x245F
    if said.isascii() and said.isdigit():
        return int(said)
    return _chinese_number(said) if said else None


def _chinese_number(said: str) -> int:
    """The value of numerals up to 99, such as `十二`."""
    digits = "一二三四五六七八九"
    tens, ten, ones = said.partition("十")
    high = digits.find(tens[:1]) + 1 if tens else 1
    low = digits.find(ones[:1]) + 1 if ones else 0
    return high * 10 + low if ten else digits.find(said[:1]) + 1


def _only_headings(
    lines: Sequence[str], numbered: Sequence[re.Match[str] | None], bulleted: Sequence[re.Match[str] | None]
) -> bool:
    """Whether each numbered line is a heading of bullets (`1. Easy:`), which are the entries then."""
    heads = [line for line, match in zip(lines, numbered, strict=True) if match]
    return any(bulleted) and all(line.rstrip(" *_\t").endswith((":", "：")) for line in heads)


def _marked(lines: Sequence[str], marks: Sequence[re.Match[str] | None]) -> list[tuple[int | None, str]]:
    """Each marked line with the lines that carry it on; what stands before the first mark is a preamble."""
    found: list[tuple[int | None, list[str]]] = []
    after_blank, closed = False, True
    for line, mark in zip(lines, marks, strict=True):
        if mark:
            found.append((number_of(mark), [line[mark.end() :].strip()]))
            closed = False
        elif not line.strip():
            after_blank = True
            continue
        elif not closed and _carries_on(line, after_blank=after_blank, empty=found[-1][1] == [""]):
            found[-1][1].append(line.strip())
        else:
            closed = True
        after_blank = False
    return [(number, _joined(parts)) for number, parts in found]


def _carries_on(line: str, *, after_blank: bool, empty: bool) -> bool:
    if _RULE.match(line) or _CLOSING.match(line) or _ANSWER.match(line) or line.lstrip().startswith("#"):
        return False
    return empty or not after_blank or line.startswith(("  ", "\t"))


def _joined(parts: Sequence[str]) -> str:
    """Lines as one, with a blank between two unless one of the characters that meet is Han or full-width."""
    pieces: list[str] = []
    for part in parts:
        if pieces and part and ord(pieces[-1][-1]) < _WIDE and ord(part[0]) < _WIDE:
            pieces.append(" ")
        if part:
            pieces.append(part)
    return "".join(pieces)


def _inline(text: str, first: int) -> list[tuple[int | None, str]]:
    """Entries that stand in one line, numbered from 1; the mark of the first is cut off already where `first` is 2."""
    marks: list[re.Match[str]] = []
    wanted = first
    for match in _INLINE.finditer(text):
        if int(match[1]) == wanted and wanted <= _MOST_INLINE:
            marks.append(match)
            wanted += 1
    if wanted <= 2:
        return []
    starts = [match.end() for match in marks]
    ends = [*(match.start() for match in marks[1:]), len(text)]
    found: list[tuple[int | None, str]] = [(1, text[: marks[0].start()])] if first > 1 else []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), first):
        found.append((number, text[start:end].strip(" \t\n;；,，")))
    return found


def _plain(lines: Sequence[str]) -> Iterator[str]:
    """Lines without marks: those of preamble and closing left out, wrapped ones joined."""
    kept = [line.strip() for line in lines if line.strip() and not _RULE.match(line)]
    entry: list[str] = []
    for place, line in enumerate(kept):
        if _is_around(line, first=place == 0):
            continue
        if entry and line[0].islower() and not _ENDED.search(entry[-1][-_TAIL:]):
            entry.append(line)
            continue
        if entry:
            yield _joined(entry)
        entry = [line]
    if entry:
        yield _joined(entry)


def _is_around(line: str, *, first: bool) -> bool:
    """Whether a line introduces or closes the list: headings, `Sure, ...`, whatever ends with a colon."""
    bare = line.rstrip(" *_\t")
    if bare.endswith((":", "：")) or line.startswith("#") or _ANSWER.match(line):
        return True
    return bool(_CLOSING.match(line)) or (first and bool(_PREAMBLE.match(line)) and not bare.endswith(("?", "？")))


_BOLD: Final = re.compile(r"(?<![\w*])(\*{2,3}|_{2,3})(?=[^\s*_])([^*_\n]{1,2000}?)(?<=\S)\1(?![\w*])")
_LABEL: Final = re.compile(
    rf"{_MARKS}(?:question|claim|statement|问题|陈述|声明)[ \t]?\d{{0,3}}{_MARKS}[ \t]?[:：]{_MARKS}[ \t]{{0,4}}", _EN
)
_QUOTES: Final = (('"', '"'), ("“", "”"), ("「", "」"), ("『", "』"))


def _clean(found: Sequence[tuple[int | None, str]]) -> tuple[tuple[int | None, str], ...]:
    cleaned = ((number, clean_entry(entry)) for number, entry in found)
    return tuple((number, entry) for number, entry in cleaned if entry)


def clean_entry(entry: str) -> str:
    """An entry without the marks of a label, of bold, and of quotes around all of it.

    >>> clean_entry("**Question:** “Who wrote **Emma**?”")
    'Who wrote Emma?'
    """
    entry = _LABEL.sub("", entry.strip(), count=1) if _LABEL.match(entry.strip()) else entry
    entry = _BOLD.sub(r"\2", entry).strip()
    entry = entry.removeprefix("**").removesuffix("**").strip()
    for opening, closing in _QUOTES:
        inside = entry[1:-1]
        if len(entry) > 2 and entry[0] == opening and entry[-1] == closing and not {opening, closing} & set(inside):
            return inside.strip()
    return entry
