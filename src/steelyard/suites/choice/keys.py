"""Reads options and keys as people write them into sheets, and refuses ambiguous ones.

A sheet need not write the two options of true-or-false questions (判断题): its kind (判断题, `true/false`) says that
there are two, or its key does (√, 对, True). Such a key is read by what it says: √, 对 and T are the option that says
yes, ×, 错 and F the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

from steelyard.data.parquet import ClassName
from steelyard.normal_form import nfkc
from steelyard.replies.answer_key import key_of_alternatives

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_OPTIONS: Final = len(LETTERS)

LABEL_BEGINS: Final = r"[(（【\[]?\s*([A-Za-zＡ-Ｚａ-ｚ])\s*"
LABEL_ENDS: Final = r")）】\].．:：、"
"""Signs of which one ends an option's label, for a class of a regular expression: `A.`, `(B)`, `【C】`."""
_LABEL: Final = re.compile(rf"\s*{LABEL_BEGINS}[{LABEL_ENDS},，]\s*")
_AROUND: Final = re.compile(r"[\s()\[\]{}<>【】《》〈〉「」.。:、,;|&'\"`*]+")
_LEAD: Final = re.compile(
    r"\s*(?:(?:本题|此题)?(?:的)?(?:正确|标准|参考)?(?:答案|选项|答)(?:为|是|应为|应选|选)?|故?(?:本题|此题)?(?:应|可|正确)?选(?:择|项)?"
    r"|(?:the\s+)?(?:correct\s+|right\s+)?(?:answers?|ans|keys?|options?|choices?)(?:\s+(?:is|are))?"
    r"|(?:la\s+)?respuesta(?:\s+correcta)?(?:\s+es)?|rpta|réponse|antwort|정답|正解|正答|解答)"
    r"(?:\s*[:=.。]\s*|\s+|(?<=[\u3040-\u9fff\uac00-\ud7a3])(?=\S))",
    re.IGNORECASE,
)
"""Words in front of a key: 选D, 答案：A, `Answer: B`, `option c`."""
_LEADS: Final = 3
_TRAIL: Final = re.compile(r"(?:选项|项|番|번)?[\s.。]*\Z")
_AND: Final = re.compile(r"(?<![A-Z])AND(?![A-Z])|[和与及]")
_LINES: Final = re.compile(r"[\n;]")
_OR: Final = re.compile(r"\s*(?:或者|或|/)\s*|[\s,]+or\s+", re.IGNORECASE)
_WITH_TEXT: Final = re.compile(r"\s*[(\[{【〔]?\s*([A-Z])\s*(?:[)\]}】〕][.:、,]?|[.:、,\-–—]|\s)\s*(\S.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"[\s(\[【]*(\d{1,2})(?:\.0+)?[\s)\]】.、]*")
_MOST_DIGITS: Final = 9
"""Digits of a number; Python refuses to convert more than 4,300."""
_BETWEEN: Final = re.compile(r"[\s,、;|]+")
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

KeyForm = Literal["letters", "numbers", "texts"]
"""What a key names its options by."""


class DoubtfulKeyError(ValueError):
    """A key that names one option by its letter or number and another by its text."""


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


def read_key(
    text: str,
    options: Sequence[str],
    labelled: Sequence[str] = (),
    *,
    count_from: int | None = 1,
    form: KeyForm | None = None,
) -> str:
    """Read a key as sorted letters, or as alternatives: "A or C".

    A key that may be read in two ways (the number 2 where another option's text is "2") is refused, unless `form` says
    how the keys of its table are meant. Without it, a single letter is a letter.

    Args:
        text: a letter in any width, case, brackets; several letters; numbers; an option's text; a letter and the text
            of its option; or alternatives. Words such as "Answer:" may stand in front.
        options: the texts of the options, the first is A.
        labelled: the same with labels of their own ("A. 天"), where they had some.
        count_from: the number that means A: 1, or 0 in tables that are known to count so; None: no number is read.
        form: how the other keys of the table name their options, if all do so in one way.

    Raises:
        DoubtfulKeyError: it may name two options, and `form` does not decide; the message names them.
        ValueError: it names no option.

    >>> options = ["乾", "坤", "震", "巽"]
    >>> [read_key(text, options) for text in ("B", "（ｂ）", "2", "坤", "C、A", "ac", "选D", "B、坤", "A或C")]
    ['B', 'B', 'B', 'B', 'AC', 'AC', 'D', 'B', 'A or C']
    """
    valid = LETTERS[: len(options)]
    if len(text) == 1 and text in valid and form != "texts":
        return text
    if not text:
        raise ValueError("the key is blank")
    readings = key_readings(text, options, labelled, count_from=count_from)
    alone = _AROUND.sub("", nfkc(text).upper())
    if form != "texts" and len(alone) == 1 and ("letters", alone) in readings:
        return alone
    meant = {reading for named_by, reading in readings if named_by == form} or {reading for _, reading in readings}
    if len(meant) == 1:
        return meant.pop()
    if meant:
        raise DoubtfulKeyError(f"the key {text[:40]!r} may mean {' or '.join(sorted(meant))}; write the letter")
    hint = "; numbers count from 1: write letters where they count from 0" if nfkc(text).strip() == "0" else ""
    if count_from is None and _NUMBER.fullmatch(text):
        hint = (
            "; numbers may count from 0 or from 1, as 0 is a rare key here, or a last number is one too: write letters"
        )
    if (pair := _WITH_TEXT.fullmatch(_bare(text))) and pair[1] in valid:
        hint = f"; what follows {pair[1]} is not the text of that option"
    raise ValueError(f"the key {text[:40]!r} is neither a letter {valid[0]} to {valid[-1]} nor an option's text{hint}")


def key_readings(
    text: str, options: Sequence[str], labelled: Sequence[str] = (), *, count_from: int | None = 1
) -> set[tuple[KeyForm, str]]:
    """All ways to read a key: by what it names its options, and which it names."""
    valid, bare = LETTERS[: len(options)], _bare(text)
    named: list[tuple[KeyForm, str]] = [("texts", letter) for letter in _same_text(text, valid, (options, labelled))]
    named += [("letters", _letters(bare, valid) or _letters_with_texts(bare, options, labelled))]
    named += [("numbers", _numbers(bare, valid, count_from))]
    parts = [part for part in _OR.split(bare) if part]
    if len(parts) > 1:
        letters = [_letters(part, valid) or _letters_with_texts(part, options, labelled) for part in parts]
        numbers = [_numbers(part, valid, count_from) for part in parts]
        named += [("letters", key_of_alternatives(letters))] if all(letters) else []
        named += [("numbers", key_of_alternatives(numbers))] if all(numbers) else []
    return {pair for pair in named if pair[1]}


def _bare(text: str) -> str:
    """A key in capitals of normal width, without words in front of it and behind it."""
    bare = nfkc(text).upper().strip()
    for _ in range(_LEADS):
        match = _LEAD.match(bare)
        if not match or match.end() == len(bare):
            break
        bare = bare[match.end() :]
    return _TRAIL.sub("", bare) or bare


def _letters(bare: str, valid: str) -> str:
    letters = "".join(sorted(_AROUND.sub("", _AND.sub(",", bare))))
    return letters if letters and set(letters) <= set(valid) and len(set(letters)) == len(letters) else ""


def _letters_with_texts(bare: str, options: Sequence[str], labelled: Sequence[str]) -> str:
    """The letters of "B、坤", or of several such on lines of their own, if the texts are those of the options."""
    read: set[str] = set()
    for line in filter(None, map(str.strip, _LINES.split(bare))):
        pair = _WITH_TEXT.fullmatch(line)
        at = LETTERS.index(pair[1]) if pair else len(options)
        if pair is None or at >= len(options):
            return ""
        texts = {folded(texts[at]).rstrip(" .。;") for texts in (options, labelled) if at < len(texts)}
        if folded(pair[2]).rstrip(" .。;") not in texts:
            return ""
        read.add(pair[1])
    return "".join(sorted(read))


def _same_text(text: str, valid: str, texts: Sequence[Sequence[str]]) -> set[str]:
    """Letters of the options with this text; options that differ in case or width count only where none is equal."""
    pairs = [(letter, option) for options in texts for letter, option in zip(valid, options, strict=False)]
    folded_text = folded(text)
    return {letter for letter, option in pairs if option == text} or {
        letter for letter, option in pairs if folded(option) == folded_text
    }


def _numbers(text: str, valid: str, count_from: int | None) -> str:
    if count_from is None:
        return ""
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


_PAIRS: Final[Mapping[tuple[str, str], frozenset[str]]] = MappingProxyType(
    {
        ("正确", "错误"): frozenset({"正确", "错误", "不正确"}),
        ("是", "否"): frozenset({"是", "否", "非"}),
        ("对", "错"): frozenset({"对", "错", "不对"}),
        ("Yes", "No"): frozenset({"yes", "no", "y", "n"}),
        ("True", "False"): frozenset({"true", "false"}),
        ("Right", "Wrong"): frozenset({"right", "wrong"}),
        ("Correct", "Incorrect"): frozenset({"correct", "incorrect"}),
    }
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


def options_of_judged(key: str, question: str, *, taken: str = "") -> tuple[str, ...]:
    """The two options of a question without any, by its key; none for a key that does not say yes or no.

    Args:
        key: as it is written.
        question: its text; a key that is only a mark (√, T) has options in its language.
        taken: letters that are letters of options, so that `F` is not read as "false" where there are six.

    >>> options_of_judged("√", "水是液体。"), options_of_judged("No", "Is it?"), options_of_judged("A", "Is it?")
    (('对', '错'), ('Yes', 'No'), ())
    """
    plain = _plain(key)
    if plain not in _YES | _NO or key.strip().upper() in taken:
        return ()
    for pair, words in _PAIRS.items():
        if plain in words:
            return pair
    return ("对", "错") if any("\u4e00" <= character <= "\u9fff" for character in question) else ("True", "False")


def says_yes(text: str) -> bool | None:
    """Whether a mark beside an option says that it is right; None for a text that says neither yes nor no.

    >>> says_yes("√"), says_yes("0"), says_yes("B")
    (True, False, None)
    """
    plain = _plain(text)
    if plain in _YES or plain == "1":
        return True
    return False if plain in _NO or plain == "0" else None


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
