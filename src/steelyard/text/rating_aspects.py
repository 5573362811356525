"""What a rating is of: the aspect that was asked for, the whole, or something else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final

from steelyard.replies.clean import fold

RATING_WORD: Final = (
    r"(?:ratings?|scores?|scoring|grades?|marks?|verdicts?|evaluations?|assessments?|judg(?:e)?ments?|points?"
    r"|stars?|rate"
    r"|results?|values?|answer|conclusion|decision|(?:最终)?结论|结果|评分|打分|得分|分数|分值|总分|评级|评价|评定|评估|评判|星级|等级|给分|判分)"
)
"""Words that announce a rating without saying of what."""

_WORDS: Final = re.compile(
    r"[A-Za-z]{3,24}|[\u4e00-\u9fff]{1,4}?[性度感力](?!分)|语法|内容|逻辑|质量|语言|结构|深度|细节|创意|格式"
)
_ENDINGS: Final = (
    "ness", "ncy", "ence", "ance", "acy", "bility", "uality", "larity", "racy", "ivity", "icity", "ality", "esty",
    "athy",
)  # fmt: skip
_NAMED: Final = frozenset(
    [
        "grammar",
        "depth",
        "creativity",
        "safety",
        "toxicity",
        "style",
        "structure",
        "tone",
        "detail",
        "cohesion",
        "diversity",
        "redundancy",
        "support",
        "adequacy",
        "engagement",
        "validity",
        "brevity",
        "novelty",
        "quality",
        "similarity",
        "logic",
        "density",
        "usage",
        "bias",
        "hallucination",
        "flow",
    ]
)
"""Names of aspects, beside those that are known by their endings."""

_NO_ASPECT: Final = frozenset(
    [
        "sentence",
        "evidence",
        "reference",
        "difference",
        "sequence",
        "audience",
        "instance",
        "importance",
        "performance",
        "presence",
        "absence",
        "balance",
        "influence",
        "confidence",
        "agency",
        "currency",
        "emergency",
        "experience",
        "science",
        "distance",
        "chance",
        "conference",
        "reality",
        "ability",
        "guidance",
        "substance",
        "circumstance",
        "intelligence",
        "violence",
        "residence",
        "existence",
        "hence",
        "pence",
        "fence",
        "advance",
        "insurance",
        "finance",
        "france",
        "utterance",
        "business",
        "witness",
        "illness",
        "democracy",
        "since",
        "once",
        "preference",
        "occurrence",
        "程度",
        "角度",
        "可能性",
        "制度",
        "态度",
        "速度",
        "年度",
        "努力",
        "能力",
        "满意度",
    ]
)
"""Words with the same endings that no judge rates."""

_WHOLE: Final = re.compile(
    r"\b(?:overall|total|final|combined|general|holistic|aggregate|average|in general)\b"
    r"|综合|总体|整体|总分|总评|总得分"
    r"|最终|最后|合计",
    re.IGNORECASE,
)
_RATED_THING: Final = re.compile(
    r"\b(?:first|second|third|fourth|1st|2nd|3rd|former|latter)\s(?:summary|response|answer|candidate|output|text"
    r"|version|translation|reply)\b|\b(?:summary|response|answer|assistant|candidate|model|output|system|option"
    r"|text|version|translation|student|sample"
    r"|dialogue|conversation|story|claim|statement|fact|sentence|question|criterion|aspect|dimension|part|item"
    r"|reply|passage|context|document)\s?"
    r"(?:\d{1,2}|(?-i:[A-H])|one|two|three|four)\b(?!\s?(?:is|was|of)\b)|(?:回答|摘要|答案|回复|模型|助手|候选|方案|总结|输出|段落|文档|问题"
    r"|句子?)\s?(?:\d{1,2}|[A-H甲乙丙丁一二三四五])(?![\u4e00-\u9fff])",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(
    r"(?:ingness|edness|iness|ness|ency|ence|ency|ent|ances?|ancy|ant|acy|ate|ability|ibility|ivity|icity|ity|ing"
    r"|ed|ies|y|es|e|s)$"
)
_EMPTY: Final = frozenset(
    {
        "score",
        "rating",
        "overall",
        "the",
        "of",
        "a",
        "and",
        "metric",
        "criterion",
        "aspect",
        "in",
        "for",
        "to",
        "评分",
        "得分",
    }
)
_PAIRS: Final = (
    ("coher", "连贯"), ("consist", "一致"), ("flu", "流畅"),
    ("flu", "流利"), ("relev", "相关"), ("ground", "依据"), ("ground", "有据"),
    ("engag", "吸引"), ("engag", "趣味"), ("engag", "参与"),
    ("correct", "正确"), ("faith", "忠实"), ("accur", "准确"), ("help", "有用"),
    ("help", "帮助"), ("qual", "质量"), ("natur", "自然"),
    ("complet", "完整"), ("clar", "清晰"), ("inform", "信息"), ("conc", "简洁"),
    ("safe", "安全"), ("logic", "逻辑"), ("depth", "深度"), ("creat", "创"),
)  # fmt: skip


class Subject(IntEnum):
    """What a rating is of; a higher one is nearer to what was asked."""

    OTHER = 0
    WHOLE = 1
    ASKED = 2


def _stem(word: str) -> str:
    if "\u4e00" <= word[0] <= "\u9fff":
        return word.rstrip("性度感力") or word
    short = _ENDING.sub("", word)
    return short if len(short) >= 3 else word[:4]


def _stems(name: str) -> tuple[str, ...]:
    words = re.findall(r"[a-z]+|[\u4e00-\u9fff]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", fold(name)).lower())
    kept = [word for word in words if word not in _EMPTY] or words
    return tuple(dict.fromkeys(_stem(word) for word in kept))


@dataclass(frozen=True, slots=True)
class Aspects:
    """Tells the aspect that was asked for from others.

    Args:
        pattern: what finds a mention of it; None where none was named.
        stems: how many different words the name has.
    """

    pattern: re.Pattern[str] | None
    stems: int = 0

    def asked(self, text: str) -> bool:
        """Whether `text` mentions the aspect: each word of its name, or the last where only one stands there."""
        if self.pattern is None:
            return False
        return self.pattern.search(text) is not None

    def overlap(self, text: str) -> int:
        """How many different words of the name `text` has."""
        return len({one.lower() for one in self.pattern.findall(text)}) if self.pattern else 0

    def others(self, text: str) -> str:
        """The first aspect that `text` names and that was not asked for; "" where there is none."""
        for match in _WORDS.finditer(text):
            word = match.group().lower()
            named = word[0] >= "\u4e00" or word.endswith(_ENDINGS) or word in _NAMED
            if named and word not in _NO_ASPECT and not self.asked(word):
                return word
        thing = _RATED_THING.search(text)
        return thing.group().lower() if thing else ""

    def names(self, text: str) -> bool:
        """Whether `text` names any aspect or candidate."""
        return self.asked(text) or bool(self.others(text))

    def of_label(self, label: str) -> tuple[Subject, str]:
        """What a rating behind `label` is of, and the other aspect's name."""
        if self.asked(label):
            return Subject.ASKED, ""
        other = self.others(label)
        if other and not (_WHOLE.search(label) and other.endswith("quality")):
            return Subject.OTHER, other
        return Subject.WHOLE, ""


@lru_cache(maxsize=64)
def aspects_of(name: str) -> Aspects:
    """What tells the aspect `name`, in English or Chinese.

    >>> one = aspects_of("Coherence")
    >>> one.of_label("coherent, 1-5")[0].name, one.of_label("Fluency score")[1], one.of_label("连贯性")[0].name
    ('ASKED', 'fluency', 'ASKED')
    """
    stems = _stems(name)
    if not stems:
        return Aspects(None)
    wider = [pair[1 - side] for stem in stems for pair in _PAIRS for side in (0, 1) if stem.startswith(pair[side])]
    parts = [
        rf"\b(?:un|in|ir|non)?{re.escape(one)}" if one[0] < "\u4e00" else re.escape(one) for one in (*stems, *wider)
    ]
    return Aspects(re.compile("|".join(parts), re.IGNORECASE), len(stems))
