import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.retrieval.chunk import sentences

TEXT = st.text(alphabet='aB 1.!?\n"”。！，天…[]#-|\u3000', max_size=200)


def split(text):
    return [text[start:end] for start, end in sentences(text)]


@given(TEXT)
def test_every_character_but_blanks_is_in_exactly_one_sentence_in_order(text):
    spans = list(sentences(text))
    bounds = [position for span in spans for position in span]
    assert bounds == sorted(bounds)
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    assert (
        "".join(text[start:end] for start, end in spans).split()
        == "".join(text[start:end] for start, end in spans).split()
    )
    covered = {position for start, end in spans for position in range(start, end)}
    assert all(mark.isspace() for position, mark in enumerate(text) if position not in covered)


@pytest.mark.parametrize(
    "whole",
    [
        "Dr. Wu met Mrs. Li and Prof. J. R. Smith there.",
        "Use a tool, e.g. a rain gauge, i.e. a funnel with a bottle.",
        "See Fig. 3 and No. 12 on p. 7 of vol. 2.",
        "It costs 3.14 or 1,024.50 in version 2.0.1 at example.com today.",
        "The U.S. Army bought it at 5 p.m. on Monday.",
        "“What?” he asked.",
        "It was so... strange.",
        "The wind. speed, as he wrote it.",
        "1. First of all",
        "  a. a list entry",
        "“好！”，他说。",
        "天……地。",
    ],
)
def test_a_mark_inside_a_sentence_does_not_end_it(whole):
    assert split(whole) == [whole.strip()]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rose. Then it fell! Did it? Yes.", ["It rose.", "Then it fell!", "Did it?", "Yes."]),
        ("Built in 1987. The next came.", ["Built in 1987.", "The next came."]),
        ("Is it number 5? No. It is not.", ["Is it number 5?", "No.", "It is not."]),
        ("He left the U.S. The rest, etc. It leaks.", ["He left the U.S.", "The rest, etc.", "It leaks."]),
        ('She said "Go." Then he left.', ['She said "Go."', "Then he left."]),
        ("It holds.[12][3] More follows.", ["It holds.[12][3]", "More follows."]),
        ("(A note.) *Bold.* End", ["(A note.)", "*Bold.*", "End"]),
        ("他说：“走吧。”然后走了。真的？！是。", ["他说：“走吧。”", "然后走了。", "真的？！", "是。"]),
        ("Rain fell.雨停了。Then", ["Rain fell.", "雨停了。", "Then"]),
    ],
)  # fmt: skip
def test_a_sentence_ends_at_its_mark_with_what_closes_behind_it(text, parts):
    assert split(text) == parts


def test_blocks_end_sentences_and_a_wrapped_line_does_not():
    wrapped = "This line of prose was wrapped by an editor\nat a width that it was given"
    assert split(f"# Head\n{wrapped}\n\nnext\nshort\n- one\n- two\n| a | b |\n| 1 | 2 |\nTitle\n=====") == [
        "# Head",
        wrapped,
        "next",
        "short",
        "- one",
        "- two",
        "| a | b |",
        "| 1 | 2 |",
        "Title",
        "=====",
    ]
    chinese = "这一行是由编辑器在某个宽度处自动换行的一段很长的文字\n它在这里继续"
    assert split(chinese) == [chinese]


def test_rows_of_a_table_are_sentences_of_their_own():
    rows = [
        f"{name} of the station\tin the enclosure\t{size}.5 mm wide" for name in ("Gauge", "Vane") for size in (1, 2)
    ]
    assert split("\n".join(rows)) == rows
    assert split("\n".join(row.replace("\t", " | ") for row in rows)) == [row.replace("\t", " | ") for row in rows]


@pytest.mark.parametrize(
    "unit",
    [
        ".", ". ", "\n", " \n", "。", "- ", "- \n", 'a."', "1. ", ".[1]", "[1]", "…", "A.", "  ", "x" * 60 + "\n ",
        "Dr. ", "Dr.\n", "Dr.", "Dr. Wu, ", "e.g. ", "U.S. ", "| a ", "a\t",
    ],
)  # fmt: skip
def test_no_repeated_text_makes_more_sentences_than_characters(unit):
    text = unit * (20_000 // len(unit))
    assert sum(1 for _ in sentences(text)) <= len(text)
