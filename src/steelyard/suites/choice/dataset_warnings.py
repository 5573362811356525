"""Warnings about a dataset without defects, for a person to read before models are called."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal, NamedTuple

from steelyard.data.near_duplicates import LEAST_SIMILARITY, SimilarPlaces, bare, similar_pairs
from steelyard.errors import shortened
from steelyard.normal_form import nfkc
from steelyard.suites.choice.keys import LETTERS
from steelyard.suites.choice.rows import ChoiceData

Difference = Literal["wording", "number", "negation"]
QuestionText = tuple[str, Sequence[str]]

SHOWN_PAIRS: Final = 10
MAX_COMPARED: Final = 200_000
"""Questions that are searched for near-duplicates; each takes about 2 kB of memory."""
_NOT_ALL: Final = (f"only the first {MAX_COMPARED:,} questions were compared with each other",)
_SHOWN_PLACES: Final = 3
_SHOWN_WORDS: Final = 30
_COMPARED: Final = 1_000
"""Pairs whose differing words are looked up, which takes longer than finding the pairs."""
_LEAST_LENGTH: Final = 4
_SURPRISE: Final = 4.0
"""Standard deviations from even; of 26 letters, one is that far off by chance once in 600 exams."""

_NUMBER: Final = re.compile(r"[0-9.]+|[零一二三四五六七八九十百千万两]+")
_NEGATION: Final = re.compile(
    r"不|没有|没|未|非|无|勿|除了|除|正确|错误|\b(?:not|no|never|except|without|(?:in)?correct|true|false|wrong|right)\b|n't",
)
_WORD: Final = re.compile(r"[a-z0-9.]+(?:'[a-z]+)?|\S")


class SimilarPair(NamedTuple):
    """Two questions that are nearly the same.

    Args:
        place: location of the later one in its file.
        earlier: location of the other.
        similarity: as `similar_pairs` measures it.
        differ: how they differ. A number or a negation alone makes another question; other wording may not.
        words: the words of each, the later one first, that the other does not have; empty for pairs beyond the first
            thousand.
        same_key: whether the same texts are right in both, whatever their letters.
    """

    place: str
    earlier: str
    similarity: float
    differ: Difference
    words: tuple[str, str]
    same_key: bool


@dataclass(frozen=True, slots=True)
class DatasetWarnings:
    """Counts and warnings from one pass over all samples.

    Args:
        groups: group -> samples, in order of first appearance; "" for those without one.
        tables: title of the table -> samples.
        clusters: how many clusters of two or more samples there are.
        pairs: near-duplicates, in the order of the dataset.
        notes: warnings as sentences, the pairs among them.
    """

    groups: Mapping[str, int]
    tables: Mapping[str, int]
    clusters: int
    pairs: tuple[SimilarPair, ...]
    notes: tuple[str, ...]


def warnings_of(data: ChoiceData) -> DatasetWarnings:
    """Collect counts and warnings in one pass, which holds `MAX_COMPARED` questions: for `check`, not for a run."""
    questions: list[QuestionText] = []
    places: list[str] = []
    keys: list[str] = []
    options = array("B")
    groups, tables, clusters = Counter[str](), Counter[str](), Counter[str]()
    for reading, row, question in data.samples.rows():
        sample = reading.sample(row, question)
        keys.append(question.key)
        options.append(len(question.options))
        if len(questions) < MAX_COMPARED:
            questions.append((question.text, question.options))
            places.append(reading.location(row, "" if reading.table.keyed else "question"))
        groups[sample.group] += 1
        tables[reading.table.title] += 1
        clusters[sample.cluster] += 1
    several = sum(1 for name, count in clusters.items() if name and count > 1)
    pairs = tuple(_pairs(questions, places, keys))
    notes = (
        *_about_keys(keys, options),
        *_about_clusters(several, data),
        *_about_answers(questions, places, keys[: len(questions)]),
        *_about_pairs(pairs),
        *(_NOT_ALL if len(keys) > MAX_COMPARED else ()),
    )
    return DatasetWarnings(groups, tables, several, pairs, notes)


def _about_clusters(several: int, data: ChoiceData) -> Iterator[str]:
    if any(reading.layout.column("cluster") is not None for reading in data.readings):
        subject = f"{several} clusters" if several != 1 else "1 cluster"
        yield f"{subject} of two or more questions (paraphrases): intervals count each as one"


def _about_keys(keys: Sequence[str], options: Sequence[int]) -> Iterator[str]:
    """Letters that are right far more or less often than even, among questions with one right option.

    Under even keys the count of a letter has the mean and variance of a sum of independent trials of 1 / options.
    """
    for letter in LETTERS[: max(options, default=0)]:
        chances = [1 / n for key, n in zip(keys, options, strict=True) if len(key) == 1 and n > LETTERS.index(letter)]
        expected, variance = sum(chances), sum(p * (1 - p) for p in chances)
        count = sum(key == letter for key in keys)
        if variance and abs(count - expected) >= max(_SURPRISE * variance**0.5, 1.0):
            yield f"uneven keys: {letter} is right {count} times of {len(chances)}, evenly it would be {expected:.0f}"


def _about_answers(questions: Sequence[QuestionText], places: Sequence[str], keys: Sequence[str]) -> Iterator[str]:
    """Questions that name their own answer, and questions that are one of their options."""
    naming_answer, naming_option = [], []
    for (text, options), location, key in zip(questions, places, keys, strict=True):
        question, texts = bare(text), [bare(option) for option in options]
        if question in texts:
            naming_option.append(location)
        within = "".join(letter for letter, option in zip(LETTERS, texts, strict=False) if _stands_in(option, question))
        if within and within == key and question not in texts:
            naming_answer.append(location)
    if naming_answer:
        yield f"{_questions(naming_answer)} the text of the right option and of no other: {_first(naming_answer)}"
    if naming_option:
        yield f"{_questions(naming_option)} exactly the text of an option: {_first(naming_option)}"


def _stands_in(option: str, question: str) -> bool:
    long_enough = len(option) >= _LEAST_LENGTH or (len(option) == _LEAST_LENGTH - 1 and not option.isascii())
    return long_enough and option in question


def _questions(places: Sequence[str]) -> str:
    return f"{len(places)} question{'s have' if len(places) > 1 else ' has'}"


def _first(places: Sequence[str]) -> str:
    return ", ".join(places[:_SHOWN_PLACES]) + (" ..." if len(places) > _SHOWN_PLACES else "")


def _pairs(questions: Sequence[QuestionText], places: Sequence[str], keys: Sequence[str]) -> Iterator[SimilarPair]:
    for count, match in enumerate(similar_pairs(questions)):
        question, later = questions[match.earlier], questions[match.place]
        words = differing_words(later, question) if count < _COMPARED else ("", "")
        yield SimilarPair(
            places[match.place],
            places[match.earlier],
            match.similarity,
            _difference(question, later),
            words,
            _same_key(match, questions, keys),
        )


def _same_key(match: SimilarPlaces, questions: Sequence[QuestionText], keys: Sequence[str]) -> bool:
    """Whether the same texts are right, whatever their letters."""

    def right(no: int) -> set[str]:
        return {bare(questions[no][1][LETTERS.index(letter)]) for letter in keys[no] if letter in LETTERS}

    return right(match.place) == right(match.earlier)


def _difference(first: QuestionText, second: QuestionText) -> Difference:
    for name, pattern in (("number", _NUMBER), ("negation", _NEGATION)):
        if _without(pattern, first) == _without(pattern, second) and _without(None, first) != _without(None, second):
            return name  # type: ignore[return-value]  # the two literals above
    return "wording"


def _without(pattern: re.Pattern[str] | None, question: QuestionText) -> tuple[str, list[str]]:
    """Text and options in any order, without what the pattern finds."""

    def left(text: str) -> str:
        folded = nfkc(text).casefold()
        return bare(pattern.sub("", folded) if pattern else folded)

    return left(question[0]), sorted(map(left, question[1]))


def differing_words(question: QuestionText, other_question: QuestionText) -> tuple[str, str]:
    """The words of each question that the other does not have; of their options, where the questions are the same.

    >>> differing_words(("Which comes first?", ["a"]), ("Which comes last?", ["a"]))
    ('first', 'last')
    >>> differing_words(("乾卦象征什么？", ["天", "地"]), ("乾卦象征什么", ["天", "雷"]))
    ('地', '雷')
    """
    words, other_words = _split(question[0]), _split(other_question[0])
    if words == other_words:
        words, other_words = _split(" ".join(sorted(question[1]))), _split(" ".join(sorted(other_question[1])))
    only_here: list[str] = []
    only_there: list[str] = []
    for tag, start, stop, begin, end in SequenceMatcher(None, words, other_words, autojunk=False).get_opcodes():
        if tag != "equal":
            only_here += words[start:stop]
            only_there += other_words[begin:end]
    return _joined(only_here), _joined(only_there)


def _split(text: str) -> list[str]:
    return [word for word in _WORD.findall(nfkc(text).casefold()) if bare(word)]


def _joined(words: Sequence[str]) -> str:
    text = "".join(f" {word}" if word.isascii() and word.isalnum() else word for word in words).strip()
    return shortened(text, _SHOWN_WORDS)


def _about_pairs(pairs: Sequence[SimilarPair]) -> Iterator[str]:
    worded = sorted((pair for pair in pairs if pair.differ == "wording"), key=lambda pair: -pair.similarity)
    changed = [pair for pair in pairs if pair.differ != "wording"]
    if worded:
        subject = f"{len(worded)} questions are" if len(worded) > 1 else "1 question is"
        yield f"{subject} nearly the same as an earlier one (similarity {LEAST_SIMILARITY} or more of 1):"
    for pair in worded[:SHOWN_PAIRS]:
        first, second = pair.words
        difference = f"they differ by {first or 'nothing'} / {second or 'nothing'}" if first or second else "same words"
        key = "same answer" if pair.same_key else "different answers"
        yield f"  {pair.place} and {pair.earlier}: {pair.similarity:.2f}, {key}, {difference}"
    if len(worded) > SHOWN_PAIRS:
        yield f"  and {len(worded) - SHOWN_PAIRS} more; --json lists them"
    if changed:
        subject = f"{len(changed)} questions differ" if len(changed) > 1 else "1 question differs"
        places = [f"{pair.place} and {pair.earlier}" for pair in changed]
        yield f"{subject} from an earlier one only by a number or a negation, which may be intended: {_first(places)}"
