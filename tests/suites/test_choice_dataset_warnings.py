"""What check notices in a sound exam: near-duplicates, uneven keys, answers given away."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.near_duplicates import LEAST_SIMILARITY, bare, similar_pairs
from steelyard.data.sample_files import SampleFiles
from steelyard.suites.choice.dataset_warnings import warnings_of
from steelyard.suites.choice.rows import load_choice

OPTIONS = ["heaven", "earth", "thunder", "wind"]


def odd(*rows, **more):
    entries = [{"question": text, "options": options, "answer": key, **more} for text, options, key in rows]
    return warnings_of(load_choice(SampleFiles.of(entries)))


def pieces(question):
    text, options = question
    marked = "\1\1" + "\1".join([bare(text), *sorted(map(bare, options))]) + "\1"
    return {marked[at : at + 3] for at in range(len(marked) - 2)}


def test_a_question_in_other_punctuation_and_order_of_options_is_the_same():
    (pair,) = odd(
        ("乾卦，在先天八卦中象征什么？", ["天", "地", "雷"], "A"), ("乾卦在先天八卦中象征什么", ["地", "雷", "天"], "C")
    ).pairs
    assert (pair.similarity, pair.same_key, pair.differ) == (1.0, True, "wording")
    assert (pair.place, pair.earlier) == ("frame entry 2", "frame entry 1")


def test_the_words_that_differ_are_named_and_so_is_another_answer():
    result = odd(
        ("Which trigram of the eight stands for heaven in the old order?", OPTIONS, "A"),
        ("Which trigram of the eight stands for earth in the old order?", OPTIONS, "B"),
    )
    assert (result.pairs[0].words, result.pairs[0].same_key) == (("earth", "heaven"), False)
    assert "frame entry 2 and frame entry 1: " in result.notes[-1]
    assert result.notes[-1].endswith("different answers, they differ by earth / heaven")


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("How many lines do 3 trigrams have together?", "How many lines do 12 trigrams have together?", "number"),
        ("六十四卦之中第一卦的名称是什么", "六十四卦之中第二卦的名称是什么", "number"),
        (
            "Which of these statements on the trigrams is true?",
            "Which of these statements on the trigrams is not true?",
            "negation",
        ),
        ("关于先天八卦，下列说法正确的是哪一项", "关于先天八卦，下列说法错误的是哪一项", "negation"),
        ("关于先天八卦，下列说法正确的是哪一项", "关于先天八卦，下列说法不正确的是哪一项", "negation"),
    ],
)
def test_questions_that_differ_by_a_number_or_a_negation_are_counted_apart(one, other, differ):
    result = odd((one, OPTIONS, "A"), (other, OPTIONS, "B"))
    assert [pair.differ for pair in result.pairs] == [differ]
    assert "only by a number or a negation, which may be intended" in result.notes[-1]
    assert not any("nearly the same" in note for note in result.notes)


def test_one_stem_with_other_options_is_no_duplicate():
    assert (
        odd(("下列正确的是", ["甲说", "乙说", "丙说"], "A"), ("下列正确的是", ["子时", "丑时", "寅时"], "B")).pairs
        == ()
    )


@given(
    st.lists(
        st.tuples(
            st.text("天地雷风12不 ", min_size=1, max_size=14), st.lists(st.text("乾坤震", max_size=3), max_size=3)
        ),
        max_size=12,
    )
)
def test_every_pair_is_as_alike_as_the_definition_says(questions):
    result = similar_pairs(questions)
    assert len({entry.place for entry in result}) == len(result)
    for entry in result:
        first, second = pieces(questions[entry.place]), pieces(questions[entry.earlier])
        assert entry.earlier < entry.place
        assert entry.similarity == len(first & second) / len(first | second) >= LEAST_SIMILARITY


def test_nearly_every_planted_pair_is_found_and_no_other():
    draw = random.Random(5)

    def text(size):
        return "".join(chr(0x4E00 + draw.randrange(3000)) for _ in range(size))

    questions = [(text(30), [text(5) for _ in range(4)]) for _ in range(3_000)]
    for position in range(300):
        stem, options = questions[position]
        at = draw.randrange(len(stem))
        questions[2_000 + position] = (stem[:at] + "另" + stem[at + 1 :], draw.sample(options, 4))
    result = {(pair.place, pair.earlier) for pair in similar_pairs(questions)}
    assert result <= {(2_000 + position, position) for position in range(300)}
    assert len(result) >= 297


def test_a_thousand_questions_of_one_mould_give_a_pair_each_and_not_a_million():
    mould = [(f"What is {n} plus {n + 1} in the arithmetic of whole numbers?", ["a", "b"]) for n in range(1_000)]
    assert len(similar_pairs(mould)) < 1_000


@pytest.mark.parametrize(
    ("keys", "said"), [("A" * 60 + "BCD" * 10, ["A is right 60"]), ("ABCD" * 20, []), ("ABC" * 40, ["D is right 0"])]
)
def test_keys_far_from_even_are_said_to_be(keys, said):
    rows = [(f"{n} {random.Random(n).random()}", OPTIONS, key) for n, key in enumerate(keys)]
    notes = [note for note in odd(*rows).notes if note.startswith("uneven keys")]
    assert len(notes) == len(said)
    assert all(f"uneven keys: {entry} times of {len(keys)}" in note for entry, note in zip(said, notes, strict=True))


def test_several_answers_are_no_sign_of_uneven_keys():
    assert odd(*[(f"{n} {random.Random(n).random()}", OPTIONS, "AB") for n in range(80)]).notes == ()


def test_a_question_that_names_its_own_answer_alone_is_noted():
    (note,) = odd(("The Book of Changes is called what?", ["Book of Changes", "Analects"], "A")).notes
    assert note == "1 question has the text of the right option and of no other: frame entry 1"
    assert odd(("Analects or Book of Changes: the older?", ["Book of Changes", "Analects"], "A")).notes == ()
    (note,) = odd(("Analects?", ["Analects", "Mencius"], "B")).notes
    assert note == "1 question has exactly the text of an option: frame entry 1"


def test_groups_tables_and_clusters_are_counted():
    rows = [("q one", OPTIONS, "A"), ("another", OPTIONS, "B"), ("third thing", OPTIONS, "C")]
    entries = [
        {"question": text, "options": options, "answer": key, "group": group, "cluster": cluster}
        for (text, options, key), group, cluster in zip(rows, "xyx", ("k", "k", ""), strict=True)
    ]
    result = warnings_of(load_choice(SampleFiles.of(entries)))
    assert (result.groups, result.tables, result.clusters) == ({"x": 2, "y": 1}, {"frame": 3}, 1)
    assert result.notes[0] == "1 cluster of two or more questions (paraphrases): intervals count each as one"
