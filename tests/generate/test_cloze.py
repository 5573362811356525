"""Sentences with a blank: what is left out, what is not a sentence, and that a seed gives the same again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.documents import Document
from steelyard.generate.cloze import BLANK, Cloze, cloze_sentences, clozed, rare_words, with_rare
from steelyard.generate.qa import sample_of
from steelyard.generate.selection import ChunkSettings, select_chunks
from steelyard.types import Sample


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("The rim of the gauge stands 30 cm above the ground.", "30 cm"),
        ("Haze is dry air with a humidity below 80 per cent.", "80 per cent"),
        ("A year brought 1,742.5 millimetres of rain to the station.", "1,742.5 millimetres"),
        ("The lowest value was -17.9 °C, measured before the move.", "-17.9 °C"),
        ("The station was moved to Pound Field when trees grew.", "Pound Field"),
        ("The station calls it a “wet day” if enough has fallen.", "wet day"),
        ("The old observers kept the barograph in the back room.", "barograph"),
        ("As figure 3 shows, the barograph is kept in a dry room.", "barograph"),
        ("口沿离地面30厘米，四周不得有遮挡。", "30厘米"),
        ("一小时内达到十五毫米，就要打电话通知管理员。", "十五毫米"),
        ("不足此数的雨叫作“微量”，不计入总量之中。", "微量"),
        ("观测员每天都要把气压计的数写进簿子里。", "气压计"),
    ],
)
def test_the_most_telling_phrase_is_left_out(sentence, phrase):
    question, answer = clozed(sentence, {"barograph": 0, "气压": 0, "气压计": 1})
    assert answer == phrase
    assert question.split(maxsplit=1)[0] in {"Complete:", "填空：" + question.removeprefix("填空：").split()[0]}
    assert question.replace(BLANK, phrase).removeprefix("Complete: ").removeprefix("填空：") == sentence


def test_a_phrase_that_stands_elsewhere_in_the_sentence_is_not_left_out():
    assert clozed("It is 30 cm here and it is 30 cm there as well.", {}) is None
    assert clozed("It is 30 cm here, it is 30 cm there, and 5 m apart.", {})[1] == "5 m"


def test_a_sentence_without_anything_telling_is_no_question():
    assert clozed("It is what it is and will be so again.", {}) is None


def test_headings_tables_lists_questions_and_scraps_are_no_sentences():
    text = (
        "# The heading of this page says something long.\n\n| Rain gauge | 30 cm above ground is its height. |\n\n"
        "Short one, 5 cm.\n\n- The **rim** of the old copper gauge stands 30 cm\nabove the ground.\n\n"
        "How high is the rim of the gauge above the ground?\n\nA line without an end that goes on for long"
    )
    ((sentence, (start, end)),) = cloze_sentences(text)
    assert sentence == "The rim of the old copper gauge stands 30 cm above the ground."
    assert text[start:end] == "- The **rim** of the old copper gauge stands 30 cm\nabove the ground."


def test_rare_words_are_those_of_few_chunks_of_their_document():
    common = "The observer reads the gauge at nine and writes it down. "
    text = "".join(
        f"# Part {no}\n\n{common * 8}The {word} hangs here.\n\n" for no, word in enumerate(["barograph", "vane"])
    )
    chunks = select_chunks([Document("a.md", text)], ChunkSettings(chunk_tokens=150)).chunks
    rare = rare_words(chunks)
    assert rare[chunks[0].id][0] == "barograph"
    assert "barograph" not in rare[chunks[-1].id]
    assert rare[chunks[-1].id].index("vane") < rare[chunks[-1].id].index("observer")


def test_chinese_runs_that_come_again_are_words_and_those_across_them_are_not():
    text = "气压计挂在邮局里。邮差看气压计。我们的邮局不大。旧的邮局关了，气压计搬走了，这里再没有别的东西可以看。"
    (chunk,) = select_chunks([Document("a.md", text)], ChunkSettings()).chunks
    rare = set(rare_words([chunk])[chunk.id])
    assert {"气压计", "邮局"} <= rare
    assert not {"计挂", "的邮局", "局里"} & rare


def test_a_seed_draws_the_same_sentences_and_no_more_than_asked_for():
    text = " ".join(f"The mast number {no} stands {no * 7 + 3} metres behind the old gate." for no in range(20))
    ((chunk, more),) = with_rare(select_chunks([Document("a.md", text)], ChunkSettings()).chunks)
    sample = sample_of(chunk, **more)
    first = Cloze(5, seed=3)(sample)
    assert len(first.value) == 5
    assert first == Cloze(5, seed=3)(sample) != Cloze(5, seed=4)(sample)
    places = [
        text.index(one["question"].removeprefix("Complete: ").replace(BLANK, one["answer"])) for one in first.value
    ]
    assert places == sorted(places)


@given(st.text(max_size=300))
def test_any_text_gives_blanks_that_its_sentences_fill(text):
    for one in Cloze(100)(Sample("1", text)).value:
        whole = one["question"].replace(BLANK, one["answer"], 1).removeprefix("Complete: ").removeprefix("填空：")
        assert whole in dict(cloze_sentences(text))
        assert one["answer"]
