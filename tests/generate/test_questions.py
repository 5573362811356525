"""What a model wrote is read as questions and answers, or told as what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.generate.questions import defect_of, read_answer, read_questions


@pytest.mark.parametrize(
    "reply",
    [
        "Sure! Here are 2 questions for your exam:\n\n1. How high is the rim?\n2. Who keeps the key?\n\nLet me know!",
        "**1.** How high is the rim?\n**2.** Who keeps the key?",
        "- How high is the rim?\n- Who keeps the key?",
        "How high is the rim?\nWho keeps the key?",
        '```json\n["How high is the rim?", "Who keeps the key?"]\n```',
        '[{"question": "How high is the rim?", "answer": "30 cm"}, {"question": "Who keeps the key?"}]',
        "<think>I need two. 1. What? 2. Why?</think>1. How high is the rim?\n2. Who keeps the key?",
        "1. How high is the rim?\n   Answer: 30 cm\n2. Who keeps the key?\n   Answer: the keeper",
        "1. **Fact:** How high is the rim?\n2. [Reasoning] Who keeps the key? (easy)",
        "1. How high is the rim? - Answer: 30 cm\n2. Who keeps the key? (the keeper)",
    ],
)
def test_questions_are_read_without_what_stands_around_them(reply):
    listing = read_questions(reply, most=10)
    assert listing.usable == ("How high is the rim?", "Who keeps the key?")
    assert (listing.kind, listing.dropped) == ("", {})


def test_the_rows_of_a_table_are_questions_and_its_head_is_none():
    reply = "| # | Question |\n|---|---|\n| 1 | How high is the rim? |\n| 2 | Who keeps the key? |"
    assert read_questions(reply, most=2).usable == ("How high is the rim?", "Who keeps the key?")


@pytest.mark.parametrize(
    "question", ["Frost day: what is it called?", "What is 1 (one) inch in millimetres?", "谁说“答案”二字？"]
)
def test_what_belongs_to_a_question_stays(question):
    assert read_questions(f"1. {question}", most=1).usable == (question,)


def test_chinese_questions_are_read_after_a_preamble():
    reply = "好的，以下是3道题：\n1. 雨量筒的口沿离地多高？\n2、观测站由谁负责管理？\n3．简述降雪时的观测步骤。"
    assert read_questions(reply, most=3).usable == (
        "雨量筒的口沿离地多高？", "观测站由谁负责管理？", "简述降雪时的观测步骤。",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "defect"),
    [
        ("What does the passage say about rain?", "refers_to_text"),
        ("According to the text, how high is the rim?", "refers_to_text"),
        ("Which instruments are mentioned above?", "refers_to_text"),
        ("What is meant by 'the book' in this excerpt?", "refers_to_text"),
        ("文中提到的雨量筒有多高？", "refers_to_text"),
        ("根据上述材料，谁负责管理？", "refers_to_text"),
        ("What is stored in the text field of a form?", ""),
        ("According to the keeper, when is the gauge emptied?", ""),
        ("Explain why the gauge is emptied at nine.", ""),
        ("In which year was the station moved?", ""),
        ("文件中心由哪个部门管理？", ""),
        ("请说明冬季观测与夏季有哪些不同。", ""),
        ("Rain?", "too_short"),
        ("多高？", "too_short"),
        ("Interest rate?", "too_short"),
        ("Why not?", "too_short"),
        ("Почему?", "too_short"),
        ("ما هو؟", "too_short"),
        ("요금은?", "too_short"),
        ("The gauge is thirty centimetres high.", "no_question"),
        ("A. thirty centimetres above ground", "no_question"),
        ("雨量筒安装在庭院之中。", "no_question"),
        (f"How high is {'the very ' * 80} gauge?", "too_long"),
    ],
)
def test_what_cannot_be_asked_by_itself_is_told_by_reason(question, defect):
    assert defect_of(question) == defect


QUESTIONS = """
كم تستمر الإعارة؟ | متى تفتح المكتبة؟ | كم مرة يمكن تمديد الإعارة
Πόσο διαρκεί ο δανεισμός; | Ποιος κρατά το κλειδί;
Քանի՞ օր է տևում վարձույթը
ब्याज की दर कितनी है? | ऋण की अवधि कितनी है
Сколько дней длится прокат?
Кто хранит ключ от северных ворот и в какие часы его можно получить в выходные дни и в праздники?
貸出期間は何日間ですか。 | 電動工具は何日間借りられますか
鍵は誰が管理しますか | 延長の手順を説明してください。 | 理由を述べよ。
租借期限是幾天 | 鑰匙由誰保管 | 請說明延長的手續。 | 列舉三種工具。
대출 기간은 며칠입니까? | 전동 공구는 며칠 동안 빌릴 수 있나요 | 열쇠는 누가 보관하는가 | 연장 절차를 설명하시오.
ระยะเวลายืมกี่วัน | เครื่องมือไฟฟ้ายืมได้กี่วัน? | ใครเก็บกุญแจ | ต้องชาร์จแบตเตอรี่หรือไม่
כמה זמן נמשכת ההשאלה? | የኪራይ ጊዜው ስንት ቀን ነው፧
Ücret nedir? | Kim yazar? | Ile kosztuje? | Kuka kirjoitti? | Mennyibe kerül? | Ποιος έγραψε;
Кто автор? | Сколько стоит? | מי המחבר? | כמה עולה? | من المؤلف؟ | किसने लिखा? | 누가 썼나? | 수도는 어디인가?
Wie lange dauert eine Ausleihe? | ¿Cuánto dura el préstamo? | Süre kaç gün?
"""
STATEMENTS = """
貸出期間は十四日間です。 | 租借期限是十四天。 | 道具は何でも借りられます。 | 図書館はいつも開いています。
대출 기간은 14일입니다. | 언제나 문이 열려 있습니다.
ระยะเวลายืมคือสิบสี่วัน
تستمر الإعارة أربعة عشر يوما.
ऋण की अवधि चौदह दिन है।
Ο δανεισμός διαρκεί δεκατέσσερις ημέρες.
"""


def listed(table):
    return [text.strip() for line in table.strip().splitlines() for text in line.split("|")]


@pytest.mark.parametrize("question", listed(QUESTIONS))
def test_a_question_is_one_in_any_script(question):
    assert read_questions(f"1. {question}\n2. {question[:-1]} 2?", most=2).usable[0] == question


@pytest.mark.parametrize("statement", listed(STATEMENTS))
def test_a_statement_is_no_question_in_any_script(statement):
    assert defect_of(statement) == "no_question"


def test_a_question_asked_twice_is_kept_once_and_those_beyond_the_number_are_surplus():
    reply = "1. How high is it now?\n2. how high is it now\n3. Who keeps the key?\n4. Why at nine o'clock?"
    listing = read_questions(reply, most=2)
    assert listing.usable == ("How high is it now?", "Who keeps the key?")
    assert listing.dropped == {"duplicate": 1, "surplus": 1}


@pytest.mark.parametrize(
    ("reply", "finish", "kind"),
    [
        ("", "stop", "empty"),
        ("I'm sorry, but I cannot help with that request.", "stop", "refused"),
        ("抱歉，我无法根据该内容出题。", "stop", "refused"),
        ("x", "content_filter", "refused"),
        ("The station lies on a hill. It is windy.", "stop", "none"),
        ("<think>Let me think about what to", "length", "truncated"),
        ("None", "stop", "none"),
    ],
)
def test_a_reply_without_a_list_is_told_by_its_kind(reply, finish, kind):
    listing = read_questions(reply, most=3, finish=finish)
    assert (listing.usable, listing.kind) == ((), kind)


def test_of_a_reply_that_was_cut_off_the_last_entry_is_left_out_unless_it_ends():
    cut = read_questions("1. How high is the rim?\n2. Who keeps the", most=3, finish="length")
    assert (cut.usable, cut.kind) == (("How high is the rim?",), "truncated")
    whole = read_questions("1. How high is the rim?\n2. Who keeps the key?", most=3, finish="length")
    assert whole.usable == ("How high is the rim?", "Who keeps the key?")


@pytest.mark.parametrize(
    ("reply", "finish", "text", "defect"),
    [
        ("30 cm above the ground.", "stop", "30 cm above the ground.", ""),
        ("Answer: 30 cm.", "stop", "30 cm.", ""),
        ("**答案：**三十厘米。", "stop", "三十厘米。", ""),
        ("<think>Hm.</think>\n30 cm.", "stop", "30 cm.", ""),
        ("NO ANSWER", "stop", "", "no_answer"),
        ("**No answer.** The text is about rain.", "stop", "", "no_answer"),
        ("The text does not say how high it is.", "stop", "", "no_answer"),
        ("没有答案。", "stop", "", "no_answer"),
        ("文中没有提到雨量筒的高度。", "stop", "", "no_answer"),
        ("I'm sorry, but I cannot answer that.", "stop", "", "answer_refused"),
        ("", "content_filter", "", "answer_refused"),
        ("  ", "stop", "", "answer_empty"),
        ("The rim stands thirty", "length", "", "answer_truncated"),
        ("No observer may enter alone.", "stop", "No observer may enter alone.", ""),
        ("没有观测员可以独自进入。", "stop", "没有观测员可以独自进入。", ""),
        ("Whoever cannot come says: I cannot do it.", "stop", "Whoever cannot come says: I cannot do it.", ""),
    ],
)
def test_an_answer_is_read_or_told_as_what_it_is(reply, finish, text, defect):
    assert read_answer(reply, finish=finish) == (text, defect, "")


@given(st.text(max_size=400), st.sampled_from(["stop", "length", "refusal"]), st.integers(1, 5))
def test_any_reply_gives_at_most_the_number_asked_for_and_accounts_for_every_entry(reply, finish, most):
    listing = read_questions(reply, most=most, finish=finish)
    assert len(listing.usable) <= most
    assert len(listing.usable) + sum(listing.dropped.values()) == len(listing.questions)
    assert listing.questions or listing.kind
    answer = read_answer(reply, finish=finish)
    assert bool(answer.text) != bool(answer.defect)
