"""What is searched in a record, and how a text is cut into words.

Words are runs of letters and digits without regard to case; Chinese and Japanese, which have no blanks between words,
are cut into pairs of neighbouring characters. A text is then a line of words with blanks between, and a search is a
few such lines, each of which has to occur in it: an index of words and a plain scan find the same records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.normal_form import nfkc
from steelyard.store.reading.page_query import number_of_place
from steelyard.store.reading.run_reading import all_records
from steelyard.store.stored_run import StoredRun
from steelyard.types import Record

_UNSPACED: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""Han characters, kana and the iteration marks between them."""
_RUN: Final = re.compile(rf"([{_UNSPACED}]+)|([^\W{_UNSPACED}]+)")
_ASCII_WORD: Final = re.compile(r"\w+", re.ASCII)
_TERM: Final = re.compile(r'"([^"]*)"?|(\S+)')
MOST_CHARACTERS: Final = 100_000
"""Characters of one record that are indexed; text after them is not found."""
_MOST_ASKED: Final = 1_000


def record_words(run: StoredRun) -> Iterator[tuple[int, str]]:
    """The place, as `number_of_place` has it, and the words of every record of a run, in order."""
    return ((number_of_place((no, record.repeat)), words_of_record(record)) for no, record in all_records(run))


def words_of_record(record: Record) -> str:
    """The words of a record's texts: its id, sample, output, failure, and the reasons of its scores.

    Args:
        record: of a run; texts behind the first 100,000 characters are left out.
    """
    sample = record.sample
    parts: list[Any] = [sample.id, sample.input, sample.reference, sample.choices]
    if record.output is not None:
        parts.append(record.output.value)
    parts += [score.reason for score in record.scores]
    if record.failure is not None:
        parts.append(record.failure.message)
    parts += [sample.contexts, record.output.contexts if record.output is not None else ()]
    texts: list[str] = []
    _collect_texts(parts, texts)
    return words(" \n ".join(texts)[:MOST_CHARACTERS])


def _collect_texts(value: Any, texts: list[str]) -> None:
    """Add the texts in a value of any shape, in order, without the names of keys."""
    # Not a generator: one for each level of each record took a third of the time of building an index.
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect_texts(item, texts)
    elif isinstance(value, list | tuple):
        for item in value:
            if type(item) is str:
                texts.append(item)
            else:
                _collect_texts(item, texts)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        texts.append(str(value))


def words(text: str) -> str:
    """A text as its words with blanks between.

    >>> words("The Tax-rate of 2024"), words("乾为天 A")
    ('the tax rate of 2024', '乾为 为天 天 a')
    """
    # The same in a third of the time: of ASCII the rules below leave nothing but words in small letters.
    return " ".join(_ASCII_WORD.findall(text.lower()) if text.isascii() else _cut(text, at_end=True))


def _cut(text: str, *, at_end: bool) -> Iterator[str]:
    """The words; the last character of a run without blanks is a word too, except at the end of a search."""
    runs = list(_RUN.finditer(nfkc(text).casefold()))
    for run in runs:
        unspaced = run[1]
        if unspaced is None:
            yield run[0]
            continue
        yield from (unspaced[at : at + 2] for at in range(len(unspaced) - 1))
        if at_end or run is not runs[-1] or len(unspaced) == 1:
            yield unspaced[-1]


def search_terms(text: str) -> tuple[str, ...]:
    """The lines of words that a record must have, one for each word or text in quotation marks.

    A single character of a language without blanks ends with `*`: it may be the first of a pair.

    Args:
        text: what was typed, at most 1,000 characters.

    Raises:
        ConfigError: there is nothing to search for.

    >>> search_terms('Tax "capital of France" 乾为天'), search_terms("乾")
    (('tax', 'capital of france', '乾为 为天'), ('乾*',))
    """
    if len(text) > _MOST_ASKED:
        raise ConfigError(f"a search has at most {_MOST_ASKED:,} characters, not {len(text):,}")
    terms = (
        " ".join(_cut(match[1] if match[1] is not None else match[2], at_end=False)) for match in _TERM.finditer(text)
    )
    unique = tuple(dict.fromkeys(f"{term}*" if _is_open(term) else term for term in terms if term))
    if not unique:
        raise ConfigError(f"there is nothing to search for in {text!r}: a search needs a letter or a digit")
    return unique


def _is_open(term: str) -> bool:
    last_word = term.rpartition(" ")[2]
    run = _RUN.fullmatch(last_word)
    return len(last_word) == 1 and run is not None and run[1] is not None


def has_terms(line: str, terms: tuple[str, ...]) -> bool:
    """Whether a line of words has all terms.

    >>> has_terms(words("乾为天"), search_terms("天")), has_terms(words("taxi"), search_terms("tax"))
    (True, False)
    """
    spaced = f" {line} "
    return all(f" {term[:-1]}" in spaced if term.endswith("*") else f" {term} " in spaced for term in terms)
