"""Whether two passages hold the same words, whatever reader and splitter they came from."""

import pytest

from steelyard.scorers.passages import FoldedText

WORDS = [f"w{at}" for at in range(200)]
HAN = "".join(chr(0x4E00 + at) for at in range(200))


def matches(one, other):
    match = FoldedText(one).matches(FoldedText(other))
    assert FoldedText(other).matches(FoldedText(one)) is match
    return match


def run(start, end):
    return " ".join(WORDS[start:end])


def test_thai_weighs_as_chinese_does():
    """น้ำดี are three letters, two of them with marks; three Han characters weigh as much."""
    assert (FoldedText("น้ำดี").weight, FoldedText("天地玄").weight, FoldedText("हिन्दी").weight) == (6, 6, 3)


class TestShare:
    def test_half_of_the_shorter_texts_shingles_is_enough(self):
        """20 words have 13 shingles: 14 common words are 7 of them, 13 are 6."""
        assert matches(run(0, 100), run(86, 100) + " x1 x2 x3 x4 x5 x6")
        assert not matches(run(0, 100), run(87, 100) + " x1 x2 x3 x4 x5 x6 x7")

    def test_half_of_the_shorter_texts_shingles_is_enough_in_chinese(self):
        """20 characters have 9 shingles of 12: 16 common characters are 5 of them, 15 are 4."""
        assert matches(HAN[:100], HAN[84:100] + "甲乙丙丁")
        assert not matches(HAN[:100], HAN[85:100] + "甲乙丙丁戊")

    def test_a_long_source_answers_to_a_chunk_that_holds_its_tail_alone(self):
        assert matches(run(0, 100), run(90, 190)) is False
        assert matches(run(0, 100), run(40, 140)) is True

    def test_a_passage_that_is_much_longer_holds_the_source(self):
        assert matches(run(0, 200), run(60, 75))

    def test_words_that_are_merely_shared_are_no_match(self):
        assert not matches(run(0, 30), " ".join(reversed(WORDS[:30])))

    def test_mixed_text_is_compared_as_a_whole(self):
        mixed = "模型GPT4在2024年的测试中回答了one hundred questions并且全部正确无误"
        assert matches(f"前言。{mixed}。后记。", mixed)
        assert not matches("模型在2023年的测试中没有回答any questions所以得分为零毫无疑问", mixed)


class TestShortTexts:
    @pytest.mark.parametrize(
        ("short", "long", "answers"),
        [
            ("yellow\n  river", "The yellow river is long.", True),
            ("low river", "The yellow river is long.", False),
            ("黄河全长\n5464公里", "据测量，黄河全长 5464 公里。", True),
            ("黄河全长546公里", "据测量，黄河全长 5464 公里。", False),
            ("in May, rain", "rain in May", False),
            ("", "x", False),
            ("…", "…", False),
        ],
    )
    def test_below_a_shingle_the_whole_text_must_stand_in_the_other(self, short, long, answers):
        assert matches(short, long) is answers


class TestFolding:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("the ﬁrst ofﬁce ﬂoor", "the first office floor"),
            ("an instru-\nment", "an instrument"),
            ("a well-\nknown place", "a well-known place"),
            ("exam\u00adple exam\u00ad\nple", "example example"),
            ("pdf\x02\r\nium and \ufffe word", "pdfium and word"),
            ("non\u2011breaking", "non-breaking"),
            ("１２ Ｍｅｔｅｒ", "12 meter"),
            ("no\u00a0break  and\ttab", "no break and tab"),
            ("zero\u200bwidth", "zerowidth"),
            ("don’t say “no” , please", 'don\'t say "no", please'),
            ("cafe\u0301", "café"),
            ("黄 河\n全长", "黄河全长"),
        ],
    )
    def test_ways_of_writing_the_same_are_one(self, one, other):
        assert FoldedText(one).words == FoldedText(other).words

    def test_dashes_between_words_part_them(self):
        assert FoldedText("rain—snow").words == ("rain", "snow")
        assert FoldedText("rain - snow").words == ("rain", "snow")


def test_a_passage_of_a_million_characters_is_compared():
    long = FoldedText(" ".join(f"w{at % 50_000}" for at in range(160_000)))
    assert long.matches(FoldedText(run(0, 60)))
    assert not FoldedText(HAN * 5000).matches(FoldedText(run(0, 60)))
