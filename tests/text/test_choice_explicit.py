"""Replies that name their answer; every sentence is written for this file."""

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
GUA = ("乾卦", "坤卦", "屯卦", "蒙卦")
GUA_NONE = ("乾卦", "坤卦", "屯卦", "以上都不是")


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (AGREE, " Sure, I'd be happy to help! My answer would be:\n\nC) Somewhat disagree", "C"),
        (CELL, "A is incorrect because it makes energy. B is incorrect. D is incorrect. So the answer is C.", "C"),
        (
            CELL,
            (
                "A. The mitochondria\nB. The nucleus\nC. The ribosome\nD. The cell wall\n\nThe correct answer"
                " is C. The ribosome."
            ),
            "C",
        ),
        (CELL, "正确答案是B，C选项错误。", "B"),
        (CELL, "Let me think. The answer is B. Wait, ribosomes make protein. The answer is C.", "C"),
        (CELL, "\\boxed{C}", "C"),
        (CELL, "$\\boxed{\\text{C}}$", "C"),
        (CELL, "So the answer is $\\boxed{\\textbf{(D)}}$.", "D"),
        (CELL, "Final answer: **C**", "C"),
        (CELL, "The correct option is **B) The nucleus**.", "B"),
        (PAINT, "The answer is E. None of the above.", "E"),
        (CELL, "The answer should be C, the ribosome, not B.", "C"),
        (TEN, "The answer is I.", "I"),
        (TEN, "The answer is (I) Mediocre.", "I"),
        (SIGNS, "【答案】D", "D"),
        (SIGNS, "[正确答案]A<eoa>", "A"),
        (SIGNS, "我认为是B，等等，重新考虑后，答案应该是D。", "D"),
        (SIGNS, "首先排除A和C。因此，正确答案是选项B：地。", "B"),
        (
            AGREE,
            "Thank you for asking! Based on the information, I would say that the answer is:\n\nA. Strongly agree",
            "A",
        ),
        (AGREE, 'My response is "B".', "B"),
        (AGREE, 'The most appropriate response would be "C. Somewhat disagree".', "C"),
        (AGREE, "The answer is b.", "B"),
        (AGREE, "the answer is b) somewhat agree", "B"),
        (AGREE, "Correct answer - D", "D"),
        (WORRY, "My personal opinion would be: B. Somewhat worried", "B"),
        (WORRY, 'Based on the given options, the most suitable answer would be "A. Very worried".', "A"),
        (WORRY, "The answer that best reflects my view is D.", "D"),
        (WORRY, "The correct letter is B", "B"),
        (WORRY, "Selected option: B", "B"),
        (WORRY, "Selected answer: (B)", "B"),
        (WORRY, "Response: B", "B"),
        (MOVE, "The correct answer is:\n\nB. Diffusion\n\nOsmosis (A) concerns water only.", "B"),
        (MOVE, "The correct answer is **B**. Diffusion is movement along a gradient.", "B"),
        (MOVE, "The process described is diffusion, so the correct option is B.", "B"),
        (MOVE, "It can't be A or B. The answer is D because it engulfs.", "D"),
        (MOVE, "The answer is most likely C.", "C"),
        (MOVE, "The answer is likely to be C", "C"),
        (MOVE, "The answer could be C.", "C"),
        (MOVE, "I initially thought A, but the correct answer is B.", "B"),
        (MOVE, "First, the answer is A if water moves. But sugar moves here. Therefore, the answer is B.", "B"),
        (MOVE, "A and B are both passive. C requires energy. Thus, the answer is C.", "C"),
        (PRICE, "The demand will decrease, so the answer is B.", "B"),
        (PEOPLE, "I believe the answer is F", "F"),
        (PEOPLE, "The answer is E", "E"),
        (PEOPLE, "D and I are plausible but the correct answer is I. Cantor", "I"),
        (PEOPLE, "The answer is: I", "I"),
        (PEOPLE, "The correct answer is F. Noether, who proved the theorem. A. Newton and B. Euler came earlier.", "F"),
        (
            WORRY,
            (
                "Question: How worried?\nA. Very worried\nB. Somewhat worried\nC. Not too worried\nD. Not at"
                " all worried\nE. Refused\nAnswer: D"
            ),
            "D",
        ),
        (
            WORRY,
            'The correct answer is option D: "Not at all worried". This is because options A, B, and C imply worry.',
            "D",
        ),
        (WORRY, "Sure! Here's my answer:\n\nD. Not at all worried", "D"),
        (WORRY, "Sure! The answer is (D) Not at all worried.\n\nExplanation: A, B and C are wrong.", "D"),
        (
            WORRY,
            (
                "  Great question! As a responsible AI language model, I must inform you that I don't have"
                " worries. However, based on surveys, the most likely answer is B."
            ),
            "B",
        ),
        (MOVE, "The answer to question 3 is A.", "A"),
        (MOVE, "Answer is B", "B"),
        (MOVE, "ans: B", "B"),
        (MOVE, "Ans. (b)", "B"),
        (MOVE, "the answer is c because it needs energy", "C"),
        (MOVE, "the correct choice is c", "C"),
        (GUA, "正确答案是选项B。", "B"),
        (GUA, "答案选择D", "D"),
        (GUA, "正确选项为：B", "B"),
        (GUA, "我的答案是：（C）", "C"),
        (GUA, "答案 B", "B"),
        (GUA, "A：乾卦\nB：坤卦\nC：屯卦\nD：蒙卦\n答案：D", "D"),
        (GUA_NONE, "答案是D：以上都不是。", "D"),
        (GUA, "根据知识库内容，坤卦为地，因此答案为B坤卦。", "B"),
        (GUA, "答案：B\n解析：A错误，C错误。", "B"),
        (GUA, "A选项不正确，C选项不正确，D选项不正确，所以正确答案为B选项。", "B"),
        (GUA, "【解析】坤为地。\n【答案】B", "B"),
        (GUA, "最终答案是：$\\boxed{B}$", "B"),
        (GUA, "答案是D，不是A。", "D"),
        (GUA, "第一题答案：C", "C"),
        (GUA, "正确答案：B\n\n请你回答：\n下列...\n[正确答案]D<eoa>", "B"),
    ],
)
def test_a_declaration_names_the_answer(options, reply, letter):
    got = read_choice(reply, options)
    assert (got.letters, got.status, got.rule, got.confidence) == ((letter,), "answered", "declared", "explicit")


@pytest.mark.parametrize(
    ("options", "reply", "letter", "rule"),
    [
        (AGREE, "Sure! I would choose option B: Somewhat agree.", "B", "announced"),
        (
            AGREE,
            (
                "As an AI language model, I don't have personal opinions. However, if I had to choose, I would"
                " select option C."
            ),
            "C",
            "announced",
        ),
        (CELL, "I believe the best answer is not B but D.", "D", "announced"),
        (CELL, "The ribosome (C) is the correct answer.", "C", "named_best"),
        (CELL, "It's C.", "C", "announced"),
        (CELL, "I'm going with C.", "C", "announced"),
        (TEN, "I think H is the fairest.", "H", "announced"),
        (AMOUNT, "I would choose B, a fair amount.", "B", "announced"),
        (SIGNS, "我选B。", "B", "announced"),
        (SIGNS, "故选：C", "C", "announced"),
        (AGREE, "I would lean towards option B, though A is plausible too.", "B", "announced"),
        (AGREE, "I cannot give a personal view. But most people would choose option D.", "D", "announced"),
        (AGREE, "I choose (D).", "D", "announced"),
        (AGREE, "Of the options, A and B are too positive; D is too negative. Hence C.", "C", "concluded"),
        (AGREE, "I disagree with A. I would pick D.", "D", "announced"),
        (AGREE, "The statement is false, so D.", "D", "concluded"),
        (
            WORRY,
            "As an AI language model, I do not have feelings. But if I had to choose, I'd say B.",
            "B",
            "announced",
        ),
        (WORRY, "As an AI, I don't have personal worries, so I would choose E. Refused.", "E", "announced"),
        (WORRY, 'I would respond with option C, "Not too worried."', "C", "announced"),
        (WORRY, "I would answer C) Not too worried.", "C", "announced"),
        (WORRY, "Of the choices given, I'd lean toward C.", "C", "announced"),
        (WORRY, "I would have to go with B.", "B", "announced"),
        (WORRY, "I'd probably pick option (B) somewhat worried.", "B", "announced"),
        (WORRY, "Personally, I feel that C is the right answer here.", "C", "named_best"),
        (WORRY, "I think C) Not too worried best describes it.", "C", "announced"),
        (WORRY, "I will select: B", "B", "announced"),
        (MOVE, "The answer is definitely not A. It's D.", "D", "announced"),
        (MOVE, "The answer is A. No wait, that's wrong. It is B.", "B", "announced"),
        (MOVE, "Let's think step by step. Water is not moving. Sugar moves. So B.", "B", "concluded"),
        (MOVE, "Let's think step by step.\n\nWe conclude:\n\nB", "B", "announced"),
        (MOVE, "None of the above. But the closest is B.", "B", "announced"),
        (FIGURES, "x = 2, so (C).", "C", "concluded"),
        (PEOPLE, "I would say J.", "J", "announced"),
        (PEOPLE, "I choose I.", "I", "announced"),
        (WORRY, "The best option is to be careful. I'd choose B.", "B", "announced"),
        (WORRY, "If I had to choose between A and B, I would choose B.", "B", "announced"),
        (WORRY, "Between A and B, I choose A.", "A", "announced"),
        (GUA, "本题选C。", "C", "announced"),
        (GUA, "应选A", "A", "announced"),
        (GUA, "因此选择B选项", "B", "announced"),
        (GUA, "A、B、D正确，C错误，故选C", "C", "announced"),
        (GUA, "不是A，而是B。", "B", "announced"),
        (GUA, "A. 乾卦 B. 坤卦 C. 屯卦 D. 蒙卦\n\n选B", "B", "announced"),
        (GUA, "很抱歉，作为AI我无法选择。但如果一定要选，我选B。", "B", "announced"),
        (GUA, "正确的是：B:坤卦", "B", "announced"),
        (GUA, "B是正确答案", "B", "named_best"),
        (GUA, "排除A、C、D，选B", "B", "announced"),
        (GUA, "如果选A则不对，选B才对", "B", "announced"),
    ],
)
def test_a_choice_announced_in_other_words_counts(options, reply, letter, rule):
    got = read_choice(reply, options)
    assert (got.letters, got.status, got.rule, got.confidence) == ((letter,), "answered", rule, "explicit")


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        (AGREE, "B", "B"),
        (AGREE, "B.", "B"),
        (AGREE, "b", "B"),
        (AGREE, "(b)", "B"),
        (AGREE, "**B**", "B"),
        (AGREE, "B. Somewhat agree", "B"),
        (AGREE, "B) Somewhat agree\n\nExplanation: I think A is too strong.", "B"),
        (CELL, "<think>The answer is A. Hmm, B?</think>\nC", "C"),
        (CELL, "ANSWER: D", "D"),
        (CELL, "Answer: (C)", "C"),
        (CELL, "**Answer:** B", "B"),
        (PAINT, "E", "E"),
        (CELL, "Option C is the best choice because it makes protein.", "C"),
        (CELL, "C is the correct answer.", "C"),
        (CELL, "My choice: D", "D"),
        (CELL, "A\n\nQuestion: What is next?\nA. x\nB. y\nAnswer: B", "A"),
        (CELL, "Answer: A\n\nQuestion: foo\nAnswer: D", "A"),
        (TEN, "I", "I"),
        (TEN, "I.", "I"),
        (TEN, "J. Outstanding", "J"),
        (AMOUNT, "A. A great deal", "A"),
        (AMOUNT, "A) A great deal", "A"),
        (AMOUNT, "E. Refused", "E"),
        (SIGNS, "Ｂ", "B"),
        (SIGNS, "（B）", "B"),
        (SIGNS, "Ⓑ", "B"),
        (SIGNS, "选项B", "B"),
        (SIGNS, "选B", "B"),
        (AGREE, "Option B", "B"),
        (AGREE, "Option B: Somewhat agree", "B"),
        (AGREE, "B - Somewhat agree", "B"),
        (AGREE, "B: Somewhat agree", "B"),
        (AGREE, "B, because it is moderate.", "B"),
        (AGREE, "B Somewhat agree", "B"),
        (AGREE, "A Strongly agree", "A"),
        (AGREE, "Answer B", "B"),
        (WORRY, "Answer:\nB. Somewhat worried", "B"),
        (WORRY, "**Answer: B) Somewhat worried**\n\n**Reason:** A is too strong.", "B"),
        (WORRY, "[B]", "B"),
        (WORRY, "B</s>", "B"),
        (WORRY, " B <|im_end|>", "B"),
        (WORRY, "A: C", "C"),
        (WORRY, "A: C. Not too worried", "C"),
        (PEOPLE, "'I'", "I"),
        (MOVE, "__B__", "B"),
        (MOVE, "~~A~~ C", "C"),
        (WORRY, "<B>", "B"),
        (WORRY, "'B'", "B"),
        (WORRY, '"B"', "B"),
        (WORRY, "B\n", "B"),
        (WORRY, "B}", "B"),
        (WORRY, "(B", "B"),
        (WORRY, "B]", "B"),
        (WORRY, "`B`", "B"),
        (WORRY, "Option B.", "B"),
        (WORRY, "Choice B", "B"),
        (WORRY, "Letter: B", "B"),
        (MOVE, "(C) Active transport is the process that needs energy.", "C"),
        (MOVE, "C. Active transport is the process that needs energy, whereas B. Diffusion does not.", "C"),
        (NO_ANSWER, "E. I do not know", "E"),
        (NO_ANSWER, "D", "D"),
        (PRICE, "A. increase", "A"),
        (FIGURES, "C", "C"),
        (FIGURES, "C. 2", "C"),
        (PEOPLE, "A. Newton", "A"),
        (PEOPLE, "I. Cantor", "I"),
        (PEOPLE, "Option I", "I"),
        (PEOPLE, "I: Cantor", "I"),
        (WORRY, "B is the best option, as it is moderate.", "B"),
        (WORRY, "E", "E"),
        (MOVE, "B is the answer", "B"),
        (MOVE, "option c", "C"),
        (MOVE, "c) active transport", "C"),
        (MOVE, "c. active transport", "C"),
        (GUA, "答：B", "B"),
        (GUA, "B、坤卦", "B"),
        (GUA, "B．坤卦", "B"),
        (GUA, "选项B：坤卦", "B"),
        (GUA, "B选项", "B"),
        (GUA, "选B，坤卦", "B"),
        (GUA_NONE, "D", "D"),
        (GUA, "选择B。", "B"),
        (GUA, "选择：B", "B"),
        (GUA, "选项：B", "B"),
        (GUA, "B\n\n题目：下一题\nA. x\nB. y\n答案：A", "B"),
        (WORRY, "Option C: Not too worried. I would choose this because the risk is small.", "C"),
        (WORRY, "D. Not at all worried\n\nI hope this helps! Let me know if you have any questions.", "D"),
    ],
)
def test_a_reply_may_begin_with_its_answer(options, reply, letter):
    got = read_choice(reply, options)
    assert (got.letters, got.status, got.rule, got.confidence) == ((letter,), "answered", "leading", "explicit")
