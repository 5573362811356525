"""Answers that do nothing but say that they have no answer, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.abstention import is_abstention

ABSTAINS = [
    "I don't know.",
    "I do not know the answer to this question.",
    "I'm sorry, but I cannot answer this question based on the provided documents.",
    "The documents do not mention the price of the bridge.",
    "The provided context does not contain information about the director's salary.",
    "Unfortunately, the text does not say who built the mill.",
    "There is no information about this in the context.",
    "Based on the provided documents, I cannot determine when the bridge was closed.",
    "Based on the given context, there is no mention of a toll.",
    "It is not stated in the documents.",
    "This is not specified in the handbook.",
    "The answer is not found in the provided text.",
    "I could not find any information about that. Please contact the office.",
    "Not mentioned.",
    "Unknown.",
    "No information available.",
    "I don't have enough information to answer that question. Could you provide more context?",
    "The question cannot be answered from the given passages.",
    "I am unable to find an answer in the documents.",
    "I have no information on this.",
    "抱歉，我不知道。",
    "根据提供的资料，无法回答这个问题。",
    "资料中没有提到造价。",
    "文档中未提及该项目的负责人。",
    "很抱歉，我无法从给定的内容中找到答案。请咨询相关部门。",
    "未提及。",
    "无法确定。",
    "上下文没有提供相关信息。",
    "对不起，知识库里没有相关内容。",
    "目前的资料没有说明桥的长度。",
]
ANSWERS = [
    "The bridge is 98 m long.",
    "The documents do not name a price, but it was probably about 2,000 guilders.",
    "I don't know for sure, but I believe it is Paris.",
    "The rim stands 30 cm above the ground.",
    "No, dogs are not admitted.",
    "No toll is charged.",
    "None of the three lanes is closed.",
    "It is not the mill but the bridge that was rebuilt.",
    "I don't know. It might be 1771.",
    "The text does not say when; the plaque gives 1771.",
    "You cannot bring dogs. Please leave them outside.",
    "The key is kept by the warden. If you lose it, ask the office.",
    "He did not know the answer.",
    "The warden does not have the key.",
    'It prints "not found".',
    "It is not allowed to swim.",
    "It cannot be opened on Sundays.",
    "Unfortunately, the bridge was destroyed in 1902.",
    "",
    "不得携带狗。",
    "不是，桥长98米。",
    "资料没有写明造价，不过大约是两千两银子。",
    "没有收费。",
    "未满十八岁不得入内。",
    "无法通行的时间是每周日。",
    "我不知道确切数字，可能是三十厘米。",
    "不能在桥上停车。",
    "没有人知道钥匙在哪里。",
    "This is not permitted.",
    "That is not clear water.",
    "There is no data charge on Sundays.",
]


@pytest.mark.parametrize("answer", ABSTAINS)
def test_an_answer_that_only_says_that_it_has_none_abstains(answer):
    assert is_abstention(answer)
    assert is_abstention(f"**{answer}**")


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_or_a_doubtful_one_does_not_abstain(answer):
    assert not is_abstention(answer)


@pytest.mark.parametrize("abstention", ABSTAINS)
def test_an_abstention_with_an_answer_behind_it_does_not_abstain(abstention):
    assert not is_abstention(f"{abstention} The bridge is 98 m long.")
    assert not is_abstention(f"{abstention} 桥长98米。")


@given(st.text(max_size=900))
def test_any_text_is_read(text):
    assert is_abstention(text) in {True, False}
