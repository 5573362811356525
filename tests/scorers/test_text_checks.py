"""Length, beginning, edits and n-grams of a text; distances and ROUGE as their Python packages compute them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ConfigError, Output, Sample
from steelyard.constraints import check_options
from steelyard.scorers import Length, Levenshtein, RougeN, StartsWith
from steelyard.scorers.text_checks import count_sentences, count_words, edits


def score(scorer, output, reference=None):
    check_options(scorer) if hasattr(scorer, "check") else None
    return scorer(Sample("1", "?", reference), Output(output))


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("", 0, 0),
        ("One, two - three!", 3, 1),
        ("It is 3.5 % of e.g. that. Is it?", 8, 3),
        ("《易经》有64卦。是吗？是！", 8, 3),
        ("こんにちは world", 6, 1),
        ("a\nb\n\nc", 3, 3),
        ("यह एक वाक्य है। यह दूसरा है।", 7, 2),
        ("یہ جملہ ہے۔ کیا؟", 4, 2),
        ("مرحبا بالعالم. كيف حالك؟", 4, 2),
        ("Տեսա՞ք։ Այո։", 2, 2),
        ("ሰላም። እንዴት ነህ፧", 3, 2),
    ],
)
def test_words_and_sentences_are_counted_in_many_scripts(text, words, sentences):
    assert (count_words(text), count_sentences(text)) == (words, sentences)


@pytest.mark.parametrize(
    ("scorer", "output", "value"),
    [
        (Length(3), "one two three", 1),
        (Length(3), "one two three four", 0),
        (Length(min=2), "one", 0),
        (Length(5, unit="characters"), " 12345 ", 1),
        (Length(2, unit="lines"), "a\n\nb\n", 1),
        (Length(1, unit="sentences"), "A. B.", 0),
        (Length(4), "共有六十四卦", 0),
    ],
)
def test_a_length_is_within_its_limits(scorer, output, value):
    assert score(scorer, output).value == value


@pytest.mark.parametrize("scorer", [Length(), Length(-1), Length(1, 2), Length(1, unit="pages")])
def test_a_length_needs_limits_that_can_be_met(scorer):
    with pytest.raises(ConfigError):
        check_options(scorer)


def test_an_output_starts_with_any_of_the_expected_texts():
    assert score(StartsWith(), "  Dear Ann", "Dear").value == 1
    assert score(StartsWith(), "dear Ann", ["Hi", "Dear"]).value == 0
    assert score(StartsWith(ignore_case=True), "dear Ann", ["Hi", "Dear"]).value == 1


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("kitten", "sitting", 3),
        ("", "abc", 3),
        ("易经八卦", "易八卦图", 2),
        ("flaw", "lawn", 2),
        ("same", "same", 0),
        ("a" * 50, "b" * 30, 50),
    ],
)
def test_edits_are_those_of_python_levenshtein(first, second, distance):
    assert edits(first, second) == edits(second, first) == distance


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_edits_are_those_of_the_usual_table(first, second):
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        before, row = row, [i]
        for j, b in enumerate(second, start=1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    assert edits(first, second) == row[-1]


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ({}, None),
        ({"most_edits": 3}, True),
        ({"most_edits": 2}, False),
        ({"most_share": 0.5}, True),
        ({"most_share": 0.4}, False),
    ],
)
def test_edits_pass_by_count_or_share(options, passed):
    found = score(Levenshtein(**options), "kitten", ["sitting", "xxxxxxxxxxxx"])
    assert (found.value, found.passed, found.detail) == (pytest.approx(1 - 3 / 7), passed, {"edits": 3})


def test_two_texts_that_are_too_long_are_not_compared():
    assert score(Levenshtein(), "a" * 20_001, "b").detail == {"kind": "too_long"}


BY_ROUGE_SCORE = [
    ("police killed the gunman", "police kill the gunman", (0.75, 1 / 3, 0.0)),
    ("the cat sat on the mat", "the the the cat on a mat", (0.769230769231, 0.181818181818, 0.0)),
    ("a b c d", "d c b a", (1.0, 0.0, 0.0)),
    (
        "The quick brown fox jumps over the lazy dog.",
        "A quick brown dog jumps over a lazy fox!",
        (0.777777777778, 0.25, 0.0),
    ),
    # With a tokenizer that splits at blanks: its own one drops these letters.
    ("إلى كُتُب مُحَمَّد الولد من في", "إلى على مُحَمَّد الولد من كُتُب", (0.833333333333, 0.4, 0.25)),
    (
        "लड़का किताब पढ़ता है और लड़की स्कूल में है",
        "लड़की किताब पढ़ता है और लड़का स्कूल में",
        (0.941176470588, 0.533333333333, 0.307692307692),
    ),
]


@pytest.mark.parametrize(("reference", "output", "wanted"), BY_ROUGE_SCORE)
def test_n_grams_are_those_of_rouge_score(reference, output, wanted):
    found = [score(RougeN(n), output, reference) for n in (1, 2, 3)]
    assert [each.value for each in found] == pytest.approx(wanted)
    assert [each.name for each in found] == ["rouge_1", "rouge_2", "rouge_3"]


def test_chinese_n_grams_are_of_characters():
    assert score(RougeN(2, threshold=0.5), "六十四卦", "六十三卦").value == pytest.approx(1 / 3)
