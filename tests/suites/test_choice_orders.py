"""Orders of options: shuffled by seed and question alone, all rotations, and questions that have one order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import Sample
from steelyard.suites.choice.orders import Ordered, has_own_order, in_order, rotated, shuffled

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@st.composite
def questions(draw):
    options = draw(st.lists(st.text("abcdef天地 ", min_size=1, max_size=6), min_size=2, max_size=26, unique=True))
    letters = LETTERS[: len(options)]
    key = draw(st.sets(st.sampled_from(letters), min_size=1, max_size=4))
    return Sample(draw(st.text(max_size=4)), draw(st.text(max_size=9)), "".join(sorted(key)), tuple(options), group="g")


def right(sample):
    return {sample.choices[LETTERS.index(letter)] for letter in sample.reference}


@given(questions(), st.integers(0, 9))
def test_the_key_names_the_same_texts_in_every_order(sample, seed):
    for entry in (shuffled(sample, seed), *rotated(sample)):
        assert right(entry) == right(sample)
        assert sorted(entry.choices) == sorted(sample.choices)
        assert list(entry.reference) == sorted(entry.reference)


@given(questions(), st.integers(0, 9))
def test_the_order_leads_back_to_the_dataset(sample, seed):
    for entry in (shuffled(sample, seed), *rotated(sample)):
        order = entry.metadata["order"]
        assert sorted(order) == list(LETTERS[: len(sample.choices)])
        assert [sample.choices[LETTERS.index(letter)] for letter in order] == list(entry.choices)
        back = in_order(entry, [order.index(letter) for letter in LETTERS[: len(order)]])
        assert (back.choices, back.reference) == (sample.choices, sample.reference)


@given(questions(), st.integers(0, 9), st.randoms())
def test_a_shuffled_order_depends_on_the_seed_and_on_what_the_question_says_alone(sample, seed, chance):
    places = list(range(len(sample.choices)))
    chance.shuffle(places)
    elsewhere = in_order(Sample("another id", sample.input, sample.reference, sample.choices), places)
    assert shuffled(elsewhere, seed).choices == shuffled(sample, seed).choices or has_own_order(
        sample.input, sample.choices
    )


def test_a_shuffled_key_stands_in_every_place_alike():
    samples = [Sample(str(no), f"question {no}", "A", ("q", "r", "s", "t")) for no in range(4000)]
    counts = dict.fromkeys("ABCD", 0)
    for sample in Ordered(samples, "shuffled", 3):
        counts[sample.reference] += 1
    assert all(900 < count < 1100 for count in counts.values())
    other = [sample.reference for sample in Ordered(samples, "shuffled", 4)]
    assert other != [sample.reference for sample in Ordered(samples, "shuffled", 3)]


def test_rotations_have_ids_of_their_own_and_the_cluster_of_their_question():
    sample = Sample("q7", "Where?", "B", ("Rome", "Oslo", "Bern"), group="g")
    result = list(rotated(sample))
    assert [(entry.id, entry.cluster, entry.metadata["order"], entry.reference) for entry in result] == [
        ("q7@1", "q7", "ABC", "B"),
        ("q7@2", "q7", "BCA", "A"),
        ("q7@3", "q7", "CAB", "C"),
    ]
    assert result[0].choices == sample.choices
    paraphrase = Sample("q8", "Where to?", "B", ("Rome", "Oslo"), cluster="q7")
    assert {entry.cluster for entry in rotated(paraphrase)} == {"q7"}


@given(questions())
def test_over_all_rotations_each_option_stands_once_in_each_place(sample):
    result = list(rotated(sample))
    if len(result) == 1:
        assert has_own_order(sample.input, sample.choices)
        return
    for position in range(len(sample.choices)):
        assert sorted(entry.choices[position] for entry in result) == sorted(sample.choices)


def test_a_dataset_in_other_orders_can_be_read_again_and_holds_nothing():
    def given_once():
        yield from (Sample(str(no), "Where?", "A", ("Rome", "Oslo")) for no in range(3))

    class Lazy:
        def __iter__(self):
            return given_once()

    ordered = Ordered(Lazy(), "rotations")
    assert (
        [sample.id for sample in ordered]
        == [sample.id for sample in ordered]
        == ["0@1", "0@2", "1@1", "1@2", "2@1", "2@2"]
    )
    assert next(iter(Ordered(iter(lambda: Sample("1", "q", "A", ("x", "y")), None), "shuffled"))).id == "1"


@pytest.mark.parametrize(
    "option",
    [
        "all of the above",
        "None of the above.",
        "all the above",
        "Neither of these",
        "both A and B",
        "A and C",
        "(A) or (C)",
        "A, B and C",
        "A & B",
        "AC",
        "B",
        "either of the above",
        "the first option",
        "Same as option A",
        "All are correct",
        "Both",
        "more than one of the above",
        "以上都对",
        "以上都不是",
        "以上选项都正确",
        "以上三项",
        "上述各项",
        "都不对",
        "全部正确",
        "A和C",
        "A、B、C",
        "ＡＢ",
        "前两项都对",
        "两者都是",
        "没有正确答案",
        "选项A和选项B",
        "其他选项均不正确",
    ],
)
def test_an_option_that_speaks_of_others_keeps_the_order(option):
    sample = Sample("q", "哪一项?", "A", ("天", "地", "雷", option))
    assert has_own_order(sample.input, sample.choices)
    assert shuffled(sample, 1).choices == sample.choices
    assert shuffled(sample, 1).metadata["order"] == "ABCD"
    assert [entry.id for entry in rotated(sample)] == ["q@1"]


@pytest.mark.parametrize(
    "option",
    [
        "18岁以上",
        "60分以上",
        "三年以上",
        "20人以上均可",
        "a plan above all",
        "All Saints' Day",
        "The Battle of the Nile",
        "None",
        "One thousand and one nights",
        "BBC and CNN",
        "vitamin E",
        "An A-frame",
        "正确",
        "都江堰",
        "全部土地归国家所有",
        "皆大欢喜",
        "无",
        "Bothnia",
        "all men are mortal",
        "I and Thou",
    ],
)
def test_an_option_that_only_sounds_like_it_may_be_moved(option):
    assert not has_own_order("哪一项?", ("天", "地", "雷", option))


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Why is option B wrong?", True),
        ("选项C为什么不对？", True),
        ("维生素A的作用是？", False),
        ("Plan B is?", False),
    ],
)
def test_a_question_that_names_an_option_keeps_the_order(question, kept):
    assert has_own_order(question, ("w", "x", "y", "z")) == kept
