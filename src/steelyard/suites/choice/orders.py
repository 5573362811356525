"""The order in which a question's options are shown: as given, shuffled by a seed, or rotated through every place.

A model that prefers one place to others gains or loses by the place of the key. Shuffling evens that out over the
questions; rotations show every option in every place, so that it can be measured, and a question counts as known only
where all its rotations are solved.

Source: circular evaluation is that of Liu et al., "MMBench: Is Your Multi-modal Model an All-around Player?" (ECCV
2024).

A question with options that refer to other options ("all of the above", "A和C") keeps its own order. Under another
order "all of the above" would mean fewer options, and "A and C" others. The rules err on the side of keeping an
order: that does no harm to a question that could have been shuffled, while one that is shuffled wrongly becomes another
question.
"""

# Why it is so, and what was rejected: docs/decisions/suites-orders-of-options.md

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Literal

from steelyard.normal_form import nfkc
from steelyard.prompts.conversation import question_of
from steelyard.prompts.passages import own_question
from steelyard.replies.answer_key import alternatives, key_of_alternatives
from steelyard.suites.choice.keys import LETTERS
from steelyard.types import Sample

Orders = Literal["as_given", "shuffled", "rotations"]


@dataclass(frozen=True, slots=True)
class Ordered:
    """The samples of a dataset with their options reordered, computed at each iteration.

    Args:
        samples: as given; may be iterated several times.
        orders: `shuffled` gives each once, `rotations` as often as it has options: with the id and `@1`, `@2` ..., all
            in the cluster of the question. A question whose options refer to each other is given once, as it is.
        seed: of the shuffled orders.
    """

    samples: Iterable[Sample]
    orders: Orders
    seed: int = 0

    def __iter__(self) -> Iterator[Sample]:
        for sample in self.samples:
            if self.orders == "rotations":
                yield from rotated(sample)
            else:
                yield shuffled(sample, self.seed)


def shuffled(sample: Sample, seed: int) -> Sample:
    """Shuffle the options of a sample; the order depends only on the seed and the sample's texts.

    Wherever the question stands in its file, whatever its id is and in whatever order its options were given, they are
    shown in the same order.

    >>> sample = Sample("1", "Where?", "A", ("Rome", "Oslo", "Bern"))
    >>> reordered = shuffled(sample, 7)
    >>> reordered.choices, reordered.reference, reordered.metadata["order"]
    (('Bern', 'Rome', 'Oslo'), 'B', 'CAB')
    """
    if has_own_order(own_question(sample), sample.choices):
        return in_order(sample, range(len(sample.choices)))
    head = f"{seed}\0{question_of(sample.input)}\0".encode("utf-8", "surrogatepass")

    def drawn(option: int) -> bytes:
        return blake2b(head + sample.choices[option].encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return in_order(sample, sorted(range(len(sample.choices)), key=drawn))


def rotated(sample: Sample) -> Iterator[Sample]:
    """Yield the sample once for each rotation of its options, first as it was given."""
    # Rotations of one question are not new evidence: intervals count the cluster.
    cluster = sample.cluster or sample.id
    places = range(len(sample.choices))
    starts = [0] if has_own_order(own_question(sample), sample.choices) else places
    for start in starts:
        turned = in_order(sample, [*places[start:], *places[:start]])
        yield replace(turned, id=f"{sample.id}@{start + 1}", cluster=cluster)


def in_order(sample: Sample, arrangement: Sequence[int]) -> Sample:
    """Reorder the options of a sample by their 0-based indices; the reference's letters move with them.

    The order is kept in the metadata as the original letters in the order that is shown: with `CAB` what is shown as A
    is the dataset's C.
    """
    order = "".join(LETTERS[option] for option in arrangement)
    reference = sample.reference
    if isinstance(reference, str):
        reference = key_of_alternatives(
            "".join(sorted(LETTERS[order.index(letter)] for letter in letters)) for letters in alternatives(reference)
        )
    return replace(
        sample,
        choices=tuple(sample.choices[option] for option in arrangement),
        reference=reference,
        metadata={**sample.metadata, "order": order},
    )


_ENGLISH: Final = re.compile(
    r"\b(?:all|none|both|neither|any|each|either|every|some|one|two|three|more|most|not all|only one)\s+(?:of\s+)?"
    r"(?:the\s+|these\s+|those\s+)?(?:above|below|foregoing|preceding|previous|following|these|those|options?|choices?"
    r"|answers?|others?|other options|statements above)\b"
    r"|\b(?:the|as|see)\s+(?:above|below)\b"
    r"|\b(?:the\s+)?(?:first|second|third|fourth|last|previous|preceding|next|other)\s+(?:\w+\s+)?"
    r"(?:options?|choices?|answers?)\b"
    r"|\b(?:options?|choices?|answers?)\s*\(?[A-Z]\b",
    re.IGNORECASE,
)
_WHOLE_ENGLISH: Final = re.compile(
    r"(?:all|both|neither|either|any)(?: of them)?(?: are)?(?: (?:correct|right|true|wrong|false|incorrect))?"
    r"|none of them|(?:they are )?all (?:correct|right|true|wrong|false|incorrect)",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    # 以上 behind a number and its unit is "or more" (18岁以上), which speaks of no option.
    r"(?<![0-9一二三四五六七八九十百千万亿%])(?<![0-9一二三四五六七八九十百千万亿].)(?:以上|以下)"
    r"(?:都|均|皆|全|各|选项|所有|说法|答案|内容|三|四|五|两|二|几|任|情况|观点|表述|叙述|者|诸|之)"
    r"|^(?:以上|以下)|上述|上列|前述|前[两二三四五六几](?:项|者|个|种|条)|后[两二三四五六几](?:项|者|个|种|条)"
    r"|[两二三四五]者(?:都|均|皆|全|兼)|(?:其他|其它|其余|另外|任一|任何|所有|各|每个|全部)(?:选项|各项|几项|三项|两项)"
    r"|第[一二三四五1-9](?:项|个选项)|选项\s*[A-Z]|[A-Z]\s*(?:选项|项)"
)
_WHOLE_CHINESE: Final = re.compile(
    r"(?:全|都|均|皆|全都|全部|两者都|二者都|两者均|二者均|三者都|三者均)(?:不)?(?:对|正确|是|可以|可|错|错误|有|选|成立)"
    r"|(?:没有|无)(?:正确|合适)?(?:选项|答案)|全选|全部|两者皆可|二者皆可|都不"
)
_MARKS: Final = " \t.。!！,，;；:：()（）[]【】\"'“”"


def has_own_order(question: str, options: Sequence[str]) -> bool:
    """Whether a question must be asked with its options as they are given.

    This is so where an option names others by letter or place, or is nothing but letters of options (a blood group "AB"
    next to "A" and "B"), or where the question names an option by its letter.

    >>> has_own_order("Which?", ["Rome", "Oslo", "all of the above"]), has_own_order("Age?", ["18岁以上", "18岁以下"])
    (True, False)
    """
    letters = LETTERS[: len(options)]
    names = _named(letters)
    return any(_refers(nfkc(option).strip(), names) for option in options) or bool(
        names.by_question.search(nfkc(question))
    )


def _refers(option: str, names: _LetterPatterns) -> bool:
    stripped = option.strip(_MARKS)
    return bool(
        _ENGLISH.search(option)
        or _WHOLE_ENGLISH.fullmatch(stripped)
        or _CHINESE.search(option)
        or _WHOLE_CHINESE.fullmatch(stripped)
        or names.only.fullmatch(stripped)
        or names.joined.search(option)
    )


class _LetterPatterns:
    """Patterns that find references to options by their letters, for questions with these letters."""

    __slots__ = ("by_question", "joined", "only")

    def __init__(self, letters: str) -> None:
        single = rf"[(\[]?[{letters}][)\]]?"
        # Nothing but letters: "AC", "A, C", "C".
        self.only = re.compile(rf"{single}(?:[\s,、;/&+]*{single})*")
        between = r"\s*(?:,|、|/|&|\+|and|or|nor|和|与|及|或|以及|and/or)\s*"
        self.joined = re.compile(rf"(?<![A-Za-z]){single}(?:{between}{single})+(?![A-Za-z])")
        self.by_question = re.compile(
            rf"(?:[Oo]ptions?|[Cc]hoices?|选项)\s*[(\[]?[{letters}](?![A-Za-z])|(?<![A-Za-z])[{letters}]\s*(?:选项|项)"
        )


@lru_cache(maxsize=26)
def _named(letters: str) -> _LetterPatterns:
    return _LetterPatterns(letters)
