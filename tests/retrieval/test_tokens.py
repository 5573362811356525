from hypothesis import given
from hypothesis import strategies as st

from steelyard.retrieval.bm25 import is_stop, tokens


def test_chinese_becomes_characters_and_overlapping_pairs():
    assert tokens("乾为天") == ["乾", "为", "天", "乾为", "为天"]


def test_pairs_do_not_cross_punctuation_or_words():
    assert tokens("天，地 sky人") == ["天", "地", "sky", "人"]


def test_words_are_lower_cased_and_width_is_folded():
    assert tokens("Heaven ＨＥＡＶＥＮ été x_1") == ["heaven", "heaven", "été", "x", "1"]


def test_trigrams_and_hexagrams_are_tokens():
    assert tokens("☰䷀乾") == ["☰", "䷀", "乾"]


def test_kana_and_hangul_are_cut_like_han():
    assert tokens("かな") == ["か", "な", "かな"]
    assert tokens("한글") == ["한", "글", "한글"]
    assert tokens("ไทย") == ["ไ", "ท", "ย", "ไท", "ทย"]


def test_a_word_keeps_its_vowel_signs_and_accents():
    assert tokens("हिन्दी كِتَاب e\u0301") == ["हिन्दी", "كِتَاب", "é"]


def test_function_words_are_stop_words_and_subjects_are_not():
    assert all(map(is_stop, ["the", "which", "的", "是", "的是", "下列", "正确"]))
    assert not any(map(is_stop, ["heaven", "乾", "天的", "乾卦", "7", "☰"]))


@given(st.text(), st.text())
def test_a_text_split_at_a_blank_has_the_tokens_of_its_parts(first, second):
    assert tokens(f"{first} {second}") == tokens(first) + tokens(second)


@given(st.text())
def test_no_token_has_blanks_or_punctuation(text):
    assert all(
        token and not any(character.isspace() or character in ",.。，" for character in token) for token in tokens(text)
    )
