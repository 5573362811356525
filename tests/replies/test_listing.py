"""Lists in replies: as JSON, numbered, bulleted, in lines; none; and texts that are the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.listing import distinct_texts, read_list, read_listing

LEAST = {
    "json": 1.0,
    "numbered": 1.0,
    "bulleted": 1.0,
    "lines": 1.0,
    "nothing": 1.0,
    "no list": 1.0,
    "written blind": 1.0,
}
"""Per family of replies that people thought of: the share that is read as they meant it."""


def is_as_meant(row):
    listing = read_listing(row["text"])
    return (list(listing.entries), listing.empty_said) == (row["entries"], row["nothing_said"])


def test_lists_of_a_family_are_read_as_meant():
    assert_read_as_meant(stored("listings"), LEAST, is_as_meant)


# Forms that our own prompts and published ones ask for.


@pytest.mark.parametrize(
    ("reply", "entries"),
    [
        (
            "1. Lena Moor designed the tower.\n2. It was finished in 1911.",
            2,
        ),  # our claims, questions and G-Eval's steps
        ("NONE", 0),
        ('{"statements": ["Lena Moor designed the tower.", "It was finished in 1911."]}', 2),  # Ragas 0.2
        (
            '[{"index": 0, "simpler_statements": ["A", "B"]}, {"index": 1, "simpler_statements": ["C"]}]',
            3,
        ),  # Ragas 0.1
        ('{"claims": ["Lena Moor designed the tower."]}', 1),  # DeepEval
        ("- Lena Moor designed the tower.\n- It was finished in 1911.", 2),  # FActScore
        ('```json\n{"questions": [{"question": "Who designed the tower?", "answer": "Lena Moor"}]}\n```', 1),
    ],
)
def test_forms_of_published_prompts_are_read(reply, entries):
    listing = read_listing(reply)
    assert len(listing.entries) == entries
    assert listing.empty_said == (entries == 0)


def test_at_most_so_many_entries_are_given():
    assert read_list("1. a\n2. b\n3. c", most=2) == ("a", "b")


def test_texts_that_differ_in_case_width_and_punctuation_only_are_the_same():
    assert distinct_texts(["Who wrote Emma?", "who wrote  emma", "ＷＨＯ wrote 'Emma'?!", "Who?"]) == (
        "Who wrote Emma?",
        "Who?",
    )
    assert distinct_texts(["是谁？", "是谁", "他是谁？"]) == ("是谁？", "他是谁？")


@pytest.mark.parametrize(
    "pair", [("Is it 1.5?", "Is it 15?"), ("x = -1", "x = 1"), ("C", "C#"), ("a < b", "a > b"), ("5%", "5"), ("?", "!")]
)
def test_texts_that_mean_something_else_are_kept(pair):
    assert distinct_texts(pair) == pair


ENTRY = st.text(alphabet="abcdefghij xyz", min_size=1, max_size=40).map(lambda text: f"What is {text.strip()}x?")


@given(
    st.lists(ENTRY, min_size=1, max_size=30),
    st.sampled_from(["{n}. {e}", "{n}) {e}", "({n}) {e}", "Q{n}: {e}", "{n}、{e}", "- {e}", "**{n}.** {e}"]),
)
def test_every_entry_comes_back_in_order_whatever_its_mark(entries, mark):
    text = "\n".join(mark.format(n=number, e=entry) for number, entry in enumerate(entries, 1))
    assert read_list(f"Sure, here they are:\n{text}\n\nLet me know if you need more.") == tuple(entries)


@given(st.lists(ENTRY, min_size=1, max_size=10), st.data())
def test_a_list_in_json_that_broke_off_gives_its_whole_entries(entries, data):
    whole = json.dumps(entries)
    cut = data.draw(st.integers(2, len(whole)))
    found = read_list(whole[:cut])
    assert found == tuple(entries[: len(found)])
    assert len(found) >= whole[:cut].count('", "')


@given(st.text())
def test_no_text_raises(text):
    assert all(entry.strip() for entry in read_list(text))
    assert len(distinct_texts([text, text])) == 1


def test_a_reply_of_megabytes_is_read_as_far_as_a_list_may_go():
    claims = "\n".join(f"{number}. It rained on day {number}." for number in range(1, 100_000))
    assert read_list(claims, most=2) == ("It rained on day 1.", "It rained on day 2.")
    assert 500 < len(read_list(claims)) < 3000


def test_an_entry_has_no_end_of_bold_whose_begin_is_in_its_mark():
    assert read_list("**Step 1: Iron** rusts\n\n**Step 2: Tin** melts") == ("Iron rusts", "Tin melts")
    assert read_list("1. 2**3 is 8\n2. 3**2 is 9") == ("2**3 is 8", "3**2 is 9")
