import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.normal_form import UNSPACED, is_mark, marks, nfkc, spaced_word, stream_safe

MARKS = ["\u0323\u0301", "\u0f73", "\u0327\u0323\u0301", "\u302e\u0301"]


def longest_run(text):
    longest = run = 0
    for character in unicodedata.normalize("NFKD", text):
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("before", ["a", "", "天", "—" * 40, "😀"])
def test_no_run_of_marks_is_long_enough_to_be_sorted_slowly(marks, before):
    assert longest_run(stream_safe(before + marks * 500)) <= 64


@pytest.mark.parametrize("text", ["—" * 80, "。" * 80, "😀" * 80, "e\u0301" * 80, "ก็่" * 80, "▁" * 80, "\u200b" * 80])
def test_texts_that_people_write_are_not_changed(text):
    assert stream_safe(text) == text


@given(st.text(max_size=60))
def test_a_short_text_has_the_normal_form_of_the_standard_library(text):
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


def test_the_class_of_marks_holds_every_mark_and_nothing_else():
    pattern = re.compile(f"[{marks()}]")
    assert all((pattern.match(chr(code)) is not None) is is_mark(chr(code)) for code in range(0x20000))


@given(st.text(alphabet="ab1 _-é\u0301\u093f\u064eकم易ไ๑", max_size=30))
def test_a_word_is_letters_with_the_marks_behind_them(text):
    words = re.findall(spaced_word(), text)
    unspaced = re.compile(f"[{UNSPACED}]")
    letters = [character for character in text if character.isalnum() and not unspaced.match(character)]
    assert [character for word in words for character in word if not is_mark(character)] == letters
    assert not any(is_mark(word[0]) for word in words)
