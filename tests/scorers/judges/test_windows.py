"""Contexts are packed into windows without a loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers.judges.relevance import ContextRelevance
from steelyard.scorers.judges.windows import LEAST_WINDOW, windows
from steelyard.types import token_weight

MARK = "0" * 12
PROSE = st.lists(
    st.sampled_from(
        ["The tower fell. ", "乾为天。", "word ", "\n\n", "x" * 300, "易经" * 90, "e.g. 3.14! ", " ", "\t"]
    ),
    max_size=60,
).map("".join)


@given(st.lists(PROSE | st.text(max_size=200), max_size=6), st.integers(LEAST_WINDOW, 200))
def test_the_parts_of_every_context_make_it_again_in_windows_within_the_budget(contexts, tokens):
    packed = windows(contexts, tokens)

    for number, text in enumerate(contexts, start=1):
        parts = [part for one in packed for no, part in zip(one.numbers, one.texts, strict=True) if no == number]
        assert "".join(parts) == (text if text.strip() else "")
    for window in packed:
        assert token_weight(window.shown()) <= tokens
        assert list(window.numbers) == sorted(set(window.numbers))


@given(st.lists(PROSE, max_size=6), st.integers(LEAST_WINDOW, 200))
def test_a_context_that_fits_a_window_is_never_cut(contexts, tokens):
    shown = [number for window in windows(contexts, tokens) for number in window.numbers]

    for number, text in enumerate(contexts, start=1):
        fits = token_weight(f"<passage {number} {MARK}>\n{text}\n</passage {number} {MARK}>\n\n") <= tokens
        assert shown.count(number) == (0 if not text.strip() else 1) or not fits


def test_a_long_context_is_cut_where_a_sentence_ends():
    sentence = "Dr. Wu measured the tower once more, and it was 3.5 metres shorter than the year before. "
    [first, *rest] = windows([sentence * 10], 100)

    assert first.texts[0] == sentence * 3
    assert all(one.texts[0].startswith("Dr. Wu measured") for one in rest)


def test_a_chinese_context_is_cut_where_a_sentence_ends():
    packed = windows(["塔身高三十丈，后来又矮了一些。" * 10], 60)

    assert len(packed) > 1
    assert all(window.texts[0].endswith("。") for window in packed)


def test_a_sentence_over_the_budget_is_cut_at_a_blank():
    packed = windows(["word " * 200], 60)

    assert all(window.texts[0].endswith("word ") for window in packed)


def test_windows_of_a_long_text_without_any_end_are_made_in_one_pass():
    packed = windows(["." * 200_000, "x" * 200_000], 3000)

    assert sum(len(text) for window in packed for text in window.texts) == 400_000


def test_the_passages_of_a_later_window_can_be_numbered_from_1():
    later = windows(["a" * 300, "b" * 100, "c" * 100], 100)[1]

    assert later.numbers == (2, 3)
    assert later.renumbered().shown().startswith("<passage 1 ")


@pytest.mark.parametrize("tokens", [0, LEAST_WINDOW - 1, 100.5, True])
def test_a_window_that_no_sentence_fits_into_is_refused(tokens):
    with pytest.raises(ConfigError, match="window_tokens"):
        check_options(ContextRelevance(window_tokens=tokens))
