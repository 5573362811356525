"""Which option letters of a reply are its answer.

A capital letter alone may be the article "A", the pronoun "I", a variable, a unit or an initial. A group is what stands
in one answer: `B`, `A, C and D`, `ABD`. It counts by the phrase in front of it; a letter that no phrase gives counts
only where it opens the reply, is the only one called right, or the only one that is named at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from steelyard.replies.clean import fold
from steelyard.replies.evidence import (
    CONFIRMED,
    CONTINUED,
    DECLARES,
    LEADS,
    REJECTED,
    WRONG_ANSWER,
    WRONG_ONE,
    Around,
    Candidate,
    Strength,
    decide,
    is_against,
    opens_with,
    phrases,
)
from steelyard.replies.grammar import FLAGS, any_of, expanded, pattern, source, words
from steelyard.replies.options import SENTENCE_END, ChoicePage, labelled_lines, labels_that_say, listed_after, restated

MOST_MENTIONS: Final = 40
"""Limit of letters that are examined: it bounds the time for a reply that is full of them."""
_LAST_MENTIONS: Final = 16
"""The last letters, in front of which a phrase is looked for; in 2,238 real replies eight are enough."""
_MOST_LINES: Final = 30
_MOST_STOPS: Final = 2
"""Limit of follow-up questions that the model adds itself; an answer is looked for before each of them."""
_ALONE: Final = r"(?-i:[A-Z](?![A-Za-z0-9]))"
_LETTER: Final = rf"(?<![A-Za-z0-9]){_ALONE}"
_JOINED: Final = (
    r"(?:,?\s?\b(?:and/or|and|or|as well as|along with|together with|plus|o|y|ou|oder|et|und|(?-i:e))\b"
    r"(?:\s(?:also|even|possibly|perhaps|maybe)\b)?|、|/|&|\+|[,、]?(?:和|或者|或|与|以及|及|还有)|와|과|및|또는|と|または|もしくは|あるいは|か|や|でも|(?<=[)\]}】])(?=[(\[{【])|(?<=\|))"
)
"""Between letters of one group, whatever is said of them behind the last: `A、C选项正确`."""
_LINK: Final = rf"(?:{_JOINED}|;|,)"
_TAIL: Final = r"(?:\s?(?:选项|项))?[)\]}】\"'>$|]{0,4}"
_HEAD: Final = (
    r"[\"']?(?:选项|选|選択肢|(?:(?:l[ae]s?|die|der)\s{1,2})?(?:options?|opción|choices?|respuesta|réponse|antwort)?)"
    r"[\s(\[{【\"'<$]{0,4}"
)
_NOT_A_SUBJECT: Final = (
    r"(?!\s{0,2}(?:is\b|was\b|[:.)]\s{0,2}(?!(?:and|or|are|were|和|或)\b|[都均也皆])[^\s,.)(\[{【]"
    r"|错|不|的|中|虽|则|表))"
)
_NOT_SPOKEN_OF: Final = r"(?!\s{0,2}(?:are\b|选项|项))"
_CAPITALS: Final = r"(?-i:(?<![A-Za-z0-9])[A-Z]{2,10}(?![A-Za-z0-9]))"
_GROUP: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?-i:[A-Z](?:\.[A-Z]){{1,9}}(?![A-Za-z0-9]))"
    rf"|{_ALONE}(?:{_TAIL}\s{{0,2}}(?:{_JOINED}\s{{0,2}}{_HEAD}{_LETTER}"
    rf"|{_LINK}\s{{0,2}}{_HEAD}{_LETTER}{_NOT_SPOKEN_OF}){_NOT_A_SUBJECT}){{0,25}}"
    r"|(?-i:[A-Z]{2,10}(?![A-Za-z0-9]))"
    r"|(?-i:[a-z](?![A-Za-z0-9])(?:\)?\s{0,2}(?:,|、|;|/|&|and\b|和|与)\s{0,2}\(?[a-z](?![A-Za-z0-9])){0,9})"
    r"(?=\s{0,2}(?:[).:\]},\"'。]|<[/a-z]{2}|\n|$)|\s(?:because|since|due\sto)\b))",
    re.IGNORECASE,
)
"""One answer's letters: `B`, `A, C and D`, `ABD`, `A.B.D`, `b)`, `a, c`."""
JOINT: Final = re.compile(
    rf"{_LETTER}(?:{_TAIL}\s{{0,2}}{_LINK}\s{{0,2}}{_HEAD}{_LETTER}){{0,25}}|{_CAPITALS}", re.IGNORECASE
)
"""The letters of which one thing is said: `A, B and C are`."""
_SPACED: Final = re.compile(r"(?:[ \t]{1,6}[A-Z](?![A-Za-z0-9'’]|\.[A-Z]))+")
_NEXT: Final = re.compile(rf"{_TAIL}[\s.,;]{{0,3}}{_LINK}\s{{0,2}}{_HEAD}(?P<letter>{_LETTER})", re.IGNORECASE)
_SENTENCE_ENDS: Final = re.compile(r"[)\]\"' ]{0,2}(?:\.\s{1,3}(?=[A-Z\"“(])|[。](?=\S)|\.?\n)")
"""Behind the last letter of a list: what follows is another sentence, where it is not that option's text."""
_OTHER_SET: Final = re.compile(r"\s?(?:或者?|还是|or\s)\s?[(\[]?[A-Z]{2,10}(?![A-Za-z0-9])")
"""Behind several letters: other letters that may be the answer instead, as in `AC或AD`."""
_KEY_ENDS: Final = re.compile(r"[\"']\s{0,3}:")
LONE: Final = re.compile(rf"(?P<lone>{_LETTER})")
NAMED: Final = re.compile(
    rf"(?:选项|\b(?:options?|choices?|answers?|statements?)\s{{1,2}})[\s(\[\"']{{0,3}}(?P<behind>{_LETTER})"
    rf"|(?P<before>{_LETTER})\s?(?:选项|项)|^[ \t]*[(\[]?(?P<line>{_LETTER})[)\]]?[ \t]*+(?:[.:][ \t]*+)?$",
    FLAGS,
)
"""A letter that is spoken of as an option: `option B`, `B选项`, B alone on its line."""
_BRACKET: Final = re.compile(r"\s?\([^)\n]{1,80}\)")
_BOX_BEFORE: Final = re.compile(r"\\(?:boxed|fbox)[\s{$(]{0,12}\Z")
_BETWEEN_BOXES: Final = re.compile(r"[}$)\s]{0,8}(?:,|、|;|and|和)?[\s$(]{0,8}\\(?:boxed|fbox)[\s{$(]{0,12}")
_TEXT_BEGINS: Final = re.compile(r"\W*[A-Z](?:\.?[ \t]\w|-?[一-鿿])")

_FORMULA_BEHIND: Final = re.compile(
    r"\s?[=^×≈{]|\s?[<>≤≥]\s?-?\w(?!\w)|\$?\s?\\(?!\))|\s?\+\s?[\w(]|_|['’](?:s|m|d|ll|ve|re)\b|-[a-z]{2}|[+#]|\.(?:[A-Za-z]\b\.?|\d)"
    r"|\([A-Za-z0-9_]{1,2}\)|°|&\w|(?<=[CDJLMNSTcdjlmnst])'[a-zà-ÿœ]|\.\s?[a-z]\.(?=\s|$)|-\d|\.\s?[A-Z]\.\s?[A-Z][a-z]"
    rf"|{source('choice', 'names_behind')}"
)
_FORMULA_BEFORE: Final = re.compile(
    r"(?:(?<![A-Za-z])[A-Za-z]\s?[=<>≤≥]|[\^×+\d_\\°]|\w['’]|[a-zA-Z0-9_]\()\s?$|-$|(?<![A-Za-z])(?:z\.\s?|[A-Z]\.)$"
)
_NAMES_BEFORE: Final = words("name_before")
_NAMES_WITHIN: Final = 16
_YEAR_BEHIND: Final = re.compile(r"(?<=[A-Z]{2})\s?\d")
_ARTICLE_BEFORE: Final = re.compile(r"\b(?:rather|but|just|also|simply|merely|of|with|as|like)\s\Z", re.IGNORECASE)
"""Behind it, an `a` that ends the reply is the article of a noun that did not come."""
_RUNS_ON: Final = re.compile(r"[ \t]+[a-z]")
_GOES_ON: Final = re.compile(
    r"\s*(?:['\"]?\s+)?(?:because|since|as|and|or|o|ou|oder|et|und|e|is|was|are|which|with|for|due|in|according|based|from|given"
    r"|would|that|this|seems|appears|fits|matches|describes|represents|must|most|more|best|only|instead|being"
    r"|where|while|if|but|the|option|to|of|on|not|rather|correct|by|has|states|says|may|can|should|,)\b"
)
"""What follows an option A, and no article."""
_PRONOUN: Final = re.compile(
    r"'(?=[a-z])|[ \t]+(?!(?:is|because|since|as|and|or|was)\b)[a-z]|,\s(?!(?:since|because)\b)"
)
_CALLED_OPTION: Final = re.compile(rf"{source('choice', 'option_noun')}\s\(?$", re.IGNORECASE)
_RANGE: Final = re.compile(r"[)\]]?\s?(?:[-–—]|to|through)\s?[(\[]?[A-Z](?![A-Za-z])")
_RANGE_BEFORE: Final = re.compile(r"(?<![A-Za-z])[A-Z][)\]]?\s?(?:[-–—]|to|through)\s?[(\[]?$")

_CLOSE_WITHIN: Final = 40
_NAMED_WRONG_WITHIN: Final = 60
_CLOSEST: Final = re.compile(r"\b(?:closest|nearest)\b", FLAGS)
_STILL_WRONG: Final = re.compile(
    r"[^.!?\n]{0,20}\b(?:but|yet|though|although|however)\b[^.!?\n]{0,60}?"
    r"(?:\b(?:not|off|wrong|incorrect|inaccurate|cannot)\b|n't\b)",
    FLAGS,
)
"""Behind the closest option: it is not the answer after all."""
_CLOSED: Final = re.compile(
    r"[ \t]{0,3}(?:[)\]】.:,。;!>}\"'|\\]|、|\n|<|[-–—]\s|\()|\s*\Z|(?:[两三四五]个?)?(?:选项|项)(?:[。.;!]|\n|\Z)"
    r"|[ \t]+(?:because|since|as|due to|is (?:the |my |most )+(?:correct|right|best|most|likely|answer))\b"
    r"|[ \t]*(?:因|根据|理由|解析|由于|首先)"
)
_LEADING: Final = re.compile(
    r"(?:\s{0,3}json\s{1,3})?[\s(\[{【\"'<$|>•·\-:.,!?。、]{0,8}"
    r"(?:(?-i:A)\s?:\s+(?=[(\[\"']{0,2}(?-i:[A-Z])(?:[).]|\s*\Z)))?(?:1[.)、]\s{0,2}(?=[(\[]?(?-i:[A-Z])\W))?(?:both\s)?"
    rf"(?:(?:the |my )?(?:{source('choice', 'option_noun')}|answers?|letters|选项|选择|选|答)[\s:(\"'\[]{{0,4}})?"
    rf"(?P<group>{_GROUP.pattern})",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"[)\]]{1,2}[ \t]{1,3}(?!is (?:the |my |most )+(?:correct|right|best|most|likely|answer)\b"
    r"|(?:appears|seems|looks|has|must|should)(?: to)?(?: be)? (?:the |my |most )?"
    r"(?:correct|right|best|answer|selected|chosen)(?: (?:answer|option|choice|one|to me))?\.?(?:\n|\Z))"
    r"(?P<verb>is|are|was|were|has|have|does|do|did|can|cannot|could|would|might|may|will|must|should|seems|appears|looks"
    r"|refers|describes?|says|states|claims|suggests|implies|contradicts|lists|mentions|fails|shows|gives|contains"
    r"|includes|represents|indicates|means|involves|relates|violates|ignores)\b"
    r"|[)\]]\s?(?:选项|项)?(?P<behind>与(?!题[意干目](?:要求)?(?:相符|符合|一致))"
    r"|违背|违反|说的|讲的|指的|描述|表述|涉及|强调|虽|中|的说法|的内容)"
)
"""Behind a letter in brackets: a sentence on its option, as `(B) contradicts the text` is, and no answer yet."""
_NEXT_SENTENCE: Final = re.compile(
    r"[ \t]{1,3}(?:The|This|That|It|In|Because|Since|Based|According|As|For|Explanation|Reason)\b"
)
_NEW_SENTENCE: Final = re.compile(r"[ \t]{1,3}[A-Z0-9\"“$]")
_WHOLE: Final = re.compile(r"[\s).:\]}\"'<>。,;!$|]{0,12}(?:$|\n)")
_LOWER_CASE: Final = re.compile(r"\W{0,8}(?P<group>[a-z]{2,10})\W{0,8}")
_INITIALS: Final = re.compile(r"\.[ ]?[A-Z]\.")
_JUDGED: Final = re.compile(
    r"[)\]]?(?:,?\s?(?:and|or|和|及|与)?\s?\b(?-i:[A-Z])\b){0,3}[)\]\"']{0,2}"
    r"(?:[.:\s]{0,2}(?:选项|项)?(?:的?说法|的?表述)?(?:是|为|也|均|都)?(?:正确|对的|符合|成立)"
    r"|\s(?:is|are)\s(?:also\s|both\s)?(?:correct|right|true|accurate)\b(?!\s(?:answer|option|choice))"
    r"|[.:]?\s?[-–—]?\s?(?:correct|right|true|incorrect|wrong|false)\b)",
    re.IGNORECASE,
)
_MARKED: Final = re.compile(r"^[ \t•-]{0,6}(?:[✅✔✓☑]|(?P<wrong>[❌✗✘❎]))\ufe0f?[ \t]{0,2}[(\[]?\Z", re.MULTILINE)
"""In front of a letter: its line is marked as right or wrong."""
_EMPTY_OR_CROSSED: Final = re.compile(
    r"(?:(?P<empty>[☐□]|^[ \t•-]{0,6}\[ ?\])|(?P<round>^[ \t•-]{0,6}\( ?\))|[❌✗✘❎])\ufe0f?[ \t]{0,2}[(\[]?\Z",
    re.MULTILINE,
)
"""In front of a letter: an empty box, or the mark of what is wrong. Brackets in a line may be a blank to fill in."""
_LEFT_OUT: Final = re.compile(
    r"exclud|ruled out|eliminat|discard|dismiss|reject|discount|crossed|\banswer\b"
    r"|排除|淘汰|剔除|不选|不当选|(?<!符合)题[意干]",
    re.IGNORECASE,
)
_TICKED: Final = re.compile(r"\([xX✓√]\)")
_MAY_ASK_FOR_WRONG: Final = re.compile(
    r"[错误不非除否]|않|아닌|틀린|잘못|n't\b|\b(?:not|except|lie|never|false|untrue|incorrect|wrong|least)\b",
    re.IGNORECASE,
)
"""A word of a question that may ask for the wrong option in a way that `asks_for_wrong` does not know."""
_WALKED: Final = re.compile(
    r":\s[^.!?\n]{1,120}\b(?:is|are|was|were) (?:incorrect|wrong|not (?:correct|right|true))[.;,] ?\(?[A-Z]\)?[:.)]\s"
)
"""The first of several options that a reply goes through: `B: x is incorrect. C: y is incorrect.`"""
_LINE_LABEL: Final = re.compile(
    r"(?:\n\s{0,20}(?:[-•·]\s{0,3})?(?:选项|選択肢|선택지\s?|[Oo]p(?:tion|ción|ção)\s)?|[。;.]\s{0,2}(?:选项|[Oo]ption\s))"
    r"[(\[]?([A-Z])(?:选项|项)?\s?[.:)、\],]|[。\n]\s*([A-Z])(?:选项|项)"
)
_SUPPOSING: Final = Around("supposing", behind=r"[^.;!?。\n]*\Z")
_SUPPOSED_WITHIN: Final = 80
"""Before a letter in its sentence: it is the answer under a condition, which another one without it may not be."""
_CONCLUDES: Final = re.compile(rf"\s*{any_of(expanded('<conclusion>', language) for language in ('en', 'zh'))}", FLAGS)


def declared_letters(page: ChoicePage) -> Candidate | None:
    """`The answer is B`, `故选B`, a letter at the very beginning; `none of them` in their place."""
    begin = 0
    for stop in _stops(page.text):
        if candidates := _candidates(page, begin, stop):
            in_order = sorted(candidates, key=lambda candidate: candidate.start)
            return decide(_last_box(in_order, page.text), page.text)
        begin = stop
    return None


def _last_box(candidates: list[Candidate], text: str) -> list[Candidate]:
    r"""Of several boxes that differ, the last and what follows it: earlier ones hold parts and drafts of the answer.

    Boxes side by side (`\boxed{A}, \boxed{C}`) are one answer.
    """
    boxes = [
        candidate for candidate in candidates if _BOX_BEFORE.search(text, max(0, candidate.start - 32), candidate.start)
    ]
    if len({box.value for box in boxes}) < 2:
        return candidates
    last = boxes[-1]
    for box in reversed(boxes[:-1]):
        if not _BETWEEN_BOXES.fullmatch(text, box.end, last.start):
            break
        letters = tuple(sorted({*box.value, *last.value}))
        last = replace(box, value=letters, end=last.end)
    return [last, *(candidate for candidate in candidates if candidate.start > boxes[-1].start)]


def _stops(text: str) -> Iterator[int]:
    """Where the reply may end: before each follow-up question that the model adds itself, and at its end."""
    for match in islice(pattern("page", "follow_up").finditer(text), _MOST_STOPS):
        yield match.start()
    yield len(text)


def _candidates(page: ChoicePage, begin: int, stop: int) -> list[Candidate]:
    """The letters that the reply gives from `begin` to `stop`, by the strongest kind of phrase that it uses.

    Less formal phrases are looked for as well where the model takes something back: corrections are often informal.
    """
    leading = _leading(page, stop) if begin == 0 else None
    begin = leading.end if leading else begin
    mentions = [
        span
        for span in _last_groups(page.text, begin, stop)
        if not page.is_listed(span[0]) and not is_word(page.text, *span)
    ]
    candidates = [leading] if leading else []
    takes_back = next(phrases("page", "correction", page.text, stop), None) is not None
    supposed: list[Candidate] = []
    for lead in LEADS:
        if (candidates or (supposed and lead.strength < Strength.ANNOUNCED)) and not takes_back:
            break
        has_answer = False
        for start, end in reversed(mentions):
            # Only the last one and those with which the reply opens can be the answer.
            is_early = has_answer and not opens_with(start)
            if is_early or not lead.before(page.text, start) or is_named_wrong(page, start):
                continue
            letters, last = _group(page, start, end, stop)
            if letters and _stands(page, lead.strength, letters, start, last):
                candidate = Candidate(letters, start, last, lead.strength, lead.strength.name.lower())
                is_supposed = _SUPPOSING.search(page.text, max(0, start - _SUPPOSED_WITHIN), start) is not None
                has_answer = has_answer or not is_supposed
                (supposed if is_supposed else candidates).append(candidate)
    if not candidates and len({candidate.value for candidate in supposed}) == 1:
        candidates = supposed
    if takes_back and not asks_for_wrong(page):
        candidates = _without_retracted(page, candidates, stop)
    return [*candidates, *_none_declared(page, stop)] if candidates else []


def _without_retracted(page: ChoicePage, candidates: Sequence[Candidate], stop: int) -> list[Candidate]:
    """The candidates but those of which a correction behind them calls a letter wrong: `Sorry, no: A is wrong`."""
    corrections = [match.start() for match in phrases("page", "correction", page.text, stop)]
    for match in islice(JOINT.finditer(page.text, corrections[0], stop), MOST_MENTIONS):
        letters = set(letters_of(match.group()))
        if not letters or not REJECTED.match(page.text, page.behind(match.group()[-1].upper(), match.end())):
            continue
        begin = max((start for start in corrections if start <= match.start()), default=0)
        candidates = [
            candidate for candidate in candidates if candidate.end > begin or letters.isdisjoint(candidate.value)
        ]
    return list(candidates)


def _last_groups(text: str, begin: int, stop: int) -> list[tuple[int, int]]:
    """The positions of the last groups of letters between `begin` and `stop`."""
    return [match.span() for match in _GROUP.finditer(text, begin, stop)][-_LAST_MENTIONS:]


def _stands(page: ChoicePage, strength: Strength, letters: tuple[str, ...], start: int, end: int) -> bool:
    """Whether nothing behind the letters at `start`..`end` takes them back, and they are not part of another text."""
    if is_in_option(page, start) or page.is_rejected(letters, end) or is_close_only(page.text, start, end):
        return False
    if CONTINUED.match(page.text, end) or (len(letters) > 1 and _OTHER_SET.match(page.text, end)):
        return False
    if strength > Strength.CONCLUDED:
        return True
    joint = JOINT.match(page.text, start)
    if joint and "," not in page.text[end : joint.end()] and REJECTED.match(page.text, joint.end()):
        return False  # `因此选项B、C错误`
    return bool(_CLOSED.match(page.text, end) or CONFIRMED.match(page.text, end))


def is_close_only(text: str, start: int, end: int) -> bool:
    """Whether the option is said to be the closest, and yet not right."""
    return bool(_CLOSEST.search(text, max(0, start - _CLOSE_WITHIN), start) and _STILL_WRONG.match(text, end))


def is_in_option(page: ChoicePage, start: int) -> bool:
    """Whether the letter at `start` is a part of another option's text: `B flat major`, `B超`, `维生素B`."""
    for label, option in zip(page.labels, page.options, strict=True):
        if _TEXT_BEGINS.match(option) and restated(page.text, start, option) > start + 1:
            return page.text[start].upper() != label
    for label, option in page.with_letters:
        position = page.lowered.find(option, max(0, start - len(option) + 1), start + len(option))
        if 0 <= position <= start:
            return page.text[start].upper() != label
    return False


def _group(page: ChoicePage, start: int, end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """The letters at `start`..`end`, with those joined to them behind a text: `B (carbon) or C (neon)`."""
    letters = letters_of(page.text[start:end])
    if len(letters) > 1 and not page.several and page.text[start:end] in page.options:
        return (), end  # `AB` among blood groups is the text of one option
    if not letters or is_word(page.text, start, end) or (len(letters) > 1 and page.text[start + 1] == "."):
        # Letters with full stops between them (`A.B.D`) are an answer only where several may be right.
        return (letters if letters and page.several and page.text[start + 1 : start + 2] == "." else ()), end
    if page.behind(letters[0], start + 1) > start + 1:
        letters, end = letters[:1], start + 1  # of `C, I and II only` the C alone, where that is the text of C
    else:
        letters, end = _with_spaced(page, letters, end, stop)
    while len(letters) < len(page.labels) and letters[-1] in page.labels:
        bracket = _BRACKET.match(page.text, end)
        behind = bracket.end() if bracket else page.behind(letters[-1], end)
        joined = _NEXT.match(page.text, behind, stop) if behind > end else None
        if joined is None or joined["letter"] in letters or joined["letter"] not in page.labels:
            break
        letters, end = (*letters, joined["letter"]), joined.end()
    letters, end = _with_last(page, letters, end, stop)
    if letters[-1] in page.labels and LONE.search(page.text, end, stop):
        listed, last = listed_after(page, letters[-1], end, stop)
        if not set(listed) & set(letters):
            letters, end = (*letters, *listed), last if listed else end
    return tuple(sorted(letters)), end


def _with_spaced(page: ChoicePage, letters: tuple[str, ...], end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """The letters with those that follow with nothing but blanks between, as in `A C D. They are rocks`."""
    spaced = _SPACED.match(page.text, end, stop)
    if spaced is None or not _CLOSED.match(page.text, spaced.end()):
        return letters, end
    all_letters = (*letters, *spaced.group().split())
    is_text = page.behind(all_letters[-1], spaced.end()) > spaced.end()
    if is_text or list(all_letters) != sorted(set(all_letters)):
        return letters, end
    return all_letters, spaced.end()


def _with_last(page: ChoicePage, letters: tuple[str, ...], end: int, stop: int) -> tuple[tuple[str, ...], int]:
    """The letters with the last of their list, where it ends a sentence: `A and C. B is wrong`."""
    joined = _NEXT.match(page.text, end, stop) if page.several else None
    if joined is None or joined["letter"] not in page.labels or joined["letter"] in letters:
        return letters, end
    is_text = page.behind(joined["letter"], joined.end()) > joined.end()
    if is_text or not _SENTENCE_ENDS.match(page.text, joined.end()):
        return letters, end
    return (*letters, joined["letter"]), joined.end()


def letters_of(group: str) -> tuple[str, ...]:
    """The letters of a group; () where it is a word in capitals."""
    if len(group) == 1:
        return (group.upper(),)
    if group[0].islower():
        return tuple(sorted({letter.upper() for letter in re.findall(r"(?<![a-z])[a-z](?![a-z])", group)}))
    parts = re.findall(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])|(?<![A-Za-z0-9])[A-Z]{2,10}(?![A-Za-z0-9])", group)
    joined = "".join(parts)
    if len(parts) == 1 and list(joined) != sorted(set(joined)):
        return ()  # a word in capitals
    return tuple(dict.fromkeys(joined))


def is_word(text: str, start: int, end: int) -> bool:
    """An article, a pronoun, a variable, an initial: judged by the characters around it."""
    called = _CALLED_OPTION.search(text, max(0, start - 10), start) is not None
    if (not called and _FORMULA_BEHIND.match(text, end)) or _FORMULA_BEFORE.search(text, max(0, start - 8), start):
        return True
    letters = text[start:end]
    if letters.isupper() and text[max(0, start - _NAMES_WITHIN) : start].rstrip().lower().endswith(_NAMES_BEFORE):
        return True
    if letters == "a" and not text[end:].strip() and _ARTICLE_BEFORE.search(text, max(0, start - 20), start):
        return True
    if letters == "I" or len(letters) > 1:
        return (_PRONOUN if letters == "I" else _YEAR_BEHIND).match(text, end) is not None
    if letters != "A" or not _RUNS_ON.match(text, end):
        return False
    return not called and not _GOES_ON.match(text, end)


def _none_declared(page: ChoicePage, stop: int) -> Iterator[Candidate]:
    """`The answer is none of the above`, where letters are named besides; where an option says just that, it is it."""
    for match in phrases("choice", "none", page.text, stop):
        if not is_elsewhere(page.text, match) and DECLARES.before(page.text, match.start()):
            saying = labels_that_say(page, "none_option")
            value = saying if len(saying) == 1 else "none_of_these"
            yield Candidate(value, *match.span(), Strength.DECLARED, "none_of_these")


def is_elsewhere(text: str, match: re.Match[str]) -> bool:
    """Whether `none of the other options` is said, so that the answer is elsewhere."""
    return pattern("choice", "none_elsewhere").search(text, max(0, match.start() - 4), match.end()) is not None


def _leading(page: ChoicePage, stop: int) -> Candidate | None:
    """The letters that the reply begins with, as in `B`, `(C) because ...`, `选项D。`."""
    match = _LEADING.match(page.text, 0, stop)
    if not match:
        return _lower_case(page) if page.several else None
    start = match.start("group")
    letters, end = _group(page, start, match.end("group"), stop)
    if not letters or not set(letters) <= set(page.labels) or is_in_option(page, start):
        return None
    if is_range(page.text, start, end) or _is_listed(page, letters, start, end) or _is_discussed(page, letters, end):
        return None
    if _KEY_ENDS.match(page.text, end):
        return None  # the first key of `{"A": 0.1, "B": 0.9}`
    if not _closes(page, letters, start, end):
        return None
    return Candidate(letters, start, end, Strength.DECLARED, "leading")


def _lower_case(page: ChoicePage) -> Candidate | None:
    """`acd`, where that is the whole reply."""
    match = _LOWER_CASE.fullmatch(page.text)
    letters = tuple(match["group"].upper()) if match else ()
    if match is None or list(letters) != sorted(set(letters)) or not set(letters) <= set(page.labels):
        return None
    return Candidate(letters, *match.span("group"), Strength.DECLARED, "leading")


def _closes(page: ChoicePage, letters: tuple[str, ...], start: int, end: int) -> bool:
    """Whether the letters at the beginning are separate, and begin no sentence."""
    restates = page.behind(letters[0], end) > end
    if page.text[start].islower():
        return restates or _WHOLE.match(page.text, end) is not None
    bracket = _BRACKET.match(page.text, end)
    closing = bracket.end() - 1 if bracket else end  # `A (iron) is`, as `(A) is`
    subject = None if CONFIRMED.match(page.text, closing) else _SUBJECT.match(page.text, closing)
    if subject and not restates:
        return len(letters) == 1 and page.by_letter[letters[0]].startswith(subject["verb"] or subject["behind"])
    if len(letters) > 1:
        return _CLOSED.match(page.text, end) is not None
    if _INITIALS.match(page.text, end):
        return False
    fresh = _NEXT_SENTENCE if letters[0] in {"A", "I"} else _NEW_SENTENCE
    return restates or (_CLOSED.match(page.text, end) or fresh.match(page.text, end)) is not None


def is_range(text: str, start: int, end: int) -> bool:
    """`A-D`, `A to D`: all of them, and none in particular."""
    return bool(_RANGE.match(text, end) or _RANGE_BEFORE.search(text, max(0, start - 16), start))


def _is_discussed(page: ChoicePage, letters: tuple[str, ...], end: int) -> bool:
    """Whether the letter only opens a sentence that calls the option right or wrong, as a walk through them does."""
    if page.is_rejected(letters, end) or _WALKED.match(page.text, end):
        return True
    joined = _NEXT.match(page.text, end)
    if joined and (page.text.startswith("中", joined.end()) or REJECTED.match(page.text, joined.end())):
        return True  # the first of those that are called wrong, or are chosen from: `A、D不正确`
    if joined and _SUBJECT.match(page.text, joined.end()):
        return True  # `(A) and (B) describe cells`
    return page.behind(letters[0], end) == end and _JUDGED.match(page.text, end) is not None


def _is_listed(page: ChoicePage, letters: tuple[str, ...], start: int, end: int) -> bool:
    """Part of a list of the options, whole or begun: `A. ...` with `B. ...` on a line of its own below."""
    if page.is_listed(start):
        return True
    lines = [match[1] or match[2] for match in islice(_LINE_LABEL.finditer(page.text, end), _MOST_LINES)]
    if len(letters) > 1 or not lines:
        return False
    if letters == ("A",) and "B" in lines:
        return "A" not in lines[: lines.index("B")]
    in_order = [*letters, *lines] == sorted({*letters, *lines})
    return len(lines) > 1 and "\n\n" not in page.text[: end + 60] and in_order


def judged(page: ChoicePage) -> Candidate | None:
    """`Option B is correct`: the options called right, or the one called wrong where that was asked for."""
    if elected := _elected(page):
        return elected
    right, wrong = _verdicts(page)
    if right.keys() & wrong.keys():
        return None
    asked_for_wrong = asks_for_wrong(page)
    all_others = len(wrong) == 1 < len(right) == len(page.labels) - 1 and not (page.several or _asks_for_right(page))
    chosen = wrong if (len(wrong) == 1 or page.several) and (asked_for_wrong or all_others) else right
    named = {match[match.lastgroup or 0] for match in NAMED.finditer(page.text)} & set(page.labels)
    if page.several and not {label for label, _, _ in labelled_lines(page, 0)} | named <= right.keys() | wrong.keys():
        return None  # of some that are gone through nothing was read
    if not chosen or (asked_for_wrong and chosen is right):
        return None
    spans = sorted(chosen.values())
    return Candidate(tuple(sorted(chosen)), spans[0][0], spans[-1][1], Strength.CONCLUDED, "judged")


def _elected(page: ChoicePage) -> Candidate | None:
    """The options that are to be chosen, where others are not: `A项正确，不当选；B项错误，当选`."""
    spans: _Spans = {}
    left_out: set[str] = set()
    for match in islice(JOINT.finditer(page.text), MOST_MENTIONS):
        letters = letters_of(match.group())
        if letters and set(letters) <= set(page.labels):
            said = pattern("choice", "elected").match(page.text, page.behind(letters[-1], match.end()))
            if said and said["not"]:
                left_out.update(letters)
            elif said:
                spans.update(dict.fromkeys(letters, match.span()))
    if not spans or left_out & spans.keys():
        return None
    start, end = min(spans.values())[0], max(spans.values())[1]
    return Candidate(tuple(sorted(spans)), start, end, Strength.CONCLUDED, "judged")


def asks_for_wrong(page: ChoicePage) -> bool:
    """Whether the question asks for the wrong statement."""
    return pattern("choice", "asks_for_wrong").search(fold(page.question)) is not None


def _asks_for_right(page: ChoicePage) -> bool:
    return bool(page.question.strip()) and _MAY_ASK_FOR_WRONG.search(page.question) is None


def is_named_wrong(page: ChoicePage, start: int) -> bool:
    """Whether the letter at `start` has an empty box, or is named as wrong and none was asked for: `错误的是D`."""
    before = max(0, start - _NAMED_WRONG_WITHIN)
    mark = _EMPTY_OR_CROSSED.search(page.text, before, start)
    if mark and (mark["round"] or mark["empty"]):
        return bool(mark["empty"] or _TICKED.search(page.text))
    if asks_for_wrong(page) or re.search(r"\b(?:EXCEPT|NOT)\b", page.question):
        return False
    if mark or WRONG_ANSWER.search(page.text, before, start):
        return True
    if _MAY_ASK_FOR_WRONG.search(page.question):
        return False
    one = WRONG_ONE.search(page.text, before, start)  # words in front may repeat the question: `下列说法不正确的是C`
    return one is not None and bool(page.question.strip() or not re.search(r"\w", page.text[: one.start()]))


_Spans = dict[str, tuple[int, int]]


def called_wrong(page: ChoicePage) -> frozenset[str]:
    """The letters of which the reply says that they are wrong."""
    return frozenset(_verdicts(page)[1])


def _verdicts(page: ChoicePage) -> tuple[_Spans, _Spans]:
    """The letters called right and those called wrong, each with where that is said."""
    right: _Spans = {}
    wrong: _Spans = {}
    for match in islice(JOINT.finditer(page.text), MOST_MENTIONS):
        letters = letters_of(match.group())
        if not letters or not set(letters) <= set(page.labels):
            continue
        behind = page.behind(letters[-1], match.end())
        mark = _MARKED.search(page.text, max(0, match.start() - 12), match.start())
        rejection = REJECTED.match(page.text, behind)
        if rejection and not mark and _LEFT_OUT.search(rejection.group()) and asks_for_wrong(page):
            continue  # it is not the answer, and so no wrong statement
        rejected = mark["wrong"] is not None if mark else rejection is not None
        right_or_wrong = mark or rejected or CONFIRMED.match(page.text, behind)
        if right_or_wrong and not is_against(page.text, match.start()):
            (wrong if rejected else right).update(dict.fromkeys(letters, match.span()))
    return right, wrong


def final_sentence(page: ChoicePage) -> Candidate | None:
    """The one option named in a concluding last sentence: `因此，选项B妨碍其适用。`; also where it is called wrong."""
    end = len(page.text.rstrip())
    starts = [match.end() for match in SENTENCE_END.finditer(page.text, 0, end - 1)]
    start = starts[-1] if starts else 0
    if not _CONCLUDES.match(page.text, start) or page.text[end - 1] not in ".。!":
        return None
    spans = {match.group(match.lastgroup or 0): match.span() for match in NAMED.finditer(page.text, start, end)}
    letters = tuple(letter for letter in spans if letter in page.labels)
    groups = [letters_of(match.group()) for match in JOINT.finditer(page.text, start, end)]
    if len(letters) != 1 or any(len(group) > 1 and letters[0] in group for group in groups):
        return None  # `So options B and C are wrong`
    rejection = REJECTED.match(page.text, spans[letters[0]][1])
    if rejection and (_asks_for_right(page) or _LEFT_OUT.search(page.text, rejection.start(), end)):
        return None
    return Candidate(letters, *spans[letters[0]], Strength.CONCLUDED, "final_sentence")
