"""Prepares a reply for parsing without moving any of its characters.

`fold` writes plain letters and marks for full-width, circled and bold ones; `clean` also blanks reasoning, markup and
copied examples, and keeps the beginning and the end of a long reply. Removed text is replaced by spaces or lies
outside the window, so each offset maps back to the original reply. `blocks_of` finds fenced blocks.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from steelyard.normal_form import nfkc
from steelyard.replies.grammar import lexicon, pattern, words

_MARKDOWN: Final = "*`#"
_INVISIBLE: Final = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00a0\u3000\0"
_UNSEEN: Final = "\ufeff\u200b\u200c\u200d\u2060"
"""Marks of width zero: readers of a reply do not see them around it, and SQL engines refuse them."""
_QUOTES: Final = MappingProxyType({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "『": '"', "』": '"', "İ": "i"})
PICTURES: Final = re.compile(
    "[✨\U0001f300-\U0001f31e\U0001f320-\U0001f44c\U0001f44f-\U0001f533\U0001f536-\U0001f644\U0001f646-\U0001f6aa"
    "\U0001f6ac-\U0001f6d0\U0001f6d2-\U0001f7df\U0001f7ec-\U0001f946\U0001f94a-\U0001faff]\ufe0f?"
)
"""Pictures that say nothing of an answer: no star, thumb, medal, coloured circle or square, no sign of a ban."""
_MARKS: Final = MappingProxyType({"،": ",", "؛": ";", "؟": "?", "۔": ".", "।": ".", "॥": "."})
"""Marks of Arabic, Urdu and the scripts of India."""
_COMPATIBLE: Final = ((0xFF01, 0xFF5F), (0x24B6, 0x24EA), (0x1D400, 0x1D800))
_CAPITALS_IN_SHAPES: Final = (0x1F110, 0x1F130, 0x1F150, 0x1F170)
_ALPHABET: Final = 26
_HEAD: Final = 4_000
_TAIL: Final = 8_000
_MOST_TURNS: Final = 50
_MOST_BLOCKS: Final = 1_000
"""Blocks of reasoning; a reply with more repeats itself without end."""
_SIGNS_OF_REASONING: Final = ("<", "◁", "[", _BARE_FINAL := "assistantfinal")
"""What each mark of reasoning has one of; the last is what servers leave of gpt-oss that drop its special tokens."""
_BARE_ANALYSIS: Final = re.compile(rf"\s*analysis(?=[A-Z][\w'’-]*+[,:]?\s++[\w\"'“‘`$\\(])(?!(?s:.*){_BARE_FINAL})")
"""Such a reply that broke off in its reasoning: `analysisWe need to`; `analysisResult = 5` is code."""
_REASONING_BEGINS: Final = 20_000
_REASONING_ENDS: Final = 100_000
"""Characters at the beginning and at the end in which marks of reasoning are looked for: no answer is longer."""
_TURN_WITHIN: Final = 30_000
"""Characters of an answer within which the end of the model's turn is looked for."""
_HEADING_WITHIN: Final = 40_000
"""Characters at the end in which a heading of the answer is looked for."""
_MOST_BLANKS: Final = 80
_LONG_BLANKS: Final = re.compile(rf"\s{{{_MOST_BLANKS + 1},}}+")
_EXAMPLE_WORDS: Final = ("例", "xample", "XAMPLE")
SQL_WORDS: Final = frozenset(
    {
        "sql", "sqlite", "sqlite3", "duckdb", "mysql", "mariadb", "postgres", "postgresql", "psql", "pgsql", "plsql",
        "tsql", "t-sql", "mssql", "ansi",
    }
)  # fmt: skip
JSON_WORDS: Final = frozenset({"json", "jsonc", "json5"})
_MOST_FENCES: Final = 100
"""A reply with more repeats itself without end."""
_KNOWN_WORDS: Final = "|".join(sorted((re.escape(word) for word in SQL_WORDS | JSON_WORDS), key=len, reverse=True))
_FENCE: Final = re.compile(
    rf"(?P<mark>`{{3,}}|~{{3,}})[ \t]*+"
    rf"(?:(?P<word>{_KNOWN_WORDS})(?![\w-])[ \t]*+(?:\w++=[^\n`]*+)?(?:\r?\n)?|"
    rf"(?!(?:select|with|values|from|insert|create)\b)(?P<other>[A-Za-z][\w+.#-]*+)[^\n`]*+\n|\r?\n)?",
    re.IGNORECASE,
)


def _pairs() -> Iterator[tuple[int, str]]:
    for first, end in _COMPATIBLE:
        for code in range(first, end):
            plain = nfkc(chr(code))
            if len(plain) == 1:
                yield code, plain
    for first in _CAPITALS_IN_SHAPES:
        for number in range(_ALPHABET):
            yield first + number, chr(ord("A") + number)
    for sign in _MARKDOWN + _INVISIBLE:
        yield ord(sign), " "
    for sign, plain in (*_QUOTES.items(), *_MARKS.items()):
        yield ord(sign), plain


def fold(text: str) -> str:
    """`text` with plain letters and marks in place of full-width, circled and bold ones; its length is unchanged.

    Markdown emphasis and invisible characters become spaces.

    >>> fold("Ｂ） Ⓒ 𝐃 **A**")
    'B) C D   A  '
    """
    return text.translate(_FOLDED)


@dataclass(frozen=True, slots=True)
class CleanedReply:
    """The readable part of a reply.

    Args:
        text: folded; at most 12,000 characters, the beginning and the end of a longer reply.
        offset: how far its beginning lies from the reply's.
        gap: how many characters were left out in the middle.
        unfinished: whether the reply broke off inside its reasoning.
        cuts: (position in the text, characters left out there and before) of each run of blanks that was shortened.
    """

    text: str
    offset: int
    gap: int
    unfinished: bool
    cuts: tuple[tuple[int, int], ...] = ()

    def with_short_blanks(self) -> CleanedReply:
        """The same with at most 80 blanks in a row: phrases that allow any number between words try each of them.

        >>> short = clean("A" + 1_000 * " " + "B").with_short_blanks()
        >>> len(short.text), short.span(81, 82)
        (82, (1001, 1002))
        """
        cuts, pieces, position, left_out, length = [], [], 0, 0, 0
        for run in _LONG_BLANKS.finditer(self.text):
            pieces.append(self.text[position : run.start() + _MOST_BLANKS])
            length += run.start() + _MOST_BLANKS - position
            left_out += run.end() - run.start() - _MOST_BLANKS
            cuts.append((length, left_out))
            position = run.end()
        if not cuts:
            return self
        return replace(self, text="".join([*pieces, self.text[position:]]), cuts=tuple(cuts))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same characters in the reply as it came, as (start, end)."""
        return self._original(start), self._original(end - 1) + 1 if end > start else self._original(start)

    def _original(self, offset: int) -> int:
        if self.cuts:
            offset += next((left_out for position, left_out in reversed(self.cuts) if position <= offset), 0)
        return offset + self.offset + (self.gap if self.gap and offset >= _HEAD else 0)


def clean(reply: str, *, pictures: bool = False) -> CleanedReply:
    """Fold `reply`, blank its reasoning, markup and copied example, and keep its beginning and end.

    Args:
        reply: any text.
        pictures: keep pictures such as 🎉, which else are ornaments.
    """
    visible, unfinished = without_reasoning(reply)
    begun = _without_heading(_without_turn_begin(visible.lstrip())).lstrip()
    offset = len(visible) - len(begun)
    text = _own_turn(begun).rstrip()
    gap = max(0, len(text) - _HEAD - _TAIL)
    if gap:  # folding costs more than all else on a long reply, so only the window is folded
        text = text[:_HEAD] + text[_HEAD + gap :]
    text = fold(text)
    if not pictures and not text.isascii():
        text = PICTURES.sub(blanked, text)
    if "~~" in text or "</" in text:
        text = pattern("page", "struck").sub(blanked, text)
    if any(sign in text for sign in "<\\_[【"):
        text = pattern("page", "markup").sub(blanked, text)
    if any(word in text for word in _EXAMPLE_WORDS):
        text = pattern("page", "example").sub(blanked, text)
    if not gap:  # without the blanks of tokens around it
        offset += len(text) - len(text.lstrip())
        text = text.strip()
    return CleanedReply(text, offset, gap, unfinished)


def blanked(match: re.Match[str]) -> str:
    """As many blanks as a match has characters, for `sub`."""
    return " " * (match.end() - match.start())


def _without_turn_begin(text: str) -> str:
    """Blank what a chat template left in front of the reply: `] B`, `assistant⏎B`."""
    match = pattern("page", "turn_begin").match(text)
    return " " * match.end() + text[match.end() :] if match else text


def _without_heading(text: str) -> str:
    """Blank the text under a heading such as `思考过程：`, where a heading of the answer follows it."""
    opening = text[:120]
    start = len(opening) - len(opening.lstrip(" \t\r\n*#_"))
    if not pattern("page", "reasoning_heading").match(fold(text[start : start + 60])):
        return text
    shown = max(0, len(text) - _HEADING_WITHIN)
    ends = [shown + match.end() for match in pattern("page", "answer_heading").finditer(fold(text[shown:]))]
    return " " * ends[-1] + text[ends[-1] :] if ends else text


def _own_turn(text: str) -> str:
    """The text before the end of the model's turn; an end mark with no text before it is ignored."""
    if "<" not in text and "[INST]" not in text and ":" not in text and "：" not in text:
        return text
    start = 0
    for match in islice(pattern("page", "turn_end").finditer(text, 0, _TURN_WITHIN), _MOST_TURNS):
        if pattern("page", "markup").sub(" ", text[start : match.start()]).strip():
            return text[: match.start()]
        start = match.end()
    return text


def without_reasoning(text: str) -> tuple[str, bool]:
    """Blank each block of reasoning, and say whether the last one is unfinished.

    One without its opening mark begins the reply, one without its closing mark ends it. Of a reply of more than 120,000
    characters that holds brackets, what lies between the first 20,000 and the last 100,000 is blanked as well.

    >>> without_reasoning("<think>B?</think>A"), without_reasoning("A<think>B?")
    (('                 A', False), ('A         ', True))
    """
    if _BARE_ANALYSIS.match(text):
        return " " * len(text), True
    if not any(sign in text for sign in _SIGNS_OF_REASONING):
        return text, False
    ends, gap = _ends(text)
    shown, unfinished = _blanked(ends)
    return shown[:_REASONING_BEGINS] + " " * gap + shown[_REASONING_BEGINS:], unfinished


def _ends(text: str) -> tuple[str, int]:
    """The beginning and the end of a text, and how many characters were left out between them."""
    gap = max(0, len(text) - _REASONING_BEGINS - _REASONING_ENDS)
    return (text[:_REASONING_BEGINS] + text[-_REASONING_ENDS:] if gap else text), gap


def _blanked(text: str) -> tuple[str, bool]:
    unfinished = False
    lowered = _lowered(text)
    for opening, closing in lexicon("markup")["reasoning"]["pairs"]:
        pieces, position = [], 0
        first, last = lowered.find(opening), lowered.rfind(closing)
        if last >= 0 and (first < 0 or first > last):
            position = last + len(closing)
            pieces.append(" " * position)
        for _ in range(_MOST_BLOCKS):
            if (start := lowered.find(opening, position)) < 0:
                break
            end = lowered.find(closing, start)
            unfinished = unfinished or end < 0
            stop = len(text) if end < 0 else end + len(closing)
            pieces += [text[position:start], " " * (stop - start)]
            position = stop
        else:
            pieces.append(" " * (max(last + len(closing), position) - position))
            position = max(last + len(closing), position)
        if pieces:
            text = "".join([*pieces, text[position:]])
            lowered = _lowered(text)
    return text, unfinished


def answer_part(text: str) -> str:
    r"""The answer in a text: behind the reasoning and the token that it begins with, before those that end the turn.

    Servers that part neither send both. A closing mark of reasoning without its opening counts at the end or the
    beginning of a line, as templates write the opening one; other marks, and tokens elsewhere or alone, may be what was
    asked for. A text without any is returned as it is.

    >>> answer_part("<think>B?</think>\n\nA"), answer_part("B?\n</think>A"), answer_part("<think>B?")
    ('A', 'A', '')
    >>> answer_part("Write <think> in front."), answer_part("Use </think> here"), answer_part(" A\n")
    ('Write <think> in front.', 'Use </think> here', ' A\n')
    >>> answer_part("A<|im_end|>\n"), answer_part("<|im_end|>"), answer_part("<s>old</s>")
    ('A', '<|im_end|>', '<s>old</s>')
    """
    if _BARE_ANALYSIS.match(text):
        return ""
    if not any(sign in text for sign in _SIGNS_OF_REASONING):
        return text
    lowered = _lowered(text)
    begun = len(lowered) - len(lowered.lstrip())
    for opening, closing in lexicon("markup")["reasoning"]["pairs"]:
        end, first = lowered.find(closing), lowered.find(opening)
        answer = text[end + len(closing) :] if end >= 0 else ""
        is_bare = closing == _BARE_FINAL and answer and lowered.startswith("analysis", begun)
        at_line = first < 0 and answer.strip() and "\n" in (text[end - 1 : end] or "\n", answer[0])
        if first == begun or is_bare or at_line:
            text = answer.strip()
            break
    begun = next((len(mark) for mark in words("answer_token") if text.startswith(mark)), 0)
    text = text[begun:].lstrip() if begun else text
    tokens = tuple(mark for mark in words("end_token") if mark != "</s>" or "<s>" not in text)  # a tag of HTML
    end = len(text.rstrip())
    while text.endswith(tokens, 0, end):  # by positions: a text may be nothing but tokens
        end -= next(len(mark) for mark in tokens if text.endswith(mark, 0, end))
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end] if 0 < end < len(text.rstrip()) else text


def answer_span(text: str) -> tuple[int, int, bool]:
    """The position of the part that is not reasoning, and whether the reply broke off inside reasoning.

    It begins behind the last mark that closes reasoning, and ends before one that opens it and is never closed. Marks
    of width zero at its ends are left out. Of a reply of more than 120,000 characters marks are looked for in the first
    20,000 and the last 100,000.

    >>> answer_span("<think>a</think>b"), answer_span("<think>a")
    ((16, 17, False), (0, 0, True))
    """
    if _BARE_ANALYSIS.match(text):
        return 0, 0, True
    if not any(sign in text for sign in _SIGNS_OF_REASONING):
        return (*_visible(text, 0, len(text)), False)
    ends, gap = _ends(text)
    lowered = _lowered(ends)
    pairs = lexicon("markup")["reasoning"]["pairs"]
    closed = (at + len(closing) for _, closing in pairs if (at := lowered.rfind(closing)) >= 0)
    start = max(closed, default=0)
    opened = [at for opening, _ in pairs if (at := lowered.find(opening, start)) >= 0]
    begin, end = (at + gap if at > _REASONING_BEGINS else at for at in (start, min(opened, default=len(ends))))
    return (*_visible(text, begin, end), bool(opened))


def _visible(text: str, start: int, end: int) -> tuple[int, int]:
    """The part between the marks of width zero, and blanks, at its ends."""
    begun = text[start:end].lstrip().lstrip(_UNSEEN + string.whitespace)  # the first is ten times as fast
    return end - len(begun), end - len(begun) + len(begun.rstrip().rstrip(_UNSEEN + string.whitespace))


def _lowered(text: str) -> str:
    """`text` in lower case; as it is where a few letters would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


class Block(NamedTuple):
    """One fenced block: its word in lower case ("" is none), the range of its content, and whether it is closed."""

    word: str
    start: int
    end: int
    closed: bool


def blocks_of(text: str, start: int, end: int) -> Iterator[Block]:
    r"""The first 100 fenced blocks between `start` and `end`; one that is not closed runs to the end.

    >>> text = "so: ```sql SELECT 1``` or\n~~~\nx"
    >>> [(block.word, text[block.start : block.end], block.closed) for block in blocks_of(text, 0, len(text))]
    [('sql', 'SELECT 1', True), ('', 'x', False)]
    """
    position = start if "```" in text or "~~~" in text else end
    for _ in range(_MOST_FENCES):
        if (opening := _FENCE.search(text, position, end)) is None:
            return
        closing = text.find(opening["mark"], opening.end(), end)
        stop = end if closing < 0 else closing
        word = (opening["word"] or opening["other"] or "").lower()
        yield Block(word, opening.end(), stop, closing >= 0)
        position = end if closing < 0 else closing + len(opening["mark"])


def unfenced(text: str) -> str:
    r"""The content of a text that is one fenced block and nothing else; any other text as it is.

    >>> unfenced("```sql\nSELECT 1\n```"), unfenced("SELECT '```'")
    ('SELECT 1', "SELECT '```'")
    """
    stripped = text.strip()
    if not stripped.startswith(("```", "~~~")):
        return text
    block = next(blocks_of(stripped, 0, len(stripped)))
    mark = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
    content = stripped[block.start : block.end].strip()
    return content if content and stripped[block.end :] == mark else text


_FOLDED: Final[Mapping[int, str]] = MappingProxyType(dict(_pairs()))
