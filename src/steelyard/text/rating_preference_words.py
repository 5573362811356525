r"""What judges say when they prefer one of two, as patterns on folded text: data for `rating_preference`.

The patterns depend on how the two are called, so they are built once for each pair of names. Every repetition is
bounded, so that the time for a reply grows with its length and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from steelyard.replies.clean import fold

_GOOD: Final = (
    r"(?:accurate|appropriate|balanced|clear|coherent|complete|comprehensive|compelling|concise|convincing|correct"
    r"|creative|detailed|direct|effective|engaging|factual|faithful|focused|fluent|helpful|informative|insightful"
    r"|natural|nuanced|organi[sz]ed|persuasive|practical|precise|readable|relevant|reliable|satisfying|satisfactory"
    r"|specific|structured|suitable|thorough|useful|valuable|well[ -]\w{3,12})"
)
_DEGREE: Final = r"(?:(?:much|far|even|a bit|a little|somewhat|clearly|slightly|significantly|considerably)\s){0,2}"

MORE: Final = (
    r"(?:is|was|seems|appears)\s(?:(?!not\b|no\b|less\b|neither\b)\w{1,14}\s){0,2}?(?:more\s\w{3,20}"
    r"|\w{2,12}(?:er)\b(?<!other)(?<!answer)(?<!after)(?<!whether)(?<!rather)(?<!either)(?<!however)(?<!never)(?<!und"
    r"er)|better)"
    r"|(?:provides?|offers?|gives?|contains?|includes?|has|uses?) (?:an? |the )?(?:much |far |slightly )?(?:more"
    r"|better|clearer|richer|deeper)\b"
)
LESS_OF: Final = rf"{_DEGREE}less\s{_GOOD}\b|not\s(?:\w{{2,14}}ly\s|quite\s|nearly\s)?as\s{_GOOD}\b"
LESS: Final = rf"(?:is|was|seems|appears)\s(?:{LESS_OF})|(?:isn't|wasn't)\s(?:quite\s)?as\s{_GOOD}\b"
MORE_OF: Final = rf"{_DEGREE}(?:more\s{_GOOD}|clearer|richer|deeper|stronger|fuller)\b(?!-)"
FOUND: Final = r"\b(?:find|found|consider|considered|deem|judge|judged)\s(?:that\s)?(?:the\s)?"
ZH_MORE: Final = r"更加?[\u4e00-\u9fff]{1,4}"
"""Comparisons in English and Chinese. "More" of anything speaks for an answer; "less" speaks against it only for a good
quality: an answer that is less wordy may be the better one."""
Back = Literal["AB", "BA", ""]
"""Which of the two the former and the latter are; "" where that cannot be told."""

_SAID: Final = re.compile(r"\b(?:former|latter)\b|前者|后者", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"A\s(?!(?:and|or|but|in|on|to|did|\w*s|\w*ed)\b)[a-z]")
"""A letter that names nobody: "A good point of B is ..."."""
_SENTENCE_ENDS: Final = re.compile(r"[.!?;](?=\s)|[。！？；\n]")
_EN: Final = re.IGNORECASE
NOUN: Final = (
    r"(?:assistant|model|response|answer|output|summary|candidate|option|reply|system|translation|text|article"
    r"|version|choice|story|completion|agent|bot|essay|report|code|query|solution"
    r"|回答|模型|助手|答案|选项|输出|回复|摘要|候选|系统|译文|版本|方案|文本)"
)
_ORDINALS: Final = (("1", "one", "first", "一"), ("2", "two", "second", "二"))
_BACK: Final = (rf"\bformer(?:\s{NOUN}|\sone)?\b|前者", rf"\blatter(?:\s{NOUN}|\sone)?\b|后者")
"""What points back at the first and the second that were named."""
_BOUND: Final = (
    r"(?=['\"’]?\s{0,3}(?:[.,;:!?。、)(\]}\"\n>—–=|$]|-\s|\Z|is\b|here\b|overall\b|in\b|on\b|although\b|though\b"
    r"|but\b|if\b|was\b|because\b|since\b|as\b|wins\b|over\b|for\b|due\b|with\b|by\b|的|更|胜|因|优|更好|[一-鿿]))"
)
TIE_WORD: Final = (
    r"(?:an? )?(?:(?:tie[ds]?|draw|toss-up|equal(?:ly good)?|both(?: are)?(?: equal(?:ly good)?| good)?|neither"
    r"|even|same|the same|no (?:clear |significant |real )?(?:winner|preference"
    r"|difference))(?![\w-])(?!\s(?:responses?|answers?"
    r"|of|assistants?|models?|outputs?|if|or|between|in|A\b)\b)"
    r"|平局|平手|打平|并列|一样好?|相同|相当|不[相分]上下|难分(?:高下|伯仲|胜负)|都好|两者相同|无差别)"
)
_ADVERB: Final = (
    r"(?:(?:\w{2,14}ly|overall|much|far|a bit|a little|somewhat|the|my|a|also|still|therefore|thus|indeed|even|to be"
    r"|by far)\s){0,4}"
)
_ASPECT_AFTER: Final = (
    r"(?!-|\s(?:\w{2,20}ed\b|written\b|(?:than\s(?:the\s)?[^\s.,;]{1,20}\s(?:[^\s.,;]{1,3}\s)?)?(?:at|in|on|for"
    r"|with respect|with regard|regarding|when it|from a)\b(?!\s(?:my opinion|general|every|all|this (?:case"
    r"|comparison|question|prompt)|the (?:reasons?|following)|overall|several|both|most|these reasons|its\b)))"
    r"|\s(?:sense|grammar|structure|flow|format|tone|style)\b)"
)
_BETTER: Final = (
    rf"(?:better|best|superior|preferable|preferred|winner|stronger|strongest|favou?red|winning|more (?:suitable"
    rf"|preferable)|top choice){_ASPECT_AFTER}"
)
_BEATS: Final = (
    rf"(?:(?:is|was|seems|appears|would be|should be|stands out as|comes out as|comes out|emerges as|remains"
    rf"|ranks as|looks)\s{_ADVERB}{_BETTER}"
    r"|(?:\w{2,14}ly\s)?(?:wins?|won|outperforms|outshines|surpasses|beats|edges out|deserves (?:to win|the (?:win"
    r"|victory))|comes out (?:on top|ahead)"
    r"|gets my vote|takes the (?:win|lead|edge))\b"
    rf"|(?:\w{{2,14}}ly\s)?(?:has|holds) (?:the|an?) (?:\w{{1,12}} )?(?:edge|advantage|upper hand)(?!\s(?:in|on|at"
    rf"|for|regarding)\b)"
    rf"|(?:provides?|offers?|gives?|gave|provided|delivers?|is|has) (?:an?|the) (?:\w{{1,14}} ){{0,2}}?(?:better"
    rf"|superior|stronger)(?:,? (?:\w{{1,16}},? ){{0,4}}?)\b{NOUN}\b"
    r"|(?:does|did|performs|performed) (?:an? )?(?:\w{1,12} )?better(?: job)?(?: overall)?(?!\s(?:at|in|on|of|with"
    r"|regarding)\b))"
)
_LOSES: Final = (
    rf"(?:is|was|seems|appears)\s{_ADVERB}(?:worse|inferior|weaker|worst){_ASPECT_AFTER}|(?:loses|is outperformed"
    rf"|falls short of|is beaten)\b|(?:is|was) not (?:\w{{2,14}}ly |quite )?as (?:good|strong) as\b"
)
_ZH_FILL: Final = (
    r"(?:的?(?:回答|表现|质量|答案|输出|回复))?(?:整体|总体|综合|明显|略微?|稍微?|显然|相对|要|也|显著|上|而言|来说"
    r"|来看|质量|表现|是|比[^。,;\n]{1,10}|,|\s){0,6}"
)
_ZH_BEATS: Final = (
    rf"{_ZH_FILL}(?:更好|更优秀?|更佳|较好|较优|更胜一筹|胜出|获胜|优于|好于|胜过|强于|占优|更值得推荐|最好|最佳"
    rf"|略胜一筹|赢了?|更强|更合适)(?!的是|地)"
)
_ZH_LOSES: Final = rf"{_ZH_FILL}(?:不如|劣于|逊于|差于|更差|较差|逊色)"
_PREFER: Final = (
    r"\bi(?:'d|'ll|'m)?\s(?:(?:would|will|do|must|have to|also|am|\w{2,14}ly)\s){0,4}(?:prefer|choose|pick|select"
    r"|go with|going with|favou?r|vote for|voting for|lean(?:ing)? towards?|declare|recommend|opt for|choosing"
    r"|picking|pick out|rank|side with"
    r"|(?:give|award)(?: it| the (?:\w{1,10} )?(?:win|edge|point|nod|preference|victory|advantage))? to)\s(?:the )?"
    r"|(?:\A|(?<=\n)|(?<=\n\s)|(?<=\n\s\s))(?:choose|select|pick|prefer)\s(?:the )?|\bedge (?:to|for)\s(?:the )?"
    r"|\b(?:edge|win|victory|nod|point|advantage|award|preference|vote|prize)\s(?:here |therefore |thus |clearly "
    r"|slightly )?goes to\s(?:the )?"
    r"|(?:我?(?:会|更|还是|将)?(?:倾向于?|偏好|偏向|选择|喜欢|推荐|投票给|投给|判定|选)|(?:应该?|故|因此|所以"
    r"|最终)选择?)(?:的是|了|:|\s){0,2}"
)
_NOUN_DECLARED: Final = (
    rf"(?:(?<![A-Za-z'])(?:(?:final|overall|my|the)\s){{0,2}}(?:verdict|winner|choice|preference|decision"
    rf"|judge?ment|pick|conclusion|selection|result|vote|ranking|answer|evaluation|assessment|(?:final|overall)(?=\s?:)"
    rf"|(?:preferred|better|best|superior|stronger|winning|chosen)(?:\s(?:{NOUN}|one"
    rf"|of the two))?)(?:\s\((?:[^)\n]{{0,30}})\))?(?:,\s[^,.\n]{{1,40}},(?=\s(?:is|would)\b))?)"
    rf"|(?<![A-Za-z])(?:{NOUN}|one) (?:that|which) (?:is |was )?(?:better|best|more)\b[^.,\n]{{1,60}}?(?=\sis\s)"
    r"|(?<=\n)[|\s]{0,4}(?:overall|final(?: verdict)?|verdict|winner)\s{0,20}(?=\|)"
    r"|(?<=[\n。])\s{0,4}(?:总体|整体|综合|总评)(?=\s?:)|(?:最终的?)?(?:结论|决定|判断|选择|答案|胜者|获胜者|赢家|优胜者|胜方|裁决|结果|判定|偏好|评判|(?:更好|更优"
    r"|较好|更佳"
    r"|最好|最佳|胜出|获胜|优胜|较优)(?:的(?:一方|一个|回答|答案|模型|回复|输出)?)?)"
)
_SEP: Final = (
    r"(?:[\"'\])】}]{0,3}\s{0,3}(?::|=|-{1,2}>?|[–—→]|>|】|\]|\|)\s{0,3}|\s{1,3}(?:is|was|would be|must be|should be"
    r"|goes to|(?:must|should|has to) go to|has to be|remains)(?:\s{0,2}:|\.{2,3}|…)?\s{1,3}|\s(?:is )?(?:given"
    r"|provided|written|offered) by\s|(?:应该|应当|应|就)?(?:是|为|:){1,2}\s{0,3}"
    r"|[ \t]{0,6}\n\s{0,6})"
)
_GATE: Final = r"(?:(?<![A-Za-z0-9])(?=[^\s.,;])|(?=[^\x00-\x7f]))"
"""Sentences begin at the beginning of a word: to try nowhere else takes a quarter of the time."""

_NUMBERED: Final = (
    r"\A[\s\"'(\[]{0,4}(?P<token>(?P<a>1)|(?P<b>2))[\"')\].]{0,3}\s{0,4}(?:\Z|\n[\s#]{0,6}(?:reason|explanation"
    r"|rationale|理由|原因))"
    r"|\b(?:verdict|winner|preference|pick|(?:preferred|better|best|superior|stronger|winning)(?:\s(?:response"
    r"|answer|one"
    r"|output|summary|option))?|胜者|获胜者|更好的(?:回答|一个))\s{0,2}(?::|=|is|是|为)\s{0,3}[\"'(\[]{0,2}"
    r"(?P<f_token>(?P<f_a>1)|(?P<f_b>2)|(?P<f_tie>none))(?![\w.:/)]|\s?(?:and|or|/|\d))"
)
"""Numbers for the two, where no number of a list can be meant."""

_WRAP: Final = r"[\s\"'(\[{<$]{0,6}(?:for |from |by |with )?(?:the )?(?:\w{2,14}ly )?"


@dataclass(frozen=True, slots=True)
class Words:
    """The patterns for one pair of names; the groups `a`, `b` and `tie` are the labels."""

    marked: re.Pattern[str]
    declared: re.Pattern[str]
    numbered: re.Pattern[str]
    line: re.Pattern[str]
    concluded: re.Pattern[str]
    opening: re.Pattern[str]
    stated: re.Pattern[str]
    aspects: re.Pattern[str]
    alone: re.Pattern[str]
    mention: re.Pattern[str]
    third: bool


@lru_cache(maxsize=32)
def words_for(names: tuple[str, str], *, back: Back = "AB") -> Words:
    """The patterns for replies about `names`.

    Args:
        names: of the first and the second.
        back: whom "the former" and "the latter" mean, in this order.

    Raises:
        ValueError: the names are blank, or do not differ.
    """
    first, second = (" ".join(fold(name).split()) for name in names)
    if not first or not second or first == second:
        raise ValueError(f"two different names are needed, not {names[0]!r} and {names[1]!r}")
    letters = {first.upper(), second.upper()} == {"A", "B"}
    free = [_side(first, second, 0), _side(second, first, 1)]
    mention = rf"(?P<a>{free[0]})|(?P<b>{free[1]})"
    free = [f"{one}|{_BACK[back.index(side)]}" if back else one for one, side in zip(free, "AB", strict=True)]
    tie = TIE_WORD + (r"|(?-i:C)(?=[\s.\])}\"'])|(?-i:C)\Z" if letters else "")
    token = rf"(?P<token>(?P<tie>{tie})|(?P<a>{free[0]})|(?P<b>{free[1]}))"
    side = rf"(?P<token>(?P<a>{free[0]})|(?P<b>{free[1]}))"
    other = rf"(?:{free[0]}|{free[1]})"
    loose = token if cased_alike(first, second) else _loose(first, second, free, tie)
    relation = _relation(first, second)
    not_both = rf"(?!\s{{0,2}}(?:/|\||,?\s?\b(?:or|and|vs\.?)\b|和|或|与|还是)\s{{0,2}}{other})"
    own = r"(?:['’]s?\s(?:\w{1,12}\s)?(?:answer|response|output|summary|reply|solution))?"
    return Words(
        marked=re.compile(
            rf"(?:\[\[|【|\\(?:boxed|fbox)\s{{0,2}}\{{\s{{0,8}}\{{?|<(?:winner|verdict|answer|choice|preference"
            rf"|decision|result)>|\[RESULT\]:?)\s{{0,6}}(?:{relation}|{loose})\s{{0,6}}(?:\]\]?|\}}|】"
            r"|<|\n|\Z|[.。])",
            _EN,
        ),
        declared=re.compile(rf"(?:{_NOUN_DECLARED}){_SEP}{_WRAP}(?:{relation}|{token}){_BOUND}{not_both}", _EN),
        numbered=re.compile(_NUMBERED if letters else r"(?!)", _EN),
        line=re.compile(
            rf"(?m)^[\s>(\[{{\"'.|_~-]{{0,12}}(?:the |(?:definitely|clearly|certainly"
            rf"|probably|obviously|undoubtedly|without (?:a |any )?doubt),? |i(?:'d| would) say )?(?:{relation}"
            rf"|{token})(?P<end>[\s.!。)\]}}\"'|;,_~-]{{0,12}}:?)$", _EN),
        opening=re.compile(
            rf"[\s(\[{{\"'<$|>.-]{{0,10}}{token}(?=['\"\])]{{0,2}}\s{{0,2}}(?:[.,;:!。\n(—–]|-\s|because\b|since\b"
            rf"|\Z)){not_both}", _EN),
        concluded=re.compile(
            rf"(?:(?<=\w\w)[.!?;][ \t]{{1,3}}|。){_WRAP}{token.replace('?P<', '?P<f_')}[.!。)\]\"'\s]{{0,6}}\Z|"
            rf"(?:\b(?:therefore|thus|hence|so|overall|in conclusion|in summary|ultimately|if i (?:had"
            rf"|have) to (?:pick|choose)(?: one)?)\b|因此|所以|综上"
            rf"|故)[,:]?{_WRAP}(?:{relation}|{token})"
            r"(?=[.!。)\]\"']{0,3}\s{0,4}(?:\n|\Z)|,? (?:because|since|as|it is)\b)", _EN,
        ),
        stated=_stated(side, own, other, not_both),
        aspects=re.compile(
            rf"{_GATE}{side}(?:{own}\s(?:{MORE}|(?P<loses>{LESS}))|{_ZH_FILL}{ZH_MORE})"
            rf"|{FOUND}{side.replace('?P<', '?P<m_')}{own}\s(?:to be |as |is )?(?:(?P<m_loses>{LESS_OF})|{MORE_OF})",
            _EN,
        ),
        mention=re.compile(mention, _EN),
        alone=re.compile(rf"[\s\"'\[(]{{0,6}}(?:{relation}|{token})[\s.!。\"'\])]{{0,6}}\Z", _EN),
        third=letters,
    )  # fmt: skip


def _relation(first: str, second: str) -> str:
    """Both with a sign between them: A > B."""
    noun = rf"(?:(?<![A-Za-z]){NOUN}\s{{0,2}})?"
    cores = noun + f"(?:{_core(first, second)})", noun + f"(?:{_core(second, first)})"
    sign = r"\s?(?:>{1,2}|<{1,2}|={1,2}|≈)\s?"
    return rf"(?:(?P<relation>{cores[0]}{sign}{cores[1]})|(?P<reversed>{cores[1]}{sign}{cores[0]}))"


def _loose(first: str, second: str, free: Sequence[str], tie: str) -> str:
    """What may stand in a mark, where nothing else can be meant.

    A judge may fall back on A, B and C whatever the two are called; a letter that is a name's own stays that name's.
    """
    tails = _tail(first, second), _tail(second, first)
    taken = {tail.upper() for tail in tails}
    letters = ["", ""] if taken & {"A", "B"} else [rf"|{one}(?![A-Za-z0-9])" for one in ("A", "B")]
    third = "" if "C" in taken else r"|\b[cC](?=\s{0,6}[\]}<】])"
    a, b = (rf"{one}|{re.escape(tail)}{letter}" for one, tail, letter in zip(free, tails, letters, strict=True))
    return rf"(?P<token>(?P<tie>{tie}{third})|(?P<a>{a})|(?P<b>{b}))"


def _stated(side: str, own: str, other: str, not_both: str) -> re.Pattern[str]:
    """Sentences in which one beats, is preferred to, or is placed above the other."""
    return re.compile(
        rf"{_GATE}(?:{side}(?:{own}\s(?:(?P<beats>{_BEATS})|(?P<loses>{_LOSES}))|(?P<zh_beats>{_ZH_BEATS}"
        rf"|\s?比\s?{other}(?:的?回答)?(?:要|更|还|稍|略)?(?:好|强|优)(?![点处]))"
        rf"|(?P<zh_loses>{_ZH_LOSES}|\s?比\s?{other}(?:的?回答)?(?:要|更|还|稍|略)?(?:差|糟|弱)))"
        rf"|(?P<prefers>{_PREFER}){_WRAP}{side.replace('?P<', '?P<p_')}{_BOUND}{not_both}"
        rf"|\b(?:mak(?:es|ing)|find|consider|deem|judge|rate)\s(?:the )?{side.replace('?P<', '?P<m_')}{own}\s(?"
        rf":to be |as |is )?{_ADVERB}{_BETTER}"
        rf"|\b(?:rate|rank|score|place)\s(?:the )?{side.replace('?P<', '?P<r_')}{own}\s(?:as )?(?:\w{{2,14}}ly "
        rf")?(?:higher|first|above)\b"
        rf"|(?P<tied>{tied(other)}))", _EN,
    )  # fmt: skip


def _side(name: str, other: str, place: int) -> str:
    """How one of the two is named: in full, by its noun, or by what tells it from the other."""
    core = _core(name, other)
    forms = [_whole(name, cased=cased_alike(name, other))]
    letter = _tail(name, other)
    if len(letter) == 1 and letter.isascii():
        inner = letter if name.casefold() != other.casefold() else f"(?-i:{letter})"
        forms.append(
            rf"(?<![A-Za-z]){NOUN}\s{{0,3}}[_#(\[\"'-]?\s?(?:{re.escape(inner) if inner == letter else inner})(?![A"
            rf"-Za-z0-9])[)\]\"']?"
        )
    if letter.upper() == "AB"[place] or letter == "12"[place]:
        number, word, ordinal, zh = _ORDINALS[place]
        forms += [
            rf"(?<![A-Za-z]){NOUN}\s{{0,3}}[_#(]?\s?(?:{number}|{word}\b)(?!\d)\)?",
            rf"\b(?:{ordinal}|{number}(?:st|nd))\s(?:{NOUN}|one)\b",
            rf"第{zh}[个篇条份种]?{NOUN}?|{NOUN}{zh}(?!个|些|样|方面|点|般|定|致|起)",
        ]
    return "|".join([*forms, core])


def _core(name: str, other: str) -> str:
    letter = _tail(name, other)
    if len(letter) == 1 and letter.isascii() and letter.isalpha():
        cased = letter.casefold() == _tail(other, name).casefold()
        inner = letter if cased else letter.upper()
        return rf"(?-i:(?<![A-Za-z0-9'’]){inner}(?![A-Za-z0-9]))" + (
            "" if cased else rf"|(?-i:(?<![A-Za-z0-9])\({letter.lower()}\))"
        )
    return _whole(letter, cased=False)


def cased_alike(name: str, other: str) -> bool:
    """Whether only their case tells two names from each other."""
    return name.casefold() == other.casefold()


def _whole(name: str, *, cased: bool) -> str:
    """`name` as a whole word, with any blanks."""
    body = r"\s{1,4}".join(re.escape(part) for part in name.split())
    before = r"(?<![A-Za-z0-9])" if name[0].isascii() else ""
    after = r"(?![A-Za-z0-9])" if name[-1].isascii() else ""
    return rf"(?-i:{before}{body}{after})" if cased or len(name) == 1 else f"{before}{body}{after}"


def _tail(name: str, other: str) -> str:
    """What tells `name` from `other`: it without the beginning that both share, from the last word border on."""
    shared = name[: _shared(name, other)]
    on_border = bool(shared) and (not shared[-1].isalnum() or not name.isascii())
    tail = name[len(shared) :] if on_border else name[shared.rfind(" ") + 1 :]
    return tail.strip() or name


def _shared(name: str, other: str) -> int:
    """How many characters both begin with."""
    return next(
        (place for place, (one, two) in enumerate(zip(name, other, strict=False)) if one != two),
        len(min(name, other, key=len)),
    )


def tied(other: str) -> str:
    """Sentences that call the two equal in all, not in one respect.

    Args:
        other: a pattern for either of the two.
    """
    both = rf"(?:both|they|the two|these two|{other},? (?:and|&) {other})(?:\s(?:\w{{1,14}}\s?){{0,3}})?"
    equal = (
        r"(?:are|were|perform|performed|seem|appear|is|do|did)\s(?:\w{2,14}ly\s|about\s|all\s|roughly\s|both\s){0,2}"
        r"(?:(?:equal(?:ly)?|similarly|comparably|just as)\s(?:good|bad|well|poor(?:ly)?|strong|valid|helpful"
        r"|effective|matched)|tied|on par|evenly matched|equal(?=[.,;!\n]|\Z| in (?:quality|overall))"
        r"|(?:of )?(?:about |roughly )?(?:equal"
        r"|the same|similar|comparable) quality|comparable(?= in (?:quality|overall)|[.;!\n]|\Z)|identical(?=[.;!\n]"
        r"|\Z| in quality))"
    )
    return (
        rf"{both}\s?{equal}|\b(?:it's|it is|this is|i(?:'d|'ll| would| will)?\s(?:call|declare|rate|consider) (?:it"
        rf"|this))\s(?:therefore |thus |basically |essentially |effectively |really )?a (?:\w{{1,12}} )?(?:tie|draw"
        rf"|toss-up)\b"
        rf"|\bi (?:have|see) no (?:clear |strong |real )?preference\b|\bno (?:significant|meaningful|real|clear|notable"
        rf"|major|substantial|noticeable|discernible) differences?\b(?!\s(?:in|of|as|with"
        rf"|regarding)\b(?!\s(?:overall |the )?quality))"
        rf"|没有?(?:明显|显著|实质性?|太大|本质)的?(?:差别|差异|区别)"
        rf"|\bneither\b[^.\n]{{0,40}}?\b(?:is|was|stands out as|seems|outperforms"
        rf"|wins)\b[^.,\n]{{0,20}}?\b(?:better|superior|winner|best|stronger|other|wins)\b|\b(?:there is"
        rf"|there's) no (?:winner|preference)\b|\b(?:there is|there's"
        rf"|with)?\s?no clear (?:winner|preference|favou?rite)\b"
        rf"|(?:{other}\s?(?:和|与|跟|同)\s?{other}|两个?(?:回答|模型|答案|者|回复|输出|助手|摘要|份回答|篇摘要|方)?"
        rf"|二者|双方)(?:的)?[^。;\n]{{0,12}}?(?:一样好|同样好|不[相分]上下|难分(?:高下|伯仲|胜负)|旗鼓相当|水平相当"
        rf"|质量相当|(?:整体|总体|质量|水平)[^。,;\n]{{0,4}}相当|平局|打平|平手|同样(?:差|优秀)|一样差)|判(?:为"
        rf"|定为)?平局"
    )


def meant_by(text: str, mentions: re.Pattern[str]) -> Back:
    r"""Whom the former and the latter mean, in this order.

    The sentence that names both decides, the nearest one before; where each has sentences of its own, the order in
    which they are named, if the first and the last time agree. A reply that names neither means the prompt's order.

    Args:
        text: the reply, folded.
        mentions: finds the two in it; the group `a` is the first, `b` the second.

    >>> named = re.compile(r"(?P<a>\bA\b)|(?P<b>\bB\b)")
    >>> meant_by("B is long and A is short. The former wins.", named), meant_by("The latter.", named)
    ('BA', 'AB')
    """
    said = list(_SAID.finditer(text))
    if not said:
        return "AB"
    named = [
        (match.start(), "A" if match["a"] else "B")
        for match in mentions.finditer(text)
        if not _ARTICLE.match(text, match.start())
    ]
    found = {_before(text, named, one.start()) for one in {said[0], said[-1]}}
    return found.pop() if len(found) == 1 else ""


def _before(text: str, named: Sequence[tuple[int, str]], place: int) -> Back:
    before = [one for one in named if one[0] < place]
    if not before:
        return "AB"
    sentence: list[str] = []
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(text, 0, place)]
    at = len(before)
    for start in [*reversed(ends), 0]:
        while at and before[at - 1][0] >= start:
            at -= 1
            sentence.insert(0, before[at][1])
        if len(set(sentence)) == 2:
            return _order(sentence)
        sentence = []
    first = _order([side for _, side in before])
    last = _order([side for _, side in reversed(before)])
    return first if len({side for _, side in before}) == 2 and first != last else ""


def _order(sides: Sequence[str]) -> Back:
    """The order of a first mention."""
    return "AB" if sides[0] == "A" else "BA"
