"""A reply together with the options of its question: where it quotes, repeats or lists them.

Reply and options are condensed (no spaces, no punctuation, one case); options with figures or signs keep their signs.
Where one option's text contains another's, the longest match holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice
from typing import Final, Literal

from steelyard.replies.clean import CleanedReply, fold
from steelyard.replies.evidence import DECLARES, REJECTED
from steelyard.replies.grammar import FLAGS, pattern, source

Status = Literal["answered", "several", "none_of_these", "refused", "unparsed", "empty"]
SHORT: Final = 160
"""Characters: in a shorter reply any lone letter or common word may be the answer, in a longer one what is named."""
_ASIDE: Final = re.compile(r"[)\]]?(?:,[^,.;:\n]{1,60},|\s?\([^)\n]{1,80}\))")
_LABEL_BEFORE: Final = re.compile(r"[A-Z][).:、]\s{0,3}[(\"']?\Z")
_LABEL_BEHIND: Final = re.compile(r"[A-Z](?:[).:]\s{0,2}\S|\s[a-z]+\s\S)")
SENTENCE_END: Final = re.compile(r"[.!?]\s|[。！？\n]")


_WORD: Final = re.compile(r"[^\W_]+")
_SIGNED: Final = re.compile(r"[^\s$\"'\\{},.;:!?，。、；：！？()（）\[\]【】]+")
_MATHS: Final = re.compile(r"[\d+\-*/=<>^√π±−]")
_MARK_IN_NUMBER: Final = re.compile(r"(?<=\d)\.(?=\d)")
_LETTER_OR_DIGIT: Final = re.compile(r"[^\W_]")
_IDEOGRAM: Final = re.compile(r"[\u3400-\u9fff]")
_COMMAND: Final = re.compile(r"\\[a-z]{1,20}")
_MOST_LABELS: Final = 100
_MOST_QUOTES: Final = 500
_COMPARED: Final = 60
"""Letters of an option that must follow its label; models shorten what is longer."""
_COMPARED_FIRST: Final = 6
_DISTINCT: Final = 7.0
_IDEOGRAM_WEIGHT: Final = 3.5
_LABEL: Final = re.compile(
    r"(?:(?<=\n)|(?<=^)|(?<=[;。?:\])】是\s]))[ \t]{0,8}+(?:[-•·][ \t]{0,8}+)?[(\[]?([A-Z])\s?[.:)、\]]"
)
_SMALL_LABEL: Final = re.compile(r"\n[ \t]{0,8}(?:[-•·][ \t]{0,8})?[(\[]?([a-z])[.:)、\]]")
_LED_TO: Final = re.compile(
    r"\b(?:is|be|are|was|choose|select|pick|option|answer|with|leaves|only|not|or|and)\s{1,3}[(\[]?$", re.IGNORECASE
)
_NAME_IN_FULL: Final = re.compile(r"(?<![A-Za-z])([A-Z])[a-z]+\s([a-z]{3,30})(?![A-Za-z])")
_NAME_ABBREVIATED: Final = re.compile(r"(?<![A-Za-z])([A-Z])\.\s([a-z]{3,30})(?![A-Za-z])")
_LETTER_WITHIN: Final = re.compile(r"(?<![A-Za-z])[A-Z](?![A-Za-z])")
_LETTERS_ALONE: Final = re.compile(
    r"(?<![A-Za-z0-9])(?!A\s(?!and\b|or\b|is\b|are\b)[a-z])(?!I\s)[A-Z]{1,26}(?![A-Za-z0-9])"
)
_LABELLED: Final = re.compile(
    r"[^\w]{0,16}(?:\d[.)、]\s{0,3})?(?:选项|[Oo]ption\s)?[(\[]?(?P<letter>[A-Z])(?:\s?[.:)、\]]{1,2}|(?=[\s一-鿿《\"]))"
)
"""The next option of a list, with a label before its text."""
_LONE: Final = re.compile(
    r"[)\]]?(?:\s?[.:、。,;]?\s{1,3}|[.。])(?:[-•·*\]]\s{0,3}|\d[.)、]\s{0,3})?[(\[]?(?P<letter>[A-Z])(?![A-Za-z0-9])"
    r"(?!\s?(?!选项|项|[A-Z](?![A-Za-z0-9]))[A-Za-z0-9一-鿿])"
)
"""The next letter of a list that holds letters alone."""
_LINE: Final = re.compile(
    r"\n\s{0,20}(?:[-•·*\]]\s{0,3})?(?:选项|[Oo]ption\s)?[(\[]?(?P<letter>[A-Z])\s{0,4}[.:)、\]]{1,2}"
)
_FIRST_LINE: Final = re.compile(_LINE.pattern.removeprefix(r"\n"))
_LABEL_ALONE: Final = re.compile(r"\s*(?:[-•·*\]]\s{0,3})?(?:选项|[Oo]ption\s)?[(\[]?[A-Z]")
_CALLED_WRONG: Final = re.compile(
    rf"{source('choice', 'rejected')}|错误|不正确|有误|\b(?:incorrect|wrong|false)\b", FLAGS
)
_LINE_ENDS: Final = re.compile(r"[)\]]?(?:\s?(?:选项|项))?\s?[.。,;]?[ \t]*(?:\n|<|\Z)")
_ENDS_ENTRY: Final = re.compile(
    r"[^\w\n<]{0,8}(?:\n|<|\Z)|[^\w\n]{1,8}(?:选项|[Oo]ption\s)?(?=[A-Z](?:\s?[.:)、\]]|[一-鿿]))|(?<=[一-鿿])(?=[A-Z](?:\s?[.:)、\]]|[一-鿿]))"
)
_NOUN_BEHIND: Final = re.compile(r"\s?(?:选项|项)(?=[\s\"“'‘「《(:])")
_MOST_LINES: Final = 60
_LABEL_WITHIN: Final = 40
_LEAST_TEXT: Final = 4
"""Letters or ideograms: a shorter beginning of an option's text may be there by chance."""
_ENDS_LINE: Final = frozenset("\n.;:。!?,]")


@dataclass(frozen=True, slots=True)
class Condensed:
    """A text without its spaces and punctuation, in lower case, that can be traced back.

    Args:
        text: what is left.
        starts: where each run of characters begins in `text`.
        origins: where the same run begins in the folded original.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def origin(self, offset: int) -> int:
        """Offset in the original of the character at `offset`."""
        run = bisect_right(self.starts, offset) - 1
        return self.origins[run] + offset - self.starts[run]


def condense(folded: str, *, signs: bool = False) -> Condensed:
    """`folded` reduced to its letters and digits; with `signs` also mathematical signs and decimal points.

    >>> condense("The Answer, is: x-1.").text
    'theanswerisx1'
    >>> condense("x - 1.5.", signs=True).text
    'x-1·5'
    """
    lowered = folded.lower()
    if len(lowered) != len(folded):  # a few letters become two
        lowered = folded
    if signs:
        lowered = _MARK_IN_NUMBER.sub("·", lowered)
    runs = [(match.start(), match.group()) for match in (_SIGNED if signs else _WORD).finditer(lowered)]
    ends = tuple(accumulate((len(run) for _, run in runs), initial=0))
    return Condensed("".join(run for _, run in runs), ends[:-1], tuple(start for start, _ in runs))


def is_formula(text: str) -> bool:
    """Whether signs carry meaning in `text`, so that "-1" and "1" must not be taken for the same.

    >>> is_formula("x = -1"), is_formula("the daughter, only")
    (True, False)
    """
    return _MATHS.search(text) is not None


def is_distinct(option: str, others: Sequence[str]) -> bool:
    """Whether the option says so much of its own that a long reply will not hold it by chance.

    Two ideograms, one with a long figure (`1993年`) or seven letters do; words that most other options share (`years`
    in `9 years`) do not count, and neither do bare figures, of which reasoning is full.

    >>> is_distinct("mitochondria", ["nucleus"]), is_distinct("9 minutes", ["8 minutes", "4 minutes"])
    (True, False)
    """
    shared = [set(_words_of(other)) for other in others]
    own_words = [word for word in _words_of(option) if 2 * sum(word in words for words in shared) <= len(shared)]
    ideograms = len(_IDEOGRAM.findall(option))
    figures = len(re.findall(r"\d", option)) if ideograms else 0
    return _IDEOGRAM_WEIGHT * ideograms + sum(map(len, own_words)) + figures >= _DISTINCT


def _words_of(option: str) -> list[str]:
    return re.findall("[a-z]+", _COMMAND.sub(" ", fold(option).lower()))


@dataclass(frozen=True, slots=True)
class Quote:
    """The text of option number `option` (from 0) at `start`..`end` of a cleaned reply."""

    option: int
    start: int
    end: int


def quotes(text: str, options: Sequence[str], question: str = "") -> tuple[Quote, ...]:
    """Every quotation of an option's text, in order; of overlapping ones the longest.

    Args:
        text: the cleaned reply.
        options: the texts of the options; those that cannot be told apart are left out.
        question: the question's text; quotations of it are mere repetitions. "" to find that, too.
    """
    forms = [(is_formula(option), pattern("page", "markup").sub(" ", fold(option)).strip()) for option in options]
    plain = [condense(form, signs=signs).text for signs, form in forms]
    question_forms = {signs: condense(fold(question), signs=signs).text for signs, _ in forms} if question else {}
    repeated = [
        number for number, (signs, _) in enumerate(forms) if question_forms and plain[number] in question_forms[signs]
    ]
    if len(repeated) >= len(options) - 1:  # the question's text lists the options itself
        repeated = []
    condensed = {signs: _condensed_reply(text, signs) for signs in {signs for signs, _ in forms}}
    matches: list[Quote] = []
    alike = [form for form in set(plain) if plain.count(form) > 1]
    for number, option_text in enumerate(plain):
        # `I, II` is in `III, II` too, which cannot be told from `II, III`.
        if option_text and not any(option_text in form for form in alike) and number not in repeated:
            matches += _quotes_of(number, option_text, condensed[forms[number][0]], text)
    longest: list[Quote] = []
    for quote in sorted(matches, key=lambda match: (match.start, -match.end)):
        if not longest or quote.end > longest[-1].end:
            longest.append(quote)
    return tuple(longest)


@lru_cache(maxsize=2)
def _condensed_reply(text: str, signs: bool) -> Condensed:  # noqa: FBT001  # the key of a cache
    """A long text is condensed once for all rules that look for quotations in it."""
    return condense(text, signs=signs)


def _quotes_of(number: int, option_text: str, condensed: Condensed, text: str) -> list[Quote]:
    matches: list[Quote] = []
    offset = condensed.text.find(option_text)
    for _ in range(_MOST_QUOTES):  # parts of longer words count too, so that a text full of them costs little
        if offset < 0:
            break
        start, end = condensed.origin(offset), condensed.origin(offset + len(option_text) - 1) + 1
        if _stands_alone(text, start, end):
            matches.append(Quote(number, start, end))
        offset = condensed.text.find(option_text, offset + len(option_text))
    return matches


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Not a part of a longer word or number."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if _joined(before, text[start]) or _joined(after, text[end - 1]):
        return False
    if text[start].isdigit() and before:
        inner = before in {".", ","} and text[max(0, start - 2)].isdigit()
        if inner or (before in {"-", "−"} and not text[max(0, start - 2)].isdigit()):
            return False
    return not (text[end - 1].isdigit() and after in {".", ","} and text[end + 1 : end + 2].isdigit())


def _joined(outside: str, inside: str) -> bool:
    return bool(outside) and outside.isascii() and outside.isalnum() and inside.isascii() and inside.isalnum()


def restated(text: str, start: int, option: str) -> int:
    """The end of the text of `option`, or of its first 60 letters, at `start`; `start` if it is not there."""
    whole = _condensed_option(option)
    beginning = whole[:_COMPARED]
    first = _LETTER_OR_DIGIT.search(text, start, start + 12)
    if not first or first.group().lower() != beginning[:1]:
        return start
    if not condense(text[start : start + 20 + 4 * _COMPARED_FIRST]).text.startswith(beginning[:_COMPARED_FIRST]):
        return start
    condensed = condense(text[start : start + 20 + 4 * len(beginning)])
    if not condensed.text.startswith(beginning):
        return start
    if len(whole) > len(beginning):  # what is said of the option stands behind all of it
        longer = condense(text[start : start + 20 + 4 * len(whole)])
        if longer.text.startswith(whole):
            return start + longer.origin(len(whole) - 1) + 1
    return start + condensed.origin(len(beginning) - 1) + 1


@lru_cache(maxsize=4096)
def _condensed_option(option: str) -> str:
    return condense(fold(option)).text


def option_list(text: str, options: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Where the reply lists the options again: per label, from it to the end of its option's text.

    It is a list where labels run A, B, C ... for all options but one at most, and for two at least. A label within a
    line counts only where the option's own text follows, so that `It is not A. It is not B. It is C.` is none.
    """
    if "A" not in text or "B" not in text:
        return ()
    regions: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    least = max(2, len(options) - 1)
    for match in islice(_LABEL.finditer(text), _MOST_LABELS):
        number = ord(match.group(1)) - ord("A")
        led_to = _LED_TO.search(text, max(0, match.start(1) - 12), match.start(1))
        if number >= len(options) or (led_to and not (run and "\n" in led_to.group())):
            continue  # the text of an option, too, may end its line with one of these words
        if not (end := _labelled_end(text, match, options[number])):
            continue
        if number != len(run):
            regions += run if len(run) >= least else []
            run = []
        if number == len(run):
            run.append((match.start(), end))
    return (*regions, *(run if len(run) >= least else ()))


def _labelled_end(text: str, label: re.Match[str], option: str) -> int:
    """Where the option's text behind its label ends; the label's end where another text is there, 0 within a line."""
    if (end := restated(text, label.end(), option)) > label.end():
        return end
    before = text[max(0, label.start() - 8) : label.start()].rstrip(" \t")
    return label.end() if label.start() == 0 or before[-1:] in _ENDS_LINE else 0


def within(offset: int, regions: Sequence[tuple[int, int]]) -> bool:
    """Whether `offset` lies in one of `regions`, which are sorted by where they start and end."""
    number = bisect_right(regions, offset, key=lambda region: region[0])
    return number > 0 and offset < regions[number - 1][1]


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """The reading of one reply: letters, status, rule and place.

    Args:
        letters: the options that the reply gives, in order; never one that the question does not have.
        status: `several` where it gives more than one and one was asked for; `empty` where it says nothing.
        rule: the name of the rule that read it, "" where none did.
        span: its range in the original reply, as (start, end); None where nothing was read.
        confidence: `explicit` where the reply names the option as its answer, `inferred` where that follows from
            the only letter or text that it mentions; None where no letter was read.
        reason: for a person, where nothing was read.
    """

    letters: tuple[str, ...]
    status: Status
    rule: str = ""
    span: tuple[int, int] | None = None
    confidence: Literal["explicit", "inferred"] | None = None
    reason: str = ""


def _without_abbreviations(text: str, options: Mapping[str, str]) -> str:
    """The text without the first letters of names that another option gives in full, each as `_`.

    `Answer: E. coli` names no option E where D is Escherichia coli.
    """
    full = {match.groups(): letter for letter, option in options.items() for match in _NAME_IN_FULL.finditer(option)}
    if not full:
        return text

    def masked(match: re.Match[str]) -> str:
        first, word = match.groups()
        is_label = full.get((first, word), first) == first or word in options.get(first, word).lower().split()
        return match.group() if is_label else f"_{match.group()[1:]}"

    return _NAME_ABBREVIATED.sub(masked, text)


def _with_capital_labels(text: str, options: Mapping[str, str]) -> str:
    """The text with capitals in place of small letters before the options' own texts: `a) iron` becomes `A) iron`."""

    def raised(match: re.Match[str]) -> str:
        letter = match[1].upper()
        owns = letter in options and restated(lines, match.end(), options[letter]) > match.end()
        return match.group().replace(match[1], letter, 1) if owns else match.group()

    lines = "\n" + text
    return _SMALL_LABEL.sub(raised, lines)[1:]


class ChoicePage:
    """One reply with its question; offsets count from the beginning of the cleaned text.

    Args:
        cleaned: the reply.
        options: the texts of the options by their letters.
        question: the question's text, "" where it is not known.
        several: whether more than one option may be right.
        complete: whether the model is known to have ended its reply itself.
    """

    def __init__(
        self,
        cleaned: CleanedReply,
        options: Mapping[str, str],
        question: str = "",
        *,
        several: bool = False,
        complete: bool = False,
    ) -> None:
        self.cleaned = cleaned
        self.text = _without_abbreviations(_with_capital_labels(cleaned.text, options), options)
        self.by_letter = options
        self.labels = tuple(options)
        self.options = tuple(options.values())
        self.question = question
        self.several = several
        self.complete = complete
        folded = zip(self.labels, map(fold, self.options), strict=True)
        # Those that hold a letter behind their first character (`维生素B`): a reply that quotes one names no option.
        self.with_letters = [(label, text.lower()) for label, text in folded if _LETTER_WITHIN.search(text, 1)]
        self._listed = option_list(self.text, self.options)
        if several and self._listed and self._is_answer(self._listed[0][0], self._listed[-1][1]):
            self._listed = ()

    def _is_answer(self, start: int, end: int) -> bool:
        """Whether a list of (nearly) all options is the answer itself: led to, and none is named apart from it."""
        heading = self.text[:start].strip()
        led_to = not heading or DECLARES.before(self.text, start) is not None
        return led_to and not self.names_options(end)

    def names_options(self, start: int) -> bool:
        """Whether letters of options stand by themselves behind `start`."""
        named = (match.group() for match in _LETTERS_ALONE.finditer(self.text, start))
        return any(set(letters) <= set(self.labels) for letters in named)

    @cached_property
    def quotes(self) -> tuple[Quote, ...]:
        """Where the texts of options are quoted, but for a list of all of them."""
        return tuple(quote for quote in quotes(self.text, self.options) if not self.is_listed(quote.start))

    @cached_property
    def asked(self) -> str:
        """The text of the question with its options."""
        return self.question + "".join(self.options)

    @cached_property
    def lowered(self) -> str:
        """The text in lower case; as it is where a few letters would become two."""
        lowered = self.text.lower()
        return lowered if len(lowered) == len(self.text) else self.text

    def is_listed(self, offset: int) -> bool:
        """Whether `offset` lies in a list of all options, which the reply only repeats."""
        return within(offset, self._listed)

    def behind(self, letter: str, end: int) -> int:
        """Where the option's own text ends that follows its letter at `end`; `end` where it does not."""
        option = self.by_letter.get(letter)
        if option is None:
            return end
        noun = _NOUN_BEHIND.match(self.text, end)
        start = noun.end() if noun else end
        behind = restated(self.text, start, option)
        return behind if behind > start else end

    def condensed(self, letter: str) -> str:
        """The option's own text without blanks and punctuation."""
        return condense(fold(self.by_letter[letter])).text

    def is_rejected(self, letters: tuple[str, ...], end: int) -> bool:
        """Whether what follows the letters that end at `end` calls them wrong, or allows them under a condition."""
        option = self.by_letter.get(letters[0]) if len(letters) == 1 else None
        behind = end if option is None else restated(self.text, end, option)
        aside = _ASIDE.match(self.text, behind)
        return bool(REJECTED.match(self.text, behind) or (aside and REJECTED.match(self.text, aside.end())))

    def breaks_off(self, start: int) -> bool:
        """Whether the reply breaks off in the sentence that speaks of the option whose label or text is at `start`."""
        if self.complete or self.text[-1] in ".!?。)\"'" or SENTENCE_END.search(self.text, start + 3):
            return False
        label = _LABEL_BEFORE.search(self.text, max(0, start - 6), start) or _LABEL_BEHIND.match(self.text, start)
        return label is not None


# An answer that is a list of options: `A. text⏎C. text`, `A⏎C`, `(A) text (C) text`. Models that may give several
# options often reply with nothing but those they choose, each with its letter. Letters rise along such a list, so that
# an answer with the options repeated below it (`C⏎A. ...⏎B. ...`) is none.


def listed_after(page: ChoicePage, letter: str, end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """The options of a list that goes on behind `letter`, which ends at `end`, and where the last of them ends.

    The list must fill its lines: behind the last option nothing else may stand in its line. () where none goes on.
    """
    behind = _entry_end(page, letter, end)
    letters, last = _follow(page, letter, behind, stop, with_texts=behind > end)
    if letters or not page.several:
        return letters, last
    begins_line = _LABEL_ALONE.fullmatch(page.text, page.text.rfind("\n", 0, end) + 1, end) is not None
    if begins_line or page.behind(letter, end) > end:
        return _explained(page, letter, end, stop)
    return (), end


def _explained(page: ChoicePage, letter: str, end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """Options at the beginning of later lines, in their own words or others, each explained and none called wrong."""
    letters, last, begin = [letter], end, end
    for following, start, behind in labelled_lines(page, end, stop):
        if following <= letters[-1] or _CALLED_WRONG.search(page.text, begin, start):
            return (), end
        letters.append(following)
        line_end = page.text.find("\n", behind, stop)
        last, begin = line_end if line_end >= 0 else stop, behind
    goes_through = _FIRST_LINE.match(page.text, 0, end + 2) and page.behind(letters[0], end) > end
    if _CALLED_WRONG.search(page.text, begin, stop) or (goes_through and len(letters) == len(page.labels)):
        return (), end  # all of them explained, with no heading that calls them right
    return tuple(letters[1:]), last


def labelled_lines(page: ChoicePage, start: int, stop: int | None = None) -> Iterator[tuple[str, int, int]]:
    """The lines behind `start` that begin with an option's letter: the letter, and where its label begins and ends."""
    end = len(page.text) if stop is None else stop
    first = [match] if start == 0 and (match := _FIRST_LINE.match(page.text)) else []
    for match in chain(first, islice(_LINE.finditer(page.text, start, end), _MOST_LINES)):
        if match["letter"] in page.labels:
            yield match["letter"], match.start(), match.end()


def _follow(page: ChoicePage, letter: str, end: int, stop: int, *, with_texts: bool) -> tuple[tuple[str, ...], int]:
    letters: list[str] = []
    position = end
    while (match := (_LABELLED if with_texts else _LONE).match(page.text, position, stop)) is not None:
        following = match["letter"]
        rises = following in page.labels and following > (letters[-1] if letters else letter)
        behind = _entry_end(page, following, match.end()) if rises and with_texts else match.end()
        if not rises or (with_texts and behind == match.end()):
            if with_texts and match.group()[-1] == following:
                break  # a sentence that begins with a capital by itself
            return (), end
        position = behind
        letters.append(following)
    if not letters or not (_ENDS_ENTRY if with_texts else _LINE_ENDS).match(page.text, position):
        return (), end
    return tuple(letters), position


def _entry_end(page: ChoicePage, letter: str, end: int) -> int:
    """Where the option's own text, or a beginning of it that fills its line, ends behind `letter`; else `end`."""
    option = page.condensed(letter)
    shown = condense(page.text[end : end + _LABEL_WITHIN + 3 * len(option)])
    if option and shown.text.startswith(option):
        behind = end + shown.origin(len(option) - 1) + 1
        return behind if _ENDS_ENTRY.match(page.text, behind) else end
    stop = page.text.find("\n", end)
    stop = len(page.text) if stop < 0 else stop
    line = condense(page.text[end:stop]).text
    return stop if len(line) >= _LEAST_TEXT and option.startswith(line) else end


def labels_that_say(page: ChoicePage, kind: str) -> tuple[str, ...]:
    """The labels of the options whose text is such a phrase: `None of the above`."""
    says = pattern("choice", kind)
    return tuple(label for label, option in zip(page.labels, page.options, strict=True) if says.search(fold(option)))
