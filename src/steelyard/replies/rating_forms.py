"""The forms in which a judge's reply gives a rating, and what it rates: its mark, label, sentence and position.

Each number of the reply is looked at with the words on both sides of it; the plainest form that fits makes a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple

from steelyard.replies.clean import fold
from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import pattern, pattern_in, words
from steelyard.replies.judge_reply import Scale
from steelyard.replies.rating_numbers import RatingNumber

# What is rated.

_ENDING: Final = re.compile(
    r"(?:ingness|edness|iness|ness|ency|ence|ency|ent|ances?|ancy|ant|acy|ate|ability|ibility|ivity|icity|ity|ing"
    r"|ed|ies|y|es|e|s)$"
)
_EMPTY: Final = frozenset(
    ["score", "rating", "overall", "the", "of", "a", "and", "metric", "criterion", "aspect", "in", "for", "to"]
)
"""Words of a name that tell no aspect from another."""
_SHORTEST_STEM: Final = 3


class Subject(IntEnum):
    """What a rating is of; a higher one is nearer to what was asked."""

    OTHER = 0
    WHOLE = 1
    ASKED = 2


class StatedRating(NamedTuple):
    """The value of a candidate.

    Args:
        number: what is stated.
        subject: what it rates.
        other: the name of another aspect or candidate that it rates; "" where it rates none.
        final: whether its sentence calls it final, corrected or concluded.
    """

    number: RatingNumber
    subject: Subject = Subject.WHOLE
    other: str = ""
    final: bool = False


@cache
def _aspect_word() -> re.Pattern[str]:
    return re.compile(rf"[A-Za-z]{{3,24}}|{pattern('rating', 'aspect').pattern}")


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(words(name))


@dataclass(frozen=True, slots=True)
class Aspects:
    """Tells the aspect that was asked for from others.

    Args:
        pattern: what finds a mention of it; None where none was named.
    """

    pattern: re.Pattern[str] | None

    def asked(self, text: str) -> bool:
        """Whether `text` mentions the aspect."""
        return self.pattern is not None and self.pattern.search(text) is not None

    def others(self, text: str) -> str:
        """The first aspect or candidate that `text` names and that was not asked for; "" where there is none."""
        for match in _aspect_word().finditer(text):
            word = match.group().lower()
            is_aspect = not word.isascii() or word.endswith(words("aspect_ending")) or word in _listed("aspect")
            if is_aspect and word not in _listed("no_aspect") and not self.asked(word):
                return word
        thing_match = pattern("rating", "thing").search(text)
        return thing_match.group().lower() if thing_match else ""

    def names(self, text: str) -> bool:
        """Whether `text` names any aspect or candidate."""
        return self.asked(text) or bool(self.others(text))

    def of_label(self, label: str) -> tuple[Subject, str]:
        """What a rating behind `label` is of, and the other aspect's name."""
        if self.asked(label):
            return Subject.ASKED, ""
        other = self.others(label)
        if other and not (other.endswith("quality") and pattern("rating", "whole").search(label)):
            return Subject.OTHER, other
        return Subject.WHOLE, ""


@lru_cache(maxsize=64)
def aspects_of(name: str) -> Aspects:
    """What tells the aspect `name`, in English or Chinese.

    >>> asked = aspects_of("Coherence")
    >>> asked.of_label("coherent, 1-5")[0].name, asked.of_label("Fluency score")[1], asked.of_label("连贯性")[0].name
    ('ASKED', 'fluency', 'ASKED')
    """
    parts = re.findall(r"[a-z]+|[\u4e00-\u9fff]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", fold(name)).lower())
    stems = [_stem(part) for part in parts if part not in _EMPTY and part not in _listed("rating_noun")]
    stems = stems or [_stem(part) for part in parts]
    if not stems:
        return Aspects(None)
    for english, _, chinese in (entry.partition("=") for entry in words("same_aspect")):
        stems += [chinese for stem in stems if stem.startswith(english)]
        stems += [english for stem in stems if stem.startswith(chinese)]
    alternatives = [rf"\b(?:un|in|ir|non)?{stem}" if stem.isascii() else stem for stem in dict.fromkeys(stems)]
    return Aspects(re.compile("|".join(alternatives), re.IGNORECASE))


def _stem(word: str) -> str:
    if not word.isascii():
        return word.rstrip("性度感力") or word
    short = _ENDING.sub("", word)
    return short if len(short) >= _SHORTEST_STEM else word[:4]


# A number with its context.

_SENTENCE_ENDS: Final = re.compile(r"[.!?](?=\s)|[。！？!?;；\n|]")
_WRAPS: Final = " \t\n-–—•+>\"'([{_~≈$:=→|【.)]}!】。,;*"
"""Signs around what a reply says."""
_WINDOW, _BEHIND, _ABOVE = 180, 120, 600
"""Characters before a number, behind it, and before it where a heading is looked for."""
_LEAD_WITHIN, _SHORT, _WORD = 110, 60, 24
"""Characters from a verb or noun to its number; of a line or clause; of a verb or noun."""
_LETTERS: Final = (("en", re.compile("[A-Za-z]")), ("zh", re.compile(r"[\u4e00-\u9fff]")))
_HEADING: Final = re.compile(
    r"^[ \t]*(?:[-•>][ \t]|\d{1,2}[.)][ \t])?[ \t]*"
    r"([A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff \t&-]{2,38}?)[ \t]*:?[ \t]*\n",
    re.MULTILINE,
)
_PARTS: Final = re.compile(r"[,;，、]|\b(?:and|while|but|whereas)\b", re.IGNORECASE)


class RatingPage(NamedTuple):
    """What a number's surroundings are read from.

    Args:
        text: of the cleaned reply.
        scale: what was asked for.
        aspects: tells what was asked for.
        phrases: gives the pattern of a kind of the lexicon, in the languages of the text.
    """

    text: str
    scale: Scale
    aspects: Aspects
    phrases: Callable[[str], re.Pattern[str]]


def rating_page(text: str, scale: Scale, aspects: Aspects) -> RatingPage:
    """The page of a cleaned reply."""
    languages = (*(name for name, letter in _LETTERS if letter.search(text)), "markup")
    return RatingPage(text, scale, aspects, partial(pattern_in, languages, "rating"))


@dataclass(frozen=True, slots=True)
class NumberContext:
    """A number with the text on both sides of it.

    Args:
        page: the page that holds it.
        number: the number.
        left: at most 180 characters before it.
        here: the end of `left` that belongs to the same sentence, in lower case.
        right: at most 120 characters behind it, its unit left out.
        next: the same in lower case.
        closes: whether what is behind it lets it be a rating; a noun makes it a count.
        describes: whether it is a level of the scale that is explained.
    """

    page: RatingPage
    number: RatingNumber
    left: str
    here: str
    right: str
    next: str
    closes: bool
    describes: bool

    @property
    def is_foreign(self) -> bool:
        """Whether it is a number that does not lie on the scale."""
        return self.number.value is not None and self.number.value not in self.page.scale

    def before(self, kind: str, within: int = 0) -> re.Match[str] | None:
        """A phrase of a kind of the lexicon in the sentence, or in its last characters."""
        return self.page.phrases(kind).search(self.here, max(0, len(self.here) - within) if within else 0)

    def last(self, kind: str) -> re.Match[str] | None:
        """The last of a kind in the sentence, near enough to lead to the number."""
        match = None
        for match in self.page.phrases(kind).finditer(self.here, max(0, len(self.here) - _LEAD_WITHIN - _WORD)):  # noqa: B007  # the last one is meant
            pass
        return match if match and len(self.here) - match.end() <= _LEAD_WITHIN else None

    def behind(self, kind: str) -> re.Match[str] | None:
        """A phrase of a kind of the lexicon right after the number."""
        return self.page.phrases(kind).match(self.next)

    def tells_of(self, lead: re.Match[str]) -> bool:
        """Whether a verb or noun in the sentence says what somebody else got: "the film received 4 stars"."""
        return self.page.phrases("told_of").search(self.here, 0, lead.start()) is not None

    def candidate(self, place: int, strength: Strength, source: str, subject: tuple[Subject, str]) -> Candidate:
        """The candidate whose statement begins at `place` of `left`."""
        number = self.number
        statement = (number.start - len(self.left) + place, number.end)
        return Candidate(StatedRating(number, *subject), number.start, number.stop, strength, source, statement)

    def placed(self, strength: Strength, source: str) -> Candidate:
        """The candidate of a number that is recognised by its position."""
        return self.candidate(len(self.left), strength, source, (Subject.WHOLE, ""))

    def said(self, place: int, source: str) -> Candidate:
        """The candidate of a number in a sentence, whose statement begins at `place` of `here`."""
        place += len(self.left) - len(self.here)
        return self.candidate(place, Strength.ANNOUNCED, source, self._of_sentence(place))

    def of_label(self, label: str) -> tuple[Subject, str]:
        """What a rating behind `label` is of: what the label, the words behind or the heading above it names."""
        aspects = self.page.aspects
        name = self.named_behind()
        if name and not aspects.asked(label):
            label = name
        subject, other = aspects.of_label(label.replace("_", " "))
        if subject is not Subject.WHOLE:
            return subject, other
        above = self.page.text[max(0, self.number.start - _ABOVE) : self.number.start]
        headings = _HEADING.findall(above) if "\n" in above else []
        name = next((heading for heading in reversed(headings) if aspects.names(heading)), "")
        return aspects.of_label(name) if name else (subject, other)

    def _of_sentence(self, place: int) -> tuple[Subject, str]:
        """The subject that is named after the number, before the verb, or at the start of the sentence."""
        aspects = self.page.aspects
        opening = self.page.phrases("about_before").match(self.here)
        for name in (self.named_behind(), opening[1] if opening else ""):
            if name and aspects.names(name):
                return aspects.of_label(name)
        sentence = self.left[len(self.left) - len(self.here) :]
        place = max(0, place - len(self.left) + len(sentence))
        spoken = sentence[place:]
        if aspects.asked(spoken):
            return Subject.ASKED, ""
        other = aspects.others(spoken[:_LEAD_WITHIN])
        return (Subject.OTHER, other) if other else aspects.of_label(_PARTS.split(sentence[:place])[-1][-40:])

    def named_behind(self) -> str:
        """The aspect or candidate that follows the number: "4 for fluency", "4 (fluency)"."""
        match = self.behind("about_behind")
        name = str(next(filter(None, match.groups()), "")) if match else ""
        return name if name and self.page.aspects.names(name) else ""


def context_of(page: RatingPage, number: RatingNumber) -> NumberContext:
    """The context of `number` on its page."""
    left = page.text[max(0, number.start - _WINDOW) : number.start]
    right = page.text[number.end : number.end + _BEHIND]
    sentence, behind = _SENTENCE_ENDS.split(left)[-1].lower(), right.lower()
    closes = pattern("rating", "closes").match(right) is not None
    describes = page.phrases("describes").match(behind) is not None
    return NumberContext(page, number, left, sentence, right, behind, closes, describes)


def rating_of(page: RatingPage, number: RatingNumber, *, lone: bool) -> Candidate | None:
    """The plainest reading of a number as a rating; None where it is none.

    Args:
        page: the page that holds it.
        number: the number.
        lone: whether the reply has no other.
    """
    context = context_of(page, number)
    candidate = _marked(context) or _labelled(context)
    if (
        candidate
        and candidate.whole
        and pattern("judge", "copied").search(page.text, max(0, candidate.whole[0] - _SHORT), candidate.whole[0])
    ):
        return None
    candidate = candidate or _in_sentence(context)
    if candidate is None:
        readings = [candidate for candidate in (_counted(context), _placed(context, lone=lone)) if candidate]
        return max(readings, key=lambda candidate: candidate.strength, default=None)
    final = not lone and context.before("final") is not None
    return replace(candidate, value=candidate.value._replace(final=True)) if final else candidate


# In a mark, or behind a label.

_LABEL_WITHIN, _SEPARATED_WITHIN, _LONG_LABEL = 90, 80, 70
_BRACKETS: Final = re.compile(r"(?P<double>\[\s?\[\s{0,3}|【\[)\Z|(?P<boxed>\bboxed\s?\{[\s{]{0,16})\Z")
_TAG: Final = re.compile(r"<(?P<label>[A-Za-z_\u4e00-\u9fff]{1,30})>\s{0,20}\Z")
_TAG_ENDS: Final = re.compile(r"\s{0,20}(?:<|\Z)|[ \t]{0,4}\n")
_RESULT: Final = re.compile(r"\s*(?:results?|score|rating|评分|得分|结果)\s*", re.IGNORECASE)
_LED: Final = re.compile(r"(?<![a-z\n])(?:an?|is|at|about|around|between(?: an?)?)\Z", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"[ \t][-–—]{1,2}\Z|—\Z|\.{2,}\Z|[-=]+>\Z|[:=|→⇒ \n]*[:=|→⇒]\Z")
_BARE_LABEL: Final = re.compile(
    r"(?:\A|[\n.;,:(|])\s{0,8}"
    r"(?P<label>[A-Za-z]{4,20}(?: [A-Za-z]{2,20}){0,2}(?<!points)(?=[\s(])|[\u4e00-\u9fff]{2,8})[\s(]{0,3}\Z"
)
_ENTRY: Final = re.compile(r"[.)]\s{1,3}[^\W\d]")
_BARE_ENDS: Final = re.compile(r"\s?(?:[.!,;)。]|[-–—]\s|\n|\Z)")
"""A label without a separator: "Rating 4" at the beginning of a line or clause."""
_SCALED: Final = re.compile(r"\s(?:out of|(?:on|from|using|with) (?:a|the) (?:\S{1,8} )?scale)\b.*\Z", re.IGNORECASE)
_ENTRY_BEFORE: Final = re.compile(r"(?<!\d)\s[-–—]\s?\d{1,3}(?:\.\d)?(?:\s?/\s?\d{1,3})?(?:,|\sand)\s")
"""The rating of another thing in the same line: "relevance - 2, coherence - 3"; no label reaches back over it."""
_Label = tuple[str, int]
"""A label and where it begins in the text before the number."""


def _marked(context: NumberContext) -> Candidate | None:
    """A number in a mark that prompts ask for: [[4]], a box, a tag, behind [RESULT]."""
    left = context.left
    last = left.rstrip()[-1:]
    if last in {"[", "{"} and (match := _BRACKETS.search(left, max(0, len(left) - 40))):
        start = max(0, len(left) - len(context.here))
        label, name = left[start : match.start()] or _words(left[: match.start()])[0], match.lastgroup or ""
    elif last == ">" and (match := _TAG.search(left, max(0, len(left) - 60))) and _TAG_ENDS.match(context.right):
        label, name = match["label"], "tag"
    elif last == "]" and (enclosed := _enclosed(left.rstrip())) and _RESULT.fullmatch(enclosed[0]):
        return context.candidate(enclosed[1], Strength.STRUCTURED, "enclosed", context.of_label(enclosed[0]))
    else:
        return None
    return context.candidate(match.start(), Strength.STRUCTURED, name, context.of_label(label))


def _labelled(context: NumberContext) -> Candidate | None:
    """A number behind the label of a rating or of an aspect: "Coherence: 4", "Score (1-5) = 4", "Rating 4"."""
    if (context.describes and context.right.lstrip()[:1] != "(") or (
        not context.closes and context.number.written == "word"
    ):
        return None
    label = _label_before(context.left)
    if label is None and _BARE_ENDS.match(context.right):
        bare = _BARE_LABEL.search(context.left, max(0, len(context.left) - _SHORT))
        label = (bare["label"], bare.start("label")) if bare else None
    if label is None or not _is_rating(context, label[0]) or (not context.closes and context.behind("count_noun")):
        return None
    if _is_entry(context) and context.left.rstrip(" \t")[-1:] == "\n":
        return None
    return context.candidate(label[1], Strength.DECLARED, "labelled", context.of_label(label[0]))


def _is_entry(context: NumberContext) -> bool:
    """Whether a "1." within a reply begins a list, perhaps of one entry: it comes below "Here is my evaluation:"."""
    return context.number.value == 1 and _ENTRY.match(context.right) is not None


def _label_before(left: str) -> _Label | None:
    """The label that ends `left` together with its separator."""
    tail = left.rstrip(" \t\n<\"'([{$~≈_")
    if tail[-1:].isalpha() and (match := _LED.search(tail, max(0, len(tail) - 16))):
        tail = tail[: match.start()].rstrip(" \t<\"'([{$~≈_")
    separator = _SEPARATOR.search(tail, max(0, len(tail) - 6))
    if len(left) - len(tail) > _SEPARATED_WITHIN:
        return None
    if separator is None:
        return _enclosed(tail) if tail[-1:] in {"]", "】"} else None
    label = tail[: separator.start()].rstrip()
    if label[-1:] in {")", "]", "】"}:  # the scale behind the label, or a label in brackets
        opened = max(label.rfind(mark, max(0, len(label) - 160)) for mark in "([【")
        if opened >= 0 and "\n" not in label[opened:]:
            before = _words(label[:opened].rstrip())
            return before if before[0].strip() else _enclosed(label)
    return _words(label)


def _words(text: str) -> _Label:
    """The words that end `text`, back to the nearest boundary."""
    boundaries = [text.rfind(sign) + 1 for sign in "\n:;!?。；！？|="]
    boundaries += [match.end() for match in _ENTRY_BEFORE.finditer(text, max(0, len(text) - _LABEL_WITHIN))]
    start = max(len(text) - _LABEL_WITHIN, 0, text.rfind(". ") + 2 if ". " in text else 0, *boundaries)
    label = text[start:].lstrip(" \t-•>\"'([")
    return label, len(text) - len(label)


def _enclosed(text: str) -> _Label | None:
    """The label inside the brackets that end `text`."""
    opened = max(text.rfind(mark, max(0, len(text) - 44)) for mark in "[【(")
    return (text[opened + 1 : -1], opened) if opened >= 0 and "\n" not in text[opened:] else None


def _is_rating(context: NumberContext, label: str) -> bool:
    """Whether the number behind a label is a rating, and no count, year or reason."""
    phrases, aspects, lowered = context.page.phrases, context.page.aspects, _SCALED.sub("", label).lower()
    is_asked = aspects.asked(label)
    if (
        not label.strip()
        or phrases("no_number").search(lowered)
        or (not is_asked and phrases("counts").search(lowered))
    ):
        return False
    if phrases("label").search(lowered[-_SHORT:]):
        return True
    return len(label) <= _LONG_LABEL and (is_asked or bool(aspects.others(label[-50:])))


# In a sentence.

_DENIED_WITHIN, _DENIED_WITHIN_CHINESE, _FEW_WORDS = 40, 12, 4
_CLAUSE: Final = re.compile(r"[,;:，、\d]")
_ENDS: Final = re.compile(r"[\"')\]]{0,2}\s{0,2}(?:\Z|[.!,;\n。])")
_SPEAKER: Final = re.compile(r"\b(?:i|let's|let us|it|this)\b", re.IGNORECASE)
_CHINESE_UNITS: Final = ("分", "星", "颗", "个", "级")
_CHINESE_BEFORE: Final = re.compile(r"[\u4e00-\u9fff][^\n]{0,3}\Z")
_CHINESE_LINK: Final = re.compile(r"[为是:]\s?\Z")
_CHINESE_ENDS: Final = re.compile(r"\s{0,2}(?:\Z|[.,;。，；!\n)(/])")
_APART: Final = re.compile(r"(?:\A|[,，:])\s*\Z")


def _in_sentence(context: NumberContext) -> Candidate | None:
    """A number in a sentence that gives a rating: "I would rate it a 4 out of 5", "它值4分"."""
    if context.describes:
        return None
    if (candidate := _in_chinese(context)) or not _may_be_said(context):
        return candidate
    candidate = _by_lead(context) or _by_article(context)
    return None if candidate and context.before("supposed") else candidate


def _may_be_said(context: NumberContext) -> bool:
    """Whether nothing around a number says that it is not a rating: a denial, a noun, a game's result."""
    bounds = context.number.bounds
    game = bounds is not None and bounds[0] >= bounds[1]  # ranges run upwards, results of games need not
    return context.closes and not (game or context.describes or _is_denied(context, _DENIED_WITHIN))


def _is_denied(context: NumberContext, within: int) -> bool:
    tail = _CLAUSE.split(context.here[-within:])[-1]
    return bool(tail) and context.page.phrases("denied").search(tail) is not None


def _by_lead(context: NumberContext) -> Candidate | None:
    """A number that a verb or a noun of rating leads to, or that an aspect is said to be: "relevance is 3"."""
    noun, vague, aspects = context.last("noun"), context.number.is_vague, context.page.aspects
    follows = noun and noun.end() == len(context.here.rstrip()) and not vague
    if noun and (follows or context.before("link", _SHORT)) and not context.tells_of(noun):
        return context.said(noun.start(), "noun")
    last = context.here[-_SHORT:].rpartition(" ")[0].rpartition(" ")[2] if context.here[-1:] == " " else ""
    if (context.before("direct", _SHORT) or aspects.names(last)) and (verb := _gives(context, last)):
        return context.said(verb.start(), "verb")
    if vague:
        return None
    if aspects.asked(context.named_behind()):
        return context.said(len(context.here), "noun")
    aspect = context.before("aspect_is", _SHORT)
    return context.said(aspect.start(), "noun") if aspect and aspects.names(aspect[1]) else None


def _gives(context: NumberContext, last: str) -> re.Match[str] | None:
    """The verb that gives a number as a rating; none where it says what somebody else got, a count or a name."""
    verb, weak = context.last("verb"), context.last("weak_verb")
    sure = context.number.top is not None or context.number.unit or _SPEAKER.search(context.here)
    if weak and (verb is None or verb.start() < weak.start()):
        verb = weak if sure or context.page.aspects.names(context.here + context.named_behind()) else None
    if verb is None or context.tells_of(verb):
        return None
    if context.number.is_vague:
        rates = verb.group() in {"rate", "score"} and _ENDS.match(context.right)
        return verb if rates or last in {"a", "an", "as", "of"} else None
    return None if context.right[:1] == ":" and last in words("rated") else verb  # "Answer 1: ..." is a name


def _by_article(context: NumberContext) -> Candidate | None:
    """A number with an article, as in "It is a 4", or behind a conclusion: "Overall, 4."."""
    concludes = context.before("concludes", _SHORT)
    if concludes and (not concludes.start() or concludes.group()[0] in ",;") and _ENDS.match(context.right):
        return context.said(len(context.here), "concluded")
    if context.is_foreign or not context.before("article", _SHORT) or context.before("elsewhere"):
        return None
    few = len(context.here.split()) <= _FEW_WORDS
    sure = few and _ENDS.match(context.right) if context.number.is_vague else few or _SPEAKER.search(context.here)
    return context.said(len(context.here), "article") if sure else None


def _counted(context: NumberContext) -> Candidate | None:
    """Stars, or a number that is out of the highest value, where no sentence leads to it."""
    number = context.number
    if not _may_be_said(context):
        return None
    out_of_highest = number.top == context.page.scale.high
    drawn = number.written == "stars"
    stars = drawn or number.unit.startswith("star")
    if not out_of_highest and (not drawn or number.bounds):
        return None
    if context.before("supposed") or (not stars and (context.behind("count_noun") or context.before("covers", _SHORT))):
        return None
    return context.said(len(context.here), "counted")


def _in_chinese(context: NumberContext) -> Candidate | None:
    """A number with a Chinese unit, or behind Chinese words."""
    tail = context.here[-_DENIED_WITHIN:]
    if not (context.number.unit.startswith(_CHINESE_UNITS) or _CHINESE_BEFORE.search(tail)):
        return None
    if _is_denied(context, _DENIED_WITHIN_CHINESE) and not context.page.phrases("full_marks").search(tail):
        return None
    ends = _CHINESE_ENDS.match(context.right)
    if context.number.unit and ends and _APART.search(tail):
        return context.placed(Strength.CONCLUDED, "counted")
    match = context.page.phrases("gives").search(tail)
    if match is None or not (context.number.unit or (ends and _CHINESE_LINK.search(tail))):
        return None
    return context.said(len(context.here) - len(tail) + match.start(), "verb")


# By its position: the whole reply, its first words, a line of its own, its last word.

_LAST_SIGNS: Final = 10
"""Characters before a number that tell whether a sentence ends there."""
_ALONE: Final = re.compile(
    r"\s*(?i:(?:maybe|probably|perhaps|about|around|approximately|roughly|likely)\s|大概|大约|约)?"
    r"[<\s\-–—•+>\"'(\[{_~≈$:=→|【]*\Z"
)
_LINE_ENDS: Final = re.compile(r"吧?[\s.)\]}\"'!_$|】。,;：:*>+]*(?:\n|\Z)")
_GOES_ON: Final = re.compile(
    r"\s{0,2}(?!,\s?\d)(?:[.:,;)\]\"'!。，]{1,2}\s{0,9}|\s?[-–—=]{1,2}\s{0,9}|\s?\(\s{0,9}|\n)(?=\S)|\s{1,4}(?=because"
    r"|on\sa\sscale|as\s|since|for\s|due|stars|[A-Z\u4e00-\u9fff])"
)
_ENDS_REPLY: Final = re.compile(r"\s?[-–—(:]\s?\w[^\n.]{0,40}\Z|\s?\(?on a scale (?:of|from)\b[^\n]{0,30}\Z")
_CLOSES_SENTENCE: Final = re.compile(
    r"(?:[.!?。！？…→]|(?<!:):(?=\s)|(?<=[\u4e00-\u9fff]):|[-–—]>|\d\s?=|(?<=\D)\]|[^\s(]{2}\))\s{0,3}[\"'(\[]?\s?\Z"
    r"|(?:\n|->|=>)\s{0,3}\Z"
)
_TIME: Final = re.compile(r"\d[:.]\Z|(?<![\w])[A-Za-z]\s?[:=.]\s?\Z")
_LAST_LABEL: Final = re.compile(r"[A-Za-z\u4e00-\u9fff][^\d\n]{0,40}?[(:=\-–—]\s{0,2}\Z")


@cache
def _stops() -> re.Pattern[str]:
    """The end of a line, or a new sentence."""
    return re.compile(rf"{_LINE_ENDS.pattern}|[.!)\]\"]{{0,3}}\s{{1,4}}(?:{'|'.join(words('opening'))})\b")


def _placed(context: NumberContext, *, lone: bool) -> Candidate | None:
    """A number that is recognised by its position."""
    text, number = context.page.text, context.number
    line = max(text.rfind("\n", 0, number.start) + 1, number.start - _SHORT)
    before = text[line : number.start]
    opens = not text[: number.start].strip(_WRAPS)
    if _LINE_ENDS.match(text, number.end) and _ALONE.fullmatch(before):
        last = not text[number.end :].strip(_WRAPS)
        return context.placed(
            Strength.DECLARED if opens else Strength.ANNOUNCED if last else Strength.CONCLUDED, "alone"
        )
    if opens and _leads_text(context):
        listed = number.value == 1 and context.right[:1] == "." and number.top is None and not number.unit
        return context.placed(Strength.CONCLUDED if listed else Strength.DECLARED, "leading")
    return None if number.written == "word" or context.before("counts", _SHORT) else _last(context, line, lone=lone)


def _last(context: NumberContext, line: int, *, lone: bool) -> Candidate | None:
    """A number at the end of its line, which begins at `line`, or of a short reply: "It is clear. 4", "Good (3)"."""
    text, number = context.page.text, context.number
    before = text[line : number.start]
    closes = _CLOSES_SENTENCE.search(text, max(line - 1, number.start - _LAST_SIGNS), number.start)
    closes = None if context.is_foreign else closes
    if closes and _ENDS_REPLY.match(text, number.end):
        return context.placed(Strength.CONCLUDED, "last")
    if not _stops().match(text, number.end) or _TIME.search(before) or _is_entry(context):
        return None
    if closes and number.value is not None:
        return context.placed(Strength.CONCLUDED, "last")
    first = text.lstrip().partition("\n")[0]
    short = lone and not text[:line].strip() and len(first) <= _SHORT and _LAST_LABEL.search(before)
    return context.placed(Strength.MENTIONED, "last") if short else None


def _leads_text(context: NumberContext) -> bool:
    """Whether the reply opens with the number as its rating and goes on with words about it."""
    number, text = context.number, context.page.text
    goes_on = _GOES_ON.match(text, number.end) is not None
    if number.value is None:
        return goes_on
    if number.is_vague:
        return not context.is_foreign and context.right[:1] in {".", ":", "!"}
    listed = context.right[:1] in {")", "、"} and "(" not in text[max(0, number.start - 2) : number.start]
    if (context.is_foreign and number.top is None) or listed or context.describes:
        return False
    if number.top is not None and context.behind("count_noun"):
        return False
    return goes_on or number.top is not None or number.unit.startswith(("star", "point", "分", "星"))
