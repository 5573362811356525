"""Replies that leave one answer, several or none; every sentence is written for this file."""

import pytest

from steelyard.text.choice import read_choice

AGREE = ("Strongly agree", "Somewhat agree", "Somewhat disagree", "Strongly disagree")
CELL = ("The mitochondria", "The nucleus", "The ribosome", "The cell wall")
AMOUNT = ("A great deal", "A fair amount", "Not too much", "Nothing at all", "Refused")
TEN = ("Very good", "Good", "Fair", "Poor", "Very poor", "Excellent", "Terrible", "Average", "Mediocre", "Outstanding")
SIGNS = ("天", "地", "雷", "风")
PAINT = ("red paint", "blue paint", "green paint", "white paint", "None of the above")
WORRY = ("Very worried", "Somewhat worried", "Not too worried", "Not at all worried", "Refused")
MOVE = ("Osmosis", "Diffusion", "Active transport", "Endocytosis")
PRICE = ("increase", "decrease", "stay the same")
FIGURES = ("0", "1", "2", "3")
PEOPLE = ("Newton", "Euler", "Gauss", "Riemann", "Hilbert", "Noether", "Galois", "Abel", "Cantor", "Lagrange")
NO_ANSWER = ("Osmosis", "Diffusion", "Active transport", "No correct answer is given", "I do not know")
LIABLE = ("甲公司应当赔偿", "乙公司应当赔偿", "双方分担损失", "均不承担责任")
GUA = ("乾卦", "坤卦", "屯卦", "蒙卦")
GUA_NONE = ("乾卦", "坤卦", "屯卦", "以上都不是")


@pytest.mark.parametrize(
    ("options", "reply", "letter", "rule"),
    [
        (AGREE, "Somewhat agree", "B", "leading_text"),
        (AGREE, "I somewhat agree with this statement.", "B", "only_text"),
        (CELL, "A cell has many organelles. The one that makes protein is the ribosome.", "C", "only_text"),
        (CELL, "I think it is the nucleus.", "B", "only_text"),
        (PAINT, "None of the above", "E", "leading_text"),
        (PAINT, "None of the options are correct.", "E", "none_of_these"),
        (CELL, "Based on the text, the ribosome makes protein.", "C", "only_text"),
        (TEN, "I would rate it as very good.", "A", "near_text"),
        (AMOUNT, "A great deal", "A", "leading_text"),
        (AMOUNT, "I would say a fair amount.", "B", "near_text"),
        (AMOUNT, "A fair amount", "B", "leading_text"),
        (SIGNS, "②", "B", "numbered"),
        (SIGNS, "答案：③", "C", "numbered"),
        (SIGNS, "乙", "B", "numbered"),
        (SIGNS, "选丙", "C", "numbered"),
        (SIGNS, "2", "B", "numbered"),
        (SIGNS, "答案是3", "C", "numbered"),
        (SIGNS, "选项A不正确，选项B不正确，选项C正确，选项D不正确。", "C", "judged"),
        (SIGNS, "选项A正确，选项B正确，选项D正确，选项C是错误的。", "C", "judged"),
        (SIGNS, "答案是地", "B", "declared_text"),
        (SIGNS, "坤为地", "B", "leading_text"),
        (("5", "15", "25", "35"), "The answer is 15", "B", "declared_text"),
        (("5", "15", "25", "35"), "15", "B", "leading_text"),
        (("-1", "1", "0", "2"), "x = -1", "A", "near_text"),
        (("1.5", "15", "0.15", "150"), "The result is 1.5.", "A", "only_text"),
        (("Yes", "No", "Maybe"), "Yes, because it is so.", "A", "leading_text"),
        (("Yes", "No", "Maybe"), "No.", "B", "leading_text"),
        (("Yes", "No", "Maybe"), "Yes", "A", "leading_text"),
        (("cat", "cat food", "dog"), "It is cat food.", "B", "near_text"),
        (("a contract", "a tort", "a crime", "a trust"), "The correct answer is a tort.", "B", "declared_text"),
        (("a contract", "a tort", "a crime", "a trust"), "A contract", "A", "leading_text"),
        (WORRY, "I am somewhat worried about this.", "B", "only_text"),
        (WORRY, "Somewhat worried. As an AI I have no feelings.", "B", "leading_text"),
        (WORRY, "Answer: Somewhat worried", "B", "declared_text"),
        (WORRY, "The letter is B.", "B", "only_letter"),
        (WORRY, "Single letter: B", "B", "only_letter"),
        (WORRY, "Output: B", "B", "only_letter"),
        (MOVE, "The process described here is diffusion.", "B", "only_text"),
        (MOVE, "The process is B. Diffusion.", "B", "only_letter"),
        (MOVE, "This is an example of C. Active transport.", "C", "only_letter"),
        (MOVE, "This describes option C.", "C", "only_letter"),
        (
            MOVE,
            "Osmosis is for water. Diffusion is passive. The answer must therefore be active transport (C).",
            "C",
            "declared_text",
        ),
        (MOVE, "A: Incorrect. B: Incorrect. C: Correct. D: Incorrect.", "C", "judged"),
        (MOVE, "A. Incorrect\nB. Incorrect\nC. Correct\nD. Incorrect", "C", "judged"),
        (MOVE, "A is wrong. B is wrong. C is right. D is wrong.", "C", "judged"),
        (MOVE, "Options A, B and D are incorrect. Option C is correct.", "C", "judged"),
        (
            MOVE,
            (
                "A) Osmosis - incorrect\nB) Diffusion - correct\nC) Active transport - incorrect\nD)"
                " Endocytosis - incorrect"
            ),
            "B",
            "judged",
        ),
        (MOVE, "The right answer here is, I believe, C.", "C", "only_letter"),
        (NO_ANSWER, "None of the options are correct.", "D", "none_of_these"),
        (NO_ANSWER, "I do not know", "E", "leading_text"),
        (PRICE, "It will increase.", "A", "only_text"),
        (PRICE, "increase", "A", "leading_text"),
        (FIGURES, "The answer is 2.", "C", "declared_text"),
        (FIGURES, "2", "C", "leading_text"),
        (PEOPLE, "I think it was Cantor.", "I", "only_text"),
        (PEOPLE, "A famous mathematician, Gauss.", "C", "only_text"),
        (PEOPLE, "Emmy Noether proved it.", "F", "only_text"),
        (PEOPLE, "The answer is I think Gauss.", "C", "only_text"),
        (WORRY, "A person would be very worried.", "A", "only_text"),
        (WORRY, "You asked how worried I am. D.", "D", "shown"),
        (WORRY, "Sure, here is the answer to the question:\n\n(D)", "D", "only_letter"),
        (MOVE, 'The correct answer to the question "Which process moves water?" is A.', "A", "only_letter"),
        (MOVE, "3. A", "A", "only_letter"),
        (MOVE, "1) B", "B", "only_letter"),
        (MOVE, "Q1: B", "B", "only_letter"),
        (MOVE, "Of these, the B", "B", "only_letter"),
        (MOVE, "it: B", "B", "only_letter"),
        (MOVE, "B is correct.", "B", "judged"),
        (MOVE, "B is right", "B", "judged"),
        (MOVE, "Definitely B!", "B", "only_letter"),
        (GUA, "下列说法不正确的是C", "C", "only_letter"),
        (GUA, "不属于上经的是D。", "D", "only_letter"),
        (GUA, "所以，不正确的一项是B。", "B", "only_letter"),
        (GUA, "A错误，B错误，C错误，D正确。", "D", "judged"),
        (GUA, "A项错误；B项正确；C项错误；D项错误。", "B", "judged"),
        (GUA, "A、C、D均错误，B正确", "B", "judged"),
        (GUA, "乾卦不是答案，坤卦才是。", "B", "declared_text"),
        (GUA, "不是乾卦，而是坤卦。", "B", "only_text"),
        (GUA, "是屯卦", "C", "leading_text"),
        (GUA, "这道题考查的是卦象，答案是屯卦。", "C", "declared_text"),
        (GUA_NONE, "以上都不对", "D", "none_of_these"),
        (GUA_NONE, "以上都不是", "D", "leading_text"),
        (GUA, "我觉得是B吧", "B", "only_letter"),
        (GUA, "是B。", "B", "only_letter"),
        (GUA, "B才是正确的", "B", "only_letter"),
        (GUA, "B对", "B", "only_letter"),
        (GUA, "只有B正确", "B", "judged"),
        (GUA, "选项B符合题意", "B", "judged"),
        (GUA, "选项B最符合题意。", "B", "judged"),
        (LIABLE, "甲公司应当赔偿。", "A", "leading_text"),
        (LIABLE, "本案中，双方分担损失。", "C", "only_text"),
        (GUA, "答案：①", "A", "numbered"),
        (GUA, "答案：2", "B", "numbered"),
        (GUA, "1. B", "B", "only_letter"),
    ],
)
def test_an_answer_that_is_not_named_is_inferred_and_marked_so(options, reply, letter, rule):
    got = read_choice(reply, options)
    confidence = "explicit" if rule == "judged" else "inferred"
    assert (got.letters, got.status, got.rule, got.confidence) == ((letter,), "answered", rule, confidence)


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (CELL, "Either B or C could work, but the answer is B or C."),
        (CELL, "The answer is B and C."),
        (CELL, "答案：B，D"),
        (CELL, "答案是A、C"),
        (SIGNS, "A选项正确，C选项也正确。"),
        (WORRY, "I would say B or C."),
        (GUA, "A和B都正确"),
        (GUA, "正确答案是A和B"),
        (GUA, "答案：AB"),
        (GUA, "答案可能是A或B"),
        (GUA, "答案：ABCD"),
    ],
)
def test_two_letters_in_one_answer_are_several_and_never_the_first(options, reply):
    got = read_choice(reply, options)
    assert got.status == "several"
    assert len(got.letters) > 1
    assert read_choice(reply, options, several=True).status == "answered"


@pytest.mark.parametrize(
    ("options", "reply", "status"),
    [
        (
            AGREE,
            "As an AI, I do not have personal opinions or beliefs. Therefore I cannot choose an option.",
            "refused",
        ),
        (
            AGREE,
            (
                "I apologize, but I cannot provide a personal opinion on this. The options are:\nA. Strongly"
                " agree\nB. Somewhat agree\nC. Somewhat disagree\nD. Strongly disagree"
            ),
            "refused",
        ),
        (CELL, "None of the above options are correct.", "none_of_these"),
        (CELL, "None of the options is right, since the question is about viruses.", "none_of_these"),
        (SIGNS, "以上都不对", "none_of_these"),
        (SIGNS, "以上选项均不正确。", "none_of_these"),
        (SIGNS, "抱歉，我无法回答这个问题。", "refused"),
        (SIGNS, "作为一个人工智能语言模型，我不能选择。", "refused"),
        (WORRY, "Thank you for your question! I am not able to choose an option because I am just an AI.", "refused"),
        (WORRY, "I cannot select an option. It is not appropriate for me to express personal opinions.", "refused"),
        (MOVE, "I apologize, but none of the options provided accurately describe the process.", "none_of_these"),
        (MOVE, "The correct answer is not listed.", "none_of_these"),
        (WORRY, "I refuse to answer.", "refused"),
        (WORRY, "I'm sorry, but I can't help with that.", "refused"),
        (GUA, "没有正确答案。", "none_of_these"),
        (GUA, "四个选项都不正确", "none_of_these"),
        (GUA, "【答案】无正确答案", "none_of_these"),
        (GUA, "对不起，我不能提供答案。", "refused"),
        (GUA, "根据已知信息无法回答该问题。", "refused"),
        (GUA, "根据已知信息无法回答该问题，没有提供足够的相关信息，不允许在答案中添加编造成分", "refused"),
    ],
)
def test_a_refusal_and_none_of_these_are_told_apart(options, reply, status):
    got = read_choice(reply, options)
    assert (got.letters, got.status, got.confidence) == ((), status, None)
    assert got.span is not None


@pytest.mark.parametrize(
    ("options", "reply", "status"),
    [
        (AGREE, "The answer is A company policy matter.", "unparsed"),
        (CELL, "A company that sells cells would say so.", "unparsed"),
        (CELL, "A. The mitochondria\nB. The nucleus\nC. The ribosome\nD. The cell wall", "unparsed"),
        (CELL, "<think>The answer is A.", "empty"),
        (CELL, "The answer is not B.", "unparsed"),
        (CELL, "The answer is F.", "unparsed"),
        (TEN, "I think that is hard to say.", "unparsed"),
        (TEN, "I, as a model, can not say", "unparsed"),
        (SIGNS, "选项B是正确的，选项B是错误的。", "unparsed"),
        (SIGNS, "答案不是B", "unparsed"),
        (AGREE, "", "empty"),
        (AGREE, "   \n", "empty"),
        (AGREE, "\x00\ud800", "unparsed"),
        (AGREE, "Vitamin C is good. B cells are too.", "unparsed"),
        (AGREE, "B cells are what matter.", "unparsed"),
        (PRICE, "The price would increase, then decrease.", "unparsed"),
        (FIGURES, "1 + 1 and 2", "unparsed"),
        (PEOPLE, "E = mc^2 was Einstein.", "unparsed"),
        (WORRY, "A lot of people are worried.", "unparsed"),
        (
            WORRY,
            (
                "Please select one: A. Very worried B. Somewhat worried C. Not too worried D. Not at all"
                " worried E. Refused"
            ),
            "unparsed",
        ),
        (WORRY, "Very worried / Somewhat worried", "unparsed"),
        (GUA, "选项A错误，因为它是阳卦；选项B也不正确。", "unparsed"),
        (GUA, "《周易》共有六十四卦。", "unparsed"),
        (GUA, "A：乾卦\nB：坤卦\nC：屯卦\nD：蒙卦", "unparsed"),
        (GUA, "A公司的行为合法。", "unparsed"),
        (GUA, "B超检查", "unparsed"),
        (GUA, "C语言", "unparsed"),
        (LIABLE, "甲公司应当赔偿乙公司应当赔偿", "unparsed"),
        (LIABLE, "甲", "unparsed"),
        (GUA, "为什么选A？因为乾为天。", "unparsed"),
        (GUA, "答案：第2个", "unparsed"),
    ],
)
def test_what_gives_no_answer_is_left_unread(options, reply, status):
    got = read_choice(reply, options)
    assert (got.letters, got.status) == ((), status)
    assert got.reason
