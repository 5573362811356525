"""Numbers in a sentence that the judge does not give: somebody else's ratings, and ratings that are only supposed."""

from __future__ import annotations

import re
from typing import Final

_REPORTS: Final = re.compile(
    r"\baccording\sto\b|\b(?:article|text|summary|source|response|answer|candidate|author"
    r"|it)\s(?:\w{1,8}ly\s)?(?:says?|states?|reports?|mentions?|claims?|writes?|notes?)\b"
    r"|\b(?:response|answer|assistant|reply|candidate|user|author|critic)\s(?:\w{1,8}ly\s)?(?:(?:gives?|gave|awards?|awarded"
    r"|assigns?|assigned)\s|rate[sd]?\s(?:the|it|this|that|his|her|them|each)\b)",
    re.IGNORECASE,
)
_SPEAKS: Final = re.compile(
    r"\b(?:so|therefore|thus|hence|i|i'd|my|overall|criteria|rubric|scale|guidelines?|instructions?)\b", re.IGNORECASE
)
_OTHER_THING: Final = re.compile(
    r"[\W\d]{0,6}(?:(?:and|but|while|whereas|although|though)\s)?(?:(?:the|an?|one|this|that|his|her|its|another)\s"
    r"(?:[\w'-]{1,20}\s){0,2}?(?:film|movie|book|novel|game|song|album|series|episode|product|hotel|restaurant|team|club"
    r"|player|striker|company|country|school|critic|reviewer|writer|magazine|newspaper|website|app|phone|car)|he|she)\b",
    re.IGNORECASE,
)
_JUDGED: Final = re.compile(
    r"\b(?:i|i'd|my|we|summary|response|answer|reply|output|candidate|translation|rubric|criteria|coherence|consistency"
    r"|fluency|relevance)\b",
    re.IGNORECASE,
)
_OF_OTHERS: Final = re.compile(
    r"\b(?:his|her|their|whose)\s(?:[\w'-]{2,12}\s){0,2}(?:scores?|ratings?|grades?|marks?)\b[^.\n]{0,40}\Z",
    re.IGNORECASE,
)
_BY_OTHERS: Final = re.compile(
    r"\s(?:on|at|by|from)\s(?:(?-i:Amazon|IMDb|IMDB|Rotten|Metacritic|Yelp|TripAdvisor|Tripadvisor|Goodreads|Steam|Google"
    r"|Netflix|the\sApp\sStore)|(?:(?:the|its|one|two|most|many|some|all|several|other|film|movie|music|\d{1,5}"
    r"|(?-i:[A-Z][a-z]{1,15}))\s){0,2}(?:critics?|reviewers?|users?|viewers?|readers?|customers?|guests?|voters?|fans"
    r"|magazine))\b",
    re.IGNORECASE,
)
_OTHERS_CHINESE: Final = re.compile(
    r"比赛|球队|球员|选手|网站|豆瓣|烂番茄|影评|电影|影片|网友|观众|酒店|餐厅|商品|考试|[他她]们?[在得获]"
)
_JUDGED_CHINESE: Final = re.compile(r"我|摘要|回答|答案|[性度]|综[合上]|总[评体分]|最终")
_SUPPOSES: Final = re.compile(
    r"\s*(?:had\b|were\b|if\s(?!i\s(?:had|have|must|were)\b|forced|pressed|asked|i'm)).*(?:would|'d)\b",
    re.IGNORECASE | re.DOTALL,
)
_WOULD: Final = re.compile(
    r"\b(?:would\sget|could\sbe\s(?:rated|scored|graded|evaluated|assessed|considered))\b", re.IGNORECASE
)
_PROVIDED: Final = re.compile(
    r"\b(?:if|otherwise|without|had\s(?:it|the)|were\s(?:it|the)|with\s(?:more|better|fewer|less|proper|an?\s(?:better"
    r"|more|proper|clearer|stronger|little|bit|few)))\b",
    re.IGNORECASE,
)
_PROVIDED_BEHIND: Final = re.compile(
    r"[^.\n]{0,30}?\b(?:if|were|had|with\s(?:more|better|fewer|an?\s(?:better|more)))\b", re.IGNORECASE
)


def is_foreign(here: str, right: str) -> bool:
    """Whether somebody else gives the number that stands between `here` and `right`.

    >>> is_foreign("The film has a rating of ", " on IMDb."), is_foreign("The summary has a rating of ", ".")
    (True, False)
    """
    if _BY_OTHERS.match(right) or _OF_OTHERS.search(here):
        return True
    return _OTHER_THING.match(here) is not None and _JUDGED.search(here) is None


def is_foreign_chinese(here: str) -> bool:
    """The same for a Chinese sentence.

    >>> is_foreign_chinese("该电影在豆瓣的评分为"), is_foreign_chinese("这篇电影摘要的评分为")
    (True, False)
    """
    return _OTHERS_CHINESE.search(here) is not None and _JUDGED_CHINESE.search(here) is None


def is_reported(here: str) -> bool:
    """Whether the sentence tells what somebody else says, and the judge does not speak after that."""
    found = None
    for match in _REPORTS.finditer(here):
        found = match
    return found is not None and _SPEAKS.search(here, found.end()) is None


def is_supposed(here: str, right: str) -> bool:
    """Whether the number is a rating under a condition that does not hold.

    >>> is_supposed("With more detail it would get a ", "."), is_supposed("It would get a ", ", as it is short.")
    (True, False)
    """
    if _SUPPOSES.match(here):
        return True
    if not _WOULD.search(here):
        return False
    return _PROVIDED.search(here) is not None or _PROVIDED_BEHIND.match(right) is not None
