"""Questions that ask again what an earlier one asked, in other words.

Questions about different things may have equal answers ("What does foo_bar return?", "What does foo_baz return?"), so
two are taken for one only where they ask the same. What counts:

- the questions name the same numbers and the same names: words such as `foo_bar`, `--dry-run`, `/etc/hosts`, `HTTP`;
- their other words without function words are the same, where words of one root are equal (keep, keeper), and one of
  them may name what is measured (high, height, time) alone; Chinese ones share more than four fifths of their
  characters, and one has no character that the other replaces;
- the answers agree: the same numbers, and at least half of what the shorter one tells is in the other, where words of
  the questions tell nothing, as many answers repeat them.

A question may be kept that a person would call a repetition; none is lost that asks for something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, takewhile
from typing import Final

from steelyard.data.near_duplicates import similar_pairs
from steelyard.generate.phrases import sections
from steelyard.retrieval.bm25 import is_stop, tokens

_SHARED_CHARACTERS: Final = 0.8
_YES_NO: Final = frozenset({"yes", "no", "是", "否", "不", "对"})
_MOST_OF_CHUNK: Final = 100
_LEAST_ROOT: Final = 4
_ENDINGS: Final = frozenset(
    ("", "e", "s", "es", "d", "ed", "er", "ers", "or", "ors", "ing", "ings", "ion", "ions", "ation", "ment", "al", "ly")
)
_WIDE: Final = "\u2e80"
_NAME: Final = re.compile(
    r"\S*\w[_.:/\\@#$()\[\]]+\w\S*|\S*[a-z][A-Z]\S*|-{1,2}\w\S*|\S*\w\(\)\S*|[A-Z]{2,}|\b[B-HJ-Z]\b"
)
"""Words that are written as names of programs, files and standards are; letters that stand alone are names as well."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its answer and the id of the chunk that it was made from."""

    question: str
    answer: str
    chunk: str


def repeated_questions(questions: Sequence[AskedQuestion]) -> frozenset[int]:
    """Positions of the questions that repeat an earlier one.

    >>> repeated_questions([
    ...     AskedQuestion("How high is the rim of the gauge above the ground?", "30 cm.", "a"),
    ...     AskedQuestion("What is the height of the gauge's rim above ground?", "The rim is 30 cm above it.", "a"),
    ...     AskedQuestion("How high is the rim of the bucket above the ground?", "30 cm.", "a"),
    ... ])
    frozenset({1})
    """
    bags = [_Bag.of(question) for question in questions]
    repeated: set[int] = set()
    for earlier, later in sorted(set(_candidates(questions, bags)), key=lambda pair: (pair[1], pair[0])):
        if earlier not in repeated and later not in repeated and _repeats(bags[earlier], bags[later]):
            repeated.add(later)
    return frozenset(repeated)


def _candidates(questions: Sequence[AskedQuestion], bags: Sequence[_Bag]) -> Iterator[tuple[int, int]]:
    """Pairs of one chunk, pairs of the same words, and pairs that are alike letter by letter."""
    by_chunk: dict[str, list[int]] = {}
    by_words: dict[tuple[frozenset[str], frozenset[str]], list[int]] = {}
    for position, (question, bag) in enumerate(zip(questions, bags, strict=True)):
        by_chunk.setdefault(question.chunk, []).append(position)
        by_words.setdefault((bag.words - _senses(), bag.names), []).append(position)
    for positions in by_chunk.values():
        yield from combinations(positions[:_MOST_OF_CHUNK], 2)
    for positions in by_words.values():
        yield from combinations(positions[:_MOST_OF_CHUNK], 2)
    for pair in similar_pairs([(question.question, ()) for question in questions]):
        yield pair.earlier, pair.place


@dataclass(frozen=True, slots=True)
class _Bag:
    """The words of a question and of its answer, without function words, and the numbers and names in them."""

    words: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    answer: frozenset[str]
    answer_numbers: frozenset[str]
    yes_no: bool

    @classmethod
    def of(cls, question: AskedQuestion) -> _Bag:
        question_tokens, answer_tokens = tokens(question.question), tokens(question.answer)
        names = (match[0].strip("?!.,;:'\"“”‘’`*()（）？。").casefold() for match in _NAME.finditer(question.question))
        return cls(
            frozenset(_sense(token) for token in question_tokens if not is_stop(token) and not _tells_nothing(token)),
            frozenset(names),
            frozenset(token for token in question_tokens if any(map(str.isdigit, token))),
            frozenset(_stem(token) for token in answer_tokens if not is_stop(token)),
            frozenset(token for token in answer_tokens if any(map(str.isdigit, token))),
            bool(answer_tokens) and answer_tokens[0] in _YES_NO,
        )


def _repeats(first: _Bag, second: _Bag) -> bool:
    return (
        (first.numbers, first.names, first.yes_no) == (second.numbers, second.names, second.yes_no)
        and _same_words(first.words, second.words)
        and _agree(first, second)
    )


def _same_words(first: frozenset[str], second: frozenset[str]) -> bool:
    shared = first & second
    alone, other_alone = set(first - shared), set(second - shared)
    for word in sorted(alone):
        if (same := next((other for other in sorted(other_alone) if _same_root(word, other)), None)) is not None:
            alone.discard(word)
            other_alone.discard(same)
    if alone and other_alone:
        return False
    extra = (alone or other_alone) - _senses()
    if not all(word >= _WIDE for word in extra):
        return False
    return not extra or len(shared) > _SHARED_CHARACTERS * (len(shared) + len(extra))


def _same_root(word: str, other: str) -> bool:
    """Whether two words differ in English endings alone; `open` and `openat` do not.

    >>> _same_root("keep", "keeper"), _same_root("highest", "lowest"), _same_root("open", "openat")
    (True, False, False)
    """
    root = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    endings = {word[root:], other[root:]}
    return root >= _LEAST_ROOT and endings <= _ENDINGS and endings != {"", "e"}


def _agree(first: _Bag, second: _Bag) -> bool:
    if first.answer_numbers != second.answer_numbers:
        return False
    question_words = first.words | second.words
    first_words, second_words = first.answer - question_words, second.answer - question_words
    shorter = min(len(first_words), len(second_words))
    return not shorter or len(first_words & second_words) >= shorter / 2


def _tells_nothing(token: str) -> bool:
    """Whether a token is a pair of characters of a script without blanks, which the two say, or a letter cut off."""
    return token[0] >= _WIDE if len(token) > 1 else token.isascii() and token.isalpha()


@cache
def _measures() -> Mapping[str, str]:
    """What a question says that it asks for, and another one leaves to `how` and `when`: each word, and its sense."""
    return {word: sense for sense, words in sections()["senses"].items() for word in words}


@cache
def _senses() -> frozenset[str]:
    return frozenset(sections()["senses"])


def _sense(token: str) -> str:
    return _measures().get(stem := _stem(token)) or _measures().get(token) or stem


def _stem(token: str) -> str:
    """A word without the s of a plural or of a verb: words of one stem count as one, roughly."""
    return token[:-1] if len(token) > 3 and token.endswith("s") and not token.endswith("ss") else token
