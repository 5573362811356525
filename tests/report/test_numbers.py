"""Texts that are cut to one line, and the sentence on unreadable replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.report.run_texts import one_line, unreadable_text
from steelyard.types import ScoreInfo

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


@pytest.mark.parametrize(
    ("unread", "denominator", "sentence"),
    [
        (1, "all", "1 reply could not be read and counts as wrong for faithfulness. If all were right: 100.0 %."),
        (2, "all", "2 replies could not be read and count as wrong for faithfulness. If all were right: 100.0 %."),
        (1, "answered", "1 reply has no verdict and is left out. With it faithfulness is 50.0 % to 100.0 %."),
        (2, "answered", "2 replies have no verdict and are left out. With them faithfulness is 33.3 % to 100.0 %."),
    ],
)
def test_unreadable_replies_are_told_with_their_score(unread, denominator, sentence):
    rows = [ScoreRow("", "", "", 0, "faithfulness", "scored", 1.0)]
    rows += [ScoreRow("", "", f"s{at}", 0, "faithfulness", "unparsed", None) for at in range(unread)]
    ((score,), _) = summarize(rows, infos={"faithfulness": ScoreInfo("faithfulness", denominator=denominator)})
    assert unreadable_text(score) == sentence
