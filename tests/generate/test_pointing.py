"""Questions that point at the text they were made from, in English and Chinese, and those that merely look like it."""

from __future__ import annotations

import pytest

from steelyard.generate.questions import defect_of, read_questions

POINTING = {
    "refers_to_text": [
        "What does the passage say about rain?",
        "According to the text, how high is it?",
        "文中提到了哪些仪器？",
    ],
    "refers_to_figure": [
        "What does Table 3 show?",
        "Which value in Figure 2 is the highest?",
        "What is the result of equation (4)?",
        "What does the figure show about snowfall?",
        "Which stations are listed in the table?",
        "How is the rim drawn in Fig. 1a?",
        "What is described in Section 4.2?",
        "Which steps are given on page 12?",
        "What does this diagram depict?",
        "What can be concluded from the chart shown in the above figure 7?",
        "表2列出了哪些站点？",
        "图3中哪个数值最大？",
        "公式(1)中的k表示什么？",
        "下表中哪一项最高？",
        "第三章介绍了什么？",
    ],
    "refers_to_document": [
        "What do the authors conclude?",
        "What does the author recommend for snow gauges?",
        "What is the purpose of this document?",
        "Which gauges are described in the document?",
        "What does the paper propose?",
        "What are the limitations of this study?",
        "What topics does this section cover?",
        "What is discussed in the following chapter?",
        "How does this handbook define a storm?",
        "作者认为降雪的主要原因是什么？",
        "本文的主要结论是什么？",
        "本节介绍了哪些方法？",
        "这份报告的目的是什么？",
    ],
}
SELF_CONTAINED = [
    "How high is the rim of the rain gauge above the ground?",
    "Who are the authors of the GNU Free Documentation License?",
    "What does Section 230 of the Communications Decency Act protect?",
    "How many columns may a database table have?",
    "Which dining table seats six people?",
    "What is the body mass index?",
    "How is a figure eight knot tied?",
    "What does the document object model represent?",
    "Which document types does the parser accept?",
    "What are the figures for rainfall in 1998?",
    "How does a graph database store edges?",
    "Which chapter of the society meets in June?",
    "What does Chapter 11 bankruptcy allow a firm to do?",
    "In which year was the study of Marie Curie in Paris finished?",
    "How many pages does the annual report of the mill have?",
    "What is the author field of a package for?",
    "雨量筒的口沿离地面多高？",
    "电子表格最多有多少列？",
    "地图上的等高线表示什么？",
    "代表一个国家的旗帜叫什么？",
    "该文件夹的权限是什么？",
    "《红楼梦》的作者是谁？",
]


@pytest.mark.parametrize(("reason", "question"), [(r, q) for r, several in POINTING.items() for q in several])
def test_a_question_that_points_at_its_text_is_dropped_by_how_it_points(reason, question):
    assert defect_of(question) == reason


@pytest.mark.parametrize("question", SELF_CONTAINED)
def test_a_question_that_names_its_subject_is_kept(question):
    assert defect_of(question) == ""


def test_they_are_counted_by_reason():
    reply = "1. What does Table 3 show?\n2. How high is the mast of the mill?\n3. What do the authors conclude?"
    listing = read_questions(reply, most=3)
    assert listing.usable == ("How high is the mast of the mill?",)
    assert listing.dropped == {"refers_to_figure": 1, "refers_to_document": 1}
