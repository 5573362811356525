"""Reads which option a reply to a multiple-choice question gives: Chinese and English, one reader.

Every option letter and every quotation of an option's text may be the answer; the words before and after it
show how plainly the reply gives it, or that it does not. A reply that gives none is `unparsed`: a wrong reading is
worse than none, and nothing is ever guessed.
"""

# Why it is so, and what was rejected: docs/decisions/replies-never-guess.md

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, Literal

from steelyard.replies.choice_letters import (
    JOINT,
    asks_for_wrong,
    called_wrong,
    declared_letters,
    final_sentence,
    is_elsewhere,
    is_named_wrong,
    judged,
    letters_of,
)
from steelyard.replies.choice_numbers import numbered
from steelyard.replies.clean import PICTURES, clean, fold
from steelyard.replies.closings import closing_letters
from steelyard.replies.evidence import DECLARES, REJECTED, SAYS, Candidate, Strength, decide, is_against, phrases
from steelyard.replies.grammar import FLAGS, expanded, pattern, source, words
from steelyard.replies.jsonlike import JsonValue, json_objects, plain_key
from steelyard.replies.only_letter import only_letter
from steelyard.replies.options import (
    SHORT,
    ChoicePage,
    ChoiceReading,
    Quote,
    Status,
    condense,
    is_distinct,
    labelled_lines,
    labels_that_say,
    quotes,
)

_IN_BRACKETS: Final = re.compile(r"(?<![A-Za-z0-9_])\((?P<letter>[A-Z])\)")
_MIN_OPTIONS: Final = 2
_MAX_OPTIONS: Final = 26
_FINAL_KEYS: Final = frozenset(map(plain_key, words("final_key")))
_ANSWER_KEYS: Final = frozenset(map(plain_key, words("answer_key")))
_JSON_LETTERS: Final = re.compile(
    r"\W{0,4}(?i:options?|choices?|answers?|选项)?[\s(:]{0,3}"
    r"(?P<letters>[A-Z](?:\s?(?:,|、|;|/|&|and|和)?\s?(?:option\s)?[A-Z]){0,25}"
    r"|[a-z](?:\s?(?:,|、|;|/|&|and|和)\s?[a-z]){1,25}|[a-z](?=[).:、\s]|\Z))"
    r"(?=\Z|[).:、,\]}]|\s[^a-z])"
)
_LONGEST_NUMBER: Final = 2
_CUT_OFF: Final = re.compile(r"(?:[,;:、…]|\.{3})\s*\Z")
"""The end of a reply that breaks off within a sentence."""
_REASONS: Final = {
    "none_of_these": "the reply says that no option fits",
    "refused": "the model declined to answer",
    "unparsed": "its JSON names no option",
}
_LEAST_FIGURES: Final = 2
_ENDS_WITHIN: Final = 200
"""Characters at the end of a reply that hold what it comes to."""
_MOST_QUOTES: Final = 12
"""Quotations that are looked at from the beginning and from the end: bounds the time for a reply full of them."""
_MOST_EXAMINED: Final = 24
_TEXT_CLOSED: Final = re.compile(
    r"[\"')\]]{0,2}(?:\s{0,2}[.,;:!\n()–—。，<-]|\s{0,3}\Z"
    r"|\s(?:because|since|as|due|than|in my|for me|about (?:it|this)|and|but|given)\b)",
    re.IGNORECASE,
)
"""Behind a common word that is said by itself: `It's good.`, and not `a good question`."""
_ENDS: Final = re.compile(r"[\"')\]$]{0,3}\s{0,2}[.!。]?\s*\Z")
_IS_BEFORE: Final = re.compile(rf"(?:{expanded('<be>', 'en')}|[=≈:是为]|\\approx)\s{{0,3}}[$\\(\"']{{0,3}}\Z", FLAGS)
_BETWEEN_TEXTS: Final = re.compile(
    r"(?:\s?\([A-Z]\))?[^\w]{0,8}(?:\b(?:and|or|as well as)\b|"
    r"和|与|以及|及|或者?)[^\w]{0,8}|[^\w]{1,16}(?:\d[.)、]\s{0,3})?"
)
_FEW_SIGNS: Final = re.compile(r"\W{0,2}")
_ENTRY_MARK: Final = re.compile(r"\W{0,2}1[.)、]\s{0,3}")
_SHOWN_LABEL: Final = re.compile(r"(?:\A|\n|[.!?:]\s{1,3})[ \t]{0,4}[\"'(\[]{0,2}(?P<letter>[A-Z])[).:\]]{1,2}\s{1,3}")
_SHOWN_CLOSED: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:[.!]\s{0,3})?(?:\Z|\n)|[\"')\]]{0,2}[.!]\s{1,3}(?=[A-Z\"])")
_LAST_LINE: Final = re.compile(
    r"\n[ \t>(\[{$\"'–—-]{0,12}+(?:(?i:option) |选项)?(?P<letter>[A-Z])[\s)\]}$\"'.!。]{0,12}\Z"
)
_LETTER_LINE: Final = re.compile(r"(?:\A|\n)[^\w\n]{0,12}[A-Z]\W{0,12}\Z")
"""A line before it that is a letter, too."""
_FIGURE: Final = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_DENIES: Final = re.compile(
    r"(?:\b(?:not|cannot be)|n't|不是|并非)\s{0,2}(?:the\s)?(?:options?\s|选项)?\(?[A-Z](?![A-Za-z])"
)
"""Where an option is denied, a sentence on another (`It is not A. The nucleus stores DNA.`) is not an answer yet."""
_EXPLICIT: Final = frozenset({"json", "leading", "declared", "announced", "concluded", "judged", "sorted", "last_line"})
"""Rules whose letters the reply names as its answer; the others infer it."""


def read_choice(
    reply: str,
    options: Sequence[str] | Mapping[str, str],
    *,
    question: str = "",
    several: bool = False,
    finish: str = "",
) -> ChoiceReading:
    """Find the option that `reply` gives.

    Args:
        reply: any text.
        options: the texts of the options, 2 to 26: a sequence, whose first is A, or by their capital letters.
        question: its text, where known: tells a question for the wrong statement, and what is merely repeated.
        several: whether more than one option may be right.
        finish: why the model stopped, where known. Of a reply that was cut off (`length`) only letters that it declares
            or announces are read: reasoning that breaks off may have come to another option; one that ended itself
            (`stop`) may end with an option and its text.

    Raises:
        TypeError: `options` is a text.
        ValueError: fewer than 2 or more than 26 options, or a key that is not a capital letter.

    >>> read_choice("I first thought B. So the answer is (C).", ["a", "b", "c", "d"]).letters
    ('C',)
    >>> read_choice("选项B和C错误，故选D。", {"A": "天", "B": "地", "C": "雷", "D": "风"}).letters
    ('D',)
    >>> read_choice("Paris, of course.", ["Rome", "Paris"]).confidence
    'inferred'
    """
    lettered = _lettered(options)
    cleaned = clean(reply, pictures=any(map(PICTURES.search, lettered.values()))).with_short_blanks()
    if not cleaned.text.strip():
        reason = "the reply broke off inside its reasoning" if cleaned.unfinished else "the reply is empty"
        return ChoiceReading((), "empty", reason=reason)
    page = ChoicePage(cleaned, lettered, question, several=several, complete=finish == "stop")
    cut_off = finish == "length" or _CUT_OFF.search(page.text) is not None
    for rule in RULES:
        candidate = rule(page)
        if candidate is None or (cut_off and _is_draft(candidate)):
            continue
        return _reading(page, candidate)
    return ChoiceReading((), "unparsed", reason="no answer letter found in the reply")


def _is_draft(candidate: Candidate) -> bool:
    """Whether the letters only follow from what the reply says so far."""
    return candidate.strength < Strength.ANNOUNCED and not isinstance(candidate.value, str)


def _lettered(options: Sequence[str] | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(options, str):
        raise TypeError("options are a list of texts or a mapping of letters to texts, not one text")
    if not _MIN_OPTIONS <= len(options) <= _MAX_OPTIONS:
        raise ValueError(f"a question has 2 to 26 options, not {len(options)}")
    if not isinstance(options, Mapping):
        return {chr(ord("A") + number): option for number, option in enumerate(options)}
    for letter in options:
        if not (len(letter) == 1 and "A" <= letter <= "Z"):
            raise ValueError(f"an option's key is a capital letter, not {letter!r}")
    return options


def _reading(page: ChoicePage, candidate: Candidate) -> ChoiceReading:
    """The reading of a candidate, whose value is its letters, or the status of a reply that gives none."""
    span = page.cleaned.span(candidate.start, candidate.end)
    if isinstance(candidate.value, str):
        status: Status = candidate.value  # type: ignore[assignment]  # the rules below give no other text
        return ChoiceReading((), status, candidate.source, span, None, _REASONS[status])
    letters = tuple(letter for letter in candidate.value if letter in page.labels)
    if len(letters) < len(candidate.value):
        reason = "the reply names an option that the question does not have"
        return ChoiceReading((), "unparsed", candidate.source, span, None, reason)
    status = "answered" if len(letters) == 1 or page.several else "several"
    reason = "" if status == "answered" else "the reply gives more than one option"
    confidence: Literal["explicit", "inferred"] = "explicit" if candidate.source in _EXPLICIT else "inferred"
    return ChoiceReading(letters, status, candidate.source, span, confidence, reason)


def _json(page: ChoicePage) -> Candidate | None:
    """The answer that a JSON object of the reply names."""
    if "{" not in page.text or ":" not in page.text:
        return None
    answers = [answer for json_object in json_objects(page.text) if (answer := _json_answer(json_object))]
    candidates = [candidate for key, value in answers if (candidate := _json_letters(page, key, value))]
    return decide(candidates, page.text)


def _json_answer(json_object: JsonValue) -> tuple[str, JsonValue] | None:
    """The key and the value of the answer; a final answer outweighs others."""
    entries = [(plain_key(key), item) for key, item in json_object.items]
    for keys in (_FINAL_KEYS, _ANSWER_KEYS):
        for key, item in entries:
            if key in keys:
                return (item.kind == "object" and _json_answer(item)) or (key, item)
    flags = [(key, item) for key, item in json_object.items if len(key) == 1 and key.isupper()]
    if len(flags) == len(json_object.items) > 1 and all(isinstance(item.value, bool) for _, item in flags):
        chosen = [("", JsonValue(key, item.start, item.end, "text")) for key, item in flags if item.value]
        return "flags", JsonValue(None, json_object.start, json_object.end, "list", items=chosen)
    return None


def _json_letters(page: ChoicePage, key: str, answer: JsonValue) -> Candidate | None:
    values = [item for _, item in answer.items] if answer.kind == "list" else [answer]
    span = (values[0].start, values[0].end) if values else (answer.start, answer.end)
    letters: set[str] = set()
    for value in values[: len(page.labels) + 1]:
        named_letters = _json_value(page, key, value.value)
        if not named_letters and isinstance(value.value, str) and len(value.value) > len("none"):
            return None  # a sentence, which the other rules read
        if not named_letters:
            return Candidate("unparsed", *span, Strength.STRUCTURED, "json")
        letters.update(named_letters)
    return Candidate(tuple(sorted(letters)) or "unparsed", *span, Strength.STRUCTURED, "json")


def _json_value(page: ChoicePage, key: str, value: Any) -> tuple[str, ...]:
    """The letters that a value names; () where it names none."""
    if isinstance(value, bool) or value is None:
        return ()
    text = fold(str(value)).strip()
    condensed = condense(text, signs=True).text
    forms = [condense(fold(option), signs=True).text for option in page.options]
    is_label = text in page.labels and text not in page.options  # where one option is the text `c`, too
    if condensed and forms.count(condensed) == 1 and not is_label:
        return (page.labels[forms.index(condensed)],)
    if (match := _JSON_LETTERS.match(text)) is not None:
        letters = tuple(dict.fromkeys(map(str.upper, re.findall(r"(?<![a-z])[a-z](?![a-z])|[A-Z]", match["letters"]))))
        return letters if set(letters) <= set(page.labels) else ()
    if pattern("choice", "all").fullmatch(text):
        return page.labels
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER:
        number = int(text)  # counted from 0 or from 1: only the last number and a key that says so are sure
        sure = number == len(page.labels) or (key.endswith("number") and 0 < number <= len(page.labels))
        return (page.labels[number - 1],) if sure else ()
    return ()


def _none_of_them(page: ChoicePage) -> Candidate | None:
    """The reply says that no option fits; where an option says just that, it is the one."""
    for match in phrases("choice", "none", page.text):
        if page.is_listed(match.start()) or is_elsewhere(page.text, match):
            continue
        saying = labels_that_say(page, "none_option")
        value = saying if len(saying) == 1 else "none_of_these"
        return Candidate(value, *match.span(), Strength.MENTIONED, "none_of_these")
    return None


def _all_of_them(page: ChoicePage) -> Candidate | None:
    """The reply says that all options are right: `全选`, `All of the above`; where an option says so, that one."""
    for match in phrases("choice", "all", page.text):
        if page.is_listed(match.start()) or is_against(page.text, match.start()) or asks_for_wrong(page):
            continue
        if not page.names_options(0):
            saying = labels_that_say(page, "all")
            quoted = {page.labels[quote.option] for quote in page.quotes}  # `All options are correct except copper`
            value = saying if len(saying) == 1 and quoted <= {*saying} else page.labels
            return Candidate(value, *match.span(), Strength.MENTIONED, "all_of_them")
    return None


def _refused(page: ChoicePage) -> Candidate | None:
    """The model declines, and nothing in the reply gives an option after all."""
    match = next(phrases("choice", "refusal", page.text), None)
    return Candidate("refused", *match.span(), Strength.MENTIONED, "refused") if match else None


# Replies that give the text of an option instead of its letter.


def _declared_text(page: ChoicePage) -> Candidate | None:
    """`The answer is` with the text of one option behind it, or with a number that equals it."""
    return decide(list(_text_candidates(page)), page.text) or decide(list(_value_candidates(page)), page.text)


def _text_candidates(page: ChoicePage) -> Iterator[Candidate]:
    """The texts of options that a phrase gives as the answer, or with which the reply opens."""
    line = len(page.text.split("\n", 1)[0])
    for quote in (*page.quotes[:_MOST_QUOTES], *page.quotes[_MOST_QUOTES:][-_MOST_QUOTES:]):
        if REJECTED.match(page.text, quote.end) or page.text.startswith("?", quote.end):
            continue
        texts = _texts_from(page, quote)
        end = texts[-1]
        opens = _FEW_SIGNS.fullmatch(page.text, 0, quote.start) or _ENTRY_MARK.fullmatch(page.text, 0, quote.start)
        if opens and (
            end >= line or _FEW_SIGNS.fullmatch(page.text, end, line) or page.text[end : end + 1] in set(",.;:!。")
        ):
            yield Candidate(*texts, Strength.ANNOUNCED, "leading_text")
        elif DECLARES.before(page.text, quote.start):
            yield Candidate(*texts, Strength.DECLARED, "declared_text")
        elif _TEXT_CLOSED.match(page.text, quote.end) and SAYS.before(page.text, quote.start):
            yield Candidate(*texts, Strength.ANNOUNCED, "declared_text")


def _texts_from(page: ChoicePage, first: Quote) -> tuple[tuple[str, ...], int, int]:
    """The options whose texts follow each other from `first` on as a list, and their range: `iron, tin and lead`."""
    numbers, end = {first.option}, first.end
    for quote in page.quotes:
        if quote.start >= end and _BETWEEN_TEXTS.fullmatch(page.text, end, quote.start):
            numbers.add(quote.option)
            end = quote.end
    return tuple(page.labels[number] for number in sorted(numbers)), first.start, end


def _value_candidates(page: ChoicePage) -> Iterator[Candidate]:
    """`The answer is 1` where one option is `1.0` and all are numbers."""
    values = [_value(option) for option in page.options]
    if None in values:
        return
    for match in list(_FIGURE.finditer(page.text))[-_MOST_EXAMINED:]:
        value = _value(match.group())
        is_asked = page.text.startswith("?", match.end())
        if not is_asked and values.count(value) == 1 and DECLARES.before(page.text, match.start()):
            letters = (page.labels[values.index(value)],)
            yield Candidate(letters, *match.span(), Strength.DECLARED, "declared_text")


def _value(text: str) -> float | None:
    plain = fold(text).strip(" $.").replace(",", "").replace("−", "-")
    try:
        return float(plain)
    except ValueError:
        return None


def _shown(page: ChoicePage) -> Candidate | None:
    """The only option that the reply shows with its letter and its text, as in `I decline. (D) Refused`."""
    spans: dict[str, tuple[int, int]] = {}
    for match in islice(_SHOWN_LABEL.finditer(page.text), _MOST_EXAMINED):
        start, letter = match.start("letter"), match["letter"]
        if letter not in page.labels or page.is_listed(start):
            continue
        end = page.behind(letter, match.end())
        if end > match.end() and _SHOWN_CLOSED.match(page.text, end):
            spans[letter] = (start, end)
    if len(spans) != 1:
        return None
    ((letter, span),) = spans.items()
    if is_against(page.text, span[0]) or page.breaks_off(span[0]):
        return None
    return Candidate((letter,), *span, Strength.MENTIONED, "shown")


def _last_line(page: ChoicePage) -> Candidate | None:
    """The letter that is all of the last line of a reply that ended itself, and not one of a list of letters."""
    match = _LAST_LINE.search(page.text) if page.complete else None
    if match is None or match["letter"] not in page.labels or _LETTER_LINE.search(page.text, 0, match.start()):
        return None
    if is_named_wrong(page, match.start("letter")) or is_against(page.text, match.start("letter")):
        return None
    return Candidate((match["letter"],), *match.span("letter"), Strength.CONCLUDED, "last_line")


def _final_text(page: ChoicePage) -> Candidate | None:
    """The text with which the reply ends, where its last sentence concludes with it: `The total is $13,000`."""
    if not page.quotes or page.text[-1] not in ".。":
        return None
    quote = page.quotes[-1]
    if page.text[quote.start : quote.end].upper() in page.labels:
        return None  # the letter C, and not the text of an option `c`
    before = _IS_BEFORE.search(page.text, max(0, quote.start - 20), quote.start)
    if not before or not _ENDS.match(page.text, quote.end) or is_against(page.text, quote.start):
        return None
    return Candidate((page.labels[quote.option],), quote.start, quote.end, Strength.CONCLUDED, "final_text")


def _final_values(page: ChoicePage) -> Candidate | None:
    """The option of which the reply ends with all figures: `Solving both gives a = 4.1 and b = 3.5`.

    Figures that most options share (exponents of units) do not count; of the others an option has two or more.
    """
    all_figures = [set(map(_value, _FIGURE.findall(fold(option)))) for option in page.options]
    shared = {value for value, count in Counter(chain(*all_figures)).items() if 2 * count > len(all_figures)}
    options = [values - shared for values in all_figures]
    if min(map(len, options)) < _LEAST_FIGURES:
        return None
    begin = max(0, len(page.text) - _ENDS_WITHIN)
    figures = [(_value(match.group()), match.span()) for match in _FIGURE.finditer(page.text, begin)]
    given = {value for value, _ in figures}
    held = [number for number, values in enumerate(options) if values <= given]
    if len(held) != 1 or options[held[0]] <= set(map(_value, _FIGURE.findall(fold(page.question)))):
        return None
    spans = [span for value, span in figures if value in options[held[0]]]
    if page.is_listed(spans[-1][0]) or is_against(page.text, spans[0][0]):
        return None
    return Candidate((page.labels[held[0]],), spans[0][0], spans[-1][1], Strength.CONCLUDED, "final_values")


def _only_text(page: ChoicePage) -> Candidate | None:
    """The one option whose text is quoted, where it says enough not to be there by chance."""
    if page.several and len({label for label, _, _ in labelled_lines(page, 0)}) > 1:
        return None
    quoted = quotes(page.text, page.options, page.question)
    if len(quoted) > 2 * _MOST_EXAMINED and len({quote.option for quote in quoted}) > 1:
        return None
    wrong = called_wrong(page)
    named = {match["letter"] for match in _IN_BRACKETS.finditer(page.text) if not page.is_listed(match.start())}
    standing = [
        quote
        for quote in (*quoted[:_MOST_EXAMINED], *quoted[_MOST_EXAMINED:][-_MOST_EXAMINED:])
        if not page.is_listed(quote.start)
        and not is_against(page.text, quote.start)
        and not REJECTED.match(page.text, quote.end)
        and page.labels[quote.option] not in wrong
    ]
    quote = standing[0] if len({quote.option for quote in standing}) == 1 else None
    if quote is None or page.breaks_off(quote.start) or (named and page.labels[quote.option] not in named):
        return None  # also where others are spoken of by their letters
    if _DENIES.search(page.text) and not any(_TEXT_CLOSED.match(page.text, candidate.end) for candidate in standing):
        return None
    others = [option for number, option in enumerate(page.options) if number != quote.option]
    by_itself = len(page.text) <= SHORT and any(_TEXT_CLOSED.match(page.text, candidate.end) for candidate in standing)
    if not by_itself and not is_distinct(page.options[quote.option], others):
        return None
    return Candidate((page.labels[quote.option],), quote.start, quote.end, Strength.MENTIONED, "only_text")


# Replies that sort the options into right and wrong ones: `A ✓ B ✗`, `[x] A`, `正确的有A、C，错误的有B、D`,
# `All except D`. Which of them are the answer depends on what the question asks for.

_RIGHT_MARK: Final = r"[✅✔✓☑√]|\[[xX✓√]\]"
_WRONG_MARK: Final = r"[❌✗✘❎×☐]|\[ ?\]"
_BETWEEN_MARKS: Final = r"[ \t\n,;、。.|•·*-]{0,8}"
_MARKED_LABEL: Final = r"(?:选项|[Oo]ption )?\(?(?P<letter>[A-Z])(?![A-Za-z0-9])(?:选项|项)?[).:、]{0,2}"
_MARK_BEFORE: Final = re.compile(
    rf"{_BETWEEN_MARKS}(?P<box>(?=[\[☐☑]))?(?:(?P<right>{_RIGHT_MARK})|{_WRONG_MARK})\ufe0f?[ \t]{{0,2}}{_MARKED_LABEL}"
)
_UNMARKED: Final = re.compile(_BETWEEN_MARKS + _MARKED_LABEL)
_MARK_BEHIND: Final = re.compile(
    rf"[.。]?[ \t]{{0,3}}[(:]?(?P<box>(?=[\[☐☑]))?(?:(?P<right>{_RIGHT_MARK}|对|正确)|{_WRONG_MARK}|错误?)\ufe0f?\)?"
)
_MARKS_END: Final = re.compile(r"[^\w\n]*(?:\n|\Z)")

_RIGHT_ONES: Final = rf"{source('choice', 'right_ones')}\s?\(?(?P<right>{JOINT.pattern})\)?(?:选项|项)?"
_WRONG_ONES: Final = rf"{source('choice', 'wrong_ones')}\s?\(?(?P<wrong>{JOINT.pattern})\)?(?:选项|项)?"
_THEN: Final = r"[\s,;。.]{1,4}(?:(?:and|while|but|the|而|但)\s?){0,2}"
_HEADINGS: Final = (
    re.compile(rf"{_RIGHT_ONES}{_THEN}{_WRONG_ONES}", FLAGS),
    re.compile(rf"{_WRONG_ONES}{_THEN}{_RIGHT_ONES}", FLAGS),
)
_ALL_BUT: Final = tuple(
    re.compile(
        rf"{source('choice', 'all_but', (language,))}\s?\(?(?P<others>{JOINT.pattern})\)?(?:选项|项)?"
        rf"{source('choice', 'all_but_behind', (language,))}(?=[.。,;!\n]|\s*\Z)",
        FLAGS,
    )
    for language in ("en", "zh")
)
_CALLS_WRONG: Final = re.compile(r"wrong|incorrect|false|错|不", re.IGNORECASE)


def _sorted_options(page: ChoicePage) -> Candidate | None:
    """The options marked as right in a reply that marks each it names, or set against the wrong ones by headings."""
    return _marked(page, _MARK_BEFORE, None) or _marked(page, _UNMARKED, _MARK_BEHIND) or _under_headings(page)


def _marked(page: ChoicePage, entry: re.Pattern[str], mark_behind: re.Pattern[str] | None) -> Candidate | None:
    """The options of a reply that opens with marked ones; None where one has no mark, or letters follow them."""
    is_right: dict[str, bool] = {}
    end, are_boxes = 0, False
    while (label := entry.match(page.text, end)) is not None and label["letter"] not in is_right:
        behind = page.behind(label["letter"], label.end())
        mark = label if mark_behind is None else mark_behind.match(page.text, behind)
        if mark is None:
            break
        is_right[label["letter"]] = mark["right"] is not None
        are_boxes = mark["box"] is not None
        end = max(behind, mark.end())
    if not is_right or not _MARKS_END.match(page.text, end):
        return None
    right = [letter for letter, chosen in is_right.items() if chosen]
    wrong = is_right.keys() - set(right)
    # A ticked box is what is chosen, whatever was asked for.
    return _chosen(page, right, wrong, (0, end)) if are_boxes else _asked_for(page, right, wrong, (0, end))


def _under_headings(page: ChoicePage) -> Candidate | None:
    if next(phrases("choice", "wrong_ones", page.text), None) is None:
        return None
    for headings in _HEADINGS:
        if (match := headings.search(page.text)) is not None:
            return _asked_for(page, letters_of(match["right"]), letters_of(match["wrong"]), match.span())
    return None


def _all_but(page: ChoicePage) -> Candidate | None:
    """`All except D`, `除D外都对`: the other options, where several may be right."""
    matches = (phrase.search(page.text) for phrase in _ALL_BUT)
    match = next(filter(None, matches), None) if page.several else None
    if match is None:
        return None
    named = letters_of(match["others"])
    others = [letter for letter in page.labels if letter not in named]
    right, wrong = (named, others) if _CALLS_WRONG.search(match.group()) else (others, named)
    return _asked_for(page, right, wrong, match.span(), "all_but")


def _asked_for(
    page: ChoicePage, right: Collection[str], wrong: Collection[str], span: tuple[int, int], rule: str = "sorted"
) -> Candidate | None:
    return _chosen(page, *((wrong, right) if asks_for_wrong(page) else (right, wrong)), span, rule)


def _chosen(
    page: ChoicePage, chosen: Collection[str], others: Collection[str], span: tuple[int, int], rule: str = "sorted"
) -> Candidate | None:
    """The chosen ones, where all are options and no letters are named behind `span`."""
    if not chosen or not {*chosen, *others} <= set(page.labels) or set(chosen) & set(others):
        return None
    return None if page.names_options(span[1]) else Candidate(tuple(sorted(chosen)), *span, Strength.CONCLUDED, rule)


__all__ = ["RULES", "ChoiceReading", "read_choice"]

RULES: Final[tuple[Callable[[ChoicePage], Candidate | None], ...]] = (
    _json,
    _sorted_options,
    declared_letters,
    closing_letters,
    _declared_text,
    _shown,
    numbered,
    _last_line,
    _all_but,
    _none_of_them,
    _all_of_them,
    _final_text,
    final_sentence,
    judged,
    _refused,
    only_letter,
    _only_text,
    _final_values,
)
"""The rules, in the order in which they are tried."""
