"""What a rating is of: the aspect that was asked for, the whole, or something else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import Final

from steelyard.replies.clean import fold
from steelyard.replies.grammar import pattern, words

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


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"[A-Za-z]{{3,24}}|{pattern('rating', 'aspect').pattern}")


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(words(name))


def _names_an_aspect(word: str) -> bool:
    if word in _listed("no_aspect"):
        return False
    return not word.isascii() or word.endswith(words("aspect_ending")) or word in _listed("aspect")


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
        for match in _word().finditer(text):
            word = match.group().lower()
            if _names_an_aspect(word) and not self.asked(word):
                return word
        thing = pattern("rating", "thing").search(text)
        return thing.group().lower() if thing else ""

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
    found = [rf"\b(?:un|in|ir|non)?{stem}" if stem.isascii() else stem for stem in dict.fromkeys(stems)]
    return Aspects(re.compile("|".join(found), re.IGNORECASE))


def _stem(word: str) -> str:
    if not word.isascii():
        return word.rstrip("性度感力") or word
    short = _ENDING.sub("", word)
    return short if len(short) >= _SHORTEST_STEM else word[:4]
