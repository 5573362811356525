"""Questions in other words: pairs that ask the same, and pairs that only look alike."""

from __future__ import annotations

import pytest

from steelyard.generate.repeated_questions import AskedQuestion, repeated_questions

SAME = [
    (
        "How high is the rim of the gauge above the ground?",
        "30 cm.",
        "What is the height of the gauge's rim above ground?",
        "The rim is 30 cm above the ground.",
    ),
    (
        "Who keeps the key of the tower?",
        "The warden.",
        "Who is the keeper of the key of the tower?",
        "The warden keeps it.",
    ),
    (
        "When is the gauge read each day?",
        "At nine in the morning.",
        "At what time is the gauge read every day?",
        "At nine in the morning.",
    ),
    ("Which form is used for storms?", "The red form.", "What form is used for storms?", "The red form is used."),
    ("雨量筒的口沿离地面多高？", "30厘米。", "雨量筒口沿距离地面有多高？", "口沿离地面30厘米。"),
    ("钥匙由谁保管？", "由管理员保管。", "由谁保管钥匙？", "管理员。"),
    ("What was the late fee in 2019?", "5 euros a day.", "How high was the late fee in 2019?", "5 euros a day."),
    ("What does foo_bar return?", "0.", "What is returned by foo_bar?", "0 is returned."),
]
OTHER = [
    (
        "What is the highest speed on the old bridge?",
        "50 km/h.",
        "What is the lowest speed on the old bridge?",
        "10 km/h.",
    ),
    ("How long was the bridge in 1990?", "98 m.", "How long was the bridge in 1991?", "98 m."),
    ("Are dogs allowed on the bridge?", "No.", "Are bicycles allowed on the bridge?", "No."),
    ("How high is the rim of the gauge?", "30 cm.", "How wide is the rim of the gauge?", "12 cm."),
    (
        "How high is the rim of the gauge?",
        "The rim of the gauge stands 30 cm above the ground.",
        "When is the rim of the gauge levelled?",
        "The rim of the gauge is levelled each spring.",
    ),
    ("Who wrote Emma?", "Jane Austen.", "Who was born in Steventon?", "Jane Austen."),
    ("What does Rain fact 0 say?", "Rain fact 0.", "What does Rain fact 1 say?", "Rain fact 1."),
    ("雨量筒多高？", "30厘米。", "雨量筒多宽？", "12厘米。"),
    ("南门的钥匙由谁保管？", "王师傅。", "北门的钥匙由谁保管？", "王师傅。"),
    ("What does the saw cost a day?", "5 euros a day.", "What does the drill cost a day?", "5 euros a day."),
    ("Who keeps the key of the gate?", "Ann.", "Who keeps the key of the north gate?", "Ann."),
    ("How high is the rim?", "12 cm.", "How wide is the rim?", "12 cm."),
    ("Is the lock of door A oiled?", "Yes.", "Is the lock of door B oiled?", "Yes."),
    ("Who starts HTTP?", "The server.", "Who starts HTTPS?", "The server."),
]
OTHER += [
    (f"What does {name} return on success?", "ASN1_SUCCESS.", f"What does {other} return on success?", "ASN1_SUCCESS.")
    for name, other in [
        ("foo_bar", "foo_baz"),
        ("asn1_der_coding", "asn1_der_decoding"),
        ("asn1_get_length", "asn1_get_length_der"),
        ("read()", "reads()"),
        ("open", "openat"),
        ("readv", "read"),
        ("execl", "execv"),
        ("execv", "execve"),
        ("printf", "fprintf"),
        ("encode", "decode"),
        ("io.open", "os.open"),
        ("readLine", "readLines"),
        ("Path::is_file", "Path::is_dir"),
        ("the option --quiet", "the option --quieter"),
    ]
]


@pytest.mark.parametrize("pair", SAME)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_question_in_other_words_with_the_same_answer_repeats_the_first(pair, swapped):
    first, second = AskedQuestion(*pair[:2], "a"), AskedQuestion(*pair[2:], "a")
    questions = [second, first] if swapped else [first, second]
    assert repeated_questions(questions) == {1}


@pytest.mark.parametrize("pair", OTHER)
def test_questions_that_only_look_alike_are_both_kept(pair):
    for chunk in ("a", "b"):
        assert repeated_questions([AskedQuestion(*pair[:2], "a"), AskedQuestion(*pair[2:], chunk)]) == frozenset()


def test_nearly_the_same_letters_repeat_across_chunks():
    first = AskedQuestion("Which form does the observer use for a storm report?", "The red form.", "a")
    second = AskedQuestion("Which form does the observer use for storm reports?", "The red form.", "b")
    assert repeated_questions([first, second]) == {1}


def test_of_several_wordings_the_first_is_kept():
    questions = [
        AskedQuestion(f"Which form is used {words} storms?", "The red form.", "a") for words in ("for", "in", "during")
    ]
    assert repeated_questions(questions) == {1, 2}
