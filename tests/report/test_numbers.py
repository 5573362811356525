"""Texts that are cut to one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.run_texts import one_line

BLANKS = st.text(" \t\r\n\x0b\x1c\x85\u2028\u3000", max_size=40)
WORDS = st.lists(st.one_of(BLANKS, st.text(max_size=12)), max_size=40).map("".join)


@given(WORDS, st.integers(1, 20))
def test_a_cut_line_begins_as_the_whole_line_does(text, most):
    whole = " ".join(text.split())
    line = one_line(text, most)
    if len(whole) <= most:
        assert line == whole
    else:
        assert (len(line), line[-1], line[:-1]) == (most, "…", whole[: most - 1])


@pytest.mark.parametrize("text", [" " * 100 + "a", "a" + "\n" * 100 + "b", "a " * 100])
def test_blanks_at_the_beginning_do_not_hide_what_follows(text):
    assert one_line(text, 5) == {" " * 100 + "a": "a", "a" + "\n" * 100 + "b": "a b"}.get(text, "a a …")
