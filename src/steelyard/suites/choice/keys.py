"""Reads options and keys as people write them into sheets, and refuses ambiguous ones.

A sheet need not write the two options of true-or-false questions (判断题) if it marks them. It does so in a column
of the question's kind: 题型 with 判断, 判断题, 是非题, `true/false` ... A key is then read by what it says: √, 对
and T are the option that says yes, ×, 错 and F the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from steelyard.data.parquet import ClassName
from steelyard.normal_form import nfkc

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_OPTIONS: Final = len(LETTERS)

_LABEL: Final = re.compile(r"\s*[(（]?\s*([A-Za-zＡ-Ｚａ-ｚ])\s*[)）.．:：、,，]\s*")
_AROUND: Final = re.compile(r"[\s()\[\]{}<>【】《》〈〉「」.。:、,;/|&'\"`*]+")
_NUMBER: Final = re.compile(r"[\s(\[【]*(\d{1,2})(?:\.0+)?[\s)\]】.、]*")
_MOST_DIGITS: Final = 9
"""Digits of a number; Python refuses to convert more than 4,300."""
_BETWEEN: Final = re.compile(r"[\s,、;/|]+")
_SEVERAL: Final = re.compile(
    r"多选|多项选择|不定项|X\s?型题|multiple[\s_-]*(?:answer|response|select)|multi[\s_-]*(?:answer|select)|"
    r"(?:select|choose|mark|check|tick)\s+(?:all|two|three|any)|(?:all|any)\s+that\s+apply",
    re.IGNORECASE,
)
_ONE: Final = re.compile(
    r"单选|单项选择|[AB]\d?\s?型题|single[\s_-]*(?:choice|answer|select)|"
    r"(?:select|choose|mark|check|tick)\s+(?:only\s+|exactly\s+)?one\s+(?:answer|option|choice)",
    re.IGNORECASE,
)


def folded(text: str) -> str:
    """A text for comparison: without width, case and differences in blanks."""
    return " ".join(nfkc(text).casefold().split())


def says_several(*texts: str) -> bool | None:
    """Whether the kind, group or text of a question says that several options may be right; None where they do not say.

    >>> says_several("多选题"), says_several("Select one answer."), says_several("law", "Which are prime?")
    (True, False, None)
    """
    several, one = (any(pattern.search(text) for text in texts) for pattern in (_SEVERAL, _ONE))
    return several if several != one else None


def cut_labels(options: Sequence[str]) -> Sequence[str]:
    """Strip the options' own letters ("A. "), if every option that is not blank has its right one.

    >>> cut_labels(["A. 天", "B：地"]), cut_labels(["A. 天", "地"])
    (['天', '地'], ['A. 天', '地'])
    """
    if not options or not _LABEL.match(options[0]):
        return options
    matches = [(letter, _LABEL.match(option)) for letter, option in zip(LETTERS, options, strict=False) if option]
    if not all(match and nfkc(match[1]).upper() == letter for letter, match in matches):
        return options
    return [option[match.end() :] if (match := _LABEL.match(option)) else option for option in options]


def read_key(text: str, options: Sequence[str], labelled: Sequence[str] = (), *, count_from: int = 1) -> str:
    """Read a key as sorted letters.

    A single letter wins over everything else. A key that may be read in two ways (the number 2 where another option's
    text is "2") is refused.

    Args:
        text: a letter in any width, case, brackets; several letters; numbers; or an option's text.
        options: the texts of the options, the first is A.
        labelled: the same with labels of their own ("A. 天"), where they had some.
        count_from: the number that means A: 1, or 0 in tables that are known to count so.

    Raises:
        ValueError: it names no option, or may name two; the message says which.

    >>> options = ["乾", "坤", "震", "巽"]
    >>> [read_key(text, options) for text in ("B", "（ｂ）", "2", "坤", "C、A", "ac")]
    ['B', 'B', 'B', 'B', 'AC', 'AC']
    """
    valid = LETTERS[: len(options)]
    if len(text) == 1 and text in valid:
        return text
    if not text:
        raise ValueError("the key is blank")
    wide = nfkc(text).upper()
    letters = "".join(sorted(_AROUND.sub("", wide)))
    as_letters = letters if letters and set(letters) <= set(valid) and len(set(letters)) == len(letters) else ""
    if len(as_letters) == 1:
        return as_letters
    as_texts = _same_text(text, valid, (options, labelled))
    readings = sorted({reading for reading in (as_letters, _numbers(wide, valid, count_from), *as_texts) if reading})
    if len(readings) == 1:
        return readings[0]
    if readings:
        raise ValueError(f"the key {text[:40]!r} may mean {' or '.join(readings)}; write the letter")
    hint = "; numbers count from 1: write letters where they count from 0" if wide.strip() == "0" else ""
    raise ValueError(f"the key {text[:40]!r} is neither a letter {valid[0]} to {valid[-1]} nor an option's text{hint}")


def _same_text(text: str, valid: str, texts: Sequence[Sequence[str]]) -> set[str]:
    """Letters of the options with this text; options that differ in case or width count only where none is equal."""
    pairs = [(letter, option) for options in texts for letter, option in zip(valid, options, strict=False)]
    folded_text = folded(text)
    return {letter for letter, option in pairs if option == text} or {
        letter for letter, option in pairs if folded(option) == folded_text
    }


def _numbers(text: str, valid: str, count_from: int) -> str:
    single = _NUMBER.fullmatch(text)
    parts = [single[1]] if single else _BETWEEN.split(text.strip())
    if any(len(part) > _MOST_DIGITS for part in parts):
        return ""
    if not all(part.isascii() and part.isdigit() and 0 <= int(part) - count_from < len(valid) for part in parts):
        return ""
    return "".join(sorted({valid[int(part) - count_from] for part in parts}))


def key_of_label(text: str, options: Sequence[str], labels: Sequence[str]) -> str:
    """The letter of a key that names an option by the label that the dataset gives it.

    Labels that are the letters in order are left to `read_key`. With all other labels a number is a label, and no
    position.

    Raises:
        ValueError: it is neither a label nor an option's text, or may be two.

    >>> key_of_label("2", ["天", "地"], ["1", "2"]), key_of_label("0", ["天", "地"], ["0", "1"])
    ('B', 'A')
    """
    valid = LETTERS[: len(options)]
    letters = _same_text(text, valid, (labels,)) or _same_text(text, valid, (options,))
    if len(letters) == 1:
        return next(iter(letters))
    if letters:
        raise ValueError(f"the key {text[:40]!r} may mean {' or '.join(sorted(letters))}")
    raise ValueError(f"the key {text[:40]!r} is neither a label ({', '.join(labels)[:80]}) nor an option's text")


def key_of_class(value: ClassName, options: Sequence[str], labelled: Sequence[str] = ()) -> str:
    """The letter of a class: by its name, where that is a letter or an option's text, else by its number from 0.

    Where names are numbers, the class's own number is used, which always counts from 0.

    Raises:
        ValueError: there are fewer options.

    >>> key_of_class(ClassName.of(2, ["A", "B", "C"]), ["乾", "坤", "震"])
    'C'
    >>> key_of_class(ClassName.of(0, ["0", "1"]), ["no", "yes"]), key_of_class(ClassName.of(0, ["n", "y"]), ["y", "n"])
    ('A', 'B')
    """
    name = value.strip()
    if not name.isdigit():
        try:
            return read_key(name, options, labelled)
        except ValueError:
            pass  # "entailment" is not an option's text: the number of the class says which it is
    if value.number >= len(options):
        raise ValueError(f"the key is class {value.number} ({name[:40]!r}), and there are {len(options)} options")
    return LETTERS[value.number]


_CHINESE: Final = frozenset(
    {"判断", "判断题", "是非", "是非题", "正误", "正误题", "正误判断", "判断正误", "对错", "对错题", "判断对错"}
)
_ENGLISH: Final = frozenset(
    {"true/false", "true or false", "true-false", "true false", "t/f", "tf", "truefalse", "yes/no"}
)
_YES: Final = frozenset({"对", "正确", "是", "√", "✓", "✔", "☑", "t", "true", "y", "yes", "right", "correct"})
_NO: Final = frozenset(
    {"错", "错误", "不对", "不正确", "否", "非", "×", "✗", "✘", "x", "☒", "f", "false", "n", "no", "wrong", "incorrect"}
)


def judged_options(kind: str) -> tuple[str, ...]:
    """The two options that a question of this kind has where its row gives none; none for every other kind.

    >>> judged_options("判断题"), judged_options("True/False"), judged_options("单选题")
    (('对', '错'), ('True', 'False'), ())
    """
    folded_kind = _plain(kind)
    if folded_kind in _CHINESE:
        return ("对", "错")
    return ("True", "False") if folded_kind in _ENGLISH else ()


def judged_key(key: str, options: Sequence[str]) -> str:
    """The letter of the option that means the same as the key (yes or no); empty if the key is neither.

    >>> judged_key("√", ["正确", "错误"]), judged_key("F", ["True", "False"]), judged_key("A", ["对", "错"])
    ('A', 'B', '')
    """
    for words in (_YES, _NO):
        if _plain(key) in words:
            letters = [letter for letter, option in zip("AB", options, strict=False) if _plain(option) in words]
            return letters[0] if len(letters) == 1 and len(options) == 2 else ""
    return ""


def _plain(text: str) -> str:
    return nfkc(text).casefold().strip(" ()[]【】<>.。、")
