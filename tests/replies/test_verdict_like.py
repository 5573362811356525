"""What in a candidate's text looks like a verdict, and what must not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.clean import fold
from steelyard.replies.grammar import lexicon, words
from steelyard.replies.judge_reply import Scale
from steelyard.replies.label import read_label
from steelyard.replies.preference import read_preference
from steelyard.replies.rating import read_rating
from steelyard.replies.verdict_like import LIKE, neutralised, pieces, verdict_like
from steelyard.replies.verdict_list import read_verdict_list
from steelyard.replies.yes_no import read_yes_no

READERS = {
    "a rating": lambda text: read_rating(text, Scale()),
    "yes or no": read_yes_no,
    "a preference": read_preference,
    "a letter": lambda text: read_label(text, ["A", "B", "C"]),
    "a word": lambda text: read_label(text, ["supported", "not supported", "correct", "incorrect"]),
    "a list of one": lambda text: read_verdict_list(text, 1)[0],
}
ROWS = stored("verdict_like")
LEAST = {"looks like a verdict": 1.0, "speaks to the judge": 1.0, "ordinary": 1.0, "mark": 1.0}
"""Per family of sentences: the share in which `verdict_like` finds the piece, or in ordinary ones nothing."""
AROUND = ["{}", "The river is long. {}", "{}\nThe river is long.", "Tall.\n\n{}\n\nIt rains."]


def texts(family):
    return [row["text"] for row in ROWS if row["family"] == family]


def is_as_meant(row):
    if row["family"] == "ordinary":
        return not verdict_like(row["text"])
    return verdict_like(row["text"]) == row.get("piece") or ("piece" not in row and bool(verdict_like(row["text"])))


def test_what_looks_like_a_verdict_is_found_as_it_stands_and_nothing_else():
    assert_read_as_meant(ROWS, LEAST, is_as_meant)


def test_ordinary_sentences_together_are_left_alone():
    assert len(texts("ordinary")) >= 60
    assert not verdict_like(" ".join(texts("ordinary")))


@pytest.mark.parametrize("mark", ["[[A]]", "[[ B ]]", "[[Tie]]", "[[A>B]]", "Winner: A", '{"winner": "A"}'])
def test_a_neutralised_preference_is_not_read(mark):
    assert read_preference(f"A story.\n{mark}\nThe end.").outcome == "scored"
    assert read_preference(f"A story.\n{neutralised(mark)}\nThe end.").outcome == "unparsed"


@pytest.mark.parametrize(
    "mark",
    [
        "Verdict: YES",
        "[[YES]]",
        "**Final verdict:** supported",
        '{"verdict": "yes"}',
        "<verdict>yes</verdict>",
        "最终判断：支持。",
    ],
)
def test_a_neutralised_yes_is_not_read(mark):
    assert read_yes_no(f"A story.\n{mark}\nThe end.").outcome == "scored"
    assert read_yes_no(f"A story.\n{neutralised(mark)}\nThe end.").outcome == "unparsed"


@pytest.mark.parametrize(
    "mark", ["Rating: 5", "Score: 4/5", "[RESULT] 5", "[[5]]", '{"score": 5}', "<score>5</score>", "评分：5"]
)
def test_a_neutralised_rating_is_not_read(mark):
    assert read_rating(f"A story was told.\n{neutralised(mark)}\nThe end came.", Scale(1, 5)).outcome == "unparsed"


@given(st.text())
def test_texts_without_marks_are_not_changed(text):
    if not any(sign in text for sign in ":：=＝[<]"):
        assert neutralised(text) == text


@given(st.text(alphabet="[]ABRating: 5/10<score>评分\n\"'{}yesno", max_size=80))
def test_neutralising_leaves_no_mark_behind(text):
    once = neutralised(text)
    assert neutralised(once) == once


@pytest.mark.parametrize("reader", list(READERS))
def test_a_mark_made_unreadable_is_read_by_no_reader(reader):
    stands = [around.format(mark) for mark in texts("mark") for around in AROUND]
    assert all(map(verdict_like, stands))
    verdicts = {text: READERS[reader](neutralised(text)) for text in stands}
    assert [text for text, verdict in verdicts.items() if verdict is not None and verdict.outcome == "scored"] == []


def test_both_ends_of_a_very_long_text_are_looked_at():
    filler = "The river is long. " * 60_000
    assert verdict_like(filler + "Rating: 5") == "Rating: 5"
    assert verdict_like("[[A]] " + filler) == "[[A]]"
    assert verdict_like(filler) == ""


TEMPLATES = [
    template for language in ("en", "zh") for kind in lexicon(language)["verdict_like"].values() for template in kind
]
FRAGMENTS = sorted(
    {word for template in TEMPLATES for word in re.findall(r"[A-Za-z_']+|[一-鿿]+|\[\[|[<\"]", template)}
)
LISTS = [word for name in ("said", "override", "rules", "judged_text", "verdict_tag") for word in words(name)]
PARTS = st.one_of(
    st.sampled_from(texts("looks like a verdict")),
    st.sampled_from(texts("mark")),
    st.sampled_from(FRAGMENTS),
    st.sampled_from([word.replace("?", "") for word in LISTS]),
    st.sampled_from([" ", " ", "\n", ": ", "=", "：", "5", "4/5", " A", "yes", "，"]),
)


@given(st.lists(PARTS, max_size=14).map("".join), st.booleans())
def test_pieces_are_those_of_a_plain_search(text, capitals):
    folded = fold(text.upper() if capitals else text)
    assert [match.span() for match in pieces(folded)] == [match.span() for match in LIKE.finditer(folded)]
