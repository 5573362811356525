"""Questions that ask again what an earlier one asked, in other words.

Two questions are taken for one only where their answers agree as well: "the highest speed" and "the lowest speed" are
written nearly alike, and so are two years. What counts:

- the answers agree: the same numbers, and at least half of what the shorter one tells is in the other, where words of
  the questions tell nothing, as many answers repeat them;
- the questions name the same numbers;
- and share at least half of their words without function words (Jaccard) where they were made from the same chunk, or
  are alike letter by letter (`data.near_duplicates`) wherever they were made from.

An answer of yes or no agrees with too much, so then the questions must share four fifths of their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from steelyard.data.near_duplicates import similar_pairs
from steelyard.retrieval.tokens import is_stop, tokens

_SHARED: Final = 0.5
_SHARED_OF_YES_NO: Final = 0.8
_YES_NO: Final = frozenset({"yes", "no", "是", "否", "不", "对"})
_MOST_OF_CHUNK: Final = 100


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
    ...     AskedQuestion("How wide is the rim of the gauge?", "12 cm.", "a"),
    ... ])
    frozenset({1})
    """
    bags = [_Bag.of(question) for question in questions]
    repeated: set[int] = set()
    for earlier, later in sorted(_candidates(questions), key=lambda pair: (pair[1], pair[0])):
        if earlier not in repeated and later not in repeated:
            alike = questions[earlier].chunk != questions[later].chunk
            if _repeats(bags[earlier], bags[later], alike=alike):
                repeated.add(later)
    return frozenset(repeated)


def _candidates(questions: Sequence[AskedQuestion]) -> Iterator[tuple[int, int]]:
    """Pairs of one chunk, and pairs that are alike letter by letter."""
    by_chunk: dict[str, list[int]] = {}
    for position, question in enumerate(questions):
        by_chunk.setdefault(question.chunk, []).append(position)
    for positions in by_chunk.values():
        yield from combinations(positions[:_MOST_OF_CHUNK], 2)
    for pair in similar_pairs([(question.question, ()) for question in questions]):
        later, earlier = pair[0], pair[1]
        if questions[earlier].chunk != questions[later].chunk:
            yield earlier, later


@dataclass(frozen=True, slots=True)
class _Bag:
    """The words of a question and of its answer, without function words, and the numbers of both."""

    words: frozenset[str]
    numbers: frozenset[str]
    answer: frozenset[str]
    answer_numbers: frozenset[str]
    yes_no: bool

    @classmethod
    def of(cls, question: AskedQuestion) -> _Bag:
        question_tokens, answer_tokens = tokens(question.question), tokens(question.answer)
        return cls(
            frozenset(_stem(token) for token in question_tokens if not is_stop(token)),
            frozenset(token for token in question_tokens if any(map(str.isdigit, token))),
            frozenset(_stem(token) for token in answer_tokens if not is_stop(token)),
            frozenset(token for token in answer_tokens if any(map(str.isdigit, token))),
            bool(answer_tokens) and answer_tokens[0] in _YES_NO,
        )


def _repeats(first: _Bag, second: _Bag, *, alike: bool) -> bool:
    """Whether two questions ask the same; `alike` says that their letters have been compared already."""
    if first.numbers != second.numbers or not _agree(first, second):
        return False
    common = len(first.words & second.words)
    shared = common / max(1, len(first.words | second.words))
    if first.yes_no or second.yes_no:
        return first.yes_no == second.yes_no and shared >= _SHARED_OF_YES_NO
    return alike or shared >= _SHARED


def _agree(first: _Bag, second: _Bag) -> bool:
    if first.answer_numbers != second.answer_numbers:
        return False
    question_words = first.words | second.words
    first_words, second_words = first.answer - question_words, second.answer - question_words
    shorter = min(len(first_words), len(second_words))
    return not shorter or len(first_words & second_words) >= shorter / 2


def _stem(token: str) -> str:
    """A word without the s of a plural or of a verb: words of one stem count as one, roughly."""
    return token[:-1] if len(token) > 3 and token.endswith("s") and not token.endswith("ss") else token
