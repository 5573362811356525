"""Which language of the packaged prompts a text is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.prompts.language import language_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the capital of France?", "en"),
        ("法国的首都是哪里？", "zh"),
        ("用 SQLite 查询所有订单", "zh"),
        ("The hexagram 乾 stands for heaven, and 坤 for earth.", "en"),
        ("SELECT name FROM customers", "en"),
        ("Quelle est la capitale de la Chine?", "en"),
        ("第1题", "zh"),
        ("", "en"),
        ("12.5%", "en"),
        ("𠀀𠀁", "zh"),
        ("貸出期間は何日間ですか。", "en"),
        ("バッテリーはどこで借りられますか。", "en"),
        ("鲜の每日坊的营业时间是从几点到几点，周末是否照常营业？", "zh"),
    ],
)
def test_a_text_is_in_the_language_of_a_fifth_of_its_letters(text, expected):
    assert language_of(text) == expected


def test_exactly_a_fifth_is_enough():
    assert (language_of("易abcd"), language_of("易abcde")) == ("zh", "en")


def test_several_texts_are_weighed_together():
    assert language_of("易经有六十四卦", "a") == "zh"
    assert language_of("易", "a long English passage beside one character") == "en"


@given(st.text(), st.text())
def test_the_order_of_texts_does_not_matter(one, other):
    assert language_of(one, other) == language_of(other, one)
